//! What was measured, as it is kept.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

/// Everything one run measured.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Record {
    /// The day.
    pub date: String,
    /// The machine.
    pub machine: Machine,
    /// Whether this was the small version.
    pub quick: bool,
    /// What came out, in the order it was measured.
    pub measures: Vec<Measure>,
    /// The sections measured by this run.
    #[serde(skip)]
    fresh: BTreeSet<String>,
}

/// Where it ran.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Machine {
    /// The processor's name.
    pub processor: String,
    /// How many threads it runs at once.
    pub threads: usize,
    /// Bytes of memory.
    pub memory: f64,
    /// The instructions the passes use.
    pub kernel: String,
    /// The load of the last minute when the run started: 0 when nothing else was at work.
    pub load: f64,
}

/// One number.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Measure {
    /// What belongs together in the table and in pictures.
    pub section: String,
    /// What was measured.
    pub what: String,
    /// At which rows, features and so on.
    pub at: BTreeMap<String, f64>,
    /// The number.
    pub value: f64,
    /// In what it is counted.
    pub unit: Unit,
    /// What it should be.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub target: Option<Target>,
}

/// In what a number is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// One time over another.
    Ratio,
    Seconds,
    Bytes,
}

/// What a number should be.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    AtLeast(f64),
    AtMost(f64),
}

impl Target {
    fn is_met(self, value: f64) -> bool {
        match self {
            Target::AtLeast(least) => value >= least,
            Target::AtMost(most) => value <= most,
        }
    }
}

impl Machine {
    /// This one.
    pub fn this() -> Machine {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let after = |text: &str, name: &str| {
            let line = text.lines().find(|line| line.starts_with(name)).and_then(|line| line.split_once(':'));
            line.map_or_else(String::new, |(_, value)| value.trim().to_owned())
        };
        let kilobytes = after(&read("/proc/meminfo"), "MemTotal").replace(" kB", "").parse().unwrap_or(f64::NAN);
        Machine {
            processor: after(&read("/proc/cpuinfo"), "model name"),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            memory: 1024.0 * kilobytes,
            kernel: dplm::lattice::Kernel::best().name().to_owned(),
            load: read("/proc/loadavg").split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(f64::NAN),
        }
    }
}

impl std::fmt::Display for Machine {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Machine { processor, threads, memory, kernel, load } = self;
        let gigabytes = memory / 1e9;
        write!(out, "{processor}, {threads} threads, {gigabytes:.0} GB, {kernel}; load at the start {load:.1}")
    }
}

impl Record {
    /// Nothing measured yet.
    pub fn new(quick: bool) -> Record {
        let date = jiff::Zoned::now().date().to_string();
        Record { date, machine: Machine::this(), quick, measures: Vec::new(), fresh: BTreeSet::new() }
    }

    /// Takes over what was measured before on the same machine, if it was; each section goes when
    /// it is measured again.
    pub fn take_from(&mut self, file: &Path) {
        let Ok(text) = std::fs::read_to_string(file) else { return };
        let before: Record = serde_json::from_str(&text).expect("a record that was written by this program");
        if before.machine.processor == self.machine.processor && before.machine.threads == self.machine.threads {
            self.measures = before.measures;
        }
    }

    /// Keeps a number and shows it.
    pub fn add(&mut self, measure: Measure) {
        if self.fresh.insert(measure.section.clone()) {
            println!("\n{}", measure.section);
            self.measures.retain(|old| old.section != measure.section);
        }
        println!("{measure}");
        self.measures.push(measure);
    }

    /// How many targets there were, and how many were met.
    pub fn verdict(&self) -> (usize, usize) {
        let targets = || self.measures.iter().filter_map(|measure| Some((measure.target?, measure.value)));
        (targets().count(), targets().filter(|(target, value)| target.is_met(*value)).count())
    }
}

impl Measure {
    /// A number.
    pub fn new(section: &str, what: &str, at: &[(&str, f64)], value: f64, unit: Unit) -> Measure {
        let at = at.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        Measure { section: section.to_owned(), what: what.to_owned(), at, value, unit, target: None }
    }

    /// With what it should be.
    pub fn with(self, target: impl Into<Option<Target>>) -> Measure {
        Measure { target: target.into(), ..self }
    }
}

impl std::fmt::Display for Measure {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let at: Vec<String> = self.at.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let value = match self.unit {
            Unit::Ratio => format!("{:.2}", self.value),
            Unit::Seconds => format!("{:.4} s", self.value),
            Unit::Bytes => format!("{:.0} MB", self.value / 1e6),
        };
        write!(out, "  {:<46} {:<28} {value:>12}", self.what, at.join(" "))?;
        match self.target {
            None => Ok(()),
            Some(target) => {
                let (word, limit) = match target {
                    Target::AtLeast(limit) => ("at least", limit),
                    Target::AtMost(limit) => ("at most", limit),
                };
                write!(out, "   {word} {limit}: {}", if target.is_met(self.value) { "met" } else { "NOT MET" })
            }
        }
    }
}

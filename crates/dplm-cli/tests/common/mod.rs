//! Running the built command on small files.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

use tempfile::TempDir;

/// A cell that must never be seen again.
pub const MARKER: &str = "987654.321";

/// A folder to work in.
pub struct Directory(TempDir);

/// What a command did.
pub struct Done {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Directory {
    pub fn new() -> Directory {
        Directory(TempDir::new().expect("a folder"))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        fs::write(self.path(name), text).expect("written");
        name.to_owned()
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("readable")
    }

    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.0.path())
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    pub fn run(&self, args: &[&str]) -> Done {
        self.run_with_input(args, b"")
    }

    pub fn run_with_input(&self, args: &[&str], input: &[u8]) -> Done {
        let mut child = self.start(args);
        // A command that reads nothing may have gone already.
        let _ = child.stdin.take().expect("piped").write_all(input);
        Done::when_ended(child)
    }

    /// Starts a command.
    pub fn start(&self, args: &[&str]) -> Child {
        self.spawn(Command::new(env!("CARGO_BIN_EXE_dplm")).args(args))
    }

    /// Runs a command with a variable of the environment.
    pub fn run_with(&self, (name, value): (&str, &str), args: &[&str]) -> Done {
        Done::when_ended(self.spawn(Command::new(env!("CARGO_BIN_EXE_dplm")).args(args).env(name, value)))
    }

    /// Runs a line of a shell in which the command is called `dplm`.
    pub fn run_in_shell(&self, line: &str) -> Done {
        let script = format!("dplm() {{ {} \"$@\"; }}; {line}", env!("CARGO_BIN_EXE_dplm"));
        Done::when_ended(self.spawn(Command::new("sh").args(["-c", &script])))
    }

    /// Starts a command in a shell that sets `limit` first.
    pub fn start_limited(&self, limit: &str, args: &[&str]) -> Child {
        let script = format!("{limit}; exec \"$@\"");
        self.spawn(Command::new("sh").args(["-c", &script, "sh", env!("CARGO_BIN_EXE_dplm")]).args(args))
    }

    fn spawn(&self, command: &mut Command) -> Child {
        let command = command.current_dir(self.0.path()).stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts")
    }

    /// Runs a command that must succeed.
    pub fn ok(&self, args: &[&str]) -> Done {
        let done = self.run(args);
        assert_eq!(done.status, 0, "{args:?}: {}", done.stderr);
        done
    }

    /// The JSON that a fit writes.
    pub fn fit_json(&self, args: &[&str]) -> serde_json::Value {
        let done = self.ok(&[&["fit", "--json", "-", "--seed", "7"], args].concat());
        serde_json::from_str(&done.stdout).expect("JSON")
    }

    /// A simulated table of two features.
    pub fn simulate(&self, name: &str, rows: u32) -> String {
        let rows = rows.to_string();
        self.ok(&["simulate", "--rows", &rows, "--features", "2", "--seed", "5", "--out", name]);
        name.to_owned()
    }
}

impl From<Output> for Done {
    fn from(output: Output) -> Done {
        Done {
            status: output.status.code().expect("not killed"),
            stdout: String::from_utf8(output.stdout).expect("text"),
            stderr: String::from_utf8(output.stderr).expect("text"),
        }
    }
}

impl Done {
    /// What a command did, once it has ended.
    pub fn when_ended(child: Child) -> Done {
        Done::from(child.wait_with_output().expect("it ends"))
    }

    /// Nothing on standard output, one sentence on standard error, with a caret under a formula at
    /// most, and no cell in it.
    pub fn assert_refused(&self, status: i32, what: &str) {
        let Done { stdout, stderr, .. } = self;
        assert_eq!(self.status, status, "{what}: {stderr}");
        assert_eq!(stdout, "", "{what}");
        assert!(stderr.starts_with("dplm: ") && stderr.ends_with('\n'), "{what}: {stderr}");
        let lines: Vec<&str> = stderr.lines().collect();
        let has_caret = lines.len() == 3 && lines[2].trim_start() == "^";
        assert!(lines.len() == 1 || has_caret, "{what}: {stderr}");
        assert!(!stderr.contains(MARKER) && !stderr.contains("987654"), "{what}: {stderr}");
        assert!(!stderr.contains("panicked"), "{what}: {stderr}");
    }
}

pub fn text_of(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

/// A small generator (splitmix64): the same bytes in every run of the tests.
pub struct Chance(pub u64);

impl Chance {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    /// Above 0 and below 1.
    pub fn uniform(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// A standard Gaussian number (Box and Muller 1958).
    pub fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

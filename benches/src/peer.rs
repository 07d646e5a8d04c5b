//! A worker in Python that times the other side of a comparison.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};

use crate::clock::Seconds;

/// A running worker; `peers.py` says what it can be asked.
pub struct Peer {
    process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// What a command took.
#[derive(Clone, Copy, Debug, serde::Deserialize)]
pub struct Usage {
    #[serde(flatten)]
    pub seconds: Seconds,
    /// The most bytes it had in memory.
    pub memory: f64,
}

impl Peer {
    /// Starts a worker whose libraries use this number of threads.
    pub fn start(threads: usize) -> Peer {
        // Another Python may have what is not installed here, as PyTorch on a machine with a GPU.
        let python = std::env::var_os("DPLM_BENCH_PYTHON").unwrap_or_else(|| ".venv/bin/python".into());
        let mut command = Command::new(python);
        for name in ["OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"] {
            command.env(name, threads.to_string());
        }
        command.arg("benches/peers.py").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("python starts");
        let requests = process.stdin.take().expect("it is piped");
        let answers = BufReader::new(process.stdout.take().expect("it is piped"));
        Peer { process, requests, answers }
    }

    fn answer<T: serde::de::DeserializeOwned>(&mut self, request: &Value) -> T {
        writeln!(self.requests, "{request}").expect("the worker listens");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("the worker answers");
        serde_json::from_str(&line).expect("the worker answers in JSON, or has said on standard error why not")
    }

    /// Has something done and timed.
    pub fn time(&mut self, request: &Value) -> Seconds {
        self.answer(request)
    }

    /// Runs a command.
    pub fn run(&mut self, words: &[&str]) -> Usage {
        self.answer(&json!({"do": "command", "words": words}))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // Nothing is lost if it is gone already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

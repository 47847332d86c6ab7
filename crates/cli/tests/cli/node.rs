//! The real binary: run to its end, or as a node on a port of its own.

use std::{
    process::{Command, Output},
    time::{Duration, Instant},
};

use serde_json::Value;
pub use tempfile::TempDir;

use crate::process::Process;
pub use crate::process::steadfast;

const PATIENCE: Duration = Duration::from_secs(30);

pub fn dir() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// The names of what is in a directory.
pub fn files(dir: &TempDir) -> Vec<String> {
    let entries = std::fs::read_dir(dir.path()).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// How a command ended, and what it said.
#[derive(Debug)]
pub struct Said {
    pub code: i32,
    pub out: String,
    pub err: String,
}

pub fn said(mut command: Command) -> Said {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    Said {
        code: status.code().unwrap(),
        out: String::from_utf8(stdout).unwrap(),
        err: String::from_utf8(stderr).unwrap(),
    }
}

pub fn run(args: &[&str], dir: &TempDir) -> Said {
    said(steadfast(args, dir.path()))
}

/// A node in a directory of its own, and a command line that asks it.
pub struct Node {
    process: Process,
    pub url: String,
    pub dir: TempDir,
    /// What it said before it named its address, that line included.
    pub welcome: String,
}

impl Node {
    pub fn start(args: &[&str]) -> Self {
        Self::start_in(dir(), args)
    }

    pub fn start_in(dir: TempDir, args: &[&str]) -> Self {
        let all: Vec<&str> = ["serve"].iter().chain(args).copied().collect();
        let process = Process::start(steadfast(&all, dir.path()), drop);
        Self {
            url: format!("http://{}", process.address),
            welcome: process.welcome.clone(),
            process,
            dir,
        }
    }

    /// A command that asks this node.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = steadfast(args, self.dir.path());
        command.env("STEADFAST_URL", &self.url);
        command
    }

    pub fn ask(&self, args: &[&str]) -> Said {
        said(self.command(args))
    }

    /// What a command says with `--json`.
    pub fn json(&self, args: &[&str]) -> Value {
        let all: Vec<&str> = args.iter().chain(&["--json"]).copied().collect();
        let said = self.ask(&all);
        assert_eq!(said.code, 0, "{said:?}");
        serde_json::from_str(&said.out).unwrap()
    }

    /// Asks until the answer is right.
    pub fn until(&self, args: &[&str], is_right: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let answer = self.json(args);
            if is_right(&answer) {
                return answer;
            }
            assert!(Instant::now() < deadline, "{args:?}: {answer:#}");
        }
    }

    pub fn stop(mut self) -> bool {
        self.process.signal("TERM");
        self.process.wait().success()
    }
}

/// Ids and everything that differs between two runs, in one shape.
pub fn masked(text: &str) -> String {
    let mut masked = String::new();
    let mut word = String::new();
    for c in text.chars().chain(['\0']) {
        if c.is_ascii_alphanumeric() || c == '_' {
            word.push(c);
            continue;
        }
        match word.split_once('_') {
            Some((kind @ ("job" | "sch" | "end" | "key" | "sf"), digits)) if digits.len() >= 26 => {
                masked.push_str(kind);
                masked.push_str("_…");
            }
            _ => masked.push_str(&word),
        }
        word.clear();
        if c != '\0' {
            masked.push(c);
        }
    }
    masked
}

/// Reads a stream to its end.
pub fn whole(mut stream: impl std::io::Read) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

//! The real binary: run to its end, or as a node on its own port.

use std::{
    process::{Command, Output},
    time::{Duration, Instant},
};

use serde_json::Value;
pub use tempfile::TempDir;

use crate::process::Process;
pub use crate::process::steadfast;

const DEADLINE: Duration = Duration::from_secs(30);

pub fn dir() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// The names of the files in a directory.
pub fn files(dir: &TempDir) -> Vec<String> {
    let entries = std::fs::read_dir(dir.path()).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// How a command ended, and what it printed.
#[derive(Debug)]
pub struct CommandOutput {
    pub code: i32,
    pub out: String,
    pub err: String,
}

pub fn output_of(mut command: Command) -> CommandOutput {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    CommandOutput {
        code: status.code().unwrap(),
        out: String::from_utf8(stdout).unwrap(),
        err: String::from_utf8(stderr).unwrap(),
    }
}

pub fn run(args: &[&str], dir: &TempDir) -> CommandOutput {
    output_of(steadfast(args, dir.path()))
}

/// A node in its own directory, and commands that call it.
pub struct Node {
    process: Process,
    pub url: String,
    pub dir: TempDir,
    /// What it printed until it was ready.
    pub welcome: String,
}

impl Node {
    pub fn start(args: &[&str]) -> Self {
        Self::start_in(dir(), args)
    }

    pub fn start_in(dir: TempDir, args: &[&str]) -> Self {
        Self::start_with(dir, args, &[])
    }

    /// With variables in its environment.
    pub fn start_with(dir: TempDir, args: &[&str], variables: &[(&str, &str)]) -> Self {
        let all: Vec<&str> = ["serve"].iter().chain(args).copied().collect();
        let mut command = steadfast(&all, dir.path());
        command.envs(variables.iter().copied());
        let process = Process::start(command, drop);
        let is_tls = args.contains(&"--tls-cert");
        let scheme = if is_tls { "https" } else { "http" };
        Self {
            url: format!("{scheme}://{}", process.address),
            welcome: process.welcome.clone(),
            process,
            dir,
        }
    }

    /// A command that calls this node.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = steadfast(args, self.dir.path());
        command.env("STEADFAST_URL", &self.url);
        command
    }

    pub fn run(&self, args: &[&str]) -> CommandOutput {
        output_of(self.command(args))
    }

    /// What a command prints with `--json`.
    pub fn json(&self, args: &[&str]) -> Value {
        let all: Vec<&str> = args.iter().chain(&["--json"]).copied().collect();
        let output = self.run(&all);
        assert_eq!(output.code, 0, "{output:?}");
        serde_json::from_str(&output.out).unwrap()
    }

    /// Repeats a command until its JSON is right.
    pub fn until(&self, args: &[&str], is_right: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let json = self.json(args);
            if is_right(&json) {
                return json;
            }
            assert!(Instant::now() < deadline, "{args:?}: {json:#}");
        }
    }

    pub fn stop(mut self) -> bool {
        self.process.signal("TERM");
        self.process.wait().success()
    }
}

/// Reads a stream to its end.
pub fn read_to_end(mut stream: impl std::io::Read) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

//! A node on a store that outlives it.

use std::{
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{
    http::{Answer, Http},
    process::{Process, steadfast},
};

/// A store in the directory that a node is started in.
pub const FILE: &str = "sqlite:jobs.db";

/// Leases are short here, and so is the time between two sweeps.
pub fn serve(store: &str) -> [&str; 7] {
    let [serve, listen, anywhere] = ["serve", "--listen", "127.0.0.1:0"];
    let [sweep, often] = ["--sweep-every", "200ms"];
    [serve, listen, anywhere, "--store", store, sweep, often]
}

/// Longer than anything here takes on a busy machine.
const DEADLINE: Duration = Duration::from_secs(60);

pub struct Node {
    process: Process,
}

impl Node {
    /// On the SQLite file of this directory.
    pub fn start(dir: &Path) -> Self {
        Self::start_on(FILE, dir)
    }

    pub fn start_on(store: &str, dir: &Path) -> Self {
        Self::run(steadfast(&serve(store), dir))
    }

    pub fn run(command: Command) -> Self {
        Self::run_logged(command, drop)
    }

    /// Every line of its log goes to `on_line`.
    pub fn run_logged(command: Command, on_line: impl FnMut(String) + Send + 'static) -> Self {
        let node = Self {
            process: Process::start(command, on_line),
        };
        until("the node to be ready", || {
            let answer = node.http()?.get("/readyz")?;
            (answer.status == 200).then_some(())
        });
        node
    }

    /// Kills it at once; its open connections break.
    pub fn kill(self) {
        drop(self);
    }

    /// Stops all its threads, as a paused container or a swapping machine does.
    pub fn freeze(&self) {
        self.process.signal("STOP");
    }

    pub fn thaw(&self) {
        self.process.signal("CONT");
    }

    /// Stops it gracefully.
    pub fn stop(mut self) {
        self.process.signal("TERM");
        assert!(self.process.wait().success());
    }

    /// How many threads its process has.
    pub fn threads(&self) -> usize {
        let tasks = format!("/proc/{}/task", self.process.child.id());
        std::fs::read_dir(tasks).unwrap().count()
    }

    pub fn address(&self) -> &str {
        &self.process.address
    }

    pub fn http(&self) -> Option<Http> {
        Http::connect(&self.process.address)
    }

    pub fn get(&self, path: &str) -> Value {
        self.http().unwrap().get(path).unwrap().is(200)
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.http().unwrap().post(path, body).unwrap()
    }

    pub fn create(&self, body: &Value) -> Value {
        self.post("/api/v1/jobs", body).is(201)
    }

    pub fn attempts(&self, id: &str) -> Vec<Value> {
        let history = self.get(&format!("/api/v1/jobs/{id}/history?limit=500"));
        history["attempts"].as_array().unwrap().clone()
    }
}

pub fn until<T>(what: &str, ask: impl FnMut() -> Option<T>) -> T {
    until_within(DEADLINE, what, ask)
}

pub fn until_within<T>(deadline: Duration, what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(begun.elapsed() < deadline, "waited in vain for {what}");
        thread::park_timeout(Duration::from_millis(10));
    }
}

//! Workers in other languages: those that the conformance program drives, with the usual means of their
//! libraries. They say on their output what they start.

use std::{
    collections::HashMap,
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::node::until_within;

/// The language is the queue as well.
pub const LANGUAGES: [&str; 2] = ["python", "go"];

/// When each attempt of a job was started.
type Starts = HashMap<(String, u64), Vec<Instant>>;

pub struct Worker {
    child: Child,
    starts: Arc<Mutex<Starts>>,
}

impl Worker {
    pub fn start(language: &str, node: &str) -> Self {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sdk");
        let mut child = Command::new(format!("{folder}/{language}/conformance-adapter"))
            .env("STEADFAST_URL", format!("http://{node}"))
            .env("STEADFAST_API_KEY", "")
            .env("CONCURRENCY", "4")
            .env("GRACE", "2s")
            .env("LEASE", "5s")
            .env("QUEUE", language)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (starts, is_ready) = (
            Arc::new(Mutex::new(Starts::new())),
            Arc::new(Mutex::new(false)),
        );
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (seen, ready) = (starts.clone(), is_ready.clone());
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let event: Value = serde_json::from_str(&line).unwrap();
                match event["event"].as_str().unwrap() {
                    "ready" => *ready.lock().unwrap() = true,
                    "start" => {
                        let job = event["job"].as_str().unwrap().to_owned();
                        let key = (job, event["attempt"].as_u64().unwrap());
                        seen.lock()
                            .unwrap()
                            .entry(key)
                            .or_default()
                            .push(Instant::now());
                    }
                    _ => {}
                }
            }
        });
        // The first start compiles it.
        until_within(Duration::from_secs(300), "a worker to be ready", || {
            is_ready.lock().unwrap().then_some(())
        });
        Self { child, starts }
    }

    /// Every start, by job and attempt.
    pub fn starts(&self) -> Starts {
        self.starts.lock().unwrap().clone()
    }

    pub fn has_started_since(&self, moment: Instant) -> bool {
        let starts = self.starts.lock().unwrap();
        starts.values().flatten().any(|at| *at > moment)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may have ended already.
        let _result = self.child.kill();
        let _result = self.child.wait();
    }
}

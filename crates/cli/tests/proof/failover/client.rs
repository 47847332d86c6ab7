//! A client that creates jobs one after the other, and notes when each was acknowledged.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::workers::LANGUAGES;
use crate::{gates, http::Http, load::Load};

/// Between two jobs, and before a job is repeated that was refused.
const PAUSE: Duration = Duration::from_millis(25);
const KEYS: usize = 3;

/// When jobs were acknowledged.
#[derive(Default)]
pub struct Pauses(Mutex<Vec<Instant>>);

impl Pauses {
    pub fn first_after(&self, moment: Instant) -> Option<Instant> {
        let acknowledged = self.0.lock().unwrap();
        let place = acknowledged.partition_point(|at| *at <= moment);
        acknowledged.get(place).copied()
    }

    /// The longest time without an acknowledgement that ended after this moment.
    pub fn longest(&self, since: Instant) -> Duration {
        let acknowledged = self.0.lock().unwrap();
        let pairs = acknowledged.windows(2).filter(|pair| pair[1] > since);
        pairs
            .map(|pair| pair[1] - pair[0])
            .max()
            .unwrap_or_default()
    }
}

pub struct Client<'t> {
    pub place: usize,
    pub load: &'t Load,
    /// Where jobs with limits go.
    pub target: &'t str,
    pub pauses: &'t Pauses,
}

impl Client<'_> {
    pub fn create(&self, address: &str, is_over: &AtomicBool) {
        let mut http = Http::connect(address).unwrap();
        let mut number = 0;
        while !is_over.load(Ordering::SeqCst) {
            let job = self.job(number);
            while !self.load.create_one(&mut http, &job) {
                thread::park_timeout(PAUSE);
            }
            self.pauses.0.lock().unwrap().push(Instant::now());
            number += 1;
            thread::park_timeout(PAUSE);
        }
    }

    /// Most are for workers, some are calls with limits. Keys have an order, so one client creates them.
    fn job(&self, number: usize) -> Value {
        let place = self.place;
        let key = format!("client-{place}-{number}");
        match (number % 12, place) {
            (8, _) => gates::job(self.target, "running", "running", &key),
            (9, _) => gates::job(self.target, "rate", "rate", &key),
            (10, 0) => {
                let (round, of_key) = (number / 12, number / 12 % KEYS);
                let path = format!("key-{of_key}/{}", round / KEYS);
                let mut job = gates::job(self.target, "keys", &path, &key);
                job["concurrencyKey"] = json!(format!("key-{of_key}"));
                job
            }
            (kind, _) => json!({
                "kind": "sleep", "payload": {"ms": 20}, "queue": LANGUAGES[kind % 2],
                "type": if kind % 4 < 2 { "AT_MOST_ONCE" } else { "AT_LEAST_ONCE" },
                "idempotencyKey": key,
                "retry": {"maxRetries": 50, "backoff": "fixed", "baseDelay": "100ms", "jitter": "none"}
            }),
        }
    }
}

//! What the node has to do: jobs, retries, schedules, webhooks, workers, open dashboards.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Scope};
use std::time::Duration;

use serde_json::{Value, json};

use super::http;

/// Eight jobs a second, every second one for a worker.
const CREATE_EVERY: Duration = Duration::from_millis(125);
const WORKERS: usize = 4;
const DASHBOARDS: usize = 3;
const PAGE_EVERY: Duration = Duration::from_secs(5);
const PAGES: &[&str] = &[
    "/",
    "/jobs",
    "/dead-letters",
    "/failures",
    "/schedules",
    "/queues",
    "/nodes",
    "/metrics",
];

#[derive(Clone, Copy)]
pub struct Load<'a> {
    node: &'a str,
    target: &'a str,
    stop: &'a AtomicBool,
}

impl<'a> Load<'a> {
    pub fn new(node: &'a str, target: &'a str, stop: &'a AtomicBool) -> Self {
        Self { node, target, stop }
    }

    /// Schedules and the endpoint of webhooks, which stay for the whole time.
    pub fn prepare(self) -> Result<(), String> {
        let endpoint = json!({
            "url": format!("http://{}/hook", self.target),
            "events": ["job.succeeded", "job.failed"],
        });
        self.post("/api/v1/endpoints", &endpoint)?;
        for (name, every) in [("often", "5s"), ("sometimes", "20s"), ("rarely", "1m")] {
            let schedule = json!({"name": name, "every": every, "job": self.http_job()});
            self.post("/api/v1/schedules", &schedule)?;
        }
        Ok(())
    }

    pub fn start<'scope>(self, scope: &'scope Scope<'scope, '_>)
    where
        'a: 'scope,
    {
        scope.spawn(move || self.create());
        for number in 0..WORKERS {
            scope.spawn(move || self.work(number));
        }
        for number in 0..DASHBOARDS {
            scope.spawn(move || self.browse(number));
            scope.spawn(move || self.follow("/ui/events"));
        }
        scope.spawn(move || self.follow("/api/v1/events"));
    }

    fn goes_on(self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    fn create(self) {
        for number in 0_u64.. {
            if !self.goes_on() {
                return;
            }
            let mut job = match number % 2 {
                0 => self.http_job(),
                _ => json!({"kind": "soak", "queue": "work", "payload": fate(number)}),
            };
            job["tags"] = json!({"number": (number % 100).to_string()});
            if number % 20 < 2 {
                job["delay"] = json!("30s");
            }
            self.report(self.post("/api/v1/jobs", &job));
            thread::park_timeout(CREATE_EVERY);
        }
    }

    fn http_job(self) -> Value {
        json!({
            "http": {"url": format!("http://{}/job", self.target), "body": "x".repeat(200)},
            "retry": {"maxRetries": 5, "baseDelay": "1s"},
        })
    }

    fn work(self, number: usize) {
        let claim = json!({
            "worker": format!("worker-{number}"), "queues": ["work"], "kinds": ["soak"],
            "max": 2, "wait": "10s",
        });
        while self.goes_on() {
            match self.post("/api/v1/claims", &claim) {
                Ok(answer) => self.settle(&answer),
                Err(error) => {
                    self.report::<()>(Err(error));
                    thread::park_timeout(PAGE_EVERY);
                }
            }
        }
    }

    fn settle(self, claimed: &Value) {
        for claim in claimed["claims"].as_array().into_iter().flatten() {
            let job = claim["id"].as_str().unwrap_or_default();
            let is_first = claim["job"]["attempt"] == 1;
            let log = json!({"from": 0, "lines": [
                {"at": claim["job"]["startedAt"], "level": "info", "text": "working"}]});
            let failure = match claim["job"]["payload"]["fate"].as_str() {
                Some("dead") => Some(json!({"message": "cannot be done", "permanent": true})),
                Some("retry") if is_first => Some(json!({"message": "not yet"})),
                _ => None,
            };
            let (verb, body) = match failure {
                Some(failure) => (
                    "fail",
                    json!({"fence": claim["fence"], "failure": failure, "log": log}),
                ),
                None => ("succeed", json!({"fence": claim["fence"], "log": log})),
            };
            let path = format!("/api/v1/claims/{job}/{verb}");
            self.report(self.post(&path, &body));
        }
    }

    fn browse(self, number: usize) {
        let pages = PAGES.iter().cycle().skip(number);
        for page in pages {
            if !self.goes_on() {
                return;
            }
            self.report(http::request(self.node, "GET", page, ""));
            thread::park_timeout(PAGE_EVERY);
        }
    }

    fn follow(self, path: &str) {
        while self.goes_on() {
            let ended = http::follow(self.node, path, || self.goes_on());
            self.report(ended.map_err(|error| format!("GET {path}: {error}")));
        }
    }

    fn post(self, path: &str, body: &Value) -> Result<Value, String> {
        let answer = http::request(self.node, "POST", path, &body.to_string())?;
        serde_json::from_str(&answer).map_err(|error| format!("POST {path}: {error}: {answer}"))
    }

    /// What fails while the node stops is no news.
    fn report<T>(self, outcome: Result<T, String>) {
        if let Err(error) = outcome
            && self.goes_on()
        {
            println!("{error}");
        }
    }
}

/// Of a hundred jobs of workers, two can never be done, and twelve fail once.
fn fate(number: u64) -> Value {
    match number % 100 {
        1 | 51 => json!({"fate": "dead"}),
        rest if rest % 8 == 3 => json!({"fate": "retry"}),
        _ => json!({}),
    }
}

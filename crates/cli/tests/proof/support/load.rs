//! Clients that create jobs and run them, for as long as a node responds.

use std::{
    collections::{HashSet, VecDeque},
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};

use crate::{
    http::{Answer, Http},
    ledger::Ledger,
    node::{Node, until_within},
};

const PAGE: usize = 500;
/// Claims of one request.
const CLAIMS: u64 = 300;
/// How long the remaining jobs may take in the end.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(600);

/// What all clients and workers know, whichever node they last called.
pub struct Load {
    pub ledger: Mutex<Ledger>,
    /// Where HTTP jobs go.
    target: String,
    numbers: AtomicU64,
    /// Requests whose responses were lost. Their keys make it safe to repeat them.
    unanswered: Mutex<Vec<Value>>,
    answers_lost: AtomicU64,
    /// How often a node reported that its store was unavailable.
    refused: AtomicU64,
    /// The worker has more jobs than it can run, and creators should wait for it.
    is_behind: AtomicBool,
    is_over: AtomicBool,
    /// Acknowledged jobs that may have only one attempt.
    at_most_once: Mutex<HashSet<String>>,
}

impl Load {
    pub fn new(target: &str) -> Self {
        Self {
            ledger: Mutex::default(),
            target: target.to_owned(),
            numbers: AtomicU64::new(0),
            unanswered: Mutex::default(),
            answers_lost: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            is_behind: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            at_most_once: Mutex::default(),
        }
    }

    pub fn answers_lost(&self) -> u64 {
        self.answers_lost.load(Ordering::Relaxed)
    }

    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Ends what goes on for as long as nodes respond.
    pub fn stop(&self) {
        self.is_over.store(true, Ordering::SeqCst);
    }

    fn goes_on(&self) -> bool {
        !self.is_over.load(Ordering::SeqCst)
    }

    pub fn at_most_once(&self) -> HashSet<String> {
        self.at_most_once.lock().unwrap().clone()
    }

    /// Creates jobs, many at a time or one by one, until no node responds.
    pub fn create(&self, address: &str, count: u64) -> Option<()> {
        let mut http = Http::connect(address)?;
        while self.goes_on() {
            self.repeat_requests(&mut http)?;
            let request = match count {
                2.. if !self.is_behind.load(Ordering::Relaxed) => {
                    json!({"jobs": (0..count).map(|_| self.job()).collect::<Vec<Value>>()})
                }
                _ => self.job(),
            };
            self.send(&mut http, request.clone())?;
            // A client that is not sure repeats its request, and gets the same job.
            if self.numbers.load(Ordering::Relaxed).is_multiple_of(8) {
                self.send(&mut http, request)?;
            }
        }
        Some(())
    }

    fn job(&self) -> Value {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let guarantee = match number % 5 {
            0 => "AT_MOST_ONCE",
            _ => "AT_LEAST_ONCE",
        };
        let mut job = json!({
            "idempotencyKey": format!("key-{number}"), "type": guarantee, "lease": "1s",
            "retry": {"maxRetries": 3, "backoff": "fixed", "baseDelay": "10ms", "jitter": "none"}
        });
        match number % 20 {
            7 | 10 => job["api"] = json!(self.target),
            _ => (job["kind"], job["payload"]) = (json!("work"), json!(number)),
        }
        job
    }

    /// Repeats every request without a response.
    pub fn repeat_requests(&self, http: &mut Http) -> Option<()> {
        loop {
            let request = self.unanswered.lock().unwrap().pop();
            match request {
                Some(request) => self.send(http, request)?,
                None => return Some(()),
            }
        }
    }

    fn send(&self, http: &mut Http, request: Value) -> Option<()> {
        let Some(answer) = http.post("/api/v1/jobs", &request) else {
            self.answers_lost.fetch_add(1, Ordering::Relaxed);
            self.unanswered.lock().unwrap().push(request);
            return None;
        };
        if self.is_refused(&answer) {
            self.unanswered.lock().unwrap().push(request);
            return Some(());
        }
        assert!(matches!(answer.status, 200 | 201), "{answer:?}");
        let mut ledger = self.ledger.lock().unwrap();
        match answer.body["jobs"].as_array() {
            Some(jobs) => jobs.iter().for_each(|job| ledger.created(job)),
            None => ledger.created(&answer.body),
        }
        Some(())
    }

    /// Creates a job of another shape, once. Answers whether it was acknowledged.
    pub fn create_one(&self, http: &mut Http, job: &Value) -> bool {
        let answer = http.post("/api/v1/jobs", job).unwrap();
        if self.is_refused(&answer) {
            return false;
        }
        assert!(matches!(answer.status, 200 | 201), "{answer:?}");
        if job["type"] == "AT_MOST_ONCE" {
            let id = answer.body["id"].as_str().unwrap().to_owned();
            self.at_most_once.lock().unwrap().insert(id);
        }
        self.ledger.lock().unwrap().created(&answer.body);
        true
    }

    fn is_refused(&self, answer: &Answer) -> bool {
        let is_refused = answer.status == 503;
        self.refused
            .fetch_add(u64::from(is_refused), Ordering::Relaxed);
        is_refused
    }

    /// Claims and settles until no node responds.
    pub fn work(&self, address: &str) -> Option<()> {
        let mut http = Http::connect(address)?;
        while self.goes_on() {
            self.work_once(&mut http)?;
        }
        Some(())
    }

    /// Claims what is due, and reports the results.
    fn work_once(&self, http: &mut Http) -> Option<()> {
        let ask = json!({"worker": "w", "kinds": ["work"], "max": CLAIMS, "wait": "50ms"});
        let answer = http.post("/api/v1/claims", &ask)?;
        if self.is_refused(&answer) {
            return Some(());
        }
        let answer = answer.is(200);
        let claims = answer["claims"].as_array().unwrap();
        let is_behind = claims.len() as u64 == CLAIMS;
        self.is_behind.store(is_behind, Ordering::Relaxed);
        let mut settlements = Vec::new();
        let mut ledger = self.ledger.lock().unwrap();
        for claim in claims {
            ledger.handed_out(claim);
            settlements.extend(settlement(claim));
        }
        drop(ledger);
        if settlements.is_empty() {
            return Some(());
        }
        let body = json!({"settlements": settlements});
        let answer = loop {
            // A worker without a response repeats its report; the fence makes that safe.
            let answer = http.post("/api/v1/claims/settle", &body)?;
            if !self.is_refused(&answer) {
                break answer.is(200);
            }
        };
        let mut ledger = self.ledger.lock().unwrap();
        for settled in answer["settled"].as_array().unwrap() {
            let id = settled["id"].as_str().unwrap();
            match settled["label"].as_str() {
                Some(label) => ledger.settled(id, label),
                // The report was late, and the lease has run out.
                None => assert_eq!(settled["code"], "stale_fence", "{settled}"),
            }
        }
        Some(())
    }

    /// Recently acknowledged jobs exist, as promised.
    pub fn check_newest(&self, node: &Node) {
        let mut ledger = self.ledger.lock().unwrap();
        let mut recent = ledger.take_recent();
        let mut listing = Listing::of(node);
        while !recent.is_empty()
            && let Some(job) = listing.next()
        {
            ledger.check(&job);
            recent.remove(job["id"].as_str().unwrap());
        }
        for id in recent {
            ledger.lost(&id);
        }
    }

    /// Waits until all jobs have ended, and compares them with what was promised.
    pub fn finish(&self, node: &Node) {
        let mut http = node.http().unwrap();
        self.repeat_requests(&mut http).unwrap();
        until_within(DRAIN_TIMEOUT, "all jobs to end", || {
            self.work_once(&mut http).unwrap();
            let stats = node.get("/api/v1/stats");
            let open = ["scheduled", "ready", "running", "retrying"];
            open.iter().all(|label| stats[label] == 0).then_some(())
        });
        self.ledger.lock().unwrap().check_all(Listing::of(node));
    }
}

/// The result of an attempt: mostly success; some fail and are retried, some fail for good, and a
/// few are not reported until their lease has run out.
fn settlement(claim: &Value) -> Option<Value> {
    let number = claim["job"]["payload"].as_u64().unwrap();
    let (outcome, class) = match (number % 23, claim["job"]["attempt"].as_u64()) {
        (0..3, Some(1)) => ("fail", Some("error")),
        (3, _) => ("fail", Some("validation")),
        (4, Some(1)) if number.is_multiple_of(10) => return None,
        _ => ("succeed", None),
    };
    let failure = class.map(|class| json!({"class": class, "message": "as planned"}));
    let mut settlement = json!({"id": claim["id"], "fence": claim["fence"], "outcome": outcome});
    if let Some(failure) = failure {
        settlement["failure"] = failure;
    }
    Some(settlement)
}

/// Every job there is, newest first, page by page.
pub struct Listing {
    http: Http,
    page: VecDeque<Value>,
    /// Where the next page begins; there is none after the last.
    next: Option<String>,
}

impl Listing {
    pub fn of(node: &Node) -> Self {
        Self {
            http: node.http().unwrap(),
            page: VecDeque::new(),
            next: Some(String::new()),
        }
    }
}

impl Iterator for Listing {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        while self.page.is_empty() {
            let mut path = format!("/api/v1/jobs?limit={PAGE}");
            match self.next.take()?.as_str() {
                "" => {}
                after => path += &format!("&after={after}"),
            }
            let mut answer = self.http.get(&path).unwrap().is(200);
            self.next = answer["nextCursor"].as_str().map(str::to_owned);
            let Value::Array(jobs) = answer["jobs"].take() else {
                panic!("no jobs in {answer}");
            };
            self.page = jobs.into();
        }
        self.page.pop_front()
    }
}

//! A server that is killed without warning, and what the next one makes of it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A node on a file that outlives it.
struct Node {
    process: Child,
    address: String,
}

impl Node {
    fn start(dir: &Path) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_steadfast"))
            .args(["serve", "--listen", "127.0.0.1:0"])
            .args(["--store", "sqlite:jobs.db"])
            .current_dir(dir)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let address = lines
            .by_ref()
            .find_map(|line| {
                let line = line.unwrap();
                let (_, rest) = line.split_once("http://")?;
                Some(rest.split('/').next().unwrap().trim().to_owned())
            })
            .unwrap();
        // A full pipe would hold up the node.
        thread::spawn(move || lines.for_each(drop));
        let node = Self { process, address };
        until("the node to be ready", || {
            let (status, _) = node.call("GET", "/readyz", None)?;
            (status == 200).then_some(())
        });
        node
    }

    /// Kills it where it stands.
    fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    fn call(&self, method: &str, path: &str, body: Option<Value>) -> Option<(u16, Value)> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
        .ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        Some((status, serde_json::from_str(body).unwrap_or_default()))
    }

    fn create(&self, body: Value) -> Value {
        let (status, made) = self.call("POST", "/api/v1/jobs", Some(body)).unwrap();
        assert_eq!(status, 201, "{made}");
        made
    }

    fn get(&self, path: &str) -> Value {
        let (status, body) = self.call("GET", path, None).unwrap();
        assert_eq!(status, 200, "{body}");
        body
    }

    fn attempts(&self, id: &str) -> Vec<Value> {
        let history = self.get(&format!("/api/v1/jobs/{id}/history?limit=500"));
        history["attempts"].as_array().unwrap().clone()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _gone = self.process.kill();
        let _reaped = self.process.wait();
    }
}

fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(begun.elapsed() < PATIENCE, "waited in vain for {what}");
        // sleep: polling a real server
        thread::park_timeout(Duration::from_millis(20));
    }
}

/// A target that outlives nodes and counts what it is asked, by job and attempt.
struct Target {
    url: String,
    asked: Arc<Mutex<BTreeMap<(String, u32), u32>>>,
}

impl Target {
    /// Answers with the status that it is told for the attempt, or never if there is none.
    fn start(answer: fn(attempt: u32) -> Option<u16>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(BTreeMap::new()));
        let counted = asked.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, counted) = (stream.unwrap(), counted.clone());
                thread::spawn(move || serve(&stream, &counted, answer));
            }
        });
        Self { url, asked }
    }

    fn asked(&self) -> BTreeMap<(String, u32), u32> {
        self.asked.lock().unwrap().clone()
    }
}

fn serve(
    stream: &TcpStream,
    counted: &Mutex<BTreeMap<(String, u32), u32>>,
    answer: fn(u32) -> Option<u16>,
) -> Option<()> {
    let mut lines = BufReader::new(stream).lines();
    loop {
        let (mut job, mut attempt) = (String::new(), 0);
        loop {
            let line = lines.next()?.ok()?.to_ascii_lowercase();
            match line.split_once(": ") {
                Some(("steadfast-job-id", id)) => job = id.to_owned(),
                Some(("steadfast-attempt", number)) => attempt = number.parse().unwrap(),
                _ if line.is_empty() => break,
                _ => {}
            }
        }
        *counted.lock().unwrap().entry((job, attempt)).or_default() += 1;
        match answer(attempt) {
            Some(status) => write!(
                { stream },
                "HTTP/1.1 {status} Said\r\ncontent-length: 0\r\n\r\n"
            )
            .ok()?,
            // Reads on, so that the connection stays open until the other side is gone.
            None => drop(lines.next()),
        }
    }
}

#[test]
fn a_server_killed_during_retries_goes_on_with_every_one_of_them_and_repeats_none() {
    const JOBS: usize = 200;
    let dir = tempfile::tempdir().unwrap();
    // Two failures, then success.
    let target = Target::start(|attempt| Some(if attempt <= 2 { 503 } else { 200 }));
    let node = Node::start(dir.path());
    let retry =
        json!({"maxRetries": 5, "backoff": "fixed", "baseDelay": "1500ms", "jitter": "none"});
    // The lease is short, so that the next node learns soon of what the killed one held.
    let job = json!({"api": target.url, "retry": retry, "lease": "1s"});
    let made = node.create(json!({"jobs": vec![job; JOBS]}));
    let ids: Vec<String> = made["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|job| job["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids.len(), JOBS);
    // In the middle: some second attempts are over, others run or wait.
    until("some retries", || {
        let asked = target.asked();
        let retries = asked.keys().filter(|(_, attempt)| *attempt == 2);
        (retries.count() >= JOBS / 4).then_some(())
    });
    node.kill();

    let node = Node::start(dir.path());
    until("all jobs to succeed", || {
        let stats = node.get("/api/v1/stats");
        (stats["succeeded"] == JOBS).then_some(())
    });
    let asked = target.asked();
    let mut lost = 0;
    for id in &ids {
        let attempts = node.attempts(id);
        for attempt in &attempts {
            let number = u32::try_from(attempt["attempt"].as_u64().unwrap()).unwrap();
            let times = asked.get(&(id.clone(), number)).copied().unwrap_or(0);
            match attempt["status"].as_str().unwrap() {
                // It may have been killed before or after it asked.
                "LOST" => {
                    lost += 1;
                    assert!(times <= 1, "{id} {number}");
                }
                _ => assert_eq!(times, 1, "{id} {number} was settled once"),
            }
        }
        let numbers: Vec<u64> = attempts
            .iter()
            .map(|attempt| attempt["attempt"].as_u64().unwrap())
            .collect();
        let most = numbers.len() as u64;
        assert_eq!(numbers, (1..=most).rev().collect::<Vec<u64>>(), "{id}");
        assert_eq!(attempts[0]["status"], "SUCCESS", "{id}");
    }
    let recorded: usize = ids.iter().map(|id| node.attempts(id).len()).sum();
    assert!(asked.len() <= recorded, "every request has its record");
    println!("{lost} attempts were lost with the node");
}

#[test]
fn an_at_most_once_job_that_died_with_its_server_is_unknown_and_never_sent_again() {
    let dir = tempfile::tempdir().unwrap();
    let target = Target::start(|_| None);
    let node = Node::start(dir.path());
    let body = json!({
        "api": target.url, "type": "AT_MOST_ONCE", "maxRetryCount": 5, "lease": "1s"
    });
    let made = node.create(body);
    let id = made["id"].as_str().unwrap();
    until("the target to be asked", || {
        (target.asked().len() == 1).then_some(())
    });
    node.kill();

    let node = Node::start(dir.path());
    let job = until("the lease to run out", || {
        let job = node.get(&format!("/api/v1/jobs/{id}"));
        (job["label"] == "failed").then_some(job)
    });
    assert_eq!(job["reason"], "outcome_unknown");
    let attempts = node.attempts(id);
    assert_eq!(attempts.len(), 1);
    assert_eq!(attempts[0]["status"], "LOST");
    assert_eq!(target.asked(), BTreeMap::from([((id.to_owned(), 1), 1)]));
    let letters = node.get("/api/v1/dlq");
    assert_eq!(letters["jobs"][0]["id"], id);
    let again = format!("/api/v1/jobs/{id}/retry");
    let (status, refused) = node.call("POST", &again, None).unwrap();
    assert_eq!((status, &refused["code"]), (409, &json!("refused")));
}

#[test]
fn a_hundred_thousand_waiting_jobs_do_not_hold_up_a_start() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::start(dir.path());
    let jobs = vec![json!({"kind": "later", "delay": "1d"}); 1_000];
    for _ in 0..100 {
        node.create(json!({"jobs": jobs}));
    }
    node.kill();
    let begun = Instant::now();
    let node = Node::start(dir.path());
    println!("ready after {} ms", begun.elapsed().as_millis());
    let stats = node.get("/api/v1/stats");
    assert_eq!(stats["scheduled"], 100_000);
}

//! Limits as the called system sees them, while nodes are killed and their connections are cut.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use steadfast_sim::prove;

use crate::{
    node::{Node, until},
    postgres,
    proxy::Proxy,
};

/// How long each round goes on before the nodes are killed as well.
const ROUND: Duration = Duration::from_millis(1_500);
/// How long a call takes: far less than a lease.
const CALL: Duration = Duration::from_millis(100);
pub(crate) const RUNNING_MAX: u32 = 4;
pub(crate) const STARTS_MAX: usize = 40 + 4;
/// The limit is for 4 s. Calls may arrive so much later than they were started.
const WINDOW: Duration = Duration::from_secs(2);
const RETRY_SHARE: f64 = 0.1;
/// Retries that may start in each minute whatever the share is.
const RETRIES_MIN: f64 = 5.0;
const KEYS: usize = 3;

/// What a called system has seen.
#[derive(Default)]
pub(crate) struct Calls {
    running: BTreeMap<String, u32>,
    running_max: BTreeMap<String, u32>,
    /// When calls came, and of which attempt they were.
    starts: BTreeMap<String, Vec<(Instant, u32)>>,
    /// The job of each key that was called last, and whether it has its answer.
    of_key: BTreeMap<String, (usize, bool)>,
    answered: BTreeMap<String, u32>,
    pub wrong: Vec<String>,
}

/// A system that limits would protect. The path of a call is the name of what limits it.
pub(crate) struct LimitedTarget {
    pub url: String,
    calls: Arc<Mutex<Calls>>,
    /// Calls wait until as many are there as may be.
    waits: Arc<AtomicBool>,
}

impl LimitedTarget {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let target = Self {
            url: format!("http://{}", listener.local_addr().unwrap()),
            calls: Arc::default(),
            waits: Arc::default(),
        };
        let (calls, waits) = (target.calls.clone(), target.waits.clone());
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, calls, waits) = (stream.unwrap(), calls.clone(), waits.clone());
                thread::spawn(move || serve(&stream, &calls, &waits));
            }
        });
        target
    }

    pub(crate) fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap()
    }

    fn answered(&self, name: &str) -> u32 {
        let calls = self.calls.lock().unwrap();
        calls.answered.get(name).copied().unwrap_or(0)
    }

    fn running(&self, name: &str) -> u32 {
        let calls = self.calls.lock().unwrap();
        calls.running.get(name).copied().unwrap_or(0)
    }
}

impl Calls {
    fn begin(&mut self, path: &str, attempt: u32) {
        let name = name_of(path);
        let running = self.running.entry(name.clone()).or_default();
        *running += 1;
        let most = self.running_max.entry(name.clone()).or_default();
        *most = (*most).max(*running);
        let is_alone = *running == 1;
        self.starts
            .entry(name.clone())
            .or_default()
            .push((Instant::now(), attempt));
        let Some(number) = number_of(path) else {
            return;
        };
        let last = self.of_key.insert(name, (number, false));
        let is_next = match last {
            None => number == 0,
            Some((last, true)) => number == last + 1 || number == last,
            Some((last, false)) => number == last,
        };
        if !is_alone || !is_next {
            self.wrong.push(format!("{path} came after {last:?}"));
        }
    }

    fn end(&mut self, path: &str, is_answered: bool) {
        let name = name_of(path);
        *self.running.entry(name.clone()).or_default() -= 1;
        if is_answered {
            *self.answered.entry(name.clone()).or_default() += 1;
            if let Some((_, is_done)) = self.of_key.get_mut(&name) {
                *is_done = true;
            }
        }
    }

    /// The most calls that ran at once.
    pub(crate) fn most(&self, name: &str) -> u32 {
        self.running_max.get(name).copied().unwrap_or(0)
    }

    /// The most calls that came within a window.
    pub(crate) fn in_window(&self, name: &str) -> usize {
        let starts = self.starts.get(name).map_or(&[][..], Vec::as_slice);
        let within = |first: Instant| {
            let later = starts.iter().filter(|(at, _)| *at >= first);
            later.filter(|(at, _)| *at < first + WINDOW).count()
        };
        let most = starts.iter().map(|(at, _)| within(*at)).max();
        most.unwrap_or(0)
    }
}

/// `/key-1/17` is the 17th call that `key-1` limits.
fn name_of(path: &str) -> String {
    let name = path.trim_start_matches('/').split('/').next();
    name.unwrap_or_default().to_owned()
}

fn number_of(path: &str) -> Option<usize> {
    path.rsplit_once('/')?.1.parse().ok()
}

fn serve(stream: &TcpStream, calls: &Mutex<Calls>, waits: &AtomicBool) -> Option<()> {
    let mut lines = BufReader::new(stream);
    loop {
        let (mut path, mut attempt) = (String::new(), 0);
        stream.set_read_timeout(None).ok()?;
        loop {
            let mut line = String::new();
            if lines.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let line = line.trim_end();
            if path.is_empty() {
                path = line.split(' ').nth(1)?.to_owned();
            }
            if let Some((name, value)) = line.split_once(": ")
                && name.eq_ignore_ascii_case("steadfast-attempt")
            {
                attempt = value.parse().unwrap();
            }
            if line.is_empty() {
                break;
            }
        }
        calls.lock().unwrap().begin(&path, attempt);
        let is_there = wait(stream, waits);
        let status = match name_of(&path) == "share" && attempt == 1 {
            true => 503,
            false => 200,
        };
        // Noted before the answer: what comes after it may be here before it is noted.
        calls.lock().unwrap().end(&path, is_there && status == 200);
        let head = format!("HTTP/1.1 {status} Status\r\ncontent-length: 0\r\n\r\n");
        { stream }.write_all(head.as_bytes()).ok()?;
    }
}

/// Takes as long as a call does; whether the caller is still there.
fn wait(mut stream: &TcpStream, waits: &AtomicBool) -> bool {
    let mut byte = [0];
    loop {
        stream.set_read_timeout(Some(CALL)).unwrap();
        match stream.read(&mut byte) {
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            _ => return false,
        }
        if !waits.load(Ordering::SeqCst) {
            return true;
        }
    }
}

pub(crate) fn job(target: &str, queue: &str, path: &str, key: &str) -> Value {
    json!({
        "http": {"url": format!("{target}/{path}"), "method": "GET"},
        "queue": queue, "lease": "3s", "idempotencyKey": key,
        "retry": {"maxRetries": 50, "backoff": "fixed", "baseDelay": "100ms", "jitter": "none"}
    })
}

fn jobs(target: &str, round: &str, queue: &str, count: usize) -> Vec<Value> {
    let job = |number| {
        let key = format!("{round}-{queue}-{number}");
        job(target, queue, queue, &key)
    };
    (0..count).map(job).collect()
}

pub(crate) fn set_gates(nodes: &[Node]) {
    let put = |path: &str, body: Value| {
        let path = format!("/api/v1/gates/{path}");
        let answer = nodes[0].http().unwrap().put(&path, &body).unwrap();
        assert!(matches!(answer.status, 200 | 201), "{answer:?}");
    };
    put("queue/running", json!({"maxRunning": RUNNING_MAX}));
    let rate = json!({"limit": 40, "per": "4s", "burst": 4});
    put("queue/rate", json!({"rate": rate}));
    put("queue/share", json!({"retryShare": RETRY_SHARE}));
    for key in 0..KEYS {
        let path = format!("key/key-{key}?tenant=default");
        put(&path, json!({"ordered": true}));
    }
    // They hold on all nodes within two seconds; a node that is asked for them has them at once.
    for node in nodes {
        node.get("/api/v1/gates");
    }
}

#[test]
fn limits_hold_while_nodes_are_killed_and_connections_are_cut() {
    let (seed, rounds) = (prove::seed(), prove::times(2));
    eprintln!("gates: the faults are of seed {seed}");
    let proxy = Proxy::start(seed);
    let store = postgres::store_at(&proxy.address);
    let dir = tempfile::tempdir().unwrap();
    let target = LimitedTarget::start();
    let url = target.url.as_str();
    let start = || [(); 3].map(|()| Node::start_on(&store, dir.path()));
    let mut nodes = start();
    set_gates(&nodes);
    let (mut expected, mut of_key) = (0, 0);
    for round in 0..rounds {
        let name = format!("round-{round}");
        let mut all = jobs(url, &name, "running", 100);
        all.extend(jobs(url, &name, "rate", 60));
        all.extend(jobs(url, &name, "share", 30));
        for number in of_key..of_key + 10 {
            for key in 0..KEYS {
                let path = format!("key-{key}/{number}");
                let mut job = job(url, "keys", &path, &path);
                job["concurrencyKey"] = json!(format!("key-{key}"));
                all.push(job);
            }
        }
        (expected, of_key) = (expected + 100, of_key + 10);
        let created = nodes[0].post("/api/v1/jobs", &json!({"jobs": all}));
        assert!(matches!(created.status, 200 | 201), "{created:?}");
        proxy.turn(true);
        // sleep: this is how long the trouble lasts
        thread::park_timeout(ROUND);
        nodes.into_iter().for_each(Node::kill);
        proxy.turn(false);
        nodes = start();
    }
    // Whatever was started has ended, or its lease has: nothing is left over that counts.
    until("all calls that are limited by number", || {
        let of_keys: u32 = (0..KEYS)
            .map(|key| target.answered(&format!("key-{key}")))
            .sum();
        let keys = u32::try_from(of_key * KEYS).unwrap();
        (target.answered("running") >= expected && of_keys >= keys).then_some(())
    });
    target.waits.store(true, Ordering::SeqCst);
    let last = jobs(url, "last", "running", 20);
    nodes[0]
        .post("/api/v1/jobs", &json!({"jobs": last}))
        .is(201);
    until("the whole limit to be used", || {
        (target.running("running") == RUNNING_MAX).then_some(())
    });
    target.waits.store(false, Ordering::SeqCst);
    until("the last of them", || {
        (target.answered("running") >= expected + 20).then_some(())
    });
    let calls = target.calls();
    check(&calls, &proxy, rounds);
}

fn check(calls: &Calls, proxy: &Proxy, rounds: u64) {
    let most = calls.most("running");
    let in_window = calls.in_window("rate");
    let share = calls.starts.get("share").map_or(&[][..], Vec::as_slice);
    let retries = share.iter().filter(|(_, attempt)| *attempt > 1).count();
    prove::tell(
        "gates",
        &[
            ("nodes killed", 3 * rounds),
            ("connections cut", proxy.cuts()),
            ("calls at once, of 4", most.into()),
            ("calls in two seconds, of 44", in_window as u64),
            ("retries", retries as u64),
            ("calls out of order", calls.wrong.len() as u64),
        ],
    );
    assert!(calls.wrong.is_empty(), "{:?}", calls.wrong);
    assert_eq!(most, RUNNING_MAX);
    assert!(in_window <= STARTS_MAX, "{in_window} in {WINDOW:?}");
    // Minutes that have begun, each with its own share.
    let first = share.first().map(|(at, _)| *at);
    let took = first.map_or(Duration::ZERO, |first| first.elapsed());
    let minutes = (took.as_secs() / 60 + 2) as f64;
    let allowed = minutes * RETRIES_MIN.max(RETRY_SHARE * share.len() as f64 + 1.0);
    assert!(retries as f64 <= allowed, "{retries} of {}", share.len());
    assert!(proxy.cuts() > 0, "no trouble");
}

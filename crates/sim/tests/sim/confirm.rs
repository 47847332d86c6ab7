//! A target that carries out every request and loses a fifth of its responses: jobs that ask take
//! effect once, and plain retries do not. Real sockets, and the real engine.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use steadfast_core::{ConfirmSettings, EndReason, Jitter, PolicyPatch, Preset};
use steadfast_engine::{
    Engine, EngineConfig, JobEvent, JobRequest, Notice, Observer,
    http::{AddressPolicy, HttpRequest, Outbound, OutboundRules},
};
use steadfast_sim::prove;
use steadfast_store::MemoryStore;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
    sync::Notify,
};

/// As many as a debug build carries out in a few seconds.
const JOBS: u64 = 500;
const LOST_IN_HUNDRED: u32 = 20;
const CALLS_AT_ONCE: usize = 64;
const JOBS_AT_ONCE: u64 = 1_000;

/// What the target has done, by idempotency key.
struct Books {
    effects: Mutex<HashMap<String, u32>>,
    random: Mutex<StdRng>,
    responses_lost: AtomicU64,
}

impl Books {
    async fn open(seed: u64) -> (Arc<Self>, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let books = Arc::new(Self {
            effects: Mutex::default(),
            random: Mutex::new(StdRng::seed_from_u64(seed)),
            responses_lost: AtomicU64::new(0),
        });
        let served = books.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let books = served.clone();
                tokio::spawn(async move { books.serve(stream).await });
            }
        });
        (books, address)
    }

    /// Answers until a response is lost, which closes the connection.
    async fn serve(&self, stream: TcpStream) {
        let mut stream = BufReader::new(stream);
        while let Some((line, key)) = read_request(&mut stream).await {
            let status = self.carry_out(&line, key);
            if self
                .random
                .lock()
                .unwrap()
                .random_ratio(LOST_IN_HUNDRED, 100)
            {
                self.responses_lost.fetch_add(1, Ordering::Relaxed);
                return;
            }
            let response = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
            if stream.write_all(response.as_bytes()).await.is_err() {
                return;
            }
        }
    }

    fn carry_out(&self, line: &str, key: String) -> &'static str {
        let mut effects = self.effects.lock().unwrap();
        if line.starts_with("POST") {
            *effects.entry(key).or_default() += 1;
            return "201 Created";
        }
        let id = line
            .split(['/', ' '])
            .rfind(|part| part.starts_with("job_"));
        match id.is_some_and(|id| effects.contains_key(id)) {
            true => "200 OK",
            false => "404 Not Found",
        }
    }
}

/// The first line of a request, and its idempotency key.
async fn read_request(stream: &mut BufReader<TcpStream>) -> Option<(String, String)> {
    let (mut first, mut key, mut length) = (String::new(), String::new(), 0);
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        match line.split_once(": ") {
            _ if first.is_empty() => first = line.to_owned(),
            Some(("idempotency-key", value)) => key = value.to_owned(),
            Some(("content-length", value)) => length = value.parse().ok()?,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some((first, key))
}

/// How the jobs of a run ended.
#[derive(Default)]
struct Ends {
    ended: AtomicU64,
    succeeded: AtomicU64,
    /// Attempts after which it was open whether they took effect.
    unknown: AtomicU64,
    /// Jobs that a person has to look at because of that.
    unsettled: AtomicU64,
    changed: Notify,
}

struct Watch(Arc<Ends>);

impl Observer for Watch {
    fn notice(&self, notice: &Notice) {
        let ends = &self.0;
        match &notice.event {
            JobEvent::Retrying { failure, .. } if failure.questions == Some(0) => {
                ends.unknown.fetch_add(1, Ordering::Relaxed);
            }
            JobEvent::Succeeded => {
                ends.succeeded.fetch_add(1, Ordering::Relaxed);
            }
            JobEvent::Failed {
                reason: Some(EndReason::OutcomeUnknown),
                ..
            } => {
                ends.unsettled.fetch_add(1, Ordering::Relaxed);
            }
            _ => {}
        }
        if notice.event.is_final() {
            ends.ended.fetch_add(1, Ordering::Relaxed);
            ends.changed.notify_one();
        }
    }
}

struct Run {
    books: Arc<Books>,
    ends: Arc<Ends>,
}

impl Run {
    /// Runs this many jobs to their end.
    async fn of(jobs: u64, asks: bool, seed: u64) -> Self {
        let (books, address) = Books::open(seed).await;
        let ends = Arc::new(Ends::default());
        let rules = OutboundRules::new(AddressPolicy::Any);
        let engine = Engine::builder(MemoryStore::default())
            .config(EngineConfig::default())
            .http_concurrency(CALLS_AT_ONCE)
            .outbound(Outbound::builder(rules).build().unwrap())
            .observer(Arc::new(Watch(ends.clone())))
            .start()
            .unwrap();
        let request = HttpRequest::new(&format!("http://{address}/orders")).unwrap();
        let mut job = JobRequest::of(&request).retry(quick());
        if asks {
            job = job.confirm(ConfirmSettings {
                url: Some(format!("http://{address}/orders/{{jobId}}")),
                ..ConfirmSettings::default()
            });
        }
        let mut created = 0;
        while created < jobs {
            let some = JOBS_AT_ONCE.min(jobs - created);
            let requests = (0..some).map(|_| job.clone());
            engine.client().enqueue_all(requests).await.unwrap();
            created += some;
            while ends.ended.load(Ordering::Relaxed) < created {
                ends.changed.notified().await;
            }
        }
        engine.stop().await;
        Self { books, ends }
    }

    fn repeated_effects(&self) -> u64 {
        let effects = self.books.effects.lock().unwrap();
        effects.values().filter(|count| **count > 1).count() as u64
    }
}

/// Retries at once, so that time is not what is tested.
fn quick() -> PolicyPatch {
    PolicyPatch::preset(Preset::Http)
        .base_delay(std::time::Duration::from_millis(1))
        .max_delay(std::time::Duration::from_millis(1))
        .jitter(Jitter::None)
        .max_retries(5)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_asks_takes_effect_once_and_a_plain_retry_does_not() {
    let (seed, jobs) = (prove::seed(), prove::times(JOBS));
    eprintln!("seed {seed}");
    let asking = Run::of(jobs, true, seed).await;
    let ends = &asking.ends;
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let (unknown, unsettled) = (count(&ends.unknown), count(&ends.unsettled));
    assert_eq!(asking.repeated_effects(), 0);
    assert!(
        unknown > jobs / 10,
        "only {unknown} of {jobs} lost their response"
    );
    assert!(
        unsettled * 100 <= unknown,
        "{unsettled} of {unknown} need a person"
    );
    assert_eq!(count(&ends.succeeded) + unsettled, jobs);
    let effects = asking.books.effects.lock().unwrap().len() as u64;
    assert_eq!(effects, jobs, "a job was given up that took no effect");

    let plain = Run::of(jobs, false, seed).await;
    let repeated = plain.repeated_effects();
    assert!(
        repeated > jobs / 10,
        "the target lost too little to compare"
    );
    prove::tell(
        "confirm",
        &[
            ("jobs", jobs),
            ("responses lost", count(&asking.books.responses_lost)),
            ("unknown ends", unknown),
            ("of them left to a person", unsettled),
            ("double effects", asking.repeated_effects()),
            ("double effects of plain retries", repeated),
        ],
    );
}

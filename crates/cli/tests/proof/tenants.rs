//! One hostile tenant uses every part of the API with all its might, and another one goes on working.

use std::{
    fs,
    net::TcpListener,
    path::Path,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use rustix::process::Pid;
use serde_json::{Value, json};
use steadfast_sim::prove;

use crate::{
    http::Http,
    node::{FILE, Node, serve, until},
    postgres,
    process::steadfast,
    target::Target,
};

/// The good tenant's verbs take at most this many times as long under attack, by their 99th percentiles.
const RATIO_MAX: u32 = 3;
/// A quiet verb that is faster counts as this slow: the attackers run on the machine that is measured.
const QUIET_MIN: Duration = Duration::from_millis(10);
const ADMIN_KEY: &str = "a-key-for-the-operator-of-this-proof";
/// Rounds of the good tenant in an ordinary test run, which only shows that it goes on.
const ROUNDS: u64 = 2;
/// Jobs of one request.
const BULK: usize = 1_000;

/// How much the hostile tenant does: little in an ordinary test run, which shares the machine.
struct Might {
    /// Connections of each kind of attack.
    attackers: usize,
    /// Bulks of jobs before it begins, so that its lists and claims are not for nothing.
    hoard: usize,
}

impl Might {
    fn of(rounds: u64) -> Self {
        match rounds > ROUNDS {
            true => Self {
                attackers: 4,
                hoard: 20,
            },
            false => Self {
                attackers: 1,
                hoard: 1,
            },
        }
    }
}

#[test]
fn a_tenant_with_all_its_might_does_not_stop_another_on_sqlite() {
    let dir = tempfile::tempdir().unwrap();
    let ratios = attack(FILE, dir.path());
    tell("hostile tenant on SQLite", &ratios);
    check(&ratios);
}

#[test]
fn a_tenant_with_all_its_might_does_not_stop_another_on_postgres() {
    let dir = tempfile::tempdir().unwrap();
    let ratios = attack(&postgres::fresh_store(), dir.path());
    tell("hostile tenant on PostgreSQL", &ratios);
    check(&ratios);
}

/// What the good tenant does, and how long it took in each round.
#[derive(Default)]
struct Times {
    create: Vec<Duration>,
    claim: Vec<Duration>,
    heartbeat: Vec<Duration>,
    settle: Vec<Duration>,
    call: Vec<Duration>,
    list: Vec<Duration>,
}

/// The 99th percentiles of a verb, quiet and under attack.
struct Ratio {
    verb: &'static str,
    quiet: Duration,
    attacked: Duration,
}

fn tell(proof: &str, ratios: &[Ratio]) {
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap();
    let figures = ratios.iter().flat_map(|ratio| {
        let (verb, quiet, attacked) = (ratio.verb, micros(ratio.quiet), micros(ratio.attacked));
        [
            (format!("{verb}: p99 quiet, µs"), quiet),
            (format!("{verb}: p99 beside it, µs"), attacked),
            (
                format!("{verb}: p99 beside it, percent of quiet"),
                attacked * 100 / quiet.max(1),
            ),
        ]
    });
    let figures: Vec<(String, u64)> = figures.collect();
    let figures = figures.iter().map(|(name, count)| (name.as_str(), *count));
    prove::tell(proof, &figures.collect::<Vec<_>>());
}

/// In a proof only: an ordinary test run does not look at the time.
fn check(ratios: &[Ratio]) {
    let is_proof = prove::times(ROUNDS) > ROUNDS;
    let slow = |ratio: &&Ratio| ratio.attacked > RATIO_MAX * ratio.quiet.max(QUIET_MIN);
    let slow = ratios.iter().filter(|_| is_proof).filter(slow);
    let slow = slow.map(|it| format!("{}: {:?}, quiet {:?}", it.verb, it.attacked, it.quiet));
    let slow: Vec<String> = slow.collect();
    assert!(slow.is_empty(), "slow under attack: {}", slow.join("; "));
}

fn attack(store: &str, dir: &Path) -> Vec<Ratio> {
    let rounds = prove::times(ROUNDS);
    let might = Might::of(rounds);
    let mut args = serve(store).to_vec();
    args.extend(["--outbound", "any"]);
    let mut command = steadfast(&args, dir);
    command.env("STEADFAST_ADMIN_KEY", ADMIN_KEY);
    let node = Node::run(command);
    let [evil, good] = ["evil", "good"].map(|tenant| key(&node, tenant));
    let target = Target::start(|_| Some(200));
    let attack = Attack {
        address: node.address().to_owned(),
        key: evil,
        hole: black_hole(),
        number: AtomicU64::new(0),
        is_over: AtomicBool::new(false),
        sent: AtomicU64::new(0),
    };
    attack.hoard(might.hoard);
    let mut quiet = Times::default();
    for _ in 0..rounds {
        quiet.round(&node, &good, &target);
    }
    let mut attacked = Times::default();
    thread::scope(|scope| {
        for part in ATTACKS {
            for _ in 0..might.attackers {
                scope.spawn(|| attack.go_on(*part));
            }
        }
        until("the attack to begin", || {
            (attack.sent.load(Ordering::Relaxed) > 20).then_some(())
        });
        for _ in 0..rounds {
            attacked.round(&node, &good, &target);
        }
        attack.is_over.store(true, Ordering::Relaxed);
    });
    vec![
        ratio("create", quiet.create, attacked.create),
        ratio("claim", quiet.claim, attacked.claim),
        ratio("heartbeat", quiet.heartbeat, attacked.heartbeat),
        ratio("settle", quiet.settle, attacked.settle),
        ratio("call", quiet.call, attacked.call),
        ratio("list", quiet.list, attacked.list),
    ]
}

fn ratio(verb: &'static str, quiet: Vec<Duration>, attacked: Vec<Duration>) -> Ratio {
    let [quiet, attacked] = [quiet, attacked].map(|mut times| {
        times.sort_unstable();
        times[times.len() * 99 / 100]
    });
    Ratio {
        verb,
        quiet,
        attacked,
    }
}

/// A key of one tenant.
fn key(node: &Node, tenant: &str) -> String {
    let mut admin = node.http().unwrap().with_key(ADMIN_KEY);
    let request = json!({"name": tenant, "scope": "tenant", "tenant": tenant});
    let created = admin.post("/api/v1/keys", &request).unwrap().is(201);
    created["token"].as_str().unwrap().to_owned()
}

impl Times {
    /// One of each; all of them succeed, whatever happens beside.
    fn round(&mut self, node: &Node, key: &str, target: &Target) {
        let mut http = node.http().unwrap().with_key(key);
        let (_, time) = timed(|| create(&mut http, &json!({"kind": "later", "delay": "1d"})));
        self.create.push(time);
        let work = create(&mut http, &json!({"kind": "work"}));
        let claim = json!({"worker": "w", "kinds": ["work"], "wait": "30s"});
        let (claims, time) = timed(|| http.post("/api/v1/claims", &claim).unwrap().is(200));
        self.claim.push(time);
        let [claim] = &claims["claims"].as_array().unwrap()[..] else {
            panic!("{claims}");
        };
        assert_eq!(claim["id"], work);
        let path = format!("/api/v1/claims/{}", work.as_str().unwrap());
        let fence = json!({"fence": claim["fence"]});
        let mut held = |verb| {
            http.post(&format!("{path}/{verb}"), &fence)
                .unwrap()
                .is(200)
        };
        self.heartbeat.push(timed(|| held("heartbeat")).1);
        self.settle.push(timed(|| held("succeed")).1);
        let (_, time) = timed(|| {
            let job = create(&mut http, &json!({"api": target.url, "priority": 9}));
            let attempt = (job.as_str().unwrap().to_owned(), 1);
            until("the call", || {
                target.requests().contains_key(&attempt).then_some(())
            });
        });
        self.call.push(time);
        let (_, time) = timed(|| http.get("/api/v1/jobs?limit=50").unwrap().is(200));
        self.list.push(time);
    }
}

fn create(http: &mut Http, job: &Value) -> Value {
    http.post("/api/v1/jobs", job).unwrap().is(201)["id"].clone()
}

fn timed<T>(run: impl FnOnce() -> T) -> (T, Duration) {
    let begun = Instant::now();
    let answer = run();
    (answer, begun.elapsed())
}

/// Gives this thread the lowest priority: the machine of a hostile tenant is not that of the node.
fn yield_to_others() {
    let own = fs::read_link("/proc/thread-self").unwrap();
    let own = own.file_name().unwrap().to_str().unwrap().parse().unwrap();
    rustix::process::setpriority_process(Pid::from_raw(own), 19).unwrap();
}

/// A port on all addresses of this machine that accepts connections and never answers.
fn black_hole() -> u16 {
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let mut open = Vec::new();
        for stream in listener.incoming() {
            open.push(stream);
        }
    });
    port
}

/// What the hostile tenant has.
struct Attack {
    address: String,
    key: String,
    hole: u16,
    /// Makes every name another one.
    number: AtomicU64,
    is_over: AtomicBool,
    sent: AtomicU64,
}

/// One request of an attack; `None` if the connection broke.
type Part = fn(&Attack, &mut Http) -> Option<()>;

const ATTACKS: &[Part] = &[
    |attack, http| attack.create(http, |number| attack.hanging_call(number)),
    |attack, http| {
        attack.create(
            http,
            |number| json!({"kind": "k", "queue": format!("q{number}")}),
        )
    },
    |attack, http| {
        let key =
            |number| json!({"kind": "k", "concurrencyKey": format!("c{number}"), "delay": "1d"});
        attack.create(http, key)
    },
    |attack, http| {
        let kinds = json!(["k", format!("y{}", attack.next())]);
        let claim = json!({"worker": "w", "kinds": kinds, "max": 10});
        http.post("/api/v1/claims", &claim).map(drop)
    },
    |_, http| http.get("/api/v1/jobs?text=nosuch&limit=500").map(drop),
    |_, http| http.get("/api/v1/stats").map(drop),
    |_, http| http.get("/api/v1/failures").map(drop),
    |attack, http| {
        let path = format!("/api/v1/gates/queue/q{}", attack.next() % 1_000);
        http.put(&path, &json!({"maxRunning": 1})).map(drop)
    },
    |attack, http| {
        let name = format!("s{}", attack.next());
        let schedule = json!({"name": name, "every": "1s", "job": {"kind": "tick"}});
        http.post("/api/v1/schedules", &schedule).map(drop)
    },
    |_, http| {
        let heartbeat = json!({"id": "job_06f00000000000000000000000", "fence": 1});
        let claims: Vec<Value> = (0..1_000).map(|_| heartbeat.clone()).collect();
        let body = json!({"worker": "w", "claims": claims});
        http.post("/api/v1/claims/heartbeat", &body).map(drop)
    },
    |_, http| {
        let batch = json!({"open": true, "jobs": [{"kind": "k", "delay": "1d"}]});
        http.post("/api/v1/batches", &batch).map(drop)
    },
    |_, http| {
        let search = json!({"kind": "cancel", "filter": {"text": "nosuch"}, "dryRun": true});
        http.post("/api/v1/operations", &search).map(drop)
    },
    |_, http| {
        let replay = json!({"queue": "default", "retry": "patient"});
        http.post("/api/v1/policies/replay", &replay).map(drop)
    },
    |_, http| http.get("/api/v1/forecast").map(drop),
    |_, http| http.get("/api/v1/audit?limit=500").map(drop),
    |attack, http| {
        let path = format!("/api/v1/queues/q{}/explain", attack.next() % 1_000);
        http.get(&path).map(drop)
    },
    |attack, http| {
        let path = format!("/api/v1/secrets/s{}", attack.next() % 1_000);
        http.put(&path, &json!({"value": "0123456789"})).map(drop)
    },
    |attack, http| {
        let url = format!("http://127.0.0.1:{}/{}", attack.hole, attack.next());
        http.post("/api/v1/endpoints", &json!({"url": url}))
            .map(drop)
    },
    |_, http| {
        let claim = json!({"worker": "w", "kinds": ["none"], "wait": "1s"});
        http.post("/api/v1/claims", &claim).map(drop)
    },
];

impl Attack {
    fn next(&self) -> u64 {
        self.number.fetch_add(1, Ordering::Relaxed)
    }

    fn connect(&self) -> Option<Http> {
        Some(Http::connect(&self.address)?.with_key(&self.key))
    }

    /// Jobs that wait, so that lists and claims have much to read.
    fn hoard(&self, bulks: usize) {
        let mut http = self.connect().unwrap();
        for _ in 0..bulks {
            let jobs = (0..BULK).map(|_| {
                json!({"kind": "k", "concurrencyKey": format!("h{}", self.next()), "delay": "1d"})
            });
            let jobs = json!({"jobs": jobs.collect::<Vec<_>>()});
            http.post("/api/v1/jobs", &jobs).unwrap().is(201);
        }
    }

    fn go_on(&self, part: Part) {
        yield_to_others();
        while !self.is_over.load(Ordering::Relaxed) {
            let Some(mut http) = self.connect() else {
                continue;
            };
            while !self.is_over.load(Ordering::Relaxed) && part(self, &mut http).is_some() {
                self.sent.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn create(&self, http: &mut Http, job: impl Fn(u64) -> Value) -> Option<()> {
        let jobs: Vec<Value> = (0..100).map(|_| job(self.next())).collect();
        http.post("/api/v1/jobs", &json!({"jobs": jobs})).map(drop)
    }

    /// Each goes to another destination, and hangs for as long as it may.
    fn hanging_call(&self, number: u64) -> Value {
        let (high, low) = (1 + number / 250 % 250, 1 + number % 250);
        let url = format!("http://127.{high}.{low}.1:{}/", self.hole);
        json!({"api": url, "timeout": "10m", "maxRetries": 0})
    }
}

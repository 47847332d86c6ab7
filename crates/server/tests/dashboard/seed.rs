//! An hour of a busy shop, as data for the pages.
//!
//! Jobs are claimed and settled as workers would, on a clock that is set back and comes forward
//! to now; so every count, attempt and decision is the real thing.

use std::time::Duration;

use serde_json::json;
use steadfast_core::{
    Claim, Failure, FailureClass, GateId, GatePatch, Jitter, JobId, LogLines, Outcome, Payload,
    PolicyPatch, Preset, WorkerName,
};
use steadfast_engine::{JobRequest, ScheduleRequest, Settlement};
use steadfast_store::{ClaimRequest, Document, DocumentKind, Outbox};

use crate::node::TestNode;

const MINUTE: Duration = Duration::from_secs(60);
const MINUTES: u32 = 55;

/// Numbers that look random and are the same in each run.
struct SeededRandom(u64);

impl SeededRandom {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// Fills the store. Returns the payment job, which has attempts behind and ahead of it.
pub async fn busy_hour(node: &TestNode) -> JobId {
    let mut random = SeededRandom(7);
    schedules(node).await;
    let mut payment_job = None;
    for minute in (1..=MINUTES).rev() {
        node.clock.set_back(MINUTE * minute);
        enqueue(node, &mut random).await;
        if minute == 21 {
            payment_job = Some(payment(node).await);
        }
        work(node, &mut random, minute).await;
    }
    node.clock.set_back(Duration::ZERO);
    let later = request("report.build", "reports", json!({"month": "2026-10"}));
    let later = later.delay(Duration::from_secs(5_400));
    node.client.enqueue(later).await.unwrap();
    payment_job.unwrap()
}

fn request(kind: &str, queue: &str, payload: serde_json::Value) -> JobRequest {
    JobRequest::new(kind, Payload::encode(&payload).unwrap())
        .queue(queue)
        .tenant("shop")
}

async fn enqueue(node: &TestNode, random: &mut SeededRandom) {
    let mut requests = Vec::new();
    for _ in 0..18 + random.below(14) {
        let order = 10_000 + random.below(90_000);
        requests.push(match random.below(5) {
            0 | 1 => request("mail.send", "mail", json!({"to": format!("customer{order}@example.com"), "template": "receipt"})),
            2 => request("invoice.render", "documents", json!({"order": order, "format": "pdf"})),
            3 => request("http", "partners", json!({"url": format!("https://api.warehouse.example/orders/{order}"), "method": "POST"})).retry(Preset::Http),
            _ => request("search.index", "default", json!({"document": order})),
        });
    }
    node.client.enqueue_all(requests).await.unwrap();
}

/// A payment that is still being retried, with a few attempts behind it and a few to come.
async fn payment(node: &TestNode) -> JobId {
    let payload = json!({
        "url": "https://pay.example/v2/captures",
        "method": "POST",
        "headers": {"content-type": "application/json"},
        "body": {"order": 48_213, "amount": "129.90", "currency": "EUR"},
    });
    let policy = PolicyPatch::exponential(MINUTE)
        .max_retries(7)
        .max_delay(MINUTE * 60)
        .jitter(Jitter::Proportional);
    let job = request("http", "payments", payload)
        .retry(policy)
        .tag("order", "48213");
    node.client.enqueue(job).await.unwrap()
}

async fn claims(node: &TestNode, worker: &str) -> Vec<Claim> {
    let request = ClaimRequest {
        except_kinds: vec!["failing".parse().unwrap(), "report.build".parse().unwrap()],
        ..ClaimRequest::new(WorkerName::new(worker).unwrap(), 500)
    };
    let claims = node.node.claim(request, Duration::ZERO).await;
    claims.unwrap().take()
}

async fn work(node: &TestNode, random: &mut SeededRandom, minute: u32) {
    let worker =
        ["worker-eu-1", "worker-eu-2", "worker-us-1"][usize::try_from(minute % 3).unwrap()];
    let claims = claims(node, worker).await;
    node.clock
        .set_back(MINUTE * minute - Duration::from_millis(380 + random.below(900)));
    // The warehouse is down for a while.
    let is_down = (12..26).contains(&minute);
    let outcomes = claims.iter().map(|claim| Settlement {
        on_success: Vec::new(),
        job: claim.job().id,
        fence: claim.fence(),
        log: LogLines::default(),
        outcome: outcome(claim, random, is_down),
    });
    let settled = node.node.settle(outcomes.collect(), None).await.unwrap();
    assert!(settled.iter().all(Result::is_ok));
}

fn outcome(claim: &Claim, random: &mut SeededRandom, is_down: bool) -> Outcome {
    let failure = |failure: Failure| Outcome::Failure {
        failure,
        output: None,
    };
    let job = claim.job();
    let roll = random.below(100);
    match (job.kind.as_str(), job.queue.as_str()) {
        ("http", "payments") => Outcome::Failure {
            failure: Failure::http(503, "pay.example answered 503 Service Unavailable"),
            output: Payload::encode(&json!({
                "status": 503,
                "body": "upstream connect error or disconnect/reset before headers",
                "timings": {"connectMs": 12, "firstByteMs": 341},
            }))
            .ok(),
        },
        ("http", _) if is_down && roll < 85 => failure(Failure::http(
            503,
            format!(
                "api.warehouse.example answered 503 for request {}",
                random.below(99_999)
            ),
        )),
        ("http", _) if roll < 4 => failure(Failure::new(
            FailureClass::TIMEOUT,
            "no response from api.warehouse.example within 30 s",
        )),
        ("mail.send", _) if roll < 3 => failure(Failure::new(
            FailureClass::VALIDATION,
            format!("mailbox customer {} does not exist", random.below(99_999)),
        )),
        ("invoice.render", _) if roll < 8 => failure(Failure::new(
            FailureClass::ERROR,
            format!("font cache is locked by process {}", random.below(30_000)),
        )),
        _ => Outcome::Success { output: None },
    }
}

async fn schedules(node: &TestNode) {
    node.clock.set_back(MINUTE * (MINUTES + 1));
    let job = |kind: &str| request(kind, "reports", json!({"report": kind}));
    let requests = [
        ScheduleRequest::cron("nightly-report", "30 2 * * *", job("report.nightly"))
            .timezone("Europe/Paris"),
        ScheduleRequest::cron("quarter-hour-sync", "*/15 * * * *", job("sync.crm")),
        ScheduleRequest::every("heartbeat", MINUTE * 4, job("heartbeat")),
    ];
    for request in requests {
        node.client.schedule(request).await.unwrap();
    }
}

/// Gates in use, a destination of each status, and a job that waits behind others: returns that job.
pub async fn flow(node: &TestNode) -> JobId {
    gates(node).await;
    destinations(node).await;
    let order = |number: u32| {
        let payload = json!({"order": number});
        request("order.export", "partners", payload).destination(WAREHOUSE)
    };
    let jobs = node.client.enqueue_all((0..12).map(order)).await.unwrap();
    let mut claim = ClaimRequest::new(WorkerName::new("worker-eu-1").unwrap(), 1);
    claim.kinds = vec!["order.export".parse().unwrap()];
    let running = node.node.claim(claim, Duration::ZERO).await.unwrap().take();
    assert_eq!(running.len(), 1);
    jobs[11].id()
}

const WAREHOUSE: &str = "https://api.warehouse.example";

async fn gates(node: &TestNode) {
    let pause = json!({
        "reason": "the provider moves to a new data centre", "until": "2099-01-01T00:00:00Z"
    });
    let rate = json!({"limit": 10, "per": "1m"});
    for (tenant, scope, key, limits) in [
        (
            None,
            "destination",
            WAREHOUSE,
            json!({"rate": rate, "maxRunning": 5}),
        ),
        (
            None,
            "tenant",
            "shop",
            json!({"maxRunning": 200, "weight": 3}),
        ),
        (
            Some("shop"),
            "key",
            "customer-48213",
            json!({"ordered": true}),
        ),
        (
            None,
            "queue",
            "mail",
            json!({"retryShare": 0.25, "paused": pause}),
        ),
        (
            Some("shop"),
            "destination",
            "https://pay.example",
            json!({"hold": "auto"}),
        ),
    ] {
        let tenant = tenant.map(|tenant: &str| tenant.parse().unwrap());
        let id = GateId::new(tenant, scope.parse().unwrap(), key).unwrap();
        let limits: GatePatch = serde_json::from_value(limits).unwrap();
        let set = node.client.set_gate(id, &limits, Some("ann"));
        set.await.unwrap();
    }
}

async fn destinations(node: &TestNode) {
    let now = node.client.now();
    let ago = |secs| now.minus(Duration::from_secs(secs));
    let incident = |host: &str, began: u64, failed: u64, tenants: &[&str]| {
        json!({
            "beganAt": ago(began), "failedAttempts": failed, "failedProbes": 4, "tenants": tenants,
            "cause": {
                "is": "failures", "attempts": 61, "failed": 58, "jobs": 40,
                "newest": format!("http 503: {host} answered 503 Service Unavailable"),
            },
        })
    };
    let mut past = incident("api.warehouse.example", 90_000, 312, &["shop"]);
    past["endedAt"] = json!(ago(89_100));
    past["jobsDelayed"] = json!(1_250);
    let minute = now.as_micros() / 60_000_000;
    let minutes: Vec<_> = (0..6_i64)
        .map(|ago| json!([minute - 5 + ago, 300 - 40 * ago, 40 * ago + 20]))
        .collect();
    let warehouse = json!({
        "minutes": minutes,
        "phase": {"is": "held", "nextProbeAt": now.plus(MINUTE)},
        "incident": incident("api.warehouse.example", 260, 1_830, &["shop", "blog"]), "pastIncidents": [past],
    });
    let blog = json!({
        "phase": {"is": "ramping", "level": 3, "since": ago(1)},
        "incident": incident("hooks.blog.example", 75, 44, &["blog"]),
    });
    // The last outage: held for 12 minutes, and over for 20.
    let mut over = incident("api.shipping.example", 32 * 60, 24, &["shop"]);
    let ended_at = ago(20 * 60);
    over["endedAt"] = json!(ended_at);
    over["recoveredAt"] = json!(ended_at.minus(Duration::from_millis(12_800)));
    over["hasCaughtUp"] = json!(true);
    over["jobsDelayed"] = json!(1_624);
    over["deadLetters"] = json!(0);
    let minutes = (20..=34_i64).rev();
    let minutes: Vec<_> = minutes
        .map(|ago| match ago {
            33.. => json!([minute - ago, 120, 0]),
            32 => json!([minute - ago, 61, 58]),
            21..32 => json!([minute - ago, 1, 1]),
            _ => json!([minute - ago, 1_640, 0]),
        })
        .collect();
    let shipping = json!({"minutes": minutes, "pastIncidents": [over]});
    for (origin, health) in [
        (WAREHOUSE, warehouse),
        ("https://hooks.blog.example", blog),
        ("https://api.shipping.example", shipping),
    ] {
        let document = Document {
            kind: DocumentKind::Destination,
            id: origin.to_owned(),
            body: Payload::encode(&health).unwrap(),
            revision: 0,
        };
        let saved = node
            .node
            .store()
            .save_document(document, Outbox::default())
            .await;
        saved.unwrap();
    }
    let held = "https://pay.example".parse().unwrap();
    let why = Some("they asked us to stop until their migration is done");
    let until = Some(now.plus(MINUTE * 90));
    let held = node.client.hold_destination(&held, Some("ann"), why, until);
    held.await.unwrap();
}

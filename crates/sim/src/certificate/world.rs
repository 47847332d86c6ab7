//! The world of a trial: nodes, a store, a clock, a target, and jobs that arrive.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use rand::{RngExt as _, rngs::StdRng};
use steadfast_core::{
    CallerSettings, CertificateSettings, Claim, Destination, Failure, FailureClass, Fault,
    GateDefaults, JobId, Kind, NewJob, Outcome, Payload, Timestamp, WorkerName, limits,
};
use steadfast_engine::{
    EngineConfig,
    testing::{Roles, RunningCall},
};
use steadfast_store::{Clock as _, JobStore as _, ManualClock, MemoryStore, QueryStore as _};

use super::{course::Course, target::Target};

const DESTINATION: &str = "https://target.example.com";

pub struct World {
    settings: CertificateSettings,
    clock: ManualClock,
    store: Arc<MemoryStore>,
    nodes: Vec<Roles>,
    target: Target,
    random: StdRng,
    running: HashMap<u64, RunningAttempt>,
    /// Jobs that wait for another attempt.
    retrying: HashSet<JobId>,
    /// When callers stop waiting.
    timeouts: BinaryHeap<Reverse<(Timestamp, u64)>>,
    next_number: u64,
    next_arrival: Timestamp,
    next_round: Timestamp,
    /// When a job or gate may be due.
    next_claim: Timestamp,
    course: Course,
    fault_ended: Timestamp,
    end: Timestamp,
}

struct RunningAttempt {
    node: usize,
    claim: Claim,
    call: Option<RunningCall>,
    refused: bool,
}

impl World {
    pub fn new(settings: &CertificateSettings, fault: Fault, random: StdRng) -> Self {
        let clock = ManualClock::default();
        let began = clock.now();
        let store = Arc::new(MemoryStore::new(Arc::new(clock.clone())));
        let nodes = match settings.callers {
            CallerSettings::Nodes(nodes) => nodes,
            CallerSettings::Slots(_) => 1,
        };
        let nodes = (0..nodes).map(|number| node(number, settings, store.clone()));
        let fault_began = began.plus(limits::CERTIFICATE_WARM_UP);
        let fault_ended = fault_began.plus(settings.outage);
        Self {
            nodes: nodes.collect(),
            target: Target::new(settings, fault, fault_began),
            course: Course::new(began, settings.target.traffic),
            running: HashMap::new(),
            retrying: HashSet::new(),
            timeouts: BinaryHeap::new(),
            next_number: 0,
            next_arrival: began,
            next_round: began,
            next_claim: began,
            fault_ended,
            end: fault_ended.plus(settings.simulated_after()),
            settings: settings.clone(),
            clock,
            store,
            random,
        }
    }

    /// Plays until all is well for good, or the end.
    pub async fn run(mut self) -> Option<Duration> {
        let settled_from = self.fault_ended.plus(limits::CERTIFICATE_WARM_UP);
        let mut now = self.clock.now();
        while now < self.end {
            self.step(now).await;
            let next = [self.target.next_at(), self.next_timeout()];
            let known = [self.next_arrival, self.next_round, self.next_claim];
            let next = next.into_iter().flatten().chain(known).min().unwrap();
            now = next.max(now.plus(Duration::from_micros(1)));
            self.clock.set(now);
            if now > settled_from && self.course.is_settled(now) && self.retrying.is_empty() {
                break;
            }
        }
        self.course.recovers_after(self.fault_ended)
    }

    async fn step(&mut self, now: Timestamp) {
        let mut is_claim_due = self.next_claim <= now;
        while let Some(number) = self.target.answered(now, &mut self.random) {
            is_claim_due |= self.finish(number, Outcome::Success { output: None }).await;
        }
        while self.next_timeout().is_some_and(|at| at <= now) {
            let Some(Reverse((_, number))) = self.timeouts.pop() else {
                break;
            };
            is_claim_due |= self.give_up(number).await;
        }
        while self.next_arrival <= now {
            self.arrive().await;
            is_claim_due = true;
        }
        if self.next_round <= now {
            self.round(now).await;
            is_claim_due = true;
        }
        if is_claim_due {
            self.claim(now).await;
        }
    }

    fn next_timeout(&self) -> Option<Timestamp> {
        self.timeouts.peek().map(|Reverse((at, _))| *at)
    }

    async fn arrive(&mut self) {
        let at = self.next_arrival;
        let factor = if self.target.is_overloaded(at) {
            limits::CERTIFICATE_OVERLOAD
        } else {
            1
        };
        let rate = self.settings.target.traffic * f64::from(factor);
        let unit: f64 = self.random.random_range(f64::MIN_POSITIVE..1.0);
        self.next_arrival = at.plus(Duration::from_secs_f64(-unit.ln() / rate));
        let id = JobId::from_bits(self.random.random());
        let policy = self.settings.policy.clone();
        let mut job = NewJob::new(id, kind(&self.settings), Payload::default(), policy);
        job.destination = Some(Destination::new(DESTINATION).unwrap());
        let job = job.with_lease(Duration::from_secs(60 * 60)).unwrap();
        self.store.enqueue(vec![job], None).await.unwrap();
    }

    async fn round(&mut self, now: Timestamp) {
        self.next_round = now.plus(Duration::from_secs(1));
        for node in &self.nodes {
            node.keep_health().await.unwrap();
            node.refresh_gates().await.unwrap();
        }
        let destination = Destination::new(DESTINATION).unwrap();
        let waiting = self.store.due_minutes(destination, None, now, u64::MAX);
        self.course.wait(waiting.await.unwrap().jobs(), now);
    }

    async fn claim(&mut self, now: Timestamp) {
        self.next_claim = Timestamp::MAX;
        let kind = kind(&self.settings);
        for node in 0..self.nodes.len() {
            loop {
                let free = match self.settings.callers {
                    CallerSettings::Nodes(_) => None,
                    CallerSettings::Slots(slots) => Some(slots as usize - self.running.len()),
                };
                let claimed = self.nodes[node].claim_for(&kind, free).await.unwrap();
                let next = claimed.next_due.filter(|due| *due > now);
                self.next_claim = next.into_iter().chain([self.next_claim]).min().unwrap();
                if claimed.claims.is_empty() {
                    break;
                }
                for (claim, call) in claimed.claims {
                    self.start(node, claim, call, now);
                }
            }
        }
    }

    fn start(&mut self, node: usize, claim: Claim, call: Option<RunningCall>, now: Timestamp) {
        let number = self.next_number;
        self.next_number += 1;
        self.retrying.remove(&claim.job().id);
        let refused = self.target.refuses(now);
        let ends_in = match refused {
            true => limits::CERTIFICATE_REFUSAL,
            false => self.settings.target.timeout,
        };
        self.timeouts.push(Reverse((now.plus(ends_in), number)));
        if !refused {
            self.target.call(number, now, &mut self.random);
        }
        let running = RunningAttempt {
            node,
            claim,
            call,
            refused,
        };
        self.running.insert(number, running);
    }

    async fn give_up(&mut self, number: u64) -> bool {
        let Some(running) = self.running.get(&number) else {
            return false;
        };
        let failure = match running.refused {
            true => Failure::new(FailureClass::CONNECTION, "connection refused"),
            false => Failure::new(FailureClass::TIMEOUT, "no answer in time"),
        };
        let outcome = Outcome::Failure {
            failure,
            output: None,
        };
        self.finish(number, outcome).await
    }

    /// Answers whether its caller still waited for it.
    async fn finish(&mut self, number: u64, outcome: Outcome) -> bool {
        let Some(running) = self.running.remove(&number) else {
            return false;
        };
        let now = self.clock.now();
        let has_failed = !matches!(outcome, Outcome::Success { .. });
        self.course.end(has_failed, now);
        if let Some(call) = running.call {
            call.end(&outcome);
        }
        let job = running.claim.job();
        if has_failed && job.progress.attempt < job.policy.max_attempts() {
            self.retrying.insert(job.id);
        }
        let ended = running.claim.end(outcome, now);
        let node = &self.nodes[running.node];
        let is_done = node.settle(&mut node.pending(ended)).await.unwrap();
        assert!(is_done, "the lease is longer than every call");
        true
    }
}

fn node(number: u32, settings: &CertificateSettings, store: Arc<MemoryStore>) -> Roles {
    let defaults = GateDefaults {
        destination: settings.gate.clone(),
        ..GateDefaults::default()
    };
    let worker = WorkerName::new(&format!("node-{number}")).unwrap();
    let config = EngineConfig::default()
        .with_worker(worker)
        .with_gate_defaults(defaults);
    Roles::new(store, number.into(), |builder| builder.config(config)).unwrap()
}

fn kind(settings: &CertificateSettings) -> Kind {
    match settings.callers {
        CallerSettings::Nodes(_) => Kind::http(),
        CallerSettings::Slots(_) => Kind::new("work").unwrap(),
    }
}

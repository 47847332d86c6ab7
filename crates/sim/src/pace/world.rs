//! The nodes, the store and the clock of a trial.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap, HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use steadfast_core::{
    AppliedGate, Destination, DestinationHealth, EndedAttempt, Failure, FlowKey, Gate,
    GateDefaults, GateId, GateLimits, GateNumber, GateScope, GateState, Gates, HealthInput,
    HealthRules, HealthSubject, HealthTally, Job, JobId, Kind, NewJob, Outcome, PaceMode, Payload,
    Preset, Room, SharedRetryAfter, Tenant, Timestamp, WorkerName,
};

use super::{
    PaceFigures, PaceTrial,
    figures::Usage,
    target::{Arrival, Target, TargetKind},
};

const DESTINATION: &str = "https://target.example.com";
const SECOND: Duration = Duration::from_secs(1);
/// After the capacity was unknown or halved, and after it was restored.
const SETTLED_AFTER: Duration = Duration::from_secs(10);
const RESTORED_AFTER: Duration = Duration::from_secs(30);
/// How often a node that waits at a closed gate claims again.
const CLAIM_EVERY: Duration = Duration::from_millis(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A node claims because time has passed, or because an attempt has ended.
    Poll(usize),
    Claim(usize),
    /// A call arrives at the target, is answered, and its end is stored.
    Arrive(usize),
    Answer(usize),
    Commit(usize),
    /// A node reports what it counted, every second or at once.
    Report(usize),
    ReportNow(usize),
    /// A node reads what is stored, and knows it a moment later.
    Read(usize),
    Know(usize),
    ChangeCapacity,
    Restart,
}

struct Call {
    node: usize,
    tenant: usize,
    claim: Option<steadfast_core::Claim>,
    arrived: Timestamp,
    is_refused: bool,
    gates: Vec<GateNumber>,
}

struct Node {
    /// The gates of each tenant, as this node knows them.
    gates: Vec<Vec<AppliedGate>>,
    known: Arc<Gates>,
    read: VecDeque<Arc<Gates>>,
    tallies: BTreeMap<HealthSubject, HealthTally>,
    is_urgent: bool,
    /// Refused calls, whose places are kept until this node knows what follows.
    refused: Vec<usize>,
}

pub struct World<'t> {
    trial: &'t PaceTrial,
    random: StdRng,
    now: Timestamp,
    events: BinaryHeap<Reverse<(Timestamp, u64, Event)>>,
    number: u64,
    target: Target,
    set: Gates,
    stored: BTreeMap<HealthSubject, Arc<DestinationHealth>>,
    nodes: Vec<Node>,
    flow_keys: Vec<FlowKey>,
    jobs: Vec<Job>,
    calls: Vec<Call>,
    running: HashMap<GateNumber, u32>,
    /// Jobs that wait, of tenants without a backlog.
    waiting: Vec<f64>,
    /// Starts of each tenant: the one with the fewest is next.
    shares: Vec<u64>,
    changed_at: Timestamp,
    settled_after: Duration,
    is_restoring: bool,
    usage: Usage,
    second: Usage,
    second_from: Timestamp,
    restart: Option<(Timestamp, Usage)>,
    refused: u64,
    latency: (f64, u64),
    figures: PaceFigures,
}

impl<'t> World<'t> {
    pub fn new(trial: &'t PaceTrial, seed: u64) -> Self {
        let now = Timestamp::from_millis(1_767_225_600_000);
        let destination = Destination::new(DESTINATION).unwrap();
        let gate = Gate {
            id: GateId::new(None, GateScope::Destination, DESTINATION).unwrap(),
            limits: GateLimits {
                pace: Some(PaceMode::Learn),
                share_retry_after: trial.is_shared.then_some(true),
                max_running: trial.max_running,
                ..GateLimits::default()
            },
        };
        let policy = Arc::new(Preset::Http.policy());
        let jobs = trial.demands.iter().enumerate().map(|(tenant, _)| {
            let id = JobId::from_bits(1);
            let mut job = NewJob::new(id, Kind::http(), Payload::default(), policy.clone());
            job.tenant = Tenant::new(&format!("tenant{tenant}")).unwrap();
            job.destination = Some(destination.clone());
            job.into_job(now)
        });
        let jobs: Vec<Job> = jobs.collect();
        let count = trial.demands.len();
        let mut world = Self {
            trial,
            random: StdRng::seed_from_u64(seed),
            now,
            events: BinaryHeap::new(),
            number: 0,
            target: Target::new(trial, now),
            set: Gates::new([gate], GateDefaults::default()),
            stored: BTreeMap::new(),
            nodes: Vec::new(),
            flow_keys: jobs.iter().map(FlowKey::from).collect(),
            jobs,
            calls: Vec::new(),
            running: HashMap::new(),
            waiting: vec![0.0; count],
            shares: vec![0; count],
            changed_at: now,
            settled_after: SETTLED_AFTER,
            is_restoring: false,
            usage: Usage::default(),
            second: Usage::default(),
            second_from: now,
            restart: None,
            refused: 0,
            latency: (0.0, 0),
            figures: PaceFigures {
                served: vec![0; count],
                ..PaceFigures::default()
            },
        };
        for node in 0..trial.nodes {
            world.nodes.push(world.new_node());
            world.after(0, 0, Event::Poll(node));
            world.after(0, 1_000_000, Event::Report(node));
            world.after(0, 1_000_000, Event::Read(node));
        }
        if trial.is_halved {
            world.after(20_000_000, 30_000_000, Event::ChangeCapacity);
        }
        if let Some(at) = trial.restart_at {
            world.at(now.plus(at), Event::Restart);
        }
        world
    }

    fn new_node(&self) -> Node {
        let known = self.gates();
        Node {
            gates: self.applied(&known),
            known,
            read: VecDeque::new(),
            tallies: BTreeMap::new(),
            is_urgent: false,
            refused: Vec::new(),
        }
    }

    pub fn run(mut self) -> PaceFigures {
        let end = self.now.plus(self.trial.lasts);
        while let Some(Reverse((at, _, event))) = self.events.pop() {
            if at > end {
                break;
            }
            self.pass(at);
            self.handle(event);
        }
        self.figures.used = match self.trial.target {
            TargetKind::Rate { .. } => {
                let possible = f64::from(self.trial.capacity) * self.trial.lasts.as_secs_f64();
                self.figures.served.iter().sum::<u64>() as f64 / possible
            }
            _ => self.usage.part(),
        };
        let served: u64 = self.figures.served.iter().sum();
        self.figures.calls = served + self.refused;
        self.figures.refused = self.refused as f64 / self.figures.calls as f64;
        let (sum, count) = self.latency;
        self.figures.slowdown = sum / count as f64 / self.trial.latency.as_secs_f64();
        self.figures
    }

    /// Time passes until an event.
    fn pass(&mut self, now: Timestamp) {
        let (serving, capacity) = (self.target.serving, self.target.capacity);
        let is_settled = now.since(self.changed_at) > self.settled_after;
        self.usage.add(serving, capacity, is_settled, now);
        self.second.add(serving, capacity, true, now);
        if let Some((from, usage)) = &mut self.restart {
            usage.add(serving, capacity, true, now);
            if now.since(*from) > 2 * SECOND {
                self.figures.used_after_restart = usage.part();
                self.restart = None;
            }
        }
        if now.since(self.second_from) > SECOND {
            self.second_from = now;
            if self.second.restart() > 0.94 && self.is_restoring {
                self.is_restoring = false;
                let after = now.since(self.changed_at).as_secs_f64();
                self.figures.recovered_in = self.figures.recovered_in.max(after);
            }
        }
        let time = now.since(self.now).as_secs_f64();
        for (waiting, demand) in self.waiting.iter_mut().zip(&self.trial.demands) {
            *waiting += demand.map_or(0.0, |demand| f64::from(demand) * time);
        }
        self.now = now;
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Poll(node) => {
                self.claim(node);
                self.at(self.now.plus(CLAIM_EVERY), Event::Poll(node));
            }
            Event::Claim(node) => self.claim(node),
            Event::Arrive(call) => self.arrive(call),
            Event::Answer(call) => self.answer(call),
            Event::Commit(call) => self.commit(call),
            Event::Report(node) => {
                self.report(node);
                self.at(self.now.plus(SECOND), Event::Report(node));
            }
            Event::ReportNow(node) => {
                self.nodes[node].is_urgent = false;
                self.report(node);
            }
            Event::Read(node) => {
                self.read(node);
                self.at(self.now.plus(SECOND), Event::Read(node));
            }
            Event::Know(node) => self.know(node),
            Event::ChangeCapacity => self.change_capacity(),
            Event::Restart => {
                for node in 0..self.nodes.len() {
                    let refused = std::mem::take(&mut self.nodes[node].refused);
                    self.nodes[node] = self.new_node();
                    self.nodes[node].refused = refused;
                }
                let mut usage = Usage::default();
                usage.add(0, 1, false, self.now);
                self.restart = Some((self.now, usage));
            }
        }
    }

    fn claim(&mut self, node: usize) {
        while let Some(tenant) = self.next_tenant(node) {
            let gates = &self.nodes[node].gates[tenant];
            let counted = gates
                .iter()
                .filter(|gate| gate.limits.most_running().is_some());
            let gates: Vec<GateNumber> = counted.map(|gate| gate.number).collect();
            for number in &gates {
                *self.running.entry(*number).or_default() += 1;
            }
            if self.trial.demands[tenant].is_some() {
                self.waiting[tenant] -= 1.0;
            }
            // What a tenant did not use is not saved up.
            let most = self.shares.iter().max().copied().unwrap_or_default();
            self.shares[tenant] = (self.shares[tenant] + 1).max(most.saturating_sub(50));
            let claim = self.jobs[tenant].clone();
            let claim = claim.claim(WorkerName::new("node").unwrap(), None, self.now);
            self.calls.push(Call {
                node,
                tenant,
                claim: Some(claim),
                arrived: self.now,
                is_refused: false,
                gates,
            });
            self.after(500, 2_000, Event::Arrive(self.calls.len() - 1));
        }
        let running = self.calls_in_flight();
        self.figures.most_running = self.figures.most_running.max(running);
    }

    /// The tenant that has had least, of those that may start a job.
    fn next_tenant(&self, node: usize) -> Option<usize> {
        let tenants = 0..self.trial.demands.len();
        let may_start = |tenant: &usize| {
            let has_jobs = self.trial.demands[*tenant].is_none() || self.waiting[*tenant] >= 1.0;
            let mut gates = self.nodes[node].gates[*tenant].iter();
            has_jobs
                && gates.all(|gate| {
                    let running = self.running.get(&gate.number).copied();
                    let state = GateState {
                        running: running.unwrap_or_default(),
                        ..GateState::default()
                    };
                    matches!(gate.limits.room(&state, false, self.now), Room::For(_))
                })
        };
        let tenants = tenants.filter(may_start);
        tenants.min_by_key(|tenant| self.shares[*tenant])
    }

    fn arrive(&mut self, call: usize) {
        self.calls[call].arrived = self.now;
        match self.target.arrive(call, &mut self.random, self.now) {
            Arrival::Served(after) => self.at(self.now.plus(after), Event::Answer(call)),
            Arrival::Refused => {
                self.calls[call].is_refused = true;
                self.after(3_000, 6_000, Event::Answer(call));
            }
            Arrival::Queued => {}
        }
    }

    fn answer(&mut self, number: usize) {
        if !self.calls[number].is_refused {
            let next = self.target.leave(&mut self.random);
            self.serve(next);
            let call = &self.calls[number];
            self.figures.served[call.tenant] += 1;
            let is_counted = self.now.since(self.changed_at) > SETTLED_AFTER;
            if is_counted {
                self.latency.0 += self.now.since(call.arrived).as_secs_f64();
                self.latency.1 += 1;
            }
        }
        let call = &mut self.calls[number];
        let Some(claim) = call.claim.take() else {
            return;
        };
        let outcome = match call.is_refused {
            false => Outcome::Success { output: None },
            true => {
                let failure = Failure::http(429, "too many requests");
                Outcome::Failure {
                    failure: match self.trial.wait.is_zero() {
                        true => failure,
                        false => failure.with_retry_after(self.trial.wait),
                    },
                    output: None,
                }
            }
        };
        let ended = claim.end(outcome, self.now);
        let (node, is_refused) = (call.node, call.is_refused);
        self.count(node, &ended);
        if is_refused {
            self.refused += 1;
            let node_state = &mut self.nodes[node];
            node_state.refused.push(number);
            if !node_state.is_urgent {
                node_state.is_urgent = true;
                self.after(3_000, 8_000, Event::ReportNow(node));
            }
        } else {
            self.after(1_000, 4_000, Event::Commit(number));
        }
    }

    /// As the engine counts the end of a call.
    fn count(&mut self, node: usize, ended: &EndedAttempt) {
        let job = ended.job();
        let destination = job.destination.as_ref().unwrap();
        let node = &mut self.nodes[node];
        let known = node.known.clone();
        let subject = known.pace_subject(&job.kind, &job.tenant, destination);
        let subject = subject.unwrap();
        let health = known.health(destination, subject.tenant.as_ref());
        let health = health.map(AsRef::as_ref);
        let tally = node.tallies.entry(subject).or_default();
        tally.add_pace(ended, health);
        if let Some(retry_after) = SharedRetryAfter::of(ended, true) {
            tally.add_retry_after(retry_after);
        }
    }

    fn commit(&mut self, number: usize) {
        let call = &self.calls[number];
        let node = call.node;
        for gate in &call.gates {
            if let Some(running) = self.running.get_mut(gate) {
                *running -= 1;
            }
        }
        self.after(500, 2_000, Event::Claim(node));
    }

    fn report(&mut self, node: usize) {
        let name = format!("node{node}");
        let rules = HealthRules::default();
        for (subject, tally) in &mut self.nodes[node].tallies {
            if tally.is_empty() {
                continue;
            }
            let report = tally.take_report(&name, self.now);
            let input = HealthInput {
                report: Some(&report),
                ..HealthInput::default()
            };
            let known = self.stored.entry(subject.clone()).or_default();
            if let Some(change) = known.step(input, &rules, self.now) {
                *known = Arc::new(change.health);
            }
        }
        self.read(node);
    }

    fn read(&mut self, node: usize) {
        let gates = self.gates();
        self.nodes[node].read.push_back(gates);
        self.at(self.now.plus(Duration::from_millis(3)), Event::Know(node));
    }

    fn know(&mut self, node: usize) {
        let Some(known) = self.nodes[node].read.pop_front() else {
            return;
        };
        let gates = self.applied(&known);
        let now = self.now;
        let state = &mut self.nodes[node];
        state.gates = gates;
        for (subject, tally) in &mut state.tallies {
            let health = known.health(&subject.destination, subject.tenant.as_ref());
            tally.see_pace(health.map(AsRef::as_ref), now);
        }
        state.known = known;
        if !state.is_urgent {
            for call in std::mem::take(&mut state.refused) {
                self.after(1_000, 4_000, Event::Commit(call));
            }
        }
        self.claim(node);
    }

    fn change_capacity(&mut self) {
        let is_halved = self.target.capacity == self.trial.capacity;
        let capacity = match is_halved {
            true => self.trial.capacity / 2,
            false => self.trial.capacity,
        };
        self.changed_at = self.now;
        self.is_restoring = !is_halved;
        self.figures.halvings += u32::from(is_halved);
        let next = self.target.set_capacity(capacity, &mut self.random);
        self.serve(next);
        self.settled_after = match is_halved {
            true => SETTLED_AFTER,
            false => RESTORED_AFTER,
        };
        let more = match is_halved {
            true => 0,
            false => 20_000_000,
        };
        self.after(20_000_000 + more, 30_000_000 + more, Event::ChangeCapacity);
    }

    fn serve(&mut self, calls: Vec<(usize, Duration)>) {
        for (call, after) in calls {
            self.at(self.now.plus(after), Event::Answer(call));
        }
    }

    fn gates(&self) -> Arc<Gates> {
        let health = self.stored.iter();
        let health = health.map(|(subject, health)| (subject.clone(), health.clone()));
        Arc::new(self.set.clone().with_health(health))
    }

    fn applied(&self, gates: &Gates) -> Vec<Vec<AppliedGate>> {
        let flow_keys = self.flow_keys.iter();
        flow_keys.map(|key| gates.applying_to(key)).collect()
    }

    fn calls_in_flight(&self) -> u32 {
        self.running.values().max().copied().unwrap_or_default()
    }

    fn after(&mut self, least: i64, most: i64, event: Event) {
        let micros = match least < most {
            true => self.random.random_range(least..most),
            false => least,
        };
        let micros = u64::try_from(micros).unwrap_or_default();
        self.at(self.now.plus(Duration::from_micros(micros)), event);
    }

    fn at(&mut self, at: Timestamp, event: Event) {
        self.number += 1;
        self.events.push(Reverse((at, self.number, event)));
    }
}

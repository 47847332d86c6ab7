//! Random work at random gates, checked against what core says of every gate: nothing starts that may
//! not, and nothing is left waiting that may start.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::{Duration, Instant},
};

use rand::{RngExt, SeedableRng, rngs::StdRng, seq::IndexedRandom};
use steadfast_core::{
    AppliedGate, Claim, ConcurrencyKey, Destination, FlowKey, Gate, GateDefaults, GateId,
    GateLimits, GateNumber, GateScope, GateState, Gates, Job, JobCommand, JobEdit, JobId, JobState,
    NewJob, Outcome, Pause, Rate, RetryShare, Room, RunAt, Timestamp,
};

use crate::conformance::fixture::{
    Fixture, failure, ids_of, kind, permanent, priority, queue, request, secs, success, tenant,
};
use crate::{ClaimRequest, CommitResult, JobDetail, minutes::minute};

const STEPS: usize = 400; // not a limit: the length of the test
/// Stores that ask a server take fewer steps.
const TIME: Duration = Duration::from_millis(1_500); // not a limit: the length of the test
const TENANTS: [&str; 3] = ["acme", "default", "other"];
const QUEUES: [&str; 2] = ["a", "b"];
const KINDS: [&str; 2] = ["x", "y"];
const DESTINATIONS: [&str; 2] = ["https://a.example", "https://b.example"];
const KEYS: [&str; 2] = ["k1", "k2"];

pub async fn random_work_starts_what_may_and_nothing_else(f: Fixture) {
    let mut world = World::new(&f, 7);
    let started = Instant::now();
    for step in 0..STEPS {
        world.step(step).await;
        if started.elapsed() > TIME {
            break;
        }
    }
}

struct World<'f> {
    f: &'f Fixture,
    random: StdRng,
    seed: u64,
    ids: Vec<JobId>,
    gates: Arc<Gates>,
    /// What has started at each gate, as core counts it; what runs is read from the jobs.
    states: HashMap<GateNumber, GateState>,
}

impl<'f> World<'f> {
    fn new(f: &'f Fixture, seed: u64) -> Self {
        Self {
            f,
            random: StdRng::seed_from_u64(seed),
            seed,
            ids: Vec::new(),
            gates: Arc::default(),
            states: HashMap::new(),
        }
    }

    async fn step(&mut self, step: usize) {
        match self.random.random_range(0..24) {
            0..5 => self.create().await,
            5..12 => self.claim(step).await,
            12..16 => self.settle().await,
            16..19 => {
                let millis = self.random.random_range(0..6_000);
                self.f.clock.advance(Duration::from_millis(millis));
            }
            19 => {
                let now = self.f.now();
                let back = Duration::from_millis(self.random.random_range(0..2_000));
                // What started in a minute that is over is not counted any more, even if it begins again.
                if minute(now.minus(back)) == minute(now) {
                    self.f.clock.set(now.minus(back));
                }
            }
            20 => self.sweep().await,
            21 | 22 => self.command().await,
            _ => self.set_gates().await,
        }
    }

    async fn create(&mut self) {
        let count = self.random.random_range(1..6);
        let jobs = (0..count).map(|_| self.job()).collect();
        self.ids.extend(self.f.enqueue(jobs).await);
    }

    fn job(&mut self) -> NewJob {
        let random = &mut self.random;
        let job = self.f.job_with(|job| {
            job.tenant = tenant(TENANTS.choose(random).unwrap());
            job.queue = queue(QUEUES.choose(random).unwrap());
            job.kind = kind(KINDS.choose(random).unwrap());
            job.priority = priority(*[5, 9].choose(random).unwrap());
            if random.random_ratio(1, 2) {
                job.destination = Destination::new(DESTINATIONS.choose(random).unwrap()).ok();
            }
            if random.random_ratio(1, 3) {
                job.concurrency_key = ConcurrencyKey::new(KEYS.choose(random).unwrap()).ok();
            }
            if random.random_ratio(1, 4) {
                job.run_at = RunAt::After(secs(random.random_range(0..20)));
            }
        });
        job.with_lease(secs(10)).unwrap()
    }

    /// A gate limits the same thing each time it is set, or not at all.
    async fn set_gates(&mut self) {
        let mut set = Vec::new();
        for (index, tenant_of, scope, key) in [
            (0, None, GateScope::Queue, QUEUES[0]),
            (1, None, GateScope::Destination, DESTINATIONS[0]),
            (2, Some(TENANTS[0]), GateScope::Kind, KINDS[0]),
            (3, Some(TENANTS[1]), GateScope::Key, KEYS[0]),
            (3, Some(TENANTS[0]), GateScope::Key, KEYS[1]),
            (4, None, GateScope::Tenant, TENANTS[1]),
            (5, Some(TENANTS[2]), GateScope::Queue, QUEUES[1]),
            (0, Some(TENANTS[2]), GateScope::Destination, DESTINATIONS[1]),
            (1, None, GateScope::Kind, KINDS[1]),
        ] {
            if self.random.random_ratio(1, 2) {
                let id = GateId::new(tenant_of.map(tenant), scope, key).unwrap();
                let limits = self.limits(index);
                set.push(Gate { id, limits });
            }
        }
        self.gates = Arc::new(Gates::new(set, GateDefaults::default()));
        self.f.use_gates(&self.gates).await;
    }

    fn limits(&mut self, index: usize) -> GateLimits {
        let now = self.f.now();
        let random = &mut self.random;
        let mut limits = GateLimits::default();
        match index {
            0 => limits.max_running = Some(random.random_range(1..4)),
            1 => {
                let (limit, per) = (random.random_range(1..5), random.random_range(1..10));
                limits.rate = Rate::new(limit, secs(per), random.random_range(0..3)).ok();
            }
            2 => limits.retry_share = RetryShare::new(random.random_range(0.0..0.5)),
            3 => limits.ordered = true,
            4 => {
                limits.max_running = Some(random.random_range(1..6));
                limits.rate = Rate::new(random.random_range(1..9), secs(2), 1).ok();
            }
            _ => {
                let until = random.random_ratio(2, 3);
                let until = until.then(|| now.plus(secs(random.random_range(1..20))));
                limits.paused = Some(Pause {
                    by: None,
                    since: now,
                    reason: None,
                    until,
                });
            }
        }
        limits
    }

    /// Claims until nothing more is given, and checks each answer and what is left.
    async fn claim(&mut self, step: usize) {
        let random = &mut self.random;
        let mut asked = request(random.random_range(1..8));
        if random.random_ratio(1, 4) {
            asked.tenant = Some(tenant(TENANTS.choose(random).unwrap()));
        }
        if random.random_ratio(1, 4) {
            asked.queues = vec![queue(QUEUES.choose(random).unwrap())];
        }
        if random.random_ratio(1, 4) {
            asked.kinds = vec![kind(KINDS.choose(random).unwrap())];
        }
        let takes_all = random.random_ratio(2, 3);
        let what = format!("seed {}, step {step}, {asked:?}", self.seed);
        loop {
            let before = self.jobs().await;
            let answer = self.f.store.claim(asked.clone()).await.unwrap();
            self.check_starts(&before, &answer.claims, &asked, &what);
            let after = self.jobs().await;
            if answer.claims.len() < asked.max {
                self.check_left(&after, &asked, answer.next_due, &what);
            }
            if answer.claims.is_empty() || !takes_all {
                break;
            }
        }
    }

    async fn jobs(&self) -> BTreeMap<JobId, Job> {
        let jobs = self
            .f
            .store
            .get_jobs(self.ids.clone(), JobDetail::Full)
            .await
            .unwrap();
        let jobs = jobs.into_iter().flatten();
        jobs.map(|job| (job.id, job)).collect()
    }

    /// Nothing started that may not, and no gate let too much through.
    fn check_starts(
        &mut self,
        before: &BTreeMap<JobId, Job>,
        claims: &[Claim],
        asked: &ClaimRequest,
        what: &str,
    ) {
        let now = self.f.now();
        let mut starts: HashMap<GateNumber, (AppliedGate, u32, u32)> = HashMap::new();
        for id in ids_of(claims) {
            let job = &before[&id];
            assert!(is_due(job, asked, now), "{what}: {job:?}");
            for gate in self.gates.applying_to(&FlowKey::from(job)) {
                if gate.limits.ordered {
                    assert_eq!(first_of_key(before, job), Some(id), "{what}: in order");
                }
                let known = starts.entry(gate.number).or_insert((gate, 0, 0));
                match job.progress.is_retry() {
                    true => known.2 += 1,
                    false => known.1 += 1,
                }
            }
        }
        for (number, (gate, first, retries)) in starts {
            let limits = &gate.limits;
            let state = self.state(&gate, before);
            let fits = |state: &GateState, is_retry, count| {
                let room = limits.room(state, is_retry, now);
                count == 0 || matches!(room, Room::For(room) if room >= count)
            };
            let between = limits.after_starts(&state, first, 0, now);
            let fit = fits(&state, false, first) && fits(&between, true, retries);
            assert!(
                fit,
                "{what}: {first} and {retries} at {gate:?} of {state:?}"
            );
            let after = limits.after_starts(&state, first + retries, retries, now);
            self.states.insert(number, after);
        }
    }

    /// Nothing is left that may start, and the caller learns to come back in time.
    fn check_left(
        &self,
        jobs: &BTreeMap<JobId, Job>,
        asked: &ClaimRequest,
        next_due: Option<Timestamp>,
        what: &str,
    ) {
        let now = self.f.now();
        for job in jobs.values().filter(|job| is_wanted(job, asked)) {
            let mut opens_at = job.progress.run_at;
            let mut is_open = true;
            let mut has_time = true;
            for gate in self.gates.applying_to(&FlowKey::from(job)) {
                if gate.limits.ordered && first_of_key(jobs, job) != Some(job.id) {
                    (is_open, has_time) = (false, false);
                }
                let state = self.state(&gate, jobs);
                let room = gate.limits.room(&state, job.progress.is_retry(), now);
                if let Room::Closed(by) = room {
                    is_open = false;
                    match by.until() {
                        Some(until) => opens_at = opens_at.max(until),
                        None => has_time = false,
                    }
                }
            }
            let is_due = job.progress.run_at <= now;
            assert!(!(is_due && is_open), "{what}: {} is left: {job:?}", job.id);
            if has_time {
                let in_time = next_due.is_some_and(|next| next <= opens_at);
                assert!(
                    in_time,
                    "{what}: {next_due:?} is after {opens_at} of {job:?}"
                );
            }
        }
    }

    fn state(&self, gate: &AppliedGate, jobs: &BTreeMap<JobId, Job>) -> GateState {
        let counts = |job: &&Job| {
            let applied = self.gates.applying_to(&FlowKey::from(*job));
            job.progress.state == JobState::Running
                && applied.iter().any(|applied| applied.number == gate.number)
        };
        let running = jobs.values().filter(counts).count();
        GateState {
            running: u32::try_from(running).unwrap(),
            ..self.states.get(&gate.number).copied().unwrap_or_default()
        }
    }

    async fn settle(&mut self) {
        let jobs = self.jobs().await;
        let running = jobs.into_values();
        let mut running: Vec<Job> = running
            .filter(|job| job.progress.state == JobState::Running)
            .collect();
        if running.is_empty() {
            return;
        }
        let index = self.random.random_range(0..running.len());
        let claim = crate::conformance::fixture::held(running.swap_remove(index));
        let outcome = match self.random.random_range(0..8) {
            0..3 => success(),
            3..6 => failure("again"),
            6 => permanent("never"),
            _ => Outcome::Released { started: false },
        };
        let transition = self.f.decide(claim, outcome);
        // It is refused if a cancel came before, and then the lease runs out.
        self.f.commit(transition).await;
    }

    async fn sweep(&mut self) {
        for claim in self.f.store.expired_leases(5).await.unwrap() {
            let transition = self.f.decide(claim, Outcome::Lost);
            let committed = self.f.commit(transition).await;
            assert!(matches!(
                committed,
                CommitResult::Done | CommitResult::CancelRequested
            ));
        }
    }

    async fn command(&mut self) {
        let Some(id) = self.ids.choose(&mut self.random).copied() else {
            return;
        };
        let edit = JobEdit {
            priority: Some(priority(*[5, 9].choose(&mut self.random).unwrap())),
            run_at: Some(self.f.now().plus(secs(self.random.random_range(0..5)))),
            ..JobEdit::default()
        };
        let command = match self.random.random_range(0..6) {
            0 => JobCommand::Cancel,
            1 | 2 => JobCommand::Retry { payload: None },
            3 => JobCommand::RunNow,
            _ => JobCommand::Edit(edit),
        };
        // Many are refused, rightly.
        let done = self
            .f
            .store
            .run_command(vec![id], command, Arc::default(), None)
            .await;
        drop(done.unwrap());
    }
}

fn is_wanted(job: &Job, asked: &ClaimRequest) -> bool {
    job.progress.state == JobState::Waiting && asked.wants(&job.tenant, &job.queue, &job.kind)
}

fn is_due(job: &Job, asked: &ClaimRequest, now: Timestamp) -> bool {
    is_wanted(job, asked) && job.progress.run_at <= now
}

/// The oldest unfinished job of a job's concurrency key.
fn first_of_key(jobs: &BTreeMap<JobId, Job>, of: &Job) -> Option<JobId> {
    let key = (&of.tenant, &of.concurrency_key);
    let alike = jobs
        .values()
        .filter(|job| (&job.tenant, &job.concurrency_key) == key && !job.progress.state.is_final());
    let first = alike.min_by_key(|job| (job.created_at, job.id));
    first.map(|job| job.id)
}

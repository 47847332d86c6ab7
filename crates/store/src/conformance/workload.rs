//! A few hundred random steps of many jobs' lives, and what they should have come to.

use std::sync::Arc;

use rand::{RngExt, SeedableRng, rngs::StdRng, seq::IndexedRandom};
use steadfast_core::{
    Claim, Dice, FailureClass, Job, JobCommand, JobEdit, JobId, NewJob, Outcome, Preset, RunAt,
    ScheduleId, ScheduledRun, Tally, Timestamp, after_attempt,
};

use super::fixture::{
    Fixture, failure_of, json, kind, priority, queue, request, secs, success, tenant,
};
use crate::{CommitResult, JobDetail};

pub(super) const TENANTS: [&str; 2] = ["acme", "default"];
pub(super) const QUEUES: [&str; 3] = ["a", "b", "c"];
pub(super) const KINDS: [&str; 2] = ["x", "y"];
/// With what a pattern language would take for its own, and what only some can fold.
pub(super) const MESSAGES: [&str; 5] = [
    "Connection refused",
    "100% of disk_0 used",
    "ÄRGER mit Größe",
    r"c:\temp\*",
    "it's [gone]",
];
pub(super) const CLASSES: [FailureClass; 3] = [
    FailureClass::CONNECTION,
    FailureClass::TIMEOUT,
    FailureClass::VALIDATION,
];

pub(super) struct Workload<'a> {
    f: &'a Fixture,
    pub(super) random: StdRng,
    pub(super) ids: Vec<JobId>,
    /// What was counted: the job, when its attempt ended, and what that added.
    pub(super) counted: Vec<(JobId, Timestamp, Tally)>,
    held: Vec<Claim>,
}

impl<'a> Workload<'a> {
    pub(super) async fn run(f: &'a Fixture, seed: u64, steps: usize) -> Self {
        let mut workload = Self {
            f,
            random: StdRng::seed_from_u64(seed),
            ids: Vec::new(),
            counted: Vec::new(),
            held: Vec::new(),
        };
        for _ in 0..steps {
            workload.step().await;
        }
        workload
    }

    /// All jobs as they are, newest id first.
    pub(super) async fn jobs(&self) -> Vec<Job> {
        let jobs = self
            .f
            .store
            .get_jobs(self.ids.clone(), JobDetail::Full)
            .await
            .unwrap();
        let mut jobs: Vec<Job> = jobs.into_iter().map(Option::unwrap).collect();
        jobs.sort_by_key(|job| std::cmp::Reverse(job.id));
        jobs
    }

    pub(super) async fn step(&mut self) {
        match self.random.random_range(0..20) {
            0..4 => self.enqueue().await,
            4..9 => self.claim().await,
            9..15 => self.end().await,
            15..17 => {
                let seconds = self.random.random_range(0..25);
                self.f.clock.advance(secs(seconds));
            }
            17 => self.sweep().await,
            _ => self.command().await,
        }
    }

    async fn enqueue(&mut self) {
        let jobs: Vec<NewJob> = (0..self.random.random_range(1..4))
            .map(|_| self.job())
            .collect();
        self.ids.extend(self.f.enqueue(jobs).await);
    }

    fn job(&mut self) -> NewJob {
        let random = &mut self.random;
        self.f.job_with(|job| {
            job.tenant = tenant(TENANTS.choose(random).unwrap());
            job.queue = queue(QUEUES.choose(random).unwrap());
            job.kind = kind(KINDS.choose(random).unwrap());
            job.priority = priority(random.random_range(0..=9));
            job.run_at = RunAt::After(secs(random.random_range(0..60)));
            if random.random_ratio(1, 3) {
                job.policy = Preset::Once.policy().into();
            }
            if random.random_ratio(1, 3) {
                let schedule = ScheduleId::from_bits(random.random_range(1..3));
                // No two runs are of one tick.
                let tick = Timestamp::from_micros(i64::try_from(job.id.bits() & 0xffff).unwrap());
                job.scheduled_run = Some(ScheduledRun { schedule, tick });
            }
        })
    }

    async fn claim(&mut self) {
        let max = self.random.random_range(1..5);
        let claimed = self.f.store.claim(request(max)).await.unwrap();
        self.held.extend(claimed.claims);
    }

    async fn end(&mut self) {
        if self.held.is_empty() {
            return;
        }
        let index = self.random.random_range(0..self.held.len());
        let claim = self.held.swap_remove(index);
        let outcome = self.outcome();
        self.settle(claim, outcome).await;
    }

    fn outcome(&mut self) -> Outcome {
        let message = *MESSAGES.choose(&mut self.random).unwrap();
        match self.random.random_range(0..12) {
            0..4 => success(),
            4..8 => failure_of(CLASSES.choose(&mut self.random).unwrap().clone(), message),
            8 => Outcome::Cancelled {
                message: message.into(),
            },
            9 => Outcome::Snoozed(secs(self.random.random_range(0..40))),
            10 => Outcome::Released { started: true },
            _ => Outcome::Released { started: false },
        }
    }

    async fn settle(&mut self, claim: Claim, outcome: Outcome) {
        let mut ended = claim.end(outcome, self.f.now());
        let dice = Dice::new(self.random.random());
        let mut transition = after_attempt(&ended, &steadfast_core::Subscriptions::default(), dice);
        let mut committed = self.f.commit(transition.clone()).await;
        if committed == CommitResult::CancelRequested {
            ended.set_cancel_requested();
            transition = after_attempt(&ended, &steadfast_core::Subscriptions::default(), dice);
            committed = self.f.commit(transition.clone()).await;
        }
        if committed == CommitResult::Done
            && let Some(record) = transition.record
        {
            let counted = (record.job, record.finished_at, transition.tally);
            self.counted.push(counted);
        }
    }

    async fn sweep(&mut self) {
        for claim in self.f.store.expired_leases(3).await.unwrap() {
            self.settle(claim, Outcome::Lost).await;
        }
    }

    async fn command(&mut self) {
        let Some(id) = self.ids.choose(&mut self.random) else {
            return;
        };
        let edit = JobEdit {
            priority: Some(priority(self.random.random_range(0..=9))),
            run_at: Some(self.f.now().plus(secs(self.random.random_range(0..60)))),
            payload: Some(json("[]")),
            policy: None,
        };
        let command = match self.random.random_range(0..5) {
            0 => JobCommand::Cancel,
            1 => JobCommand::Retry { payload: None },
            2 => JobCommand::RunNow,
            3 => JobCommand::Edit(edit),
            _ => JobCommand::Discard,
        };
        // Many are refused; that they are refused rightly is another case's question.
        self.f
            .store
            .run_command(vec![*id], command, Arc::default(), None)
            .await
            .unwrap()
            .clear();
    }
}

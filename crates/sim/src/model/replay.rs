//! The same actions on a real store.

use std::{sync::Arc, time::Duration};

use steadfast_core::{
    Claim, Dice, EndedAttempt, Failure, FailureClass, Guarantee, Jitter, JobCommand, JobId, Kind,
    NewJob, Outcome, Payload, PolicyPatch, Priority, Subscriptions, Timestamp, WorkerName,
    after_attempt,
};
use steadfast_store::{
    ClaimRequest, Clock as _, CommitResult, JobDetail, JobFilter, JobStore as _, ManualClock,
    MemoryStore, QueryStore as _, RenewResult, Renewal,
};

use super::world::{
    AT_MOST_ONCE, Action, Answer, DELAY, JOBS, LEASE, MAX_RETRIES, ModelJob, NODES,
};
use crate::tasks::at_once;

const STEP: Duration = Duration::from_secs(10);

pub struct Replay {
    clock: ManualClock,
    start: Timestamp,
    store: MemoryStore,
    ids: [JobId; JOBS],
    nodes: [Option<Claim>; NODES],
}

impl Replay {
    pub fn new() -> Self {
        let clock = ManualClock::default();
        let start = clock.now();
        let store = MemoryStore::new(Arc::new(clock.clone()));
        let ids = [JobId::new(start, 4), JobId::new(start, 8)];
        let policy = PolicyPatch::fixed(STEP * u32::from(DELAY))
            .jitter(Jitter::None)
            .max_retries(u32::from(MAX_RETRIES));
        let policy = Arc::new(policy.build().unwrap());
        let jobs = ids.iter().enumerate().map(|(index, id)| {
            let kind = Kind::new("x").unwrap();
            let mut job = NewJob::new(*id, kind, Payload::default(), policy.clone());
            if index == AT_MOST_ONCE {
                job.guarantee = Guarantee::AtMostOnce;
                job.priority = Priority::new(0).unwrap();
            }
            job.with_lease(STEP * u32::from(LEASE)).unwrap()
        });
        at_once(store.enqueue(jobs.collect(), None)).unwrap();
        Self {
            clock,
            start,
            store,
            ids,
            nodes: [const { None }; NODES],
        }
    }

    pub fn take(&mut self, action: Action) -> Answer {
        match action {
            Action::Claim(node) => self.claim(node),
            Action::Succeed(node) => self.end(node, Outcome::Success { output: None }),
            Action::Fail(node) => {
                let failure = Failure::new(FailureClass::CONNECTION, "no answer");
                let output = None;
                self.end(node, Outcome::Failure { failure, output })
            }
            Action::Renew(node) => self.renew(node),
            Action::Crash(node) => {
                self.nodes[node] = None;
                Answer::Done
            }
            Action::Sweep => {
                for claim in at_once(self.store.expired_leases(JOBS)).unwrap() {
                    self.settle(claim.end(Outcome::Lost, self.clock.now()));
                }
                Answer::Done
            }
            Action::Cancel(job) => self.command(job, JobCommand::Cancel),
            Action::Retry(job) => self.command(job, JobCommand::Retry { payload: None }),
            Action::Discard(job) => self.command(job, JobCommand::Discard),
            Action::Summary => {
                self.clock.advance(STEP);
                Answer::Done
            }
        }
    }

    fn claim(&mut self, node: usize) -> Answer {
        let request = ClaimRequest::new(WorkerName::new("node").unwrap(), 1);
        let claimed = at_once(self.store.claim(request)).unwrap();
        let claim = claimed.claims.into_iter().next();
        let id = claim.as_ref().map(|claim| claim.job().id);
        self.nodes[node] = claim;
        Answer::Claimed(id.and_then(|id| self.ids.iter().position(|known| *known == id)))
    }

    fn end(&mut self, node: usize, outcome: Outcome) -> Answer {
        match self.nodes[node].take() {
            Some(claim) => self.settle(claim.end(outcome, self.clock.now())),
            None => Answer::Refused,
        }
    }

    /// As the engine's settler does it.
    fn settle(&self, mut ended: EndedAttempt) -> Answer {
        loop {
            let transition = after_attempt(&ended, &Subscriptions::default(), Dice::new(0));
            match at_once(self.store.commit(vec![transition])).unwrap()[0] {
                CommitResult::Done => return Answer::Done,
                // No attempt here has an outbox.
                CommitResult::Stale | CommitResult::OutboxRefused(_) => return Answer::Refused,
                CommitResult::EndpointsChanged => {}
                CommitResult::CancelRequested => ended.set_cancel_requested(),
            }
        }
    }

    fn renew(&self, node: usize) -> Answer {
        let Some(claim) = &self.nodes[node] else {
            return Answer::Refused;
        };
        let renewal = Renewal {
            job: claim.job().id,
            fence: claim.fence(),
            lease: claim.job().lease,
            note: None,
            within_timeout: false,
        };
        match at_once(self.store.renew(vec![renewal])).unwrap()[0] {
            RenewResult::Held { .. } => Answer::Done,
            RenewResult::Lost => Answer::Refused,
        }
    }

    fn command(&self, job: usize, command: JobCommand) -> Answer {
        let done = self
            .store
            .run_command(vec![self.ids[job]], command, Arc::default(), None);
        match at_once(done).unwrap()[0] {
            Ok(_) => Answer::Done,
            Err(_) => Answer::Refused,
        }
    }

    pub fn dead_letters(&self) -> u64 {
        at_once(self.store.count_jobs(JobFilter::dead_letters(), u64::MAX))
            .unwrap()
            .count
    }

    pub fn jobs(&self) -> [ModelJob; JOBS] {
        let jobs = at_once(self.store.get_jobs(self.ids.to_vec(), JobDetail::Full)).unwrap();
        let steps = |time: Timestamp| {
            let steps = time.since(self.start).as_secs() / STEP.as_secs();
            u8::try_from(steps).unwrap()
        };
        std::array::from_fn(|index| {
            let progress = jobs[index].clone().unwrap().progress;
            ModelJob {
                state: progress.state,
                run_at: steps(progress.run_at),
                attempt: u8::try_from(progress.attempt).unwrap(),
                attempts_before: u8::try_from(progress.attempts_before).unwrap(),
                fence: u8::try_from(progress.fence.0).unwrap(),
                lease_until: progress.lease_until.map(steps),
                cancel_requested: progress.cancel_requested,
                resolved: progress.resolved_at.is_some(),
            }
        })
    }
}

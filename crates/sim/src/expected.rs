//! A job as the answers of the store say it must be.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use steadfast_core::{
    Attempt, BatchId, Fence, FlowKey, Guarantee, IdempotencyKey, Job, JobId, JobState, Kind,
    OnFailure, Payload, Priority, Queue, StepName, Tenant, Timestamp, Unique, Webhook,
};

#[derive(Clone, Debug)]
pub struct ExpectedJob {
    pub tenant: Tenant,
    pub queue: Queue,
    pub kind: Kind,
    pub flow_key: FlowKey,
    pub key: Option<IdempotencyKey>,
    pub guarantee: Guarantee,
    pub webhook: Option<Arc<Webhook>>,
    pub created_at: Timestamp,
    /// When it was made, as an index in the history.
    pub born: usize,
    pub priority: Priority,
    pub max_retries: u32,
    pub run_at: Timestamp,
    pub state: JobState,
    pub fence: Fence,
    pub lease_until: Option<Timestamp>,
    pub cancel_requested: bool,
    pub finished_at: Option<Timestamp>,
    pub resolved_at: Option<Timestamp>,
    /// A cancel was acknowledged, and no manual retry since.
    pub cancelled: bool,
    /// Attempts of the current budget, counted by us.
    pub used: u32,
    pub starts: u32,
    pub gone: bool,
    pub unique: Option<Unique>,
    /// Until when its first attempt may start.
    pub start_before: Option<Timestamp>,
    /// Its handler has put it off, so that it has begun although no attempt counts.
    pub has_snoozed: bool,
    /// What it does if a prerequisite fails.
    pub on_failure: Option<OnFailure>,
    /// Those that it was made to wait for; of deleted ones, whether they had succeeded.
    pub after: BTreeMap<JobId, Option<bool>>,
    /// It is open whether its last attempt took effect: the next claim is a question.
    pub is_question: bool,
    /// It was answered that its last attempt took effect, and no person has retried it since.
    pub is_confirmed: bool,
    /// It waits for others.
    pub is_blocked: bool,
    pub batch: Option<BatchId>,
    pub claims: BTreeMap<Fence, ExpectedClaim>,
    /// Results that were kept, and when in the history.
    pub steps: BTreeMap<StepName, (usize, Payload)>,
}

#[derive(Clone, Debug)]
pub struct ExpectedClaim {
    /// Its index in the history.
    pub index: usize,
    pub starts: u32,
    /// It is a question, which does not run the job.
    pub is_question: bool,
    /// For how long its destination was held since the first attempt, as the claimant knew it.
    pub held: Duration,
    /// The record with which it was settled, where that leaves one.
    pub settled: Option<Option<Attempt>>,
}

impl ExpectedJob {
    pub fn new(job: &Job, born: usize) -> Self {
        let progress = &job.progress;
        Self {
            tenant: job.tenant.clone(),
            queue: job.queue.clone(),
            kind: job.kind.clone(),
            flow_key: FlowKey::from(job),
            key: job.idempotency_key.clone(),
            guarantee: job.guarantee,
            webhook: job.webhook.clone(),
            created_at: job.created_at,
            born,
            priority: job.priority,
            max_retries: job.policy.max_retries(),
            run_at: progress.run_at,
            state: progress.state,
            fence: progress.fence,
            lease_until: progress.lease_until,
            cancel_requested: progress.cancel_requested,
            finished_at: progress.finished_at,
            resolved_at: progress.resolved_at,
            cancelled: false,
            used: 0,
            starts: 0,
            gone: false,
            unique: job.unique().cloned(),
            start_before: job.start_deadline().map(|deadline| deadline.at()),
            has_snoozed: false,
            on_failure: job.on_failure(),
            after: BTreeMap::new(),
            is_question: job.is_question(),
            is_confirmed: false,
            is_blocked: false,
            batch: None,
            claims: BTreeMap::new(),
            steps: BTreeMap::new(),
        }
    }

    pub fn is_dead_letter(&self) -> bool {
        self.state == JobState::Failed && self.resolved_at.is_none()
    }

    /// Whether it is too late for it to start.
    pub fn is_late(&self, now: Timestamp) -> bool {
        let has_begun = self.used > 0 || self.has_snoozed;
        !has_begun && self.start_before.is_some_and(|before| now >= before)
    }

    /// Whether it was made before another job. Of those that were made together, or while the clock
    /// was set back, that is not known.
    pub fn is_before(&self, other: &Self) -> Option<bool> {
        let by_time = self.created_at.cmp(&other.created_at);
        (by_time == self.born.cmp(&other.born)).then_some(by_time.is_lt())
    }

    /// What a command or a person may have changed, as the store's answer says.
    pub fn follow(&mut self, job: &Job) {
        self.priority = job.priority;
        // An edit does not take back an attempt that is already promised.
        self.max_retries = job.policy.max_retries().max(self.used);
        self.run_at = job.progress.run_at;
        self.state = job.progress.state;
        self.is_question = job.is_question();
        self.cancel_requested = job.progress.cancel_requested;
        self.finished_at = job.progress.finished_at;
        self.resolved_at = job.progress.resolved_at;
    }
}

//! Another policy over the attempts that were really made.
//!
//! The jobs of a queue, kind or destination are read newest first, a page at a time, with their
//! attempts; a caller that goes away ends that between two pages. What is left is arithmetic.

use std::{collections::HashMap, sync::Arc};

use steadfast_core::{
    Attempt, Destination, Failure, FailureFingerprint, GateLimits, Guarantee, Invalid, Job, JobId,
    Kind, MeasuredTarget, PolicyPatch, Queue, RecordedAttempt, ReplayHistory, ReplayPolicies,
    ReplayReport, RetryPolicy, Tenant, Timestamp, duration,
    limits::{REPLAY_ATTEMPTS_MAX, REPLAY_SPAN, REPLAY_SPAN_DEFAULT},
};
use steadfast_store::{JobFilter, JobPageRequest};

use super::{Client, ClientError};
use crate::limits::{REPLAY_ATTEMPTS_PAGE, REPLAY_JOBS_MAX, REPLAY_JOBS_PAGE};

/// Whose attempts are replayed, and under which policy. At least one of queue, kind and destination
/// must be given; what is given must all hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplayRequest {
    /// Jobs of this tenant.
    pub tenant: Option<Tenant>,
    /// Jobs of this queue.
    pub queue: Option<Queue>,
    /// Jobs of this kind.
    pub kind: Option<Kind>,
    /// Jobs that call this system.
    pub destination: Option<Destination>,
    /// Jobs that were created at this time or later; a day ago by default.
    pub since: Option<Timestamp>,
    /// The other policy, over the levels below a job's own: what a job that is created with it would
    /// get.
    pub retry: PolicyPatch,
}

/// The attempts that were made, with the two policies of each job.
#[derive(Clone, Debug)]
pub struct ReplayRecord {
    history: ReplayHistory,
    policies: HashMap<JobId, (Arc<RetryPolicy>, Arc<RetryPolicy>)>,
    since: Timestamp,
    is_cut: bool,
}

impl ReplayRecord {
    /// The jobs were created at this time or later.
    pub fn since(&self) -> Timestamp {
        self.since
    }

    /// Whether there were more than are read, so that the older ones were left out.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Plays both policies through: arithmetic that may take seconds, so not for an async thread.
    pub fn replay(&self) -> Result<ReplayReport, Invalid> {
        // The same question has the same answer.
        let seed = 0;
        let policies = |job: JobId| {
            let (old, new) = self.policies.get(&job)?;
            Some(ReplayPolicies { old, new })
        };
        self.history.replay(policies, seed)
    }

    /// What the attempts say about the system that they called; `None` if there are too few.
    pub fn measure(&self) -> Option<MeasuredTarget> {
        self.history.measure()
    }
}

impl Client {
    /// The policy of jobs of a queue and kind that are created with this `retry`.
    pub fn resolve_policy(
        &self,
        tenant: Option<&Tenant>,
        queue: Option<&Queue>,
        kind: &Kind,
        retry: &PolicyPatch,
    ) -> Result<Arc<RetryPolicy>, Invalid> {
        let tenant = tenant.cloned().unwrap_or_default();
        let queue = queue.cloned().unwrap_or_default();
        let over = [retry, &PolicyPatch::default()];
        self.levels().resolve(&tenant, &queue, kind, over)
    }

    /// The limits of a destination's gates for a tenant's jobs, or for those of all tenants.
    pub async fn destination_limits(
        &self,
        tenant: Option<&Tenant>,
        destination: &Destination,
    ) -> Result<GateLimits, ClientError> {
        let gates = self.gate_cache().refresh_all().await?;
        Ok(gates.destination_limits(tenant, destination))
    }

    /// Reads the attempts that a replay needs; [`ReplayRecord::replay`] runs it.
    pub async fn replay_record(&self, request: ReplayRequest) -> Result<ReplayRecord, ClientError> {
        let since = request.checked_since(self.now())?;
        let mut builder = RecordBuilder::new(self, &request, since)?;
        let filter = JobFilter {
            tenant: request.tenant.clone(),
            queue: request.queue.clone(),
            kind: request.kind.clone(),
            ..JobFilter::default()
        };
        let mut page = JobPageRequest::first(REPLAY_JOBS_PAGE);
        let mut jobs_read = 0;
        loop {
            let jobs = self.jobs(filter.clone(), page).await?;
            jobs_read += jobs.items.len();
            let is_over = jobs.items.last().is_some_and(|job| job.created_at < since);
            builder.add_jobs(jobs.items).await?;
            page.after = jobs.next;
            if is_over || page.after.is_none() || builder.is_cut {
                break;
            }
            if jobs_read >= REPLAY_JOBS_MAX {
                builder.is_cut = true;
                break;
            }
        }
        builder.finish()
    }
}

impl ReplayRequest {
    fn checked_since(&self, now: Timestamp) -> Result<Timestamp, Invalid> {
        if self.queue.is_none() && self.kind.is_none() && self.destination.is_none() {
            let expected = "is required unless kind or destination is given";
            return Err(Invalid::new("queue", "missing", expected));
        }
        let Some(since) = self.since else {
            return Ok(now.minus(REPLAY_SPAN_DEFAULT));
        };
        if REPLAY_SPAN.contains(&now.since(since)) {
            return Ok(since);
        }
        let [least, most] =
            [REPLAY_SPAN.start(), REPLAY_SPAN.end()].map(|it| duration::format(*it));
        let expected = format!("must be between {least} and {most} ago");
        Err(Invalid::new("since", since, expected))
    }
}

/// The records read so far.
struct RecordBuilder<'a> {
    client: &'a Client,
    request: &'a ReplayRequest,
    since: Timestamp,
    attempts: Vec<RecordedAttempt>,
    policies: HashMap<JobId, (Arc<RetryPolicy>, Arc<RetryPolicy>)>,
    /// The resolved policy of the request for each lane.
    by_lane: HashMap<(Tenant, Queue, Kind), Arc<RetryPolicy>>,
    /// One failure of each cause: most are alike, and are kept once.
    failures: HashMap<FailureFingerprint, Arc<Failure>>,
    /// When the oldest job was created of which there is an attempt.
    first_created_at: Option<Timestamp>,
    is_cut: bool,
}

impl<'a> RecordBuilder<'a> {
    fn new(
        client: &'a Client,
        request: &'a ReplayRequest,
        since: Timestamp,
    ) -> Result<Self, Invalid> {
        let mut builder = Self {
            client,
            request,
            since,
            attempts: Vec::new(),
            policies: HashMap::new(),
            by_lane: HashMap::new(),
            failures: HashMap::new(),
            first_created_at: None,
            is_cut: false,
        };
        // A policy that breaks a rule is refused even if there are no jobs.
        builder.new_policy(
            &request.tenant.clone().unwrap_or_default(),
            &request.queue.clone().unwrap_or_default(),
            &request.kind.clone().unwrap_or_else(Kind::http),
        )?;
        Ok(builder)
    }

    /// Adds a page of jobs, newest first, with their attempts.
    async fn add_jobs(&mut self, jobs: Vec<Job>) -> Result<(), ClientError> {
        let wanted = jobs.into_iter().filter(|job| self.is_wanted(job));
        let jobs: HashMap<JobId, Job> = wanted.map(|job| (job.id, job)).collect();
        let mut ids: Vec<JobId> = jobs.keys().copied().collect();
        ids.sort_unstable_by(|a, b| b.cmp(a));
        while !ids.is_empty() {
            let store = self.client.store();
            let page = store.attempts_of_jobs(ids.clone(), REPLAY_ATTEMPTS_PAGE);
            let page = page.await?;
            if self.attempts.len() + page.items.len() > REPLAY_ATTEMPTS_MAX {
                self.is_cut = true;
                return Ok(());
            }
            for attempt in &page.items {
                if let Some(job) = jobs.get(&attempt.job) {
                    self.add(job, attempt)?;
                }
            }
            let next = page
                .next
                .and_then(|next| ids.iter().position(|id| *id == next));
            ids.drain(..next.unwrap_or(ids.len()));
        }
        Ok(())
    }

    fn is_wanted(&self, job: &Job) -> bool {
        let destination = self.request.destination.as_ref();
        job.created_at >= self.since
            && job.progress.attempt > 0
            && destination.is_none_or(|wanted| job.destination.as_ref() == Some(wanted))
    }

    fn add(&mut self, job: &Job, attempt: &Attempt) -> Result<(), Invalid> {
        let recorded = RecordedAttempt::of(attempt, &job.kind, job.destination.as_ref());
        let Some(mut recorded) = recorded else {
            return Ok(());
        };
        if let Some(failed) = &mut recorded.failure {
            let known = self.failures.entry(failed.fingerprint);
            let known = known.or_insert_with(|| failed.failure.clone());
            if *known == failed.failure {
                failed.failure = known.clone();
            }
        }
        self.attempts.push(recorded);
        let first = self.first_created_at.unwrap_or(job.created_at);
        self.first_created_at = Some(first.min(job.created_at));
        // What starts at most once is retried by no policy.
        if job.guarantee == Guarantee::AtLeastOnce && !self.policies.contains_key(&job.id) {
            let new = self.new_policy(&job.tenant, &job.queue, &job.kind)?;
            self.policies.insert(job.id, (job.policy.clone(), new));
        }
        Ok(())
    }

    fn new_policy(
        &mut self,
        tenant: &Tenant,
        queue: &Queue,
        kind: &Kind,
    ) -> Result<Arc<RetryPolicy>, Invalid> {
        let lane = (tenant.clone(), queue.clone(), kind.clone());
        if let Some(known) = self.by_lane.get(&lane) {
            return Ok(known.clone());
        }
        let over = [&self.request.retry, &PolicyPatch::default()];
        let policy = self.client.levels().resolve(tenant, queue, kind, over)?;
        self.by_lane.insert(lane, policy.clone());
        Ok(policy)
    }

    fn finish(self) -> Result<ReplayRecord, ClientError> {
        let first = self.first_created_at.filter(|_| self.is_cut);
        Ok(ReplayRecord {
            since: first.unwrap_or(self.since),
            history: ReplayHistory::new(self.attempts)?,
            policies: self.policies,
            is_cut: self.is_cut,
        })
    }
}

//! The verbs of a job's life.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use steadfast_core::{
    Claim, CommandResult, Guard, Job, JobCommand, JobId, NewJob, Priority, Subscriptions,
    Timestamp, Transition, limits, on_command,
};

use super::state::{KeyHolder, Lane, Stored, Tables};
use crate::{
    ClaimRequest, ClaimResult, CommandError, CommitResult, EnqueueError, EnqueueResult,
    RenewResult, Renewal,
};

const LAST_ID: JobId = JobId::from_bits(u128::MAX);

impl Tables {
    /// Answers for the whole batch before it stores any of it.
    pub(super) fn enqueue(
        &mut self,
        jobs: Vec<NewJob>,
        now: Timestamp,
    ) -> Result<Vec<EnqueueResult>, EnqueueError> {
        let mut keys_of_batch = BTreeMap::new();
        let mut ids_of_batch = BTreeSet::new();
        let mut answers = Vec::with_capacity(jobs.len());
        for (index, new) in jobs.iter().enumerate() {
            let mut id = new.id;
            if let Some(key) = &new.idempotency_key {
                let asked = KeyHolder::of(new);
                let tenants_key = (new.tenant.clone(), key.clone());
                let holder = match self.keys.get(&tenants_key) {
                    Some(holder) => holder,
                    None => keys_of_batch.entry(tenants_key).or_insert(asked),
                };
                id = holder.job;
                if holder.fingerprint != asked.fingerprint {
                    let (key, job) = (key.clone(), id);
                    return Err(EnqueueError::Conflict { index, key, job });
                }
            }
            let known = self.jobs.contains_key(&id) || !ids_of_batch.insert(id);
            answers.push(match known {
                true => EnqueueResult::Existing(id),
                false => EnqueueResult::Created(id, now),
            });
        }
        for new in jobs {
            self.insert(new, now);
        }
        Ok(answers)
    }

    pub(super) fn claim(&mut self, request: &ClaimRequest, now: Timestamp) -> ClaimResult {
        let mut due: Vec<_> = self
            .wanted(request)
            .flat_map(|(priority, jobs)| {
                let due = jobs.range(..=(now, LAST_ID)).take(request.max);
                due.map(move |(run_at, id)| (Reverse(priority), *run_at, *id))
            })
            .collect();
        due.sort_unstable();
        due.truncate(request.max);
        let mut claims = Vec::with_capacity(due.len());
        for (.., id) in due {
            let Some(job) = self.job(id) else { continue };
            let claim = job.claimed(request.worker.clone(), request.lease, now);
            self.update(claim.job().clone());
            claims.push(claim);
        }
        let next_due = self
            .wanted(request)
            .filter_map(|(_, jobs)| jobs.first())
            .map(|(run_at, _)| *run_at)
            .min();
        ClaimResult { claims, next_due }
    }

    pub(super) fn renew(&mut self, renewal: Renewal, now: Timestamp) -> RenewResult {
        let held = self
            .job(renewal.job)
            .and_then(|job| Claim::resume(job, renewal.fence).ok());
        let Some(claim) = held else {
            return RenewResult::Lost;
        };
        let mut job = claim.job().clone();
        let until = now.plus(renewal.lease);
        let cancel_requested = job.progress.cancel_requested;
        job.progress.lease_until = Some(until);
        job.progress.note = renewal.note.or(job.progress.note);
        self.update(job);
        RenewResult::Held {
            until,
            cancel_requested,
        }
    }

    pub(super) fn commit(&mut self, transition: Transition, now: Timestamp) -> CommitResult {
        let Some(stored) = self.jobs.get_mut(&transition.job) else {
            return CommitResult::Stale;
        };
        let Guard {
            fence,
            cancel_requested,
            lease_expired,
        } = transition.guard;
        let Ok(claim) = Claim::resume(stored.job.clone(), fence) else {
            return match stored.has_written(&transition) {
                true => CommitResult::Done,
                false => CommitResult::Stale,
            };
        };
        let mut job = claim.job().clone();
        if lease_expired && job.progress.lease_until > Some(now) {
            return CommitResult::Stale;
        }
        if job.progress.cancel_requested && !cancel_requested {
            return CommitResult::CancelRequested;
        }
        if let Some(record) = transition.record {
            let minute = minute(record.finished_at);
            let tallies = self.tallies.entry(Lane::of(&job)).or_default();
            *tallies.entry(minute).or_default() += transition.tally;
            stored.attempts.insert(fence, record);
        }
        job.progress = transition.to;
        self.update(job);
        for new in transition.outbox {
            self.insert(new, now);
        }
        CommitResult::Done
    }

    pub(super) fn expired(&self, limit: usize, now: Timestamp) -> Vec<Claim> {
        self.leases
            .range(..=(Some(now), LAST_ID))
            .filter_map(|(_, id)| self.job(*id))
            .filter_map(|job| {
                let fence = job.progress.fence;
                Claim::resume(job, fence).ok()
            })
            .take(limit)
            .collect()
    }

    pub(super) fn command(
        &mut self,
        id: JobId,
        command: &JobCommand,
        subscriptions: &Subscriptions,
        now: Timestamp,
    ) -> Result<Job, CommandError> {
        let job = self.job(id).ok_or(CommandError::NotFound(id))?;
        let CommandResult { job, outbox } = on_command(job, command, subscriptions, now)?;
        self.update(job.clone());
        for new in outbox {
            self.insert(new, now);
        }
        Ok(job)
    }

    pub(super) fn prune(&mut self, before: Timestamp, limit: usize, now: Timestamp) -> usize {
        let old: Vec<JobId> = self
            .jobs
            .values()
            .filter(|stored| may_go(&stored.job, before, now))
            .map(|stored| stored.job.id)
            .take(limit)
            .collect();
        for id in &old {
            self.remove(*id);
        }
        self.ticks.retain(|(_, at), _| *at >= before);
        old.len()
    }

    /// The waiting jobs that a claim may take, by priority.
    fn wanted<'a>(
        &'a self,
        request: &'a ClaimRequest,
    ) -> impl Iterator<Item = (Priority, &'a BTreeSet<(Timestamp, JobId)>)> {
        let wanted = |lane: &Lane| {
            let ClaimRequest {
                tenant,
                queues,
                kinds,
                except_kinds,
                ..
            } = request;
            tenant.as_ref().is_none_or(|tenant| *tenant == lane.tenant)
                && (queues.is_empty() || queues.contains(&lane.queue))
                && (kinds.is_empty() || kinds.contains(&lane.kind))
                && !except_kinds.contains(&lane.kind)
                && !self.is_paused(lane)
        };
        self.waiting
            .iter()
            .filter(move |((lane, _), _)| wanted(lane))
            .map(|((_, priority), jobs)| (*priority, jobs))
    }

    pub(super) fn is_paused(&self, lane: &Lane) -> bool {
        let queue = (lane.tenant.clone(), lane.queue.clone());
        self.paused.contains(&queue)
    }
}

impl Stored {
    /// Whether this transition is the one that ended its attempt.
    fn has_written(&self, transition: &Transition) -> bool {
        match &transition.record {
            Some(record) => self.attempts.get(&transition.guard.fence) == Some(record),
            None => self.job.progress == transition.to,
        }
    }
}

fn may_go(job: &Job, ended_before: Timestamp, now: Timestamp) -> bool {
    let progress = &job.progress;
    // A dead letter counts from when it was discarded: whoever did so may think again.
    let ended_at = progress.resolved_at.or(progress.finished_at);
    let key_lives = job.idempotency_key.is_some() && now.since(job.created_at) < limits::DAY;
    progress.state.is_final()
        && !job.is_dead_letter()
        && ended_at.is_some_and(|ended_at| ended_at < ended_before)
        && !key_lives
}

pub(super) fn minute(time: Timestamp) -> i64 {
    time.as_millis() / 60_000
}

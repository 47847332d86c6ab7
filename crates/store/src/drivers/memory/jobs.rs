//! The life of a job.

use std::{
    collections::{BTreeMap, BTreeSet},
    convert::Infallible,
    sync::Arc,
};

use async_trait::async_trait;
use steadfast_core::{
    AuditRecord, BatchId, Claim, CommandRefusal, CommandResult, CommitResult, Fence, Job,
    JobCommand, JobId, JobState, NewJob, Payload, RefusalReason, StartDeadline, StepName,
    Subscriptions, Tenant, Timestamp, Transition, Unique, WorkerName, limits::STEPS_MAX,
    on_command, on_dependant_command,
};

use super::{
    MemoryStore, each,
    tables::{KeyHolder, Tables},
    transaction::finish,
};
use crate::{
    drivers::driver_error::DriverError,
    error::{CommandError, EnqueueError, StoreError},
    failures::{FailureTallies, dead_letter_key},
    lane::Lane,
    limits::{LANES_PER_TENANT_MAX, MINUTES_KEPT, NAME_SEARCH_EVERY},
    minutes::minute,
    store::{
        ClaimRequest, ClaimResult, CounterDifference, DocumentKind, EnqueueResult, JobStore,
        PruneRequest, RenewResult, Renewal, SaveStepResult,
    },
    verbs::links::NewDependant,
    verbs::tenant_room::check_lanes,
    verbs::unique::UniquePlan,
    verbs::{
        self, audit, batches,
        dependencies::{self, RequestContext},
        gates, outbox, waiting_limit,
    },
};

const LAST_ID: JobId = JobId::from_bits(u128::MAX);

#[async_trait]
impl JobStore for MemoryStore {
    async fn enqueue(
        &self,
        jobs: Vec<NewJob>,
        audit: Option<AuditRecord>,
    ) -> Result<Vec<EnqueueResult>, EnqueueError> {
        gates::refresh(self).await?;
        if let Some(audit) = audit {
            return audit::enqueue(self, jobs, audit).await;
        }
        self.with(|tables, now| tables.enqueue(jobs, now))
    }

    async fn claim(&self, request: ClaimRequest) -> Result<ClaimResult, StoreError> {
        self.under_gates(|tables, now| tables.claim(&request, now))
            .await
    }

    async fn renew(&self, renewals: Vec<Renewal>) -> Result<Vec<RenewResult>, StoreError> {
        Ok(self.with(|tables, now| each(renewals, |renewal| tables.renew(renewal, now))))
    }

    async fn cancel_requests(
        &self,
        worker: WorkerName,
        limit: usize,
    ) -> Result<Vec<(JobId, Fence)>, StoreError> {
        Ok(self.with(|tables, _| tables.cancel_requests(&worker, limit)))
    }

    async fn list_steps(
        &self,
        job: JobId,
        only: Option<StepName>,
        limit: usize,
    ) -> Result<Vec<(StepName, Payload)>, StoreError> {
        Ok(self.with(|tables, _| {
            let steps = tables.jobs.get(&job).map(|stored| &stored.steps);
            let steps = steps.into_iter().flatten();
            steps
                .filter(|(name, _)| only.as_ref().is_none_or(|only| *name == only))
                .take(limit)
                .map(|(name, result)| (name.clone(), result.clone()))
                .collect()
        }))
    }

    async fn save_step(
        &self,
        job: JobId,
        fence: Option<Fence>,
        step: StepName,
        result: Payload,
    ) -> Result<SaveStepResult, StoreError> {
        Ok(
            self.with(|tables, _| match (fence, tables.jobs.get_mut(&job)) {
                (Some(fence), _) => tables.save_claimed_step(job, fence, step, result),
                (None, Some(stored)) => {
                    SaveStepResult::Stored(stored.steps.entry(step).or_insert(result).clone())
                }
                (None, None) => SaveStepResult::Stored(result),
            }),
        )
    }

    async fn commit(&self, transitions: Vec<Transition>) -> Result<Vec<CommitResult>, StoreError> {
        Ok(self.with(|tables, now| each(transitions, |transition| tables.commit(transition, now))))
    }

    async fn expired_leases(&self, limit: usize) -> Result<Vec<Claim>, StoreError> {
        Ok(self.with(|tables, now| tables.expired_leases(limit, now)))
    }

    async fn expired_starts(&self, limit: usize) -> Result<Vec<JobId>, StoreError> {
        Ok(self.with(|tables, now| tables.expired_starts(limit, now)))
    }

    async fn run_command(
        &self,
        jobs: Vec<JobId>,
        command: JobCommand,
        subscriptions: Arc<Subscriptions>,
        audit: Option<AuditRecord>,
    ) -> Result<Vec<Result<Job, CommandError>>, StoreError> {
        if let Some(audit) = audit {
            return audit::run_command(self, jobs, command, subscriptions, audit).await;
        }
        Ok(self.with(|tables, now| {
            each(jobs, |job| {
                tables.run_command(job, &command, &subscriptions, now)
            })
        }))
    }

    async fn prune(&self, request: PruneRequest) -> Result<usize, StoreError> {
        verbs::prune::prune(self, request).await
    }

    /// Nothing is counted beforehand, so nothing differs.
    async fn recount(&self, _repair: bool) -> Result<Vec<CounterDifference>, StoreError> {
        Ok(Vec::new())
    }

    async fn check_writable(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

impl Tables {
    /// Answers for the whole batch before it stores any of it.
    /// Refuses jobs of lanes that their tenants may not have.
    fn check_lanes(&self, jobs: &[NewJob]) -> Result<(), EnqueueError> {
        if self.jobs.len() + jobs.len() <= LANES_PER_TENANT_MAX {
            return Ok(());
        }
        let stored = self.jobs.values().map(|entry| Lane::from(&entry.job));
        let stored: BTreeSet<Lane> = stored.collect();
        let new = jobs
            .iter()
            .map(Lane::from)
            .filter(|lane| !stored.contains(lane));
        let mut by_tenant: BTreeMap<Tenant, BTreeSet<Lane>> = BTreeMap::new();
        for lane in new {
            by_tenant
                .entry(lane.tenant.clone())
                .or_default()
                .insert(lane);
        }
        by_tenant.iter().try_for_each(|(tenant, new)| {
            let known = stored.iter().filter(|lane| lane.tenant == *tenant);
            check_lanes(tenant, known.count(), new.len())
        })
    }

    pub(super) fn enqueue(
        &mut self,
        jobs: Vec<NewJob>,
        now: Timestamp,
    ) -> Result<Vec<EnqueueResult>, EnqueueError> {
        self.check_lanes(&jobs)?;
        let is_known = |new: &NewJob| {
            let key = new.idempotency_key.clone();
            key.is_some_and(|key| self.keys.contains_key(&(new.tenant.clone(), key)))
        };
        let others = jobs.iter().enumerate();
        let others = others.filter(|(_, new)| !is_known(new));
        let find = |new: &NewJob, unique: &Unique| {
            Ok::<_, Infallible>(self.holder_of(&new.tenant, unique))
        };
        let Ok(plan) = UniquePlan::new(others, now, find);
        let mut plan = plan?;
        let new = jobs.iter().enumerate().filter(|(index, new)| {
            let is_stored = is_known(new) || self.jobs.contains_key(&new.id);
            !is_stored && !plan.answers.contains_key(index)
        });
        let new = new.map(|(index, job)| (index, plan.creates.get(&index).unwrap_or(job)));
        let new: Vec<(usize, NewJob)> = new.map(|(index, job)| (index, job.clone())).collect();
        let new: Vec<(usize, &NewJob)> = new.iter().map(|(index, job)| (*index, job)).collect();
        let failed = |error: DriverError| error.in_operation("enqueue");
        let unique = |index: usize| plan.answers.get(&index).map(|result| result.id());
        let of_key = |index: usize| {
            let new: &NewJob = jobs.get(index)?;
            let key = (new.tenant.clone(), new.idempotency_key.clone()?);
            let is_same = |other: &&NewJob| {
                other.tenant == key.0 && other.idempotency_key.as_ref() == Some(&key.1)
            };
            let twin = || jobs[..index].iter().find(is_same).map(|twin| twin.id);
            self.keys.get(&key).map(|holder| holder.job).or_else(twin)
        };
        let known = |index| of_key(index).or_else(|| unique(index));
        let context = RequestContext::of_enqueue(jobs.iter(), known);
        let mut seam = self.seam(now);
        let dependants =
            finish(dependencies::plan(&mut seam, &new, &context)).map_err(failed)??;
        let answers = self.answers_for(&jobs, &plan, now)?;
        self.check_new(new, now).map_err(failed)??;
        let created = answers.iter().enumerate();
        let created = created.filter(|(_, it)| matches!(it, EnqueueResult::Created(..)));
        let created: Vec<usize> = created.map(|(index, _)| index).collect();
        let added = created.iter().map(|index| &jobs[*index]);
        let added = added.filter_map(|job| Some((job.id, job.batch()?)));
        let added: Vec<(JobId, BatchId)> = added.collect();
        for (index, new) in jobs.into_iter().enumerate() {
            if !plan.answers.contains_key(&index) {
                let dependant = dependants.get(&index).map(|new| new.job.clone());
                let planned = dependant.or(plan.creates.remove(&index));
                self.insert(planned.unwrap_or(new), now);
            }
        }
        let waiting = created.iter().filter_map(|index| dependants.get(index));
        let waiting: Vec<(&NewDependant, Timestamp)> = waiting.map(|new| (new, now)).collect();
        let mut seam = self.seam(now);
        finish(batches::add(&mut seam, &added, None)).map_err(failed)?;
        finish(dependencies::save(&mut seam, &waiting)).map_err(failed)?;
        for (id, edit) in plan.edits {
            // It waits, so nothing speaks against it.
            let edit = JobCommand::Edit(edit);
            let _edited = self.run_command(id, &edit, &Subscriptions::default(), now);
        }
        for record in plan.audits {
            self.save_audit(Some(record));
        }
        Ok(answers)
    }

    /// Whether there is room for jobs that are not stored yet, and the batches that they name take them.
    fn check_new(
        &mut self,
        new: Vec<(usize, &NewJob)>,
        now: Timestamp,
    ) -> Result<Result<(), EnqueueError>, DriverError> {
        let gates = Arc::clone(self.flow.gates());
        let mut seam = self.seam(now);
        let created = new.iter().map(|(_, job)| *job);
        if let Err(full) = finish(waiting_limit::check(&mut seam, &gates, created))? {
            return Ok(Err(full));
        }
        finish(batches::check(&mut seam, new, None))
    }

    fn answers_for(
        &self,
        jobs: &[NewJob],
        plan: &UniquePlan,
        now: Timestamp,
    ) -> Result<Vec<EnqueueResult>, EnqueueError> {
        let mut keys_of_batch = BTreeMap::new();
        let mut ids_of_batch = BTreeSet::new();
        let mut answers = Vec::with_capacity(jobs.len());
        for (index, new) in jobs.iter().enumerate() {
            let mut id = new.id;
            if let Some(key) = &new.idempotency_key {
                let own = KeyHolder::of(new);
                let tenants_key = (new.tenant.clone(), key.clone());
                let holder = match self.keys.get(&tenants_key) {
                    Some(holder) => holder,
                    None => keys_of_batch.entry(tenants_key).or_insert(own),
                };
                id = holder.job;
                if holder.fingerprint != own.fingerprint {
                    let (key, job) = (key.clone(), id);
                    return Err(EnqueueError::Conflict { index, key, job });
                }
            }
            let exists = self.jobs.contains_key(&id) || !ids_of_batch.insert(id);
            answers.push(if let Some(answer) = plan.answers.get(&index) {
                *answer
            } else if exists {
                EnqueueResult::Existing(id)
            } else {
                EnqueueResult::Created(id, now)
            });
        }
        Ok(answers)
    }

    /// The unfinished job of a unique key: of several, the one that waits.
    fn holder_of(&self, tenant: &Tenant, unique: &Unique) -> Option<Job> {
        let has_key = |job: &&Job| {
            let own = job.unique();
            job.tenant == *tenant && own.is_some_and(|own| own.key == unique.key)
        };
        let jobs = self.jobs.values().map(|entry| &entry.job);
        jobs.filter(|job| !job.progress.state.is_final())
            .filter(has_key)
            .min_by_key(|job| (job.progress.state, job.id))
            .cloned()
    }

    fn expired_starts(&self, limit: usize, now: Timestamp) -> Vec<JobId> {
        let jobs = self.jobs.values().map(|entry| &entry.job);
        let late = jobs.filter(|job| job.has_missed_start(now));
        let mut late: Vec<_> = late
            .map(|job| (job.start_deadline().map(StartDeadline::at), job.id))
            .collect();
        late.sort_unstable();
        late.into_iter().take(limit).map(|(_, id)| id).collect()
    }

    fn renew(&mut self, renewal: Renewal, now: Timestamp) -> RenewResult {
        let held = self
            .job(renewal.job)
            .and_then(|job| Claim::resume(job, renewal.fence).ok());
        let Some(claim) = held else {
            return RenewResult::Lost;
        };
        let mut job = claim.job().clone();
        let until = now.plus(renewal.lease);
        let until = match renewal.within_timeout {
            true => job.within_timeout(until),
            false => until,
        };
        let cancel_requested = job.progress.cancel_requested;
        job.progress.lease_until = Some(until);
        job.progress.note = renewal.note.or(job.progress.note);
        self.update(job);
        RenewResult::Held {
            until,
            cancel_requested,
        }
    }

    fn save_claimed_step(
        &mut self,
        job: JobId,
        fence: Fence,
        step: StepName,
        result: Payload,
    ) -> SaveStepResult {
        let Some(stored) = self.jobs.get_mut(&job) else {
            return SaveStepResult::Stale;
        };
        let progress = &stored.job.progress;
        if progress.state != JobState::Running || progress.fence != fence {
            return SaveStepResult::Stale;
        }
        if !stored.steps.contains_key(&step) && stored.steps.len() >= STEPS_MAX {
            return SaveStepResult::Full;
        }
        SaveStepResult::Stored(stored.steps.entry(step).or_insert(result).clone())
    }

    fn cancel_requests(&self, worker: &WorkerName, limit: usize) -> Vec<(JobId, Fence)> {
        let running = self.leases.iter().filter_map(|(_, id)| self.jobs.get(id));
        let mut found: Vec<_> = running
            .map(|stored| &stored.job)
            .filter(|job| job.progress.cancel_requested)
            .filter(|job| job.progress.worker.as_ref() == Some(worker))
            .map(|job| (job.id, job.progress.fence))
            .collect();
        found.sort_unstable();
        found.truncate(limit);
        found
    }

    fn commit(&mut self, transition: Transition, now: Timestamp) -> CommitResult {
        let endpoints = self.document_version(DocumentKind::Endpoint);
        let stored = self.jobs.get_mut(&transition.job);
        let record = stored
            .as_ref()
            .and_then(|stored| stored.attempts.get(&transition.guard.fence));
        let progress = stored.as_ref().map(|stored| &stored.job.progress);
        if let Some(refusal) = transition.refusal(progress, record, endpoints, now) {
            return refusal;
        }
        let plan = match outbox::has_links(&transition.outbox) {
            true => match finish(outbox::plan(&mut self.seam(now), &transition)) {
                Ok(Ok(plan)) => Some(plan),
                Ok(Err(refusal)) => return CommitResult::OutboxRefused(refusal),
                // Nothing fails here.
                Err(_) => return CommitResult::Stale,
            },
            false => None,
        };
        let Some(stored) = self.jobs.get_mut(&transition.job) else {
            return CommitResult::Stale;
        };
        let mut job = stored.job.clone();
        if let Some(record) = transition.record.clone() {
            let minute = minute(record.finished_at);
            let tallies = self.tallies.entry(Lane::from(&job)).or_default();
            *tallies.entry(minute).or_default() += transition.tally;
            stored.attempts.insert(record.fence, record);
        }
        job.progress = transition.to.clone();
        self.update(job);
        if let Some(observed) = &transition.observation {
            let mut tallies = FailureTallies::default();
            tallies.add(observed);
            self.count_failures(tallies, now);
        }
        if let Some(plan) = plan {
            // Nothing fails here either.
            let _saved = finish(outbox::save(&mut self.seam(now), &transition, &plan));
            return CommitResult::Done;
        }
        for new in transition.outbox {
            self.insert(new, now);
        }
        CommitResult::Done
    }

    fn expired_leases(&self, limit: usize, now: Timestamp) -> Vec<Claim> {
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

    pub(super) fn run_command(
        &mut self,
        id: JobId,
        command: &JobCommand,
        subscriptions: &Subscriptions,
        now: Timestamp,
    ) -> Result<Job, CommandError> {
        let job = self.job(id).ok_or(CommandError::NotFound(id))?;
        if let (JobCommand::Retry { .. }, Some(unique)) = (command, job.unique())
            && let Some(holder) = self.holder_of(&job.tenant, unique)
            && unique.is_taken_by(&holder)
            && holder.id != id
        {
            let reason = RefusalReason::UniqueKeyTaken;
            return Err(CommandRefusal { job: id, reason }.into());
        }
        let dead_letter = dead_letter_key(&job);
        let mut seam = self.seam(now);
        // Nothing fails here.
        let decision = finish(dependencies::decision_for(&mut seam, &job, command));
        let changed = match decision.unwrap_or(None) {
            Some(decision) => on_dependant_command(job, command, decision, subscriptions, now)?,
            None => on_command(job, command, subscriptions, now)?,
        };
        let CommandResult { job, outbox } = changed;
        self.update(job.clone());
        let mut tallies = FailureTallies::default();
        tallies.resolve(dead_letter, &job);
        self.count_failures(tallies, now);
        for new in outbox {
            self.insert(new, now);
        }
        Ok(job)
    }

    pub(super) fn prune(&mut self, before: Timestamp, limit: usize, now: Timestamp) -> usize {
        let old: Vec<JobId> = self
            .jobs
            .values()
            .filter(|stored| stored.job.may_be_pruned(before, now))
            .map(|stored| stored.job.id)
            .take(limit)
            .collect();
        for id in &old {
            self.remove(*id);
        }
        self.ticks.retain(|(_, at), _| *at >= before);
        let oldest = before.min(now.minus(MINUTES_KEPT));
        self.failures
            .retain(|_, group| !group.may_be_pruned(oldest));
        let oldest = minute(oldest);
        for tallies in self.tallies.values_mut() {
            let kept = tallies.split_off(&oldest);
            // The totals stay, in a minute before all others.
            for (_, tally) in std::mem::replace(tallies, kept) {
                *tallies.entry(i64::MIN).or_default() += tally;
            }
        }
        old.len()
    }

    /// Only what was counted is kept by name.
    pub(super) fn prune_names(&mut self, keep: usize, now: Timestamp) -> usize {
        let last = self.names_searched;
        if last.is_some_and(|last| last <= now && now.since(last) < NAME_SEARCH_EVERY) {
            return 0;
        }
        self.names_searched = Some(now);
        if last.is_none_or(|last| last > now) || self.tallies.len() <= keep {
            return 0;
        }
        let used: BTreeSet<Lane> = self
            .jobs
            .values()
            .map(|entry| Lane::from(&entry.job))
            .collect();
        let before = self.tallies.len();
        self.tallies.retain(|lane, tallies| {
            let is_recent = tallies.keys().any(|minute| *minute != i64::MIN);
            is_recent || used.contains(lane)
        });
        before - self.tallies.len()
    }
}

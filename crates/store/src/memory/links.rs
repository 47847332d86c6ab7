//! Jobs that wait for others.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    convert::Infallible,
    sync::Arc,
};

use async_trait::async_trait;
use steadfast_core::{
    AuditRecord, BatchId, DependantDecision, Job, JobCommand, JobId, NewBatch, NewJob,
    PrerequisiteState, Subscriptions, Tenant, Timestamp,
};

use super::{MemoryStore, tables::Tables};
use crate::{
    error::{EnqueueError, StoreError},
    links::{NewDependant, Prerequisite, asks_prerequisites, decide},
    store::{
        BatchCreateResult, BatchFilter, BatchRecord, FollowedLinks, JobCount, JobLinks, LinkStore,
        Page, PageRequest,
    },
    unique::UniquePlan,
};

#[derive(Default)]
pub(super) struct Links {
    /// By the job that waits; with how the other stood when it was deleted.
    after: BTreeMap<JobId, BTreeMap<JobId, Option<PrerequisiteState>>>,
    dependants: BTreeMap<JobId, BTreeSet<JobId>>,
    notes: VecDeque<LinkNote>,
}

/// Something has happened to a job that others wait for.
struct LinkNote {
    job: JobId,
    /// It concerns this one only.
    dependant: Option<JobId>,
    /// Dependants up to this one are done.
    worked_to: Option<JobId>,
}

#[async_trait]
impl LinkStore for MemoryStore {
    async fn follow_links(
        &self,
        limit: usize,
        subscriptions: Arc<Subscriptions>,
    ) -> Result<FollowedLinks, StoreError> {
        Ok(self.with(|tables, now| {
            let mut followed = tables.follow_links(limit, &subscriptions, now);
            tables.follow_batches(limit, now);
            followed.has_more |= tables.batches.has_notes();
            followed
        }))
    }

    async fn job_links(&self, job: JobId, dependants_max: u64) -> Result<JobLinks, StoreError> {
        Ok(self.with(|tables, _| {
            let dependants = tables.links.dependants.get(&job);
            let dependants = dependants.map_or(0, BTreeSet::len) as u64;
            JobLinks {
                after: tables.prerequisites(job).collect(),
                dependants: JobCount::up_to(dependants, dependants_max),
            }
        }))
    }

    async fn create_batch(
        &self,
        batch: NewBatch,
        unfinished_max: usize,
    ) -> Result<BatchCreateResult, EnqueueError> {
        self.with(|tables, now| tables.create_batch(batch, unfinished_max, now))
    }

    async fn close_batch(
        &self,
        id: BatchId,
        audit: Option<AuditRecord>,
    ) -> Result<Option<BatchRecord>, StoreError> {
        Ok(self.with(|tables, now| tables.close_batch(id, audit, now)))
    }

    async fn get_batch(&self, id: BatchId) -> Result<Option<BatchRecord>, StoreError> {
        Ok(self.with(|tables, _| tables.batches.get(id)))
    }

    async fn list_batches(
        &self,
        filter: BatchFilter,
        page: PageRequest<BatchId>,
    ) -> Result<Page<BatchRecord, BatchId>, StoreError> {
        Ok(self.with(|tables, _| tables.batches.list(&filter, page)))
    }

    async fn prune_batches(
        &self,
        ended_before: Timestamp,
        limit: usize,
    ) -> Result<usize, StoreError> {
        Ok(self.with(|tables, now| tables.prune_batches(ended_before, limit, now)))
    }

    async fn list_dependants(&self, job: JobId, limit: usize) -> Result<Vec<JobId>, StoreError> {
        Ok(self.with(|tables, _| {
            let dependants = tables.links.dependants.get(&job);
            let dependants = dependants.into_iter().flatten().take(limit);
            dependants.copied().collect()
        }))
    }
}

impl Tables {
    /// The jobs of a batch that wait for others, as they are to be stored.
    pub(super) fn plan_dependants(
        &self,
        jobs: &[NewJob],
        plan: &UniquePlan,
    ) -> Result<HashMap<usize, NewDependant>, EnqueueError> {
        let mut dependants = HashMap::new();
        for (index, new) in jobs.iter().enumerate() {
            let key = new.idempotency_key.clone();
            let key = key.map(|key| (new.tenant.clone(), key));
            let is_known = key.is_some_and(|key| self.keys.contains_key(&key));
            if is_known || plan.answers.contains_key(&index) || self.jobs.contains_key(&new.id) {
                continue;
            }
            let new = plan.creates.get(&index).unwrap_or(new);
            let find = |id| Ok::<_, Infallible>(self.prerequisite(id, &new.tenant));
            let Ok(dependant) = NewDependant::new(index, new, find);
            dependants.extend(dependant?.map(|dependant| (index, dependant)));
        }
        Ok(dependants)
    }

    fn prerequisite(&self, id: JobId, tenant: &Tenant) -> Option<Prerequisite> {
        let job = &self.jobs.get(&id)?.job;
        (job.tenant == *tenant).then(|| Prerequisite {
            state: PrerequisiteState::of(Some(&job.progress)),
            created_at: job.created_at,
        })
    }

    pub(super) fn insert_dependant(&mut self, dependant: NewDependant, now: Timestamp) {
        let NewDependant {
            job,
            prerequisites,
            must_fail,
            created_from,
        } = dependant;
        let id = job.id;
        if self.jobs.contains_key(&id) {
            return;
        }
        self.insert(job, now);
        if let Some(entry) = self.jobs.get_mut(&id) {
            entry.job.created_at = created_from.max(now);
        }
        for (prerequisite, _) in &prerequisites {
            let dependants = self.links.dependants.entry(*prerequisite).or_default();
            dependants.insert(id);
        }
        let open = prerequisites.into_iter().map(|(other, _)| (other, None));
        self.links.after.insert(id, open.collect());
        if must_fail {
            self.note(id, Some(id));
        }
    }

    fn note(&mut self, job: JobId, dependant: Option<JobId>) {
        self.links.notes.push_back(LinkNote {
            job,
            dependant,
            worked_to: None,
        });
        self.wakes.links_changed();
    }

    pub(super) fn note_change(&mut self, old: &Job, new: &Job) {
        let (from, to) = (&old.progress, &new.progress);
        let is_changed = (from.state, from.resolved_at) != (to.state, to.resolved_at);
        if is_changed && to.state.is_final() && self.links.dependants.contains_key(&new.id) {
            self.note(new.id, None);
        }
    }

    /// What a deleted job was is kept with those that wait for it.
    pub(super) fn note_removal(&mut self, job: &Job) {
        let state = match PrerequisiteState::of(Some(&job.progress)) {
            PrerequisiteState::Succeeded => PrerequisiteState::Succeeded,
            _ => PrerequisiteState::GivenUp,
        };
        let dependants = self.links.dependants.get(&job.id).cloned();
        for dependant in dependants.iter().flatten() {
            let after = self.links.after.get_mut(dependant);
            let known = after.and_then(|after| after.get_mut(&job.id));
            if let Some(known) = known {
                known.get_or_insert(state);
            }
        }
        if dependants.is_some() {
            self.note(job.id, None);
        }
        for (other, _) in self.links.after.remove(&job.id).unwrap_or_default() {
            if let Some(dependants) = self.links.dependants.get_mut(&other) {
                dependants.remove(&job.id);
                if dependants.is_empty() {
                    self.links.dependants.remove(&other);
                }
            }
        }
    }

    fn prerequisites(&self, job: JobId) -> impl Iterator<Item = (JobId, PrerequisiteState)> {
        let after = self.links.after.get(&job).into_iter().flatten();
        after.map(|(id, known)| {
            let stored = self.jobs.get(id).map(|entry| &entry.job.progress);
            let state = known.unwrap_or_else(|| PrerequisiteState::of(stored));
            (*id, state)
        })
    }

    /// What follows for a job from where its prerequisites stand, if a command has to know.
    pub(super) fn decision_for(
        &self,
        job: &Job,
        command: &JobCommand,
    ) -> Option<DependantDecision> {
        let on_failure = asks_prerequisites(job, command)?;
        let states = self.prerequisites(job.id).map(|(_, state)| state);
        Some(decide(on_failure, states))
    }

    fn follow_links(
        &mut self,
        limit: usize,
        subscriptions: &Subscriptions,
        now: Timestamp,
    ) -> FollowedLinks {
        let mut found = BTreeSet::new();
        while found.len() < limit
            && let Some(mut note) = self.links.notes.pop_front()
        {
            if let Some(dependant) = note.dependant {
                found.insert(dependant);
                continue;
            }
            let all = self.links.dependants.get(&note.job);
            let is_left = |id: &&JobId| note.worked_to.is_none_or(|worked_to| **id > worked_to);
            let left = all.into_iter().flatten().filter(is_left);
            let some: Vec<JobId> = left.take(limit - found.len()).copied().collect();
            if found.len() + some.len() == limit {
                // What is left comes after what others wait for.
                note.worked_to = some.last().copied();
                self.links.notes.push_back(note);
            }
            found.extend(some);
        }
        let mut changed = Vec::new();
        for id in found {
            let job = self.jobs.get(&id).map(|entry| &entry.job);
            let on_failure = job.filter(|job| job.is_blocked()).and_then(Job::on_failure);
            let Some(on_failure) = on_failure else {
                continue;
            };
            let states = self.prerequisites(id).map(|(_, state)| state);
            let command = JobCommand::Follow(decide(on_failure, states));
            changed.extend(self.run_command(id, &command, subscriptions, now).ok());
        }
        FollowedLinks {
            changed,
            has_more: !self.links.notes.is_empty(),
        }
    }
}

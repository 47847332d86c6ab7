//! Unique jobs, and how requests for them move one that waits.

use std::time::Duration;

use steadfast_core::{
    Job, JobId, JobState, NewJob, Tenant, Timestamp, UniqueKey, UniqueResult, UniqueScope,
};

use super::{Event, History};
use crate::{Invariant, expected::ExpectedJob, workload};

impl History {
    /// Unfinished jobs of a unique key.
    fn holders<'h>(
        &'h self,
        tenant: &'h Tenant,
        key: &'h UniqueKey,
    ) -> impl Iterator<Item = (JobId, &'h ExpectedJob)> {
        let living = self.jobs.iter().filter(|(_, known)| !known.gone);
        let unfinished = living.filter(|(_, known)| !known.state.is_final());
        unfinished
            .filter(move |(_, known)| {
                let own = known.unique.as_ref();
                known.tenant == *tenant && own.is_some_and(|own| own.key == *key)
            })
            .map(|(id, known)| (*id, known))
    }

    /// A request was sent. From now on the jobs of its unique keys may have other times than known.
    pub fn unique_requested(&mut self, jobs: &[NewJob]) {
        for key in jobs.iter().filter_map(unique_key_of) {
            *self.unique_requests.entry(key).or_default() += 1;
        }
    }

    /// Its answer has arrived, and what it changed is known.
    pub fn unique_answered(&mut self, jobs: &[NewJob]) {
        for key in jobs.iter().filter_map(unique_key_of) {
            if let Some(requests) = self.unique_requests.get_mut(&key) {
                *requests = requests.saturating_sub(1);
            }
        }
    }

    /// Whether a request without an answer may have moved the job.
    pub(super) fn may_have_moved(&self, known: &ExpectedJob) -> bool {
        let key = known
            .unique
            .as_ref()
            .map(|unique| (known.tenant.clone(), unique.key.clone()));
        let requests = key.and_then(|key| self.unique_requests.get(&key));
        requests.is_some_and(|requests| *requests > 0)
    }

    /// A job begins to wait: no other one has its unique key.
    pub(super) fn check_unique(&mut self, id: JobId) {
        let known = self.jobs.get(&id);
        let Some((tenant, unique)) =
            known.and_then(|known| Some((known.tenant.clone(), known.unique.clone()?)))
        else {
            return;
        };
        self.count_check(Invariant::OneUniqueJob);
        let mut others = self.holders(&tenant, &unique.key);
        let other = others.find(|(other, known)| {
            let is_taken = match unique.scope {
                UniqueScope::Waiting => known.state == JobState::Waiting,
                UniqueScope::Unfinished => true,
            };
            *other != id && is_taken
        });
        let other = other.map(|(other, _)| other);
        drop(others);
        if let Some(other) = other {
            let why = format!("it waits although {other} has its unique key");
            self.broken(Invariant::OneUniqueJob, id, why);
        }
    }

    /// A request for a unique job was answered with one that there was.
    pub(super) fn answered_with_other(
        &mut self,
        new: &NewJob,
        id: JobId,
        result: UniqueResult,
        stored: Option<&Job>,
        now: Timestamp,
    ) {
        let run_at = stored.map_or(now, Job::earliest_run_at);
        self.tell(now, id, Event::Unique { result, run_at });
        self.count_check(Invariant::OneUniqueJob);
        let holder = new.unique().and_then(|unique| {
            let mut holders = self.holders(&new.tenant, &unique.key);
            let (_, known) = holders.find(|(holder, _)| *holder == id)?;
            Some(known.clone())
        });
        let Some(holder) = holder else {
            let why = "it is the answer to a request for a unique key that it does not have";
            return self.broken(Invariant::OneUniqueJob, id, why);
        };
        if let (Some(known), Some(stored)) = (self.jobs.get_mut(&id), stored) {
            known.follow(stored);
        }
        let is_changed = matches!(result, UniqueResult::Moved | UniqueResult::Replaced);
        let Some(stored) = stored.filter(|_| is_changed) else {
            return;
        };
        if holder.state != JobState::Waiting {
            let why = format!("{result} while it was {}", holder.state);
            self.broken(Invariant::OneUniqueJob, id, why);
        }
        if result == UniqueResult::Replaced && stored.payload != new.payload {
            let why = "it was replaced and does not have the payload of the newest request";
            self.broken(Invariant::OneUniqueJob, id, why);
        }
        let work = |job: &Job| (job.kind.clone(), job.queue.clone());
        if result == UniqueResult::Replaced && work(stored) != (new.kind.clone(), new.queue.clone())
        {
            let why = "it was replaced by a request for another kind or queue";
            self.broken(Invariant::OneUniqueJob, id, why);
        }
        let is_debounced = new.extras().is_some_and(|extras| extras.debounce.is_some());
        if is_debounced && holder.used == 0 && stored.progress.snoozes == 0 {
            self.check_debounce(id, holder.created_at, run_at, now);
        }
    }

    fn check_debounce(
        &mut self,
        id: JobId,
        created_at: Timestamp,
        run_at: Timestamp,
        now: Timestamp,
    ) {
        let latest = created_at.plus(workload::DEBOUNCE_MAX);
        self.count_check(Invariant::DebounceEnds);
        if run_at > latest {
            let why = format!("moved to {run_at}, beyond {latest}");
            self.broken(Invariant::DebounceEnds, id, why);
        }
        let wait: Duration = workload::DEBOUNCE;
        if run_at != latest && run_at != now.plus(wait) {
            let why = format!("it starts at {run_at}, not {wait:?} after the newest request");
            self.broken(Invariant::DebounceEnds, id, why);
        }
    }

    /// A request was refused because there is a job of its unique key.
    pub fn refused_as_second(&mut self, new: &NewJob, with: JobId, batch: &[NewJob]) {
        self.count_check(Invariant::OneUniqueJob);
        let is_right = new.unique().is_some_and(|unique| {
            let of_batch = |other: &NewJob| {
                let own = other.unique();
                other.id == with && own.is_some_and(|own| own.key == unique.key)
            };
            let mut holders = self.holders(&new.tenant, &unique.key);
            holders.any(|(holder, _)| holder == with) || batch.iter().any(of_batch)
        });
        if !is_right {
            let why = "it is said to have a unique key that it does not have";
            self.broken(Invariant::OneUniqueJob, with, why);
        }
    }
}

fn unique_key_of(job: &NewJob) -> Option<(Tenant, UniqueKey)> {
    Some((job.tenant.clone(), job.unique()?.key.clone()))
}

//! What has happened to jobs that others wait for, or that belong to a batch: what triggers note in
//! SQL.

use steadfast_core::{Job, JobId, JobState};

use super::{event_entry::EventEntry, tables::Tables};

impl Tables {
    pub(super) fn add_event(&mut self, event: EventEntry) {
        self.last_event += 1;
        self.events.insert(self.last_event, event);
        self.wakes.links_changed();
    }

    /// Jobs that wait for another, or did.
    pub(super) fn dependants_of(&self, job: JobId) -> impl Iterator<Item = JobId> {
        let range = (job, JobId::from_bits(0))..=(job, JobId::from_bits(u128::MAX));
        self.dependants
            .range(range)
            .map(|(_, dependant)| *dependant)
    }

    pub(super) fn note_change(&mut self, old: &Job, new: &Job) {
        let (from, to) = (&old.progress, &new.progress);
        let is_changed = (from.state, from.resolved_at) != (to.state, to.resolved_at);
        if is_changed && to.state.is_final() && self.dependants_of(new.id).next().is_some() {
            self.add_event(EventEntry::Dependency {
                job: new.id,
                dependant: None,
                worked_to: None,
            });
        }
        let has_ended = from.state.is_final() || to.state.is_final();
        if let Some(batch) = self.batch_jobs.get(&new.id).copied()
            && from.state != to.state
            && has_ended
        {
            let (from, to) = (from.state, to.state);
            self.add_event(EventEntry::Batch { batch, from, to });
        }
    }

    /// The result of a deleted job is kept with those that wait for it.
    pub(super) fn note_removal(&mut self, job: &Job) {
        let dependants: Vec<JobId> = self.dependants_of(job.id).collect();
        if job.progress.state == JobState::Succeeded {
            for dependant in &dependants {
                self.dependencies.insert((*dependant, job.id), true);
            }
        }
        if !dependants.is_empty() {
            self.add_event(EventEntry::Dependency {
                job: job.id,
                dependant: None,
                worked_to: None,
            });
        }
        let own: Vec<JobId> = self.prerequisites_of(job.id).collect();
        for other in own {
            self.dependencies.remove(&(job.id, other));
            self.dependants.remove(&(other, job.id));
        }
        self.batch_jobs.remove(&job.id);
    }

    pub(super) fn prerequisites_of(&self, job: JobId) -> impl Iterator<Item = JobId> {
        let range = (job, JobId::from_bits(0))..=(job, JobId::from_bits(u128::MAX));
        self.dependencies.range(range).map(|((_, other), _)| *other)
    }
}

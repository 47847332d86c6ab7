//! Which jobs are meant, and how long lists are walked.

use steadfast_core::{
    EndReason, FailureClass, Job, JobId, JobLabel, Kind, Queue, ScheduleId, Tenant, Timestamp,
};

/// A question about jobs. What is `None` does not matter; what is given must all hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobFilter {
    pub tenant: Option<Tenant>,
    pub queue: Option<Queue>,
    pub kind: Option<Kind>,
    pub label: Option<JobLabel>,
    pub schedule: Option<ScheduleId>,
    /// Created at this time or later.
    pub created_from: Option<Timestamp>,
    /// Created before this time.
    pub created_before: Option<Timestamp>,
    /// Part of the newest failure's message, in any case.
    pub failure_text: Option<String>,
    pub failure_class: Option<FailureClass>,
    pub reason: Option<EndReason>,
    /// Only dead letters: failed, and nobody has resolved them.
    pub dead_letters: bool,
}

impl JobFilter {
    pub fn dead_letters() -> Self {
        Self {
            dead_letters: true,
            ..Self::default()
        }
    }

    /// The reference meaning of the filter; drivers that can ask an index must agree with it.
    pub fn matches(&self, job: &Job, now: Timestamp) -> bool {
        fn same<T: PartialEq>(wanted: &Option<T>, found: &T) -> bool {
            wanted.as_ref().is_none_or(|wanted| wanted == found)
        }
        let failure = job.progress.failure.as_ref();
        same(&self.tenant, &job.tenant)
            && same(&self.queue, &job.queue)
            && same(&self.kind, &job.kind)
            && same(&self.label, &job.label(now))
            && self.schedule.is_none_or(|schedule| {
                job.scheduled_run
                    .is_some_and(|run| run.schedule == schedule)
            })
            && self.created_from.is_none_or(|from| job.created_at >= from)
            && self
                .created_before
                .is_none_or(|before| job.created_at < before)
            && self.failure_text.as_ref().is_none_or(|text| {
                failure.is_some_and(|failure| {
                    let message = failure.message.to_lowercase();
                    message.contains(&text.to_lowercase())
                })
            })
            && self
                .failure_class
                .as_ref()
                .is_none_or(|class| failure.is_some_and(|failure| failure.class == *class))
            && self
                .reason
                .is_none_or(|reason| job.progress.reason == Some(reason))
            && (!self.dead_letters || job.is_dead_letter())
    }
}

/// A stretch of a list, newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRequest<Cursor> {
    pub limit: usize,
    /// Where the stretch before this one ended.
    pub after: Option<Cursor>,
}

pub type JobPageRequest = PageRequest<JobId>;

impl<Cursor> PageRequest<Cursor> {
    pub fn first(limit: usize) -> Self {
        Self { limit, after: None }
    }
}

/// What a stretch of a list holds. A store may stop early to bound its work, so only the
/// absence of `next` says that the list is at its end.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<Item, Cursor> {
    pub items: Vec<Item>,
    pub next: Option<Cursor>,
}

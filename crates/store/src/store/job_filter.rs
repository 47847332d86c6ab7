//! Which jobs are meant.

use std::fmt;

use serde::{Deserialize, Serialize};
use steadfast_core::{
    BatchId, BatchJobFilter, Destination, EndReason, FailureClass, FailureFingerprint, Job,
    JobLabel, JobState, Kind, Queue, ScheduleId, Tenant, Timestamp, explain::whole_second,
};

/// Which jobs are meant. `None` matches all; what is given must all hold.
///
/// Callers build it with `..JobFilter::default()`, so it is not `#[non_exhaustive]`, which
/// forbids that.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
// A field that this version does not know narrows what is meant: it must not be passed over.
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct JobFilter {
    /// Jobs of this tenant.
    pub tenant: Option<Tenant>,
    /// Jobs of this queue.
    pub queue: Option<Queue>,
    /// Jobs of this kind.
    pub kind: Option<Kind>,
    /// Jobs of any kind but this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_kind: Option<Kind>,
    /// Jobs with this label now.
    pub label: Option<JobLabel>,
    /// Runs of this schedule.
    pub schedule: Option<ScheduleId>,
    /// Jobs that call this destination.
    // Left out where it is not given, so that nodes of the version before can read what is stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination: Option<Destination>,
    /// Jobs that are counted in this batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<BatchId>,
    /// Created at this time or later.
    pub created_from: Option<Timestamp>,
    /// Created before this time.
    pub created_before: Option<Timestamp>,
    /// Ended `failed` at this time or later.
    pub failed_from: Option<Timestamp>,
    /// Ended `failed` before this time.
    pub failed_before: Option<Timestamp>,
    /// Part of the newest failure's message, in upper or lower case.
    pub failure_text: Option<String>,
    /// The class of the newest failure.
    pub failure_class: Option<FailureClass>,
    /// The HTTP status of the newest failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_status: Option<u16>,
    /// The fingerprint of the newest failure.
    pub fingerprint: Option<FailureFingerprint>,
    /// Why the job ended.
    pub reason: Option<EndReason>,
    /// With all of these tags, each written `name:value`.
    pub tags: Vec<String>,
    /// Only dead letters: failed, and not resolved.
    pub dead_letters: bool,
    /// Only jobs that have not ended.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unfinished: bool,
    /// Only jobs that have ended without success, or that have ended in any way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<EndedJobs>,
}

/// Jobs that have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndedJobs {
    /// All of them.
    All,
    /// Failed and cancelled ones.
    WithoutSuccess,
}

impl EndedJobs {
    pub(crate) fn contains(self, state: JobState) -> bool {
        state.is_final() && (self == Self::All || state != JobState::Succeeded)
    }
}

impl JobFilter {
    /// The jobs of a batch that are still stored; those that stand like this, if it is given.
    pub fn of_batch(batch: BatchId, state: Option<BatchJobFilter>) -> Self {
        Self {
            batch: Some(batch),
            label: match state {
                None | Some(BatchJobFilter::Unfinished) => None,
                Some(BatchJobFilter::Succeeded) => Some(JobLabel::Succeeded),
                Some(BatchJobFilter::Failed) => Some(JobLabel::Failed),
                Some(BatchJobFilter::Cancelled) => Some(JobLabel::Cancelled),
            },
            unfinished: state == Some(BatchJobFilter::Unfinished),
            ..Self::default()
        }
    }

    /// All dead letters.
    pub fn dead_letters() -> Self {
        Self {
            dead_letters: true,
            ..Self::default()
        }
    }

    /// Whether only jobs that ended `failed` can match.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) fn wants_failed(&self) -> bool {
        self.dead_letters
            || self.label == Some(JobLabel::Failed)
            || self.failed_from.is_some()
            || self.failed_before.is_some()
    }

    /// Whether only jobs with a failure can match.
    pub(crate) fn wants_failure(&self) -> bool {
        self.failure_text.is_some()
            || self.failure_class.is_some()
            || self.failure_status.is_some()
            || self.fingerprint.is_some()
    }

    /// Whether the filter's tenant, queue and kind are these, as far as it names any.
    pub fn matches_lane(&self, tenant: &Tenant, queue: &Queue, kind: &Kind) -> bool {
        equal_or_any(&self.tenant, tenant)
            && equal_or_any(&self.queue, queue)
            && equal_or_any(&self.kind, kind)
            && self.not_kind.as_ref() != Some(kind)
    }

    /// The reference meaning of the filter; drivers that can ask an index must agree with it.
    pub fn matches(&self, job: &Job, now: Timestamp) -> bool {
        let failure = job.progress.failure.as_ref();
        self.matches_lane(&job.tenant, &job.queue, &job.kind)
            && equal_or_any(&self.label, &job.label(now))
            && self.schedule.is_none_or(|schedule| {
                job.scheduled_run
                    .is_some_and(|run| run.schedule == schedule)
            })
            && self
                .destination
                .as_ref()
                .is_none_or(|destination| job.destination.as_ref() == Some(destination))
            && self.batch.is_none_or(|batch| job.batch() == Some(batch))
            && self.created_from.is_none_or(|from| job.created_at >= from)
            && self
                .created_before
                .is_none_or(|before| job.created_at < before)
            && self.matches_failed_at(job)
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
            && self.failure_status.is_none_or(|status| {
                failure.is_some_and(|failure| failure.http_status == Some(status))
            })
            && self.fingerprint.is_none_or(|fingerprint| {
                failure.is_some_and(|failure| failure.fingerprint == Some(fingerprint))
            })
            && self
                .reason
                .is_none_or(|reason| job.progress.reason == Some(reason))
            && self.tags.iter().all(|tag| job.has_tag(tag))
            && (!self.dead_letters || job.is_dead_letter())
            && !(self.unfinished && job.progress.state.is_final())
            && self.ended.is_none_or(|it| it.contains(job.progress.state))
    }

    fn matches_failed_at(&self, job: &Job) -> bool {
        if self.failed_from.is_none() && self.failed_before.is_none() {
            return true;
        }
        let has_failed = job.progress.state == JobState::Failed;
        job.progress
            .finished_at
            .filter(|_| has_failed)
            .is_some_and(|at| {
                self.failed_from.is_none_or(|from| at >= from)
                    && self.failed_before.is_none_or(|before| at < before)
            })
    }
}

/// What is given, in words; `all` if nothing is.
impl fmt::Display for JobFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn named(name: &str, value: Option<&impl fmt::Display>) -> Option<String> {
            value.map(|value| format!("{name} {value}"))
        }
        let time = |name, at: Option<Timestamp>| named(name, at.map(whole_second).as_ref());
        let text = self.failure_text.as_ref();
        let mut parts = vec![
            self.dead_letters.then(|| "dead letters".to_owned()),
            named("label", self.label.as_ref()),
            named("tenant", self.tenant.as_ref()),
            named("queue", self.queue.as_ref()),
            named("kind", self.kind.as_ref()),
            named("not kind", self.not_kind.as_ref()),
            named("schedule", self.schedule.as_ref()),
            named("destination", self.destination.as_ref()),
            named("batch", self.batch.as_ref()),
            named("failure class", self.failure_class.as_ref()),
            text.map(|text| format!("failure contains {text:?}")),
            named("status", self.failure_status.as_ref()),
            named("fingerprint", self.fingerprint.as_ref()),
            named("reason", self.reason.as_ref()),
            time("created from", self.created_from),
            time("created before", self.created_before),
            time("failed from", self.failed_from),
            time("failed before", self.failed_before),
        ];
        parts.extend(self.tags.iter().map(|tag| named("tag", Some(tag))));
        parts.push(self.unfinished.then(|| "unfinished".to_owned()));
        parts.push(self.ended.map(|ended| match ended {
            EndedJobs::All => "ended".to_owned(),
            EndedJobs::WithoutSuccess => "ended without success".to_owned(),
        }));
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        match parts.is_empty() {
            true => f.write_str("all"),
            false => f.write_str(&parts.join(", ")),
        }
    }
}

fn equal_or_any<T: PartialEq>(wanted: &Option<T>, found: &T) -> bool {
    wanted.as_ref().is_none_or(|wanted| wanted == found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_said_in_words_and_leaves_nothing_out() {
        assert_eq!(JobFilter::default().to_string(), "all");
        let at = Timestamp::from_millis(1_767_225_600_123);
        let filter = JobFilter {
            tenant: Tenant::new("acme").ok(),
            queue: Queue::new("mail").ok(),
            kind: Kind::new("receipt").ok(),
            not_kind: Some(Kind::webhook()),
            label: Some(JobLabel::Failed),
            schedule: "sch_00000000000000000000000001".parse().ok(),
            destination: "https://a.example".parse().ok(),
            batch: "bat_00000000000000000000000001".parse().ok(),
            created_from: Some(at),
            created_before: Some(at),
            failed_from: Some(at),
            failed_before: Some(at),
            failure_text: Some("no disk".to_owned()),
            failure_class: Some(FailureClass::TIMEOUT),
            failure_status: Some(503),
            fingerprint: "0000000000000007".parse().ok(),
            reason: Some(EndReason::Exhausted),
            tags: vec!["order:1".to_owned(), "order:2".to_owned()],
            dead_letters: true,
            unfinished: true,
            ended: Some(EndedJobs::All),
        };
        assert_eq!(
            filter.to_string(),
            "dead letters, label failed, tenant acme, queue mail, kind receipt, not kind webhook, \
             schedule sch_00000000000000000000000001, destination https://a.example, \
             batch bat_00000000000000000000000001, \
             failure class timeout, failure contains \"no disk\", status 503, \
             fingerprint 0000000000000007, reason exhausted, created from 2026-01-01T00:00:00Z, \
             created before 2026-01-01T00:00:00Z, failed from 2026-01-01T00:00:00Z, \
             failed before 2026-01-01T00:00:00Z, tag order:1, tag order:2, unfinished, ended"
        );
    }
}

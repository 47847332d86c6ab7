//! What blocks a job apart from gates: its state, its due time, jobs before it, its endpoint, or that
//! no worker serves it.

use std::time::Duration;

use super::{
    Blocker, BlockerKind, JobSnapshot, PlaceSnapshot, StartFacts, WorkerSnapshot,
    estimate::after_starts,
};
use crate::{
    explain::{self, brief, count_of, thousands, whole_second},
    job::start_deadline::ExpiryAction,
    state::{EndReason, JobLabel},
    values::Timestamp,
};

impl StartFacts<'_> {
    pub(super) fn state(&self, now: Timestamp) -> Blocker {
        let label = self.job.label(now);
        let sentence = match (label, &self.job.progress.worker) {
            (JobLabel::Running, Some(worker)) => format!("It is already running, on {worker}."),
            (JobLabel::Running, None) => "It is already running.".to_owned(),
            (label, _) => format!("It has ended: {label}."),
        };
        let action = match (label, self.job.progress.reason) {
            (_, Some(EndReason::PrerequisiteFailed)) => {
                "Retry its prerequisite first, then this job."
            }
            (JobLabel::Failed | JobLabel::Cancelled, _) => "Retry the job.",
            _ => "",
        };
        Blocker::new(BlockerKind::State, sentence, None, action.to_owned())
    }

    pub(super) fn expired(&self, now: Timestamp) -> Option<Blocker> {
        let deadline = self.job.start_deadline()?;
        if !deadline.is_missed(&self.job.progress, now) {
            return None;
        }
        let end = match deadline.on_expiry() {
            ExpiryAction::Fail => "failed",
            ExpiryAction::Cancel => "cancelled",
        };
        let sentence = format!(
            "Its start deadline {} has passed: it will not start, and ends as {end} shortly.",
            whole_second(deadline.at())
        );
        let action = "Retry the job after it has ended.".to_owned();
        Some(Blocker::new(BlockerKind::Expired, sentence, None, action))
    }

    pub(super) fn run_at(&self, now: Timestamp) -> Option<Blocker> {
        let run_at = self.job.earliest_run_at();
        if run_at <= now {
            return None;
        }
        let (wait, at) = (brief(run_at.since(now)), whole_second(run_at));
        let mut sentence = format!("It is due in {wait}, at {at}.");
        let decision = self.last_attempt.and_then(explain::decision);
        if let Some(decision) = decision {
            sentence.push(' ');
            sentence.push_str(&decision);
        }
        let action = "Run the job now.".to_owned();
        Some(Blocker::new(
            BlockerKind::RunAt,
            sentence,
            Some(run_at),
            action,
        ))
    }

    pub(super) fn endpoint_disabled(&self) -> Option<Blocker> {
        let endpoint = self
            .endpoint
            .as_ref()
            .filter(|endpoint| endpoint.disabled)?;
        let since = endpoint.disabled_at;
        let at = since.map_or(String::new(), |at| format!(" since {}", whole_second(at)));
        let reason = endpoint.disabled_reason.as_ref();
        let reason = reason.map_or(String::new(), |reason| format!(" ({reason})"));
        let id = endpoint.id;
        let sentence = format!(
            "Its endpoint {id} has been disabled{at}{reason}: the delivery is sent when the endpoint is enabled."
        );
        let action = format!("Enable {id}.");
        Some(Blocker {
            since,
            ..Blocker::new(BlockerKind::EndpointDisabled, sentence, None, action)
        })
    }

    pub(super) fn runs_after_job(&self, other: &JobSnapshot, now: Timestamp) -> Blocker {
        let sentence = format!(
            "It waits for {}, which {}.",
            other.job,
            standing(other, now)
        );
        let action = first_job_action(other, now);
        Blocker {
            jobs: vec![other.job],
            ..Blocker::new(BlockerKind::RunsAfter, sentence, None, action)
        }
    }

    pub(super) fn ordered(&self, now: Timestamp) -> Option<Blocker> {
        let before = self.before_in_key.as_ref()?;
        let key = self.job.concurrency_key.as_ref();
        let key = key.map_or(String::new(), |key| format!(" {key}"));
        let sentence = format!(
            "Jobs with key{key} run in order; {} comes first and {}.",
            before.job,
            standing(before, now)
        );
        Some(Blocker {
            jobs: vec![before.job],
            ..Blocker::new(
                BlockerKind::Ordered,
                sentence,
                None,
                first_job_action(before, now),
            )
        })
    }

    pub(super) fn no_worker(&self, now: Timestamp) -> Option<Blocker> {
        if self.workers.live > 0 {
            return None;
        }
        let (kind, queue) = (&self.job.kind, &self.job.queue);
        let seen = match &self.workers.last_seen {
            Some((worker, at)) => {
                let ago = brief(now.since(*at));
                format!("the last one, {worker}, was seen {ago} ago")
            }
            // Those that have long been gone are forgotten.
            None => "none has been seen recently".to_owned(),
        };
        let sentence =
            format!("No live node or worker serves kind {kind} in queue {queue}; {seen}.");
        let action = format!("Start a node or worker for kind {kind} and queue {queue}.");
        Some(Blocker {
            since: self.workers.last_seen.as_ref().map(|(_, at)| *at),
            ..Blocker::new(BlockerKind::NoWorker, sentence, None, action)
        })
    }

    pub(super) fn no_slot(&self) -> Option<Blocker> {
        let WorkerSnapshot { live, full, .. } = self.workers;
        if live == 0 || full < live {
            return None;
        }
        let (kind, queue, tenant) = (&self.job.kind, &self.job.queue, &self.job.tenant);
        let sentence = format!(
            "No node that serves kind {kind} in queue {queue} has a free slot for tenant {tenant}."
        );
        let action = "Cancel calls that hang, start another node, or raise concurrency.";
        let kind = BlockerKind::NoSlot;
        Some(Blocker::new(kind, sentence, None, action.to_owned()))
    }

    pub(super) fn behind(&self, now: Timestamp) -> Option<Blocker> {
        let PlaceSnapshot {
            ahead, at_least, ..
        } = self.place.filter(|place| place.ahead > 0)?;
        let jobs = count_of(
            ahead,
            "due job of its tenant is",
            "due jobs of its tenant are",
        );
        let sentence = match at_least {
            true => format!(
                "At least {} due jobs of its tenant are ahead of it.",
                thousands(ahead)
            ),
            false => format!("{jobs} ahead of it."),
        };
        let action = "Raise its priority or add workers.".to_owned();
        let interval = self
            .starts_per_second
            .filter(|pace| *pace > 0.0)
            .and_then(|pace| Duration::try_from_secs_f64(1.0 / pace).ok());
        Some(Blocker {
            ahead: Some(ahead),
            ahead_at_least: at_least,
            likely: interval.map(|interval| after_starts(now, ahead, interval)),
            ..Blocker::new(BlockerKind::Behind, sentence, None, action)
        })
    }
}

/// For a job whose prerequisites are not known, or have just ended.
pub(super) fn runs_after_others() -> Blocker {
    let sentence = "It waits for other jobs.".to_owned();
    Blocker::new(BlockerKind::RunsAfter, sentence, None, String::new())
}

fn standing(other: &JobSnapshot, now: Timestamp) -> String {
    match other.label {
        JobLabel::Scheduled | JobLabel::Retrying if other.run_at > now => {
            format!(
                "is {}, due in {}",
                other.label,
                brief(other.run_at.since(now))
            )
        }
        JobLabel::Failed => "has failed".to_owned(),
        label => format!("is {label}"),
    }
}

fn first_job_action(other: &JobSnapshot, now: Timestamp) -> String {
    match other.label {
        JobLabel::Running => String::new(),
        _ if other.run_at > now => format!("Run {} now or cancel it.", other.job),
        JobLabel::Failed => format!("Retry {}.", other.job),
        _ => format!("Find out what blocks {}.", other.job),
    }
}

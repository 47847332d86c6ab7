//! At most one such job: what becomes of a request if there is one already.

use super::{
    Job, NewJob,
    unique::{ConflictAction, Debounce, Unique, UniqueScope},
};
use crate::{
    state::JobState,
    values::{Kind, Queue, Timestamp},
};

/// The decision about a request for a unique job.
// Exhaustive on purpose: every store must handle each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UniqueDecision {
    /// There is none: create it.
    Create {
        /// When it is due.
        run_at: Timestamp,
    },
    /// The existing job is returned.
    Keep,
    /// The existing job is returned, with a new time.
    Move {
        /// When it is due.
        run_at: Timestamp,
    },
    /// The existing job gets the payload and policy of the request, and is returned.
    Replace {
        /// When it is due.
        run_at: Timestamp,
    },
    /// The request is refused.
    Reject(UniqueConflict),
}

/// Why a request for a unique job is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UniqueConflict {
    /// There is one already.
    #[error("a job with this unique key already exists")]
    Exists,
    /// There is one already, which runs and so cannot be replaced.
    #[error(
        "the job with this unique key is running and cannot be replaced; wait for it to end, or use \"while\": \"waiting\""
    )]
    Running,
    /// There is one already, of another kind or in another queue, so the payload of the request is
    /// not for it.
    #[error(
        "the job with this unique key is of kind {} in queue {}, and cannot be replaced by one of kind {} in queue {}",
        .existing.0, .existing.1, .requested.0, .requested.1
    )]
    OtherWork {
        /// Kind and queue of the job that there is.
        existing: (Kind, Queue),
        /// Those of the request.
        requested: (Kind, Queue),
    },
}

impl Unique {
    /// Whether a job of this key forbids another one to wait. `existing` is as for
    /// [`decide`](Self::decide).
    pub fn is_taken_by(&self, existing: &Job) -> bool {
        match existing.progress.state {
            JobState::Waiting => true,
            JobState::Running => self.scope == UniqueScope::Unfinished,
            JobState::Succeeded | JobState::Failed | JobState::Cancelled => false,
        }
    }

    /// Decides what becomes of a request. `existing` is the job of this key that has not ended, if
    /// there is one: of several, the one that waits.
    pub fn decide(
        &self,
        existing: Option<&Job>,
        request: &NewJob,
        now: Timestamp,
    ) -> UniqueDecision {
        let due = request.due(now);
        let debounce = request.extras().and_then(|extras| extras.debounce);
        let create = UniqueDecision::Create {
            run_at: debounce.map_or(due, |debounce| due.max(now.plus(debounce.wait))),
        };
        let Some(job) = existing else { return create };
        match (job.progress.state, self.scope, self.on_conflict) {
            (JobState::Succeeded | JobState::Failed | JobState::Cancelled, ..) => create,
            (JobState::Running, UniqueScope::Waiting, _) => create,
            (_, _, ConflictAction::Reject) => UniqueDecision::Reject(UniqueConflict::Exists),
            (_, _, ConflictAction::Replace)
                if (&job.kind, &job.queue) != (&request.kind, &request.queue) =>
            {
                UniqueDecision::Reject(UniqueConflict::OtherWork {
                    existing: (job.kind.clone(), job.queue.clone()),
                    requested: (request.kind.clone(), request.queue.clone()),
                })
            }
            (JobState::Running, UniqueScope::Unfinished, ConflictAction::Keep) => {
                UniqueDecision::Keep
            }
            (JobState::Running, UniqueScope::Unfinished, ConflictAction::Replace) => {
                UniqueDecision::Reject(UniqueConflict::Running)
            }
            (JobState::Waiting, _, ConflictAction::Keep) => {
                match debounce.and_then(|debounce| debounce.moved(job, now)) {
                    Some(run_at) => UniqueDecision::Move { run_at },
                    None => UniqueDecision::Keep,
                }
            }
            (JobState::Waiting, _, ConflictAction::Replace) => {
                let moved = debounce.and_then(|debounce| debounce.moved(job, now));
                let run_at = moved.unwrap_or(due);
                UniqueDecision::Replace { run_at }
            }
        }
    }
}

impl Debounce {
    /// When a job that waits is due after another request; `None` if it keeps its time, because it
    /// has started before and waits for a retry, or for the end of a snooze.
    fn moved(self, job: &Job, now: Timestamp) -> Option<Timestamp> {
        let latest = job.created_at.plus(self.wait_max);
        let has_started = job.progress.is_retry() || job.progress.snoozes > 0;
        (!has_started).then(|| now.plus(self.wait).min(latest))
    }
}

#[cfg(test)]
mod tests {
    use std::{fmt::Write as _, sync::Arc, time::Duration};

    use super::*;
    use crate::{
        job::{NewJobExtras, RunAt},
        limits,
        policy::Preset,
        values::{JobId, Payload, UniqueKey},
    };

    const T0: Timestamp = Timestamp::from_millis(1_767_225_600_000);
    const SECOND: Duration = Duration::from_secs(1);

    fn request(debounce: Option<Debounce>) -> NewJob {
        let policy = Arc::new(Preset::Http.policy());
        let kind = Kind::new("report").unwrap();
        let new = NewJob::new(JobId::from_bits(1), kind, Payload::default(), policy);
        new.with_extras(NewJobExtras {
            debounce,
            ..NewJobExtras::default()
        })
    }

    fn job(state: JobState) -> Job {
        let mut job = request(None).into_job(T0);
        job.progress.state = state;
        job
    }

    fn unique(scope: UniqueScope, on_conflict: ConflictAction) -> Unique {
        let key = UniqueKey::new("report:7").unwrap();
        Unique {
            key,
            scope,
            on_conflict,
        }
    }

    #[test]
    fn what_becomes_of_a_second_request_is_in_this_table() {
        let mut table = String::new();
        for scope in UniqueScope::ALL {
            for action in ConflictAction::ALL {
                for state in JobState::ALL {
                    let now = T0.plus(5 * SECOND);
                    let unique = unique(*scope, *action);
                    let decision = unique.decide(Some(&job(*state)), &request(None), now);
                    let decision = match decision {
                        UniqueDecision::Reject(conflict) => format!("refused: {conflict}"),
                        other => format!("{other:?}")
                            .split(' ')
                            .next()
                            .unwrap()
                            .to_lowercase(),
                    };
                    writeln!(table, "while {scope}, {action}, {state}: {decision}").unwrap();
                }
            }
        }
        insta::assert_snapshot!(table);
    }

    #[test]
    fn a_job_is_not_replaced_by_one_of_another_kind_or_queue() {
        let mut other_kind = request(None);
        other_kind.kind = Kind::new("mail").unwrap();
        let mut other_queue = request(None);
        other_queue.queue = Queue::new("slow").unwrap();
        let replace = unique(UniqueScope::Unfinished, ConflictAction::Replace);
        let waiting = job(JobState::Waiting);
        let refusals = [&other_kind, &other_queue].map(|request| {
            match replace.decide(Some(&waiting), request, T0) {
                UniqueDecision::Reject(conflict) => conflict.to_string(),
                other => panic!("{other:?}"),
            }
        });
        insta::assert_snapshot!(refusals.join("\n"));
        let keep = unique(UniqueScope::Unfinished, ConflictAction::Keep);
        let kept = keep.decide(Some(&waiting), &other_kind, T0);
        assert_eq!(kept, UniqueDecision::Keep);
    }

    #[test]
    fn requests_move_the_start_until_the_longest_wait_is_over() {
        let unique = unique(UniqueScope::Waiting, ConflictAction::Replace);
        let debounce = Debounce::new(10 * SECOND, Some(25 * SECOND), Some(&unique), RunAt::Now);
        let debounced = request(Some(debounce.unwrap()));
        let first = unique.decide(None, &debounced, T0);
        assert_eq!(
            first,
            UniqueDecision::Create {
                run_at: T0.plus(10 * SECOND)
            }
        );
        let after = |secs: u32| {
            let now = T0.plus(secs * SECOND);
            unique.decide(Some(&job(JobState::Waiting)), &debounced, now)
        };
        let replace = |secs: u32| UniqueDecision::Replace {
            run_at: T0.plus(secs * SECOND),
        };
        assert_eq!(
            [after(9), after(14), after(20), after(60)],
            [19, 24, 25, 25].map(replace)
        );
        // A retry keeps its time, and so does one that was snoozed.
        let mut retrying = job(JobState::Waiting);
        retrying.progress.attempt = 1;
        let mut snoozed = job(JobState::Waiting);
        snoozed.progress.snoozes = 1;
        let keep = Unique {
            on_conflict: ConflictAction::Keep,
            ..unique
        };
        for started in [&retrying, &snoozed] {
            let decision = keep.decide(Some(started), &debounced, T0);
            assert_eq!(decision, UniqueDecision::Keep);
        }
    }

    #[test]
    fn a_debounce_that_makes_no_sense_is_refused() {
        let keep = unique(UniqueScope::Waiting, ConflictAction::Keep);
        let reject = unique(UniqueScope::Waiting, ConflictAction::Reject);
        let error_at = |wait, most, unique, run_at| {
            let debounce = Debounce::new(wait, most, unique, run_at);
            debounce.unwrap_err().to_string()
        };
        let error = |wait, most, unique| error_at(wait, most, unique, RunAt::Now);
        let errors = [
            error(SECOND, None, None),
            error(SECOND, None, Some(&reject)),
            error(Duration::ZERO, None, Some(&keep)),
            error(60 * SECOND, Some(30 * SECOND), Some(&keep)),
            error(2 * limits::DAY, None, Some(&keep)),
            error(SECOND, Some(2 * limits::DAY), Some(&keep)),
            error_at(SECOND, None, Some(&keep), RunAt::After(60 * SECOND)),
            error_at(SECOND, None, Some(&keep), RunAt::At(T0)),
        ];
        insta::assert_snapshot!(errors.join("\n"));
        let parse = |text| {
            serde_json::from_str::<Unique>(text)
                .unwrap_err()
                .to_string()
        };
        assert!(parse(r#"{"key": ""}"#).starts_with("unique.key is \"\""));
        assert!(parse(r#"{"key": "a", "until": "ended"}"#).contains("unknown field `until`"));
    }
}

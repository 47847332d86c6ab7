//! News of jobs, for whoever wants to know: sent after the commit, never before.

use std::time::Duration;

use steadfast_core::{
    Ended, Failure, JobId, Kind, Queue, Reason, State, Tenant, Timestamp, Transition,
};
use tokio::sync::broadcast;

use crate::limits;

/// Something that happened to a job, durably.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    pub job: JobId,
    pub tenant: Tenant,
    pub queue: Queue,
    pub kind: Kind,
    pub attempt: u32,
    pub event: Event,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// An attempt has begun; `late` is how long after `runAt`.
    Started {
        late: Duration,
    },
    Succeeded {
        took: Duration,
    },
    Retrying {
        failure: Failure,
        next_run_at: Timestamp,
    },
    Snoozed {
        next_run_at: Timestamp,
    },
    Released,
    Failed {
        reason: Option<Reason>,
        failure: Option<Failure>,
    },
    Cancelled,
    /// A result came too late: the claim did not hold any more.
    FenceLost,
}

/// The engine's end of the news.
pub struct Announcer(broadcast::Sender<Notice>);

impl Default for Announcer {
    fn default() -> Self {
        Self(broadcast::Sender::new(limits::NOTICES_MAX))
    }
}

impl Announcer {
    pub fn subscribe(&self) -> Notices {
        Notices(self.0.subscribe())
    }

    pub fn has_listeners(&self) -> bool {
        self.0.receiver_count() > 0
    }

    /// Builds the notice only if somebody listens.
    pub fn announce(&self, notice: impl FnOnce() -> Notice) {
        if self.has_listeners() {
            // A send fails only when the last listener has just gone.
            let _gone = self.0.send(notice());
        }
    }
}

/// A subscriber's end of the news.
pub struct Notices(broadcast::Receiver<Notice>);

impl Notices {
    /// The next notice; `None` once the engine has stopped. A subscriber that fell far behind
    /// goes on with the oldest notice that is still there.
    pub async fn next(&mut self) -> Option<Notice> {
        loop {
            match self.0.recv().await {
                Ok(notice) => return Some(notice),
                Err(broadcast::error::RecvError::Lagged(missed)) => {
                    tracing::warn!(missed, "a subscriber fell behind and missed notices");
                }
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }
}

pub fn of(ended: &Ended, event: Event) -> Notice {
    let job = ended.job();
    Notice {
        job: job.id,
        tenant: job.tenant.clone(),
        queue: job.queue.clone(),
        kind: job.kind.clone(),
        attempt: job.progress.attempt,
        event,
    }
}

impl Event {
    /// Nothing follows this: the job has ended.
    pub fn is_final(&self) -> bool {
        matches!(
            self,
            Self::Succeeded { .. } | Self::Failed { .. } | Self::Cancelled
        )
    }

    pub(crate) fn of(ended: &Ended, transition: &Transition) -> Self {
        let to = &transition.to;
        let next_run_at = to.run_at;
        let failure = transition
            .record
            .as_ref()
            .and_then(|record| record.failure.clone());
        match (to.state, failure) {
            (State::Succeeded, _) => Self::Succeeded {
                took: to.finished_at.map_or(Duration::ZERO, |end| {
                    end.since(ended.job().progress.started_at.unwrap_or(end))
                }),
            },
            (State::Failed, failure) => Self::Failed {
                reason: to.reason,
                failure,
            },
            (State::Cancelled, _) => Self::Cancelled,
            (_, Some(failure)) => Self::Retrying {
                failure,
                next_run_at,
            },
            (_, None) if to.snoozes > ended.job().progress.snoozes => Self::Snoozed { next_run_at },
            (_, None) => Self::Released,
        }
    }
}

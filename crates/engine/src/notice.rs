//! Notices of what happens to jobs: sent after the commit, never before.
//!
//! Those of other nodes only reach subscribers that asked for them, and no observer: nothing is
//! counted twice, and nothing is decided by them. The role `event_feed` brings them.

pub mod feed_batch;

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use steadfast_core::{
    Attempt, AttemptStatus, ConfirmAnswer, EndReason, EndedAttempt, Failure, FailureClass, Job,
    JobId, JobState, Kind, Queue, Tenant, Timestamp, Transition,
};
use tokio::{
    sync::{Notify, broadcast},
    time::Instant,
};

use crate::{limits, notice::feed_batch::FeedBatch};

/// Something that happened to a job, durably.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Notice {
    /// The job.
    pub job: JobId,
    /// The owner of the job.
    pub tenant: Tenant,
    /// The queue of the job.
    pub queue: Queue,
    /// The kind of the job.
    pub kind: Kind,
    /// The attempt that it is about, numbered from 1.
    pub attempt: u32,
    /// How the attempt ended, if this is about its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<AttemptEnd>,
    /// The event.
    pub event: JobEvent,
}

/// The end of an attempt, as its record has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AttemptEnd {
    /// How it ended.
    pub status: AttemptStatus,
    /// How long it ran.
    pub took: Duration,
    /// The class of its failure, if it failed.
    pub class: Option<FailureClass>,
    /// The answer, if it was a question whether the last attempt took effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<ConfirmAnswer>,
}

/// A callback for every notice, called on the thread on which it happens.
pub trait Observer: Send + Sync {
    /// Handles a notice. The engine waits meanwhile, so it must be quick. A panic is caught and
    /// logged.
    fn notice(&self, notice: &Notice);

    /// A commit of the ends of `count` attempts took this long, those included that came too late. The
    /// same holds for it.
    fn committed(&self, _count: usize, _took: Duration) {}
}

/// An event of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum JobEvent {
    /// An attempt has begun.
    Started {
        /// How long after `runAt` it began.
        late: Duration,
        /// The delay before it, if it is a retry.
        backoff: Option<Duration>,
        /// Whether it is a question whether the last attempt took effect.
        #[serde(default)]
        is_question: bool,
    },
    /// The job succeeded.
    Succeeded,
    /// An attempt failed and there will be another.
    Retrying {
        /// Why the attempt failed.
        failure: Failure,
        /// When the next attempt is due.
        next_run_at: Timestamp,
    },
    /// The handler asked to be called later; the attempt does not count.
    Snoozed {
        /// When the next attempt is due.
        next_run_at: Timestamp,
    },
    /// It was asked whether the last attempt took effect, and the job goes on.
    Asked {
        /// The answer.
        answer: ConfirmAnswer,
        /// When the next question or attempt is due.
        next_run_at: Timestamp,
    },
    /// The attempt was given back uncounted; another node may take the job at once.
    Released,
    /// The job has failed for good.
    Failed {
        /// Why there is no further attempt.
        reason: Option<EndReason>,
        /// Why the last attempt failed.
        failure: Option<Failure>,
    },
    /// The job was cancelled.
    Cancelled,
    /// The running attempt has logged something.
    Logged,
    /// A result came too late: the claim had expired.
    FenceLost,
}

/// The engine's end: where notices are sent.
pub struct Announcer {
    sender: broadcast::Sender<Notice>,
    /// Notices of other nodes.
    elsewhere: broadcast::Sender<Notice>,
    /// A subscriber asks for notices of other nodes.
    subscribed: Notify,
    /// Notices of this node for others.
    pub feed: FeedBatch,
    observer: Option<Arc<dyn Observer>>,
}

impl Announcer {
    pub fn new(observer: Option<Arc<dyn Observer>>) -> Self {
        Self {
            sender: broadcast::Sender::new(limits::NOTICES_MAX),
            elsewhere: broadcast::Sender::new(limits::NOTICES_MAX),
            subscribed: Notify::new(),
            feed: FeedBatch::default(),
            observer,
        }
    }

    /// Notices of this node.
    pub fn subscribe(&self) -> Notices {
        Notices {
            here: self.sender.subscribe(),
            elsewhere: None,
        }
    }

    /// Notices of all nodes.
    pub fn subscribe_to_all_nodes(&self) -> Notices {
        let notices = Notices {
            here: self.sender.subscribe(),
            elsewhere: Some(self.elsewhere.subscribe()),
        };
        self.subscribed.notify_one();
        notices
    }

    /// Whether a subscriber wants notices of other nodes.
    pub fn wants_other_nodes(&self) -> bool {
        self.elsewhere.receiver_count() > 0
    }

    /// Returns when a subscriber has asked for notices of other nodes.
    pub async fn subscribed(&self) {
        self.subscribed.notified().await;
    }

    pub fn has_listeners(&self) -> bool {
        self.observer.is_some() || self.sender.receiver_count() > 0 || self.feed.is_open()
    }

    /// Tells the observer about a commit, which took the time since `started`.
    pub fn committed(&self, count: usize, started: Instant) {
        if let Some(observer) = &self.observer {
            let observed = AssertUnwindSafe(|| observer.committed(count, started.elapsed()));
            if std::panic::catch_unwind(observed).is_err() {
                tracing::error!("the observer panicked");
            }
        }
    }

    /// Sends a notice. It is only built if there is a listener.
    pub fn announce(&self, notice: impl FnOnce() -> Notice) {
        if !self.has_listeners() {
            return;
        }
        let notice = notice();
        if let Some(observer) = &self.observer {
            // It is the user's code, and the engine's tasks must outlive it.
            let observed = AssertUnwindSafe(|| observer.notice(&notice));
            if std::panic::catch_unwind(observed).is_err() {
                tracing::error!(jobId = %notice.job, "the observer panicked");
            }
        }
        self.feed.push(&notice);
        // A send fails only when there is no subscriber.
        let _unheard = self.sender.send(notice);
    }

    /// Sends a notice of another node to the subscribers that want it.
    pub fn announce_from_elsewhere(&self, notice: Notice) {
        let _unheard = self.elsewhere.send(notice);
    }
}

/// A subscriber's end: where notices arrive.
pub struct Notices {
    here: broadcast::Receiver<Notice>,
    pub(crate) elsewhere: Option<broadcast::Receiver<Notice>>,
}

impl Notices {
    /// The next notice; `None` once the engine has stopped. A subscriber that fell far behind
    /// goes on with the oldest notice that is still there.
    pub async fn next(&mut self) -> Option<Notice> {
        match &mut self.elsewhere {
            None => receive(&mut self.here).await,
            Some(elsewhere) => tokio::select! {
                notice = receive(&mut self.here) => notice,
                notice = receive(elsewhere) => notice,
            },
        }
    }
}

async fn receive(notices: &mut broadcast::Receiver<Notice>) -> Option<Notice> {
    loop {
        match notices.recv().await {
            Ok(notice) => return Some(notice),
            Err(broadcast::error::RecvError::Lagged(missed)) => {
                tracing::warn!(missed, "a subscriber fell behind and missed notices");
            }
            Err(broadcast::error::RecvError::Closed) => return None,
        }
    }
}

/// The notice of an attempt whose end is committed.
pub fn of(ended: &EndedAttempt, transition: &Transition) -> Notice {
    Notice {
        ended: transition.record.as_ref().map(AttemptEnd::of),
        ..about(ended, JobEvent::of(ended, transition))
    }
}

/// The notice of an attempt whose end changed nothing.
pub fn about(ended: &EndedAttempt, event: JobEvent) -> Notice {
    of_attempt(ended.job(), event)
}

/// The notice of stored lines of a log.
pub fn logged(job: &Job) -> Notice {
    of_attempt(job, JobEvent::Logged)
}

/// The notice of an attempt that runs.
pub fn of_attempt(job: &Job, event: JobEvent) -> Notice {
    Notice {
        job: job.id,
        tenant: job.tenant.clone(),
        queue: job.queue.clone(),
        kind: job.kind.clone(),
        attempt: job.attempt_number(),
        ended: None,
        event,
    }
}

impl AttemptEnd {
    fn of(record: &Attempt) -> Self {
        let failure = record.failure.as_ref();
        Self {
            status: record.status,
            took: record.duration(),
            class: failure.map(|failure| failure.class.clone()),
            answer: record.answer(),
        }
    }
}

impl JobEvent {
    /// Nothing follows this: the job has ended.
    pub fn is_final(&self) -> bool {
        matches!(
            self,
            Self::Succeeded | Self::Failed { .. } | Self::Cancelled
        )
    }

    fn of(ended: &EndedAttempt, transition: &Transition) -> Self {
        let to = &transition.to;
        let next_run_at = to.run_at;
        let record = transition.record.as_ref();
        let failure = record.and_then(|record| record.failure.clone());
        if let Some(answer) = record.and_then(Attempt::answer)
            && to.state == JobState::Waiting
        {
            return Self::Asked {
                answer,
                next_run_at,
            };
        }
        match (to.state, failure) {
            (JobState::Succeeded, _) => Self::Succeeded,
            (JobState::Failed, failure) => Self::Failed {
                reason: to.reason,
                failure,
            },
            (JobState::Cancelled, _) => Self::Cancelled,
            (_, Some(failure)) => Self::Retrying {
                failure,
                next_run_at,
            },
            (_, None) if to.snoozes > ended.job().progress.snoozes => Self::Snoozed { next_run_at },
            (_, None) => Self::Released,
        }
    }
}

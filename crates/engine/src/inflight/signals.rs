//! What passes between a running attempt and the engine: the request to stop, a note on its
//! progress, its log, and jobs to create if it succeeds.

use std::sync::{
    Arc, Mutex, MutexGuard, OnceLock, PoisonError,
    atomic::{AtomicU8, Ordering},
};

use steadfast_core::{
    AttemptLog, Cost, Invalid, Job, LogLine, LogLines, NewJob, Note, TargetQuota, limits,
};
use tokio::sync::Notify;

use crate::{
    notice::{self, Notice},
    traces::AttemptSpan,
};

/// Why a handler should stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[non_exhaustive]
pub enum StopReason {
    /// The job was cancelled.
    Cancelled = 1,
    /// The lease was lost: another node may be running this job, and no result of this
    /// attempt will be accepted.
    LeaseLost = 2,
    /// The node is stopping; what does not end within the grace period is given back.
    Stopping = 3,
}

impl StopReason {
    pub(crate) fn from_number(number: u8) -> Option<Self> {
        [Self::Cancelled, Self::LeaseLost, Self::Stopping]
            .into_iter()
            .find(|reason| *reason as u8 == number)
    }
}

/// The signals of one running attempt.
#[derive(Default)]
pub struct AttemptSignals {
    reason: AtomicU8,
    stop_requested: Notify,
    note: Mutex<Option<Note>>,
    outbox: Mutex<Vec<NewJob>>,
    log: Mutex<UnstoredLog>,
    /// An attempt has logged.
    logged: Arc<Notify>,
    span: OnceLock<AttemptSpan>,
    quota: OnceLock<TargetQuota>,
    usage: Mutex<Option<Cost>>,
}

/// The log of an attempt, and the number of the first line that is not stored.
#[derive(Default)]
struct UnstoredLog {
    log: AttemptLog,
    stored: u64,
    /// Announces that lines were stored.
    notice: Option<Notice>,
}

impl AttemptSignals {
    pub fn new(logged: Arc<Notify>) -> Self {
        Self {
            logged,
            ..Self::default()
        }
    }

    /// Adds a line to the log of the attempt of this job; it is stored soon.
    pub fn log(&self, line: LogLine, job: &Job) {
        let mut log = self.lock_log();
        log.log.push(line);
        log.notice.get_or_insert_with(|| notice::logged(job));
        self.logged.notify_one();
    }

    /// The notice that lines were stored.
    pub fn log_notice(&self) -> Option<Notice> {
        self.lock_log().notice.clone()
    }

    /// The lines that are not stored.
    pub fn unstored_log(&self) -> LogLines {
        let log = self.lock_log();
        log.log.since(log.stored)
    }

    /// The lines before this number are stored.
    pub fn note_stored_log(&self, next: u64) {
        let mut log = self.lock_log();
        log.stored = log.stored.max(next);
    }

    fn lock_log(&self) -> MutexGuard<'_, UnstoredLog> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what the destination says remains of its own limits. The first answer stays.
    pub fn set_quota(&self, quota: TargetQuota) {
        self.quota.get_or_init(|| quota);
    }

    pub fn quota(&self) -> Option<TargetQuota> {
        self.quota.get().copied()
    }

    /// Sets what the attempt has used. The last report counts.
    pub fn set_usage(&self, usage: Cost) {
        *self.usage.lock().unwrap_or_else(PoisonError::into_inner) = Some(usage);
    }

    pub fn usage(&self) -> Option<Cost> {
        let usage = self.usage.lock().unwrap_or_else(PoisonError::into_inner);
        usage.clone()
    }

    pub fn set_span(&self, span: AttemptSpan) {
        self.span.get_or_init(|| span);
    }

    /// The span of the attempt, if it leaves one.
    pub fn span(&self) -> Option<&AttemptSpan> {
        self.span.get()
    }

    pub fn add_to_outbox(&self, job: NewJob) -> Result<(), Invalid> {
        let mut outbox = self.outbox.lock().unwrap_or_else(PoisonError::into_inner);
        if outbox.len() >= limits::OUTBOX_MAX {
            let expected = format!("must be at most {} jobs", limits::OUTBOX_MAX);
            return Err(Invalid::new("outbox", outbox.len() + 1, expected));
        }
        outbox.push(job);
        Ok(())
    }

    pub fn take_outbox(&self) -> Vec<NewJob> {
        std::mem::take(&mut self.outbox.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Tells the attempt to stop. The first reason stays.
    pub fn stop(&self, reason: StopReason) {
        let first =
            self.reason
                .compare_exchange(0, reason as u8, Ordering::SeqCst, Ordering::SeqCst);
        if first.is_ok() {
            self.stop_requested.notify_waiters();
        }
    }

    pub fn stop_reason(&self) -> Option<StopReason> {
        StopReason::from_number(self.reason.load(Ordering::SeqCst))
    }

    pub async fn stopped(&self) -> StopReason {
        loop {
            let stop_requested = self.stop_requested.notified();
            if let Some(reason) = self.stop_reason() {
                return reason;
            }
            stop_requested.await;
        }
    }

    /// Notes how far the attempt has come; what is left out stays.
    pub fn update_note(&self, text: Option<String>, percent: Option<u8>) {
        let mut note = self.lock_note();
        *note = Some(note.take().unwrap_or_default().updated(text, percent));
    }

    pub fn note(&self) -> Option<Note> {
        self.lock_note().clone()
    }

    fn lock_note(&self) -> MutexGuard<'_, Option<Note>> {
        self.note.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

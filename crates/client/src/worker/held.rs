//! The claims that a worker holds: their leases, and what passes between them and their handlers.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime},
};

use steadfast_api::{ClaimBody, CreateJobRequest, JobBody};
use steadfast_core::{AttemptLog, Fence, JobId, LogLevel, LogLine, LogLines, Timestamp};
use tokio::{
    sync::{Notify, watch},
    time::Instant,
};

use crate::{backoff::Backoff, client::Client, limits::REPORT_PAUSE};

/// Why a handler should stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// The worker is stopping; what does not end within the grace period is given back.
    Stopping,
    /// The job was cancelled. The handler is cut off a moment later.
    Cancelled,
    /// The attempt has run for as long as its job's timeout allows. The handler is cut off.
    TimedOut,
    /// The lease was lost: another worker may be running this job, and no result of this attempt
    /// will be accepted. The handler is cut off.
    LeaseLost,
}

/// A job that this worker holds, and the attempt that runs under the claim.
///
/// Leases are counted on this machine's steady clock: the server's times mean nothing on a machine
/// whose clock is wrong.
pub struct HeldClaim {
    pub job: JobBody,
    pub fence: Fence,
    pub lease: Duration,
    /// For what the handler asks for.
    pub client: Client,
    stop: watch::Sender<Option<StopReason>>,
    /// An outcome of the attempt has been given to the settler, which happens once.
    is_ended: AtomicBool,
    state: Mutex<HeldState>,
    changed: Arc<Notify>,
}

struct HeldState {
    lease_end: Instant,
    next_beat: Instant,
    /// When a report may be sent without waiting for the next heartbeat.
    report_from: Instant,
    report: Option<Arc<Report>>,
    failures: Backoff,
    on_success: Vec<CreateJobRequest>,
    log: AttemptLog,
    /// The number of the first line that is not stored.
    log_stored: u64,
    usage: BTreeMap<String, f64>,
}

impl HeldState {
    fn has_news(&self) -> bool {
        self.report.is_some() || self.log.next() > self.log_stored
    }
}

/// How far an attempt has come, as its handler says.
#[derive(Clone, Default)]
pub struct Report {
    pub note: Option<String>,
    pub percent: Option<u8>,
}

impl HeldClaim {
    /// Whether it is no attempt but the question whether the last one took effect.
    pub fn is_question(&self) -> bool {
        self.job.questions.is_some()
    }

    pub fn key(&self) -> (JobId, u32) {
        (self.job.id, self.fence.0)
    }

    /// Sets what the attempt has used.
    pub fn set_usage(&self, usage: BTreeMap<String, f64>) {
        self.state().usage = usage;
    }

    pub fn usage(&self) -> BTreeMap<String, f64> {
        self.state().usage.clone()
    }

    fn state(&self) -> MutexGuard<'_, HeldState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the handler to stop. The first reason stays, but a stop of the worker gives way to
    /// one that is about the job.
    pub fn stop(&self, reason: StopReason) {
        self.stop.send_if_modified(|now| {
            let is_new = matches!(now, None | Some(StopReason::Stopping)) && *now != Some(reason);
            if is_new {
                *now = Some(reason);
            }
            is_new
        });
    }

    pub fn stop_reason(&self) -> Option<StopReason> {
        *self.stop.borrow()
    }

    pub async fn stopped(&self) -> StopReason {
        self.stopped_by(|_| true).await
    }

    /// Returns when there is a reason of this sort.
    pub async fn stopped_by(&self, is_wanted: impl Fn(StopReason) -> bool) -> StopReason {
        let mut receiver = self.stop.subscribe();
        let reason = receiver
            .wait_for(|reason| reason.is_some_and(&is_wanted))
            .await;
        match reason.map(|reason| *reason) {
            Ok(Some(reason)) => reason,
            // The sender is part of this claim, so it is there.
            _ => std::future::pending().await,
        }
    }

    /// Whether this is the first outcome of the attempt.
    pub fn end(&self) -> bool {
        !self.is_ended.swap(true, Ordering::AcqRel)
    }

    pub fn is_ended(&self) -> bool {
        self.is_ended.load(Ordering::Acquire)
    }

    pub fn lease_end(&self) -> Instant {
        self.state().lease_end
    }

    /// The lease runs from this moment on.
    pub fn renew(&self, from: Instant) {
        let mut state = self.state();
        state.lease_end = from + self.lease;
        state.next_beat = from + self.lease / 3;
        state.report_from = from + REPORT_PAUSE;
        state.failures.reset();
    }

    /// Plans the next heartbeat after one that did not renew the lease.
    pub fn beat_again(&self, now: Instant) {
        let mut state = self.state();
        let pause = state.failures.next().min(self.lease / 6);
        state.next_beat = now + pause;
        state.report_from = now + pause;
    }

    /// When the next heartbeat is due.
    pub fn beat_at(&self) -> Instant {
        let state = self.state();
        match state.has_news() {
            true => state.next_beat.min(state.report_from),
            false => state.next_beat,
        }
    }

    /// Keeps what a handler reports for the next heartbeat, beside what is not yet sent.
    pub fn report(&self, change: impl FnOnce(&mut Report)) {
        let mut state = self.state();
        let mut report = state.report.as_deref().cloned().unwrap_or_default();
        change(&mut report);
        state.report = Some(Arc::new(report));
        drop(state);
        self.changed.notify_one();
    }

    pub fn unsent_report(&self) -> Option<Arc<Report>> {
        self.state().report.clone()
    }

    /// A report has been sent; one that came meanwhile stays.
    pub fn drop_report(&self, sent: Option<&Arc<Report>>) {
        let mut state = self.state();
        let is_same = state
            .report
            .as_ref()
            .zip(sent)
            .is_some_and(|(now, sent)| Arc::ptr_eq(now, sent));
        if is_same {
            state.report = None;
        }
    }

    /// Adds a line to the log, for the next heartbeat.
    #[expect(
        clippy::disallowed_methods,
        reason = "a line has the time of the machine that wrote it, and decides nothing"
    )]
    pub fn log(&self, level: LogLevel, text: String) {
        let at = Timestamp::from(SystemTime::now());
        self.state().log.push(LogLine { at, level, text });
        self.changed.notify_one();
    }

    /// The lines that are not stored; `None` if all are.
    pub fn unsent_log(&self) -> Option<LogLines> {
        let state = self.state();
        let lines = state.log.since(state.log_stored);
        (!lines.lines.is_empty()).then_some(lines)
    }

    /// The lines before this number are stored.
    pub fn drop_log(&self, next: u64) {
        let mut state = self.state();
        state.log_stored = state.log_stored.max(next);
    }

    /// Leaves out the lines so far: the server refuses a request with them.
    pub fn leave_out_log(&self) {
        let mut state = self.state();
        state.log_stored = state.log.next();
    }

    /// Adds a job to those that are made with the success, and says how many they are.
    pub fn add_on_success(&self, request: CreateJobRequest) -> usize {
        let mut state = self.state();
        state.on_success.push(request);
        state.on_success.len()
    }

    pub fn take_on_success(&self) -> Vec<CreateJobRequest> {
        std::mem::take(&mut self.state().on_success)
    }
}

/// The claims that are neither settled nor lost.
#[derive(Default)]
pub struct HeldClaims {
    claims: Mutex<HashMap<(JobId, u32), Arc<HeldClaim>>>,
    changed: Arc<Notify>,
}

impl HeldClaims {
    /// A claim that was answered at this moment. It is held once it is added.
    pub fn claim(
        &self,
        claim: ClaimBody,
        lease: Option<Duration>,
        client: &Client,
        received: Instant,
    ) -> Arc<HeldClaim> {
        let lease = lease.unwrap_or(Duration::from_millis(claim.job.lease_ms));
        Arc::new(HeldClaim {
            job: claim.job,
            fence: claim.fence,
            lease,
            client: client.clone(),
            stop: watch::Sender::new(None),
            is_ended: AtomicBool::new(false),
            state: Mutex::new(HeldState {
                lease_end: received + lease,
                next_beat: received + lease / 3,
                report_from: received,
                report: None,
                failures: Backoff::default(),
                on_success: Vec::new(),
                log: AttemptLog::default(),
                log_stored: 0,
                usage: BTreeMap::new(),
            }),
            changed: self.changed.clone(),
        })
    }

    fn claims(&self) -> MutexGuard<'_, HashMap<(JobId, u32), Arc<HeldClaim>>> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn add(&self, claims: &[Arc<HeldClaim>]) {
        let entries = claims.iter().map(|held| (held.key(), held.clone()));
        self.claims().extend(entries);
        self.changed.notify_one();
    }

    pub fn remove(&self, held: &HeldClaim) {
        self.claims().remove(&held.key());
    }

    pub fn all(&self) -> Vec<Arc<HeldClaim>> {
        self.claims().values().cloned().collect()
    }

    /// Those whose handlers have not ended.
    pub fn unfinished(&self) -> Vec<Arc<HeldClaim>> {
        let mut found = self.all();
        found.retain(|held| !held.is_ended());
        found.sort_by_key(|held| held.key());
        found
    }

    /// Returns when a claim was added or has a report.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }
}

#[cfg(test)]
pub mod tests {
    use steadfast_core::{
        Kind, LogLevel, NewJob, Payload, Preset, Timestamp, WorkerName, limits as core_limits,
    };

    use super::*;

    /// A claim of a job with this number.
    pub fn held_claim(number: u128) -> Arc<HeldClaim> {
        let (kind, policy) = (Kind::new("mail").unwrap(), Preset::Http.policy());
        let id = JobId::from_bits(number);
        let job = NewJob::new(id, kind, Payload::default(), Arc::new(policy));
        let (worker, now) = (WorkerName::new("w").unwrap(), Timestamp::EPOCH);
        let claim = job.into_job(now).claim(worker, None, now);
        let claim = ClaimBody::new(&claim, now);
        let client = Client::builder("http://127.0.0.1:1").build().unwrap();
        HeldClaims::default().claim(claim, None, &client, Instant::now())
    }

    /// Logs as many lines as are kept.
    pub fn log_lines(held: &HeldClaim, text: &str) {
        for _ in 0..core_limits::LOG_LINES_MAX {
            held.log(LogLevel::Error, text.to_owned());
        }
    }
}

//! The attempts that run on this node right now.
//!
//! An attempt is here from its claim until its outcome is committed, so that its lease is
//! renewed for as long as a result may still be written.

pub mod signals;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use steadfast_core::{Claim, Fence, JobId, Timestamp};
use steadfast_store::{NewLogLines, Renewal};
use tokio::sync::Notify;

use crate::{
    inflight::signals::{AttemptSignals, StopReason},
    limits::{CANCEL_POLL, RENEW_EVERY_MAX},
};

/// How often a lease is renewed: three times within its length.
fn renew_every(lease: Duration) -> Duration {
    (lease / 3).min(RENEW_EVERY_MAX)
}

#[derive(Default)]
pub struct Inflight {
    entries: Mutex<Entries>,
    /// An attempt entered with a shorter lease than all before it.
    shorter: Notify,
    /// An attempt has logged.
    logged: Arc<Notify>,
}

#[derive(Default)]
struct Entries {
    by_job: HashMap<JobId, Entry>,
    shortest_lease: Option<Duration>,
}

struct Entry {
    fence: Fence,
    lease: Duration,
    renewed_at: Timestamp,
    signals: Arc<AttemptSignals>,
}

impl Inflight {
    /// An attempt begins.
    pub fn enter(&self, claim: &Claim) -> Arc<AttemptSignals> {
        let progress = &claim.job().progress;
        let renewed_at = progress.started_at.unwrap_or(Timestamp::EPOCH);
        let lease = progress
            .lease_until
            .map_or(claim.job().lease, |until| until.since(renewed_at));
        let signals = Arc::new(AttemptSignals::new(self.logged.clone()));
        let entry = Entry {
            fence: claim.fence(),
            lease,
            renewed_at,
            signals: signals.clone(),
        };
        let mut entries = self.lock();
        let replaced = entries.by_job.insert(claim.job().id, entry);
        // An earlier attempt of this node lost the job, or it could not be claimed again.
        if let Some(replaced) = replaced {
            replaced.signals.stop(StopReason::LeaseLost);
        }
        if entries
            .shortest_lease
            .is_none_or(|shortest| lease < shortest)
        {
            entries.shortest_lease = Some(lease);
            self.shorter.notify_one();
        }
        signals
    }

    /// The attempt is settled. A later claim of the same job stays.
    pub fn leave(&self, job: JobId, fence: Fence) -> Option<Arc<AttemptSignals>> {
        let mut entries = self.lock();
        let held = entries.by_job.get(&job)?;
        if held.fence != fence {
            return None;
        }
        entries.by_job.remove(&job).map(|entry| entry.signals)
    }

    pub fn len(&self) -> usize {
        self.lock().by_job.len()
    }

    /// Tells an attempt to stop, if this fence still holds the job here.
    pub fn stop(&self, job: JobId, fence: Fence, reason: StopReason) {
        let entries = self.lock();
        if let Some(entry) = entries
            .by_job
            .get(&job)
            .filter(|entry| entry.fence == fence)
        {
            entry.signals.stop(reason);
        }
    }

    /// Tells whatever attempt of a job runs here that the job should be cancelled.
    pub fn cancel(&self, job: JobId) {
        if let Some(entry) = self.lock().by_job.get(&job) {
            entry.signals.stop(StopReason::Cancelled);
        }
    }

    /// Tells every attempt to stop.
    pub fn stop_all(&self, reason: StopReason) {
        for entry in self.lock().by_job.values() {
            entry.signals.stop(reason);
        }
    }

    /// Leases that should be renewed now, and how long until the next should be.
    pub fn renewals(&self, now: Timestamp) -> (Vec<Renewal>, Option<Duration>) {
        let mut entries = self.lock();
        let shortest = entries.by_job.values().map(|entry| entry.lease).min();
        entries.shortest_lease = shortest;
        let look_every = shortest.map(|lease| renew_every(lease).min(CANCEL_POLL));
        let margin = look_every.unwrap_or_default() / 2;
        let is_half_over = |entry: &Entry| {
            now < entry.renewed_at || now.since(entry.renewed_at) >= renew_every(entry.lease) / 2
        };
        let is_due = |entry: &Entry| {
            now < entry.renewed_at
                || now.since(entry.renewed_at) + margin >= renew_every(entry.lease)
        };
        // One that is due takes along all that soon will be: they share a transaction.
        let is_any_due = entries.by_job.values().any(is_due);
        let due = entries.by_job.iter();
        let due = due.filter(|(_, entry)| is_any_due && is_half_over(entry));
        let renewals = due
            .map(|(job, entry)| Renewal {
                job: *job,
                fence: entry.fence,
                lease: entry.lease,
                note: entry.signals.note().map(|note| note.to_text()),
                within_timeout: false,
            })
            .collect();
        (renewals, look_every)
    }

    /// Notes a renewal; `None` if the attempt has left meanwhile.
    pub fn renewed(&self, renewal: &Renewal, now: Timestamp) -> Option<Arc<AttemptSignals>> {
        let mut entries = self.lock();
        let entry = entries.by_job.get_mut(&renewal.job)?;
        if entry.fence != renewal.fence {
            return None;
        }
        entry.renewed_at = now;
        Some(entry.signals.clone())
    }

    /// The attempts with lines of a log that are not stored.
    pub fn unstored_logs(&self) -> Vec<(NewLogLines, Arc<AttemptSignals>)> {
        let entries = self.lock();
        let logs = entries.by_job.iter().filter_map(|(job, entry)| {
            let lines = entry.signals.unstored_log();
            let log = NewLogLines {
                job: *job,
                fence: entry.fence,
                lines,
            };
            (!log.lines.lines.is_empty()).then(|| (log, entry.signals.clone()))
        });
        logs.collect()
    }

    /// Returns when an attempt has logged.
    pub async fn logged(&self) {
        self.logged.notified().await;
    }

    /// Returns when a renewal may be due sooner than [`Inflight::renewals`] said.
    pub async fn shorter_lease(&self) {
        self.shorter.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

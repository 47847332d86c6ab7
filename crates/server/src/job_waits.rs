//! Requests that wait for jobs to end, on this node or another.
//!
//! One task serves all of them: it hears of what ends here, and asks the store now and then for
//! what other nodes have ended.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use steadfast_core::JobId;
use steadfast_engine::{Client, ClientError, NodeHandle};
use tokio::{sync::Notify, time::MissedTickBehavior};

use crate::limits;

#[derive(Default)]
pub struct JobWaits {
    waiting: Mutex<HashMap<JobId, WaitEntry>>,
    /// The first request has come.
    began: Notify,
}

#[derive(Default)]
struct WaitEntry {
    ended: Arc<Notify>,
    requests: usize,
}

/// One request that waits. Dropping it ends the wait.
pub struct JobWait<'a> {
    waits: &'a JobWaits,
    job: JobId,
    ended: Arc<Notify>,
}

impl JobWaits {
    /// Begins to wait for a job. What ends after this is not missed.
    pub fn begin(&self, job: JobId) -> JobWait<'_> {
        let mut waiting = self.lock();
        let entry = waiting.entry(job).or_default();
        entry.requests += 1;
        self.began.notify_one();
        JobWait {
            waits: self,
            job,
            ended: entry.ended.clone(),
        }
    }

    /// Wakes the requests whose jobs have ended, until it is dropped.
    pub async fn run(&self, client: &Client, node: &NodeHandle) {
        loop {
            self.began.notified().await;
            let mut notices = node.subscribe();
            let mut check = tokio::time::interval(limits::JOB_WAIT_CHECK_EVERY);
            // A look that takes long is followed by a pause, not by those that it missed.
            check.set_missed_tick_behavior(MissedTickBehavior::Delay);
            while !self.lock().is_empty() {
                tokio::select! {
                    notice = notices.next() => match notice {
                        Some(notice) if notice.event.is_final() => self.wake(notice.job),
                        Some(_) => {}
                        None => return,
                    },
                    _ = check.tick() => {
                        if let Err(error) = self.check(client).await {
                            tracing::warn!(%error, "cannot look for jobs that have ended");
                        }
                    }
                }
            }
        }
    }

    async fn check(&self, client: &Client) -> Result<(), ClientError> {
        let ids: Vec<JobId> = self.lock().keys().copied().collect();
        for some in ids.chunks(limits::JOB_WAITS_READ_AT_ONCE) {
            let jobs = client.jobs_of(some.to_vec()).await?;
            for (id, job) in some.iter().zip(jobs) {
                if job.is_none_or(|job| job.progress.state.is_final()) {
                    self.wake(*id);
                }
            }
        }
        Ok(())
    }

    fn wake(&self, job: JobId) {
        if let Some(entry) = self.lock().get(&job) {
            entry.ended.notify_waiters();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<JobId, WaitEntry>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl JobWait<'_> {
    /// Returns when the job may have ended. A wake-up before this is called is not seen, so the
    /// caller looks at the job after it has made the future and before it awaits it.
    pub fn ended(&self) -> impl Future<Output = ()> + use<> {
        // Made, it takes part in wake-ups.
        self.ended.clone().notified_owned()
    }
}

impl Drop for JobWait<'_> {
    fn drop(&mut self) {
        let mut waiting = self.waits.lock();
        if let Some(entry) = waiting.get_mut(&self.job) {
            entry.requests -= 1;
            if entry.requests == 0 {
                waiting.remove(&self.job);
            }
        }
    }
}

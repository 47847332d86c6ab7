//! Requests that wait for jobs to end, on this node or another.
//!
//! One task serves all of them: it hears of what ends here, and asks the store now and then for
//! what other nodes have ended.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use steadfast_core::{JobId, JobState};
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
                            tracing::warn!(%error, "cannot query ended jobs");
                        }
                    }
                }
            }
        }
    }

    async fn check(&self, client: &Client) -> Result<(), ClientError> {
        let ids: Vec<JobId> = self.lock().keys().copied().collect();
        for some in ids.chunks(limits::JOB_WAITS_READ_AT_ONCE) {
            let states = client.job_states(some.to_vec()).await?;
            for (id, state) in some.iter().zip(states) {
                if state.is_none_or(JobState::is_final) {
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

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};
    use steadfast_core::{Kind, NewJob, Payload, Preset};
    use steadfast_engine::{Context, Engine, JobError, JobKind};
    use steadfast_store::{BaseStore as _, JobStore as _, MemoryStore};

    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Sum {}

    impl JobKind for Sum {
        const KIND: &'static str = "sum";
    }

    async fn add(_: Sum, _: Context) -> Result<u8, JobError> {
        Ok(3)
    }

    #[tokio::test]
    async fn waiting_requests_hear_of_jobs_that_end_on_this_node() {
        let (own, asked) = (
            Arc::new(MemoryStore::default()),
            Arc::new(MemoryStore::default()),
        );
        let payload = Payload::from_json("{}").unwrap();
        let policy = Arc::new(Preset::Queue.policy());
        let kind = Kind::new("sum").unwrap();
        let job = NewJob::new(JobId::new(own.now(), 4), kind, payload, policy);
        // In the store that is asked, it never ends.
        asked.enqueue(vec![job.clone()], None).await.unwrap();
        let asked = Engine::builder(asked).start().unwrap();
        let engine = Engine::builder(own.clone()).handler(add).start().unwrap();
        let waits = JobWaits::default();
        let wait = waits.begin(job.id);
        let ended = wait.ended();
        let (client, node) = (asked.client(), engine.node());
        let create = async {
            own.enqueue(vec![job], None).await.unwrap();
            std::future::pending::<()>().await;
        };
        tokio::select! {
            biased;
            () = waits.run(&client, &node) => panic!("it ended"),
            () = ended => {}
            () = create => {}
        }
    }
}

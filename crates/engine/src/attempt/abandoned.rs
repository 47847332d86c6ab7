//! Attempts without a holder: those that were running when a backup was made.

use std::{sync::Arc, time::Duration};

use steadfast_core::JobLabel;
use steadfast_store::{JobFilter, JobPageRequest, Renewal, Store, StoreError};

use crate::{engine::Engine, limits};

/// Ends every running attempt of a store as lost, as if its lease had expired, and answers how many
/// there were. Its job is retried as its policy says, or ends with `outcome_unknown` if it may run at
/// most once.
///
/// For a store that was restored from a backup, before any node runs on it: the holders of
/// these attempts work with another store.
pub async fn end_running_attempts(store: Arc<dyn Store>) -> Result<usize, StoreError> {
    const OPERATION: &str = "end_running_attempts";
    let parts = Engine::builder(store.clone()).parts();
    let parts = parts.map_err(|error| StoreError::broken(OPERATION, error))?;
    let sweeper = parts.sweeper(Duration::ZERO);
    let running = JobFilter {
        label: Some(JobLabel::Running),
        ..JobFilter::default()
    };
    let mut page = JobPageRequest::first(limits::SWEEP_BATCH_MAX);
    let mut ended = 0;
    loop {
        let listed = store.list_jobs(running.clone(), page).await?;
        let renewals = listed.items.iter().map(|job| Renewal {
            job: job.id,
            fence: job.progress.fence,
            lease: Duration::ZERO,
            note: None,
            within_timeout: false,
        });
        store.renew(renewals.collect()).await?;
        loop {
            match sweeper.sweep().await? {
                0 => break,
                count => ended += count,
            }
        }
        match listed.next {
            Some(next) => page.after = Some(next),
            None => return Ok(ended),
        }
    }
}

#[cfg(test)]
mod tests {
    use steadfast_core::{
        EndReason, Guarantee, JobId, JobState, Kind, NewJob, Payload, Preset, Timestamp, WorkerName,
    };
    use steadfast_store::{ClaimRequest, JobDetail, JobStore as _, ManualClock, MemoryStore};

    use super::*;

    #[tokio::test]
    async fn an_attempt_without_a_holder_is_lost_or_its_outcome_is_unknown() {
        let clock = ManualClock::new(Timestamp::EPOCH);
        let store = MemoryStore::new(Arc::new(clock));
        let new_job = |id: u128, guarantee| {
            let (id, kind) = (JobId::from_bits(id), Kind::new("work").unwrap());
            let policy = Arc::new(Preset::Queue.policy());
            let mut job = NewJob::new(id, kind, Payload::default(), policy);
            job.guarantee = guarantee;
            job
        };
        let jobs = vec![
            new_job(1, Guarantee::AtLeastOnce),
            new_job(2, Guarantee::AtMostOnce),
        ];
        store.enqueue(jobs, None).await.unwrap();
        let request = ClaimRequest::new(WorkerName::new("gone").unwrap(), 10);
        assert_eq!(store.claim(request).await.unwrap().claims.len(), 2);
        let store: Arc<dyn Store> = Arc::new(store);
        assert_eq!(end_running_attempts(store.clone()).await.unwrap(), 2);
        let ids = vec![JobId::from_bits(1), JobId::from_bits(2)];
        let jobs = store.get_jobs(ids, JobDetail::Full).await.unwrap();
        let [retried, unknown] = [&jobs[0], &jobs[1]].map(|job| &job.as_ref().unwrap().progress);
        assert_eq!((retried.state, retried.attempt), (JobState::Waiting, 1));
        assert_eq!(unknown.state, JobState::Failed);
        assert_eq!(unknown.reason, Some(EndReason::OutcomeUnknown));
        assert_eq!(end_running_attempts(store).await.unwrap(), 0);
    }
}

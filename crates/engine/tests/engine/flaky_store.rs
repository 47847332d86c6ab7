//! A store that can be made unavailable, or made to do a thing and lose the answer.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
};

use async_trait::async_trait;
use steadfast_core::{Claim, CommitResult, JobId, JobLabel, Timestamp, Transition};
use steadfast_store::{
    ClaimRequest, ClaimResult, Document, DocumentKind, DocumentPage, JobFilter, JobPageRequest,
    LayeredStore, ManualClock, MemoryStore, QueryStore as _, RenewResult, Renewal, Store,
    StoreError, StoreLayer,
};
use tokio::sync::{Barrier, Notify};

/// The store, with doors for a test. Clones are the same store.
pub type FlakyStore = LayeredStore<FlakyLayer>;

#[derive(Clone, Default)]
pub struct FlakyLayer(Arc<Inner>);

#[derive(Default)]
struct Inner {
    memory: MemoryStore,
    away: AtomicBool,
    lose_answers: AtomicU32,
    lock_due_jobs: AtomicBool,
    call_running_expired: AtomicBool,
    cannot_store: Mutex<Option<JobId>>,
    renewals: AtomicU32,
    renewed: Notify,
    calls: Mutex<HashMap<&'static str, u32>>,
    refused: Mutex<Vec<&'static str>>,
    alert_readers: Mutex<Option<Arc<Barrier>>>,
}

impl FlakyLayer {
    /// Of a store with this clock.
    pub fn on_clock(clock: &ManualClock) -> FlakyStore {
        LayeredStore(Self(Arc::new(Inner {
            memory: MemoryStore::new(Arc::new(clock.clone())),
            ..Inner::default()
        })))
    }

    pub fn set_away(&self, away: bool) {
        self.0.away.store(away, Ordering::SeqCst);
    }

    /// The next commits are written, but their callers get an error.
    pub fn lose_commit_answers(&self, count: u32) {
        self.0.lose_answers.store(count, Ordering::SeqCst);
    }

    /// Due jobs cannot be claimed, as if another session held their rows.
    pub fn lock_due_jobs(&self) {
        self.0.lock_due_jobs.store(true, Ordering::SeqCst);
    }

    /// No outcome of this job can ever be stored.
    pub fn cannot_store(&self, job: JobId) {
        *self.0.cannot_store.lock().unwrap() = Some(job);
    }

    /// Answers that the lease of everything that runs has expired, though it has not.
    pub fn call_running_expired(&self) {
        self.0.call_running_expired.store(true, Ordering::SeqCst);
    }

    /// Waits for this many further renewals.
    pub async fn renewals(&self, count: u32) {
        let wanted = self.0.renewals.load(Ordering::SeqCst) + count;
        loop {
            let renewed = self.0.renewed.notified();
            if self.0.renewals.load(Ordering::SeqCst) >= wanted {
                return;
            }
            renewed.await;
        }
    }

    async fn all_running(&self) -> Result<Vec<Claim>, StoreError> {
        let running = JobFilter {
            label: Some(JobLabel::Running),
            ..JobFilter::default()
        };
        let listed = self
            .0
            .memory
            .list_jobs(running, JobPageRequest::first(100))
            .await?;
        let claims = listed.items.into_iter().map(|job| {
            let fence = job.progress.fence;
            Claim::resume(job, fence).unwrap()
        });
        Ok(claims.collect())
    }

    /// Callers that read the alerts continue when this many have read them.
    pub fn let_alert_readers_meet(&self, count: usize) {
        *self.0.alert_readers.lock().unwrap() = Some(Arc::new(Barrier::new(count)));
    }

    /// How often this verb was called.
    pub fn calls(&self, verb: &str) -> u32 {
        let calls = self.0.calls.lock().unwrap();
        calls.get(verb).copied().unwrap_or_default()
    }

    /// Which verbs were refused, in order.
    pub fn refused(&self) -> Vec<&'static str> {
        self.0.refused.lock().unwrap().clone()
    }

    /// Counts a call, and refuses it while the store is unavailable.
    fn admit(&self, verb: &'static str) -> Result<(), StoreError> {
        *self.0.calls.lock().unwrap().entry(verb).or_default() += 1;
        if self.0.away.load(Ordering::SeqCst) {
            self.0.refused.lock().unwrap().push(verb);
            return Err(StoreError::unavailable(verb, "away for the test"));
        }
        Ok(())
    }
}

#[async_trait]
impl StoreLayer for FlakyLayer {
    fn inner(&self) -> &dyn Store {
        &self.0.memory
    }

    async fn around<T: Send, E: From<StoreError> + Send>(
        &self,
        verb: &'static str,
        call: impl Future<Output = Result<T, E>> + Send,
    ) -> Result<T, E> {
        self.admit(verb)?;
        call.await
    }

    async fn commit(&self, transitions: Vec<Transition>) -> Result<Vec<CommitResult>, StoreError> {
        let cannot = *self.0.cannot_store.lock().unwrap();
        if transitions
            .iter()
            .any(|transition| Some(transition.job) == cannot)
        {
            return Err(StoreError::broken("commit", "it does not fit"));
        }
        let answer = self.inner().commit(transitions).await;
        let lose = |left: u32| left.checked_sub(1);
        match self
            .0
            .lose_answers
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, lose)
        {
            Ok(_) => Err(StoreError::unavailable("commit", "the answer was lost")),
            Err(_) => answer,
        }
    }

    async fn claim(&self, request: ClaimRequest) -> Result<ClaimResult, StoreError> {
        if self.0.lock_due_jobs.load(Ordering::SeqCst) {
            return Ok(ClaimResult {
                claims: Vec::new(),
                next_due: Some(Timestamp::EPOCH),
            });
        }
        self.inner().claim(request).await
    }

    async fn renew(&self, renewals: Vec<Renewal>) -> Result<Vec<RenewResult>, StoreError> {
        let answer = self.inner().renew(renewals).await;
        self.0.renewals.fetch_add(1, Ordering::SeqCst);
        self.0.renewed.notify_waiters();
        answer
    }

    async fn expired_leases(&self, limit: usize) -> Result<Vec<Claim>, StoreError> {
        if self.0.call_running_expired.load(Ordering::SeqCst) {
            return self.all_running().await;
        }
        self.inner().expired_leases(limit).await
    }

    async fn list_documents(
        &self,
        kind: DocumentKind,
        page: DocumentPage,
    ) -> Result<Vec<Document>, StoreError> {
        let read = self.inner().list_documents(kind, page).await;
        let readers = self.0.alert_readers.lock().unwrap().clone();
        if let Some(readers) = readers.filter(|_| kind == DocumentKind::Alert) {
            readers.wait().await;
        }
        read
    }
}

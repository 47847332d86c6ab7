//! A store that can be told to be away, or to do a thing and lose the answer.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
};

use async_trait::async_trait;
use steadfast_core::{
    Attempt, Claim, Job, JobCommand, JobId, JobLabel, NewJob, Payload, Queue, Schedule, ScheduleId,
    StepName, Subscriptions, Tenant, Timestamp, Transition,
};
use steadfast_store::{
    AttemptCursor, AttemptOwner, ClaimRequest, ClaimResult, CommandError, CommitResult, Document,
    DocumentKind, DocumentSaveResult, DueSchedules, EnqueueError, EnqueueResult, FireRequest,
    FireResult, JobFilter, JobPageRequest, LaneStats, MemoryStore, MinuteStats, Page, PageRequest,
    RenewResult, Renewal, ScheduleFilter, ScheduleSaveResult, Store, StoreError, TickRecord,
    Wakeups,
};
use tokio::sync::{Barrier, Notify};

#[derive(Clone, Default)]
pub struct FlakyStore(Arc<Inner>);

#[derive(Default)]
struct Inner {
    memory: MemoryStore,
    away: AtomicBool,
    lose_answers: AtomicU32,
    call_running_expired: AtomicBool,
    cannot_store: Mutex<Option<JobId>>,
    renewals: AtomicU32,
    renewed: Notify,
    asked: Mutex<HashMap<&'static str, u32>>,
    refused: Mutex<Vec<&'static str>>,
    alert_readers: Mutex<Option<Arc<Barrier>>>,
}

impl FlakyStore {
    pub fn set_away(&self, away: bool) {
        self.0.away.store(away, Ordering::SeqCst);
    }

    /// The next commits are written, but their caller does not learn of it.
    pub fn lose_commit_answers(&self, count: u32) {
        self.0.lose_answers.store(count, Ordering::SeqCst);
    }

    /// No outcome of this job can ever be stored.
    pub fn cannot_store(&self, job: JobId) {
        *self.0.cannot_store.lock().unwrap() = Some(job);
    }

    /// Says that the lease of everything that runs has run out, though it has not.
    pub fn call_running_expired(&self) {
        self.0.call_running_expired.store(true, Ordering::SeqCst);
    }

    /// Waits for so many renewals from now on.
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

    /// Whoever reads the alerts goes on when so many have read them.
    pub fn let_alert_readers_meet(&self, count: usize) {
        *self.0.alert_readers.lock().unwrap() = Some(Arc::new(Barrier::new(count)));
    }

    /// How often this verb was asked for.
    pub fn asked(&self, verb: &str) -> u32 {
        let asked = self.0.asked.lock().unwrap();
        asked.get(verb).copied().unwrap_or_default()
    }

    /// Which verbs were refused, in order.
    pub fn refused(&self) -> Vec<&'static str> {
        self.0.refused.lock().unwrap().clone()
    }

    fn ask(&self, verb: &'static str) -> Result<&MemoryStore, StoreError> {
        *self.0.asked.lock().unwrap().entry(verb).or_default() += 1;
        if self.0.away.load(Ordering::SeqCst) {
            self.0.refused.lock().unwrap().push(verb);
            return Err(StoreError::Unavailable("away for the test".to_owned()));
        }
        Ok(&self.0.memory)
    }
}

macro_rules! through {
    ($($verb:ident($($name:ident: $type:ty),*) -> $answer:ty;)+) => {
        #[async_trait]
        impl Store for FlakyStore {
            fn now(&self) -> Timestamp {
                self.0.memory.now()
            }

            fn wakeups(&self) -> Wakeups {
                self.0.memory.wakeups()
            }

            async fn enqueue(&self, jobs: Vec<NewJob>) -> Result<Vec<EnqueueResult>, EnqueueError> {
                self.ask("enqueue")?.enqueue(jobs).await
            }

            async fn commit(&self, transitions: Vec<Transition>) -> Result<Vec<CommitResult>, StoreError> {
                let cannot = *self.0.cannot_store.lock().unwrap();
                if transitions.iter().any(|transition| Some(transition.job) == cannot) {
                    return Err(StoreError::Broken("it does not fit".to_owned()));
                }
                let answer = self.ask("commit")?.commit(transitions).await;
                let lose = |left: u32| left.checked_sub(1);
                match self.0.lose_answers.fetch_update(Ordering::SeqCst, Ordering::SeqCst, lose) {
                    Ok(_) => Err(StoreError::Unavailable("the answer was lost".to_owned())),
                    Err(_) => answer,
                }
            }

            async fn renew(&self, renewals: Vec<Renewal>) -> Result<Vec<RenewResult>, StoreError> {
                let answer = self.ask("renew")?.renew(renewals).await;
                self.0.renewals.fetch_add(1, Ordering::SeqCst);
                self.0.renewed.notify_waiters();
                answer
            }

            async fn expired_leases(&self, limit: usize) -> Result<Vec<Claim>, StoreError> {
                match self.0.call_running_expired.load(Ordering::SeqCst) {
                    true => self.all_running().await,
                    false => self.ask("expired")?.expired_leases(limit).await,
                }
            }

            async fn list_documents(&self, space: DocumentKind) -> Result<Vec<Document>, StoreError> {
                let read = self.ask("documents")?.list_documents(space).await;
                let readers = self.0.alert_readers.lock().unwrap().clone();
                if let Some(readers) = readers.filter(|_| space == DocumentKind::Alert) {
                    readers.wait().await;
                }
                read
            }

            $(async fn $verb(&self, $($name: $type),*) -> Result<$answer, StoreError> {
                self.ask(stringify!($verb))?.$verb($($name),*).await
            })+
        }
    };
}

through! {
    claim(request: ClaimRequest) -> ClaimResult;
    step_result(job: JobId, step: StepName) -> Option<Payload>;
    save_step(job: JobId, step: StepName, result: Payload) -> Payload;
    run_command(jobs: Vec<JobId>, command: JobCommand, subscriptions: Arc<Subscriptions>) -> Vec<Result<Job, CommandError>>;
    minute_stats(tenant: Option<Tenant>, since: Timestamp) -> Vec<MinuteStats>;
    save_document(document: Document, outbox: Vec<NewJob>) -> DocumentSaveResult;
    delete_document(space: DocumentKind, id: String) -> bool;
    get_jobs(ids: Vec<JobId>) -> Vec<Option<Job>>;
    list_jobs(filter: JobFilter, page: JobPageRequest) -> Page<Job, JobId>;
    count_jobs(filter: JobFilter, most: u64) -> u64;
    list_attempts(of: AttemptOwner, page: PageRequest<AttemptCursor>) -> Page<Attempt, AttemptCursor>;
    lane_stats(since: Timestamp) -> Vec<LaneStats>;
    set_queue_paused(tenant: Tenant, queue: Queue, paused: bool) -> ();
    save_schedule(schedule: Schedule) -> ScheduleSaveResult;
    delete_schedule(id: ScheduleId) -> bool;
    list_schedules(filter: ScheduleFilter, page: PageRequest<ScheduleId>) -> Page<Schedule, ScheduleId>;
    due_schedules(limit: usize) -> DueSchedules;
    fire_schedules(firings: Vec<FireRequest>) -> Vec<FireResult>;
    list_ticks(schedule: ScheduleId, page: PageRequest<Timestamp>) -> Page<TickRecord, Timestamp>;
    prune(ended_before: Timestamp, limit: usize) -> usize;
}

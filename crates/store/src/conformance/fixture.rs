//! What every case starts from: an empty store, a clock that stands still, and short words for
//! the steps of a job's life that a case is not about.

use std::{
    collections::BTreeMap,
    fmt::Debug,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use steadfast_core::{
    Attempt, Claim, Dice, Failure, FailureClass, Gate, GateDefaults, GateId, GateLimits, GateScope,
    Gates, IdempotencyKey, Jitter, Job, JobCommand, JobId, Kind, NewJob, Outcome, Pause, Payload,
    PolicyPatch, Preset, Priority, Queue, RetryPolicy, StepName, Tally, Tenant, Timestamp,
    Transition, WorkerName, after_attempt,
};

use crate::{
    AttemptOwner, ClaimRequest, Clock, CommitResult, Document, DocumentKind, DocumentPage,
    DocumentSaveResult, EnqueueResult, JobDetail, JobFilter, ManualClock, Outbox, Page,
    PageRequest, PruneRequest, Store, StoreError,
};

/// How a driver is made for a test.
#[async_trait]
pub trait Harness: Send + Sync {
    /// A store with nothing in it, whose time is that of the clock.
    async fn fresh(&self, clock: ManualClock) -> Arc<dyn Store>;
}

/// How a driver is opened again.
#[async_trait]
pub trait Durable: Harness {
    /// One more store on the data of the fresh one, which may still be open.
    async fn reopen(&self, clock: ManualClock) -> Arc<dyn Store>;
}

/// What every case starts from.
pub struct Fixture {
    /// An empty store.
    pub store: Arc<dyn Store>,
    /// Its clock, which stands still.
    pub clock: ManualClock,
    ids: AtomicU64,
}

impl Fixture {
    /// A fresh store of the harness, with a clock of its own.
    pub async fn new(harness: &dyn Harness) -> Self {
        let clock = ManualClock::default();
        Self {
            store: harness.fresh(clock.clone()).await,
            clock,
            ids: AtomicU64::new(1),
        }
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// A number that is higher each time, for ids.
    pub(super) fn next_number(&self) -> u64 {
        // The two lowest bits are not part of an id.
        self.ids.fetch_add(1, Ordering::Relaxed) << 2
    }

    pub(super) fn id(&self) -> JobId {
        JobId::new(self.now(), self.next_number())
    }

    /// A job that is due, and is retried three times, ten seconds apart.
    pub(super) fn job(&self) -> NewJob {
        let payload = Payload::from_json(r#"{"to": "me"}"#).unwrap();
        NewJob::new(self.id(), kind("mail"), payload, policy())
    }

    pub(super) fn job_with(&self, change: impl FnOnce(&mut NewJob)) -> NewJob {
        let mut job = self.job();
        change(&mut job);
        job
    }

    /// A job of another queue and policy.
    pub(super) fn job_in(&self, name: &str, policy: Arc<RetryPolicy>) -> NewJob {
        self.job_with(|job| (job.queue, job.policy) = (queue(name), policy))
    }

    pub(super) fn jobs(&self, count: usize) -> Vec<NewJob> {
        (0..count).map(|_| self.job()).collect()
    }

    /// Stores jobs that are all new.
    pub(super) async fn enqueue(&self, jobs: Vec<NewJob>) -> Vec<JobId> {
        let ids: Vec<JobId> = jobs.iter().map(|job| job.id).collect();
        let answers = self.store.enqueue(jobs, None).await.unwrap();
        let created = ids.iter().map(|id| EnqueueResult::Created(*id, self.now()));
        let created: Vec<_> = created.collect();
        assert_eq!(answers, created);
        ids
    }

    pub(super) async fn enqueue_one(&self, job: NewJob) -> JobId {
        self.enqueue(vec![job]).await[0]
    }

    /// Claims from any lane, with each job's own lease.
    pub(super) async fn claim(&self, max: usize) -> Vec<Claim> {
        self.store.claim(request(max)).await.unwrap().claims
    }

    /// Pauses these queues and no others, of a tenant each, by gates that hold from now on.
    pub(super) async fn pause_only(
        &self,
        queues: impl IntoIterator<Item = (&'static str, &'static str)>,
    ) {
        let gates = queues.into_iter().map(|(owner, lane)| Gate {
            id: GateId::new(Some(tenant(owner)), GateScope::Queue, lane).unwrap(),
            limits: GateLimits {
                paused: Some(Pause {
                    by: None,
                    since: self.now(),
                    reason: None,
                    until: None,
                }),
                ..GateLimits::default()
            },
        });
        self.use_gates(&Gates::new(gates, GateDefaults::default()))
            .await;
    }

    /// Stores these gates and this health of destinations, and no others.
    pub(crate) async fn use_gates(&self, gates: &Gates) {
        let set = gates.own().iter().map(|gate| {
            let body = Payload::encode(gate).unwrap();
            ((DocumentKind::Gate, gate.id.to_string()), body)
        });
        let health = gates.healths().map(|(subject, health)| {
            let body = Payload::encode(&**health).unwrap();
            ((DocumentKind::Destination, subject.document_id()), body)
        });
        let mut wanted: BTreeMap<_, _> = set.chain(health).collect();
        for kind in [DocumentKind::Gate, DocumentKind::Destination] {
            let stored = self.store.list_documents(kind, DocumentPage::All);
            for Document { id, revision, .. } in stored.await.unwrap() {
                match wanted.remove(&(kind, id.clone())) {
                    Some(body) => self.store_document(kind, id, body, revision).await,
                    None => {
                        let deleted = self.store.delete_document(kind, id, None, None);
                        assert!(deleted.await.unwrap());
                    }
                }
            }
        }
        for ((kind, id), body) in wanted {
            self.store_document(kind, id, body, 0).await;
        }
        self.store.gates().await.unwrap();
    }

    async fn store_document(&self, kind: DocumentKind, id: String, body: Payload, revision: u64) {
        let document = Document {
            kind,
            id,
            body,
            revision,
        };
        let saved = self.store.save_document(document, Outbox::default());
        assert!(matches!(saved.await.unwrap(), DocumentSaveResult::Done(_)));
    }

    /// Stores a job and claims it; nothing else may be due.
    pub(super) async fn claimed(&self, job: NewJob) -> Claim {
        let id = self.enqueue_one(job).await;
        self.claim_of(id).await
    }

    /// Claims a job that is the only one due.
    pub(super) async fn claim_of(&self, id: JobId) -> Claim {
        let mut claims = self.claim(2).await;
        assert_eq!(ids_of(&claims), [id]);
        claims.remove(0)
    }

    /// A job that is being run, and whose claim the case does not need yet.
    pub(super) async fn running(&self, job: NewJob) -> Job {
        self.claimed(job).await.job().clone()
    }

    /// Takes up the claim of a running job as its holder would.
    pub(super) async fn held(&self, id: JobId) -> Claim {
        held(self.read(id).await)
    }

    /// What follows if the attempt ends now.
    pub(super) fn decide(&self, claim: Claim, outcome: Outcome) -> Transition {
        after_attempt(
            &claim.end(outcome, self.now()),
            &steadfast_core::Subscriptions::default(),
            Dice::new(0),
        )
    }

    pub(super) async fn commit(&self, transition: Transition) -> CommitResult {
        self.store.commit(vec![transition]).await.unwrap()[0]
    }

    /// Ends an attempt and writes what follows.
    pub(super) async fn end(&self, claim: Claim, outcome: Outcome) -> Job {
        let transition = self.decide(claim, outcome);
        let id = transition.job;
        assert_eq!(self.commit(transition).await, CommitResult::Done);
        self.read(id).await
    }

    /// Stores a job that has ended with this outcome of its first attempt.
    pub(super) async fn ended(&self, job: NewJob, outcome: Outcome) -> Job {
        let claim = self.claimed(job).await;
        self.end(claim, outcome).await
    }

    pub(super) async fn command(&self, id: JobId, command: JobCommand) -> Job {
        let mut answers = self
            .store
            .run_command(vec![id], command, Arc::default(), None)
            .await
            .unwrap();
        answers.remove(0).unwrap()
    }

    pub(super) async fn find(&self, id: JobId) -> Option<Job> {
        self.store
            .get_jobs(vec![id], JobDetail::Full)
            .await
            .unwrap()
            .remove(0)
    }

    pub(super) async fn read(&self, id: JobId) -> Job {
        self.find(id).await.unwrap()
    }

    /// The stored result of a step, if it ever succeeded.
    pub(super) async fn step_result(&self, job: JobId, step: StepName) -> Option<Payload> {
        let found = self.store.list_steps(job, Some(step), 9).await.unwrap();
        assert!(found.len() <= 1, "{found:?}");
        found.into_iter().next().map(|(_, result)| result)
    }

    /// Stores the result of a step without a claim, and reads what is stored.
    pub(super) async fn save_step(&self, job: JobId, step: StepName, result: Payload) -> Payload {
        let saved = self.store.save_step(job, None, step, result).await;
        saved.unwrap().stored().unwrap()
    }

    /// Deletes jobs that ended before a time.
    pub(super) async fn prune(&self, ended_before: Timestamp, limit: usize) -> usize {
        let request = PruneRequest::Jobs {
            ended_before,
            limit,
        };
        self.store.prune(request).await.unwrap()
    }

    /// Deletes operations, batches and audit records from before a time.
    pub(super) async fn prune_records(&self, before: Timestamp, limit: usize) -> PrunedRecords {
        let prune = async |request| self.store.prune(request).await.unwrap();
        let ended_before = before;
        let operations = PruneRequest::Operations {
            ended_before,
            limit,
        };
        let batches = PruneRequest::Batches {
            ended_before,
            limit,
        };
        PrunedRecords {
            operations: prune(operations).await,
            batches: prune(batches).await,
            audit: prune(PruneRequest::Audit { before, limit }).await,
        }
    }

    /// Deletes names that no job has, but for so many.
    pub(super) async fn prune_names(&self, keep: usize) -> usize {
        let request = PruneRequest::Names { keep };
        self.store.prune(request).await.unwrap()
    }

    pub(super) async fn count_all(&self) -> u64 {
        let everything = JobFilter::default();
        self.store
            .count_jobs(everything, u64::MAX)
            .await
            .unwrap()
            .count
    }

    /// All attempts, newest first.
    pub(super) async fn attempts(&self, of: AttemptOwner) -> Vec<Attempt> {
        walk(2, async |page| self.store.list_attempts(of, page).await).await
    }

    pub(super) async fn attempts_of(&self, job: JobId) -> Vec<Attempt> {
        self.attempts(AttemptOwner::Job(job)).await
    }

    /// What has been counted in all lanes.
    pub(super) async fn tally(&self) -> Tally {
        let mut sum = Tally::default();
        for lane in self.store.lane_stats(None, self.now()).await.unwrap() {
            sum += lane.total;
        }
        sum
    }
}

/// How many records of each kind were deleted.
pub(super) struct PrunedRecords {
    pub operations: usize,
    pub batches: usize,
    pub audit: usize,
}

/// Everything on a list, met by walking short pages.
pub(super) async fn walk<Item, Cursor: Copy + Ord + Debug>(
    limit: usize,
    list: impl AsyncFn(PageRequest<Cursor>) -> Result<Page<Item, Cursor>, StoreError>,
) -> Vec<Item> {
    let mut page = PageRequest::first(limit);
    let mut met = Vec::new();
    loop {
        let listed = list(page).await.unwrap();
        assert!(listed.items.len() <= limit);
        met.extend(listed.items);
        let Some(next) = listed.next else {
            return met;
        };
        let moves_on = page.after.is_none_or(|after| next < after);
        assert!(moves_on, "from {:?} to {next:?}", page.after);
        page.after = Some(next);
    }
}

pub(super) fn held(job: Job) -> Claim {
    let fence = job.progress.fence;
    Claim::resume(job, fence).unwrap()
}

pub(super) fn ids_of(claims: &[Claim]) -> Vec<JobId> {
    claims.iter().map(|claim| claim.job().id).collect()
}

pub(super) fn request(max: usize) -> ClaimRequest {
    ClaimRequest::new(WorkerName::new("w1").unwrap(), max)
}

pub(super) fn policy() -> Arc<RetryPolicy> {
    let patch = PolicyPatch::preset(Preset::Queue)
        .backoff(steadfast_core::Backoff::Fixed)
        .base_delay(secs(10))
        .jitter(Jitter::None);
    Arc::new(patch.build().unwrap())
}

pub(super) fn success() -> Outcome {
    Outcome::Success { output: None }
}

/// A failure that is retried while there are retries left.
pub(super) fn failure(message: &str) -> Outcome {
    failure_of(FailureClass::CONNECTION, message)
}

/// A failure that makes the job a dead letter at once.
pub(super) fn permanent(message: &str) -> Outcome {
    failure_of(FailureClass::VALIDATION, message)
}

pub(super) fn failure_of(class: FailureClass, message: &str) -> Outcome {
    Outcome::Failure {
        failure: Failure::new(class, message),
        output: None,
    }
}

pub(super) fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

pub(super) const MICRO: Duration = Duration::from_micros(1);

pub(super) fn queue(name: &str) -> Queue {
    Queue::new(name).unwrap()
}

pub(super) fn kind(name: &str) -> Kind {
    Kind::new(name).unwrap()
}

pub(super) fn tenant(name: &str) -> Tenant {
    Tenant::new(name).unwrap()
}

pub(super) fn key(text: &str) -> Option<IdempotencyKey> {
    Some(IdempotencyKey::new(text).unwrap())
}

pub(super) fn step(name: &str) -> StepName {
    StepName::new(name).unwrap()
}

pub(super) fn priority(value: u8) -> Priority {
    Priority::new(value).unwrap()
}

pub(super) fn json(text: &str) -> Payload {
    Payload::from_json(text).unwrap()
}

//! Deliberate defects, each of which the simulation must find, by the invariant it breaks.
//!
//! Each is a layer over a store that works. Most lie below what the history watches: the store
//! then does something else than it reports. Those of the engine lie above it: then the store gets
//! a transition that should never have been decided. One of the counters is in the file.

mod ends;
mod flow;
mod promises;
mod starts;

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use steadfast_core::{
    AuditRecord, Claim, GateId, GateLimits, Gates, Job, JobCommand, JobId, NewBatch, NewJob,
    OperationId, Payload, StepName, Subscriptions, Transition,
};
use steadfast_store::{
    BatchCreateResult, ClaimRequest, ClaimResult, CommandError, CommitResult, EnqueueError,
    EnqueueResult, FireRequest, FireResult, JobFilter, JobPageRequest, LayeredStore,
    OperationChange, OperationStep, Page, PruneRequest, ReleasedDependants, RenewResult, Renewal,
    StartQuery, StartSnapshot, Store, StoreError, StoreLayer,
};

use crate::{Backend, Invariant};

macro_rules! bugs {
    ($($bug:ident breaks $invariant:ident: $sentence:literal,)+) => {
        /// A rule that is broken on purpose.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Bug {
            $(#[doc = $sentence] $bug,)+
        }

        impl Bug {
            pub const ALL: &[Self] = &[$(Self::$bug,)+];

            /// The invariant by which it must be found.
            pub fn breaks(self) -> Invariant {
                match self {
                    $(Self::$bug => Invariant::$invariant,)+
                }
            }

            pub fn sentence(self) -> &'static str {
                match self {
                    $(Self::$bug => $sentence,)+
                }
            }
        }
    };
}

bugs! {
    NotStored breaks JobsStay: "some jobs are acknowledged and not stored",
    DeadLettersPruned breaks JobsStay: "retention takes dead letters",
    AttemptNotCounted breaks AttemptsHaveABudget: "a failed attempt does not count",
    AtMostOnceRetried breaks AtMostOnce: "a lost lease is retried whatever the guarantee",
    RecordDropped breaks OneRecord: "a lost attempt leaves no record",
    RunAtIgnored breaks NotEarly: "claims take what is not due",
    RetryFromStart breaks NotEarly: "the delay counts from the start of the attempt",
    PriorityIgnored breaks PriorityFirst: "the first in line is passed over",
    TickForgotten breaks TicksOnce: "a tick passes without a run",
    TickTwice breaks TicksOnce: "a tick makes two runs",
    SkipForgotten breaks TicksOnce: "skipped ticks are not recorded",
    KeyForgotten breaks OneKeyOneJob: "a key makes two jobs",
    CancelForgotten breaks CancelledStays: "a cancel is acknowledged and not stored",
    CancelNotSeen breaks CancelledStays: "an attempt ends as if it were not cancelled",
    DeadLetterResolved breaks DeadLetters: "what fails is taken for resolved",
    FenceNotCompared breaks FencesHold: "a late result ends the attempt of another",
    StaleIsDone breaks FencesHold: "a late result is acknowledged",
    LostIsHeld breaks FencesHold: "a lost lease is renewed",
    LeaseByWallClock breaks FencesHold: "leases run out by another clock",
    OutboxDropped breaks OutboxWithTransition: "a transition is stored without its deliveries",
    OutboxFirst breaks OutboxWithTransition: "deliveries have a transaction of their own",
    TenantIgnored breaks TenantsApart: "claims take the jobs of any tenant",
    TenantSeesAll breaks TenantsApart: "lists show the jobs of any tenant",
    SettledAgain breaks SettledStays: "some successes are forgotten",
    ClaimedTwice breaks SettledStays: "one claim is given to two",
    StepForgotten breaks StepsOnce: "the result of a step is forgotten",
    QuestionRunsJob breaks QuestionsRunNothing: "a question is forgotten, and the job runs instead",
    ConfirmedAgain breaks QuestionsRunNothing: "a job whose attempt was confirmed waits again",
    NothingExpires breaks AllEnds: "lost leases are not looked after",
    OneTooManyRuns breaks RunningLimited: "a gate lets one more run than it may",
    PaceIgnored breaks RunningLimited: "more calls run at once than a destination was found to take",
    PacePassesGate breaks RunningLimited: "a learned pace replaces the limit that a person set",
    LostNotCounted breaks RunningLimited: "an attempt whose lease has expired does not count",
    RateTooFast breaks StartsLimited: "a rate counts for each of two halves by itself",
    BurstTooLarge breaks StartsLimited: "a burst comes on top of a whole window",
    RetryShareIgnored breaks RetriesLimited: "retries start as they like",
    OrderForgotten breaks OrderKept: "an ordered key is only one at a time",
    RetryLosesPlace breaks OrderKept: "a job that is retried lets those behind it pass",
    PauseIgnored breaks PausesHold: "a paused gate is open",
    PauseWithoutEnd breaks OpenGates: "a pause does not end when it should",
    TokenLost breaks OpenGates: "an attempt that was lost counts for ever",
    DeletedGateHolds breaks OpenGates: "a gate that was deleted still holds",
    HoldIgnored breaks HoldsLetProbesPass: "jobs start although their destination is held",
    WaitNotShared breaks WaitsAreShared: "only the job that was asked to wait does",
    HoldNotRemembered breaks HeldTimeIsFree: "how long a destination was held is forgotten",
    ExplainCountsNothing breaks ExplainAgrees: "explain does not see what runs",
    TenantStarved breaks SharesAreFair: "one tenant goes before all others",
    WeightIgnored breaks SharesAreFair: "all tenants weigh the same",
    UniqueForgotten breaks OneUniqueJob: "some requests for a unique job make another one",
    DebounceWithoutEnd breaks DebounceEnds: "requests postpone a job without limit",
    DeadlineForgotten breaks NotLate: "some jobs start although it is too late",
    LateNotEnded breaks AllEnds: "jobs that are too late are not looked after",
    AfterForgotten breaks AfterOthers: "some jobs do not wait for others",
    FirstReleases breaks AfterOthers: "a job starts after the first of those that it waits for",
    NothingFollows breaks AllEnds: "jobs that wait for others are not released",
    BatchNotCounted breaks OperationsOnce: "a batch and its progress are not stored together",
    JobPassedOver breaks OperationsOnce: "an operation leaves some of its jobs out",
    CallbackTwice breaks CallbacksOnce: "a callback is made once more",
    ClosedTooSoon breaks CallbacksOnce: "a batch that is open ends with the jobs that it has",
    JobOfBatchForgotten breaks BatchesAddUp: "some jobs are not counted in their batch",
    OpenBatchRefuses breaks BatchesAddUp: "an open batch refuses some jobs",
    AuditForgotten breaks OneAuditRecord: "some commands leave no record",
    AuditOfRefused breaks OneAuditRecord: "a command that was refused leaves a record",
    FailureNotCounted breaks FailuresCounted: "some failures are in no group",
    CancelNotCounted breaks CountersAddUp: "some cancelled jobs are not counted",
}

impl Bug {
    /// The store that it shows on. Jobs in memory have no counters beside them.
    pub fn backend(self) -> Backend {
        match self {
            Self::CancelNotCounted => Backend::Sqlite,
            _ => Backend::Memory,
        }
    }

    /// Its change to the file of a store, if it is not a layer above.
    pub fn sql(self) -> Option<&'static str> {
        match self {
            Self::CancelNotCounted => Some(include_str!("planted/cancel_not_counted.sql")),
            _ => None,
        }
    }

    /// Whether it is about gates and shares.
    fn is_of_flow(self) -> bool {
        use Invariant::{
            HoldsLetProbesPass, OpenGates, OrderKept, PausesHold, RetriesLimited, RunningLimited,
            SharesAreFair, StartsLimited, WaitsAreShared,
        };
        matches!(
            self.breaks(),
            HoldsLetProbesPass
                | WaitsAreShared
                | OpenGates
                | OrderKept
                | PausesHold
                | RetriesLimited
                | RunningLimited
                | SharesAreFair
                | StartsLimited
        )
    }

    /// Whether it shows only where there are gates.
    pub fn needs_gates(self) -> bool {
        self.is_of_flow() || self.needs_holds() || self == Self::ExplainCountsNothing
    }

    /// Whether it shows only where destinations are held that do not work.
    pub fn needs_holds(self) -> bool {
        matches!(self, Self::HoldIgnored | Self::HoldNotRemembered)
    }

    /// Whether it is the engine that errs.
    pub fn is_above(self) -> bool {
        matches!(self, Self::AtMostOnceRetried | Self::SkipForgotten)
    }

    pub fn plant(self, store: Arc<dyn Store>) -> Arc<dyn Store> {
        Arc::new(LayeredStore(BuggyStore {
            inner: store,
            bug: self,
            turns: AtomicU64::new(0),
            gates: Mutex::default(),
        }))
    }
}

struct BuggyStore {
    inner: Arc<dyn Store>,
    bug: Bug,
    turns: AtomicU64,
    /// Gates of earlier claims.
    gates: Mutex<BTreeMap<GateId, GateLimits>>,
}

impl BuggyStore {
    /// True once in `count` calls: a bug that always shows would be found by any test.
    fn every(&self, count: u64) -> bool {
        self.turns.fetch_add(1, Ordering::Relaxed) % count == count - 1
    }

    /// The gates as an engine over this bug sees them.
    fn twist_known(&self, gates: Arc<Gates>) -> Arc<Gates> {
        match self.bug {
            Bug::HoldNotRemembered => Arc::new(flow::forget_holds(&gates)),
            _ => gates,
        }
    }

    /// Some jobs that match.
    async fn some(&self, filter: JobFilter) -> Result<Vec<Job>, StoreError> {
        Ok(self
            .inner
            .list_jobs(filter, JobPageRequest::first(50))
            .await?
            .items)
    }
}

#[async_trait]
impl StoreLayer for BuggyStore {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn enqueue(
        &self,
        jobs: Vec<NewJob>,
        audit: Option<AuditRecord>,
    ) -> Result<Vec<EnqueueResult>, EnqueueError> {
        match audit {
            Some(_) => self.inner.enqueue(jobs, audit).await,
            None => self.enqueue_wrongly(jobs).await,
        }
    }

    async fn claim(&self, request: ClaimRequest) -> Result<ClaimResult, StoreError> {
        self.claim_wrongly(request).await
    }

    async fn renew(&self, renewals: Vec<Renewal>) -> Result<Vec<RenewResult>, StoreError> {
        let until = self.inner.now().plus(std::time::Duration::from_secs(30));
        let answers = self.inner.renew(renewals).await?.into_iter();
        Ok(answers
            .map(|answer| match (answer, self.bug) {
                (RenewResult::Lost, Bug::LostIsHeld) => RenewResult::Held {
                    until,
                    cancel_requested: false,
                },
                _ => answer,
            })
            .collect())
    }

    async fn list_steps(
        &self,
        job: JobId,
        only: Option<StepName>,
        limit: usize,
    ) -> Result<Vec<(StepName, Payload)>, StoreError> {
        let found = self.inner.list_steps(job, only, limit).await?;
        Ok(match self.bug {
            Bug::StepForgotten => Vec::new(),
            _ => found,
        })
    }

    async fn commit(&self, transitions: Vec<Transition>) -> Result<Vec<CommitResult>, StoreError> {
        self.commit_wrongly(transitions).await
    }

    async fn expired_starts(&self, limit: usize) -> Result<Vec<JobId>, StoreError> {
        match self.bug {
            Bug::LateNotEnded => Ok(Vec::new()),
            _ => self.inner.expired_starts(limit).await,
        }
    }

    async fn release_dependants(
        &self,
        limit: usize,
        subscriptions: Arc<Subscriptions>,
    ) -> Result<ReleasedDependants, StoreError> {
        self.follow_wrongly(limit, subscriptions).await
    }

    async fn create_batch(
        &self,
        mut batch: NewBatch,
        unfinished_max: usize,
    ) -> Result<BatchCreateResult, EnqueueError> {
        batch.is_open &= self.bug != Bug::ClosedTooSoon;
        batch.jobs = batch.jobs.into_iter().map(|job| self.forget(job)).collect();
        self.inner.create_batch(batch, unfinished_max).await
    }

    async fn change_operation(
        &self,
        id: OperationId,
        mut step: OperationStep,
    ) -> Result<OperationChange, StoreError> {
        if let OperationStep::Work { batch, .. } = &mut step {
            *batch = self.twist_batch(std::mem::take(batch));
        }
        self.inner.change_operation(id, step).await
    }

    async fn expired_leases(&self, limit: usize) -> Result<Vec<Claim>, StoreError> {
        self.expired_wrongly(limit).await
    }

    async fn run_command(
        &self,
        jobs: Vec<JobId>,
        command: JobCommand,
        subscriptions: Arc<Subscriptions>,
        audit: Option<AuditRecord>,
    ) -> Result<Vec<Result<Job, CommandError>>, StoreError> {
        match audit {
            Some(audit) => {
                self.command_with_wrong_record(jobs, command, subscriptions, audit)
                    .await
            }
            None => self.command_wrongly(jobs, command, subscriptions).await,
        }
    }

    async fn list_jobs(
        &self,
        mut filter: JobFilter,
        page: JobPageRequest,
    ) -> Result<Page<Job, JobId>, StoreError> {
        if self.bug == Bug::TenantSeesAll {
            filter.tenant = None;
        }
        self.inner.list_jobs(filter, page).await
    }

    async fn explain_start(&self, of: StartQuery) -> Result<Option<StartSnapshot>, StoreError> {
        let mut reading = self.inner.explain_start(of).await?;
        if self.bug == Bug::ExplainCountsNothing
            && let Some(reading) = &mut reading
        {
            for gate in &mut reading.gates {
                gate.state.running = 0;
            }
        }
        Ok(reading)
    }

    fn known_gates(&self) -> Option<Arc<Gates>> {
        let gates = self.inner.known_gates()?;
        Some(self.twist_known(gates))
    }

    async fn gates(&self) -> Result<Arc<Gates>, StoreError> {
        Ok(self.twist_known(self.inner.gates().await?))
    }

    async fn fire_schedules(
        &self,
        firings: Vec<FireRequest>,
    ) -> Result<Vec<FireResult>, StoreError> {
        self.fire_wrongly(firings).await
    }

    async fn prune(&self, mut request: PruneRequest) -> Result<usize, StoreError> {
        if self.bug == Bug::DeadLettersPruned
            && let PruneRequest::Jobs { ended_before, .. } = &mut request
        {
            let dead: Vec<JobId> = self
                .some(JobFilter::dead_letters())
                .await?
                .iter()
                .filter(|job| job.progress.finished_at < Some(*ended_before))
                .map(|job| job.id)
                .collect();
            if !dead.is_empty() {
                let discard =
                    self.inner
                        .run_command(dead, JobCommand::Discard, Arc::default(), None);
                discard.await?;
                *ended_before = self.inner.now().plus(std::time::Duration::from_micros(1));
            }
        }
        self.inner.prune(request).await
    }
}

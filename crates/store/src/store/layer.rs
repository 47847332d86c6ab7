//! Stores made of another store and a difference, for tests and the simulator.

use std::{ops::Deref, sync::Arc};

use async_trait::async_trait;
use steadfast_core::{
    Attempt, AuditId, AuditRecord, BatchId, Claim, CommitResult, Destination, FailureGroup,
    FailureKey, FailureMark, Fence, GateId, GateState, Gates, Job, JobCommand, JobId, JobState,
    NewBatch, NewJob, OperationEvent, OperationId, OperationJob, OperationOutcome, Payload,
    Schedule, ScheduleId, StepName, Subscriptions, Tenant, Timestamp, Transition, WorkerName,
};

use super::{
    AttemptCursor, AttemptOwner, AuditFilter, BaseStore, BatchCreateResult, BatchFilter,
    BatchRecord, ClaimRequest, ClaimResult, CounterDifference, Document, DocumentKind,
    DocumentSaveResult, DocumentStore, DocumentVersions, DueMinutes, DueSchedules, EnqueueResult,
    FailureCursor, FailureFilter, FailureStore, FireRequest, FireResult, FollowedLinks, JobCount,
    JobFilter, JobLinks, JobPageRequest, JobStore, LaneMinutesList, LaneStats, LinkStore,
    MinuteStats, OperationBatch, OperationChange, OperationFilter, OperationJobFilter,
    OperationRecord, OperationStore, Outbox, Page, PageRequest, QueryStore, RenewResult, Renewal,
    SaveStepResult, ScheduleCreateResult, ScheduleFilter, ScheduleSaveResult, ScheduleStore,
    StartQuery, StartReading, Store, TickRecord, forward::for_each_verb,
};
use crate::{
    damage::DamagedRows,
    error::{CommandError, EnqueueError, StoreError},
    wake::{WakeInterest, Wakeups},
};

/// A layer as a store.
#[derive(Clone, Debug, Default)]
pub struct LayeredStore<L>(pub L);

impl<L> Deref for LayeredStore<L> {
    type Target = L;

    fn deref(&self) -> &L {
        &self.0
    }
}

impl<L: StoreLayer> BaseStore for LayeredStore<L> {
    fn now(&self) -> Timestamp {
        self.0.inner().now()
    }

    fn wakeups_for(&self, interest: WakeInterest) -> Wakeups {
        self.0.inner().wakeups_for(interest)
    }
}

macro_rules! layer {
    ($($contract:ident {
        $($verb:ident($($name:ident: $type:ty),*) -> $answer:ty;)+
    })+) => {
        /// Does everything as an inner store does it, but for the methods that are overridden.
        /// [`LayeredStore`] makes a store of it.
        #[async_trait]
        pub trait StoreLayer: Send + Sync + 'static {
            /// The store below.
            fn inner(&self) -> &dyn Store;

            /// Every call passes through here, by the name of its verb; an override can refuse
            /// it, delay it or lose its answer.
            async fn around<T: Send, E: From<StoreError> + Send>(
                &self,
                verb: &'static str,
                call: impl Future<Output = Result<T, E>> + Send,
            ) -> Result<T, E> {
                let _ = verb;
                call.await
            }

            $($(
                #[doc = concat!("[`", stringify!($contract), "::", stringify!($verb), "`]")]
                async fn $verb(&self, $($name: $type),*) -> $answer {
                    self.inner().$verb($($name),*).await
                }
            )+)+
        }

        $(#[async_trait]
        impl<L: StoreLayer> $contract for LayeredStore<L> {
            $(async fn $verb(&self, $($name: $type),*) -> $answer {
                let call = StoreLayer::$verb(&self.0, $($name),*);
                self.0.around(stringify!($verb), call).await
            })+
        })+
    };
}

for_each_verb!(layer);

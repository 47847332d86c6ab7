//! Where jobs live.
//!
//! # Layout
//!
//! * `store`: the contracts. [`Store`] is all of them together. Start there.
//! * `verbs`: what is written once for all drivers, over a transaction.
//! * `drivers`: `memory` is the readable reference, `sqlite` is the default (one file, one writer
//!   thread, group commit), `postgres` is for many nodes; `sql` has what the last two share.
//! * `tables`: a store as rows, which are checked and moved to another database.
//! * `claim`: which range of due jobs comes next. `lane`, `minutes`, `failures`: what is counted.
//! * `caller`, `fair_gate`: who asks, and how callers share what there is.
//! * `wake`, `clock`: how waiting callers are woken, and the only clock.
//! * `damage`: corrupt rows that were skipped.
//! * `conformance`: the contracts as tests; every driver runs all of it. `testing` starts a PostgreSQL
//!   server for tests.
//! * [`limits`]: every limit, with its reason.
//!
//! # Features
//!
//! * `sqlite` (default): [`SqliteStore`].
//! * `postgres`: `PostgresStore`.
//! * `conformance`: the suite, for drivers that live elsewhere.
//! * `_testing`: doors for our own tests, without any promise.

#![deny(missing_docs)]

pub mod limits;
mod store;

mod caller;
mod claim;
mod clock;
mod damage;
mod drivers;
mod error;
mod failures;
mod fair_gate;
mod lane;
mod listed_payload;
mod minutes;
mod paging;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod tables;
mod verbs;
mod wake;

#[cfg(feature = "conformance")]
pub mod conformance;
#[cfg(all(feature = "_testing", feature = "postgres"))]
pub mod testing;

pub use caller::StoreCaller;
pub use caller::request::{share_store, wait_outside};
pub use clock::{Clock, ManualClock, SystemClock};
pub use damage::{DamagedRow, DamagedRows};
pub use drivers::memory::MemoryStore;
#[cfg(feature = "postgres")]
pub use drivers::postgres::{PostgresOptions, PostgresStore};
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub use drivers::sql::encryption::{EncryptionKeyError, EncryptionKeys};
#[cfg(feature = "sqlite")]
pub use drivers::sqlite::{CopyError, SqliteCopy, SqliteOptions, SqliteStore};
pub use error::{CommandError, EnqueueError, ErrorSource, OpenError, StoreError};
pub use fair_gate::{Admission, FairGate, QueueFull, TenantPart};
/// The SQLite binding, for transactions of your own.
#[cfg(feature = "sqlite")]
pub use rusqlite;
pub use steadfast_core::CommitResult;
pub use store::{
    Allowance, AttemptCursor, AttemptOwner, AuditFilter, BaseStore, BatchCreateResult, BatchFilter,
    BatchRecord, ClaimLog, ClaimRequest, ClaimResult, CounterDifference, DependencyStore, Document,
    DocumentKind, DocumentPage, DocumentSaveResult, DocumentStore, DocumentVersions, DueMinutes,
    DueSchedule, DueSchedules, EndedJobs, EnqueueResult, FailureCursor, FailureFilter,
    FailureStore, FireRequest, FireResult, GateSettings, JobCount, JobDetail, JobFilter, JobLinks,
    JobPageRequest, JobStore, JobTraces, LaneMinutes, LaneMinutesList, LaneStats, LogStore,
    MinuteStats, NewLogLines, OperationBatch, OperationChange, OperationFilter, OperationJobFilter,
    OperationRecord, OperationStep, OperationStore, Outbox, Page, PageRequest, PoolMetrics,
    PruneRequest, QueryStore, ReleasedDependants, RenewResult, Renewal, SaveStepResult,
    ScheduleFilter, ScheduleSaveResult, ScheduleStore, StartQuery, StartSnapshot, Store,
    StoreMetrics, TickRecord, WaitingMinute,
};
#[cfg(feature = "_testing")]
#[doc(hidden)]
pub use store::{LayeredStore, StoreLayer};
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub use tables::{
    BrokenRows, EncryptionKeyIds, InspectedRows, MoveError, MoveProgress, MoveSide, MovedTable,
    ResealedRows, RowPosition, StoreCheck, StoreMove, TablePage, TableStore, check_tables,
    release_moved,
};
/// The PostgreSQL client, for transactions of your own.
#[cfg(feature = "postgres")]
pub use tokio_postgres;
pub use wake::{WakeInterest, Waker, Wakeups};

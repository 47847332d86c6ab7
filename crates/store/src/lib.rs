//! Where jobs live.
//!
//! # Layout
//!
//! * [`Store`] is the contract, in four parts: [`JobStore`], [`QueryStore`], [`ScheduleStore`]
//!   and [`DocumentStore`]. Start there.
//! * `memory` is the reference: the shortest implementation that passes.
//! * `sqlite` is the default: one file, one writer thread, group commit.
//! * `postgres` is for many nodes: one queue in one database.
//! * `sql`, `due`, `lane`, `minutes`, `failures`: what these share.
//! * `conformance` is the contract as tests; every driver runs all of it.
//! * `testing` starts a PostgreSQL server of its own for tests.
//! * `damage`: rows that cannot be read, and were passed over.
//! * `clock`, `wake`: the only clock, and how waiting fetchers are woken.
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

mod clock;
mod damage;
mod driver;
mod driver_error;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod due;
mod error;
mod failures;
mod lane;
mod links;
mod listed_payload;
mod memory;
mod minutes;
mod paging;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod sql;
#[cfg(feature = "sqlite")]
mod sqlite;
mod transaction;
mod unique;
mod verbs;
mod wake;

#[cfg(feature = "conformance")]
pub mod conformance;
#[cfg(all(feature = "_testing", feature = "postgres"))]
pub mod testing;

pub use clock::{Clock, ManualClock, SystemClock};
pub use damage::{DamagedRow, DamagedRows};
pub use error::{CommandError, EnqueueError, ErrorSource, OpenError, StoreError};
pub use memory::MemoryStore;
#[cfg(feature = "postgres")]
pub use postgres::{PostgresOptions, PostgresStore};
/// The SQLite binding, for transactions of your own.
#[cfg(feature = "sqlite")]
pub use rusqlite;
#[cfg(feature = "sqlite")]
pub use sqlite::{SqliteOptions, SqliteStore};
pub use steadfast_core::CommitResult;
pub use store::{
    Allowance, AttemptCursor, AttemptOwner, AuditFilter, BaseStore, BatchCreateResult, BatchFilter,
    BatchRecord, ClaimRequest, ClaimResult, CounterDifference, Document, DocumentKind,
    DocumentSaveResult, DocumentStore, DocumentVersions, DueMinutes, DueSchedule, DueSchedules,
    EnqueueResult, FailureCursor, FailureFilter, FireRequest, FireResult, FollowedLinks, JobCount,
    JobFilter, JobLinks, JobPageRequest, JobStore, LaneMinutes, LaneMinutesList, LaneStats,
    LinkStore, MinuteStats, OperationBatch, OperationChange, OperationFilter, OperationJobFilter,
    OperationRecord, OperationStore, Outbox, Page, PageRequest, QueryStore, RenewResult, Renewal,
    SaveStepResult, ScheduleCreateResult, ScheduleFilter, ScheduleSaveResult, ScheduleStore,
    StartQuery, StartReading, Store, TickRecord, WaitingMinute,
};
#[cfg(feature = "_testing")]
#[doc(hidden)]
pub use store::{LayeredStore, StoreLayer};
/// The PostgreSQL client, for transactions of your own.
#[cfg(feature = "postgres")]
pub use tokio_postgres;
pub use wake::{WakeInterest, Waker, Wakeups};

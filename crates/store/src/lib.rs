//! Where jobs live.
//!
//! # Layout
//!
//! * [`Store`] is the contract. Start there.
//! * `memory` is the reference: the shortest implementation that passes.
//! * `sqlite` is the default: one file, one writer thread, group commit.
//! * `postgres` is for many nodes: one queue in one database.
//! * [`conformance`] is the contract as tests; every driver runs all of it.
//! * `testing` starts a PostgreSQL server of its own for tests.
//! * `clock`, `wake`: the only clock, and how sleepers are woken.

#[cfg(feature = "conformance")]
pub mod conformance;

mod clock;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod columns;
mod error;
mod filter;
mod memory;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;
mod store;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod template;
#[cfg(all(feature = "conformance", feature = "postgres"))]
pub mod testing;
mod wake;

pub use clock::{Clock, ManualClock, SystemClock};
pub use error::{CommandError, EnqueueError, OpenError, StoreError};
pub use filter::{JobFilter, JobPageRequest, Page, PageRequest};
pub use memory::MemoryStore;
#[cfg(feature = "postgres")]
pub use postgres::{PostgresOptions, PostgresStore};
/// The SQLite binding, for transactions of your own.
#[cfg(feature = "sqlite")]
pub use rusqlite;
#[cfg(feature = "sqlite")]
pub use sqlite::{SqliteOptions, SqliteStore};
pub use store::{
    AttemptCursor, AttemptOwner, ClaimRequest, ClaimResult, CommitResult, Document, DocumentKind,
    DocumentSaveResult, DueSchedule, DueSchedules, EnqueueResult, FireRequest, FireResult,
    LaneStats, MinuteStats, RenewResult, Renewal, ScheduleFilter, ScheduleSaveResult, Store,
    TickRecord,
};
/// The PostgreSQL client, for transactions of your own.
#[cfg(feature = "postgres")]
pub use tokio_postgres;
pub use wake::{Waker, Wakeups};

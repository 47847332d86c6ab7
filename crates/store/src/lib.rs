//! Where jobs live.
//!
//! # Layout
//!
//! * [`Store`] is the contract. Start there.
//! * `memory` is the reference: the shortest implementation that passes.
//! * `sqlite` is the default: one file, one writer thread, group commit.
//! * [`conformance`] is the contract as tests; every driver runs all of it.
//! * `clock`, `wake`: the only clock, and how sleepers are woken.

#[cfg(feature = "conformance")]
pub mod conformance;

mod clock;
mod error;
mod filter;
mod memory;
#[cfg(feature = "sqlite")]
mod sqlite;
mod store;
#[cfg(feature = "sqlite")]
mod template;
mod wake;

pub use clock::{Clock, ManualClock, SystemClock};
pub use error::{CommandError, EnqueueError, OpenError, StoreError};
pub use filter::{JobFilter, JobPage, Listed, Page};
pub use memory::MemoryStore;
/// The SQLite binding, for transactions of your own.
#[cfg(feature = "sqlite")]
pub use rusqlite;
#[cfg(feature = "sqlite")]
pub use sqlite::{SqliteOptions, SqliteStore};
pub use store::{
    AttemptCursor, AttemptsOf, ClaimRequest, Claimed, Committed, Document, DocumentSaved,
    DueSchedule, DueSchedules, Enqueued, Fired, Firing, LaneStats, Minute, Renewal, Renewed, Saved,
    ScheduleFilter, Space, Store, TickRecord,
};
pub use wake::{Waker, Wakeups};

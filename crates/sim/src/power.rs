//! Is anything acknowledged ever lost when the power fails?
//!
//! A test that kills a process proves little: what the process has written is in the hands of the
//! operating system, and arrives. Here a store works on a file system that keeps a log of all that
//! SQLite asks of it; afterwards the power fails after each operation on that log, and everything
//! that can then be left on a disk is opened and read.
//!
//! # Layout
//!
//! * `vfs` is the file system, `log` what it records, and which errors it makes up.
//! * `play` has a store live on it, after the `script`; `world` is what it then holds.
//! * `remains` says what can be left on a disk, `sweep` opens it.

mod crash_images;
mod disk_log;
mod play;
mod script;
mod sweep;
mod vfs;
mod world;

pub use crash_images::CrashCase;
pub use disk_log::{FaultRange, SyncMode};
pub use play::{Play, Recording, Setting};
pub use sweep::{DataLoss, Sweep, SweepReport};
pub use vfs::Disk;

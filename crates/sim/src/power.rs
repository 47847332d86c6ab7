//! Is anything acknowledged ever lost when the power fails?
//!
//! A test that kills a process proves little: what the process has written is in the hands of the
//! operating system, and arrives. Here a store works on a file system that keeps a tape of all that
//! SQLite asks of it; afterwards the power fails after each operation on that tape, and everything
//! that can then be left on a disk is opened and read.
//!
//! # Layout
//!
//! * `vfs` is the file system, `tape` what it records, and which errors it makes up.
//! * `play` has a store live on it, after the `script`; `world` is what it then holds.
//! * `remains` says what can be left on a disk, `sweep` opens it.

mod play;
mod remains;
mod script;
mod sweep;
mod tape;
mod vfs;
mod world;

pub use play::{Play, Recording, Setting};
pub use remains::Left;
pub use sweep::{Lost, Sweep, Swept};
pub use tape::{Syncing, Trouble};
pub use vfs::Disk;

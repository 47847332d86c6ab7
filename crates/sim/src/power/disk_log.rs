//! The log of file operations, in order.

use std::{
    collections::HashMap,
    ffi::c_int,
    sync::{Arc, Mutex, MutexGuard},
};

use steadfast_store::rusqlite::ffi;

/// A file, whatever it is called and whether it still has a name.
pub type Inode = u64;

/// A file that is none of ours: SQLite's own scratch files, and all files while nothing is recorded.
pub const UNKNOWN: Inode = 0;

#[derive(Clone, Debug)]
pub enum Operation {
    Create {
        name: String,
        inode: Inode,
    },
    Delete {
        name: String,
    },
    Write {
        inode: Inode,
        at: usize,
        bytes: Arc<[u8]>,
    },
    Cut {
        inode: Inode,
        length: usize,
    },
    Sync {
        inode: Inode,
    },
    /// The operating system has reported it once, and treats the unwritten data as written.
    SyncFailed {
        inode: Inode,
    },
    SyncDirectory,
}

#[derive(Clone, Debug)]
pub enum Entry {
    Did(Operation),
    /// The call with this number has returned.
    Acknowledged(usize),
}

/// How a disk reacts to a sync.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncMode {
    #[default]
    Honest,
    /// It says that it did.
    Lies,
    /// The log is not synced, as with `synchronous=NORMAL` between checkpoints.
    NotTheLog,
}

/// Operations that fail: the number of the first, counted from 0, and how many in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultRange {
    pub first: u64,
    pub count: u64,
}

/// The next operation that SQLite requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    Open,
    Write,
    Cut,
    Sync,
    Delete,
}

impl Request {
    /// The error that the operating system would give.
    fn failure(self) -> c_int {
        match self {
            Self::Open => ffi::SQLITE_CANTOPEN,
            Self::Write => ffi::SQLITE_FULL,
            Self::Cut => ffi::SQLITE_IOERR_TRUNCATE,
            Self::Sync => ffi::SQLITE_IOERR_FSYNC,
            Self::Delete => ffi::SQLITE_IOERR_DELETE,
        }
    }
}

/// The log of one disk, which SQLite's threads write to.
#[derive(Default)]
pub struct DiskLog(Mutex<State>);

#[derive(Default)]
struct State {
    is_recording: bool,
    syncing: SyncMode,
    trouble: Option<FaultRange>,
    asked: u64,
    failed: u64,
    entries: Vec<Entry>,
    names: HashMap<String, Inode>,
    files: Inode,
}

impl DiskLog {
    /// Starts anew, with an empty directory.
    pub fn record(&self, syncing: SyncMode, trouble: Option<FaultRange>) {
        *self.state() = State {
            is_recording: true,
            syncing,
            trouble,
            ..State::default()
        };
    }

    /// From now on nothing fails.
    pub fn heal(&self) {
        self.state().trouble = None;
    }

    /// How many operations could have failed.
    pub fn asked(&self) -> u64 {
        self.state().asked
    }

    /// How many operations have failed on purpose.
    pub fn failed(&self) -> u64 {
        self.state().failed
    }

    pub fn acknowledge(&self, call: usize) {
        self.state().entries.push(Entry::Acknowledged(call));
    }

    /// How many writes the file of this name has had, under its present name.
    pub fn writes_to(&self, name: &str) -> usize {
        let state = self.state();
        let wanted = state.names.get(name);
        let is_wanted = |entry: &&Entry| matches!(entry, Entry::Did(Operation::Write { inode, .. }) if Some(inode) == wanted);
        state.entries.iter().filter(is_wanted).count()
    }

    pub fn has(&self, name: &str) -> bool {
        self.state().names.contains_key(name)
    }

    /// Ends the recording.
    pub fn take(&self) -> Vec<Entry> {
        std::mem::take(&mut *self.state()).entries
    }

    /// Whether the disk does what it is asked, or which error it has.
    pub(super) fn ask(&self, request: Request, inode: Inode) -> Result<(), c_int> {
        let mut state = self.state();
        if !state.is_recording || inode == UNKNOWN {
            return Ok(());
        }
        let number = state.asked;
        state.asked += 1;
        let fails = state.trouble.is_some_and(|FaultRange { first, count }| {
            (first..first.saturating_add(count)).contains(&number)
        });
        if fails {
            state.failed += 1;
            if request == Request::Sync {
                state.did(Operation::SyncFailed { inode });
            }
            return Err(request.failure());
        }
        Ok(())
    }

    /// A file of this name was opened; if it is new, that is an operation.
    pub(super) fn opened(&self, name: &str, is_new: bool) -> Inode {
        let mut state = self.state();
        if !state.is_recording {
            return UNKNOWN;
        }
        if let Some(known) = state.names.get(name).filter(|_| !is_new) {
            return *known;
        }
        state.files += 1;
        let inode = state.files;
        let name = name.to_owned();
        state.names.insert(name.clone(), inode);
        state.did(Operation::Create { name, inode });
        inode
    }

    pub(super) fn wrote(&self, inode: Inode, at: usize, bytes: &[u8]) {
        let bytes = Arc::from(bytes);
        self.did(inode, || Operation::Write { inode, at, bytes });
    }

    pub(super) fn cut(&self, inode: Inode, length: usize) {
        self.did(inode, || Operation::Cut { inode, length });
    }

    /// The directory is synced with the first sync of a new journal or log, as SQLite does it.
    pub(super) fn synced(&self, inode: Inode, is_log: bool, with_directory: bool) {
        match self.state().syncing {
            SyncMode::Lies => return,
            SyncMode::NotTheLog if is_log => return,
            SyncMode::Honest | SyncMode::NotTheLog => {}
        }
        self.did(inode, || Operation::Sync { inode });
        if with_directory {
            self.did(inode, || Operation::SyncDirectory);
        }
    }

    pub(super) fn deleted(&self, name: &str, with_directory: bool) {
        let mut state = self.state();
        if !state.is_recording {
            return;
        }
        state.names.remove(name);
        let name = name.to_owned();
        state.did(Operation::Delete { name });
        if with_directory && state.syncing != SyncMode::Lies {
            state.did(Operation::SyncDirectory);
        }
    }

    fn did(&self, inode: Inode, operation: impl FnOnce() -> Operation) {
        let mut state = self.state();
        if state.is_recording && inode != UNKNOWN {
            state.did(operation());
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }
}

impl State {
    fn did(&mut self, operation: Operation) {
        self.entries.push(Entry::Did(operation));
    }
}

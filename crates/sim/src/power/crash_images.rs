//! The possible disk images after a power failure.
//!
//! What was synced is there. Of the rest, anything may be: each write on its own, whole, torn or
//! not at all, in any order, because caches keep none. SQLite relies on as much, and on two things
//! more: a torn write harms no bytes beside it, and names come and go in the order in which they
//! were asked to.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use rand::{RngExt as _, rngs::StdRng};

use super::disk_log::{Inode, Operation};

/// The files that are left, by name.
pub type Image = BTreeMap<String, Vec<u8>>;

/// How much of what was not synced is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashCase {
    Nothing,
    Everything,
    Some,
    /// One write ends at the end of a sector, and of the rest there is some.
    TornSector,
    /// One write ends anywhere.
    TornByte,
    /// Those changes whose bit is set.
    These(u32),
}

const SECTOR: usize = 512;
/// So few changes can be left in every combination.
const FEW: usize = 4;

/// A disk with a cache.
#[derive(Default)]
pub struct Drive {
    files: BTreeMap<Inode, File>,
    names: BTreeMap<String, Inode>,
    names_unsynced: Vec<(String, Option<Inode>)>,
}

#[derive(Default)]
struct File {
    synced: Vec<u8>,
    unsynced: Vec<Change>,
}

#[derive(Clone)]
enum Change {
    Write { at: usize, bytes: Arc<[u8]> },
    Cut { length: usize },
}

impl Drive {
    pub fn take(&mut self, operation: &Operation) {
        match operation {
            Operation::Create { name, inode } => {
                self.names_unsynced.push((name.clone(), Some(*inode)));
            }
            Operation::Delete { name } => self.names_unsynced.push((name.clone(), None)),
            Operation::Write { inode, at, bytes } => {
                let (at, bytes) = (*at, bytes.clone());
                self.change(*inode, Change::Write { at, bytes });
            }
            Operation::Cut { inode, length } => {
                self.change(*inode, Change::Cut { length: *length });
            }
            Operation::Sync { inode } => {
                let file = self.files.entry(*inode).or_default();
                for change in std::mem::take(&mut file.unsynced) {
                    change.apply(&mut file.synced);
                }
            }
            Operation::SyncFailed { inode } => {
                self.files.entry(*inode).or_default().unsynced.clear();
            }
            Operation::SyncDirectory => {
                for (name, inode) in std::mem::take(&mut self.names_unsynced) {
                    rename(&mut self.names, name, inode);
                }
                let named: BTreeSet<Inode> = self.names.values().copied().collect();
                self.files.retain(|inode, _| named.contains(inode));
            }
        }
    }

    fn change(&mut self, inode: Inode, change: Change) {
        self.files.entry(inode).or_default().unsynced.push(change);
    }

    /// The ways to lose something now that should be tried.
    pub fn ways(&self) -> Vec<CrashCase> {
        let mut ways = vec![
            CrashCase::Nothing,
            CrashCase::Everything,
            CrashCase::Some,
            CrashCase::TornSector,
            CrashCase::TornByte,
        ];
        let files = self.files.values();
        let count = files.map(|file| file.unsynced.len()).sum::<usize>();
        let count = count + self.names_unsynced.len();
        if count <= FEW {
            ways.extend((0..1 << count).map(CrashCase::These));
        }
        ways
    }

    /// One of the images that can be left now.
    pub fn image(&self, left: CrashCase, random: &mut StdRng) -> Image {
        let mut choice = Choice {
            left,
            random,
            asked: 0,
        };
        let names = self.names_left(&mut choice);
        let torn = self.torn(&names, left, choice.random);
        let mut image = Image::new();
        for (name, inode) in names {
            let mut bytes = Vec::new();
            if let Some(file) = self.files.get(&inode) {
                bytes.clone_from(&file.synced);
                for (index, change) in file.unsynced.iter().enumerate() {
                    match torn {
                        Some((torn, part)) if torn == (inode, index) => {
                            change.torn(part).apply(&mut bytes);
                        }
                        _ if choice.keeps() => change.apply(&mut bytes),
                        _ => {}
                    }
                }
            }
            image.insert(name, bytes);
        }
        image
    }

    fn names_left(&self, choice: &mut Choice<'_>) -> BTreeMap<String, Inode> {
        let mut names = self.names.clone();
        let mut over = BTreeSet::new();
        for (name, inode) in &self.names_unsynced {
            if !choice.keeps() || over.contains(name) {
                over.insert(name);
            } else {
                rename(&mut names, name.clone(), *inode);
            }
        }
        names
    }

    /// The torn write, and how much of it is left.
    fn torn(
        &self,
        names: &BTreeMap<String, Inode>,
        left: CrashCase,
        random: &mut StdRng,
    ) -> Option<((Inode, usize), usize)> {
        let step = match left {
            CrashCase::TornSector => SECTOR,
            CrashCase::TornByte => 1,
            _ => return None,
        };
        let mut writes = Vec::new();
        for inode in names.values() {
            let changes = self.files.get(inode).map(|file| file.unsynced.iter());
            for (index, change) in changes.into_iter().flatten().enumerate() {
                if let Change::Write { at, bytes } = change
                    && bytes.len() > step
                {
                    writes.push(((*inode, index), *at, bytes.len()));
                }
            }
        }
        if writes.is_empty() {
            return None;
        }
        let (index, at, length) = writes[random.random_range(0..writes.len())];
        let end = at + random.random_range(1..length);
        let part = (end / step * step).saturating_sub(at);
        Some((index, part))
    }
}

/// Decides of one change after the other whether it is left.
struct Choice<'r> {
    left: CrashCase,
    random: &'r mut StdRng,
    asked: u32,
}

impl Choice<'_> {
    fn keeps(&mut self) -> bool {
        let index = self.asked;
        self.asked += 1;
        match self.left {
            CrashCase::Nothing => false,
            CrashCase::Everything => true,
            CrashCase::Some | CrashCase::TornSector | CrashCase::TornByte => self.random.random(),
            CrashCase::These(bits) => bits.checked_shr(index).is_some_and(|bits| bits & 1 == 1),
        }
    }
}

fn rename(names: &mut BTreeMap<String, Inode>, name: String, inode: Option<Inode>) {
    match inode {
        Some(inode) => names.insert(name, inode),
        None => names.remove(&name),
    };
}

impl Change {
    fn apply(&self, file: &mut Vec<u8>) {
        match self {
            Self::Write { at, bytes } => {
                let end = at + bytes.len();
                if file.len() < end {
                    file.resize(end, 0);
                }
                file[*at..end].copy_from_slice(bytes);
            }
            Self::Cut { length } => file.truncate(*length),
        }
    }

    fn torn(&self, part: usize) -> Self {
        match self {
            Self::Write { at, bytes } => Self::Write {
                at: *at,
                bytes: Arc::from(&bytes[..part]),
            },
            Self::Cut { .. } => self.clone(),
        }
    }
}

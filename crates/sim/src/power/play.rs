//! A store's life on a disk that keeps a log: what was asked, what was acknowledged, and what it
//! then held.

use std::{collections::HashSet, time::Duration};

use steadfast_core::{JobId, Timestamp};
use steadfast_store::{
    Clock as _, ManualClock, OpenError, SqliteOptions, SqliteStore, StoreError,
    rusqlite::{Connection, OpenFlags},
};
use tempfile::TempDir;

use super::{
    disk_log::{Entry, FaultRange, Operation, SyncMode},
    vfs::Disk,
    world::World,
};

pub const FILE: &str = "steadfast.db";
/// Retention deletes in steps, each of them a transaction: some may be done when it fails.
pub const IN_STEPS: &str = "prune";

/// How a play goes.
#[derive(Clone, Copy, Debug, Default)]
pub struct DiskSetup {
    pub syncing: SyncMode,
    pub trouble: Option<FaultRange>,
    /// A planted bug: calls count as acknowledged when they are made.
    pub hasty: bool,
    /// Small pages fill the log with little data, until a commit folds it into the file.
    pub small_pages: bool,
    /// It ends when the new file is open, before anything is asked.
    pub ends_when_open: bool,
}

/// All that came of a play.
pub struct PlayRecord {
    pub entries: Vec<Entry>,
    /// The contents of the store after each acknowledged call.
    pub worlds: Vec<World>,
    pub calls: Vec<&'static str>,
    pub end: Timestamp,
    /// How many calls returned an error.
    pub refused: u64,
    /// How many operations could have failed, and how many did.
    pub asked: u64,
    pub failed: u64,
}

impl PlayRecord {
    pub fn operations(&self) -> Vec<&Operation> {
        let entries = self.entries.iter();
        entries
            .filter_map(|entry| match entry {
                Entry::Did(operation) => Some(operation),
                Entry::Acknowledged(_) => None,
            })
            .collect()
    }

    /// The places of those that are not a write to a log or journal, as most are.
    pub fn rare(operations: &[&Operation]) -> Vec<usize> {
        let mut logs = HashSet::new();
        let mut rare = Vec::new();
        for (index, operation) in operations.iter().enumerate() {
            match operation {
                Operation::Create { name, inode } if name != FILE => {
                    logs.insert(*inode);
                }
                Operation::Write { inode, .. } if logs.contains(inode) => continue,
                _ => {}
            }
            rare.push(index);
        }
        rare
    }
}

pub struct Play {
    disk: Disk,
    directory: TempDir,
    setting: DiskSetup,
    store: Option<SqliteStore>,
    pub(super) clock: ManualClock,
    worlds: Vec<World>,
    calls: Vec<&'static str>,
    numbers: u64,
    refused: u64,
}

impl Play {
    /// Plays the whole script.
    pub fn record(disk: Disk, setting: DiskSetup) -> PlayRecord {
        let runtime = runtime();
        let mut play = Self {
            disk,
            directory: tempfile::tempdir().unwrap(),
            setting,
            store: None,
            clock: ManualClock::default(),
            worlds: Vec::new(),
            calls: Vec::new(),
            numbers: 0,
            refused: 0,
        };
        disk.log.record(setting.syncing, setting.trouble);
        if setting.small_pages {
            play.make_small_pages();
        }
        runtime.block_on(async {
            play.open().await;
            if !setting.ends_when_open {
                play.script().await;
            }
        });
        play.close();
        let (asked, failed) = (disk.log.asked(), disk.log.failed());
        runtime.block_on(play.look_again());
        PlayRecord {
            entries: disk.log.take(),
            worlds: play.worlds,
            calls: play.calls,
            end: play.clock.now(),
            refused: play.refused,
            asked,
            failed,
        }
    }

    /// Asks the store for something, and notes what it holds once it has answered. A call that
    /// fails must ask for a retry and have changed nothing; it is made again when the disk works.
    pub(super) async fn call<T>(
        &mut self,
        what: &'static str,
        verb: impl AsyncFn(&SqliteStore) -> Result<T, StoreError>,
    ) -> T {
        let store = self.store.clone().unwrap();
        self.calls.push(what);
        if self.setting.hasty {
            self.acknowledge();
        }
        let answer = match verb(&store).await {
            Ok(answer) => answer,
            Err(error) => {
                assert!(self.is_excused(), "{what} failed: {error}");
                assert!(error.is_transient(), "{what} asks for no retry: {error}");
                let held = World::read(&store).await.unwrap();
                let before = self.worlds.last().unwrap();
                let difference = before.difference(&held);
                let is_kept = *before == held || what == IN_STEPS && held.is_left_of(before);
                assert!(is_kept, "{what} failed and changed\n{difference}");
                match verb(&store).await {
                    Ok(answer) => answer,
                    Err(error) => panic!("{what} still fails: {error}"),
                }
            }
        };
        if !self.setting.hasty {
            self.acknowledge();
        }
        self.worlds.push(World::read(&store).await.unwrap());
        answer
    }

    /// Whether something may fail because the disk did, which then works again.
    fn is_excused(&mut self) -> bool {
        self.refused += 1;
        self.disk.log.heal();
        self.disk.log.failed() > 0
    }

    fn acknowledge(&self) {
        self.disk.log.acknowledge(self.calls.len() - 1);
    }

    pub(super) async fn open(&mut self) {
        let file = self.directory.path().join(FILE);
        let options = SqliteOptions::default()
            .clock(self.clock.clone())
            .busy_timeout(Duration::from_millis(100))
            .vfs(self.disk.name);
        let opened = match SqliteStore::open(&file, options.clone()) {
            Err(error) => {
                assert!(self.is_excused(), "{error}");
                let is_io_error = matches!(error, OpenError::Io { .. });
                assert!(
                    is_io_error,
                    "a disk that fails is taken for a bad file: {error}"
                );
                SqliteStore::open(&file, options)
            }
            opened => opened,
        };
        match opened {
            Ok(store) => self.store = Some(store),
            Err(error) => panic!("it still cannot be opened: {error}"),
        }
        let has_log = self.disk.log.has(&format!("{FILE}-wal"));
        assert!(has_log, "it works without a log, whose syncs it relies on");
        self.call("open", async |_| Ok(())).await;
    }

    pub(super) fn close(&mut self) {
        if let Some(store) = self.store.take() {
            store.close();
        }
    }

    /// Another connection checkpoints the log into the file, as backups do.
    pub(super) fn fold(&self) {
        let folded = self
            .connect()
            .pragma_update(None, "wal_checkpoint", "passive");
        assert!(
            folded.is_ok() || self.disk.log.failed() > 0,
            "cannot fold the log"
        );
    }

    /// Writes to the file itself, so far.
    pub(super) fn folded(&self) -> usize {
        self.disk.log.writes_to(FILE)
    }

    pub(super) fn has_small_pages(&self) -> bool {
        self.setting.small_pages
    }

    fn make_small_pages(&self) {
        // In one transaction, so that the file never has a table that is not ours.
        self.connect()
            .execute_batch(
                "PRAGMA page_size = 512; BEGIN; CREATE TABLE t (x); DROP TABLE t; COMMIT",
            )
            .unwrap();
    }

    fn connect(&self) -> Connection {
        let path = self.directory.path().join(FILE);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        Connection::open_with_flags_and_vfs(path, flags, self.disk.name).unwrap()
    }

    /// After all, a disk that works holds all that was acknowledged.
    async fn look_again(&mut self) {
        self.disk.log.heal();
        self.open().await;
        let [.., before, after] = &*self.worlds else {
            panic!("nothing was acknowledged");
        };
        let difference = before.difference(after);
        assert!(
            before == after,
            "not there after opening again\n{difference}"
        );
        let verdict: String = self
            .connect()
            .query_row("PRAGMA integrity_check", [], |row| row.get(0))
            .unwrap();
        assert_eq!(verdict, "ok");
        self.close();
    }

    pub(super) fn advance(&self, time: Duration) {
        self.clock.advance(time);
    }

    /// A number that is higher each time, for ids.
    pub(super) fn number(&mut self) -> u64 {
        self.numbers += 1;
        // The two lowest bits are not part of an id.
        self.numbers << 2
    }

    pub(super) fn id(&mut self) -> JobId {
        JobId::new(self.clock.now(), self.number())
    }
}

pub fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_time().build().unwrap()
}

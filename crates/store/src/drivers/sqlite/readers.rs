//! Read-only connections beside the writer, each on a thread of its own.
//!
//! In WAL mode they never wait for the writer, and see everything that was acknowledged before
//! they began. Each query is short, so that checkpoints can get past them.
//!
//! The threads are not those of the runtime's blocking pool: whatever else waits there, such as
//! a name server that does not answer, would hold up every read. One thread takes only the
//! questions of the node itself and of workers that renew or settle, so that no number of lists keeps
//! it from sweeping and them from their leases.

use std::{
    collections::VecDeque,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
};

use rusqlite::{Connection, InterruptHandle, OpenFlags};
use tokio::sync::oneshot;

use super::{
    driver_error::DriverError,
    names::Names,
    open::{connect, plan_statements_once},
    options::SqliteOptions,
};
use crate::{
    caller::StoreCaller,
    damage::DamageLog,
    drivers::Asker,
    drivers::sql::encryption::Cipher,
    fair_gate::{FairGate, TenantPart},
    limits::{
        READER_BUSY_TIMEOUT, READER_CACHE_KIB, READERS_BESIDE_OTHERS_DIVISOR, READERS_KEPT,
        WORK_READS_MAX, WORK_READS_PER_TENANT_MAX,
    },
};

pub(super) struct Readers {
    queue: Arc<ReadQueue>,
    /// Callers take turns.
    lists: Arc<FairGate>,
    /// Work has a door of its own: it does not wait behind lists.
    work: Arc<FairGate>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

pub(super) struct Reader {
    pub conn: Connection,
    pub names: Names,
}

/// A query with a caller that waits for it.
type Query = Box<dyn FnOnce(&mut ReaderSlot) + Send>;

#[derive(Default)]
struct ReadQueue {
    state: Mutex<QueueState>,
    /// Wakes a thread that answers everybody.
    changed: Condvar,
    /// Wakes the thread that answers only the node.
    changed_for_node: Condvar,
}

#[derive(Default)]
struct QueueState {
    of_node: VecDeque<Query>,
    of_callers: VecDeque<Query>,
    is_closed: bool,
}

impl Readers {
    pub(super) fn start(
        path: &Path,
        options: &SqliteOptions,
        (damage, cipher): (&Arc<DamageLog>, &Cipher),
    ) -> io::Result<Self> {
        let queue = Arc::new(ReadQueue::default());
        let mut readers = Self {
            queue: Arc::clone(&queue),
            lists: FairGate::with_part(
                options.readers.max(1),
                TenantPart {
                    alone: options.readers.saturating_sub(READERS_KEPT),
                    beside_others: options.readers / READERS_BESIDE_OTHERS_DIVISOR,
                },
            ),
            work: FairGate::new(WORK_READS_MAX, WORK_READS_PER_TENANT_MAX),
            threads: Mutex::default(),
        };
        for number in 0..=options.readers.max(1) {
            let queue = Arc::clone(&queue);
            let mut slot = ReaderSlot {
                path: path.to_owned(),
                vfs: options.vfs_name().map(str::to_owned),
                damage: Arc::clone(damage),
                cipher: cipher.clone(),
                reader: None,
            };
            let takes_all = number > 0;
            let thread = std::thread::Builder::new()
                .name(format!("steadfast-read{number}"))
                .spawn(move || {
                    while let Some(query) = queue.next(takes_all) {
                        query(&mut slot);
                    }
                })?;
            let threads = readers.threads.get_mut();
            threads.unwrap_or_else(PoisonError::into_inner).push(thread);
        }
        Ok(readers)
    }

    /// Has one of the threads answer a query.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        asker: Asker,
        query: impl FnOnce(&mut Reader) -> Result<T, DriverError> + Send + 'static,
    ) -> Result<T, DriverError> {
        let caller = StoreCaller::current();
        let (asker, door) = match &caller {
            Some(caller) if caller.works => (Asker::Node, Some(&self.work)),
            Some(_) => (Asker::Caller, Some(&self.lists)),
            // A node has few questions at a time.
            None => (asker, None),
        };
        let _admission = match door {
            Some(door) => door.enter(caller, 1).await,
            None => None,
        };
        let (reply, answer) = oneshot::channel();
        let running = RunningQuery::default();
        let query: Query = Box::new({
            let running = running.clone();
            move |slot| {
                // A caller that left need not be answered.
                if !reply.is_closed() {
                    let _ = reply.send(slot.run(|reader| running.run(reader, query)));
                }
            }
        });
        self.queue.push(asker, query)?;
        let _running = InterruptOnDrop(running);
        answer.await.unwrap_or(Err(DriverError::Closed))
    }

    /// Refuses further queries, waits for those that run, and lets go of the file.
    pub(super) fn close(&self) {
        self.queue.close();
        let threads =
            std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            if thread.join().is_err() {
                tracing::error!("a reader panicked");
            }
        }
    }
}

/// How to stop a query, while it runs.
#[derive(Clone, Default)]
struct RunningQuery(Arc<Mutex<Option<InterruptHandle>>>);

impl RunningQuery {
    fn run<T>(
        &self,
        reader: &mut Reader,
        query: impl FnOnce(&mut Reader) -> Result<T, DriverError>,
    ) -> Result<T, DriverError> {
        *self.lock() = Some(reader.conn.get_interrupt_handle());
        let answer = query(reader);
        *self.lock() = None;
        answer
    }

    fn lock(&self) -> MutexGuard<'_, Option<InterruptHandle>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A caller that waits no longer stops what it asked for: a count of all jobs would otherwise go on
/// for as long as it takes, and hold up the close of the store.
struct InterruptOnDrop(RunningQuery);

impl Drop for InterruptOnDrop {
    fn drop(&mut self) {
        if let Some(running) = &*self.0.lock() {
            running.interrupt();
        }
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.close();
    }
}

impl ReadQueue {
    fn push(&self, asker: Asker, query: Query) -> Result<(), DriverError> {
        let mut state = self.lock();
        if state.is_closed {
            return Err(DriverError::Closed);
        }
        match asker {
            Asker::Node => {
                state.of_node.push_back(query);
                self.changed_for_node.notify_one();
            }
            Asker::Caller => state.of_callers.push_back(query),
        }
        self.changed.notify_one();
        Ok(())
    }

    /// Waits for a query; `None` once the store is closed.
    fn next(&self, takes_all: bool) -> Option<Query> {
        let mut state = self.lock();
        loop {
            if state.is_closed {
                return None;
            }
            if let Some(query) = state.of_node.pop_front() {
                return Some(query);
            }
            if takes_all && let Some(query) = state.of_callers.pop_front() {
                return Some(query);
            }
            let changed = if takes_all {
                &self.changed
            } else {
                &self.changed_for_node
            };
            let woken = changed.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Queries that wait are dropped, and their callers told that the store is closed.
    fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        let waiting = (
            std::mem::take(&mut state.of_node),
            std::mem::take(&mut state.of_callers),
        );
        drop(state);
        drop(waiting);
        self.changed.notify_all();
        self.changed_for_node.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where a thread has its connection.
struct ReaderSlot {
    path: PathBuf,
    vfs: Option<String>,
    damage: Arc<DamageLog>,
    cipher: Cipher,
    reader: Option<Reader>,
}

impl ReaderSlot {
    fn run<T>(
        &mut self,
        query: impl FnOnce(&mut Reader) -> Result<T, DriverError>,
    ) -> Result<T, DriverError> {
        let mut reader = match self.reader.take() {
            Some(reader) => reader,
            None => {
                let vfs = self.vfs.as_deref();
                let names = Names::new(Arc::clone(&self.damage), self.cipher.clone());
                Reader::open(&self.path, vfs, names)?
            }
        };
        let answer = catch_unwind(AssertUnwindSafe(|| query(&mut reader)));
        let answer = answer.unwrap_or_else(|panic| Err(DriverError::panicked(&*panic)));
        // A connection that failed is not used again.
        if answer.is_ok() {
            self.reader = Some(reader);
        }
        answer
    }
}

impl Reader {
    fn open(path: &Path, vfs: Option<&str>, names: Names) -> Result<Self, DriverError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = connect(path, flags, vfs)?;
        conn.busy_timeout(READER_BUSY_TIMEOUT)?;
        conn.pragma_update(None, "cache_size", -READER_CACHE_KIB)?;
        plan_statements_once(&conn)?;
        Ok(Self { conn, names })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// One thread for callers and one for the node, on a runtime whose blocking pool is taken.
    fn check(test: impl AsyncFnOnce(Arc<Readers>)) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("jobs.db");
        let conn = Connection::open(&path).unwrap();
        conn.execute_batch("CREATE TABLE job (id INTEGER)").unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(1)
            .build()
            .unwrap();
        runtime.block_on(async {
            let (release, wait) = mpsc::channel::<()>();
            let slow = tokio::task::spawn_blocking(move || wait.recv());
            let options = SqliteOptions::default().readers(1);
            let readers =
                Readers::start(&path, &options, (&Arc::default(), &Cipher::default())).unwrap();
            test(Arc::new(readers)).await;
            release.send(()).unwrap();
            slow.await.unwrap().unwrap();
        });
    }

    fn count(reader: &mut Reader) -> Result<i64, DriverError> {
        let sql = "SELECT count(*) FROM job";
        Ok(reader.conn.query_row(sql, [], |row| row.get(0))?)
    }

    #[test]
    fn questions_of_the_node_wait_for_no_list_and_no_thread_of_the_runtime() {
        check(async |readers| {
            let (release, wait) = mpsc::channel::<()>();
            let first = Arc::clone(&readers);
            let slow = tokio::spawn(async move {
                let list = move |reader: &mut Reader| {
                    wait.recv().unwrap();
                    count(reader)
                };
                first.read(Asker::Caller, list).await
            });
            let lists: Vec<_> = (0..100)
                .map(|_| {
                    let readers = Arc::clone(&readers);
                    tokio::spawn(async move { readers.read(Asker::Caller, count).await })
                })
                .collect();
            assert_eq!(readers.read(Asker::Node, count).await.unwrap(), 0);
            release.send(()).unwrap();
            assert_eq!(slow.await.unwrap().unwrap(), 0);
            for list in lists {
                assert_eq!(list.await.unwrap().unwrap(), 0);
            }
        });
    }

    #[test]
    fn a_query_whose_caller_has_left_is_interrupted() {
        check(async |readers| {
            let (started, wait) = tokio::sync::oneshot::channel();
            // Only a statement that runs can be interrupted, so its first row says that it does.
            let endless = move |reader: &mut Reader| -> Result<(), DriverError> {
                let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) \
                           SELECT i FROM n";
                let mut select = reader.conn.prepare(sql)?;
                let mut rows = select.query([])?;
                rows.next()?;
                started.send(()).unwrap();
                while rows.next()?.is_some() {}
                Ok(())
            };
            let endless = readers.read(Asker::Caller, endless);
            tokio::select! {
                answer = endless => panic!("{answer:?}"),
                started = wait => started.unwrap(),
            }
            // The only thread for callers is free again.
            assert_eq!(readers.read(Asker::Caller, count).await.unwrap(), 0);
        });
    }

    #[test]
    fn a_query_that_panics_fails_alone() {
        check(async |readers| {
            let broken = |_: &mut Reader| -> Result<(), DriverError> { panic!("out of order") };
            let error = readers.read(Asker::Caller, broken).await.unwrap_err();
            assert!(error.to_string().contains("out of order"), "{error}");
            assert_eq!(readers.read(Asker::Caller, count).await.unwrap(), 0);
        });
    }

    #[test]
    fn a_store_that_is_closed_refuses_queries() {
        check(async |readers| {
            assert_eq!(readers.read(Asker::Caller, count).await.unwrap(), 0);
            readers.close();
            for asker in [Asker::Caller, Asker::Node] {
                let error = readers.read(asker, count).await.unwrap_err();
                assert!(matches!(error, DriverError::Closed), "{error}");
            }
        });
    }
}

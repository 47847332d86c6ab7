//! One file on one machine, and the default.
//!
//! # Layout
//!
//! * `open`: whose file it is, its schema, and its log. `file_copy`: a copy of it, for backups.
//! * `writer`: one thread, one connection, group commit. `session` is what its verbs work with.
//!   `readers`: connections and threads beside it, for the verbs that only read.
//! * `jobs`: the hot verbs of a job's life. `claim`: which jobs start. `queries`: lists and counts.
//! * `transaction`: what the verbs of `crate::verbs` get of this driver.
//! * `names`, `counts`: the numbers of names, and what is counted of jobs.
//! * `rows`, `values`: rows and columns.
//!
//! The statements of a module are in the folder of its name.

mod claim;
mod counts;
mod file_copy;
mod jobs;
mod names;
mod open;
mod queries;
mod readers;
mod rows;
mod session;
mod transaction;
mod values;
mod writer;

use claim::due_index;
use jobs::{change, commit, enqueue, insert, row_inserts, unique};
use open::{log_file, log_mark, options};
use queries::{get, stats};

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread::JoinHandle,
};

use rusqlite::Connection;
use steadfast_core::{Gates, NewJob, Timestamp};
use tokio::sync::{Semaphore, oneshot};

use crate::{
    caller::{StoreCaller, request::wait_outside},
    clock::Clock,
    damage::DamageLog,
    drivers::Asker,
    drivers::current_gates::CurrentGates,
    drivers::driver_error::{self, DriverError},
    drivers::sql::encryption::Cipher,
    drivers::sql::prune_position::PrunePosition,
    error::{EnqueueError, OpenError, StoreError},
    fair_gate::{FairGate, TenantPart},
    limits::{
        JOINING_ROWS_MAX, WRITER_QUEUE_MAX, WRITTEN_ROWS_BESIDE_OTHERS_MAX,
        WRITTEN_ROWS_PER_TENANT_MAX,
    },
    store::{BaseStore, EnqueueResult, GateSettings},
    verbs::{encryption::check_keys, event_position::EventPosition},
    wake::{WakeInterest, Waker, Wakeups},
};
use log_mark::Checkpointer;
use names::Names;
use readers::{Reader, Readers};
use session::Session;
use transaction::wrappers::{WriterTransaction, finish};
use writer::{Caller, Request, Work, Writer};

pub use file_copy::{CopyError, SqliteCopy};
pub use options::SqliteOptions;

/// A store in an SQLite file. Clones are the same store; when the last one is dropped, it
/// finishes its requests and closes the file.
#[derive(Clone)]
pub struct SqliteStore {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    clock: Arc<dyn Clock>,
    waker: Arc<Waker>,
    readers: Readers,
    /// Permits for requests that wait for the writer.
    permits: Arc<Semaphore>,
    /// Tenants take turns at the writer.
    writes: Arc<FairGate>,
    queue: RwLock<Option<mpsc::Sender<Box<dyn Work>>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    transactions: Arc<AtomicU64>,
    /// Where retention goes on.
    pruned_to: Mutex<PrunePosition>,
    /// Where the counting of batches goes on.
    event_position: EventPosition,
    gates: Arc<CurrentGates>,
}

/// Refuses keys that are not those of the store.
fn check_encryption(path: &Path, conn: &Connection, cipher: &Cipher) -> Result<(), OpenError> {
    let checked = || {
        let version = session::data_version(conn)?;
        let mut session = Session::new(conn, Timestamp::EPOCH, version, Arc::default());
        session.names = Names::new(Arc::default(), cipher.clone());
        session.begin()?;
        let refused = finish(check_keys(
            &mut WriterTransaction::new(&mut session),
            cipher,
        ))?;
        session.commit().map(|()| refused)
    };
    match checked() {
        Ok(None) => Ok(()),
        Ok(Some(reason)) => Err(OpenError::EncryptionKey {
            name: path.display().to_string(),
            reason,
        }),
        Err(error) => Err(open::open_error(path, error)),
    }
}

impl SqliteStore {
    /// Opens a file, or creates it, and brings it to the schema this binary knows.
    pub fn open(path: impl AsRef<Path>, options: SqliteOptions) -> Result<Self, OpenError> {
        let path = path.as_ref().to_owned();
        let mut conn = open::open(&path, &options)?;
        let checkpointer = Checkpointer::new(&mut conn);
        let checkpointer = checkpointer.map_err(|error| open::open_error(&path, error))?;
        let (queue, requests) = mpsc::channel();
        let waker = Arc::new(Waker::default());
        let transactions = Arc::new(AtomicU64::new(0));
        let damage = Arc::new(DamageLog::default());
        let cipher = Cipher::new(options.encryption.clone());
        let gates = Arc::new(CurrentGates::default());
        if !options.for_move {
            check_encryption(&path, &conn, &cipher)?;
        }
        let writer = Writer {
            damage: Arc::clone(&damage),
            cipher: cipher.clone(),
            path: path.clone(),
            clock: Arc::clone(&options.clock),
            waker: Arc::clone(&waker),
            transactions: Arc::clone(&transactions),
            // Read here and not by the thread, because another connection may write before the
            // thread starts.
            data_version: session::data_version(&conn)
                .map_err(|error| open::open_error(&path, error))?,
            gates: Arc::clone(&gates),
        };
        let thread = std::thread::Builder::new()
            .name("steadfast-sqlite".to_owned())
            .spawn(move || writer.run(&conn, checkpointer, requests))
            .map_err(|error| open::io_error(&path, error))?;
        let inner = Inner {
            readers: Readers::start(&path, &options, (&damage, &cipher))
                .map_err(|error| open::io_error(&path, error))?,
            path,
            clock: options.clock,
            waker,
            permits: Arc::new(Semaphore::new(WRITER_QUEUE_MAX)),
            writes: FairGate::with_part(
                usize::MAX,
                TenantPart {
                    alone: WRITTEN_ROWS_PER_TENANT_MAX,
                    beside_others: WRITTEN_ROWS_BESIDE_OTHERS_MAX,
                },
            ),
            queue: RwLock::new(Some(queue)),
            thread: Mutex::new(Some(thread)),
            transactions,
            pruned_to: Mutex::default(),
            event_position: EventPosition::default(),
            gates,
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Brings a file to the schema this binary knows, or creates it, and does nothing else.
    pub fn migrate(path: impl AsRef<Path>) -> Result<(), OpenError> {
        let path = path.as_ref();
        let conn = open::open(path, &SqliteOptions::default())?;
        // As for the writer: opening has made the numbers of the log equal.
        log_mark::keep_log_on_close(&conn, false)
            .map_err(|error| open::open_error(path, error.into()))
    }

    /// Whether any process has this file open, as a store or otherwise. It must exist.
    pub fn is_in_use(path: impl AsRef<Path>) -> Result<bool, OpenError> {
        file_copy::is_in_use(path.as_ref())
    }

    fn pruned_to(&self) -> MutexGuard<'_, PrunePosition> {
        let pruned_to = self.inner.pruned_to.lock();
        pruned_to.unwrap_or_else(PoisonError::into_inner)
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Finishes the requests under way and closes the file. Blocks until then; later requests
    /// fail, because the store is unavailable.
    pub fn close(&self) {
        self.inner.close();
    }

    /// How many transactions the writer has committed. Requests that wait together share one.
    pub fn transactions(&self) -> u64 {
        self.inner.transactions.load(Ordering::Relaxed)
    }

    /// How many requests wait for the writer, or are with it.
    pub fn waiting(&self) -> usize {
        WRITER_QUEUE_MAX.saturating_sub(self.inner.permits.available_permits())
    }

    /// Stores jobs in a transaction of yours, on any connection to the same file: they exist
    /// if and only if you commit. Call [`SqliteStore::wake`] after the commit for an instant
    /// start; otherwise it is noticed within about a second.
    ///
    /// On an error nothing was stored, but for an error of the store you should roll back.
    /// While your transaction is open, do not wait for anything else of this store that
    /// writes: it waits for your commit.
    pub fn enqueue_in(
        &self,
        transaction: &rusqlite::Connection,
        jobs: &[NewJob],
    ) -> Result<Vec<EnqueueResult>, EnqueueError> {
        const OPERATION: &str = "enqueue_in";
        self.check_same_file(transaction)
            .map_err(|error| StoreError::broken(OPERATION, error))?;
        let enqueue = || {
            let gates = Arc::clone(&self.inner.gates);
            let mut session = Session::new(transaction, self.now(), 0, gates);
            let answer = enqueue::enqueue(&mut session, jobs)?;
            session.counts.write(transaction)?;
            Ok(answer)
        };
        // Jobs and counts are written by several statements, and yours may go on after an error.
        all_or_none(transaction, enqueue).map_err(|error| error.in_operation(OPERATION))?
    }

    fn check_same_file(&self, connection: &rusqlite::Connection) -> Result<(), WrongFile> {
        let canonical = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let theirs = connection.path().map(Path::new).map(canonical);
        if theirs.as_deref() == Some(&*canonical(&self.inner.path)) {
            return Ok(());
        }
        Err(WrongFile {
            theirs: theirs.unwrap_or_default(),
            ours: self.inner.path.clone(),
        })
    }

    /// Wakes the fetchers that wait for new jobs.
    pub fn wake(&self) {
        self.inner.waker.wake();
    }

    /// Has the writer do something in a transaction.
    async fn write<T: Send + 'static>(
        &self,
        operation: &'static str,
        rows: usize,
        run: impl FnMut(&mut Session<'_>) -> Result<T, DriverError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.peek_or_write(operation, rows, |_| Ok(None), run).await
    }

    /// The same for a page of background work: requests that came before a long one do not wait for
    /// it.
    async fn write_page<T: Send + 'static>(
        &self,
        operation: &'static str,
        rows: usize,
        run: impl FnMut(&mut Session<'_>) -> Result<T, DriverError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.ask_writer(operation, rows, |caller| Request {
            peek: |_: &mut Session<'_>| Ok(None),
            run,
            rows,
            can_join: rows <= JOINING_ROWS_MAX,
            value: None,
            caller,
        })
        .await
    }

    /// The same for a request that can often be answered without a transaction, by `peek`.
    async fn peek_or_write<T: Send + 'static>(
        &self,
        operation: &'static str,
        rows: usize,
        peek: impl FnMut(&mut Session<'_>) -> Result<Option<T>, DriverError> + Send + 'static,
        run: impl FnMut(&mut Session<'_>) -> Result<T, DriverError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.ask_writer(operation, rows, |caller| Request {
            peek,
            run,
            rows,
            can_join: true,
            value: None,
            caller,
        })
        .await
    }

    /// Has the writer serve a request.
    async fn ask_writer<T: Send + 'static, W: Work + 'static>(
        &self,
        operation: &'static str,
        rows: usize,
        request: impl FnOnce(Caller<T>) -> W,
    ) -> Result<T, StoreError> {
        let closed = || DriverError::Closed.in_operation(operation);
        let served = async {
            let admission = self.inner.writes.enter(StoreCaller::current(), rows).await;
            let permit = Arc::clone(&self.inner.permits).acquire_owned().await;
            let (reply, answer) = oneshot::channel();
            let caller = Caller {
                operation,
                reply,
                _permit: permit.map_err(|_| closed())?,
                _admission: admission,
            };
            self.inner
                .send(Box::new(request(caller)))
                .map_err(|error| error.in_operation(operation))?;
            answer.await.unwrap_or_else(|_| Err(closed()))
        };
        // The writer divides its turns itself, and commits many requests together.
        wait_outside(served).await
    }

    /// Has a reader answer a query.
    async fn read<T: Send + 'static>(
        &self,
        operation: &'static str,
        query: impl FnOnce(&mut Reader) -> Result<T, DriverError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let answer = self.inner.readers.read(Asker::Caller, query).await;
        answer.map_err(|error| error.in_operation(operation))
    }

    /// Has a reader answer a short query of the node itself, which waits for no caller.
    async fn read_for_node<T: Send + 'static>(
        &self,
        operation: &'static str,
        query: impl FnOnce(&mut Reader) -> Result<T, DriverError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let answer = self.inner.readers.read(Asker::Node, query).await;
        answer.map_err(|error| error.in_operation(operation))
    }
}

/// A transaction that is on another file than the store.
#[derive(Debug, thiserror::Error)]
#[error("this connection is to {}, not to the store's file {}", theirs.display(), ours.display())]
struct WrongFile {
    theirs: PathBuf,
    ours: PathBuf,
}

impl Inner {
    fn send(&self, work: Box<dyn Work>) -> Result<(), DriverError> {
        let queue = self.queue.read().unwrap_or_else(PoisonError::into_inner);
        let queue = queue.as_ref().ok_or(DriverError::Closed)?;
        queue.send(work).map_err(|_| DriverError::Closed)
    }

    fn close(&self) {
        // The last connection to close checkpoints the log, which only the writer's can: readers
        // first.
        self.readers.close();
        *self.queue.write().unwrap_or_else(PoisonError::into_inner) = None;
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!(path = %self.path.display(), "the writer panicked");
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.close();
    }
}

impl BaseStore for SqliteStore {
    fn now(&self) -> Timestamp {
        self.inner.clock.now()
    }

    fn wakeups_for(&self, interest: WakeInterest) -> Wakeups {
        self.inner.waker.listen(interest)
    }

    fn set_gate_settings(&self, settings: GateSettings) {
        self.inner.gates.set_settings(settings);
    }

    fn known_gates(&self) -> Option<Arc<Gates>> {
        self.inner.gates.known()
    }

    #[cfg(feature = "_testing")]
    fn distort_gates(&self, gates: Option<Arc<Gates>>) {
        self.inner.gates.distort(gates);
    }
}

/// Undoes what was written on a connection if that ends with an error.
fn all_or_none<T>(
    conn: &rusqlite::Connection,
    write: impl FnOnce() -> Result<T, DriverError>,
) -> Result<T, DriverError> {
    conn.execute_batch("SAVEPOINT steadfast")?;
    let written = write();
    let end = match &written {
        Ok(_) => "RELEASE steadfast",
        Err(_) => "ROLLBACK TO steadfast; RELEASE steadfast",
    };
    conn.execute_batch(end)?;
    written
}

/// Runs a verb for each item of a batch.
fn each<'b, In, Out>(
    batch: &'b [In],
    verb: impl FnMut(&'b In) -> Result<Out, DriverError>,
) -> Result<Vec<Out>, DriverError> {
    batch.iter().map(verb).collect()
}

//! One file on one machine, and the default.
//!
//! # Layout
//!
//! * `open`, `migrate`: whose file it is, and its schema. The schema is in `migrations/`.
//! * `writer`: one thread, one connection, group commit. `session` is what its verbs work with.
//! * `lanes`: which searches a claim can skip, and when something becomes due.
//! * `enqueue`, `claim`, `commit`, `change`, `schedules`, `documents`, `prune`: the verbs that write.
//! * `readers`: connections beside the writer, for `find`, `list`, `stats` and `schedules`.
//! * `names`, `rows`, `counts`: values to columns and back.
//!
//! Statements are in `sql/`, named after what they do.

mod change;
mod claim;
mod commit;
mod counts;
mod documents;
mod enqueue;
mod fault;
mod find;
mod lanes;
mod list;
mod migrate;
mod names;
mod open;
mod prune;
mod readers;
mod rows;
mod schedules;
mod session;
mod stats;
mod writer;

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread::JoinHandle,
    time::Duration,
};

use async_trait::async_trait;
use steadfast_core::{
    Attempt, Claim, Job, JobCommand, JobId, NewJob, Payload, Queue, Schedule, ScheduleId, StepName,
    Subscriptions, Tenant, Timestamp, Transition,
};
use tokio::sync::{Semaphore, oneshot};

use crate::{
    AttemptCursor, AttemptOwner, ClaimRequest, ClaimResult, Clock, CommandError, CommitResult,
    Document, DocumentKind, DocumentSaveResult, DueSchedules, EnqueueError, EnqueueResult,
    FireRequest, FireResult, JobFilter, JobPageRequest, LaneStats, MinuteStats, OpenError, Page,
    PageRequest, RenewResult, Renewal, ScheduleFilter, ScheduleSaveResult, Store, StoreError,
    SystemClock, TickRecord, Waker, Wakeups,
};
use fault::Fault;
use readers::Readers;
use session::Session;
use writer::{Call, Work, Writer};

/// Requests that may wait for the writer; whoever comes then waits for a place.
const QUEUE_MAX: usize = 4_096;

/// How a file is opened.
#[derive(Clone)]
pub struct SqliteOptions {
    pub clock: Arc<dyn Clock>,
    /// Memory for the writer's pages. Readers have a little more of their own.
    pub cache_bytes: usize,
    /// Questions that may be asked at once.
    pub readers: usize,
    /// How long to wait for other processes that hold the write lock.
    pub busy_timeout: Duration,
    /// Move into a database that already has tables of another application, for jobs that
    /// commit together with its data. All our tables are called `steadfast_…`; the database is
    /// switched to WAL mode. Without this, such a file is refused.
    pub share: bool,
    /// SQLite's name for the file system to go through, where tests put one that fails.
    #[doc(hidden)]
    pub vfs: Option<String>,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock),
            cache_bytes: 32 * 1024 * 1024,
            readers: 4,
            busy_timeout: Duration::from_secs(30),
            share: false,
            vfs: None,
        }
    }
}

impl SqliteOptions {
    #[must_use]
    pub fn share(self, share: bool) -> Self {
        Self { share, ..self }
    }

    #[must_use]
    pub fn clock(self, clock: impl Clock) -> Self {
        Self {
            clock: Arc::new(clock),
            ..self
        }
    }
}

/// A store in an SQLite file. Clones are the same store; the last one to go closes it, after
/// finishing what was asked.
#[derive(Clone)]
pub struct SqliteStore {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    clock: Arc<dyn Clock>,
    waker: Arc<Waker>,
    readers: Readers,
    room: Arc<Semaphore>,
    queue: RwLock<Option<mpsc::Sender<Box<dyn Work>>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    transactions: Arc<AtomicU64>,
}

impl SqliteStore {
    /// Opens a file, or creates it, and brings it to the schema this binary knows.
    pub fn open(path: impl AsRef<Path>, options: SqliteOptions) -> Result<Self, OpenError> {
        let path = path.as_ref().to_owned();
        let conn = open::open(&path, &options)?;
        let (queue, requests) = mpsc::channel();
        let waker = Arc::new(Waker::default());
        let transactions = Arc::new(AtomicU64::new(0));
        let failed = |fault: Fault| OpenError::Io {
            path: path.clone(),
            why: fault.to_string(),
        };
        let writer = Writer {
            clock: Arc::clone(&options.clock),
            waker: Arc::clone(&waker),
            transactions: Arc::clone(&transactions),
            // Read here and not by the thread, which others may be quicker than.
            data_version: session::data_version(&conn).map_err(failed)?,
        };
        let thread = std::thread::Builder::new()
            .name("steadfast-sqlite".to_owned())
            .spawn(move || writer.run(&conn, &requests))
            .map_err(|error| OpenError::Io {
                path: path.clone(),
                why: error.to_string(),
            })?;
        let inner = Inner {
            readers: Readers::new(path.clone(), &options),
            path,
            clock: options.clock,
            waker,
            room: Arc::new(Semaphore::new(QUEUE_MAX)),
            queue: RwLock::new(Some(queue)),
            thread: Mutex::new(Some(thread)),
            transactions,
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Brings a file to the schema this binary knows, or creates it, and does nothing else.
    pub fn migrate(path: impl AsRef<Path>) -> Result<(), OpenError> {
        open::open(path.as_ref(), &SqliteOptions::default()).map(drop)
    }

    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Finishes what was asked and lets go of the file. Blocks until then; whatever is asked
    /// later is told that the store is not there.
    pub fn close(&self) {
        self.inner.close();
    }

    /// How many transactions the writer has committed. Requests that wait together share one.
    pub fn transactions(&self) -> u64 {
        self.inner.transactions.load(Ordering::Relaxed)
    }

    /// How many requests wait for the writer, or are with it.
    pub fn waiting(&self) -> usize {
        QUEUE_MAX.saturating_sub(self.inner.room.available_permits())
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
        self.check_is_ours(transaction)?;
        let mut session = Session::new(transaction, self.now(), 0);
        let answer = enqueue::enqueue(&mut session, jobs).map_err(StoreError::from)??;
        session
            .counts
            .write(transaction)
            .map_err(StoreError::from)?;
        Ok(answer)
    }

    fn check_is_ours(&self, connection: &rusqlite::Connection) -> Result<(), StoreError> {
        let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let theirs = connection.path().map(Path::new).map(whole);
        if theirs.as_deref() == Some(&*whole(&self.inner.path)) {
            return Ok(());
        }
        Err(StoreError::Broken(format!(
            "this connection is on {}, not on the store's file {}",
            theirs.unwrap_or_default().display(),
            self.inner.path.display(),
        )))
    }

    /// Tells sleepers to look for new jobs.
    pub fn wake(&self) {
        self.inner.waker.wake();
    }

    /// Has the writer do something in a transaction.
    async fn write<T: Send + 'static>(
        &self,
        rows: usize,
        run: impl FnMut(&mut Session<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.peek_or_write(rows, |_| Ok(None), run).await
    }

    /// The same, for what can often be answered without one.
    async fn peek_or_write<T: Send + 'static>(
        &self,
        rows: usize,
        peek: impl FnMut(&mut Session<'_>) -> Result<Option<T>, Fault> + Send + 'static,
        run: impl FnMut(&mut Session<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        let closed = || StoreError::Unavailable("it was closed".to_owned());
        let place = Arc::clone(&self.inner.room).acquire_owned().await;
        let (reply, answer) = oneshot::channel();
        let call = Call {
            peek,
            run,
            rows,
            value: None,
            reply,
            _place: place.map_err(|_| closed())?,
        };
        self.inner.send(Box::new(call)).map_err(|_| closed())?;
        answer.await.unwrap_or_else(|_| Err(closed()))
    }
}

/// There is no writer any more.
struct Closed;

impl Inner {
    fn send(&self, work: Box<dyn Work>) -> Result<(), Closed> {
        let queue = self.queue.read().unwrap_or_else(PoisonError::into_inner);
        let queue = queue.as_ref().ok_or(Closed)?;
        queue.send(work).map_err(|_| Closed)
    }

    fn close(&self) {
        // The last connection to go tidies up, and only the writer's may write: readers first.
        self.readers.close();
        *self.queue.write().unwrap_or_else(PoisonError::into_inner) = None;
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!(path = %self.path.display(), "the writer had panicked");
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.close();
    }
}

#[async_trait]
impl Store for SqliteStore {
    fn now(&self) -> Timestamp {
        self.inner.clock.now()
    }

    fn wakeups(&self) -> Wakeups {
        self.inner.waker.listen()
    }

    async fn enqueue(&self, jobs: Vec<NewJob>) -> Result<Vec<EnqueueResult>, EnqueueError> {
        let rows = jobs.len();
        self.write(rows, move |session| enqueue::enqueue(session, &jobs))
            .await?
    }

    async fn claim(&self, request: ClaimRequest) -> Result<ClaimResult, StoreError> {
        let rows = request.max;
        let peeked = request.clone();
        self.peek_or_write(
            rows,
            move |session| claim::peek(session, &peeked),
            move |session| claim::claim(session, &request),
        )
        .await
    }

    async fn renew(&self, renewals: Vec<Renewal>) -> Result<Vec<RenewResult>, StoreError> {
        self.write(renewals.len(), move |session| {
            each(&renewals, |renewal| change::renew(session, renewal))
        })
        .await
    }

    async fn step_result(&self, job: JobId, step: StepName) -> Result<Option<Payload>, StoreError> {
        let readers = &self.inner.readers;
        readers
            .read(move |reader| find::recall(&reader.conn, job, &step))
            .await
    }

    async fn save_step(
        &self,
        job: JobId,
        step: StepName,
        result: Payload,
    ) -> Result<Payload, StoreError> {
        self.write(1, move |session| {
            change::remember(session, job, &step, &result)
        })
        .await
    }

    async fn commit(&self, transitions: Vec<Transition>) -> Result<Vec<CommitResult>, StoreError> {
        self.write(transitions.len(), move |session| {
            each(&transitions, |transition| {
                commit::commit(session, transition)
            })
        })
        .await
    }

    async fn expired_leases(&self, limit: usize) -> Result<Vec<Claim>, StoreError> {
        let now = self.now();
        let readers = &self.inner.readers;
        readers
            .read(move |reader| find::expired(reader, now, limit))
            .await
    }

    async fn run_command(
        &self,
        jobs: Vec<JobId>,
        command: JobCommand,
        subscriptions: Arc<Subscriptions>,
    ) -> Result<Vec<Result<Job, CommandError>>, StoreError> {
        self.write(jobs.len(), move |session| {
            each(&jobs, |job| {
                change::command(session, *job, &command, &subscriptions)
            })
        })
        .await
    }

    async fn get_jobs(&self, ids: Vec<JobId>) -> Result<Vec<Option<Job>>, StoreError> {
        let readers = &self.inner.readers;
        readers.read(move |reader| find::jobs(reader, &ids)).await
    }

    async fn list_jobs(
        &self,
        filter: JobFilter,
        page: JobPageRequest,
    ) -> Result<Page<Job, JobId>, StoreError> {
        let now = self.now();
        let readers = &self.inner.readers;
        readers
            .read(move |reader| list::list(reader, &filter, page, now))
            .await
    }

    async fn count_jobs(&self, filter: JobFilter, most: u64) -> Result<u64, StoreError> {
        let now = self.now();
        let readers = &self.inner.readers;
        readers
            .read(move |reader| list::count(reader, &filter, most, now))
            .await
    }

    async fn list_attempts(
        &self,
        of: AttemptOwner,
        page: PageRequest<AttemptCursor>,
    ) -> Result<Page<Attempt, AttemptCursor>, StoreError> {
        let readers = &self.inner.readers;
        readers
            .read(move |reader| list::attempts(reader, of, page))
            .await
    }

    async fn lane_stats(&self, since: Timestamp) -> Result<Vec<LaneStats>, StoreError> {
        let now = self.now();
        let readers = &self.inner.readers;
        readers
            .read(move |reader| stats::stats(reader, since, now))
            .await
    }

    async fn minute_stats(
        &self,
        tenant: Option<Tenant>,
        since: Timestamp,
    ) -> Result<Vec<MinuteStats>, StoreError> {
        let readers = &self.inner.readers;
        readers
            .read(move |reader| stats::minutes(reader, tenant.as_ref(), since))
            .await
    }

    async fn set_queue_paused(
        &self,
        tenant: Tenant,
        queue: Queue,
        paused: bool,
    ) -> Result<(), StoreError> {
        self.write(1, move |session| {
            change::set_paused(session, &tenant, &queue, paused)
        })
        .await
    }

    async fn save_schedule(&self, schedule: Schedule) -> Result<ScheduleSaveResult, StoreError> {
        self.write(1, move |session| schedules::save(session, &schedule))
            .await
    }

    async fn delete_schedule(&self, id: ScheduleId) -> Result<bool, StoreError> {
        self.write(1, move |session| schedules::delete(session, id))
            .await
    }

    async fn list_schedules(
        &self,
        filter: ScheduleFilter,
        page: PageRequest<ScheduleId>,
    ) -> Result<Page<Schedule, ScheduleId>, StoreError> {
        let readers = &self.inner.readers;
        readers
            .read(move |reader| schedules::list(reader, &filter, page))
            .await
    }

    async fn due_schedules(&self, limit: usize) -> Result<DueSchedules, StoreError> {
        let now = self.now();
        let readers = &self.inner.readers;
        readers
            .read(move |reader| schedules::due(reader, now, limit))
            .await
    }

    async fn fire_schedules(
        &self,
        firings: Vec<FireRequest>,
    ) -> Result<Vec<FireResult>, StoreError> {
        let rows = firings.iter().map(|firing| firing.runs.len() + 1).sum();
        self.write(rows, move |session| {
            each(&firings, |firing| schedules::fire(session, firing))
        })
        .await
    }

    async fn list_ticks(
        &self,
        schedule: ScheduleId,
        page: PageRequest<Timestamp>,
    ) -> Result<Page<TickRecord, Timestamp>, StoreError> {
        let readers = &self.inner.readers;
        readers
            .read(move |reader| schedules::ticks(reader, schedule, page))
            .await
    }

    async fn save_document(
        &self,
        document: Document,
        outbox: Vec<NewJob>,
    ) -> Result<DocumentSaveResult, StoreError> {
        self.write(outbox.len() + 1, move |session| {
            documents::save(session, &document, &outbox)
        })
        .await
    }

    async fn list_documents(&self, space: DocumentKind) -> Result<Vec<Document>, StoreError> {
        let readers = &self.inner.readers;
        readers
            .read(move |reader| documents::list(reader, space))
            .await
    }

    async fn delete_document(&self, space: DocumentKind, id: String) -> Result<bool, StoreError> {
        self.write(1, move |session| documents::delete(session, space, &id))
            .await
    }

    async fn prune(&self, ended_before: Timestamp, limit: usize) -> Result<usize, StoreError> {
        self.write(limit, move |session| {
            prune::prune(session, ended_before, limit)
        })
        .await
    }
}

fn each<In, Out>(
    batch: &[In],
    verb: impl FnMut(&In) -> Result<Out, Fault>,
) -> Result<Vec<Out>, Fault> {
    batch.iter().map(verb).collect()
}

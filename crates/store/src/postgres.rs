//! Many nodes, one queue.
//!
//! # Layout
//!
//! * `open`, `tls`, `migrate`: reaching the database, its schema, the pool. The schema is in
//!   `migrations/`.
//! * `session`: what verbs work with. `time` is the database's; `names` are numbers.
//! * `listen`, `told`: wake-ups between nodes, and which news are worth one.
//! * `enqueue`, `claim`, `commit`, `change`, `schedules`, `documents`, `prune`: the verbs that
//!   write.
//! * `find`, `list`, `stats`: those that read.
//! * `rows`, `composite`, `counts`: values to columns and back. `upkeep`: what nobody asks for.
//!
//! Statements are in `sql/`, named after what they do.

mod change;
mod claim;
mod commit;
mod composite;
mod counts;
mod documents;
mod enqueue;
mod fault;
mod find;
mod list;
mod listen;
mod migrate;
mod names;
mod open;
mod prune;
mod rows;
mod schedules;
mod session;
mod stats;
mod time;
mod tls;
mod upkeep;
mod wake_filter;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use deadpool_postgres::Pool;
use steadfast_core::{
    Attempt, Claim, Job, JobCommand, JobId, NewJob, Payload, Queue, Schedule, ScheduleId, StepName,
    Subscriptions, Tenant, Timestamp, Transition,
};
use tokio::task::JoinHandle;

use crate::{
    AttemptCursor, AttemptOwner, ClaimRequest, ClaimResult, Clock, CommandError, CommitResult,
    Document, DocumentKind, DocumentSaveResult, DueSchedules, EnqueueError, EnqueueResult,
    FireRequest, FireResult, JobFilter, JobPageRequest, LaneStats, MinuteStats, OpenError, Page,
    PageRequest, RenewResult, Renewal, ScheduleFilter, ScheduleSaveResult, Store, StoreError,
    TickRecord, Wakeups,
};
use fault::Fault;
use listen::Wakes;
use names::Names;
use rows::Key;
use session::{Conn, Session, Shared, Texts};
use time::Time;
use wake_filter::WakeHints;

/// How often a transaction that the database took back is tried again.
const TRIES_MAX: usize = 10;

/// How a database is opened.
#[derive(Clone)]
pub struct PostgresOptions {
    /// The schema that everything lives in.
    pub schema: String,
    /// In place of the database's clock, for tests.
    pub clock: Option<Arc<dyn Clock>>,
    /// Connections for questions and changes; one more listens.
    pub connections: usize,
    /// How long to wait for a connection, and for an answer.
    pub timeout: Duration,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            schema: "steadfast".to_owned(),
            clock: None,
            connections: 8,
            timeout: Duration::from_secs(30),
        }
    }
}

impl PostgresOptions {
    #[must_use]
    pub fn schema(self, schema: &str) -> Self {
        Self {
            schema: schema.to_owned(),
            ..self
        }
    }

    #[must_use]
    pub fn clock(self, clock: impl Clock) -> Self {
        Self {
            clock: Some(Arc::new(clock)),
            ..self
        }
    }

    #[must_use]
    pub fn connections(self, connections: usize) -> Self {
        Self {
            connections,
            ..self
        }
    }

    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }
}

/// A store in a PostgreSQL database. Clones are the same store.
#[derive(Clone)]
pub struct PostgresStore {
    inner: Arc<Inner>,
    /// Stops with the last clone.
    _background: Arc<Background>,
}

struct Inner {
    shared: Arc<Shared>,
    pool: Pool,
    wakes: Arc<Wakes>,
    timeout: Duration,
    /// Which installation this is.
    id: Key,
}

struct Background(Vec<JoinHandle<()>>);

impl Drop for Background {
    fn drop(&mut self) {
        for task in &self.0 {
            task.abort();
        }
    }
}

impl Inner {
    async fn conn(&self) -> Result<Conn<'_>, Fault> {
        Ok(Conn {
            client: self.pool.get().await?,
            shared: &self.shared,
        })
    }
}

/// Does something on a connection, and again if the database took it back, for as long as the
/// store has timeout.
macro_rules! on_connection {
    ($store:expr, |$conn:ident| $work:expr) => {{
        let inner: &Inner = &$store.inner;
        let mut tries = 1;
        loop {
            let done = async {
                let mut owned = inner.conn().await?;
                let $conn = &mut owned;
                let work = async { $work.await };
                // The server gives up on a statement first, if it is there at all.
                match tokio::time::timeout(inner.timeout * 2, work).await {
                    Ok(done) => done,
                    Err(_) => {
                        // Its answer may still come, and would be taken for that to another.
                        drop(deadpool_postgres::Client::take(owned.client));
                        Err(Fault::Away("it did not answer in time".to_owned()))
                    }
                }
            };
            match done.await {
                Err(fault) if fault.is_worth_repeating() && tries < TRIES_MAX => tries += 1,
                done => break done.map_err(StoreError::from),
            }
        }
    }};
}

/// The same for what may make something due, whom that concerns is told afterwards.
macro_rules! with_news {
    ($store:expr, |$conn:ident, $news:ident| $work:expr) => {{
        let done = on_connection!($store, |$conn| async {
            let mut told = WakeHints::default();
            let $news = &mut told;
            let answer = $work.await?;
            Ok::<_, Fault>((answer, told))
        });
        done.map(|(answer, news)| {
            $store.inner.wakes.tell(&news, $store.now());
            answer
        })
    }};
}

impl PostgresStore {
    /// Opens a database, and brings its schema to what this binary knows.
    ///
    /// The address is a URL or words, as PostgreSQL's own client takes them: several hosts are
    /// tried in turn for the one that can be written to; `sslmode` is `disable`, `prefer` (the
    /// default), `require` or `verify-full`, with `sslrootcert` for who is trusted.
    pub async fn open(url: &str, options: PostgresOptions) -> Result<Self, OpenError> {
        let address = open::address(url, &options)?;
        let shared = Arc::new(Shared {
            texts: Texts::new(&options.schema),
            names: Names::default(),
            time: Time::new(options.clock.clone()),
        });
        let schema = open::migrate(&address, &shared.texts).await?;
        let wakes = Arc::new(Wakes::default());
        let name = open::name(&address, &options.schema);
        let listener = listen::run(address.clone(), options.schema.clone(), Arc::clone(&wakes));
        let inner = Arc::new(Inner {
            pool: open::pool(address, &shared, &options)?,
            shared,
            wakes,
            timeout: options.timeout,
            id: schema.id,
        });
        let measure = async {
            let conn = inner.conn().await?;
            upkeep::measure(&conn.session()).await
        };
        measure.await.map_err(|fault| OpenError::Database {
            name,
            why: fault.to_string(),
        })?;
        let upkeep = upkeep::run(Arc::downgrade(&inner));
        let background = Background(vec![tokio::spawn(listener), tokio::spawn(upkeep)]);
        Ok(Self {
            inner,
            _background: Arc::new(background),
        })
    }

    /// Brings a database to the schema this binary knows, and does nothing else.
    pub async fn migrate(url: &str, options: PostgresOptions) -> Result<(), OpenError> {
        let address = open::address(url, &options)?;
        let texts = Texts::new(&options.schema);
        open::migrate(&address, &texts).await.map(drop)
    }

    /// Stores jobs in a transaction of yours, on any connection to the same database: they
    /// exist, and nodes hear of them, if and only if you commit.
    ///
    /// On an error nothing was stored and your transaction can go on, unless the database
    /// itself says otherwise.
    pub async fn enqueue_in(
        &self,
        transaction: &tokio_postgres::Transaction<'_>,
        jobs: Vec<NewJob>,
    ) -> Result<Vec<EnqueueResult>, EnqueueError> {
        let theirs = Session {
            client: transaction.client(),
            cache: None,
            may_roll_back: true,
            shared: &self.inner.shared,
        };
        self.check_is_ours(&theirs).await?;
        let stored = async {
            // Numbers outlive your transaction, so they are given outside of it.
            let conn = self.inner.conn().await?;
            let numbered = enqueue::numbered(&conn.session(), jobs.iter()).await?;
            drop(conn);
            theirs.client.batch_execute("SAVEPOINT steadfast").await?;
            let answer = enqueue::keyed(&theirs, &numbered, &mut WakeHints::default()).await;
            let end = match &answer {
                Ok(Ok(_)) => {
                    let schema = self.inner.shared.texts.schema();
                    format!("RELEASE steadfast; NOTIFY {schema}")
                }
                _ => "ROLLBACK TO steadfast; RELEASE steadfast".to_owned(),
            };
            theirs.client.batch_execute(&end).await?;
            answer
        };
        stored.await.map_err(StoreError::from)?
    }

    async fn check_is_ours(&self, theirs: &Session<'_>) -> Result<(), StoreError> {
        let found = migrate::version(theirs.client, &self.inner.shared.texts).await;
        if found.is_ok_and(|found| found.id == self.inner.id) {
            return Ok(());
        }
        let why = "this connection is not to the store's database".to_owned();
        Err(StoreError::Broken(why))
    }
}

#[async_trait]
impl Store for PostgresStore {
    fn now(&self) -> Timestamp {
        self.inner.shared.time.now()
    }

    fn wakeups(&self) -> Wakeups {
        self.inner.wakes.waker.listen()
    }

    async fn enqueue(&self, jobs: Vec<NewJob>) -> Result<Vec<EnqueueResult>, EnqueueError> {
        with_news!(self, |conn, news| enqueue::enqueue(conn, &jobs, news))?
    }

    async fn claim(&self, request: ClaimRequest) -> Result<ClaimResult, StoreError> {
        let look = self.inner.wakes.told.looks();
        let claimed = on_connection!(self, |conn| claim::claim(&conn.session(), &request))?;
        look.was_told(claimed.next_due);
        Ok(claimed)
    }

    async fn renew(&self, renewals: Vec<Renewal>) -> Result<Vec<RenewResult>, StoreError> {
        on_connection!(self, |conn| change::renew(&conn.session(), &renewals))
    }

    async fn step_result(&self, job: JobId, step: StepName) -> Result<Option<Payload>, StoreError> {
        on_connection!(self, |conn| find::recall(&conn.session(), job, &step))
    }

    async fn save_step(
        &self,
        job: JobId,
        step: StepName,
        result: Payload,
    ) -> Result<Payload, StoreError> {
        on_connection!(self, |conn| change::remember(
            &conn.session(),
            job,
            &step,
            &result
        ))
    }

    async fn commit(&self, transitions: Vec<Transition>) -> Result<Vec<CommitResult>, StoreError> {
        with_news!(self, |conn, news| commit::commit(conn, &transitions, news))
    }

    async fn expired_leases(&self, limit: usize) -> Result<Vec<Claim>, StoreError> {
        let now = self.now();
        on_connection!(self, |conn| find::expired(&conn.session(), now, limit))
    }

    async fn run_command(
        &self,
        jobs: Vec<JobId>,
        command: JobCommand,
        subscriptions: Arc<Subscriptions>,
    ) -> Result<Vec<Result<Job, CommandError>>, StoreError> {
        with_news!(self, |conn, news| change::command(
            conn,
            &jobs,
            &command,
            &subscriptions,
            news
        ))
    }

    async fn get_jobs(&self, ids: Vec<JobId>) -> Result<Vec<Option<Job>>, StoreError> {
        on_connection!(self, |conn| find::jobs(&conn.session(), &ids))
    }

    async fn list_jobs(
        &self,
        filter: JobFilter,
        page: JobPageRequest,
    ) -> Result<Page<Job, JobId>, StoreError> {
        let now = self.now();
        on_connection!(self, |conn| list::list(&conn.session(), &filter, page, now))
    }

    async fn count_jobs(&self, filter: JobFilter, most: u64) -> Result<u64, StoreError> {
        let now = self.now();
        on_connection!(self, |conn| list::count(
            &conn.session(),
            &filter,
            most,
            now
        ))
    }

    async fn list_attempts(
        &self,
        of: AttemptOwner,
        page: PageRequest<AttemptCursor>,
    ) -> Result<Page<Attempt, AttemptCursor>, StoreError> {
        on_connection!(self, |conn| list::attempts(&conn.session(), of, page))
    }

    async fn lane_stats(&self, since: Timestamp) -> Result<Vec<LaneStats>, StoreError> {
        let now = self.now();
        on_connection!(self, |conn| stats::stats(conn, since, now))
    }

    async fn minute_stats(
        &self,
        tenant: Option<Tenant>,
        since: Timestamp,
    ) -> Result<Vec<MinuteStats>, StoreError> {
        on_connection!(self, |conn| stats::minutes(
            &conn.session(),
            tenant.as_ref(),
            since
        ))
    }

    async fn set_queue_paused(
        &self,
        tenant: Tenant,
        queue: Queue,
        paused: bool,
    ) -> Result<(), StoreError> {
        with_news!(self, |conn, news| async {
            if !paused {
                news.for_everybody();
            }
            change::set_paused(&conn.session(), &tenant, &queue, paused).await
        })
    }

    async fn save_schedule(&self, schedule: Schedule) -> Result<ScheduleSaveResult, StoreError> {
        with_news!(self, |conn, news| async {
            news.for_everybody();
            schedules::save(&conn.session(), &schedule).await
        })
    }

    async fn delete_schedule(&self, id: ScheduleId) -> Result<bool, StoreError> {
        on_connection!(self, |conn| schedules::delete(&conn.session(), id))
    }

    async fn list_schedules(
        &self,
        filter: ScheduleFilter,
        page: PageRequest<ScheduleId>,
    ) -> Result<Page<Schedule, ScheduleId>, StoreError> {
        on_connection!(self, |conn| schedules::list(&conn.session(), &filter, page))
    }

    async fn due_schedules(&self, limit: usize) -> Result<DueSchedules, StoreError> {
        let now = self.now();
        on_connection!(self, |conn| schedules::due(conn, now, limit))
    }

    async fn fire_schedules(
        &self,
        firings: Vec<FireRequest>,
    ) -> Result<Vec<FireResult>, StoreError> {
        let mut answers = Vec::with_capacity(firings.len());
        for firing in &firings {
            let fired = with_news!(self, |conn, news| schedules::fire(conn, firing, news));
            answers.push(fired?);
        }
        Ok(answers)
    }

    async fn list_ticks(
        &self,
        schedule: ScheduleId,
        page: PageRequest<Timestamp>,
    ) -> Result<Page<TickRecord, Timestamp>, StoreError> {
        on_connection!(self, |conn| schedules::ticks(
            &conn.session(),
            schedule,
            page
        ))
    }

    async fn save_document(
        &self,
        document: Document,
        outbox: Vec<NewJob>,
    ) -> Result<DocumentSaveResult, StoreError> {
        with_news!(self, |conn, news| documents::save(
            conn, &document, &outbox, news
        ))
    }

    async fn list_documents(&self, space: DocumentKind) -> Result<Vec<Document>, StoreError> {
        on_connection!(self, |conn| documents::list(&conn.session(), space))
    }

    async fn delete_document(&self, space: DocumentKind, id: String) -> Result<bool, StoreError> {
        on_connection!(self, |conn| documents::delete(&conn.session(), space, &id))
    }

    async fn prune(&self, ended_before: Timestamp, limit: usize) -> Result<usize, StoreError> {
        let now = self.now();
        on_connection!(self, |conn| prune::prune(
            &conn.session(),
            ended_before,
            limit,
            now
        ))
    }
}

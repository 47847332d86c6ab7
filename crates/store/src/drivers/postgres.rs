//! Many nodes, one queue.
//!
//! # Layout
//!
//! * `open`: reaching the database, and its schema.
//! * `inner`, `session`: how verbs get a connection, and what they work with. `servers` says which
//!   server takes writes, and which connections survive a failover; `time` is the database's.
//! * `listen`, `poll`: wake-ups between nodes, and from transactions of others. `upkeep`, `sweeps`: what is done in the background.
//! * `jobs`: the hot verbs of a job's life; `days` are the partitions of ended ones. `claim`: which jobs start. `queries`: lists and counts.
//! * `transaction`: what the verbs of `crate::verbs` get of this driver.
//! * `waiting`: limits of waiting jobs.
//! * `names`, `counts`: the numbers of names, and what is counted of jobs.
//! * `rows`, `values`, `key`, `composite`: rows and columns.
//!
//! The statements of a module are in the folder of its name.

mod claim;
mod composite;
mod counts;
mod inner;
mod jobs;
mod key;
mod listen;
mod names;
mod open;
mod poll;
mod queries;
mod rows;
mod servers;
mod session;
mod sweeps;
mod time;
mod transaction;
mod upkeep;
mod values;
mod waiting;

use claim::{due_cache, known_gates, start};
use counts::recount;
use jobs::{change, commit, enqueue, failures, insert, unique};
use open::{migrate, options, pooler};
use queries::{get, stats};

use std::sync::{Arc, Mutex};

use steadfast_core::{Gates, NewJob, Timestamp};
use tokio::task::JoinHandle;

use crate::{
    damage::DamageLog,
    drivers::driver_error::{self, DriverError},
    drivers::sql::encryption::Cipher,
    error::{EnqueueError, OpenError, StoreError},
    limits::{NOTIFY_BYTES_MAX, TRANSACTION_TRIES_MAX},
    store::{BaseStore, EnqueueResult, GateSettings},
    tables::MoveMark,
    verbs::{event_position::EventPosition, gates},
    wake::{WakeInterest, WakeReasons, Wakeups},
};
use inner::{Inner, on_one_connection};
use listen::Listener;
use names::cache::Names;
use servers::Servers;
use session::{PoolContext, Session, SqlTexts};
use sweeps::Sweeps;
use time::DatabaseClock;
use waiting::shared_limits::SharedLimits;

pub use options::PostgresOptions;

/// A store in a PostgreSQL database. Clones are the same store.
#[derive(Clone)]
pub struct PostgresStore {
    inner: Arc<Inner>,
    /// Stops with the last clone.
    _background: Arc<BackgroundTasks>,
}

struct BackgroundTasks(Vec<JoinHandle<()>>);

impl Drop for BackgroundTasks {
    fn drop(&mut self) {
        for task in &self.0 {
            task.abort();
        }
    }
}

impl PostgresStore {
    /// Opens a database, and brings its schema to what this binary knows.
    ///
    /// The address is a URL or words, as PostgreSQL's own client takes them. Of several hosts, the
    /// one that can be written to is used, and after a failover the one that was promoted; `sslmode` is `disable`, `prefer` (the
    /// default), `require` or `verify-full`, with `sslrootcert` for the certificates that are
    /// trusted.
    pub async fn open(url: &str, options: PostgresOptions) -> Result<Self, OpenError> {
        let servers = open::servers(url, &options)?;
        let direct = options.direct.as_deref();
        let direct = direct.map(|url| open::servers(url, &options)).transpose()?;
        let name = open::name(&servers, &options.schema);
        let settings = pooler::transaction_settings(&servers, options.timeout, direct.is_some());
        let settings = settings.await;
        let settings = settings.map_err(|error| open::open_error(name.clone(), error))?;
        let listening = match (&settings, direct) {
            (Some(_), direct) => direct,
            (None, _) => Some(Arc::clone(&servers)),
        };
        let shared = Arc::new(PoolContext {
            texts: SqlTexts::new(&options.schema),
            settings,
            names: Names::default(),
            clock: DatabaseClock::new(options.clock.clone()),
            damage: DamageLog::default(),
            cipher: Cipher::new(options.encryption.clone()),
            due: Arc::default(),
            sweeps: Sweeps::default(),
            waiting_limits: SharedLimits::default(),
            pruned_to: Mutex::default(),
            event_position: EventPosition::default(),
        });
        let schema = match options.existing {
            true => open::find_schema(&servers, &shared.texts).await?,
            false => open::migrate(&servers, &shared.texts).await?,
        };
        let listener = Arc::new(Listener::new(Arc::clone(&shared.due), listening.is_some()));
        let [lists, work] = Inner::doors(options.connections);
        let inner = Arc::new(Inner {
            lists,
            work,
            pool: open::pool(&servers, &shared, &options)?,
            servers,
            shared,
            listener,
            timeout: options.timeout,
            id: schema.id,
        });
        let measure = async {
            let conn = inner.conn().await?;
            upkeep::measure_clock(&conn.session()).await?;
            open::move_mark(&conn.session()).await
        };
        let mark = measure.await;
        let mark = mark.map_err(|error| open::open_error(name.clone(), error))?;
        if let Some((side, mark)) = mark.filter(|_| !options.for_move) {
            let reason = MoveMark::refusal(&side, &mark);
            return Err(OpenError::Moved { name, reason });
        }
        if !options.for_move {
            inner.check_encryption(name).await?;
        }
        let mut store = Self {
            inner,
            _background: Arc::new(BackgroundTasks(Vec::new())),
        };
        if !options.for_move {
            store.prepare_days().await;
        }
        let background = background(&store.inner, listening, &options);
        store._background = Arc::new(BackgroundTasks(background));
        Ok(store)
    }

    /// Brings a database to the schema this binary knows, and does nothing else.
    pub async fn migrate(url: &str, options: PostgresOptions) -> Result<(), OpenError> {
        let servers = open::servers(url, &options)?;
        let texts = SqlTexts::new(&options.schema);
        open::migrate(&servers, &texts).await.map(drop)
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
        const OPERATION: &str = "enqueue_in";
        let theirs = Session {
            client: transaction.client(),
            cache: None,
            may_roll_back: true,
            shared: &self.inner.shared,
        };
        if !self.is_same_database(&theirs).await {
            let why = "this connection is to a different database than the store";
            return Err(StoreError::broken(OPERATION, why).into());
        }
        gates::refresh(self).await?;
        let stored = async {
            // Numbers outlive your transaction, so they are given outside of it.
            let inner = &*self.inner;
            let number = on_one_connection!(inner, |conn| async {
                let mut none = WakeReasons::default();
                enqueue::numbered(&conn.session(), &jobs, &mut none).await
            });
            let numbered = match number.await? {
                Ok(numbered) => numbered,
                Err(full) => return Ok(Err(full)),
            };
            if !names::hold(&theirs, &numbered).await? {
                self.inner.shared.names.forget_stored();
                return Err(DriverError::unreadable("lane", "it was deleted meanwhile"));
            }
            let (mut hints, mut tries) = (WakeReasons::default(), 1);
            let answer = loop {
                theirs.client.batch_execute("SAVEPOINT steadfast").await?;
                let answer = enqueue::enqueue_in(&theirs, &numbered, &mut hints).await;
                if matches!(answer, Ok(Ok(_))) {
                    break answer;
                }
                let undo = "ROLLBACK TO steadfast; RELEASE steadfast";
                theirs.client.batch_execute(undo).await?;
                // A job that they wait for may have moved while it was waited for.
                let is_worth_repeating =
                    answer.as_ref().is_err_and(DriverError::is_worth_repeating);
                if !is_worth_repeating || tries >= TRANSACTION_TRIES_MAX {
                    return answer;
                }
                (hints, tries) = (WakeReasons::default(), tries + 1);
            };
            theirs.client.batch_execute("RELEASE steadfast").await?;
            // Not by NOTIFY, for which commits of the whole server would wait for each other.
            let messages = hints.to_messages(NOTIFY_BYTES_MAX);
            theirs.execute(poll::REQUEST, &[&messages]).await?;
            answer
        };
        stored
            .await
            .map_err(|error: DriverError| error.in_operation(OPERATION))?
    }

    async fn is_same_database(&self, theirs: &Session<'_>) -> bool {
        let found = migrate::version(theirs.client, &self.inner.shared.texts).await;
        found.is_ok_and(|found| found.id == self.inner.id)
    }
}

/// What runs until the store is dropped.
fn background(
    inner: &Arc<Inner>,
    listening: Option<Arc<Servers>>,
    options: &PostgresOptions,
) -> Vec<JoinHandle<()>> {
    // Rows that are moved must stay as they are until they are compared.
    let mut background = Vec::new();
    let servers = Arc::clone(&inner.servers);
    background.push(tokio::spawn(async move { servers.watch().await }));
    if !options.for_move {
        background.push(tokio::spawn(upkeep::run(Arc::downgrade(inner))));
        background.push(tokio::spawn(poll::run(Arc::downgrade(inner))));
    }
    if let Some(listening) = listening {
        let (others, listener) = (Arc::clone(&inner.servers), Arc::clone(&inner.listener));
        let listen = listen::run(listening, others, options.schema.clone(), listener);
        background.push(tokio::spawn(listen));
    } else if !options.for_move {
        tracing::warn!(
            "the store is reached through a pooler, where nodes cannot LISTEN: this node looks for the work of other nodes four times a second; --store-direct gives it an address of the server itself"
        );
    }
    background
}

impl BaseStore for PostgresStore {
    fn now(&self) -> Timestamp {
        self.inner.shared.clock.now()
    }

    fn wakeups_for(&self, interest: WakeInterest) -> Wakeups {
        self.inner.listener.waker.listen(interest)
    }

    fn set_gate_settings(&self, settings: GateSettings) {
        self.inner.shared.due.gates.set_settings(settings);
    }

    fn known_gates(&self) -> Option<Arc<Gates>> {
        self.inner.shared.due.gates.known()
    }

    #[cfg(feature = "_testing")]
    fn distort_gates(&self, gates: Option<Arc<Gates>>) {
        self.inner.shared.due.gates.distort(gates);
    }
}

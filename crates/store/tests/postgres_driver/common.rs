//! What the tests of the PostgreSQL driver share.

use std::{
    future::poll_fn,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use steadfast_core::{
    Claim, Dice, JobId, Kind, NewJob, Outcome, Payload, Preset, Schedule, ScheduleId, ScheduleName,
    Subscriptions, TickRule, Timetable, Transition, WorkerName, after_attempt,
};
use steadfast_store::{
    BaseStore as _, ClaimRequest, PostgresOptions, PostgresStore, Wakeups,
    testing::Server,
    tokio_postgres::{self, AsyncMessage, Client, NoTls},
};
use tokio::task::JoinHandle;

/// A schema of its own in the server that all tests share.
pub struct TestDatabase {
    pub schema: String,
    pub url: String,
}

impl TestDatabase {
    pub fn new() -> Self {
        let schema = Server::shared().fresh_schema();
        // So that a test can tell its connections from those of the others.
        let url = format!("{} application_name={schema}", Server::shared().url());
        Self { schema, url }
    }

    pub fn options(&self) -> PostgresOptions {
        PostgresOptions::default().schema(&self.schema)
    }

    pub async fn open(&self) -> PostgresStore {
        PostgresStore::open(&self.url, self.options())
            .await
            .unwrap()
    }

    /// A database of its own in which a session holds an old snapshot for as long as the connection is
    /// kept: in that of other tests it would keep their rows.
    pub async fn with_old_snapshot() -> (Self, Client) {
        let mut database = Self::new();
        database
            .execute(&format!("CREATE DATABASE {}", database.schema))
            .await;
        database.url = format!("{} dbname={}", database.url, database.schema);
        let holder = database.client().await;
        let snapshot = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1";
        holder.batch_execute(snapshot).await.unwrap();
        (database, holder)
    }

    /// How many entries of the indexes of these tables were read, once only the holder of the old
    /// snapshot is connected, and at least so many searches are known.
    pub async fn entries_read(&self, tables: &str, searches: i64) -> i64 {
        let told = format!(
            "SELECT coalesce(sum(idx_scan), 0)::bigint FROM pg_stat_user_indexes
             WHERE schemaname || '.' = 'steadfast.' AND relname IN ({tables})"
        );
        let gone = "SELECT count(*) FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid()
             AND backend_type = 'client backend'";
        let wait = async {
            // A connection says what it has read when it ends.
            while self.number(gone).await > 1 || self.number(&told).await < searches {
                // sleep: the server adds up what its connections read in the background
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), wait)
            .await
            .unwrap();
        self.number(&told.replace("idx_scan", "idx_tup_read")).await
    }

    /// The answer to SQL in which `steadfast.` stands for the schema.
    pub async fn number(&self, sql: &str) -> i64 {
        let client = self.client().await;
        let row = client.query_one(&self.sql(sql), &[]).await.unwrap();
        row.get(0)
    }

    /// Returns when a connection of a store waits for an advisory lock.
    pub async fn lock_waits(&self) {
        let blocked = format!(
            "SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid)
             WHERE locktype = 'advisory' AND NOT granted AND application_name = '{}'",
            self.schema
        );
        let wait = async {
            while self.number(&blocked).await == 0 {
                // sleep: the server says when one waits only if it is asked
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), wait)
            .await
            .unwrap();
    }

    /// A connection as a user of the database has one.
    pub async fn client(&self) -> Client {
        let url = format!("{} application_name=user", self.url);
        let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }

    /// What the next notification says, for as long as the connection is kept.
    pub async fn listen(&self) -> (Client, JoinHandle<String>) {
        let connected = tokio_postgres::connect(&Server::shared().url(), NoTls).await;
        let (client, mut connection) = connected.unwrap();
        let next = tokio::spawn(async move {
            loop {
                let message = poll_fn(|context| connection.poll_message(context)).await;
                if let AsyncMessage::Notification(received) = message.unwrap().unwrap() {
                    return received.payload().to_owned();
                }
            }
        });
        let listen = format!("LISTEN {}", self.schema);
        client.batch_execute(&listen).await.unwrap();
        (client, next)
    }

    /// Runs SQL in which `steadfast.` stands for the schema.
    pub async fn execute(&self, sql: &str) {
        let sql = self.sql(sql);
        self.client().await.batch_execute(&sql).await.unwrap();
    }

    pub fn sql(&self, sql: &str) -> String {
        sql.replace("steadfast.", &format!("{}.", self.schema))
    }
}

static NUMBERS: AtomicU64 = AtomicU64::new(1);

/// A job that is due.
pub fn job(store: &PostgresStore) -> NewJob {
    let random = NUMBERS.fetch_add(1, Ordering::Relaxed) << 2;
    NewJob::new(
        JobId::new(store.now(), random),
        Kind::new("mail").unwrap(),
        Payload::default(),
        Arc::new(Preset::Queue.policy()),
    )
}

/// A schedule of every second whose first tick has come.
pub fn schedule(store: &PostgresStore, name: &str) -> Schedule {
    let began = store.now().minus(Duration::from_secs(5));
    let timetable = Timetable::new(TickRule::Every(Duration::from_secs(1))).unwrap();
    Schedule {
        id: ScheduleId::new(began, NUMBERS.fetch_add(1, Ordering::Relaxed) << 2),
        name: ScheduleName::new(name).unwrap(),
        progress: timetable.begin(began),
        timetable,
        template: job(store),
        paused: false,
        created_at: began,
        revision: 0,
    }
}

pub fn jobs(store: &PostgresStore, count: usize) -> Vec<NewJob> {
    (0..count).map(|_| job(store)).collect()
}

pub fn request(max: usize) -> ClaimRequest {
    ClaimRequest::new(WorkerName::new("w1").unwrap(), max)
}

pub fn success(store: &PostgresStore, claim: Claim) -> Transition {
    let outcome = Outcome::Success { output: None };
    let ended = claim.end(outcome, store.now());
    after_attempt(&ended, &Subscriptions::default(), Dice::new(0))
}

/// The bound is only for a driver that never wakes.
pub async fn woken(wakeups: &mut Wakeups) {
    let woken = tokio::time::timeout(Duration::from_secs(20), wakeups.next());
    assert!(woken.await.is_ok(), "no wake-up came");
}

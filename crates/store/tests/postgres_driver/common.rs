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

//! Connections that break, servers that restart, answers that get lost, clocks that are wrong.

mod failover;
mod unreadable_rows;

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use steadfast_core::{
    Dice, JobCommand, Payload, Subscriptions, Tally, Timestamp, Transition, after_attempt,
};
use steadfast_store::{
    BaseStore as _, ClaimRequest, CommitResult, EnqueueResult, FireRequest, FireResult, JobDetail,
    JobStore as _, ManualClock, PostgresOptions, PostgresStore, QueryStore as _,
    ScheduleStore as _, WakeInterest, testing::Server,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{UnixListener, UnixStream},
};

use crate::common::{TestDatabase, job, jobs, request, schedule, success, woken};

#[tokio::test]
async fn another_node_hears_of_new_jobs() {
    let database = TestDatabase::new();
    let [ours, theirs] = [database.open().await, database.open().await];
    let mut wakeups = theirs.wakeups();
    let mut named = theirs.wakeups_for(WakeInterest::of(&ClaimRequest {
        kinds: vec![job(&theirs).kind],
        ..request(1)
    }));
    // The first wake-up is for having begun to listen.
    woken(&mut wakeups).await;
    woken(&mut named).await;
    for _ in 0..3 {
        ours.enqueue(jobs(&ours, 1), None).await.unwrap();
        woken(&mut wakeups).await;
        woken(&mut named).await;
        theirs.claim(request(10)).await.unwrap();
    }
}

/// The notification of the other node may be under way, and this caller does not wait for it.
#[tokio::test]
async fn a_claim_that_does_not_wait_finds_what_another_node_has_just_stored() {
    let database = TestDatabase::new();
    let [ours, theirs] = [database.open().await, database.open().await];
    for _ in 0..20 {
        let id = ours.enqueue(jobs(&ours, 1), None).await.unwrap()[0].id();
        let thorough = ClaimRequest {
            is_thorough: true,
            ..request(1)
        };
        let claims = theirs.claim(thorough).await.unwrap().claims;
        assert_eq!(claims[0].job().id, id);
    }
}

#[tokio::test]
async fn a_listener_that_lost_its_connection_wakes_everybody_and_listens_again() {
    let database = TestDatabase::new();
    let [ours, theirs] = [database.open().await, database.open().await];
    let mut wakeups = theirs.wakeups();
    woken(&mut wakeups).await;
    terminate_all(&database).await;
    // Notifications that were sent meanwhile are lost.
    woken(&mut wakeups).await;
    let mut stored = ours.enqueue(jobs(&ours, 1), None).await;
    // A connection of the pool may find out only now that it is gone.
    while stored.is_err() {
        stored = ours.enqueue(jobs(&ours, 1), None).await;
    }
    woken(&mut wakeups).await;
}

async fn terminate_all(database: &TestDatabase) {
    let sql =
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = $1";
    let client = database.client().await;
    let row = client.query_one(sql, &[&database.schema]).await.unwrap();
    assert!(row.get::<_, i64>(0) > 1);
}

#[tokio::test]
async fn a_restart_of_the_server_is_waited_out_and_nothing_is_lost() {
    let server = Server::start().unwrap();
    let options = PostgresOptions::default().timeout(Duration::from_secs(5));
    let store = PostgresStore::open(&server.url(), options).await.unwrap();
    store.enqueue(jobs(&store, 2), None).await.unwrap();
    let claim = store.claim(request(1)).await.unwrap().claims.remove(0);
    let transition = success(&store, claim);
    let before = store.now();

    server.crash().unwrap();
    let error = store.commit(vec![transition.clone()]).await.unwrap_err();
    assert!(error.is_transient(), "{error}");
    assert!(store.now() >= before, "time goes on without the database");
    server.resume().unwrap();

    let mut wakeups = store.wakeups();
    woken(&mut wakeups).await;
    assert_eq!(until_back(&store, transition).await, CommitResult::Done);
    assert_eq!(store.claim(request(9)).await.unwrap().claims.len(), 1);
}

/// As a node does: again, until it is not the connection that is to blame.
async fn until_back(store: &PostgresStore, transition: Transition) -> CommitResult {
    loop {
        match store.commit(vec![transition.clone()]).await {
            Ok(committed) => return committed[0],
            Err(error) => assert!(error.is_transient(), "{error}"),
        }
    }
}

#[tokio::test]
async fn what_was_written_is_recognised_when_its_answer_was_lost() {
    let database = TestDatabase::new();
    let proxy = Proxy::start(&database).await;
    let options = database.options().connections(1);
    let store = PostgresStore::open(&proxy.url(&database), options)
        .await
        .unwrap();
    // Statements are prepared by the first that needs them, and these are not to be lost.
    store.enqueue(jobs(&store, 1), None).await.unwrap();
    let mut new = job(&store);
    new.payload = Payload::encode(LOST).unwrap();
    let lost = store.enqueue(vec![new.clone()], None).await.unwrap_err();
    assert!(lost.to_string().contains("is unavailable"), "{lost}");
    proxy.stop_losing();
    let again = store.enqueue(vec![new.clone()], None).await.unwrap();
    assert_eq!(again, [EnqueueResult::Existing(new.id)]);

    let claims = store.claim(request(2)).await.unwrap().claims;
    let mut ends: Vec<Transition> = claims
        .into_iter()
        .map(|claim| success(&store, claim))
        .collect();
    store.commit(vec![ends.remove(0)]).await.unwrap();
    let mut transition = ends.remove(0);
    transition.to.note = Some(LOST.to_owned());
    proxy.lose();
    let lost = store.commit(vec![transition.clone()]).await.unwrap_err();
    assert!(lost.is_transient(), "{lost}");
    proxy.stop_losing();
    let again = store.commit(vec![transition.clone()]).await.unwrap();
    assert_eq!(again, [CommitResult::Done]);

    let stats = store.lane_stats(None, Timestamp::EPOCH).await.unwrap();
    let expected = Tally {
        attempts: 2,
        successes: 2,
        ..Tally::default()
    };
    assert_eq!((stats.len(), stats[0].total), (1, expected));
    let found = store
        .get_jobs(vec![transition.job], JobDetail::Full)
        .await
        .unwrap()
        .remove(0);
    assert_eq!(found.unwrap().progress, transition.to);
}

/// Stands between a store and its server, and loses the answers to requests that carry a mark.
struct Proxy {
    directory: tempfile::TempDir,
    loses: Arc<AtomicBool>,
}

const SOCKET: &str = ".s.PGSQL.5432";
const LOST: &str = "the answer to this is lost";

impl Proxy {
    async fn start(database: &TestDatabase) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join(SOCKET)).unwrap();
        let loses = Arc::new(AtomicBool::new(true));
        let host = database.url.split_whitespace().next().unwrap();
        let server = PathBuf::from(host.strip_prefix("host=").unwrap()).join(SOCKET);
        let flag = Arc::clone(&loses);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = UnixStream::connect(&server).await.unwrap();
                tokio::spawn(Self::pass(client, server, Arc::clone(&flag)));
            }
        });
        Self { directory, loses }
    }

    /// Passes everything on; after a marked request, only the server's answer is waited for,
    /// so that it has done what was asked, and then the connection is cut.
    async fn pass(mut client: UnixStream, mut server: UnixStream, loses: Arc<AtomicBool>) {
        let (mut asked, mut answered) = (vec![0; 64 * 1024], vec![0; 64 * 1024]);
        let mut is_lost = false;
        loop {
            tokio::select! {
                Ok(count @ 1..) = client.read(&mut asked) => {
                    let asked = &asked[..count];
                    let is_marked = asked.windows(LOST.len()).any(|part| part == LOST.as_bytes());
                    is_lost |= is_marked && loses.load(Ordering::SeqCst);
                    server.write_all(asked).await.unwrap();
                }
                Ok(count @ 1..) = server.read(&mut answered) => {
                    if is_lost {
                        return;
                    }
                    client.write_all(&answered[..count]).await.unwrap();
                }
                else => return,
            }
        }
    }

    fn url(&self, database: &TestDatabase) -> String {
        let host = self.directory.path().display();
        let schema = &database.schema;
        format!("host={host} user=postgres dbname=postgres application_name={schema}")
    }

    fn lose(&self) {
        self.loses.store(true, Ordering::SeqCst);
    }

    fn stop_losing(&self) {
        self.loses.store(false, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn a_caller_that_waits_too_long_for_a_lock_or_a_connection_gets_a_transient_error() {
    let database = TestDatabase::new();
    let options = database.options().connections(1);
    let options = options.timeout(Duration::from_secs(1));
    let store = PostgresStore::open(&database.url, options).await.unwrap();
    let id = store.enqueue(jobs(&store, 1), None).await.unwrap()[0].id();

    let mut client = database.client().await;
    let transaction = client.transaction().await.unwrap();
    let sql = database.sql("SELECT 1 FROM steadfast.job FOR UPDATE");
    transaction.query_one(&*sql, &[]).await.unwrap();
    // One waits for the lock, the others for its connection, which only one of them can get
    // before their patience ends.
    let cancel = || store.run_command(vec![id], JobCommand::Cancel, Arc::default(), None);
    let (first, second, third) = tokio::join!(cancel(), cancel(), cancel());
    let errors = [first, second, third].map(Result::unwrap_err);
    for error in &errors {
        assert!(error.is_transient(), "{error}");
    }
    let errors = errors.map(|error| error.to_string());
    for why in [
        "statement timeout",
        "no database connection became available",
    ] {
        let is_there = errors.iter().any(|error| error.contains(why));
        assert!(is_there, "{why} is not among {errors:?}");
    }
    transaction.rollback().await.unwrap();
    let commanded = store
        .run_command(vec![id], JobCommand::Cancel, Arc::default(), None)
        .await
        .unwrap();
    assert!(commanded[0].is_ok());
}

/// A node's own clock decides nothing: to it, a database whose clock is an hour ahead looks as
/// one that is right looks to a node whose clock is an hour behind.
#[tokio::test]
async fn time_is_the_databases_however_wrong_a_node_is() {
    let database = TestDatabase::new();
    database.open().await;
    database
        .execute(
            "CREATE OR REPLACE FUNCTION steadfast.time(given bigint) RETURNS bigint
             LANGUAGE sql VOLATILE AS $$
                SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + 3600000000
             $$",
        )
        .await;
    let store = database.open().await;
    let client = database.client().await;
    let sql = database.sql("SELECT steadfast.time(NULL)");
    let theirs: i64 = client.query_one(&*sql, &[]).await.unwrap().get(0);
    let apart = store.now().since(Timestamp::from_micros(theirs));
    assert!(apart < Duration::from_secs(5), "{apart:?}");

    let id = store.enqueue(jobs(&store, 1), None).await.unwrap()[0].id();
    let created_at = store.get_jobs(vec![id], JobDetail::Full).await.unwrap()[0]
        .as_ref()
        .unwrap()
        .created_at;
    assert!(created_at >= Timestamp::from_micros(theirs));
    let claim = store.claim(request(1)).await.unwrap().claims.remove(0);
    let progress = &claim.job().progress;
    let lease = progress.lease_until.unwrap().since(created_at);
    assert!(lease >= claim.job().lease, "{lease:?}");
    assert!(store.expired_leases(9).await.unwrap().is_empty());
    let committed = store.commit(vec![success(&store, claim)]).await.unwrap();
    assert_eq!(committed, [CommitResult::Done]);
}

#[tokio::test]
async fn text_that_postgres_cannot_store_is_stored_all_the_same() {
    let database = TestDatabase::new();
    let store = database.open().await;
    store.enqueue(jobs(&store, 1), None).await.unwrap();
    let claim = store.claim(request(1)).await.unwrap().claims.remove(0);
    let mut ended = claim.end(
        steadfast_core::Outcome::Failure {
            failure: steadfast_core::Failure::new(steadfast_core::FailureClass::VALIDATION, "a\0b"),
            output: None,
        },
        store.now(),
    );
    ended.set_note(&steadfast_core::Note::read("half\0way"));
    let transition = after_attempt(&ended, &Subscriptions::default(), Dice::new(0));
    let committed = store.commit(vec![transition.clone()]).await.unwrap();
    assert_eq!(committed, [CommitResult::Done]);
    let found = store
        .get_jobs(vec![transition.job], JobDetail::Full)
        .await
        .unwrap()
        .remove(0);
    assert_eq!(found.unwrap().progress, transition.to);
}

#[tokio::test]
async fn counters_that_drifted_are_reported_and_repaired() {
    let database = TestDatabase::new();
    let options = database.options().clock(ManualClock::default());
    let store = PostgresStore::open(&database.url, options).await.unwrap();
    store.enqueue(jobs(&store, 3), None).await.unwrap();
    let right = store.lane_stats(None, Timestamp::EPOCH).await.unwrap();
    let wrong = "DELETE FROM steadfast.count_change; DELETE FROM steadfast.waiting_count;
        DELETE FROM steadfast.lane_count; INSERT INTO steadfast.count_change (lane, waiting, failed)
        SELECT id, 5, -1 FROM steadfast.lane";
    database.execute(wrong).await;

    let differences = store.recount(false).await.unwrap();
    let told: Vec<_> = differences
        .iter()
        .map(|it| (it.counter.as_str(), it.found))
        .collect();
    assert_eq!(
        told,
        [("waiting", 3), ("failed", 0), ("waitingInMinute", 3)]
    );
    assert_eq!(store.recount(true).await.unwrap(), differences);
    assert_eq!(store.recount(true).await.unwrap(), []);
    assert_eq!(
        store.lane_stats(None, Timestamp::EPOCH).await.unwrap(),
        right
    );
}

#[tokio::test]
async fn a_schedule_that_is_being_changed_holds_up_no_other() {
    let database = TestDatabase::new();
    let store = database.open().await;
    let mut ids = Vec::new();
    for name in ["a", "b"] {
        let due = schedule(&store, name);
        ids.push(due.id);
        store.save_schedule(due, None, None).await.unwrap();
    }
    let mut other = database.client().await;
    let transaction = other.transaction().await.unwrap();
    let lock = database.sql("SELECT 1 FROM steadfast.record WHERE name = 'a' FOR UPDATE");
    transaction.query(&lock, &[]).await.unwrap();
    let due = store.due_schedules(10).await.unwrap().due;
    assert_eq!((due.len(), due[0].schedule.id), (1, ids[1]));
    let due = &due[0].schedule;
    let firing = |schedule: &_| FireRequest {
        schedule: *schedule,
        revision: due.revision,
        runs: Vec::new(),
        skipped: Vec::new(),
        cancel: None,
        subscriptions: Arc::default(),
        audit: None,
        progress: due.progress,
    };
    let firings = ids.iter().map(firing).collect();
    let fired = store.fire_schedules(firings).await.unwrap();
    assert_eq!(fired, [FireResult::Outdated, FireResult::Done]);
}

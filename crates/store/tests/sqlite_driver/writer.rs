//! One writer here, others elsewhere: group commit, locks, and transactions of users.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use steadfast_core::{IdempotencyKey, JobId, Timestamp};
use steadfast_store::{
    BaseStore as _, Clock, CommitResult, EnqueueError, EnqueueResult, JobDetail, JobFilter,
    JobStore as _, ManualClock, QueryStore as _, SqliteOptions, SqliteStore,
    rusqlite::{Connection, TransactionBehavior},
};

use crate::common::{TestDatabase, job, jobs, request, success};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_wait_together_share_transactions() {
    let database = TestDatabase::new();
    let store = database.open();
    // While another connection holds the lock, all requests wait.
    let mut other = Connection::open(&database.file).unwrap();
    let lock = other
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .unwrap();
    let before = store.transactions();
    let asked: Vec<_> = (0..500)
        .map(|_| {
            let (store, new) = (store.clone(), job(&store));
            tokio::spawn(async move { store.enqueue(vec![new], None).await.unwrap() })
        })
        .collect();
    while store.waiting() < 500 {
        tokio::task::yield_now().await;
    }
    drop(lock);
    for answer in asked {
        answer.await.unwrap();
    }
    // One: those that came while the first waited for the lock share its transaction.
    assert_eq!(store.transactions() - before, 1);
    assert_eq!(
        store
            .count_jobs(JobFilter::default(), u64::MAX)
            .await
            .unwrap()
            .count,
        500
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_stores_on_one_file_never_claim_the_same_job() {
    let database = TestDatabase::new();
    let stores = [database.open(), database.open()];
    stores[0]
        .enqueue(jobs(&stores[0], 3_000), None)
        .await
        .unwrap();
    let working: Vec<_> = stores
        .into_iter()
        .map(|store| {
            tokio::spawn(async move {
                let mut claimed = Vec::new();
                loop {
                    // Each also adds a few, so that both have to notice the other's.
                    if claimed.len() < 500 {
                        store.enqueue(jobs(&store, 10), None).await.unwrap();
                    }
                    let claims = store.claim(request(37)).await.unwrap().claims;
                    if claims.is_empty() {
                        return claimed;
                    }
                    claimed.extend(claims.iter().map(|claim| claim.job().id));
                    let ended = claims.into_iter().map(|claim| success(&store, claim));
                    store.commit(ended.collect()).await.unwrap();
                }
            })
        })
        .collect();
    let mut claimed: Vec<JobId> = Vec::new();
    for worker in working {
        claimed.extend(worker.await.unwrap());
    }
    let distinct: HashSet<JobId> = claimed.iter().copied().collect();
    assert_eq!(distinct.len(), claimed.len(), "a job was claimed twice");
    let store = database.open();
    let all = store
        .count_jobs(JobFilter::default(), u64::MAX)
        .await
        .unwrap()
        .count;
    assert_eq!(u64::try_from(claimed.len()).unwrap(), all);
    let lane = store.lane_stats(None, store.now()).await.unwrap().remove(0);
    assert_eq!((lane.succeeded, lane.ready, lane.running), (all, 0, 0));
}

#[tokio::test]
async fn what_fails_in_a_users_transaction_leaves_nothing_in_it() {
    let database = TestDatabase::new();
    let store = database.open();
    let mut user = Connection::open(&database.file).unwrap();
    let batch = jobs(&store, 40);
    // One of the last jobs cannot be stored.
    let refused: Vec<u8> = batch[35].id.bits().to_be_bytes().into();
    user.execute_batch("CREATE TABLE refused (id BLOB)")
        .unwrap();
    user.execute("INSERT INTO refused VALUES (?1)", [refused])
        .unwrap();
    user.execute_batch(
        "CREATE TRIGGER refuse BEFORE INSERT ON steadfast_job
         WHEN NEW.id IN (SELECT id FROM refused) BEGIN SELECT RAISE(FAIL, 'no room'); END",
    )
    .unwrap();
    let open = user.transaction().unwrap();
    store.enqueue_in(&open, &batch).unwrap_err();
    store.enqueue_in(&open, &batch[..1]).unwrap();
    open.commit().unwrap();
    let found = store.count_jobs(JobFilter::default(), u64::MAX).await;
    assert_eq!(found.unwrap().count, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_users_open_transaction_only_delays() {
    let database = TestDatabase::new();
    let store = database.open();
    let mut user = Connection::open(&database.file).unwrap();
    let open = user
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .unwrap();
    store.enqueue_in(&open, &[job(&store)]).unwrap();
    let asked = tokio::spawn({
        let (store, new) = (store.clone(), job(&store));
        async move { store.enqueue(vec![new], None).await }
    });
    // Reads do not wait, and do not see what is not committed.
    assert_eq!(
        store
            .count_jobs(JobFilter::default(), u64::MAX)
            .await
            .unwrap()
            .count,
        0
    );
    while store.waiting() == 0 {
        tokio::task::yield_now().await;
    }
    open.commit().unwrap();
    asked.await.unwrap().unwrap();
    assert_eq!(
        store
            .count_jobs(JobFilter::default(), u64::MAX)
            .await
            .unwrap()
            .count,
        2
    );
}

#[tokio::test]
async fn jobs_of_a_users_transaction_exist_from_its_commit_on() {
    let database = TestDatabase::new();
    let store = database.open();
    let mut user = Connection::open(&database.file).unwrap();
    user.execute_batch("CREATE TABLE orders (n INTEGER)")
        .unwrap();
    let new = job(&store);

    let open = user.transaction().unwrap();
    open.execute("INSERT INTO orders VALUES (1)", []).unwrap();
    let answer = store.enqueue_in(&open, std::slice::from_ref(&new)).unwrap();
    assert!(matches!(answer[..], [EnqueueResult::Created(id, _)] if id == new.id));
    assert_eq!(
        store.get_jobs(vec![new.id], JobDetail::Full).await.unwrap(),
        [None]
    );
    open.rollback().unwrap();
    assert_eq!(
        store.get_jobs(vec![new.id], JobDetail::Full).await.unwrap(),
        [None]
    );
    assert!(store.claim(request(1)).await.unwrap().claims.is_empty());

    let open = user.transaction().unwrap();
    store.enqueue_in(&open, std::slice::from_ref(&new)).unwrap();
    open.commit().unwrap();
    let claims = store.claim(request(2)).await.unwrap().claims;
    assert_eq!(
        claims.len(),
        1,
        "the claim notices what another connection wrote"
    );
    assert_eq!(claims[0].job().id, new.id);
    let lane = store.lane_stats(None, store.now()).await.unwrap().remove(0);
    assert_eq!((lane.running, lane.ready), (1, 0));
}

#[tokio::test]
async fn sleepers_are_woken_by_what_another_process_commits() {
    let database = TestDatabase::new();
    let (here, there) = (database.open(), database.open());
    let mut wakeups = here.wakeups();
    there.enqueue(jobs(&there, 1), None).await.unwrap();
    wakeups.next().await;
    assert_eq!(here.claim(request(1)).await.unwrap().claims.len(), 1);
}

#[tokio::test]
async fn a_conflict_in_one_request_leaves_its_neighbours_alone() {
    let database = TestDatabase::new();
    let store = database.open();
    let keyed = |priority| {
        let mut new = job(&store);
        new.idempotency_key = Some(IdempotencyKey::new("k").unwrap());
        new.priority = steadfast_core::Priority::new(priority).unwrap();
        new
    };
    let first = keyed(1);
    store.enqueue(vec![first.clone()], None).await.unwrap();
    let (plain, good) = (job(&store), job(&store));
    let (bad, good) = tokio::join!(
        store.enqueue(vec![plain.clone(), keyed(2)], None),
        store.enqueue(vec![good], None)
    );
    let Err(EnqueueError::Conflict { index, job, .. }) = bad else {
        panic!("{bad:?}");
    };
    assert_eq!((index, job), (1, first.id));
    assert!(good.is_ok());
    assert_eq!(
        store
            .get_jobs(vec![plain.id], JobDetail::Full)
            .await
            .unwrap(),
        [None]
    );
    assert_eq!(
        store
            .count_jobs(JobFilter::default(), u64::MAX)
            .await
            .unwrap()
            .count,
        2
    );
}

#[tokio::test]
async fn a_long_count_lets_a_short_question_go_first() {
    let database = TestDatabase::new();
    let options = SqliteOptions::default().readers(1);
    let store = SqliteStore::open(&database.file, options).unwrap();
    let mut ids = Vec::new();
    for _ in 0..3 {
        let new = jobs(&store, 1_000);
        ids.push(new[0].id);
        store.enqueue(new, None).await.unwrap();
    }
    // The counters do not tell when jobs were created.
    let filter = JobFilter {
        created_from: Some(Timestamp::EPOCH),
        ..JobFilter::default()
    };
    let count = store.count_jobs(filter, u64::MAX);
    tokio::pin!(count);
    tokio::select! {
        biased;
        count = &mut count => panic!("the count came first: {count:?}"),
        found = store.get_jobs(ids, JobDetail::Full) => assert_eq!(found.unwrap().len(), 3),
    }
    assert_eq!(count.await.unwrap().count, 3_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_counts_from_when_the_lock_was_got() {
    let database = TestDatabase::new();
    let clock = ManualClock::default();
    let options = SqliteOptions::default().clock(clock.clone());
    let store = SqliteStore::open(&database.file, options).unwrap();
    store.enqueue(vec![job(&store)], None).await.unwrap();
    let mut other = Connection::open(&database.file).unwrap();
    let lock = other
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .unwrap();
    let claiming = tokio::spawn({
        let store = store.clone();
        async move { store.claim(request(1)).await.unwrap() }
    });
    while store.waiting() < 1 {
        tokio::task::yield_now().await;
    }
    clock.advance(Duration::from_secs(3_600));
    drop(lock);
    let claimed = claiming.await.unwrap();
    let lease_until = claimed.claims[0].job().progress.lease_until.unwrap();
    assert!(lease_until > clock.now());
}

/// A claim remembers where its row was, but rows are deleted and their numbers given anew.
#[tokio::test]
async fn a_late_result_never_ends_another_job_that_got_its_number() {
    let database = TestDatabase::new();
    let store = database.open();
    let old = job(&store);
    let old_id = old.id;
    store.enqueue(vec![old], None).await.unwrap();
    let late = store.claim(request(1)).await.unwrap().claims.remove(0);
    let other = Connection::open(&database.file).unwrap();
    let key = old_id.bits().to_be_bytes();
    let gone = "DELETE FROM steadfast_job WHERE id = ?1";
    assert_eq!(other.execute(gone, [key]).unwrap(), 1);

    let new = job(&store);
    let new_id = new.id;
    store.enqueue(vec![new], None).await.unwrap();
    let claim = store.claim(request(1)).await.unwrap().claims.remove(0);
    assert_eq!(claim.fence(), late.fence());
    let late = success(&store, late);
    assert_eq!(
        store.commit(vec![late]).await.unwrap(),
        [CommitResult::Stale]
    );
    let found = store
        .get_jobs(vec![new_id], JobDetail::Full)
        .await
        .unwrap()
        .remove(0)
        .unwrap();
    assert_eq!(found.progress.state, steadfast_core::JobState::Running);
}

#[test]
fn a_connection_to_another_file_is_refused_by_name() {
    let (database, other) = (TestDatabase::new(), TestDatabase::new());
    let store = database.open();
    other.open().close();
    let elsewhere = Connection::open(&other.file).unwrap();
    let error = store.enqueue_in(&elsewhere, &[job(&store)]).unwrap_err();
    let text = error.to_string();
    assert!(text.contains(&other.file.display().to_string()), "{text}");
    let rows = "SELECT count(*) FROM steadfast_job";
    let count: u32 = elsewhere.query_row(rows, [], |row| row.get(0)).unwrap();
    assert_eq!(count, 0);
}

/// A clock that panics in the writer's thread when a test says so.
struct FaultyClock {
    clock: ManualClock,
    /// Calls by the writer until it panics; then it works again.
    calls_left: Arc<AtomicI64>,
}

impl Clock for FaultyClock {
    fn now(&self) -> steadfast_core::Timestamp {
        if std::thread::current().name() == Some("steadfast-sqlite")
            && self.calls_left.fetch_sub(1, Ordering::SeqCst) == 1
        {
            panic!("this clock is broken");
        }
        self.clock.now()
    }
}

#[tokio::test]
async fn a_panic_in_the_writer_is_the_fault_of_one_request_and_others_go_on() {
    let database = TestDatabase::new();
    let calls_left = Arc::new(AtomicI64::new(0));
    let clock = FaultyClock {
        clock: ManualClock::default(),
        calls_left: Arc::clone(&calls_left),
    };
    let store = SqliteStore::open(&database.file, SqliteOptions::default().clock(clock)).unwrap();
    store.enqueue(jobs(&store, 1), None).await.unwrap();
    // Before the transaction, and inside of it.
    for calls in [1, 2] {
        calls_left.store(calls, Ordering::SeqCst);
        let lost = job(&store);
        let id = lost.id;
        let error = store.enqueue(vec![lost], None).await.unwrap_err();
        assert_eq!(error.is_transient(), calls == 1, "{error}");
        assert_eq!(
            store.get_jobs(vec![id], JobDetail::Full).await.unwrap(),
            [None]
        );
        store.check_writable().await.unwrap();
        store.enqueue(jobs(&store, 1), None).await.unwrap();
    }
    assert_eq!(store.claim(request(9)).await.unwrap().claims.len(), 3);
    store.close();
    assert!(store.check_writable().await.unwrap_err().is_transient());
}

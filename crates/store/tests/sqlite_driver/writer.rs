//! One writer here, others elsewhere: group commit, locks, and transactions of users.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use steadfast_core::{
    IdempotencyKey, JobCommand, JobId, NewJob, PolicyPatch, Preset, Schedule, ScheduleId,
    ScheduleName, TickRule, Timestamp, Timetable, limits::DAY,
};
use steadfast_store::{
    BaseStore as _, Clock, CommitResult, EnqueueError, EnqueueResult, JobFilter, JobStore as _,
    ManualClock, QueryStore as _, ScheduleStore as _, SqliteOptions, SqliteStore,
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
            tokio::spawn(async move { store.enqueue(vec![new]).await.unwrap() })
        })
        .collect();
    while store.waiting() < 500 {
        tokio::task::yield_now().await;
    }
    drop(lock);
    for answer in asked {
        answer.await.unwrap();
    }
    let transactions = store.transactions() - before;
    assert!(transactions <= 3, "{transactions} transactions");
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
    stores[0].enqueue(jobs(&stores[0], 3_000)).await.unwrap();
    let working: Vec<_> = stores
        .into_iter()
        .map(|store| {
            tokio::spawn(async move {
                let mut claimed = Vec::new();
                loop {
                    // Each also adds a few, so that both have to notice the other's.
                    if claimed.len() < 500 {
                        store.enqueue(jobs(&store, 10)).await.unwrap();
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
    let lane = store.lane_stats(store.now()).await.unwrap().remove(0);
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
        async move { store.enqueue(vec![new]).await }
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
    assert_eq!(store.get_jobs(vec![new.id]).await.unwrap(), [None]);
    open.rollback().unwrap();
    assert_eq!(store.get_jobs(vec![new.id]).await.unwrap(), [None]);
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
    let lane = store.lane_stats(store.now()).await.unwrap().remove(0);
    assert_eq!((lane.running, lane.ready), (1, 0));
}

#[tokio::test]
async fn sleepers_are_woken_by_what_another_process_commits() {
    let database = TestDatabase::new();
    let (here, there) = (database.open(), database.open());
    let mut wakeups = here.wakeups();
    there.enqueue(jobs(&there, 1)).await.unwrap();
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
    store.enqueue(vec![first.clone()]).await.unwrap();
    let (plain, good) = (job(&store), job(&store));
    let (bad, good) = tokio::join!(
        store.enqueue(vec![plain.clone(), keyed(2)]),
        store.enqueue(vec![good])
    );
    let Err(EnqueueError::Conflict { index, job, .. }) = bad else {
        panic!("{bad:?}");
    };
    assert_eq!((index, job), (1, first.id));
    assert!(good.is_ok());
    assert_eq!(store.get_jobs(vec![plain.id]).await.unwrap(), [None]);
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
        store.enqueue(new).await.unwrap();
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
        found = store.get_jobs(ids) => assert_eq!(found.unwrap().len(), 3),
    }
    assert_eq!(count.await.unwrap().count, 3_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_counts_from_when_the_lock_was_got() {
    let database = TestDatabase::new();
    let clock = ManualClock::default();
    let options = SqliteOptions::default().clock(clock.clone());
    let store = SqliteStore::open(&database.file, options).unwrap();
    store.enqueue(vec![job(&store)]).await.unwrap();
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

#[tokio::test]
async fn a_row_that_cannot_be_read_does_not_hold_up_the_others() {
    let database = TestDatabase::new();
    let store = database.open();
    let (broken, whole) = (job(&store), job(&store));
    let (broken_id, whole_id) = (broken.id, whole.id);
    store.enqueue(vec![broken, whole]).await.unwrap();
    let other = Connection::open(&database.file).unwrap();
    let spoil = "UPDATE steadfast_job SET tags = 'no json' WHERE id = ?1";
    let key = broken_id.bits().to_be_bytes();
    assert_eq!(other.execute(spoil, [key]).unwrap(), 1);

    let claims = store.claim(request(10)).await.unwrap().claims;
    let claimed: Vec<JobId> = claims.iter().map(|claim| claim.job().id).collect();
    assert_eq!(claimed, [whole_id]);
    let page = steadfast_store::JobPageRequest::first(10);
    let listed = store.list_jobs(JobFilter::default(), page).await.unwrap();
    assert_eq!(listed.items.len(), 1);
    let error = store.get_jobs(vec![broken_id]).await.unwrap_err();
    let damaged = error.damaged_row().unwrap();
    assert!(damaged.reason.contains("tags"), "{damaged}");
    assert_eq!(damaged.tenant.as_ref().unwrap().as_str(), "default");
    let both = store.get_jobs(vec![broken_id, whole_id]).await.unwrap();
    assert!(both[0].is_none() && both[1].is_some());
    for store in [&store, &database.open()] {
        let listed = store.list_damaged().await.unwrap().rows;
        assert_eq!(
            listed,
            std::slice::from_ref(damaged),
            "also of one set aside before"
        );
    }
    // Mended, it is there again, and can be told to run.
    let mend = "UPDATE steadfast_job SET tags = NULL WHERE id = ?1";
    assert_eq!(other.execute(mend, [key]).unwrap(), 1);
    assert_eq!(store.list_damaged().await.unwrap().rows, []);
    let run_now = steadfast_core::JobCommand::RunNow;
    store
        .run_command(vec![broken_id], run_now, std::sync::Arc::default())
        .await
        .unwrap()[0]
        .as_ref()
        .unwrap();
    assert_eq!(store.claim(request(10)).await.unwrap().claims.len(), 1);
}

/// A claim remembers where its row was, but rows are deleted and their numbers given anew.
#[tokio::test]
async fn a_late_result_never_ends_another_job_that_got_its_number() {
    let database = TestDatabase::new();
    let store = database.open();
    let old = job(&store);
    let old_id = old.id;
    store.enqueue(vec![old]).await.unwrap();
    let late = store.claim(request(1)).await.unwrap().claims.remove(0);
    let other = Connection::open(&database.file).unwrap();
    let key = old_id.bits().to_be_bytes();
    let gone = "DELETE FROM steadfast_job WHERE id = ?1";
    assert_eq!(other.execute(gone, [key]).unwrap(), 1);

    let new = job(&store);
    let new_id = new.id;
    store.enqueue(vec![new]).await.unwrap();
    let claim = store.claim(request(1)).await.unwrap().claims.remove(0);
    assert_eq!(claim.fence(), late.fence());
    let late = success(&store, late);
    assert_eq!(
        store.commit(vec![late]).await.unwrap(),
        [CommitResult::Stale]
    );
    let found = store
        .get_jobs(vec![new_id])
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
    store.enqueue(jobs(&store, 1)).await.unwrap();
    // Before the transaction, and inside of it.
    for calls in [1, 2] {
        calls_left.store(calls, Ordering::SeqCst);
        let lost = job(&store);
        let id = lost.id;
        let error = store.enqueue(vec![lost]).await.unwrap_err();
        assert_eq!(error.is_transient(), calls == 1, "{error}");
        assert_eq!(store.get_jobs(vec![id]).await.unwrap(), [None]);
        store.check_writable().await.unwrap();
        store.enqueue(jobs(&store, 1)).await.unwrap();
    }
    assert_eq!(store.claim(request(9)).await.unwrap().claims.len(), 3);
    store.close();
    assert!(store.check_writable().await.unwrap_err().is_transient());
}

#[tokio::test]
async fn a_schedule_that_cannot_be_read_does_not_hold_up_the_others() {
    let database = TestDatabase::new();
    let store = database.open();
    let mut ids = Vec::new();
    for name in ["first", "second", "third"] {
        let schedule = schedule(&store, name);
        ids.push(schedule.id);
        store.save_schedule(schedule, None).await.unwrap();
    }
    // The longest due, and the newest in the list.
    let conn = Connection::open(&database.file).unwrap();
    let spoil = "UPDATE steadfast_record SET body = json_set(body, '$.timetable', 'never')
        WHERE kind = 'schedule' AND name IN ('first', 'third')";
    conn.execute(spoil, []).unwrap();
    // As many as are asked for come, although others come before them.
    let due = store.due_schedules(1).await.unwrap().due;
    assert_eq!(due[0].schedule.id, ids[1]);
    let page = steadfast_store::PageRequest::first(1);
    let listed = store
        .list_schedules(Default::default(), page)
        .await
        .unwrap();
    assert_eq!(listed.items[0].id, ids[1]);
    assert_eq!(listed.next, None);
    for _ in 0..2 {
        let damaged = store.list_damaged().await.unwrap().rows;
        let found: Vec<_> = damaged.iter().map(|row| (row.table, &*row.id)).collect();
        let [first, third] = [ids[0], ids[2]].map(|id| id.to_string());
        assert_eq!(found, [("schedule", &*first), ("schedule", &*third)]);
        assert!(damaged[0].reason.contains("timetable"), "{}", damaged[0]);
    }
    assert!(store.delete_schedule(ids[0], None).await.unwrap());
    assert_eq!(store.list_damaged().await.unwrap().rows.len(), 1);
}

/// A schedule of every second whose first tick has come.
fn schedule(store: &SqliteStore, name: &str) -> Schedule {
    let began = store.now().minus(Duration::from_secs(5));
    let timetable = Timetable::new(TickRule::Every(Duration::from_secs(1))).unwrap();
    Schedule {
        id: ScheduleId::from_bits(job(store).id.bits()),
        name: ScheduleName::new(name).unwrap(),
        progress: timetable.begin(began),
        timetable,
        template: job(store),
        paused: false,
        created_at: began,
        revision: 0,
    }
}

#[tokio::test]
async fn counters_that_drifted_are_reported_and_repaired() {
    let database = TestDatabase::new();
    let store = database.open();
    store.enqueue(jobs(&store, 3)).await.unwrap();
    let right = store.lane_stats(store.now()).await.unwrap();
    let drift = "UPDATE steadfast_lane SET waiting = -2, dead_letters = 7;
        DELETE FROM steadfast_waiting";
    let other = Connection::open(&database.file).unwrap();
    other.execute_batch(drift).unwrap();

    let differences = store.recount(false).await.unwrap();
    let told: Vec<_> = differences
        .iter()
        .map(|it| (it.counter.as_str(), it.counted, it.found))
        .collect();
    let expected = [
        ("waiting", -2, 3),
        ("deadLetters", 7, 0),
        ("waitingInMinute", 0, 3),
    ];
    assert_eq!(told, expected);
    assert_eq!(store.recount(true).await.unwrap(), differences);
    assert_eq!(store.recount(true).await.unwrap(), []);
    assert_eq!(store.lane_stats(store.now()).await.unwrap(), right);
}

/// Jobs that have a policy each, as an application makes them that computes one.
fn jobs_with_policies(store: &SqliteStore, retries: std::ops::Range<u32>) -> Vec<NewJob> {
    let with_policy = |retries| {
        let mut job = job(store);
        let patch = PolicyPatch::preset(Preset::Queue).max_retries(retries);
        job.policy = Arc::new(patch.build().unwrap());
        job
    };
    retries.map(with_policy).collect()
}

/// How often each stored policy retries.
fn policies(database: &TestDatabase) -> Vec<i64> {
    let conn = Connection::open(&database.file).unwrap();
    let sql = "SELECT json_extract(body, '$.maxRetries') FROM steadfast_policy ORDER BY 1";
    let mut retries = conn.prepare(sql).unwrap();
    let retries = retries.query_map([], |row| row.get(0)).unwrap();
    retries.collect::<Result<_, _>>().unwrap()
}

#[tokio::test]
async fn policies_that_no_job_has_are_deleted_and_can_be_used_again() {
    let database = TestDatabase::new();
    let clock = ManualClock::default();
    let open = || {
        let options = SqliteOptions::default().clock(clock.clone());
        SqliteStore::open(&database.file, options).unwrap()
    };
    let (store, other) = (open(), open());
    // The other one remembers that the first is stored.
    other
        .enqueue(jobs_with_policies(&other, 1..2))
        .await
        .unwrap();
    store
        .enqueue(jobs_with_policies(&store, 2..9))
        .await
        .unwrap();
    for claim in store.claim(request(10)).await.unwrap().claims {
        let ended = success(&store, claim);
        store.commit(vec![ended]).await.unwrap();
    }
    clock.advance(DAY * 2);
    assert_eq!(store.prune(store.now(), 10).await.unwrap(), 8);
    assert_eq!(store.prune_names(0).await.unwrap(), 0);
    // Used again since it was marked, though no job is left of it.
    let used = store
        .enqueue(jobs_with_policies(&store, 5..6))
        .await
        .unwrap();
    let cancel = JobCommand::Cancel;
    let used = vec![used[0].id()];
    store
        .run_command(used, cancel, Arc::default())
        .await
        .unwrap()[0]
        .as_ref()
        .unwrap();
    clock.advance(Duration::from_secs(1));
    assert_eq!(store.prune(store.now(), 10).await.unwrap(), 1);
    assert_eq!(policies(&database), [1, 2, 3, 4, 5, 6, 7, 8]);
    clock.advance(DAY);
    assert_eq!(store.prune_names(0).await.unwrap(), 7);
    assert_eq!(policies(&database), [5], "it was used");

    for store in [&other, &store] {
        let new = jobs_with_policies(store, 1..4);
        let ids = new.iter().map(|job| job.id).collect();
        let wanted: Vec<_> = new.iter().map(|job| job.policy.clone()).collect();
        store.enqueue(new).await.unwrap();
        let stored = store.get_jobs(ids).await.unwrap();
        let stored: Vec<_> = stored.into_iter().map(|job| job.unwrap().policy).collect();
        assert_eq!(stored, wanted);
    }
    assert_eq!(policies(&database), [1, 2, 3, 5]);
}

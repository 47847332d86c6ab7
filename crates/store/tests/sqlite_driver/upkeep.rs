//! Rows that cannot be read, counters that drifted, and policies that no job has.

use std::{sync::Arc, time::Duration};

use steadfast_core::{
    JobCommand, JobId, NewJob, PolicyPatch, Preset, Schedule, ScheduleId, ScheduleName, TickRule,
    Timetable, limits::DAY,
};
use steadfast_store::{
    BaseStore as _, JobDetail, JobFilter, JobStore as _, ManualClock, PruneRequest,
    QueryStore as _, ScheduleStore as _, SqliteOptions, SqliteStore, rusqlite::Connection,
};

use crate::common::{TestDatabase, job, jobs, request, success};

#[tokio::test]
async fn a_row_that_cannot_be_read_does_not_hold_up_the_others() {
    let database = TestDatabase::new();
    let store = database.open();
    let (broken, whole) = (job(&store), job(&store));
    let (broken_id, whole_id) = (broken.id, whole.id);
    store.enqueue(vec![broken, whole], None).await.unwrap();
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
    let error = store
        .get_jobs(vec![broken_id], JobDetail::Full)
        .await
        .unwrap_err();
    let damaged = error.damaged_row().unwrap();
    assert!(damaged.reason.contains("tags"), "{damaged}");
    assert_eq!(damaged.tenant.as_ref().unwrap().as_str(), "default");
    let both = store
        .get_jobs(vec![broken_id, whole_id], JobDetail::Full)
        .await
        .unwrap();
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
        .run_command(vec![broken_id], run_now, std::sync::Arc::default(), None)
        .await
        .unwrap()[0]
        .as_ref()
        .unwrap();
    assert_eq!(store.claim(request(10)).await.unwrap().claims.len(), 1);
}

#[tokio::test]
async fn a_schedule_that_cannot_be_read_does_not_hold_up_the_others() {
    let database = TestDatabase::new();
    let store = database.open();
    let mut ids = Vec::new();
    for name in ["first", "second", "third"] {
        let schedule = schedule(&store, name);
        ids.push(schedule.id);
        store.save_schedule(schedule, None, None).await.unwrap();
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
    store.enqueue(jobs(&store, 3), None).await.unwrap();
    let right = store.lane_stats(None, store.now()).await.unwrap();
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
    assert_eq!(store.lane_stats(None, store.now()).await.unwrap(), right);
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
        .enqueue(jobs_with_policies(&other, 1..2), None)
        .await
        .unwrap();
    store
        .enqueue(jobs_with_policies(&store, 2..9), None)
        .await
        .unwrap();
    for claim in store.claim(request(10)).await.unwrap().claims {
        let ended = success(&store, claim);
        store.commit(vec![ended]).await.unwrap();
    }
    clock.advance(DAY * 2);
    assert_eq!(prune_jobs(&store).await, 8);
    assert_eq!(prune_names(&store).await, 0);
    // Used again since it was marked, though no job is left of it.
    let used = store
        .enqueue(jobs_with_policies(&store, 5..6), None)
        .await
        .unwrap();
    let cancel = JobCommand::Cancel;
    let used = vec![used[0].id()];
    store
        .run_command(used, cancel, Arc::default(), None)
        .await
        .unwrap()[0]
        .as_ref()
        .unwrap();
    clock.advance(Duration::from_secs(1));
    assert_eq!(prune_jobs(&store).await, 1);
    assert_eq!(policies(&database), [1, 2, 3, 4, 5, 6, 7, 8]);
    clock.advance(DAY);
    assert_eq!(prune_names(&store).await, 7);
    assert_eq!(policies(&database), [5], "it was used");

    for store in [&other, &store] {
        let new = jobs_with_policies(store, 1..4);
        let ids = new.iter().map(|job| job.id).collect();
        let wanted: Vec<_> = new.iter().map(|job| job.policy.clone()).collect();
        store.enqueue(new, None).await.unwrap();
        let stored = store.get_jobs(ids, JobDetail::Full).await.unwrap();
        let stored: Vec<_> = stored.into_iter().map(|job| job.unwrap().policy).collect();
        assert_eq!(stored, wanted);
    }
    assert_eq!(policies(&database), [1, 2, 3, 5]);
}

async fn prune_jobs(store: &SqliteStore) -> usize {
    let request = PruneRequest::Jobs {
        ended_before: store.now(),
        limit: 100,
    };
    store.prune(request).await.unwrap()
}

async fn prune_names(store: &SqliteStore) -> usize {
    store.prune(PruneRequest::Names { keep: 0 }).await.unwrap()
}

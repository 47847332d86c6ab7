//! Partitions by day, while others use them.

use std::{sync::Arc, time::Duration};

use steadfast_core::{
    Dice, Failure, FailureClass, JobCommand, JobId, Outcome, Subscriptions, after_attempt,
    limits::DAY,
};
use steadfast_store::{
    BaseStore as _, JobDetail, JobStore as _, ManualClock, PostgresStore, PruneRequest,
    QueryStore as _, RenewResult, Renewal, SaveStepResult,
};

use crate::common::{TestDatabase, job, jobs, request, success};

const KEPT: Duration = Duration::from_secs(2 * 24 * 60 * 60);
const HOUR: Duration = Duration::from_secs(60 * 60);
/// Of the first day of a manual clock.
const FIRST: i64 = 20_454;

async fn open() -> (TestDatabase, ManualClock, PostgresStore) {
    let (database, clock) = (TestDatabase::new(), ManualClock::default());
    let options = database.options().clock(clock.clone());
    let store = PostgresStore::open(&database.url, options).await.unwrap();
    (database, clock, store)
}

async fn prune(store: &PostgresStore) -> usize {
    let request = PruneRequest::Jobs {
        ended_before: store.now().minus(KEPT),
        limit: 100,
    };
    store.prune(request).await.unwrap()
}

async fn succeed(store: &PostgresStore, count: usize) -> Vec<JobId> {
    let new = jobs(store, count);
    let ids = new.iter().map(|job| job.id).collect();
    store.enqueue(new, None).await.unwrap();
    let claims = store.claim(request(count)).await.unwrap().claims;
    assert_eq!(claims.len(), count);
    let ends = claims.into_iter().map(|claim| success(store, claim));
    store.commit(ends.collect()).await.unwrap();
    ids
}

/// How many jobs are in each partition, and how many attempts.
async fn placed(database: &TestDatabase) -> Vec<(i64, i64, i64)> {
    let sql = "SELECT day::bigint, sum(jobs)::bigint, sum(attempts)::bigint FROM (
            SELECT day, 1 AS jobs, 0 AS attempts FROM steadfast.job
            UNION ALL
            SELECT day, 0, 1 FROM steadfast.attempt
        ) AS rows GROUP BY day ORDER BY day";
    let client = database.client().await;
    let rows = client.query(&database.sql(sql), &[]).await.unwrap();
    let row = |row: &steadfast_store::tokio_postgres::Row| (row.get(0), row.get(1), row.get(2));
    rows.iter().map(row).collect()
}

#[tokio::test]
async fn ended_jobs_and_their_attempts_are_in_the_partition_of_their_day() {
    let (database, clock, store) = open().await;
    succeed(&store, 3).await;
    let cancelled = job(&store);
    let id = cancelled.id;
    store.enqueue(vec![cancelled], None).await.unwrap();
    let cancel = store.run_command(vec![id], JobCommand::Cancel, Arc::default(), None);
    cancel.await.unwrap().remove(0).unwrap();
    assert_eq!(placed(&database).await, [(-1, 1, 0), (FIRST, 3, 3)]);
    clock.advance(HOUR);
    assert_eq!(prune(&store).await, 0);
    assert_eq!(placed(&database).await, [(FIRST, 4, 3)]);

    // Days without a partition: before the first, and between two.
    clock.advance(DAY * 30);
    assert_eq!(prune(&store).await, 4);
    let mut new = jobs(&store, 2);
    for (job, days) in new.iter_mut().zip([40, 20]) {
        job.id = JobId::new(store.now().minus(DAY * days), 4);
    }
    let ids: Vec<JobId> = new.iter().map(|job| job.id).collect();
    store.enqueue(new, None).await.unwrap();
    let claims = store.claim(request(2)).await.unwrap().claims;
    let ends = claims.into_iter().map(|claim| success(&store, claim));
    store.commit(ends.collect()).await.unwrap();
    assert_eq!(placed(&database).await, [(0, 1, 1), (FIRST + 10, 1, 1)]);
    assert_eq!(prune(&store).await, 0);
    assert_eq!(placed(&database).await, [(0, 2, 2)]);
    let found = store.get_jobs(ids, JobDetail::Full).await.unwrap();
    assert!(found.iter().all(Option::is_some));
}

#[tokio::test]
async fn nothing_waits_for_a_day_that_somebody_reads() {
    let (database, clock, store) = open().await;
    let old = succeed(&store, 3).await;
    clock.advance(DAY + KEPT + HOUR);
    let mut reader = database.client().await;
    let reading = reader.transaction().await.unwrap();
    let read = database.sql("SELECT count(*) FROM steadfast.job");
    reading.query_one(&*read, &[]).await.unwrap();
    for _ in 0..2 {
        assert_eq!(prune(&store).await, 0);
        succeed(&store, 2).await;
        assert!(store.get_jobs(old.clone(), JobDetail::Full).await.unwrap()[0].is_some());
    }
    drop(reading);
    drop(reader);
    while prune(&store).await == 0 {
        // sleep: the server learns in the background that the reader is gone
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(
        store.get_jobs(old, JobDetail::Full).await.unwrap(),
        [None, None, None]
    );
    let tables = format!(
        "SELECT count(*) FROM pg_tables WHERE schemaname || '.' = 'steadfast.' AND tablename LIKE '%_day_{FIRST}'"
    );
    assert_eq!(database.number(&tables).await, 0);
}

#[tokio::test]
async fn what_belonged_to_dropped_jobs_goes_and_what_belongs_to_others_stays() {
    let (database, clock, store) = open().await;
    let mut both = succeed(&store, 1).await;
    let dead = job(&store);
    both.push(dead.id);
    store.enqueue(vec![dead], None).await.unwrap();
    let claim = store.claim(request(1)).await.unwrap().claims.remove(0);
    let failure = Failure::new(FailureClass::VALIDATION, "no");
    let outcome = Outcome::Failure {
        failure,
        output: None,
    };
    let ended = claim.end(outcome, store.now());
    let dead = after_attempt(&ended, &Subscriptions::default(), Dice::new(0));
    store.commit(vec![dead]).await.unwrap();
    for id in &both {
        let (step, result) = ("s".parse().unwrap(), Default::default());
        let saved = store.save_step(*id, None, step, result).await.unwrap();
        assert!(matches!(saved, SaveStepResult::Stored(_)));
        let log = format!(
            "INSERT INTO steadfast.log (job, fence, attempt, first_line, body) VALUES ('{:032x}', 1, 1, 0, '')",
            id.bits()
        );
        database.execute(&log).await;
    }
    clock.advance(DAY + KEPT + HOUR);
    assert_eq!(prune(&store).await, 1);
    assert_eq!(placed(&database).await, [(-1, 1, 0), (0, 0, 1)]);
    for table in ["once", "log"] {
        let left = format!(
            "SELECT count(*) FROM steadfast.{table} WHERE job = '{:032x}'",
            both[1].bits()
        );
        assert_eq!(database.number(&left).await, 1);
        let all = format!("SELECT count(*) FROM steadfast.{table}");
        assert_eq!(database.number(&all).await, 1);
    }
    assert_eq!(
        database
            .number("SELECT count(*) FROM steadfast.job_day WHERE is_dropped")
            .await,
        0
    );
    assert_eq!(store.recount(false).await.unwrap(), []);
}

/// PostgreSQL refuses a statement that waited for a row which has moved meanwhile.
#[tokio::test]
async fn renewals_and_commands_meet_the_end_of_their_job() {
    const ROUNDS: usize = 40;
    let (_database, _clock, store) = open().await;
    for _ in 0..ROUNDS {
        store.enqueue(jobs(&store, 8), None).await.unwrap();
        let claims = store.claim(request(8)).await.unwrap().claims;
        let renewals: Vec<Renewal> = claims
            .iter()
            .map(|claim| Renewal {
                job: claim.job().id,
                fence: claim.fence(),
                lease: HOUR,
                note: None,
                within_timeout: false,
            })
            .collect();
        let ids: Vec<JobId> = renewals.iter().map(|it| it.job).collect();
        let ends = claims.into_iter().map(|claim| success(&store, claim));
        let (renewed, cancelled, ended) = tokio::join!(
            store.renew(renewals),
            store.run_command(ids.clone(), JobCommand::Cancel, Arc::default(), None),
            store.commit(ends.collect()),
        );
        let held = |it: &RenewResult| matches!(it, RenewResult::Held { .. });
        assert!(renewed.unwrap().iter().filter(|it| held(it)).count() <= 8);
        assert_eq!(cancelled.unwrap().len() + ended.unwrap().len(), 16);
        let found = store.get_jobs(ids, JobDetail::Full).await.unwrap();
        assert!(found.iter().all(Option::is_some));
    }
}

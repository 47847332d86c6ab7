//! Batches and links that are held by others, of which something cannot be read, or that fail.

use std::sync::Arc;

use steadfast_core::{
    BatchId, Claim, Dependencies, JobId, NewBatch, NewJob, NewJobExtras, OnFailure, Tenant,
};
use steadfast_store::{
    BaseStore as _, BatchCreateResult, BatchFilter, DependencyStore as _, JobDetail, JobStore as _,
    PageRequest, PostgresStore, QueryStore as _, WakeInterest, limits::EVENT_COMMIT_MARGIN,
};

use crate::common::{TestDatabase, job, request, success, woken};

fn member(store: &PostgresStore, batch: BatchId) -> NewJob {
    job(store).with_extras(NewJobExtras {
        batch: Some(batch),
        ..NewJobExtras::default()
    })
}

/// A batch whose jobs have succeeded, and the job that follows.
async fn ended_batch(store: &PostgresStore, jobs: usize, is_open: bool) -> (BatchId, JobId) {
    let created = new_batch(store, &Tenant::default(), jobs, is_open).await;
    succeed(store, jobs).await;
    created
}

async fn new_batch(
    store: &PostgresStore,
    tenant: &Tenant,
    jobs: usize,
    is_open: bool,
) -> (BatchId, JobId) {
    let of_tenant = |mut job: NewJob| {
        job.tenant = tenant.clone();
        job
    };
    let on_end = of_tenant(job(store));
    let made = on_end.id;
    let id = BatchId::from_bits(made.bits());
    let jobs = (0..jobs).map(|_| of_tenant(member(store, id))).collect();
    let batch = NewBatch {
        id,
        tenant: tenant.clone(),
        name: None,
        idempotency_key: None,
        is_open,
        jobs,
        on_end: Some(on_end),
        on_success: None,
    };
    let created = store.create_batch(batch, 10_000).await.unwrap();
    assert!(matches!(created, BatchCreateResult::Created(..)));
    (id, made)
}

/// So many jobs succeed.
async fn succeed(store: &PostgresStore, jobs: usize) {
    let mut left = jobs;
    while left > 0 {
        let claims = store.claim(request(left)).await.unwrap().claims;
        left -= claims.len();
        let ends = claims.into_iter().map(|claim| success(store, claim));
        store.commit(ends.collect()).await.unwrap();
    }
}

fn job_after(store: &PostgresStore, other: JobId) -> NewJob {
    let job = job(store);
    let after = Dependencies::new(job.id, [other], OnFailure::Wait);
    job.with_extras(NewJobExtras {
        after: Some(after.unwrap()),
        ..NewJobExtras::default()
    })
}

/// A job that runs, and one that waits for it.
async fn linked(store: &PostgresStore) -> (Claim, JobId) {
    store.enqueue(vec![job(store)], None).await.unwrap();
    let claim = store.claim(request(1)).await.unwrap().claims.remove(0);
    let job = job_after(store, claim.job().id);
    let id = job.id;
    store.enqueue(vec![job], None).await.unwrap();
    (claim, id)
}

async fn is_blocked(store: &PostgresStore, job: JobId) -> bool {
    let jobs = store.get_jobs(vec![job], JobDetail::Full).await.unwrap();
    jobs[0].as_ref().unwrap().is_blocked()
}

async fn succeeded(store: &PostgresStore, batch: BatchId) -> u64 {
    let batch = store.get_batch(batch).await.unwrap().unwrap();
    batch.counts.succeeded
}

async fn is_made(store: &PostgresStore, job: JobId) -> bool {
    store.get_jobs(vec![job], JobDetail::Full).await.unwrap()[0].is_some()
}

#[tokio::test]
async fn a_batch_that_a_user_holds_does_not_hold_up_the_others() {
    let database = TestDatabase::new();
    let store = database.open().await;
    let (held, _) = ended_batch(&store, 3, true).await;
    let (other, made) = ended_batch(&store, 1, false).await;
    let mut client = database.client().await;
    let transaction = client.transaction().await.unwrap();
    let added = vec![member(&store, held)];
    store.enqueue_in(&transaction, added).await.unwrap();
    let followed = store.release_dependants(3, Arc::default()).await.unwrap();
    assert!(!followed.has_more, "the same again would not help");
    assert_eq!(succeeded(&store, held).await, 0);
    assert_eq!(succeeded(&store, other).await, 1);
    assert!(is_made(&store, made).await);
    transaction.commit().await.unwrap();
    while store
        .release_dependants(3, Arc::default())
        .await
        .unwrap()
        .has_more
    {}
    let batch = store.get_batch(held).await.unwrap().unwrap();
    assert_eq!((batch.counts.total, batch.counts.succeeded), (4, 3));
}

#[tokio::test]
async fn small_batches_are_counted_together_and_each_tenant_has_its_turn() {
    const BATCHES: usize = 20;
    let database = TestDatabase::new();
    let store = database.open().await;
    let many = Tenant::new("many").unwrap();
    for _ in 0..BATCHES {
        new_batch(&store, &many, 1, false).await;
    }
    succeed(&store, BATCHES).await;
    let (_, made) = ended_batch(&store, 1, false).await;
    let followed = store.release_dependants(5, Arc::default()).await.unwrap();
    assert!(followed.has_more && is_made(&store, made).await);
    let followed = store.release_dependants(99, Arc::default()).await.unwrap();
    assert!(!followed.has_more);
    let left = "SELECT count(*) FROM steadfast.record WHERE kind = 'batch' AND state = 'open'";
    assert_eq!(database.number(left).await, 0);
    let transactions =
        "SELECT count(DISTINCT xmin::text) FROM steadfast.record WHERE kind = 'batch'";
    assert_eq!(database.number(transactions).await, 2, "one for each look");
}

#[tokio::test]
async fn what_was_counted_is_not_walked_over_again() {
    const JOBS: usize = 800;
    const LOOKS: usize = 60;
    let (database, _holder) = TestDatabase::with_old_snapshot().await;
    let store = database.open().await;
    let (batch, _) = ended_batch(&store, 0, true).await;
    let members = (0..JOBS).map(|_| member(&store, batch)).collect();
    store.enqueue(members, None).await.unwrap();
    succeed(&store, JOBS).await;
    while store
        .release_dependants(JOBS, Arc::default())
        .await
        .unwrap()
        .has_more
    {}
    assert_eq!(succeeded(&store, batch).await, JOBS as u64);
    // sleep: until no transaction is expected to commit an event with a lower number
    tokio::time::sleep(EVENT_COMMIT_MARGIN).await;
    for _ in 0..LOOKS {
        store.release_dependants(1, Arc::default()).await.unwrap();
    }
    drop(store);
    let searches = i64::try_from(LOOKS).unwrap();
    let read = database.entries_read("'event'", searches).await;
    let walked = i64::try_from(LOOKS * JOBS).unwrap();
    assert!(
        read < walked / 2,
        "{read} entries were read; walking over all would be {walked}"
    );
}

#[tokio::test]
async fn released_dependants_are_not_walked_over_again() {
    const JOBS: usize = 400;
    const LOOKS: usize = 60;
    let (database, _holder) = TestDatabase::with_old_snapshot().await;
    let store = database.open().await;
    let jobs: Vec<NewJob> = (0..JOBS).map(|_| job(&store)).collect();
    let dependants = jobs.iter().map(|it| job_after(&store, it.id)).collect();
    let (first, last) = (jobs[0].id, jobs[JOBS - 1].id);
    store.enqueue(jobs, None).await.unwrap();
    store.enqueue(dependants, None).await.unwrap();
    succeed(&store, JOBS).await;
    let release = async || {
        store
            .release_dependants(JOBS, Arc::default())
            .await
            .unwrap()
    };
    while release().await.has_more {}
    for job in [first, last] {
        let links = store.job_links(job, 1).await.unwrap();
        let dependant = links.first_dependants[0];
        assert!(!is_blocked(&store, dependant).await);
    }
    // sleep: until no transaction is expected to commit an event with a lower number
    tokio::time::sleep(EVENT_COMMIT_MARGIN).await;
    for _ in 0..LOOKS {
        release().await;
    }
    drop(store);
    let searches = i64::try_from(LOOKS).unwrap();
    let read = database.entries_read("'event'", searches).await;
    let walked = i64::try_from(LOOKS * JOBS).unwrap();
    assert!(
        read < walked / 2,
        "{read} entries were read; walking over all would be {walked}"
    );
}

#[tokio::test]
async fn what_is_committed_late_is_counted() {
    let database = TestDatabase::new();
    let store = database.open().await;
    let (late, made) = new_batch(&store, &Tenant::default(), 1, false).await;
    let claim = store.claim(request(1)).await.unwrap().claims.remove(0);
    let mut client = database.client().await;
    let transaction = client.transaction().await.unwrap();
    let end = format!("'{:032x}'", claim.job().id.bits());
    let end = format!("UPDATE steadfast.job SET state = 2 WHERE id = {end}");
    let end = database.sql(&end);
    transaction.batch_execute(&end).await.unwrap();
    for _ in 0..3 {
        new_batch(&store, &Tenant::default(), 1, false).await;
    }
    for _ in 0..3 {
        succeed(&store, 1).await;
        for _ in 0..2 {
            store.release_dependants(9, Arc::default()).await.unwrap();
        }
    }
    let left = "SELECT count(*) FROM steadfast.record WHERE kind = 'batch' AND state = 'open'";
    assert_eq!(database.number(left).await, 1);
    transaction.commit().await.unwrap();
    store.release_dependants(9, Arc::default()).await.unwrap();
    assert_eq!(succeeded(&store, late).await, 1);
    assert!(is_made(&store, made).await);
}

#[tokio::test]
async fn a_callback_that_cannot_be_read_is_made_once_it_can_be_and_holds_up_no_other_batch() {
    let database = TestDatabase::new();
    let store = database.open().await;
    let (damaged, late) = ended_batch(&store, 1, false).await;
    let (other, made) = ended_batch(&store, 1, false).await;
    let change = async |template: &str| {
        let sql = "UPDATE steadfast.record SET body = ";
        let which = format!("WHERE id LIKE '{damaged}/%'");
        database.execute(&format!("{sql}{template} {which}")).await;
    };
    change("'{' || body").await;
    for _ in 0..3 {
        store.release_dependants(1, Arc::default()).await.unwrap();
    }
    assert_eq!(succeeded(&store, other).await, 1);
    assert!(is_made(&store, made).await);
    assert_eq!(succeeded(&store, damaged).await, 0);
    let rows = store.list_damaged().await.unwrap().rows;
    assert_eq!(
        (rows[0].table, &*rows[0].id),
        ("batch", &*damaged.to_string())
    );

    change("substr(body, 2)").await;
    store.release_dependants(9, Arc::default()).await.unwrap();
    assert_eq!(succeeded(&store, damaged).await, 1);
    assert!(is_made(&store, late).await);
    assert_eq!(store.list_damaged().await.unwrap().rows, []);
}

#[tokio::test]
async fn a_job_that_cannot_be_read_holds_up_none_but_those_that_need_it() {
    let database = TestDatabase::new();
    let store = database.open().await;
    let ((broken, held), (other, free)) = (linked(&store).await, linked(&store).await);
    let broken = broken.job().id;
    let (batch, _) = ended_batch(&store, 1, true).await;
    let member = member(&store, batch);
    let member_id = member.id;
    store.enqueue(vec![member], None).await.unwrap();
    let set_state = async |state: i16| {
        let ids = [broken, member_id].map(|id| format!("'{:032x}'", id.bits()));
        let sql = format!("UPDATE steadfast.job SET state = {state} WHERE id IN ");
        database
            .execute(&format!("{sql} ({})", ids.join(", ")))
            .await;
    };
    set_state(99).await;
    store.commit(vec![success(&store, other)]).await.unwrap();
    // One more may name it, and waits.
    let late = job_after(&store, broken);
    let late_id = late.id;
    store.enqueue(vec![late], None).await.unwrap();
    store.release_dependants(9, Arc::default()).await.unwrap();
    assert!(!is_blocked(&store, free).await);
    assert!(is_blocked(&store, held).await && is_blocked(&store, late_id).await);
    assert_eq!(succeeded(&store, batch).await, 1);
    let damaged = store.list_damaged().await.unwrap().rows;
    let damaged: Vec<_> = damaged.iter().map(|row| (row.table, &*row.id)).collect();
    assert_eq!(damaged, [("job", &*broken.to_string())]);
    set_state(2).await;
    store.release_dependants(9, Arc::default()).await.unwrap();
    assert!(!is_blocked(&store, held).await && !is_blocked(&store, late_id).await);
    assert_eq!(succeeded(&store, batch).await, 2);
    assert_eq!(store.list_damaged().await.unwrap().rows, []);
}

#[tokio::test]
async fn batches_are_counted_while_links_fail() {
    let database = TestDatabase::new();
    let store = database.open().await;
    let (claim, held) = linked(&store).await;
    store.commit(vec![success(&store, claim)]).await.unwrap();
    let (batch, made) = ended_batch(&store, 1, false).await;
    database
        .execute(
            "CREATE FUNCTION steadfast.fail() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN RAISE EXCEPTION 'no'; END $$;
             CREATE TRIGGER fail BEFORE DELETE ON steadfast.event
             FOR EACH ROW WHEN (OLD.kind = 0) EXECUTE FUNCTION steadfast.fail()",
        )
        .await;
    store
        .release_dependants(9, Arc::default())
        .await
        .unwrap_err();
    assert!(is_blocked(&store, held).await);
    assert_eq!(succeeded(&store, batch).await, 1);
    assert!(is_made(&store, made).await);
}

#[tokio::test]
async fn what_was_counted_before_a_batch_that_fails_wakes_those_who_wait() {
    let database = TestDatabase::new();
    let store = database.open().await;
    // The first wake-up is for having begun to listen.
    woken(&mut store.wakeups()).await;
    let mut batches = [
        ended_batch(&store, 1, false).await,
        ended_batch(&store, 1, false).await,
    ];
    // They are counted in this order, which is that of time only to the millisecond.
    batches.sort();
    let [(first, made), (failing, late)] = batches;
    database
        .execute(&format!(
            "CREATE FUNCTION steadfast.fail() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN RAISE EXCEPTION 'no'; END $$;
             CREATE TRIGGER fail BEFORE UPDATE ON steadfast.record FOR EACH ROW
             WHEN (NEW.id = '{failing}') EXECUTE FUNCTION steadfast.fail()"
        ))
        .await;
    let mut wakeups = store.wakeups_for(WakeInterest::of(&request(1)));
    let followed = store.release_dependants(9, Arc::default()).await.unwrap();
    assert!(followed.has_more, "there is one that was not counted");
    woken(&mut wakeups).await;
    assert_eq!(succeeded(&store, first).await, 1);
    let claims = store.claim(request(9)).await.unwrap().claims;
    assert_eq!(claims.len(), 1);
    assert_eq!(claims[0].job().id, made);
    store
        .release_dependants(9, Arc::default())
        .await
        .unwrap_err();
    database
        .execute("DROP TRIGGER fail ON steadfast.record")
        .await;
    while store
        .release_dependants(9, Arc::default())
        .await
        .unwrap()
        .has_more
    {}
    assert_eq!(succeeded(&store, failing).await, 1);
    assert!(is_made(&store, late).await);
}

#[tokio::test]
async fn a_damaged_batch_does_not_end_the_list() {
    let database = TestDatabase::new();
    let store = database.open().await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(ended_batch(&store, 1, false).await.0);
    }
    let spoil = "UPDATE steadfast.record SET body = '{' WHERE id = ";
    let spoil = format!("{spoil}'{}'", ids[1]);
    database.execute(&spoil).await;
    for is_unfinished in [false, true] {
        let filter = BatchFilter {
            tenant: Some(Tenant::default()),
            is_unfinished,
            ..BatchFilter::default()
        };
        let page = store.list_batches(filter.clone(), PageRequest::first(1));
        let page = page.await.unwrap();
        assert_eq!((page.items[0].id, page.next), (ids[2], Some(ids[2])));
        let page = PageRequest {
            after: page.next,
            limit: 1,
        };
        let page = store.list_batches(filter, page).await.unwrap();
        assert_eq!((page.items[0].id, page.next), (ids[0], None));
    }
}

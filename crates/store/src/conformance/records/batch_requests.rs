//! Requests for batches, and how batches are listed and deleted.

use steadfast_core::{
    BatchId, BatchJobFilter, BatchStatus, Job, JobCommand, JobLabel, NewBatch, Tenant, limits,
};

use super::batches::{callback, counts, create, follow, member, read, retry};
use crate::conformance::fixture::{
    Fixture, failure, key, kind, permanent, secs, success, tenant, walk,
};
use crate::{
    BatchCreateResult, BatchFilter, EnqueueError, EnqueueResult, JobCount, JobDetail, JobFilter,
    PageRequest,
};

pub async fn a_job_that_exists_already_is_not_of_the_batch(f: Fixture) {
    let known = f.job_with(|job| job.idempotency_key = key("k"));
    let existing = f.enqueue_one(known).await;
    let mut batch = f.batch(1);
    let mut open = f.batch(0);
    open.is_open = true;
    let open = create(&f, open).await.id;
    let mut twice = member(&f, open);
    twice.idempotency_key = key("twice");
    f.enqueue_one(twice.clone()).await;
    let mut again = twice;
    again.id = f.id();
    let answers = f.store.enqueue(vec![again], None).await.unwrap();
    assert!(matches!(answers[0], EnqueueResult::Existing(_)));
    assert_eq!(read(&f, open).await.counts.total, 1);

    let id = batch.id;
    let plain = batch.jobs[0].clone();
    let mut by_key = member(&f, id);
    by_key.idempotency_key = key("k");
    batch.jobs = vec![by_key, plain];
    match f.store.create_batch(batch, 10).await.unwrap() {
        BatchCreateResult::Created(record, results) => {
            assert_eq!(results[0], EnqueueResult::Existing(existing));
            assert_eq!((record.id, record.counts.total), (id, 1));
        }
        other => panic!("{other:?}"),
    }
}

pub async fn a_batch_whose_jobs_are_refused_is_not_stored(f: Fixture) {
    let known = f.job_with(|job| job.idempotency_key = key("k"));
    let existing = f.enqueue_one(known).await;
    let mut batch = f.batch(2);
    let id = batch.id;
    batch.jobs[1].idempotency_key = key("k");
    batch.jobs[1].kind = kind("other");
    let refused = f.store.create_batch(batch.clone(), 10).await.unwrap_err();
    assert!(
        matches!(refused, EnqueueError::Conflict { index: 1, .. }),
        "{refused}"
    );
    assert_eq!(f.store.get_batch(id).await.unwrap(), None);
    assert_eq!(f.find(batch.jobs[0].id).await, None);
    // One whose jobs all exist would end at once.
    batch.jobs = vec![member(&f, id)];
    batch.jobs[0].idempotency_key = key("k");
    let refused = f.store.create_batch(batch.clone(), 10).await.unwrap();
    assert_eq!(refused, BatchCreateResult::JobsExist(existing));
    follow(&f).await;
    assert_eq!(f.store.get_batch(id).await.unwrap(), None);
    assert_eq!(f.find(callback(&batch.on_end)).await, None);
    batch.jobs = vec![member(&f, id)];
    create(&f, batch).await;
}

pub async fn a_request_for_a_batch_that_is_repeated_makes_one(f: Fixture) {
    let mut batch = f.batch(1);
    batch.idempotency_key = key("nightly");
    let created = create(&f, batch.clone()).await;
    let again = |batch: NewBatch| f.store.create_batch(batch, 1);
    let existing = BatchCreateResult::Existing(created.clone());
    assert_eq!(again(batch.clone()).await.unwrap(), existing);
    // The same request of a caller that has lost the answer has other ids.
    let mut same = batch.clone();
    same.id = BatchId::new(f.now(), f.next_number());
    same.jobs[0] = member(&f, same.id);
    same.on_end.as_mut().unwrap().id = f.id();
    assert_eq!(again(same.clone()).await.unwrap(), existing);
    let mut other = same.clone();
    other.name = None;
    let taken = BatchCreateResult::KeyTaken(created.id);
    assert_eq!(again(other).await.unwrap(), taken);
    same.tenant = tenant("other");
    same.jobs.clear();
    (same.on_end, same.on_success) = (None, None);
    create(&f, same).await;
}

pub async fn unfinished_batches_of_a_tenant_are_bounded(f: Fixture) {
    let mut open = f.batch(0);
    open.is_open = true;
    let open = create(&f, open).await;
    let running = f.batch(1);
    create(&f, running).await;
    let more = f.batch(1);
    let answer = f.store.create_batch(more.clone(), 2).await.unwrap();
    assert_eq!(answer, BatchCreateResult::TooMany);
    assert_eq!(f.find(more.jobs[0].id).await, None);
    let mut foreign = f.batch(0);
    foreign.tenant = tenant("other");
    let foreign = f.store.create_batch(foreign, 2).await.unwrap();
    assert!(matches!(foreign, BatchCreateResult::Created(..)));
    f.store.close_batch(open.id, None).await.unwrap();
    let answer = f.store.create_batch(more, 2).await.unwrap();
    assert!(matches!(answer, BatchCreateResult::Created(..)));
}

pub async fn batches_and_their_jobs_are_listed(f: Fixture) {
    let mut all = Vec::new();
    for jobs in [0, 4, 1] {
        f.clock.advance(secs(1));
        all.push(create(&f, f.batch(jobs)).await.id);
    }
    let mut foreign = f.batch(0);
    foreign.tenant = tenant("other");
    all.push(create(&f, foreign).await.id);
    all.reverse();
    let list = async |tenant: Option<Tenant>, is_unfinished| {
        let filter = BatchFilter {
            tenant,
            is_unfinished,
            ..BatchFilter::default()
        };
        let found = walk(1, async |page| {
            f.store.list_batches(filter.clone(), page).await
        })
        .await;
        found
            .into_iter()
            .map(|record| record.id)
            .collect::<Vec<_>>()
    };
    assert_eq!(list(None, false).await, all);
    assert_eq!(list(Some(Tenant::default()), false).await, all[1..]);
    assert_eq!(list(None, true).await, all[1..3]);
    assert_eq!(list(Some(Tenant::default()), true).await, all[1..3]);
    assert_eq!(list(Some(tenant("other")), true).await, []);

    let batch = all[2];
    let jobs = async |filter| {
        let filter = JobFilter::of_batch(batch, filter);
        let listed = walk(2, async |page| {
            f.store.list_jobs(filter.clone(), page).await
        });
        let ids = listed.await.into_iter().map(|job| job.id);
        ids.collect::<Vec<_>>()
    };
    let members = jobs(None).await;
    assert_eq!(members.len(), 4);
    assert!(members.is_sorted_by(|a, b| a > b));
    f.command(members[0], JobCommand::Cancel).await;
    for claim in f.claim(20).await {
        let id = claim.job().id;
        if id == members[1] {
            f.end(claim, success()).await;
        } else if id == members[2] {
            f.end(claim, permanent("no")).await;
        }
    }
    assert_eq!(jobs(Some(BatchJobFilter::Cancelled)).await, [members[0]]);
    assert_eq!(jobs(Some(BatchJobFilter::Succeeded)).await, [members[1]]);
    assert_eq!(jobs(Some(BatchJobFilter::Failed)).await, [members[2]]);
    assert_eq!(jobs(Some(BatchJobFilter::Unfinished)).await, [members[3]]);
    f.command(members[2], retry()).await;
    let unfinished = jobs(Some(BatchJobFilter::Unfinished)).await;
    assert_eq!(unfinished, members[2..]);
}

pub async fn a_batch_outlives_its_jobs_and_goes_with_retention(f: Fixture) {
    let batch = f.batch(2);
    let (id, jobs) = (batch.id, [batch.jobs[0].id, batch.jobs[1].id]);
    let on_success = callback(&batch.on_success);
    create(&f, batch).await;
    for claim in f.claim(2).await {
        let outcome = match claim.job().id == jobs[0] {
            true => success(),
            false => permanent("no"),
        };
        f.end(claim, outcome).await;
    }
    f.clock.advance(secs(60));
    // Before it was counted.
    assert_eq!(f.prune(f.now(), 10).await, 1);
    assert_eq!(f.prune_records(f.now(), 10).await.batches, 0);
    follow(&f).await;
    assert_eq!(counts(&read(&f, id).await), (2, 1, 1, BatchStatus::Failed));
    f.clock.advance(secs(60));
    // A dead letter may still be requeued.
    assert_eq!(f.prune_records(f.now(), 10).await.batches, 0);
    f.command(jobs[1], retry()).await;
    let claims = f.claim(5).await;
    let claim = claims.into_iter().find(|claim| claim.job().id == jobs[1]);
    f.end(claim.unwrap(), success()).await;
    follow(&f).await;
    f.read(on_success).await;
    f.clock.advance(secs(60));
    assert_eq!(f.prune(f.now(), 10).await, 1);
    let (page, ended) = (PageRequest::first(5), read(&f, id).await.finished_at);
    let all = JobFilter::of_batch(id, None);
    let left = f.store.list_jobs(all, page).await.unwrap();
    assert!(left.items.is_empty());
    assert_eq!(f.prune_records(ended.unwrap(), 10).await.batches, 0);
    assert_eq!(f.prune_records(f.now(), 10).await.batches, 1);
    assert_eq!(f.store.get_batch(id).await.unwrap(), None);
    assert_eq!(f.prune_records(f.now(), 10).await.batches, 0);
    // One with a key stays as long as the key must.
    let mut keyed = f.batch(0);
    keyed.idempotency_key = key("k");
    create(&f, keyed).await;
    f.clock.advance(secs(60));
    assert_eq!(f.prune_records(f.now(), 10).await.batches, 0);
    f.clock.advance(limits::IDEMPOTENCY_KEY_RETENTION_MIN);
    assert_eq!(f.prune_records(f.now(), 10).await.batches, 1);
}

pub async fn jobs_are_found_by_their_batch(f: Fixture) {
    let (batch, other) = (f.batch(7), f.batch(3));
    create(&f, batch.clone()).await;
    let mut claims = f.claim(5).await;
    f.end(claims.remove(0), success()).await;
    for _ in 0..2 {
        f.end(claims.remove(0), permanent("no")).await;
    }
    f.end(claims.remove(0), failure("later")).await;
    create(&f, other.clone()).await;
    let mut ids = f.enqueue(f.jobs(2)).await;
    ids.extend(batch.jobs.iter().chain(&other.jobs).map(|job| job.id));
    ids.sort_unstable_by(|a, b| b.cmp(a));
    f.command(batch.jobs[6].id, JobCommand::Cancel).await;
    f.command(batch.jobs[2].id, retry()).await;

    let jobs = f.store.get_jobs(ids, JobDetail::Listed).await.unwrap();
    let jobs: Vec<Job> = jobs.into_iter().flatten().collect();
    let of = |batch: BatchId| JobFilter {
        batch: Some(batch),
        ..JobFilter::default()
    };
    let mut filters = vec![of(batch.id), of(other.id), of(BatchId::from_bits(0))];
    let mut narrow = of(batch.id);
    narrow.unfinished = true;
    filters.push(narrow.clone());
    (narrow.unfinished, narrow.dead_letters) = (false, true);
    filters.push(narrow);
    filters.extend(JobLabel::ALL.iter().map(|label| JobFilter {
        label: Some(*label),
        ..of(batch.id)
    }));
    let mut found = Vec::new();
    for filter in filters {
        let expected = jobs.iter().filter(|job| filter.matches(job, f.now()));
        let expected: Vec<Job> = expected.cloned().collect();
        let list = async |page| f.store.list_jobs(filter.clone(), page).await;
        assert_eq!(walk(2, list).await, expected, "{filter}");
        let count = f.store.count_jobs(filter, 100).await.unwrap();
        assert_eq!(count, JobCount::up_to(expected.len() as u64, 100));
        found.push(expected.len());
    }
    // All, of another, of none, unfinished, dead letters, and by label: scheduled, ready, …
    assert_eq!(found, [7, 3, 0, 4, 1, 0, 2, 1, 1, 1, 1, 1]);
}

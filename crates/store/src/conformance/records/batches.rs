//! Jobs that are counted together.

use std::sync::Arc;

use steadfast_core::{
    BatchEvent, BatchId, BatchJobFilter, BatchName, BatchStatus, Dependencies, Job, JobCommand,
    JobId, JobLabel, JobState, NewBatch, NewJob, NewJobExtras, OnFailure, RunAt, Tenant,
    Traceparent, limits,
};

use crate::conformance::fixture::{
    Fixture, failure, key, kind, permanent, secs, success, tenant, walk,
};
use crate::{
    BatchCreateResult, BatchFilter, BatchRecord, EnqueueError, EnqueueResult, JobCount, JobFilter,
    PageRequest,
};

pub async fn a_batch_counts_its_jobs_and_makes_each_callback_once(f: Fixture) {
    let batch = f.batch(2);
    let (id, on_end, on_success) = (
        batch.id,
        callback(&batch.on_end),
        callback(&batch.on_success),
    );
    let created = create(&f, batch.clone()).await;
    assert_eq!(
        (created.on_end, created.on_success),
        (Some(on_end), Some(on_success))
    );
    assert_eq!(created.name, batch.name);
    assert_eq!(counts(&created), (2, 0, 0, BatchStatus::Running));
    assert_eq!(f.read(batch.jobs[0].id).await.batch(), Some(id));
    let mut claims = f.claim(5).await;
    assert_eq!(claims.len(), 2, "callbacks are not made yet");
    f.end(claims.remove(0), success()).await;
    follow(&f).await;
    assert_eq!(counts(&read(&f, id).await), (2, 1, 0, BatchStatus::Running));
    assert_eq!(f.find(on_end).await, None);

    f.clock.advance(secs(5));
    f.end(claims.remove(0), success()).await;
    follow(&f).await;
    let ended = read(&f, id).await;
    assert_eq!(counts(&ended), (2, 2, 0, BatchStatus::Succeeded));
    assert_eq!(ended.finished_at, Some(f.now()));
    // As it was asked for, with a delay that counts from now.
    let made = f.read(on_end).await;
    assert_eq!((&made.kind, made.created_at), (&kind("after"), f.now()));
    assert_eq!(made.progress.run_at, f.now().plus(secs(7)));
    assert_eq!(made.payload, batch.on_end.unwrap().payload);
    assert_eq!(made.batch(), None);
    f.claim_of(on_success).await;
    follow(&f).await;
    assert_eq!(read(&f, id).await, ended);
}

pub async fn an_open_batch_takes_jobs_until_it_is_closed(f: Fixture) {
    let mut batch = f.batch(1);
    batch.is_open = true;
    let (id, on_success) = (batch.id, callback(&batch.on_success));
    create(&f, batch).await;
    let claim = f.claim(1).await.remove(0);
    f.end(claim, success()).await;
    follow(&f).await;
    assert_eq!(counts(&read(&f, id).await), (1, 1, 0, BatchStatus::Open));
    let job = member(&f, id);
    let added = f.enqueue_one(job.clone()).await;
    assert_eq!(counts(&read(&f, id).await), (2, 1, 0, BatchStatus::Open));

    let closed = f.store.close_batch(id, None).await.unwrap().unwrap();
    assert_eq!(counts(&closed), (2, 1, 0, BatchStatus::Running));
    assert_eq!(f.store.close_batch(id, None).await.unwrap(), Some(closed));
    // A request whose answer was lost is no new one.
    let again = f.store.enqueue(vec![job]).await.unwrap();
    assert_eq!(again, [EnqueueResult::Existing(added)]);
    let late = vec![f.job(), member(&f, id)];
    let first = late[0].id;
    match f.store.enqueue(late).await.unwrap_err() {
        EnqueueError::BatchRefused {
            index: 1,
            batch,
            reason,
        } => {
            assert_eq!((batch, reason.value.as_str()), (id, "closed"));
        }
        error => panic!("{error}"),
    }
    assert_eq!(f.find(first).await, None, "all or none");
    let claim = f.claim_of(added).await;
    f.end(claim, success()).await;
    follow(&f).await;
    assert_eq!(
        counts(&read(&f, id).await),
        (2, 2, 0, BatchStatus::Succeeded)
    );
    f.claim_of(on_success).await;

    let unknown = BatchId::new(f.now(), f.next_number());
    assert_eq!(f.store.close_batch(unknown, None).await.unwrap(), None);
    let mut foreign = f.batch(0);
    (foreign.tenant, foreign.is_open) = (tenant("other"), true);
    let foreign = create(&f, foreign).await.id;
    for batch in [unknown, foreign] {
        match f.store.enqueue(vec![member(&f, batch)]).await.unwrap_err() {
            EnqueueError::UnknownBatch {
                index: 0,
                batch: refused,
            } => assert_eq!(refused, batch),
            error => panic!("{error}"),
        }
    }
}

pub async fn a_batch_without_jobs_ends_when_it_is_closed(f: Fixture) {
    let mut batch = f.batch(0);
    batch.is_open = true;
    let id = batch.id;
    let made = [callback(&batch.on_end), callback(&batch.on_success)];
    create(&f, batch).await;
    follow(&f).await;
    assert_eq!(f.find(made[0]).await, None);
    let closed = f.store.close_batch(id, None).await.unwrap().unwrap();
    assert_eq!(counts(&closed), (0, 0, 0, BatchStatus::Succeeded));
    assert_eq!(closed.finished_at, Some(f.now()));
    for job in made {
        f.read(job).await;
    }
    let at_once = f.batch(0);
    let made = callback(&at_once.on_success);
    assert_eq!(create(&f, at_once).await.finished_at, Some(f.now()));
    f.read(made).await;
}

pub async fn a_requeued_job_is_counted_back_and_nothing_is_made_twice(f: Fixture) {
    let batch = f.batch(1);
    let (id, job) = (batch.id, batch.jobs[0].id);
    let (on_end, on_success) = (callback(&batch.on_end), callback(&batch.on_success));
    create(&f, batch).await;
    for _ in 0..2 {
        let claim = f.claim_of(job).await;
        f.end(claim, permanent("no")).await;
        follow(&f).await;
        assert_eq!(counts(&read(&f, id).await), (1, 0, 1, BatchStatus::Failed));
        f.read(on_end).await;
        assert_eq!(f.find(on_success).await, None);
        f.command(job, retry()).await;
        follow(&f).await;
        let back = read(&f, id).await;
        assert_eq!(counts(&back), (1, 0, 0, BatchStatus::Running));
        assert_eq!(back.finished_at, None);
    }
    // What was made does not come back, even if it is gone.
    f.command(on_end, JobCommand::Cancel).await;
    f.clock.advance(secs(60));
    assert_eq!(f.store.prune(f.now(), 10).await.unwrap(), 1);
    let claim = f.claim_of(job).await;
    f.end(claim, success()).await;
    follow(&f).await;
    assert_eq!(
        counts(&read(&f, id).await),
        (1, 1, 0, BatchStatus::Succeeded)
    );
    assert_eq!(f.find(on_end).await, None);
    f.claim_of(on_success).await;
}

pub async fn what_happens_to_a_job_before_it_is_counted_adds_up(f: Fixture) {
    let batch = f.batch(2);
    let (id, job) = (batch.id, batch.jobs[0].id);
    create(&f, batch).await;
    for _ in 0..3 {
        f.command(job, JobCommand::Cancel).await;
        f.command(job, retry()).await;
    }
    let claims = f.claim(2).await;
    let claim = claims.into_iter().find(|claim| claim.job().id == job);
    f.end(claim.unwrap(), permanent("no")).await;
    f.command(job, JobCommand::Discard).await;
    // A look may take less than there is.
    while f
        .store
        .follow_links(2, Arc::default())
        .await
        .unwrap()
        .has_more
    {}
    assert_eq!(counts(&read(&f, id).await), (2, 0, 1, BatchStatus::Running));
}

/// A look may take less than there is, of many batches as of one.
pub async fn many_batches_are_counted_in_small_looks(f: Fixture) {
    let mut batches = Vec::new();
    for _ in 0..5 {
        let batch = f.batch(1);
        batches.push((batch.id, callback(&batch.on_end)));
        create(&f, batch).await;
    }
    for claim in f.claim(5).await {
        f.end(claim, success()).await;
    }
    let mut looks = 1;
    while f
        .store
        .follow_links(2, Arc::default())
        .await
        .unwrap()
        .has_more
    {
        looks += 1;
    }
    assert!(looks >= 3, "at most two in a look");
    for (id, on_end) in batches {
        let ended = read(&f, id).await;
        assert_eq!(counts(&ended), (1, 1, 0, BatchStatus::Succeeded));
        f.read(on_end).await;
    }
}

pub async fn a_callback_is_of_the_trace_of_its_request(f: Fixture) {
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let trace = Traceparent::new(trace).unwrap();
    let mut batch = f.batch(0);
    let on_end = f.job().with_traceparent(&trace);
    let id = on_end.id;
    batch.on_end = Some(on_end);
    create(&f, batch).await;
    assert_eq!(f.read(id).await.traceparent, Some(trace));
}

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
    let answers = f.store.enqueue(vec![again]).await.unwrap();
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
    assert_eq!(f.store.prune(f.now(), 10).await.unwrap(), 1);
    assert_eq!(f.store.prune_batches(f.now(), 10).await.unwrap(), 0);
    follow(&f).await;
    assert_eq!(counts(&read(&f, id).await), (2, 1, 1, BatchStatus::Failed));
    f.clock.advance(secs(60));
    // A dead letter may still be requeued.
    assert_eq!(f.store.prune_batches(f.now(), 10).await.unwrap(), 0);
    f.command(jobs[1], retry()).await;
    let claims = f.claim(5).await;
    let claim = claims.into_iter().find(|claim| claim.job().id == jobs[1]);
    f.end(claim.unwrap(), success()).await;
    follow(&f).await;
    f.read(on_success).await;
    f.clock.advance(secs(60));
    assert_eq!(f.store.prune(f.now(), 10).await.unwrap(), 1);
    let (page, ended) = (PageRequest::first(5), read(&f, id).await.finished_at);
    let all = JobFilter::of_batch(id, None);
    let left = f.store.list_jobs(all, page).await.unwrap();
    assert!(left.items.is_empty());
    assert_eq!(f.store.prune_batches(ended.unwrap(), 10).await.unwrap(), 0);
    assert_eq!(f.store.prune_batches(f.now(), 10).await.unwrap(), 1);
    assert_eq!(f.store.get_batch(id).await.unwrap(), None);
    assert_eq!(f.store.prune_batches(f.now(), 10).await.unwrap(), 0);
    // One with a key stays as long as the key must.
    let mut keyed = f.batch(0);
    keyed.idempotency_key = key("k");
    create(&f, keyed).await;
    f.clock.advance(secs(60));
    assert_eq!(f.store.prune_batches(f.now(), 10).await.unwrap(), 0);
    f.clock.advance(limits::IDEMPOTENCY_KEY_RETENTION_MIN);
    assert_eq!(f.store.prune_batches(f.now(), 10).await.unwrap(), 1);
}

pub async fn a_job_may_wait_for_others_and_be_of_a_batch(f: Fixture) {
    let first = f.claimed(f.job()).await;
    let mut batch = f.batch(1);
    let id = batch.id;
    let job = batch.jobs[0].id;
    let after = Dependencies::new(job, [first.job().id], OnFailure::Fail).unwrap();
    batch.jobs[0] = batch.jobs[0].clone().with_extras(NewJobExtras {
        after: Some(after),
        batch: Some(id),
        ..NewJobExtras::default()
    });
    create(&f, batch).await;
    f.end(first, permanent("no")).await;
    follow(&f).await;
    assert_eq!(f.read(job).await.progress.state, JobState::Failed);
    follow(&f).await;
    assert_eq!(counts(&read(&f, id).await), (1, 0, 1, BatchStatus::Failed));
}

pub async fn callers_at_once_count_each_end_once(f: Fixture) {
    let batch = f.batch(12);
    let (id, on_end) = (batch.id, callback(&batch.on_end));
    let expected = BatchEvent::Added(12);
    assert_eq!(
        create(&f, batch)
            .await
            .counts
            .step(expected)
            .unwrap_err()
            .value,
        "closed"
    );
    let claims = f.claim(12).await;
    let ends = claims.into_iter().map(|claim| async {
        f.end(claim, success()).await;
        f.store.follow_links(3, Arc::default()).await.unwrap();
    });
    futures_util::future::join_all(ends).await;
    follow(&f).await;
    assert_eq!(
        counts(&read(&f, id).await),
        (12, 12, 0, BatchStatus::Succeeded)
    );
    f.read(on_end).await;
    assert_eq!(f.count_all().await, 14);
}

impl Fixture {
    /// A closed batch with callbacks, of which the one for the end waits for seven seconds.
    pub(crate) fn batch(&self, jobs: usize) -> NewBatch {
        let id = BatchId::new(self.now(), self.next_number());
        NewBatch {
            id,
            tenant: Tenant::default(),
            name: Some(BatchName::new("import 7").unwrap()),
            idempotency_key: None,
            is_open: false,
            jobs: (0..jobs).map(|_| member(self, id)).collect(),
            on_end: Some(self.job_with(|job| {
                job.kind = kind("after");
                job.run_at = RunAt::After(secs(7));
            })),
            on_success: Some(self.job()),
        }
    }
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

    let jobs = f.store.get_listed_jobs(ids).await.unwrap();
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

fn member(f: &Fixture, batch: BatchId) -> NewJob {
    f.job().with_extras(NewJobExtras {
        batch: Some(batch),
        ..NewJobExtras::default()
    })
}

fn callback(job: &Option<NewJob>) -> JobId {
    job.as_ref().unwrap().id
}

fn retry() -> JobCommand {
    JobCommand::Retry { payload: None }
}

async fn create(f: &Fixture, batch: NewBatch) -> BatchRecord {
    let jobs = batch.jobs.len();
    match f.store.create_batch(batch, 10).await.unwrap() {
        BatchCreateResult::Created(record, results) => {
            let is_new = |result: &EnqueueResult| matches!(result, EnqueueResult::Created(..));
            assert!(results.len() == jobs && results.iter().all(is_new));
            record
        }
        other => panic!("{other:?}"),
    }
}

async fn read(f: &Fixture, id: BatchId) -> BatchRecord {
    f.store.get_batch(id).await.unwrap().unwrap()
}

/// All, succeeded and failed, and what that comes to.
fn counts(batch: &BatchRecord) -> (u64, u64, u64, BatchStatus) {
    let counts = batch.counts;
    (
        counts.total,
        counts.succeeded,
        counts.failed,
        counts.status(),
    )
}

async fn follow(f: &Fixture) {
    while f
        .store
        .follow_links(10, Arc::default())
        .await
        .unwrap()
        .has_more
    {}
}

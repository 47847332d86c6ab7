//! At most one job of a key.

use std::sync::Arc;

use steadfast_core::{
    Actor, ConflictAction, Debounce, JobCommand, JobState, NewJob, NewJobExtras, RefusalReason,
    RunAt, Unique, UniqueConflict, UniqueKey, UniqueResult, UniqueScope,
};

use crate::conformance::fixture::{Fixture, json, kind, permanent, secs, success, tenant};
use crate::{AuditFilter, CommandError, EnqueueError, EnqueueResult, PageRequest};

pub async fn a_second_unique_job_is_not_stored(f: Fixture) {
    let first = f.enqueue_one(unique(&f, "report:7", KEEP)).await;
    let second = create(&f, unique(&f, "report:7", KEEP)).await;
    assert_eq!(second, EnqueueResult::Unique(first, UniqueResult::Kept));
    // Other keys, other tenants, and jobs without a key are others.
    f.enqueue_one(unique(&f, "report:8", KEEP)).await;
    let mut other = unique(&f, "report:7", KEEP);
    other.tenant = tenant("other");
    f.enqueue_one(other).await;
    f.enqueue_one(f.job()).await;
    assert_eq!(f.count_all().await, 4);
    let stored = f.read(first).await;
    assert_eq!(stored.unique().unwrap().key.as_str(), "report:7");
    assert_eq!(stored.unique().unwrap().scope, UniqueScope::Unfinished);
}

pub async fn a_unique_job_is_the_only_one_until_it_ends_or_starts(f: Fixture) {
    let first = f.enqueue_one(unique(&f, "a", KEEP)).await;
    let claim = f.claim_of(first).await;
    let kept = EnqueueResult::Unique(first, UniqueResult::Kept);
    assert_eq!(create(&f, unique(&f, "a", KEEP)).await, kept);
    f.end(claim, success()).await;
    let second = f.enqueue_one(unique(&f, "a", KEEP)).await;
    // While it waits: a running one is no hindrance.
    let claim = f.claim_of(second).await;
    let third = f.enqueue_one(waiting(&f, "a", KEEP)).await;
    let kept = EnqueueResult::Unique(third, UniqueResult::Kept);
    assert_eq!(create(&f, waiting(&f, "a", KEEP)).await, kept);
    f.end(claim, success()).await;
    assert_eq!(create(&f, waiting(&f, "a", KEEP)).await, kept);
}

pub async fn a_rejected_unique_job_leaves_nothing_of_its_batch(f: Fixture) {
    let first = f.enqueue_one(unique(&f, "a", KEEP)).await;
    let batch = vec![f.job(), unique(&f, "b", KEEP), unique(&f, "a", REJECT)];
    let error = f.store.enqueue(batch, None).await.unwrap_err();
    let EnqueueError::NotUnique {
        index,
        job,
        conflict,
    } = error
    else {
        panic!("{error}");
    };
    assert_eq!((index, job, conflict), (2, first, UniqueConflict::Exists));
    assert_eq!(f.count_all().await, 1);
    f.claim_of(first).await;
    let error = f.store.enqueue(vec![unique(&f, "a", REPLACE)], None).await;
    let conflict = match error.unwrap_err() {
        EnqueueError::NotUnique { conflict, .. } => conflict,
        error => panic!("{error}"),
    };
    assert_eq!(conflict, UniqueConflict::Running);
    // Twice in one batch.
    let batch = vec![unique(&f, "c", REJECT), unique(&f, "c", REJECT)];
    let id = batch[0].id;
    let error = f.store.enqueue(batch, None).await.unwrap_err();
    assert!(matches!(error, EnqueueError::NotUnique { index: 1, job, .. } if job == id));
    assert_eq!(f.count_all().await, 1);
}

pub async fn a_replaced_unique_job_has_the_newest_payload_policy_and_time(f: Fixture) {
    let first = f.enqueue_one(unique(&f, "a", REPLACE)).await;
    let mut second = unique(&f, "a", REPLACE);
    second.payload = json("2");
    second.run_at = RunAt::After(secs(60));
    second.policy = Arc::new(steadfast_core::Preset::Patient.policy());
    let replaced = EnqueueResult::Unique(first, UniqueResult::Replaced);
    assert_eq!(create(&f, second.clone()).await, replaced);
    let stored = f.read(first).await;
    assert_eq!(stored.payload, second.payload);
    assert_eq!(stored.policy, second.policy);
    assert_eq!(stored.progress.run_at, f.now().plus(secs(60)));
    assert_eq!(f.claim(1).await.len(), 0);
    f.clock.advance(secs(60));
    assert_eq!(f.claim_of(first).await.job().payload, second.payload);
    assert_eq!(f.count_all().await, 1);
}

pub async fn a_unique_job_is_not_replaced_by_one_of_another_kind(f: Fixture) {
    let first = f.enqueue_one(unique(&f, "a", REPLACE)).await;
    let mut other = unique(&f, "a", REPLACE);
    other.kind = kind("other");
    other.payload = json("2");
    let error = f.store.enqueue(vec![other], None).await.unwrap_err();
    assert!(
        matches!(
            &error,
            EnqueueError::NotUnique { job, conflict: UniqueConflict::OtherWork { .. }, .. } if *job == first
        ),
        "{error}"
    );
    assert_ne!(f.read(first).await.payload, json("2"));
}

pub async fn a_key_twice_in_one_batch_is_one_unique_job(f: Fixture) {
    let mut last = unique(&f, "a", REPLACE);
    last.payload = json("3");
    let batch = vec![
        unique(&f, "a", KEEP),
        unique(&f, "a", KEEP),
        f.job(),
        last.clone(),
    ];
    let (first, plain) = (batch[0].id, batch[2].id);
    let answers = f.store.enqueue(batch, None).await.unwrap();
    let expected = [
        EnqueueResult::Created(first, f.now()),
        EnqueueResult::Unique(first, UniqueResult::Kept),
        EnqueueResult::Created(plain, f.now()),
        EnqueueResult::Unique(first, UniqueResult::Replaced),
    ];
    assert_eq!(answers, expected);
    assert_eq!(f.read(first).await.payload, last.payload);
    assert_eq!(f.count_all().await, 2);
}

pub async fn a_repeated_create_of_a_unique_job_is_the_same_job(f: Fixture) {
    let job = unique(&f, "a", REJECT);
    let id = f.enqueue_one(job.clone()).await;
    assert_eq!(create(&f, job.clone()).await, EnqueueResult::Existing(id));
    let claim = f.claim_of(id).await;
    f.end(claim, success()).await;
    assert_eq!(create(&f, job).await, EnqueueResult::Existing(id));
}

pub async fn requests_move_the_start_of_a_unique_job(f: Fixture) {
    let debounced = || {
        let mut job = unique(&f, "a", KEEP);
        let mut extras = job.extras().unwrap().clone();
        let wait = Debounce::new(secs(10), Some(secs(25)), extras.unique.as_ref(), RunAt::Now);
        extras.debounce = Some(wait.unwrap());
        job = job.with_extras(extras);
        job
    };
    let start = f.now();
    let id = f.enqueue_one(debounced()).await;
    assert_eq!(f.read(id).await.progress.run_at, start.plus(secs(10)));
    for (wait, run_at) in [(9, 19), (9, 25)] {
        f.clock.advance(secs(wait));
        let moved = EnqueueResult::Unique(id, UniqueResult::Moved);
        assert_eq!(create(&f, debounced()).await, moved);
        assert_eq!(f.read(id).await.progress.run_at, start.plus(secs(run_at)));
        assert_eq!(f.claim(1).await.len(), 0);
    }
    f.clock.advance(secs(7));
    f.claim_of(id).await;
}

pub async fn a_dead_letter_whose_key_is_taken_is_not_requeued(f: Fixture) {
    let dead = f.ended(unique(&f, "a", KEEP), permanent("no")).await.id;
    let second = f.enqueue_one(unique(&f, "a", KEEP)).await;
    let retry = JobCommand::Retry { payload: None };
    let answers = f
        .store
        .run_command(vec![dead], retry.clone(), Arc::default(), None)
        .await
        .unwrap();
    let Err(CommandError::Refused(refusal)) = &answers[0] else {
        panic!("{answers:?}");
    };
    assert_eq!(refusal.reason, RefusalReason::UniqueKeyTaken);
    assert_eq!(f.read(dead).await.progress.state, JobState::Failed);
    f.command(second, JobCommand::Cancel).await;
    let job = f.command(dead, retry.clone()).await;
    assert_eq!(job.progress.state, JobState::Waiting);
    // Two of one key at once: one of them.
    let kept = EnqueueResult::Unique(dead, UniqueResult::Kept);
    assert_eq!(create(&f, unique(&f, "a", KEEP)).await, kept);
    let answers = f
        .store
        .run_command(vec![second], retry, Arc::default(), None)
        .await
        .unwrap();
    assert!(answers[0].is_err());
}

pub async fn of_dead_letters_of_one_key_one_is_requeued(f: Fixture) {
    let mut dead = Vec::new();
    for _ in 0..3 {
        dead.push(f.ended(unique(&f, "a", KEEP), permanent("no")).await.id);
    }
    let retry = JobCommand::Retry { payload: None };
    let answers = f.store.run_command(dead, retry, Arc::default(), None).await;
    let done = answers.unwrap().iter().filter(|it| it.is_ok()).count();
    assert_eq!(done, 1);
}

pub async fn callers_at_once_make_one_unique_job(f: Fixture) {
    let mut callers = Vec::new();
    for _ in 0..8 {
        let (store, job) = (f.store.clone(), unique(&f, "a", KEEP));
        let create = async move { store.enqueue(vec![job], None).await.unwrap()[0] };
        callers.push(tokio::spawn(create));
    }
    let mut created = 0;
    for caller in callers {
        let answer = caller.await.unwrap();
        created += usize::from(matches!(answer, EnqueueResult::Created(..)));
    }
    assert_eq!((created, f.count_all().await), (1, 1));
}

pub async fn a_request_that_changes_a_stored_job_leaves_an_audit_record(f: Fixture) {
    let by_kim = |job: NewJob| {
        let mut extras = job.extras().unwrap().clone();
        extras.requested_by = Some(Actor::named("kim"));
        job.with_extras(extras)
    };
    let first = f.enqueue_one(by_kim(unique(&f, "a", KEEP))).await;
    // One that changes nothing, and one of nobody who is known.
    create(&f, by_kim(unique(&f, "a", KEEP))).await;
    create(&f, unique(&f, "a", REPLACE)).await;
    let rejected = vec![
        by_kim(unique(&f, "a", REPLACE)),
        by_kim(unique(&f, "a", REJECT)),
    ];
    f.store.enqueue(rejected, None).await.unwrap_err();
    let records = async || {
        let page = PageRequest::first(10);
        let records = f.store.list_audit(AuditFilter::default(), page);
        records.await.unwrap().items
    };
    assert_eq!(records().await, []);

    f.clock.advance(secs(1));
    let replaced = by_kim(unique(&f, "a", REPLACE));
    for _ in 0..2 {
        // The second is the same request, whose answer was lost.
        create(&f, replaced.clone()).await;
    }
    let [record] = &records().await[..] else {
        panic!("one record is expected");
    };
    assert_eq!((&*record.action, record.at), ("job.replace", f.now()));
    assert_eq!(record.subject, first.to_string());
    assert_eq!(record.actor, Actor::named("kim"));
    assert_eq!(record.tenant, Some(replaced.tenant));

    // Requests that move the start leave one record, however many they are.
    for _ in 0..3 {
        let mut moved = by_kim(unique(&f, "a", KEEP));
        let mut extras = moved.extras().unwrap().clone();
        let wait = Debounce::new(secs(5), None, extras.unique.as_ref(), RunAt::Now);
        extras.debounce = wait.ok();
        moved = moved.with_extras(extras);
        f.clock.advance(secs(1));
        let answer = create(&f, moved).await;
        assert_eq!(answer, EnqueueResult::Unique(first, UniqueResult::Moved));
        assert_eq!(records().await.len(), 2);
    }
}

const KEEP: ConflictAction = ConflictAction::Keep;
const REPLACE: ConflictAction = ConflictAction::Replace;
const REJECT: ConflictAction = ConflictAction::Reject;

fn unique(f: &Fixture, key: &str, on_conflict: ConflictAction) -> NewJob {
    unique_while(f, key, UniqueScope::Unfinished, on_conflict)
}

fn waiting(f: &Fixture, key: &str, on_conflict: ConflictAction) -> NewJob {
    unique_while(f, key, UniqueScope::Waiting, on_conflict)
}

fn unique_while(f: &Fixture, key: &str, scope: UniqueScope, on_conflict: ConflictAction) -> NewJob {
    let key = UniqueKey::new(key).unwrap();
    f.job().with_extras(NewJobExtras {
        unique: Some(Unique {
            key,
            scope,
            on_conflict,
        }),
        ..NewJobExtras::default()
    })
}

async fn create(f: &Fixture, job: NewJob) -> EnqueueResult {
    f.store.enqueue(vec![job], None).await.unwrap()[0]
}

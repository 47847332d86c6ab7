//! One idempotency key, one request, one job.

use steadfast_core::{
    Guarantee, JobCommand, JobEdit, NewJob, Preset, RunAt, Schedule, Tags, Tenant,
};

use crate::conformance::fixture::{
    Fixture, json, key, kind, priority, queue, secs, success, tenant,
};
use crate::{
    EnqueueError,
    EnqueueResult::{Created, Existing},
    ScheduleSaveResult,
};

pub async fn a_known_key_answers_with_its_job(f: Fixture) {
    let first = f.enqueue_one(keyed(&f, "k")).await;
    f.clock.advance(secs(3));
    let before = f.read(first).await;
    let answers = f.store.enqueue(vec![keyed(&f, "k")], None).await.unwrap();
    assert_eq!(answers, [Existing(first)]);
    assert_eq!(f.read(first).await, before);
    assert_eq!(f.count_all().await, 1);
}

pub async fn a_repeated_create_with_its_own_id_is_the_same_job(f: Fixture) {
    let job = keyed(&f, "k");
    f.enqueue_one(job.clone()).await;
    let answers = f.store.enqueue(vec![job.clone()], None).await.unwrap();
    assert_eq!(answers, [Existing(job.id)]);
}

pub async fn a_key_with_another_request_is_a_conflict(f: Fixture) {
    let first = f.enqueue_one(keyed(&f, "k")).await;
    let asked = || keyed(&f, "k");
    let with = |change: fn(&mut NewJob)| {
        let mut job = asked();
        change(&mut job);
        job
    };
    let tags = Tags::from([("a".into(), "b".into())]);
    for (field, other) in [
        ("queue", with(|job| job.queue = queue("other"))),
        ("kind", with(|job| job.kind = kind("other"))),
        ("payload", with(|job| job.payload = json("{}"))),
        ("priority", with(|job| job.priority = priority(6))),
        ("run_at", with(|job| job.run_at = RunAt::After(secs(1)))),
        (
            "retry",
            with(|job| job.requested_retry = Preset::Once.into()),
        ),
        (
            "guarantee",
            with(|job| job.guarantee = Guarantee::AtMostOnce),
        ),
        ("timeout", asked().with_timeout(secs(9)).unwrap()),
        ("lease", asked().with_lease(secs(9)).unwrap()),
        ("tags", asked().with_tags(tags).unwrap()),
    ] {
        let other_id = other.id;
        let batch = vec![f.job(), other];
        match f.store.enqueue(batch, None).await.unwrap_err() {
            EnqueueError::Conflict { index, key, job } => {
                assert_eq!((index, key.as_str(), job), (1, "k", first), "{field}");
            }
            error => panic!("{field}: {error}"),
        }
        assert_eq!(f.find(other_id).await, None, "{field}");
    }
    assert_eq!(f.count_all().await, 1);
}

pub async fn a_conflict_leaves_nothing_of_its_batch(f: Fixture) {
    f.enqueue_one(keyed(&f, "taken")).await;
    let early = keyed(&f, "free");
    let mut conflicting = keyed(&f, "taken");
    conflicting.kind = kind("other");
    let batch = vec![early.clone(), f.job(), conflicting, f.job()];
    assert!(f.store.enqueue(batch, None).await.is_err());
    assert_eq!(f.count_all().await, 1);

    // The key of a job that was not stored is still free, for any request.
    let mut other = keyed(&f, "free");
    other.kind = kind("other");
    let answers = f.store.enqueue(vec![other.clone()], None).await.unwrap();
    assert_eq!(answers, [Created(other.id, f.now())]);
}

pub async fn a_key_belongs_to_its_tenant(f: Fixture) {
    let ours = f.enqueue_one(keyed(&f, "k")).await;
    let mut theirs = keyed(&f, "k");
    theirs.tenant = tenant("acme");
    theirs.kind = kind("other");
    let theirs = f.enqueue_one(theirs).await;

    let mut again = keyed(&f, "k");
    again.tenant = tenant("acme");
    again.kind = kind("other");
    let answers = f
        .store
        .enqueue(vec![keyed(&f, "k"), again], None)
        .await
        .unwrap();
    assert_eq!(answers, [Existing(ours), Existing(theirs)]);
}

pub async fn keys_that_only_look_alike_are_different(f: Fixture) {
    // "é" in two spellings, and what a collation or padding rule would fold together.
    for text in [
        "k", "K", "k ", " k", "ķ", "\u{e9}", "e\u{301}", "%", "_", "k'",
    ] {
        f.enqueue_one(keyed(&f, text)).await;
    }
    assert_eq!(f.count_all().await, 10);
}

pub async fn a_key_twice_in_one_batch_makes_one_job(f: Fixture) {
    let jobs = vec![keyed(&f, "k"), f.job(), keyed(&f, "k")];
    let (first, second) = (jobs[0].id, jobs[1].id);
    let answers = f.store.enqueue(jobs, None).await.unwrap();
    let created = |id| Created(id, f.now());
    assert_eq!(answers, [created(first), created(second), Existing(first)]);
    assert_eq!(f.count_all().await, 2);
}

pub async fn a_key_twice_in_one_batch_with_another_request_is_a_conflict(f: Fixture) {
    let first = keyed(&f, "k");
    let mut second = keyed(&f, "k");
    second.priority = priority(9);
    let batch = vec![first.clone(), second];
    match f.store.enqueue(batch, None).await.unwrap_err() {
        EnqueueError::Conflict { index, job, .. } => assert_eq!((index, job), (1, first.id)),
        error => panic!("{error}"),
    }
    assert_eq!(f.count_all().await, 0);
}

pub async fn a_key_stands_for_the_request_as_it_was_made(f: Fixture) {
    let job = f.enqueue_one(keyed(&f, "k")).await;
    let edit = JobEdit {
        payload: Some(json("1")),
        priority: Some(priority(9)),
        ..JobEdit::default()
    };
    f.command(job, JobCommand::Edit(edit)).await;
    let claim = f.claim_of(job).await;
    f.end(claim, success()).await;
    let answers = f.store.enqueue(vec![keyed(&f, "k")], None).await.unwrap();
    assert_eq!(answers, [Existing(job)]);
}

pub async fn a_rule_in_place_of_a_time_stands_for_itself(f: Fixture) {
    let matching = |rule: &str, at| {
        let mut job = keyed(&f, "k");
        job.run_at = RunAt::At(at);
        job.requested_rule = Some(rule.to_owned());
        job
    };
    let first = f
        .enqueue_one(matching("0 3 * * *", f.now().plus(secs(60))))
        .await;
    // The match that the first request stood for has passed.
    let later = f.now().plus(secs(86_460));
    let answers = f
        .store
        .enqueue(vec![matching("0 3 * * *", later)], None)
        .await;
    assert_eq!(answers.unwrap(), [Existing(first)]);
    let other = f
        .store
        .enqueue(vec![matching("0 4 * * *", later)], None)
        .await;
    assert!(matches!(other, Err(EnqueueError::Conflict { .. })));
    assert_eq!(f.count_all().await, 1);
}

pub async fn a_schedule_is_created_once_for_its_key(f: Fixture) {
    let asked = keyed_schedule(&f, "nightly", "k");
    let mut expected = asked.clone();
    expected.revision = 1;
    let created = f
        .store
        .save_schedule(asked, Some([1; 16]), None)
        .await
        .unwrap();
    assert_eq!(created, ScheduleSaveResult::Done(expected.clone()));
    assert_eq!(f.read_schedule(expected.id).await, expected);
    let again = keyed_schedule(&f, "nightly", "k");
    let again = f
        .store
        .save_schedule(again, Some([1; 16]), None)
        .await
        .unwrap();
    assert_eq!(again, ScheduleSaveResult::Existing(expected));
}

pub async fn a_schedules_key_with_another_request_is_taken(f: Fixture) {
    let first = keyed_schedule(&f, "nightly", "k");
    f.store
        .save_schedule(first.clone(), Some([1; 16]), None)
        .await
        .unwrap();
    for (name, print) in [("nightly", [2; 16]), ("weekly", [2; 16])] {
        let other = keyed_schedule(&f, name, "k");
        let answer = f
            .store
            .save_schedule(other, Some(print), None)
            .await
            .unwrap();
        assert_eq!(answer, ScheduleSaveResult::KeyTaken, "{name}");
    }
    let mut theirs = keyed_schedule(&f, "nightly", "k");
    theirs.template.tenant = tenant("acme");
    let answer = f
        .store
        .save_schedule(theirs, Some([2; 16]), None)
        .await
        .unwrap();
    assert!(matches!(answer, ScheduleSaveResult::Done(_)));
}

pub async fn a_schedule_does_not_take_the_name_of_another(f: Fixture) {
    let stored = f.saved_schedule("nightly").await;
    let asked = keyed_schedule(&f, "nightly", "k");
    let answer = f
        .store
        .save_schedule(asked, Some([1; 16]), None)
        .await
        .unwrap();
    assert_eq!(answer, ScheduleSaveResult::Outdated(stored.clone()));
    assert_eq!(f.read_schedule(stored.id).await, stored);
    // The key of a schedule that was not stored is still free.
    f.enqueue_one(keyed(&f, "k")).await;
}

pub async fn a_schedules_key_stays_when_it_is_changed_and_goes_with_it(f: Fixture) {
    let asked = keyed_schedule(&f, "nightly", "k");
    let id = asked.id;
    f.store
        .save_schedule(asked.clone(), Some([1; 16]), None)
        .await
        .unwrap();
    let mut changed = f.read_schedule(id).await;
    changed.template.idempotency_key = None;
    changed.template.priority = priority(9);
    let changed = f.save(changed).await;
    assert_eq!(changed.template.idempotency_key, key("k"));
    let again = f
        .store
        .save_schedule(asked.clone(), Some([1; 16]), None)
        .await
        .unwrap();
    assert_eq!(again, ScheduleSaveResult::Existing(changed));

    assert!(f.store.delete_schedule(id, None).await.unwrap());
    let other = keyed_schedule(&f, "weekly", "k");
    let answer = f
        .store
        .save_schedule(other, Some([2; 16]), None)
        .await
        .unwrap();
    assert!(matches!(answer, ScheduleSaveResult::Done(_)));
}

pub async fn jobs_and_schedules_share_their_keys(f: Fixture) {
    f.enqueue_one(keyed(&f, "job")).await;
    let asked = keyed_schedule(&f, "nightly", "job");
    let answer = f
        .store
        .save_schedule(asked, Some([1; 16]), None)
        .await
        .unwrap();
    assert_eq!(answer, ScheduleSaveResult::KeyTaken);

    let asked = keyed_schedule(&f, "nightly", "schedule");
    f.store
        .save_schedule(asked, Some([1; 16]), None)
        .await
        .unwrap();
    let answer = f.store.enqueue(vec![keyed(&f, "schedule")], None).await;
    assert!(matches!(answer, Err(EnqueueError::Conflict { .. })));
}

pub async fn racing_creates_of_a_keyed_schedule_make_one(f: Fixture) {
    let create = || {
        f.store
            .save_schedule(keyed_schedule(&f, "nightly", "k"), Some([1; 16]), None)
    };
    let (a, b, c, d) = tokio::join!(create(), create(), create(), create());
    let answers = [a, b, c, d].map(Result::unwrap);
    let mut created = 0;
    let mut ids = std::collections::BTreeSet::new();
    for answer in answers {
        match answer {
            ScheduleSaveResult::Done(schedule) => {
                created += 1;
                ids.insert(schedule.id);
            }
            ScheduleSaveResult::Existing(schedule) => {
                ids.insert(schedule.id);
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((created, ids.len()), (1, 1));
}

fn keyed_schedule(f: &Fixture, name: &str, text: &str) -> Schedule {
    let mut schedule = f.schedule(name);
    schedule.template.tenant = Tenant::default();
    schedule.template.idempotency_key = key(text);
    schedule
}

fn keyed(f: &Fixture, text: &str) -> NewJob {
    f.job_with(|job| {
        job.tenant = Tenant::default();
        job.idempotency_key = key(text);
    })
}

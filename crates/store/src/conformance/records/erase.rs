//! Jobs that are deleted because a person asks for it, with everything that tells of them.

use steadfast_core::{
    Actor, AuditId, AuditRecord, FailureKey, Job, JobCommand, JobId, JobState, LogLevel, LogLine,
    LogLines, OnFailure, Operation, OperationId, OperationKind, OperationResult,
};

use super::after::after;
use crate::conformance::fixture::{Fixture, json, key, permanent, step, success};
use crate::{
    AuditFilter, EnqueueResult, FailureFilter, JobFilter, JobTraces, NewLogLines, OperationBatch,
    OperationChange, OperationJobFilter, OperationRecord, OperationStep, PageRequest,
};

/// Erases jobs by an operation. Answers with the result of each, newest first.
async fn erase(f: &Fixture, jobs: &[JobId], traces: JobTraces) -> Vec<Option<OperationResult>> {
    let total = jobs.len() as u64;
    let operation = Operation::new(OperationKind::Erase, None, total, f.now()).unwrap();
    let record = OperationRecord {
        id: OperationId::new(f.now(), f.next_number()),
        tenant: None,
        by: Actor::named("ann"),
        created_at: f.now(),
        finished_at: None,
        filter: JobFilter::default(),
        is_named: true,
        operation,
        revision: 0,
    };
    let id = AuditId::new(f.now(), f.next_number());
    let audit = AuditRecord::new(
        id,
        f.now(),
        Actor::named("ann"),
        "operation.create",
        "erase",
    );
    let mut jobs = jobs.to_vec();
    jobs.sort_unstable_by(|a, b| b.cmp(a));
    let created = f
        .store
        .create_operation(record.clone(), jobs.clone(), 10, audit);
    assert!(created.await.unwrap());
    let batch = OperationBatch {
        cursor: jobs.last().copied(),
        is_last: true,
        jobs,
        traces,
    };
    let step = OperationStep::Work {
        revision: 0,
        batch,
        subscriptions: Default::default(),
    };
    let done = f.store.change_operation(record.id, step);
    assert!(matches!(done.await.unwrap(), OperationChange::Done(_)));
    let rows =
        f.store
            .list_operation_jobs(record.id, OperationJobFilter::All, PageRequest::first(100));
    let rows = rows.await.unwrap().items;
    rows.iter().map(|row| row.result).collect()
}

pub async fn an_erased_job_leaves_only_its_id_in_the_audit(f: Fixture) {
    let f = &f;
    let new = || {
        let job = f.job_with(|job| {
            job.payload = json(r#"{"name": "Jane Roe"}"#);
            job.idempotency_key = key("order 1");
        });
        job.with_tags([("customer".to_owned(), "4711".to_owned())].into())
            .unwrap()
    };
    let before = f.count_all().await;
    let done = f.running(new()).await;
    f.save_step(done.id, step("charge"), json(r#""Jane Roe""#))
        .await;
    let claim = f.held(done.id).await;
    let line = LogLine {
        at: f.now(),
        level: LogLevel::Info,
        text: "mailed Jane Roe".to_owned(),
    };
    let log = NewLogLines {
        job: done.id,
        fence: claim.fence(),
        lines: LogLines {
            from: 0,
            lines: vec![line],
        },
    };
    assert_eq!(f.store.append_logs(vec![log]).await.unwrap(), [true]);
    f.end(claim, success()).await;

    let results = erase(f, &[done.id], JobTraces::default()).await;
    assert_eq!(results, [Some(OperationResult::Changed)]);
    assert_eq!(f.find(done.id).await, None);
    assert_eq!(f.store.attempt_logs(done.id, 1, 0).await.unwrap(), []);
    assert_eq!(f.attempts_of(done.id).await, []);
    assert_eq!(f.count_all().await, before);
    let tagged = JobFilter {
        tags: vec!["customer:4711".to_owned()],
        ..JobFilter::default()
    };
    let listed = f.store.list_jobs(tagged, PageRequest::first(10)).await;
    assert_eq!(listed.unwrap().items.len(), 0);
    let differences = f.store.recount(false).await.unwrap();
    assert_eq!(differences, [], "counters agree with the rows");
    let filter = AuditFilter {
        subject: Some(done.id.to_string()),
        ..AuditFilter::default()
    };
    let audit = f.store.list_audit(filter, PageRequest::first(10)).await;
    let audit = audit.unwrap().items;
    let told: Vec<_> = audit
        .iter()
        .map(|it| (it.action.as_str(), it.actor.name.as_str(), &it.tenant))
        .collect();
    assert_eq!(told, [("job.erase", "ann", &Some(done.tenant.clone()))]);
    // The key is free again.
    let again = f.store.enqueue(vec![new()], None).await.unwrap();
    assert!(matches!(again[0], EnqueueResult::Created(..)));
}

pub async fn a_job_that_has_not_ended_is_not_erased(f: Fixture) {
    let f = &f;
    let running = f.running(f.job()).await;
    let waiting = f.enqueue_one(f.job()).await;
    let results = erase(f, &[running.id, waiting], JobTraces::default()).await;
    let expected = [OperationResult::Waiting, OperationResult::Running].map(Some);
    assert_eq!(results, expected);
    assert_eq!(f.read(waiting).await.progress.state, JobState::Waiting);
    let claim = f.held(running.id).await;
    f.end(claim, success()).await;
}

pub async fn an_erased_dead_letter_is_counted_nowhere_and_is_no_example(f: Fixture) {
    let f = &f;
    let first = f
        .ended(f.job(), permanent("no row for \u{201c}Jane Roe\u{201d}"))
        .await;
    let second = f
        .ended(f.job(), permanent("no row for \u{201c}Jane Roe\u{201d}"))
        .await;
    let print = |job: &Job| job.progress.failure.as_ref().unwrap().fingerprint.unwrap();
    assert_eq!(print(&first), print(&second));
    let traces = JobTraces {
        failures: vec![FailureKey::new(first.tenant.clone(), print(&first))],
        ..JobTraces::default()
    };
    erase(f, &[first.id, second.id], traces).await;
    let groups = f
        .store
        .list_failures(FailureFilter::default(), PageRequest::first(10));
    let group = groups.await.unwrap().items.remove(0);
    assert_eq!(group.tally.dead_letters, 0);
    let text = serde_json::to_string(&group).unwrap();
    assert!(!text.contains("Jane"), "{text}");
    assert_eq!(f.store.recount(false).await.unwrap(), []);
}

pub async fn deliveries_about_an_erased_job_go_with_it(f: Fixture) {
    let f = &f;
    let about = f.ended(f.job(), success()).await;
    let sent = f.ended(f.job(), success()).await;
    let sending = f.running(f.job()).await;
    let waiting = f.enqueue_one(f.job()).await;
    let traces = JobTraces {
        deliveries: vec![sent.id, sending.id, waiting],
        ..JobTraces::default()
    };
    erase(f, &[about.id], traces).await;
    for gone in [about.id, sent.id, waiting] {
        assert_eq!(f.find(gone).await, None);
    }
    assert!(f.find(sending.id).await.is_some(), "it is being sent");
}

pub async fn erasing_a_prerequisite_decides_as_its_end_did(f: Fixture) {
    let f = &f;
    let good = f.claimed(f.job()).await;
    let bad = f.claimed(f.job()).await;
    let (good_id, bad_id) = (good.job().id, bad.job().id);
    let released = f.enqueue_one(after(f, &[good_id], OnFailure::Fail)).await;
    let failed = f.enqueue_one(after(f, &[bad_id], OnFailure::Fail)).await;
    f.end(good, success()).await;
    f.end(bad, permanent("no")).await;
    // Before any node has looked at what follows.
    erase(f, &[good_id, bad_id], JobTraces::default()).await;
    while f
        .store
        .release_dependants(10, Default::default())
        .await
        .unwrap()
        .has_more
    {}
    assert!(!f.read(released).await.is_blocked());
    assert_eq!(f.read(failed).await.progress.state, JobState::Failed);
    f.command(released, JobCommand::Cancel).await;
}

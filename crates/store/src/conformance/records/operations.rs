//! Work on many jobs, and who did what.

use std::sync::Arc;

use steadfast_core::{
    Actor, AuditId, AuditRecord, CanaryRule, JobCommand, JobId, JobState, KeyRotation, Operation,
    OperationEvent, OperationId, OperationKind, OperationOutcome, OperationRefusal,
    OperationResult, OperationStatus, Tenant,
};

use crate::conformance::fixture::{Fixture, permanent, secs, success, tenant, walk};
use crate::{
    AuditFilter, JobFilter, OperationBatch, OperationChange, OperationFilter, OperationJobFilter,
    OperationRecord, OperationStep, PageRequest,
};

/// An operation on dead letters that has not begun.
fn requeue(f: &Fixture, total: u64) -> OperationRecord {
    let operation = Operation::new(OperationKind::Requeue, None, total, f.now()).unwrap();
    OperationRecord {
        id: OperationId::new(f.now(), f.next_number()),
        tenant: None,
        by: Actor::named("cli"),
        created_at: f.now(),
        finished_at: None,
        filter: JobFilter::dead_letters(),
        is_named: false,
        operation,
        revision: 0,
    }
}

fn canary(f: &Fixture, total: u64) -> OperationRecord {
    let mut record = requeue(f, total);
    let operation = record.operation.with_canary(CanaryRule::default());
    record.operation = operation.unwrap();
    record
}

fn audit(f: &Fixture, action: &str, subject: &str) -> AuditRecord {
    let id = AuditId::new(f.now(), f.next_number());
    AuditRecord::new(id, f.now(), Actor::named("cli"), action, subject)
}

async fn create(f: &Fixture, record: OperationRecord, jobs: &[JobId]) -> OperationRecord {
    let record_audit = audit(f, "operation.create", &record.id.to_string());
    let is_stored = f
        .store
        .create_operation(record.clone(), jobs.to_vec(), 10, record_audit)
        .await
        .unwrap();
    assert!(is_stored);
    record
}

async fn dead_letters(f: &Fixture, count: usize) -> Vec<JobId> {
    let mut ids = Vec::new();
    for _ in 0..count {
        ids.push(f.ended(f.job(), permanent("no mailbox")).await.id);
    }
    ids.sort_unstable();
    ids.reverse();
    ids
}

fn batch(jobs: &[JobId], is_last: bool) -> OperationBatch {
    OperationBatch {
        jobs: jobs.to_vec(),
        cursor: jobs.last().copied(),
        is_last,
        ..OperationBatch::default()
    }
}

async fn work(f: &Fixture, record: &OperationRecord, batch: OperationBatch) -> OperationChange {
    let (id, revision) = (record.id, record.revision);
    let step = OperationStep::Work {
        revision,
        batch,
        subscriptions: Arc::default(),
    };
    f.store.change_operation(id, step).await.unwrap()
}

async fn worked(f: &Fixture, record: &OperationRecord, batch: OperationBatch) -> OperationRecord {
    let OperationChange::Done(done) = work(f, record, batch).await else {
        panic!("the batch was refused");
    };
    assert_eq!(
        f.store.get_operation(record.id).await.unwrap().as_ref(),
        Some(&*done)
    );
    *done
}

async fn rows(
    f: &Fixture,
    id: OperationId,
    filter: OperationJobFilter,
) -> Vec<(JobId, Option<OperationResult>)> {
    let jobs = walk(2, async |page| {
        f.store.list_operation_jobs(id, filter, page).await
    });
    let jobs = jobs.await;
    jobs.iter().map(|job| (job.job, job.result)).collect()
}

async fn actions(f: &Fixture, filter: AuditFilter) -> Vec<String> {
    let records = walk(2, async |page| {
        f.store.list_audit(filter.clone(), page).await
    });
    let records = records.await;
    records.into_iter().map(|record| record.action).collect()
}

pub async fn operations_are_kept_and_listed_newest_first(f: Fixture) {
    let f = &f;
    let (job, mut records) = (f.id(), Vec::new());
    for name in [None, Some("acme"), None] {
        let mut record = requeue(f, 5);
        record.tenant = name.map(tenant);
        records.push(create(f, record, &[job]).await);
    }
    let stored = f.store.get_operation(records[1].id).await.unwrap();
    assert_eq!(stored.as_ref(), Some(&records[1]));
    let list = async |filter: OperationFilter| {
        let found = walk(1, async |page| {
            f.store.list_operations(filter.clone(), page).await
        });
        let found = found.await;
        found.iter().map(|record| record.id).collect::<Vec<_>>()
    };
    let ids: Vec<OperationId> = records.iter().rev().map(|record| record.id).collect();
    assert_eq!(list(OperationFilter::default()).await, ids);
    assert_eq!(list(of_job(job)).await, ids);
    assert!(list(of_job(f.id())).await.is_empty());
    for (id, found) in [(ids[1], vec![ids[1]]), (ids[0], vec![])] {
        let one = OperationFilter {
            id: Some(id),
            tenant: Some(tenant("acme")),
            ..of_job(job)
        };
        assert_eq!(list(one.clone()).await, found);
        assert_eq!(list(OperationFilter { job: None, ..one }).await, found);
    }
    let of_tenant = |is_open| OperationFilter {
        tenant: Some(tenant("acme")),
        is_open,
        ..OperationFilter::default()
    };
    assert_eq!(list(of_tenant(false)).await, [records[1].id]);
    let cancel = OperationEvent::Cancel;
    let cancelled = f.store.change_operation(records[1].id, cancel.into()).await;
    assert!(matches!(cancelled, Ok(OperationChange::Done(_))));
    assert!(list(of_tenant(true)).await.is_empty());
    let open = OperationFilter {
        tenant: None,
        is_open: true,
        ..OperationFilter::default()
    };
    assert_eq!(list(open).await, [ids[0], ids[2]]);
    let unknown = OperationId::from_bits(1);
    assert_eq!(f.store.get_operation(unknown).await.unwrap(), None);
    let change = f
        .store
        .change_operation(unknown, OperationEvent::Pause.into());
    assert_eq!(change.await.unwrap(), OperationChange::NotFound);
}

pub async fn a_tenant_has_a_bounded_number_of_open_operations(f: Fixture) {
    let f = &f;
    let create = async |name: Option<Tenant>| {
        let mut record = requeue(f, 5);
        record.tenant = name;
        let audit = audit(f, "operation.create", "it");
        let stored = f.store.create_operation(record.clone(), vec![], 2, audit);
        (record.id, stored.await.unwrap())
    };
    let (first, is_stored) = create(None).await;
    assert!(is_stored);
    assert!(create(None).await.1);
    let (refused, is_stored) = create(None).await;
    assert!(!is_stored);
    assert_eq!(f.store.get_operation(refused).await.unwrap(), None);
    assert!(create(Some(tenant("acme"))).await.1);
    let cancel = f
        .store
        .change_operation(first, OperationEvent::Cancel.into());
    cancel.await.unwrap();
    assert!(create(None).await.1);
    // A request that is repeated changes nothing.
    let cancelled = f.store.get_operation(first).await.unwrap().unwrap();
    let mut repeated = requeue(f, 5);
    repeated.id = first;
    let again = audit(f, "operation.create", "it");
    let stored = f.store.create_operation(repeated, vec![], 2, again).await;
    assert!(stored.unwrap());
    let kept = f.store.get_operation(first).await.unwrap();
    assert_eq!(kept, Some(cancelled));
    // What was refused or repeated has left no record.
    assert_eq!(actions(f, AuditFilter::default()).await.len(), 4);
}

pub async fn a_batch_changes_jobs_and_counts_them_together(f: Fixture) {
    let f = &f;
    let dead = dead_letters(f, 3).await;
    f.command(dead[1], JobCommand::Retry { payload: None })
        .await;
    let gone = JobId::from_bits(1);
    let jobs = [dead[0], dead[1], dead[2], gone];
    let mut record = requeue(f, 4);
    (record.is_named, record.filter) = (true, JobFilter::default());
    let record = create(f, record, &jobs).await;
    let all = OperationJobFilter::All;
    let not_worked = OperationJobFilter::NotWorked;
    assert_eq!(rows(f, record.id, not_worked).await.len(), 4);
    let first = worked(f, &record, batch(&jobs[..2], false)).await;
    let progress = &first.operation.progress;
    assert_eq!((progress.worked, progress.changed), (2, 1));
    assert_eq!(progress.cursor, Some(dead[1]));
    assert_eq!(f.read(dead[0]).await.progress.state, JobState::Waiting);
    assert_eq!(f.read(dead[2]).await.progress.state, JobState::Failed);
    assert_eq!(rows(f, record.id, not_worked).await.len(), 2);
    let done = worked(f, &first, batch(&jobs[2..], true)).await;
    assert_eq!(done.operation.progress.status, OperationStatus::Done);
    assert_eq!(done.finished_at, Some(f.now()));
    let expected = [
        (dead[0], Some(OperationResult::Changed)),
        (dead[1], Some(OperationResult::Waiting)),
        (dead[2], Some(OperationResult::Changed)),
        (gone, Some(OperationResult::Gone)),
    ];
    assert_eq!(rows(f, record.id, all).await, expected);
    let left = rows(f, record.id, OperationJobFilter::NotChanged).await;
    assert_eq!(left, [expected[1], expected[3]]);
    let page = PageRequest::first(5);
    let of_job = f.store.list_operations(of_job(dead[2]), page);
    assert_eq!(of_job.await.unwrap().items, [done]);
}

pub async fn a_batch_from_an_older_revision_changes_nothing(f: Fixture) {
    let f = &f;
    let dead = dead_letters(f, 3).await;
    let record = create(f, requeue(f, 3), &[]).await;
    let first = worked(f, &record, batch(&dead[..1], false)).await;
    // Another node has read it before the first batch was written.
    let late = work(f, &record, batch(&dead[..2], false)).await;
    assert_eq!(late, OperationChange::Outdated);
    assert_eq!(f.read(dead[1]).await.progress.state, JobState::Failed);
    // A batch that goes back is refused even with the right revision.
    let back = work(f, &first, batch(&dead[..1], false)).await;
    let refusal = OperationRefusal::WorkedAlready;
    assert_eq!(back, OperationChange::Refused(refusal));
    let pause = f
        .store
        .change_operation(first.id, OperationEvent::Pause.into());
    let OperationChange::Done(paused) = pause.await.unwrap() else {
        panic!("it was not paused");
    };
    let held = work(f, &paused, batch(&dead[1..], true)).await;
    assert_eq!(held, OperationChange::Refused(OperationRefusal::Paused));
    assert_eq!(f.read(dead[1]).await.progress.state, JobState::Failed);
}

pub async fn a_rotation_is_worked_on_by_processes_with_its_key(f: Fixture) {
    let f = &f;
    let rotate = async |record: &OperationRecord, revision| {
        let step = OperationStep::Rotate { revision };
        f.store.change_operation(record.id, step).await.unwrap()
    };
    // Other work is never done as a rotation, nor a rotation as other work.
    let jobs = create(f, requeue(f, 3), &[]).await;
    let other = OperationChange::Refused(OperationRefusal::OtherWork);
    assert_eq!(rotate(&jobs, jobs.revision).await, other);
    let key = KeyRotation::new("of_another_process".to_owned(), Vec::new());
    let elsewhere = f.create_rotation(key).await;
    assert_eq!(work(f, &elsewhere, batch(&[f.id()], true)).await, other);
    assert_eq!(rotate(&elsewhere, 0).await, OperationChange::Outdated);
    let Some(rotation) = f.store.new_rotation().await.unwrap() else {
        return;
    };
    let record = f.create_rotation(rotation).await;
    let pause = OperationEvent::Pause;
    let pause = f.store.change_operation(record.id, pause.into());
    let OperationChange::Done(paused) = pause.await.unwrap() else {
        panic!("it was not paused");
    };
    assert_eq!(
        rotate(&record, record.revision).await,
        OperationChange::Outdated
    );
    let refused = rotate(&paused, paused.revision).await;
    assert_eq!(refused, OperationChange::Refused(OperationRefusal::Paused));
    let resume = OperationEvent::Resume;
    let resume = f.store.change_operation(record.id, resume.into());
    let OperationChange::Done(resumed) = resume.await.unwrap() else {
        panic!("it was not resumed");
    };
    let done = f.finish_rotation(*resumed).await;
    assert_eq!(done.progress.status, OperationStatus::Done);
    let audit = AuditFilter {
        action: Some("encryption.rotated".to_owned()),
        ..AuditFilter::default()
    };
    let audit = f.store.list_audit(audit, PageRequest::first(5)).await;
    let audit = audit.unwrap().items;
    assert_eq!(audit[0].subject, record.id.to_string());
    assert_eq!(audit[0].detail, Some(done.to_string()));
}

pub async fn a_job_that_does_not_match_any_more_is_left_alone(f: Fixture) {
    let f = &f;
    let dead = dead_letters(f, 2).await;
    let mut record = requeue(f, 2);
    record.filter.tenant = Some(tenant("another"));
    let record = create(f, record, &[]).await;
    let done = worked(f, &record, batch(&dead, true)).await;
    assert_eq!(done.operation.progress.changed, 0);
    assert_eq!(f.read(dead[0]).await.progress.state, JobState::Failed);
    let results = rows(f, done.id, OperationJobFilter::NotChanged).await;
    assert_eq!(results[0].1, Some(OperationResult::Gone));
}

pub async fn a_batch_without_jobs_moves_an_operation_on(f: Fixture) {
    let f = &f;
    let record = create(f, requeue(f, 2), &[]).await;
    let nothing = OperationBatch {
        cursor: Some(JobId::from_bits(77)),
        ..OperationBatch::default()
    };
    let moved = worked(f, &record, nothing.clone()).await;
    assert_eq!(moved.operation.progress.cursor, nothing.cursor);
    let end = OperationBatch {
        cursor: None,
        is_last: true,
        ..nothing
    };
    let done = worked(f, &moved, end).await;
    assert_eq!(done.operation.progress.status, OperationStatus::Done);
}

pub async fn each_outcome_is_counted_once(f: Fixture) {
    let f = &f;
    let dead = dead_letters(f, 4).await;
    let record = create(f, canary(f, 100), &[]).await;
    let tried = worked(f, &record, batch(&dead[..3], false)).await;
    let watched = OperationJobFilter::Watched;
    assert_eq!(rows(f, tried.id, watched).await.len(), 3);
    let save = async |outcomes: Vec<(JobId, OperationOutcome)>| {
        let step = OperationStep::Outcomes(outcomes);
        let saved = f.store.change_operation(tried.id, step).await.unwrap();
        let OperationChange::Done(saved) = saved else {
            panic!("they were not saved");
        };
        saved.operation.progress.outcomes
    };
    let first = (dead[0], OperationOutcome::Succeeded);
    let counts = save(vec![first, (dead[3], OperationOutcome::FailedAgain)]).await;
    // The fourth is none of its jobs.
    assert_eq!((counts.succeeded, counts.failed_again), (1, 0));
    let again = (dead[0], OperationOutcome::FailedAgain);
    let counts = save(vec![again, (dead[1], OperationOutcome::Unknown)]).await;
    assert_eq!(
        (counts.succeeded, counts.failed(), counts.unknown),
        (1, 0, 1)
    );
    assert_eq!(rows(f, tried.id, watched).await.len(), 1);
    save(vec![(dead[2], OperationOutcome::FailedOtherwise)]).await;
    let stopped = f.store.get_operation(tried.id).await.unwrap().unwrap();
    assert_eq!(stopped.operation.progress.status, OperationStatus::Stopped);
    assert_eq!(stopped.finished_at, Some(f.now()));
}

pub async fn ended_operations_go_with_their_jobs(f: Fixture) {
    let f = &f;
    let dead = dead_letters(f, 5).await;
    let old = create(f, requeue(f, 5), &[]).await;
    worked(f, &old, batch(&dead, true)).await;
    let open = create(f, requeue(f, 5), &[]).await;
    let at_its_end = f.now();
    f.clock.advance(secs(10));
    let prune = async |before| f.prune_records(before, 4).await.operations;
    assert_eq!(prune(at_its_end).await, 0);
    let mut gone = 0;
    loop {
        let some = prune(f.now()).await;
        gone += some;
        if some == 0 {
            break;
        }
        assert!(gone < 20, "it does not come to an end");
    }
    assert!(f.store.get_operation(old.id).await.unwrap().is_none());
    assert!(f.store.get_operation(open.id).await.unwrap().is_some());
    assert!(rows(f, old.id, OperationJobFilter::All).await.is_empty());
    let page = PageRequest::first(5);
    let of_job = f.store.list_operations(of_job(dead[0]), page);
    assert!(of_job.await.unwrap().items.is_empty());
}

fn of_job(job: JobId) -> OperationFilter {
    OperationFilter {
        job: Some(job),
        ..OperationFilter::default()
    }
}

pub async fn a_command_and_its_audit_record_are_stored_together(f: Fixture) {
    let f = &f;
    let job = f.enqueue_one(f.job()).await;
    let run = async |action: &str, command: JobCommand| {
        let record = audit(f, action, &job.to_string());
        let subscriptions = Arc::default();
        let run = f
            .store
            .run_command(vec![job], command, subscriptions, Some(record));
        run.await.unwrap().remove(0)
    };
    assert!(run("job.cancel", JobCommand::Cancel).await.is_ok());
    assert_eq!(f.read(job).await.progress.state, JobState::Cancelled);
    assert!(run("job.cancel", JobCommand::Cancel).await.is_err());
    // What was refused has left no record.
    assert_eq!(actions(f, AuditFilter::default()).await, ["job.cancel"]);
    let running = f.claimed(f.job()).await;
    f.end(running, success()).await;
    let record = create(f, requeue(f, 1), &[]).await;
    let pause = async |action: &str| {
        let record_audit = audit(f, action, &record.id.to_string());
        let step = OperationStep::Event(OperationEvent::Resume, Some(record_audit));
        let change = f.store.change_operation(record.id, step);
        change.await.unwrap()
    };
    let refused = OperationChange::Refused(OperationRefusal::NotPaused);
    assert_eq!(pause("operation.resume").await, refused);
    let found = actions(f, AuditFilter::default()).await;
    assert_eq!(found, ["operation.create", "job.cancel"]);
}

pub async fn audit_records_are_found_by_what_is_asked(f: Fixture) {
    let f = &f;
    let begin = f.now();
    let mut all = Vec::new();
    for (action, subject, actor, name) in [
        ("job.cancel", "job_1", "ann", Some("acme")),
        ("job.retry", "job_2", "bob", Some("acme")),
        ("gate.set", "queue:mail", "ann", None),
        ("job.retry", "job_1", "ann", Some("other")),
    ] {
        f.clock.advance(secs(1));
        let mut record = audit(f, action, subject).of_tenant(name.map(tenant));
        record.actor = Actor::named(actor);
        for _ in 0..2 {
            let stored = f.store.enqueue(Vec::new(), Some(record.clone()));
            assert_eq!(stored.await.unwrap(), []);
        }
        all.push(record);
    }
    let text = |text: &str| Some(text.to_owned());
    let filters = [
        AuditFilter::default(),
        AuditFilter {
            tenant: Some(tenant("acme")),
            ..AuditFilter::default()
        },
        AuditFilter {
            subject: text("job_1"),
            ..AuditFilter::default()
        },
        AuditFilter {
            action: text("job."),
            ..AuditFilter::default()
        },
        AuditFilter {
            action: text("job.retry"),
            actor: text("ann"),
            ..AuditFilter::default()
        },
        AuditFilter {
            from: Some(begin.plus(secs(2))),
            before: Some(begin.plus(secs(4))),
            ..AuditFilter::default()
        },
        AuditFilter {
            tenant: Some(tenant("acme")),
            subject: text("job_1"),
            ..AuditFilter::default()
        },
    ];
    for (filter, count) in filters.into_iter().zip([4, 2, 2, 3, 1, 2, 1]) {
        let page = PageRequest::first(10);
        let found = f.store.list_audit(filter.clone(), page).await.unwrap();
        let matching = all.iter().rev().filter(|record| filter.matches(record));
        let matching: Vec<AuditRecord> = matching.cloned().collect();
        assert_eq!(found.items, matching, "{filter:?}");
        assert_eq!(found.items.len(), count, "{filter:?}");
    }
    let pruned = f.prune_records(begin.plus(secs(3)), 10).await;
    assert_eq!(pruned.audit, 2);
    let kept = actions(f, AuditFilter::default()).await;
    assert_eq!(kept, ["job.retry", "gate.set"]);
}

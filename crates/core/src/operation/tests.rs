use super::*;
use crate::{
    lifecycle::command::RefusalReason,
    policy::{PolicyPatch, Preset},
};

const T0: Timestamp = Timestamp::from_millis(1_767_225_600_000);

fn at(secs: u64) -> Timestamp {
    T0.plus(Duration::from_secs(secs))
}

fn requeue(total: u64) -> Operation {
    Operation::new(OperationKind::Requeue, None, total, T0).unwrap()
}

fn canary(total: u64) -> Operation {
    requeue(total).with_canary(CanaryRule::default()).unwrap()
}

fn step(operation: &Operation, event: OperationEvent) -> Operation {
    operation.step(event, T0).unwrap()
}

/// The id of the n-th job, the newest first.
fn before(number: u64) -> JobId {
    JobId::from_bits(u128::MAX - u128::from(number))
}

/// Works on as many jobs as there is room for, and changes all of them.
fn work(operation: &Operation, now: Timestamp) -> Operation {
    let OperationRoom::Jobs(jobs) = operation.room(now) else {
        panic!("{:?}", operation.room(now));
    };
    let jobs = jobs.min(operation.total - operation.progress.worked);
    let cursor = before(operation.progress.worked + jobs);
    let event = OperationEvent::Worked {
        jobs,
        changed: jobs,
        cursor,
    };
    operation.step(event, now).unwrap()
}

fn outcomes(succeeded: u64, failed_again: u64) -> OperationEvent {
    let failed_otherwise = 0;
    OperationEvent::Outcomes(OperationOutcomes {
        succeeded,
        failed_again,
        failed_otherwise,
        unknown: 0,
    })
}

#[test]
fn it_works_in_batches_until_no_job_is_left() {
    let mut operation = requeue(500);
    let mut batches = Vec::new();
    while operation.progress.worked < operation.total {
        let before = operation.progress.worked;
        operation = work(&operation, T0);
        batches.push(operation.progress.worked - before);
    }
    assert_eq!(batches, [200, 200, 100]);
    let done = step(&operation, OperationEvent::ReachedEnd);
    assert_eq!(done.progress.status, OperationStatus::Done);
    assert_eq!(done.room(at(1)), OperationRoom::Never);
    assert_eq!(done.to_string(), "requeue of 500 jobs is done: 500 changed");
    assert_eq!(requeue(0).progress.status, OperationStatus::Done);
}

#[test]
fn a_batch_is_counted_once_whichever_node_brings_it() {
    let operation = requeue(10);
    let event = OperationEvent::Worked {
        jobs: 5,
        changed: 4,
        cursor: before(5),
    };
    let worked = step(&operation, event.clone());
    assert_eq!((worked.progress.worked, worked.progress.changed), (5, 4));
    assert_eq!(worked.step(event, T0), Err(OperationRefusal::WorkedAlready));
}

#[test]
fn commands_are_possible_as_the_table_says() {
    let running = requeue(10);
    let worked = OperationEvent::Worked {
        jobs: 1,
        changed: 1,
        cursor: before(1),
    };
    let paused = step(&running, OperationEvent::Pause);
    let stopped = step(&work(&canary(100), T0), outcomes(0, 2));
    let all = [
        ("running", running.clone()),
        ("paused", paused),
        ("done", step(&running, OperationEvent::ReachedEnd)),
        ("cancelled", step(&running, OperationEvent::Cancel)),
        ("stopped", stopped),
    ];
    let mut lines = Vec::new();
    for (name, operation) in &all {
        assert_eq!(operation.progress.status.as_str(), *name);
        for event in [
            worked.clone(),
            OperationEvent::ReachedEnd,
            OperationEvent::Pause,
            OperationEvent::Resume,
            OperationEvent::Cancel,
        ] {
            let event_name = format!("{event:?}");
            let event_name = event_name.split(' ').next().unwrap();
            let result = match operation.step(event, at(1)) {
                Ok(next) => next.progress.status.to_string(),
                Err(refusal) => refusal.to_string(),
            };
            lines.push(format!("{name} × {event_name}: {result}"));
        }
    }
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn a_pace_spreads_the_jobs_over_time() {
    let mut operation = requeue(10_000).with_pace(50).unwrap();
    let mut worked = Vec::new();
    for second in 0..4 {
        while let OperationRoom::Jobs(_) = operation.room(at(second)) {
            operation = work(&operation, at(second));
        }
        worked.push(operation.progress.worked);
    }
    // A second's worth at once in the beginning, then as many as the pace says.
    assert_eq!(worked, [51, 101, 151, 201]);
    let OperationRoom::Later(next) = operation.room(at(3)) else {
        panic!("{:?}", operation.room(at(3)));
    };
    assert_eq!(next.since(at(3)), Duration::from_millis(20));
    // A clock that was set back by an hour does not halt it for an hour.
    assert_eq!(
        operation.room(T0.minus(Duration::from_secs(3600))),
        OperationRoom::Jobs(1)
    );
}

#[test]
fn a_canary_goes_on_in_stages_as_long_as_jobs_succeed() {
    let mut operation = canary(1_000);
    let mut stages = Vec::new();
    for _ in 0..3 {
        operation = work(&operation, T0);
        assert_eq!(operation.room(at(1)), OperationRoom::AfterOutcomes);
        let worked = operation.progress.worked;
        stages.push(worked);
        // Before all are known it waits.
        let some = step(&operation, outcomes(worked - 1, 0));
        assert_eq!(some.room(at(1)), OperationRoom::AfterOutcomes);
        operation = step(&some, outcomes(worked, 0));
    }
    assert_eq!(stages, [3, 50, 250]);
    while operation.progress.worked < operation.total {
        operation = work(&operation, T0);
    }
    assert_eq!(operation.progress.worked, 1_000);
    // The last stage waits for its outcomes too, and may be the bad one.
    let end = step(&operation, OperationEvent::ReachedEnd);
    assert_eq!(end.progress.status, OperationStatus::Running);
    assert_eq!(end.room(at(1)), OperationRoom::AfterOutcomes);
    let done = step(&end, outcomes(999, 1));
    assert_eq!(done.progress.status, OperationStatus::Done);
    let bad = step(&end, outcomes(250, 201));
    assert_eq!(bad.progress.status, OperationStatus::Stopped);
    let late = T0.plus(limits::CANARY_WAIT_MAX);
    let late = end.step(OperationEvent::Checked, late).unwrap();
    assert_eq!(
        late.to_string(),
        "requeue of 1,000 jobs is done: 1,000 changed; 250 succeeded, 0 failed again, 0 failed \
         for another reason; 750 outcomes pending"
    );
}

#[test]
fn a_canary_stops_when_the_failure_is_back_and_leaves_the_rest_alone() {
    let first = work(&canary(1_000), T0);
    let stopped = step(&first, outcomes(2, 1));
    assert_eq!(stopped.room(at(1)), OperationRoom::Never);
    assert_eq!(
        stopped.to_string(),
        "requeue of 1,000 jobs is stopped: 3 changed, 997 skipped; 2 succeeded, 1 failed again, \
         0 failed for another reason; it stopped because 1 of 3 jobs failed again"
    );
    // Later outcomes are still counted.
    assert_eq!(
        step(&stopped, outcomes(3, 1)).progress.outcomes.succeeded,
        3
    );
    // In a large stage a few may fail.
    let second = work(&step(&first, outcomes(3, 0)), T0);
    assert_eq!(
        step(&second, outcomes(3, 10)).progress.status,
        OperationStatus::Running
    );
    assert_eq!(
        step(&second, outcomes(3, 11)).progress.status,
        OperationStatus::Stopped
    );
}

#[test]
fn jobs_that_refuse_have_no_outcome_and_are_not_waited_for() {
    let event = OperationEvent::Worked {
        jobs: 3,
        changed: 1,
        cursor: before(3),
    };
    let first = step(&canary(1_000), event);
    assert_eq!(step(&first, outcomes(1, 0)).progress.stage, 1);
    let none = OperationEvent::Worked {
        jobs: 3,
        changed: 0,
        cursor: before(3),
    };
    assert_eq!(step(&canary(1_000), none).progress.stage, 1);
}

#[test]
fn a_canary_whose_jobs_are_not_tried_stops() {
    let first = work(&canary(1_000), T0);
    let late = T0.plus(limits::CANARY_WAIT_MAX);
    let early = first
        .step(OperationEvent::Checked, late.minus(Duration::from_secs(1)))
        .unwrap();
    assert_eq!(early, first);
    let stopped = first.step(OperationEvent::Checked, late).unwrap();
    assert_eq!(
        stopped.progress.stop_reason.unwrap(),
        "3 jobs were not attempted within 1h"
    );
    // While it is paused it waits for nothing.
    let paused = step(&first, OperationEvent::Pause);
    assert_eq!(paused.step(OperationEvent::Checked, late).unwrap(), paused);
}

#[test]
fn a_canary_of_few_jobs_has_no_stages_without_jobs() {
    for total in 1..200 {
        let mut operation = canary(total);
        while operation.progress.worked < total {
            operation = work(&operation, T0);
            operation = step(&operation, outcomes(operation.progress.worked, 0));
        }
        assert_eq!(operation.progress.worked, total);
        let done = step(&operation, OperationEvent::ReachedEnd);
        assert_eq!(done.progress.status, OperationStatus::Done);
    }
}

#[test]
fn what_is_asked_for_is_checked() {
    let policy = || Some(Arc::new(PolicyPatch::preset(Preset::Http)));
    let ids = vec![JobId::from_bits(1); limits::OPERATION_IDS_MAX + 1];
    let errors = [
        Operation::new(OperationKind::EditPolicy, None, 1, T0).unwrap_err(),
        Operation::new(OperationKind::Cancel, policy(), 1, T0).unwrap_err(),
        requeue(1).with_pace(0).unwrap_err(),
        CanaryRule::new(f64::NAN).unwrap_err(),
        Operation::new(OperationKind::Discard, None, 1, T0)
            .and_then(|operation| operation.with_canary(CanaryRule::default()))
            .unwrap_err(),
        check_operation_target(None, true, false).unwrap_err(),
        check_operation_target(Some(&[]), true, false).unwrap_err(),
        check_operation_target(Some(&ids), true, false).unwrap_err(),
        check_operation_target(Some(&ids[..1]), false, false).unwrap_err(),
    ];
    let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(lines.join("\n"));
    assert_eq!(check_operation_target(None, true, true), Ok(()));
    assert_eq!(check_operation_target(None, false, false), Ok(()));
    assert_eq!(check_operation_target(Some(&ids[..1]), true, false), Ok(()));
}

#[test]
fn a_stored_operation_reads_back_as_it_was() {
    let edit = Operation::new(
        OperationKind::EditPolicy,
        Some(Arc::new(PolicyPatch::preset(Preset::Http))),
        5,
        T0,
    );
    for operation in [work(&canary(50), T0), edit.unwrap().with_pace(7).unwrap()] {
        let text = serde_json::to_string(&operation).unwrap();
        assert_eq!(serde_json::from_str::<Operation>(&text).unwrap(), operation);
    }
}

#[test]
fn the_outcome_of_a_job_is_that_of_its_next_attempt() {
    use crate::{Dice, Failure, FailureClass, Kind, NewJob, Outcome, Payload, Subscriptions};
    use crate::{WorkerName, after_attempt, on_command};
    let new = NewJob::new(
        JobId::from_bits(7),
        Kind::new("mail").unwrap(),
        Payload::default(),
        Arc::new(Preset::Http.policy()),
    );
    let worker = WorkerName::new("w").unwrap();
    let claim = |job: crate::Job| job.claim(worker.clone(), None, T0);
    let end = |job: crate::Job, outcome: Outcome| {
        let mut job = job;
        let ended = claim(job.clone()).end(outcome, T0);
        job.progress = after_attempt(&ended, &Subscriptions::default(), Dice::new(0)).to;
        job
    };
    let failure = |message: &str| Outcome::Failure {
        failure: Failure::new(FailureClass::VALIDATION, message),
        output: None,
    };
    let command = |job, command| {
        on_command(job, &command, &Subscriptions::default(), T0)
            .unwrap()
            .job
    };
    let dead = end(new.into_job(T0), failure("no mailbox for user 12"));
    let retry = || JobCommand::Retry { payload: None };
    let waiting = command(dead, retry());
    let worked = OperationJob::changed(&waiting);
    let running = claim(waiting.clone()).job().clone();
    let again = end(waiting.clone(), failure("no mailbox for user 99"));
    let requeued = command(again.clone(), retry());
    let success = Outcome::Success { output: None };
    let cases = [
        (Some(waiting.clone()), None),
        (Some(running), None),
        (
            Some(end(waiting.clone(), success)),
            Some(OperationOutcome::Succeeded),
        ),
        (Some(again), Some(OperationOutcome::FailedAgain)),
        (
            Some(end(waiting.clone(), failure("the disk is full"))),
            Some(OperationOutcome::FailedOtherwise),
        ),
        (
            Some(command(waiting, JobCommand::Cancel)),
            Some(OperationOutcome::Unknown),
        ),
        (Some(requeued), Some(OperationOutcome::Unknown)),
        (None, Some(OperationOutcome::Unknown)),
    ];
    for (number, (job, expected)) in cases.iter().enumerate() {
        assert_eq!(worked.outcome_of(job.as_ref()), *expected, "case {number}");
    }
}

fn rotation() -> Operation {
    let older = vec!["may".to_owned(), "june".to_owned()];
    Operation::rotate_encryption(KeyRotation::new("july".to_owned(), older), T0)
}

fn part(from: Option<&str>, next: Option<&str>, found: u64) -> OperationEvent {
    OperationEvent::Encrypted(EncryptedPart {
        from: from.map(str::to_owned),
        next: next.map(str::to_owned),
        read: 1_000,
        found,
        written: found,
        ..EncryptedPart::default()
    })
}

#[test]
fn a_rotation_ends_after_a_walk_that_found_nothing() {
    let walked = step(&rotation(), part(None, Some("jobs"), 3));
    assert_eq!(
        walked.to_string(),
        "encryption with key july is running: 3 values encrypted again, of at least 1,000"
    );
    // Another node has done the same part.
    let again = walked.step(part(None, Some("jobs"), 3), T0);
    assert_eq!(again, Err(OperationRefusal::WorkedAlready));
    let walked = step(&walked, part(Some("jobs"), None, 0));
    assert_eq!(walked.progress.status, OperationStatus::Running);
    let mut last = part(None, None, 0);
    if let OperationEvent::Encrypted(part) = &mut last {
        part.unreadable = 1;
        part.needed_keys = vec!["may".to_owned(), "unknown".to_owned()];
    }
    let done = step(&walked, last);
    assert_eq!(done.progress.status, OperationStatus::Done);
    assert_eq!(
        done.to_string(),
        "encryption with key july is done: 3 values encrypted again, of 1,000, 1 cannot be read; \
         key june is no longer used; key may is still needed"
    );
}

#[test]
fn a_rotation_stops_if_nodes_write_with_other_keys_until_the_end() {
    let mut operation = rotation();
    for _ in 0..limits::ROTATION_WALKS_MAX {
        operation = step(&operation, part(None, None, 1));
    }
    assert_eq!(operation.progress.status, OperationStatus::Stopped);
    let report = operation.to_string();
    assert!(
        report.contains("restart every node with the new key first"),
        "{report}"
    );
}

#[test]
fn a_rotation_stops_while_a_node_would_write_with_another_key() {
    let mut last = part(None, None, 0);
    if let OperationEvent::Encrypted(part) = &mut last {
        part.other_writers = vec!["node-1: may".to_owned()];
    }
    let stopped = step(&rotation(), last);
    assert_eq!(stopped.progress.status, OperationStatus::Stopped);
    let report = stopped.to_string();
    let reason = "it stopped because nodes seen in the last 20s do not encrypt with it \
                  (node-1: may): restart every node with key july in the first line of its key \
                  file, then rotate again";
    assert!(report.ends_with(reason), "{report}");
    assert!(!report.contains("no longer used"), "{report}");
}

#[test]
fn a_rotation_does_no_other_work_and_obeys_people() {
    let operation = rotation();
    for event in [
        OperationEvent::Worked {
            jobs: 1,
            changed: 1,
            cursor: before(1),
        },
        OperationEvent::ReachedEnd,
    ] {
        assert_eq!(operation.step(event, T0), Err(OperationRefusal::OtherWork));
    }
    let wrong = requeue(10).step(part(None, None, 1), T0);
    assert_eq!(wrong, Err(OperationRefusal::OtherWork));
    let paused = step(&operation, OperationEvent::Pause);
    let refused = paused.step(part(None, None, 1), T0);
    assert_eq!(refused, Err(OperationRefusal::Paused));
    assert_eq!(paused.room(T0), OperationRoom::Never);
    let cancelled = step(&paused, OperationEvent::Cancel);
    assert_eq!(cancelled.progress.status, OperationStatus::Cancelled);
    assert!(Operation::new(OperationKind::RotateEncryption, None, 1, T0).is_err());
}

#[test]
fn a_report_has_words_and_a_job_that_refuses_has_its_reason() {
    let operation = Operation::new(OperationKind::RunNow, None, 1_024, T0).unwrap();
    let report = operation.to_string();
    assert!(report.starts_with("run now of 1,024 jobs is "), "{report}");
    for (reason, expected) in [
        (RefusalReason::UniqueKeyTaken, "unique_key_taken"),
        (RefusalReason::Blocked, "waits_for_others"),
        (RefusalReason::PrerequisiteFailed, "prerequisite_failed"),
        (RefusalReason::EndpointDeleted, "endpoint_deleted"),
        (RefusalReason::InvalidPolicy, "invalid_policy"),
        (RefusalReason::NotBlocked, "refused"),
    ] {
        assert_eq!(OperationResult::from(reason).as_str(), expected);
    }
}

//! Callers at the same time: whatever the interleaving, each thing happens once.

use std::{collections::BTreeSet, sync::Arc};

use steadfast_core::{
    Actor, AuditId, AuditRecord, Claim, Dice, JobCommand, JobId, JobLabel, JobState, Operation,
    OperationId, OperationKind, Outcome, PolicyPatch, Schedule, ScheduleId, after_attempt,
};
use tokio::task::JoinSet;

use super::fixture::{Fixture, failure, held, json, key, request, secs, step, success, tenant};
use crate::{
    CommitResult, EnqueueResult, FireResult, JobDetail, JobFilter, OperationBatch, OperationChange,
    OperationRecord, OperationStep, SaveStepResult, ScheduleSaveResult,
    limits::SCHEDULES_PER_TENANT_MAX,
};

const CALLERS: usize = 8;

pub async fn jobs_claimed_in_parallel_go_to_one_caller_each(f: Fixture) {
    let ids = f.enqueue(f.jobs(400)).await;
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        let store = f.store.clone();
        callers.spawn(async move {
            let mut claimed: Vec<Claim> = Vec::new();
            loop {
                let claims = store.claim(request(7)).await.unwrap().claims;
                if claims.is_empty() {
                    return claimed;
                }
                claimed.extend(claims);
            }
        });
    }
    let claims: Vec<Claim> = callers.join_all().await.into_iter().flatten().collect();
    let claimed: BTreeSet<_> = claims.iter().map(|claim| claim.job().id).collect();
    assert_eq!(claims.len(), ids.len(), "a job was claimed twice, or never");
    assert_eq!(claimed, ids.into_iter().collect());
}

pub async fn creates_with_one_key_make_one_job(f: Fixture) {
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        let store = f.store.clone();
        let job = f.job_with(|job| job.idempotency_key = key("k"));
        callers.spawn(async move { store.enqueue(vec![job], None).await.unwrap()[0] });
    }
    let answers = callers.join_all().await;
    let created: Vec<_> = answers
        .iter()
        .filter(|answer| matches!(answer, EnqueueResult::Created(..)))
        .collect();
    assert_eq!(created.len(), 1);
    assert!(answers.iter().all(|answer| answer.id() == created[0].id()));
    assert_eq!(f.count_all().await, 1);
}

pub async fn creates_with_one_id_make_one_job(f: Fixture) {
    let jobs = f.jobs(20);
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        for job in jobs.clone() {
            let store = f.store.clone();
            callers.spawn(async move { store.enqueue(vec![job], None).await.unwrap()[0] });
        }
    }
    let answers = callers.join_all().await;
    let created = answers
        .iter()
        .filter(|answer| matches!(answer, EnqueueResult::Created(..)));
    let created: BTreeSet<JobId> = created.map(|answer| answer.id()).collect();
    assert_eq!(created, jobs.iter().map(|job| job.id).collect());
    assert_eq!(f.count_all().await, 20);
}

pub async fn a_busy_store_loses_nothing_and_counts_once(f: Fixture) {
    let mut callers = JoinSet::new();
    for jobs in (0..4).map(|_| f.jobs(60)) {
        let store = f.store.clone();
        callers.spawn(async move {
            for job in jobs {
                store.enqueue(vec![job], None).await.unwrap();
            }
        });
    }
    for _ in 0..4 {
        let store = f.store.clone();
        callers.spawn(async move {
            while store.count_jobs(succeeded(), 240).await.unwrap().count < 240 {
                let claims = store.claim(request(9)).await.unwrap().claims;
                let ends = claims.into_iter().map(|claim| {
                    let ended = claim.end(success(), store.now());
                    after_attempt(
                        &ended,
                        &steadfast_core::Subscriptions::default(),
                        Dice::new(0),
                    )
                });
                for committed in store.commit(ends.collect()).await.unwrap() {
                    assert_eq!(committed, CommitResult::Done);
                }
            }
        });
    }
    callers.join_all().await;
    let tally = f.tally().await;
    assert_eq!((tally.attempts, tally.successes), (240, 240));
}

pub async fn a_cancelled_job_was_claimed_or_never_will_be(f: Fixture) {
    let ids = f.enqueue(f.jobs(200)).await;
    let mut callers = JoinSet::new();
    for half in ids.chunks(100) {
        let (store, half) = (f.store.clone(), half.to_vec());
        callers.spawn(async move {
            for id in half {
                store
                    .run_command(vec![id], JobCommand::Cancel, Arc::default(), None)
                    .await
                    .unwrap();
            }
            Vec::new()
        });
    }
    for _ in 0..2 {
        let store = f.store.clone();
        callers.spawn(async move {
            let mut claimed = Vec::new();
            loop {
                let claims = store.claim(request(1)).await.unwrap().claims;
                if claims.is_empty() {
                    return claimed;
                }
                claimed.extend(claims.iter().map(|claim| claim.job().id));
            }
        });
    }
    let claimed = callers.join_all().await;
    let claimed: BTreeSet<JobId> = claimed.into_iter().flatten().collect();
    for job in f.store.get_jobs(ids, JobDetail::Full).await.unwrap() {
        let job = job.unwrap();
        let seen = (
            job.progress.state,
            job.progress.attempt,
            job.progress.cancel_requested,
        );
        match claimed.contains(&job.id) {
            true => assert_eq!(seen, (JobState::Running, 1, true)),
            false => assert_eq!(seen, (JobState::Cancelled, 0, false)),
        }
    }
}

pub async fn one_of_several_ends_of_an_attempt_is_written(f: Fixture) {
    let job = f.running(f.job()).await;
    f.clock.set(job.progress.lease_until.unwrap());
    let ends = [
        success(),
        failure("a"),
        failure("b"),
        Outcome::Lost,
        Outcome::Snoozed(secs(3)),
    ]
    .map(|outcome| f.decide(held(job.clone()), outcome));
    let mut callers = JoinSet::new();
    for transition in ends {
        let store = f.store.clone();
        callers.spawn(async move {
            let committed = store.commit(vec![transition.clone()]).await.unwrap()[0];
            (committed, transition)
        });
    }
    let ends = callers.join_all().await;
    let written: Vec<_> = ends
        .into_iter()
        .filter(|(committed, _)| *committed == CommitResult::Done)
        .map(|(_, transition)| transition)
        .collect();
    assert_eq!(written.len(), 1);
    assert_eq!(f.read(job.id).await.progress, written[0].to);
    let records = f.attempts_of(job.id).await;
    assert_eq!(Some(&records[0]), written[0].record.as_ref());
    assert_eq!(records.len(), 1);
}

pub async fn results_of_a_step_agree(f: Fixture) {
    let job = f.running(f.job()).await.id;
    let mut callers = JoinSet::new();
    for number in 0..CALLERS {
        let store = f.store.clone();
        let result = json(&number.to_string());
        callers.spawn(async move { store.save_step(job, None, step("s"), result).await.unwrap() });
    }
    let kept = f.step_result(job, step("s")).await;
    let answers = callers.join_all().await;
    let kept_after = f.step_result(job, step("s")).await.unwrap();
    let agreed = SaveStepResult::Stored(kept_after.clone());
    assert!(answers.iter().all(|answer| *answer == agreed));
    assert!(kept.is_none_or(|kept| kept == kept_after));
}

pub async fn one_of_several_firings_of_a_tick_is_written(f: Fixture) {
    let schedule = f.saved_schedule("nightly").await;
    let tick = schedule.progress.next_tick.unwrap();
    f.clock.set(tick);
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        let firing = f.firing(&schedule, &[tick]);
        let store = f.store.clone();
        callers.spawn(async move { store.fire_schedules(vec![firing]).await.unwrap()[0] });
    }
    let answers = callers.join_all().await;
    let done = answers.iter().filter(|fired| **fired == FireResult::Done);
    assert_eq!(done.count(), 1);
    assert_eq!(f.count_all().await, 1);
}

pub async fn one_of_several_schedules_gets_a_name(f: Fixture) {
    let mut callers = JoinSet::new();
    let mut ids: Vec<ScheduleId> = Vec::new();
    for _ in 0..CALLERS {
        let schedule = f.schedule("nightly");
        ids.push(schedule.id);
        let store = f.store.clone();
        callers.spawn(async move { store.save_schedule(schedule, None, None).await.unwrap() });
    }
    let mut winners = BTreeSet::new();
    let mut done = 0;
    for saved in callers.join_all().await {
        done += usize::from(matches!(saved, ScheduleSaveResult::Done(_)));
        match saved {
            ScheduleSaveResult::Done(stored) | ScheduleSaveResult::Outdated(stored) => {
                winners.insert(stored.id)
            }
            other => panic!("not the answer for a new schedule: {other:?}"),
        };
    }
    assert_eq!((done, winners.len()), (1, 1));
    assert!(ids.contains(winners.first().unwrap()));
}

pub async fn edits_of_different_fields_of_a_policy_are_both_kept(f: Fixture) {
    let mut ids = f.enqueue(f.jobs(20)).await;
    // Operations begin with the newest jobs.
    ids.sort_unstable();
    ids.reverse();
    let patches = [
        PolicyPatch::default().max_retries(77),
        PolicyPatch::default().base_delay(secs(99)),
    ];
    let mut callers = JoinSet::new();
    for patch in patches {
        let kind = OperationKind::EditPolicy;
        let operation = Operation::new(kind, Some(Arc::new(patch)), 20, f.now()).unwrap();
        let record = OperationRecord {
            id: OperationId::new(f.now(), f.next_number()),
            tenant: None,
            by: Actor::named("cli"),
            created_at: f.now(),
            finished_at: None,
            filter: JobFilter::default(),
            is_named: false,
            operation,
            revision: 0,
        };
        let id = record.id;
        let audit = AuditId::new(f.now(), f.next_number());
        let audit = AuditRecord::new(audit, f.now(), Actor::named("cli"), "edit", "policy");
        f.store
            .create_operation(record, Vec::new(), 10, audit)
            .await
            .unwrap();
        let (store, jobs) = (f.store.clone(), ids.clone());
        callers.spawn(async move {
            for (revision, job) in (0..).zip(jobs) {
                let batch = OperationBatch {
                    jobs: vec![job],
                    cursor: Some(job),
                    ..OperationBatch::default()
                };
                let step = OperationStep::Work {
                    revision,
                    batch,
                    subscriptions: Arc::default(),
                };
                let worked = store.change_operation(id, step);
                let worked = worked.await.unwrap();
                assert!(matches!(worked, OperationChange::Done(_)), "{worked:?}");
            }
        });
    }
    callers.join_all().await;
    for job in f.store.get_jobs(ids, JobDetail::Full).await.unwrap() {
        let policy = &job.unwrap().policy;
        assert_eq!(policy.max_retries(), 77);
        assert_eq!(policy.base_delay(), secs(99));
    }
}

fn succeeded() -> JobFilter {
    JobFilter {
        label: Some(JobLabel::Succeeded),
        ..JobFilter::default()
    }
}

/// With a key and without one.
pub async fn a_tenant_has_no_more_schedules_than_it_may(f: Fixture) {
    let mut callers = JoinSet::new();
    let most = SCHEDULES_PER_TENANT_MAX;
    for number in 0..most + 8 {
        let store = f.store.clone();
        let mut schedule = f.schedule(&format!("s{number}"));
        callers.spawn(async move {
            if number % 2 == 0 {
                let saved = store.save_schedule(schedule, None, None).await.unwrap();
                return matches!(saved, ScheduleSaveResult::Done(_));
            }
            schedule.template.idempotency_key = key(&format!("k{number}"));
            let created = store
                .save_schedule(schedule, Some([0; 16]), None)
                .await
                .unwrap();
            matches!(created, ScheduleSaveResult::Done(_))
        });
    }
    let answers = callers.join_all().await;
    assert_eq!(answers.iter().filter(|is_new| **is_new).count(), most);
    let other = f.schedule("s0");
    let mut other = Schedule {
        paused: true,
        ..other
    };
    other.template.tenant = tenant("acme");
    let saved = f.store.save_schedule(other, None, None).await.unwrap();
    assert!(matches!(saved, ScheduleSaveResult::Done(_)), "{saved:?}");
}

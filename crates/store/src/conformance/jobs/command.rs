//! Commands do what core decides, to the job as it is stored.

use std::sync::Arc;

use steadfast_core::{
    Destination, Gate, GateDefaults, GateId, GateLimits, GateScope, Gates, Guarantee, Job,
    JobCommand, JobEdit, JobId, JobState, Kind, Outcome, Pause, Payload, Preset, RefusalReason,
    RunAt, Subscriptions, on_command,
};

use crate::conformance::fixture::{
    Fixture, failure, ids_of, json, permanent, priority, secs, success,
};
use crate::{CommandError, JobFilter};

pub async fn every_command_on_every_state_does_what_core_says(f: Fixture) {
    for command in commands(&f) {
        for job in one_of_each_state(&f).await {
            let now = f.clock.advance(secs(1));
            let expected = on_command(job.clone(), &command, &Subscriptions::default(), now)
                .map(|changed| changed.job);
            let after = expected.clone().unwrap_or(job.clone());
            let answers = f
                .store
                .run_command(vec![job.id], command.clone(), Arc::default(), None)
                .await
                .unwrap();
            let context = format!("{command:?} on {job:?}");
            assert_eq!(answers, [expected.map_err(CommandError::from)], "{context}");
            assert_eq!(f.read(job.id).await, after, "{context}");
        }
        // What has become due is out of the way of the next round.
        f.claim(100).await;
    }
}

pub async fn a_batch_is_answered_in_its_order(f: Fixture) {
    let ids = f.enqueue(f.jobs(2)).await;
    let unknown = f.id();
    let batch = vec![ids[1], unknown, ids[0], ids[1]];
    let answers = f
        .store
        .run_command(batch, JobCommand::Cancel, Arc::default(), None)
        .await
        .unwrap();
    let answers: Vec<_> = answers
        .into_iter()
        .map(|answer| answer.map(|job| job.id))
        .collect();
    assert_eq!(
        answers[..3],
        [Ok(ids[1]), Err(CommandError::NotFound(unknown)), Ok(ids[0])]
    );
    match answers[3] {
        Err(CommandError::Refused(refused)) => {
            assert_eq!(
                (refused.job, refused.reason),
                (ids[1], RefusalReason::AlreadyEnded)
            );
        }
        ref other => panic!("{other:?}"),
    }
}

pub async fn run_now_makes_a_job_claimable(f: Fixture) {
    let id = f
        .enqueue_one(f.job_with(|job| job.run_at = RunAt::After(secs(60))))
        .await;
    assert!(f.claim(1).await.is_empty());
    f.command(id, JobCommand::RunNow).await;
    f.claim_of(id).await;
}

pub async fn an_edited_job_is_claimed_as_it_now_is(f: Fixture) {
    let ids = f.enqueue(f.jobs(3)).await;
    let policy = Arc::new(Preset::Once.policy());
    let edit = |edit| JobCommand::Edit(edit);
    let first = JobEdit {
        priority: Some(priority(9)),
        payload: Some(json("[9]")),
        policy: Some(policy.clone()),
        ..JobEdit::default()
    };
    let later = JobEdit {
        run_at: Some(f.now().plus(secs(60))),
        ..JobEdit::default()
    };
    f.command(ids[2], edit(first)).await;
    f.command(ids[0], edit(later)).await;
    let claims = f.claim(10).await;
    assert_eq!(ids_of(&claims), [ids[2], ids[1]]);
    let edited = claims[0].job();
    assert_eq!((edited.payload.as_str(), &edited.policy), ("[9]", &policy));
}

pub async fn a_payload_can_grow_and_shrink(f: Fixture) {
    let id = f
        .enqueue_one(f.job_with(|job| job.run_at = RunAt::After(secs(60))))
        .await;
    for bytes in [2, 100_000, 3, 200_000, 50_000, 4] {
        let payload = json(&format!("\"{}\"", "x".repeat(bytes)));
        let edit = JobEdit {
            payload: Some(payload.clone()),
            ..JobEdit::default()
        };
        f.command(id, JobCommand::Edit(edit)).await;
        assert!(f.read(id).await.payload == payload, "{bytes} bytes");
    }
}

pub async fn a_retried_dead_letter_has_a_fresh_budget_and_its_history(f: Fixture) {
    let dead = f.ended(f.job(), permanent("no")).await;
    f.clock.advance(secs(5));
    let payload = Some(json("2"));
    f.command(dead.id, JobCommand::Retry { payload }).await;
    let claim = f.claim_of(dead.id).await;
    let job = claim.job();
    assert_eq!((job.progress.attempt, job.progress.attempts_before), (2, 1));
    assert_eq!((job.progress.fence.0, job.payload.as_str()), (2, "2"));
    f.end(claim, success()).await;
    assert_eq!(f.attempts_of(dead.id).await.len(), 2);
}

pub async fn a_cancelled_run_keeps_its_claim_until_it_ends(f: Fixture) {
    let claim = f.claimed(f.job()).await;
    let asked = f.command(claim.job().id, JobCommand::Cancel).await;
    assert_eq!(asked.progress.state, JobState::Running);
    assert_eq!(asked.progress.lease_until, claim.job().progress.lease_until);
    let held = f.held(asked.id).await;
    assert!(held.job().progress.cancel_requested);
    let job = f.end(held, failure("stopped")).await;
    assert_eq!(job.progress.state, JobState::Cancelled);
}

pub async fn a_discarded_job_is_no_dead_letter(f: Fixture) {
    let dead = f.ended(f.job(), permanent("no")).await;
    let letters = async || {
        f.store
            .count_jobs(JobFilter::dead_letters(), 10)
            .await
            .unwrap()
            .count
    };
    assert_eq!(letters().await, 1);
    f.command(dead.id, JobCommand::Discard).await;
    assert_eq!(letters().await, 0);
    assert_eq!(f.read(dead.id).await.progress.state, JobState::Failed);
}

fn commands(f: &Fixture) -> Vec<JobCommand> {
    let edit = JobEdit {
        payload: Some(json(r#"{"edited":  true}"#)),
        policy: Some(Arc::new(Preset::Patient.policy())),
        run_at: Some(f.now().plus(secs(1_000_000))),
        priority: Some(priority(1)),
    };
    vec![
        JobCommand::Cancel,
        JobCommand::Retry { payload: None },
        JobCommand::Retry {
            payload: Some(json("2")),
        },
        JobCommand::RunNow,
        JobCommand::Edit(edit),
        JobCommand::Edit(JobEdit::default()),
        JobCommand::Discard,
    ]
}

/// Jobs in every state, by every road that leads there; the last is the only one that is due.
async fn one_of_each_state(f: &Fixture) -> Vec<Job> {
    let far = || f.job_with(|job| job.run_at = RunAt::After(secs(1_000_000)));
    let at_most_once = f.job_with(|job| job.guarantee = Guarantee::AtMostOnce);
    let cancelled = || Outcome::Cancelled {
        message: "no".into(),
    };
    let mut jobs = vec![
        f.ended(f.job(), Outcome::Snoozed(secs(1_000_000))).await,
        f.ended(f.job(), success()).await,
        f.ended(f.job(), permanent("no")).await,
        f.ended(f.job(), cancelled()).await,
        f.ended(at_most_once, failure("once")).await,
        f.running(f.job()).await,
    ];
    let asked = f.running(f.job()).await.id;
    jobs.push(f.command(asked, JobCommand::Cancel).await);
    let discarded = f.ended(f.job(), permanent("no")).await.id;
    jobs.push(f.command(discarded, JobCommand::Discard).await);
    let never_started = f.enqueue_one(far()).await;
    jobs.push(f.command(never_started, JobCommand::Cancel).await);
    let scheduled: JobId = f.enqueue_one(far()).await;
    jobs.push(f.read(scheduled).await);
    jobs.push(retrying(f).await);
    let ready = f.enqueue_one(f.job()).await;
    jobs.push(f.read(ready).await);
    jobs
}

/// Its next attempt is not due while a case goes on.
async fn retrying(f: &Fixture) -> Job {
    let job = f.ended(f.job(), failure("again")).await;
    let far = JobEdit {
        run_at: Some(f.now().plus(secs(1_000_000))),
        ..JobEdit::default()
    };
    f.command(job.id, JobCommand::Edit(far)).await
}

/// What is held must not be called because the address came later.
pub async fn an_http_job_with_another_address_waits_at_its_new_destination(f: Fixture) {
    let (from, to) = ("https://a.example", "https://b.example");
    let limits = GateLimits {
        paused: Some(Pause {
            by: None,
            since: f.now(),
            reason: None,
            until: None,
        }),
        ..GateLimits::default()
    };
    let id = GateId::new(None, GateScope::Destination, to).unwrap();
    let gates = Gates::new([Gate { id, limits }], GateDefaults::default());
    f.use_gates(&gates).await;
    let call = |origin: &str| {
        let url = format!("{origin}/x");
        Payload::encode(&serde_json::json!({ "url": url }))
    };
    let new = || {
        f.job_with(|job| {
            job.kind = Kind::http();
            job.payload = call(from).unwrap();
            job.destination = Destination::new(from).ok();
        })
    };
    let dead = f.ended(new(), permanent("no")).await.id;
    let edited = f.enqueue_one(new()).await;
    let edit = JobEdit {
        payload: call(to).ok(),
        ..JobEdit::default()
    };
    f.command(edited, JobCommand::Edit(edit)).await;
    f.command(
        dead,
        JobCommand::Retry {
            payload: call(to).ok(),
        },
    )
    .await;
    for id in [edited, dead] {
        assert_eq!(f.read(id).await.destination, Destination::new(to).ok());
    }
    assert!(f.claim(9).await.is_empty());
    f.use_gates(&Gates::default()).await;
    assert_eq!(f.claim(9).await.len(), 2);
}

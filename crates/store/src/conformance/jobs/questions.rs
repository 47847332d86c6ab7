//! Questions in place of repetitions: a driver stores them like any other end of an attempt.

use steadfast_core::{
    AttemptStatus, Claim, ConfirmAnswer, ConfirmSettings, EndReason, FailureClass, Guarantee,
    JobCommand, JobId, JobState, NewJob, NewJobExtras, Outcome, SecretName, SecretReference,
};

use crate::conformance::fixture::{Fixture, failure_of, json, secs};

pub async fn a_question_is_stored_and_each_one_leaves_a_record(f: Fixture) {
    let settings = settings();
    let mut job = with_question(&f, settings.clone());
    job.guarantee = Guarantee::AtMostOnce;
    let id = f.enqueue_one(job).await;
    assert_eq!(f.read(id).await.confirm(), Some(&settings));
    let claim = f.claim_of(id).await;
    assert!(!claim.job().is_question());
    f.end(claim, timed_out()).await;

    let asked = question(&f, id).await;
    assert_eq!(asked.job().confirm(), Some(&settings));
    assert_eq!(asked.job().attempt_number(), 1);
    f.end(asked, answered(ConfirmAnswer::Unknown)).await;
    assert_eq!(f.read(id).await.progress.questions_asked(), Some(1));
    let asked = question(&f, id).await;
    let job = f.end(asked, answered(ConfirmAnswer::Done)).await;
    assert_eq!(job.progress.state, JobState::Succeeded);
    assert_eq!((job.progress.attempt, job.progress.failure), (1, None));

    let records = f.attempts_of(id).await;
    let mut seen: Vec<_> = records
        .iter()
        .map(|it| (it.fence.0, it.attempt, it.status, it.answer()))
        .collect();
    seen.sort_unstable();
    let asked = AttemptStatus::Asked;
    let expected = [
        (1, 1, AttemptStatus::Failed, None),
        (2, 1, asked, Some(ConfirmAnswer::Unknown)),
        (3, 1, asked, Some(ConfirmAnswer::Done)),
    ];
    assert_eq!(seen, expected);
    let last = records.iter().find(|it| it.fence.0 == 3).unwrap();
    assert_eq!(last.output, Some(json(r#"{"id": 7}"#)));
    let tally = f.tally().await;
    assert_eq!((tally.attempts, tally.failures, tally.retries), (1, 1, 0));
}

pub async fn a_lost_question_is_asked_again_and_runs_nothing(f: Fixture) {
    let mut job = with_question(&f, ConfirmSettings::default());
    job.guarantee = Guarantee::AtMostOnce;
    let id = f.enqueue_one(job).await;
    f.claim_of(id).await;
    let mut asked = 0;
    loop {
        f.clock.advance(secs(60));
        let lost = f.store.expired_leases(1).await.unwrap().remove(0);
        let job = f.end(lost, Outcome::Lost).await;
        assert_eq!(job.progress.attempt, 1);
        if job.progress.state == JobState::Failed {
            assert_eq!(job.progress.reason, Some(EndReason::OutcomeUnknown));
            break;
        }
        assert_eq!(job.progress.questions_asked(), Some(asked));
        question(&f, id).await;
        asked += 1;
    }
    assert!(asked > 1, "the policy of the fixture repeats");
    let records = f.attempts_of(id).await;
    let questions = records
        .iter()
        .filter(|it| it.status == AttemptStatus::Asked);
    assert_eq!(questions.count(), usize::try_from(asked).unwrap());
}

pub async fn the_question_of_a_requeued_job_is_closed(f: Fixture) {
    let id = f
        .enqueue_one(with_question(&f, ConfirmSettings::default()))
        .await;
    let claim = f.claim_of(id).await;
    f.end(claim, timed_out()).await;
    assert!(f.read(id).await.is_question());
    let cancelled = f.command(id, JobCommand::Cancel).await;
    assert!(!cancelled.is_question());
    f.command(id, JobCommand::Retry { payload: None }).await;
    let claim = f.claim_of(id).await;
    assert!(!claim.job().is_question());
    assert_eq!(claim.job().attempt_number(), 2);
    let job = f.end(claim, failure_of(FailureClass::ERROR, "no")).await;
    assert!(!job.is_question());
}

/// Claims the job when its question is due.
async fn question(f: &Fixture, id: JobId) -> Claim {
    let due = f.read(id).await.progress.run_at;
    f.clock.set(due.max(f.now()));
    let claim = f.claim_of(id).await;
    assert!(claim.job().is_question());
    claim
}

fn with_question(f: &Fixture, settings: ConfirmSettings) -> NewJob {
    f.job().with_extras(NewJobExtras {
        confirm: Some(settings),
        ..NewJobExtras::default()
    })
}

fn settings() -> ConfirmSettings {
    let token = SecretReference::new(SecretName::new("token").unwrap());
    let text = r#"{
        "url": "https://api.example.com/{jobId}?key={idempotencyKey}", "timeout": "1500ms",
        "headers": {"accept": "application/json"}, "done": {"status": ["2xx", 304]},
        "notDone": {"body": "*none*"}, "also": {"class": "panic", "status": "502-504"}
    }"#;
    let mut settings: ConfirmSettings = serde_json::from_str(text).unwrap();
    settings.headers.insert("x-token".to_owned(), token.into());
    settings
}

fn timed_out() -> Outcome {
    failure_of(FailureClass::TIMEOUT, "no response within 30s")
}

fn answered(answer: ConfirmAnswer) -> Outcome {
    Outcome::Answered {
        answer,
        output: (answer == ConfirmAnswer::Done).then(|| json(r#"{"id": 7}"#)),
        failure: None,
    }
}

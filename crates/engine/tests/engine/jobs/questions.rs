//! Questions of jobs with handlers: the confirm function answers, and the handler does not run.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use serde::{Deserialize, Serialize};
use steadfast_core::{
    AttemptStatus, ConfirmAnswer, ConfirmSettings, Confirmation, EndReason, JobState, Payload,
};
use steadfast_engine::{
    Context, EngineBuilder, JobError, JobKind, JobRequest, testing::TestEngine,
};

#[derive(Serialize, Deserialize)]
struct Charge {
    /// The answers in their order; the last one repeats.
    answers: Vec<String>,
}

impl JobKind for Charge {
    const KIND: &'static str = "charge";
}

#[derive(Default)]
struct Calls {
    charges: AtomicU32,
    questions: AtomicU32,
}

/// Takes effect, and does not say so the first time.
async fn charge(_: Charge, ctx: Context<Arc<Calls>>) -> Result<String, JobError> {
    match ctx.state().charges.fetch_add(1, Ordering::SeqCst) {
        0 => Err(JobError::failure("timeout", "no answer from the bank")),
        _ => Ok("charged".to_owned()),
    }
}

async fn was_charged(job: Charge, ctx: Context<Arc<Calls>>) -> Result<Confirmation, JobError> {
    let number = ctx.state().questions.fetch_add(1, Ordering::SeqCst);
    let last = job.answers.len() - 1;
    let number = usize::try_from(number).unwrap().min(last);
    match job.answers[number].as_str() {
        "done" => Ok(Confirmation::done_with(&"found")?),
        "not_done" => Ok(Confirmation::NotDone),
        "unknown" => Ok(Confirmation::Unknown),
        other => Err(JobError::failure("BankAway", other)),
    }
}

fn engine(calls: &Arc<Calls>, has_confirm: bool) -> TestEngine {
    let set_up = |builder: EngineBuilder| {
        let builder = builder.state(calls.clone()).handler(charge);
        match has_confirm {
            true => builder.confirm(was_charged),
            false => builder,
        }
    };
    TestEngine::new(set_up).unwrap()
}

fn job(answers: &[&str]) -> JobRequest {
    let answers = answers.iter().map(ToString::to_string).collect();
    JobRequest::of(&Charge { answers }).confirm(ConfirmSettings::default())
}

#[tokio::test]
async fn a_confirm_function_settles_what_the_handler_left_open() {
    for (answers, state, charges, questions) in [
        (&["done"][..], JobState::Succeeded, 1, 1),
        (&["unknown", "error", "done"], JobState::Succeeded, 1, 3),
        (&["not_done"], JobState::Succeeded, 2, 1),
        (&["unknown"], JobState::Failed, 1, 4),
    ] {
        let calls = Arc::new(Calls::default());
        let engine = engine(&calls, true);
        let id = engine.client().enqueue(job(answers)).await.unwrap();
        engine.run_to_end().await.unwrap();
        let job = engine.job(id).await.unwrap();
        assert_eq!(job.progress.state, state, "{answers:?}");
        assert_eq!(calls.charges.load(Ordering::SeqCst), charges);
        assert_eq!(calls.questions.load(Ordering::SeqCst), questions);
        assert_eq!(job.progress.attempt, charges);
    }
}

#[tokio::test]
async fn the_result_of_a_confirmed_job_is_the_one_that_was_found() {
    let calls = Arc::new(Calls::default());
    let engine = engine(&calls, true);
    let id = engine.client().enqueue(job(&["done"])).await.unwrap();
    engine.run_to_end().await.unwrap();
    let attempts = engine.attempts(id).await.unwrap();
    assert_eq!(attempts[1].answer(), Some(ConfirmAnswer::Done));
    let found = Payload::encode(&"found").unwrap();
    assert_eq!(attempts[1].output, Some(found));
}

#[tokio::test]
async fn a_kind_without_a_confirm_function_is_never_repeated_instead() {
    let calls = Arc::new(Calls::default());
    let engine = engine(&calls, false);
    let id = engine.client().enqueue(job(&["done"])).await.unwrap();
    engine.run_to_end().await.unwrap();
    let job = engine.job(id).await.unwrap();
    assert_eq!(job.progress.reason, Some(EndReason::OutcomeUnknown));
    assert_eq!(calls.charges.load(Ordering::SeqCst), 1);
    let attempts = engine.attempts(id).await.unwrap();
    assert_eq!(attempts[1].status, AttemptStatus::Asked);
    let question = attempts[1].decision.as_ref().unwrap().question.as_ref();
    let detail = question.unwrap().detail.as_deref();
    let expected = "error: kind charge has no confirm function on this node";
    assert_eq!(detail, Some(expected));
}

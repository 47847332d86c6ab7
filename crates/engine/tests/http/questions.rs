//! Questions of HTTP jobs, against targets that take effect and do not say so.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use steadfast_core::{
    Attempt, AttemptStatus, ConfirmAnswer, ConfirmSettings, EndReason, Job, JobState,
};
use steadfast_engine::{
    JobRequest,
    http::{AddressPolicy, HttpRequest, Outbound, OutboundRules},
    testing::TestEngine,
};

use crate::{
    common::any_address,
    target::{Reply, Target, answer, ok},
};

fn engine(outbound: Outbound) -> TestEngine {
    TestEngine::new(|builder| builder.outbound(outbound)).unwrap()
}

fn confirm(json: &str) -> ConfirmSettings {
    serde_json::from_str(json).unwrap()
}

fn asks_at(target: &Target) -> ConfirmSettings {
    confirm(&format!(
        r#"{{"url": "http://{}/effects/{{jobId}}?key={{idempotencyKey}}"}}"#,
        target.address
    ))
}

fn job(target: &Target) -> JobRequest {
    JobRequest::of(&HttpRequest::new(&target.url()).unwrap())
        .idempotency_key("order 7")
        .confirm(asks_at(target))
}

/// Runs one job to its end.
async fn run(engine: &TestEngine, request: JobRequest) -> (Job, Vec<Attempt>) {
    let id = engine.client().enqueue(request).await.unwrap();
    engine.run_to_end().await.unwrap();
    let attempts = engine.attempts(id).await.unwrap();
    (engine.job(id).await.unwrap(), attempts)
}

fn answers(attempts: &[Attempt]) -> Vec<(AttemptStatus, Option<ConfirmAnswer>)> {
    attempts.iter().map(|it| (it.status, it.answer())).collect()
}

const DONE: ConfirmAnswer = ConfirmAnswer::Done;
const UNKNOWN: ConfirmAnswer = ConfirmAnswer::Unknown;

/// Takes effect and closes the connection; then it answers the question.
async fn silent(answer_of: impl Fn(usize) -> Reply + Send + Sync + 'static) -> Target {
    Target::start(move |number| match number {
        0 => Reply::SendAndClose(String::new()),
        number => answer_of(number),
    })
    .await
}

#[tokio::test]
async fn a_lost_response_is_asked_for_and_the_request_is_not_repeated() {
    for at_most_once in [false, true] {
        let target = silent(|number| match number {
            1 => answer("503 Service Unavailable", "", "busy"),
            _ => ok(r#"{"charge": 7}"#),
        })
        .await;
        let request = match at_most_once {
            true => job(&target).at_most_once(),
            false => job(&target),
        };
        let (job, attempts) = run(&engine(any_address()), request).await;
        assert_eq!(job.progress.state, JobState::Succeeded);
        assert_eq!(job.progress.attempt, 1);
        let asked = AttemptStatus::Asked;
        let expected = [
            (AttemptStatus::Failed, None),
            (asked, Some(UNKNOWN)),
            (asked, Some(DONE)),
        ];
        assert_eq!(answers(&attempts), expected);
        let output = attempts[2].output.as_ref().unwrap().as_str();
        assert!(output.contains(r#"{\"charge\": 7}"#), "{output}");

        let seen = target.seen();
        let id = job.id.to_string();
        let question = format!("GET /effects/{id}?key=order%207 HTTP/1.1");
        let lines: Vec<&str> = seen.iter().map(|it| it.line.as_str()).collect();
        assert_eq!(lines, ["POST /hook?x=1 HTTP/1.1", &question, &question]);
        for (index, request) in seen.iter().enumerate() {
            let header = |name: &str| request.headers.get(name).map(String::as_str);
            assert_eq!(header("idempotency-key"), Some(id.as_str()));
            assert_eq!(header("steadfast-attempt"), Some("1"));
            let number = (index > 0).then(|| index.to_string());
            assert_eq!(header("steadfast-question"), number.as_deref());
        }
    }
}

#[tokio::test]
async fn a_request_that_took_no_effect_is_repeated() {
    let target = silent(|number| match number {
        1 => answer("404 Not Found", "", ""),
        _ => ok("done"),
    })
    .await;
    let (job, attempts) = run(&engine(any_address()), job(&target)).await;
    assert_eq!(job.progress.state, JobState::Succeeded);
    let expected = [
        (AttemptStatus::Failed, None),
        (AttemptStatus::Asked, Some(ConfirmAnswer::NotDone)),
        (AttemptStatus::Success, None),
    ];
    assert_eq!(answers(&attempts), expected);
    assert_eq!(job.progress.attempt, 2);
    assert!(target.seen()[2].line.starts_with("POST"));
    assert_eq!(target.seen()[2].headers["steadfast-attempt"], "2");
}

#[tokio::test]
async fn a_job_that_starts_once_and_took_no_effect_fails_with_that_reason() {
    let target = silent(|_| answer("404 Not Found", "", "")).await;
    let (job, _) = run(&engine(any_address()), job(&target).at_most_once()).await;
    assert_eq!(job.progress.state, JobState::Failed);
    assert_eq!(job.progress.reason, Some(EndReason::AtMostOnce));
    assert_eq!(target.seen().len(), 2);
}

#[tokio::test]
async fn a_question_without_an_answer_ends_as_unknown_and_repeats_nothing() {
    let target = silent(|_| answer("418 I'm a teapot", "", "")).await;
    let (job, attempts) = run(&engine(any_address()), job(&target)).await;
    assert_eq!(job.progress.reason, Some(EndReason::OutcomeUnknown));
    // Three retries of the default policy, and the first question.
    assert_eq!(attempts.len(), 1 + 4);
    let posts = target.seen();
    let posts = posts.iter().filter(|it| it.line.starts_with("POST"));
    assert_eq!(posts.count(), 1);
    let detail = attempts[1].decision.as_ref().unwrap().question.as_ref();
    let detail = detail.unwrap().detail.as_deref().unwrap();
    let expected = "http: the response 418 is neither done nor notDone";
    assert_eq!(detail, expected);
}

#[tokio::test]
async fn a_request_that_was_never_sent_is_repeated_without_a_question() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    // From here on connections are refused.
    drop(listener);
    let target = Target::start(|_| ok("done")).await;
    let request = JobRequest::of(&HttpRequest::new(&url).unwrap())
        .idempotency_key("k")
        .confirm(asks_at(&target));
    let (job, attempts) = run(&engine(any_address()), request).await;
    assert_eq!(job.progress.reason, Some(EndReason::Exhausted));
    assert_eq!(job.progress.attempt, 4);
    assert!(attempts.iter().all(|it| it.status == AttemptStatus::Failed));
    assert!(job.progress.failure.unwrap().unsent);
    assert!(target.seen().is_empty());
}

#[tokio::test]
async fn a_question_has_a_timeout_of_its_own_and_is_asked_again() {
    let target = silent(|number| match number {
        1 => Reply::Hang(String::new()),
        _ => ok("done"),
    })
    .await;
    let settings = ConfirmSettings {
        timeout: Some(Duration::from_millis(100)),
        ..asks_at(&target)
    };
    let request = job(&target).confirm(settings);
    let (job, attempts) = run(&engine(any_address()), request).await;
    assert_eq!(job.progress.state, JobState::Succeeded);
    let detail = attempts[1].decision.as_ref().unwrap().question.as_ref();
    let detail = detail.unwrap().detail.clone().unwrap();
    assert!(detail.ends_with("within 100ms"), "{detail}");
}

#[tokio::test]
async fn a_question_to_a_blocked_address_is_asked_once() {
    let target = silent(|_| ok("done")).await;
    let asked = Arc::new(AtomicUsize::new(0));
    let seen = asked.clone();
    let other = Target::start(move |_| {
        seen.fetch_add(1, Ordering::SeqCst);
        ok("done")
    })
    .await;
    let rules = OutboundRules::new(AddressPolicy::Public);
    let rules = rules.allow("127.0.0.1/32").unwrap();
    let outbound = Outbound::builder(rules).build().unwrap();
    let url = format!("http://127.0.0.2:{}/", other.address.port());
    let settings = ConfirmSettings {
        url: Some(url),
        ..ConfirmSettings::default()
    };
    let request = job(&target).confirm(settings);
    let (job, attempts) = run(&engine(outbound), request).await;
    assert_eq!(job.progress.reason, Some(EndReason::OutcomeUnknown));
    assert_eq!(attempts.len(), 2);
    let detail = attempts[1].decision.as_ref().unwrap().question.as_ref();
    let detail = detail.unwrap().detail.clone().unwrap();
    assert!(
        detail.starts_with("blocked: refused to connect"),
        "{detail}"
    );
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}

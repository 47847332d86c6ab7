//! Jobs of kind `http`, through the whole engine.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use steadfast_core::{EndReason, FailureClass, Job, JobState, Outcome, Payload, PolicyPatch};
use steadfast_engine::{
    AttemptContext, Engine, EngineBuilder, Handler, JobRequest, ScheduleRequest,
    http::{
        AddressPolicy, HTTP_KIND, HttpHandler, HttpRequest, Outbound, OutboundRules, SystemResolver,
    },
    testing::TestEngine,
};
use steadfast_store::{MemoryStore, PageRequest};

use crate::{
    common::{DEADLINE, any_address},
    target::{Reply, Target, answer, ok},
};

fn engine() -> TestEngine {
    let handler = Arc::new(HttpHandler::new(any_address()));
    TestEngine::new(|builder| builder.raw_handler(HTTP_KIND, handler)).unwrap()
}

fn to(target: &Target) -> HttpRequest {
    HttpRequest::new(&target.url()).unwrap()
}

/// Runs one job to its end.
async fn run(engine: &TestEngine, request: impl Into<JobRequest>) -> Job {
    let id = engine.client().enqueue(request).await.unwrap();
    engine.run_to_end().await.unwrap();
    engine.job(id).await.unwrap()
}

/// Runs one job whose request arrives at a target and gets no response, until its timeout. No time
/// passes for that, so the timeout can be longer than the request takes on a busy machine.
async fn run_into_timeout(engine: &TestEngine, target: &Target, request: JobRequest) -> Job {
    let running = run(engine, request.timeout(DEADLINE));
    let arrives = async {
        target.arrival().await;
        // From here on time passes as soon as every task waits for it.
        tokio::time::pause();
    };
    tokio::join!(running, arrives).0
}

fn class_of(job: &Job) -> FailureClass {
    job.progress.failure.clone().unwrap().class
}

#[tokio::test]
async fn every_attempt_carries_the_same_key_and_its_own_number() {
    let target = Target::start(|number| match number {
        0 | 1 => answer("503 Service Unavailable", "", "busy"),
        _ => ok("done"),
    })
    .await;
    let body = Payload::from_json(r#"{"n": 1}"#).unwrap();
    let request = to(&target).with_body(body);
    let request = request.with_header("authorization", "Bearer t").unwrap();
    let job = run(&engine(), request).await;
    assert_eq!(job.progress.state, JobState::Succeeded);

    let seen = target.seen();
    assert_eq!(seen.len(), 3);
    let id = job.id.to_string();
    for (retry_count, request) in seen.iter().enumerate() {
        let header = |name: &str| request.headers[name].as_str();
        assert_eq!(request.line, "POST /hook?x=1 HTTP/1.1");
        assert_eq!(request.body, r#"{"n": 1}"#);
        assert_eq!(header("idempotency-key"), id);
        assert_eq!(header("steadfast-job-id"), id);
        assert_eq!(header("steadfast-attempt"), (retry_count + 1).to_string());
        assert_eq!(header("steadfast-retry-count"), retry_count.to_string());
        assert_eq!(header("steadfast-max-retries"), "3");
        assert_eq!(header("authorization"), "Bearer t");
        assert_eq!(header("content-type"), "application/json");
        assert!(header("user-agent").starts_with("Steadfast/"));
    }
    assert_eq!(
        seen[0].headers["steadfast-scheduled-for"],
        "2026-01-01T00:00:00Z"
    );
}

#[tokio::test]
async fn the_retry_count_header_starts_again_when_a_person_requeues() {
    let target = Target::start(|_| answer("503 Service Unavailable", "", "")).await;
    let engine = engine();
    let once = PolicyPatch::default().max_retries(1);
    let job = run(&engine, JobRequest::of(&to(&target)).retry(once)).await;
    engine.client().retry(job.id).await.unwrap();
    engine.run_to_end().await.unwrap();
    let headers = |name: &str| {
        let requests = target.seen().into_iter();
        let values = requests.map(|request| request.headers[name].clone());
        values.collect::<Vec<_>>()
    };
    assert_eq!(headers("steadfast-attempt"), ["1", "2", "3", "4"]);
    assert_eq!(headers("steadfast-retry-count"), ["0", "1", "0", "1"]);
}

#[tokio::test]
async fn a_run_of_a_schedule_carries_its_tick_on_every_attempt() {
    let target = Target::start(|number| match number {
        0 => answer("500 Oops", "", ""),
        _ => ok(""),
    })
    .await;
    let engine = engine();
    let schedule = ScheduleRequest::cron("hourly", "@hourly", to(&target));
    engine.client().schedule(schedule).await.unwrap();
    engine.advance(Duration::from_secs(3_700)).await.unwrap();
    let seen = target.seen();
    assert_eq!(seen.len(), 2);
    for request in seen {
        assert_eq!(
            request.headers["steadfast-scheduled-for"],
            "2026-01-01T01:00:00Z"
        );
    }
}

#[tokio::test]
async fn the_record_of_an_attempt_holds_the_response() {
    let target = Target::start(|number| match number {
        0 => answer("503 Service Unavailable", "set-cookie: s=1\r\n", "busy"),
        _ => ok("done"),
    })
    .await;
    let engine = engine();
    let job = run(&engine, to(&target)).await;
    let attempts = engine.attempts(job.id).await.unwrap();
    let output = |index: usize| {
        let output = attempts[index].output.as_ref().unwrap();
        output.decode::<serde_json::Value>().unwrap()
    };
    let first = output(0);
    assert_eq!(first["status"], 503);
    assert_eq!(first["body"], "busy");
    assert_eq!(first["truncated"], false);
    assert_eq!(first["headers"]["set-cookie"], "(hidden)");
    assert!(first["timings"]["connectMs"].is_number());
    assert!(first["timings"]["tlsMs"].is_null());
    let failure = attempts[0].failure.as_ref().unwrap();
    assert_eq!(failure.message, "answered 503 Service Unavailable: busy");
    assert_eq!(output(1)["status"], 200);
}

#[tokio::test]
async fn a_call_without_a_response_is_recorded_up_to_the_phase_that_failed() {
    let hanging = Target::start(|_| Reply::Hang(String::new())).await;
    let nothing_listens = HttpRequest::new("http://127.0.0.1:1/").unwrap();
    let engine = engine();
    let once = |request| JobRequest::of(&request).retry(PolicyPatch::default().max_retries(0));
    let refused = run(&engine, once(nothing_listens)).await;
    let timed_out = run_into_timeout(&engine, &hanging, once(to(&hanging))).await;
    for (job, expected) in [
        (refused, ["dnsMs", "connectMs"].as_slice()),
        (timed_out, &["dnsMs", "connectMs", "firstByteMs"]),
    ] {
        let attempts = engine.attempts(job.id).await.unwrap();
        let output = attempts[0].output.as_ref().unwrap();
        let output: serde_json::Value = output.decode().unwrap();
        assert!(output.get("status").is_none(), "{output}");
        for phase in ["dnsMs", "connectMs", "tlsMs", "firstByteMs", "bodyMs"] {
            let is_known = output["timings"][phase].is_number();
            assert_eq!(is_known, expected.contains(&phase), "{phase}: {output}");
        }
    }
}

#[tokio::test]
async fn a_permanent_failure_is_not_tried_again() {
    for (status, class) in [
        ("404 Not Found", FailureClass::NOT_FOUND),
        ("302 Found", FailureClass::REDIRECT),
    ] {
        let target = Target::start(move |_| answer(status, "location: /\r\n", "")).await;
        let job = run(&engine(), to(&target)).await;
        assert_eq!(job.progress.reason, Some(EndReason::NonRetryable));
        assert_eq!((class_of(&job), target.seen().len()), (class, 1));
    }
}

#[tokio::test]
async fn retry_after_moves_the_next_attempt_by_the_stores_clock() {
    for (header, expected) in [
        ("retry-after: 90\r\n", "2026-01-01T00:01:30"),
        (
            "retry-after: Thu, 01 Jan 2026 00:10:00 GMT\r\n",
            "2026-01-01T00:10:00",
        ),
    ] {
        let target = Target::start(|number| match number {
            0 => answer("429 Too Many Requests", header, ""),
            _ => ok(""),
        })
        .await;
        let engine = engine();
        let steady = PolicyPatch::fixed(Duration::from_secs(1)).max_retries(1);
        let job = run(&engine, JobRequest::of(&to(&target)).retry(steady)).await;
        assert_eq!(job.progress.state, JobState::Succeeded);
        let second = engine.attempts(job.id).await.unwrap()[1].started_at;
        assert!(second.to_string().starts_with(expected), "{second}");
    }
}

#[tokio::test]
async fn the_last_attempt_gets_a_new_connection() {
    let once = PolicyPatch::default().max_retries(0);
    for (at_most_once, reason) in [(true, EndReason::AtMostOnce), (false, EndReason::Exhausted)] {
        let target = Target::start(|number| match number {
            0 => ok(""),
            _ => Reply::SendAndClose(String::new()),
        })
        .await;
        let engine = engine();
        run(&engine, to(&target)).await;
        let mut request = JobRequest::of(&to(&target)).retry(once.clone());
        if at_most_once {
            request = request.at_most_once();
        }
        let job = run(&engine, request).await;
        assert_eq!(job.progress.reason, Some(reason));
        assert_eq!(class_of(&job), FailureClass::CONNECTION);
        assert_eq!((target.seen().len(), target.connections()), (2, 2));
        assert_eq!(target.seen()[1].headers["steadfast-max-retries"], "0");
    }
}

#[tokio::test]
async fn the_timeout_of_the_job_limits_the_request() {
    let target = Target::start(|_| Reply::Hang(String::new())).await;
    let once = PolicyPatch::default().max_retries(0);
    let request = JobRequest::of(&to(&target)).retry(once);
    let job = run_into_timeout(&engine(), &target, request).await;
    let failure = job.progress.failure.unwrap();
    assert_eq!(failure.class, FailureClass::TIMEOUT);
    let expected = format!("no response from {} within 20s", target.address);
    assert_eq!(failure.message, expected);
}

// No time passes while anything can go on, so all calls time out at once.
#[tokio::test(start_paused = true)]
async fn a_call_that_never_got_its_turn_to_look_up_a_name_is_given_back_uncounted() {
    // The threads end when the test does.
    let (_up, down) = std::sync::mpsc::channel::<()>();
    let down = std::sync::Mutex::new(down);
    let resolver = SystemResolver::new(move |_| {
        let _hung_up = down.lock().unwrap().recv();
        Ok(Vec::new())
    });
    let rules = OutboundRules::new(AddressPolicy::Any);
    let outbound = Outbound::builder(rules).resolver(Arc::new(resolver));
    let handler = Arc::new(HttpHandler::new(outbound.build().unwrap()));
    let engine = TestEngine::new(|builder| builder.raw_handler(HTTP_KIND, handler)).unwrap();
    let mut ids = Vec::new();
    for number in 0..40 {
        let request = HttpRequest::new(&format!("http://dead-{number}.example/")).unwrap();
        let once = PolicyPatch::default().max_retries(0);
        let request = JobRequest::of(&request).retry(once).timeout(DEADLINE);
        ids.push(engine.client().enqueue(request).await.unwrap());
    }
    engine.run_due().await.unwrap();
    let mut states = Vec::new();
    for id in ids {
        states.push(engine.job(id).await.unwrap().progress.state);
    }
    let count = |state: JobState| states.iter().filter(|it| **it == state).count();
    // A tenant may look up 32 names at once.
    let counts = [JobState::Failed, JobState::Waiting].map(count);
    assert_eq!(counts, [32, 8], "{states:?}");
}

/// Ends by its own clock, long after the job's timeout.
struct SlowHandler;

#[async_trait]
impl Handler for SlowHandler {
    async fn handle(&self, attempt: AttemptContext) -> Outcome {
        let timeout = attempt.job().timeout.unwrap();
        let never = std::future::pending::<()>();
        let _elapsed = tokio::time::timeout(20 * timeout, never).await;
        Outcome::Success { output: None }
    }

    fn has_own_timeout(&self) -> bool {
        true
    }
}

#[tokio::test]
async fn a_handler_with_its_own_timeout_is_not_cut_off() {
    let set_up = |builder: EngineBuilder| builder.raw_handler("own", Arc::new(SlowHandler));
    let engine = TestEngine::new(set_up).unwrap();
    let request = JobRequest::new("own", Payload::default());
    let job = run(&engine, request.timeout(Duration::from_millis(2))).await;
    assert_eq!(job.progress.state, JobState::Succeeded);
}

#[tokio::test]
async fn a_payload_that_is_no_request_ends_the_job() {
    let payload = Payload::from_json(r#"{"url":"ftp://example.com/"}"#).unwrap();
    let job = run(&engine(), JobRequest::new(HTTP_KIND, payload)).await;
    assert_eq!(class_of(&job), FailureClass::PAYLOAD);
    assert_eq!(job.progress.reason, Some(EndReason::NonRetryable));
}

#[tokio::test]
async fn cancelling_a_job_drops_its_request() {
    let target = Target::start(|_| Reply::Hang(String::new())).await;
    let handler = Arc::new(HttpHandler::new(any_address()));
    let engine = Engine::builder(MemoryStore::default());
    let engine = engine.raw_handler(HTTP_KIND, handler).start().unwrap();
    let id = engine.client().enqueue(to(&target)).await.unwrap();
    target.arrival().await;
    engine.client().cancel(id).await.unwrap();
    let job = engine.finished(id).await.unwrap();
    assert_eq!(job.progress.state, JobState::Cancelled);
    target.closure().await;
    assert_eq!(target.seen().len(), 1);
    engine.stop().await;
}

#[tokio::test]
async fn a_node_that_stops_waits_for_the_response() {
    let target = Target::start(|_| {
        Reply::Trickle("HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n".to_owned())
    })
    .await;
    let handler = Arc::new(HttpHandler::new(any_address()));
    let engine = Engine::builder(MemoryStore::default());
    let engine = engine.raw_handler(HTTP_KIND, handler).start().unwrap();
    let client = engine.client();
    let id = client.enqueue(to(&target)).await.unwrap();
    target.arrival().await;
    engine.stop().await;
    let attempts = client
        .attempts(id, PageRequest::first(9))
        .await
        .unwrap()
        .items;
    assert_eq!(attempts.len(), 1);
    let output = attempts[0].output.as_ref().unwrap();
    assert!(output.as_str().contains(&"x".repeat(20)), "{output:?}");
}

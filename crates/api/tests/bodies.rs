//! Responses as they are written, and read again by a client.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use serde_json::{Value, json};
use steadfast_api::{
    AttemptBody, CreateJobRequest, CreateResult, DeadLettersRequest, JobBody, JobQuery,
    ScheduleBody, webhook_job,
};
use steadfast_core::{
    Attempt, AttemptStatus, Cron, Dice, Failure, FailureClass, Fence, Job, JobId, Kind, NewJob,
    Outcome, Payload, PolicyPatch, Preset, Schedule, ScheduleId, ScheduleName, ScheduleProgress,
    Subscriptions, TickRule, Timestamp, Timetable, WorkerName, Zone, after_attempt,
};

fn at(secs: i64) -> Timestamp {
    "2026-01-01T00:00:00Z"
        .parse::<Timestamp>()
        .unwrap()
        .plus(std::time::Duration::from_secs(secs.unsigned_abs()))
}

fn new_job(kind: Kind, payload: &str) -> NewJob {
    let payload = Payload::from_json(payload).unwrap();
    let policy = Arc::new(Preset::Http.policy());
    NewJob::new(JobId::from_bits(1), kind, payload, policy)
}

fn job(kind: Kind, payload: &str) -> Job {
    new_job(kind, payload).into_job(at(0))
}

fn mail() -> Kind {
    Kind::new("mail").unwrap()
}

/// A job whose first attempt failed for good, and the record of that attempt.
fn failed_job() -> (Job, Attempt) {
    let worker = WorkerName::new("node-1").unwrap();
    let claim = job(mail(), r#"{"to":1}"#).claim(worker, None, at(1));
    let mut job = claim.job().clone();
    let failure = Failure::new(FailureClass::VALIDATION, "it broke");
    let output = None;
    let ended = claim.end(Outcome::Failure { failure, output }, at(2));
    let transition = after_attempt(&ended, &Subscriptions::default(), Dice::new(0));
    job.progress = transition.to;
    (job, transition.record.unwrap())
}

#[test]
fn a_job_is_read_back_as_it_was_written() {
    let (failed, _) = failed_job();
    for job in [failed, job(Kind::http(), r#"{"url":"http://x/"}"#)] {
        let body = JobBody::new(job, at(3));
        let text = serde_json::to_string(&body).unwrap();
        let read: JobBody = serde_json::from_str(&text).unwrap();
        assert_eq!(read, body);
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
    }
}

#[test]
fn a_failed_job_has_its_reason_as_a_code_and_in_words() {
    let body = json!(JobBody::new(failed_job().0, at(3)));
    assert_eq!(body["label"], "failed");
    assert_eq!(body["reason"], "non_retryable");
    assert_eq!(body["explanation"], "permanent failure");
    assert_eq!(body["failure"]["message"], "it broke");
}

#[test]
fn a_webhook_carries_the_job_as_the_api_shows_it_but_not_its_payload() {
    let (job, _) = failed_job();
    let mut shown = json!(JobBody::new(job.clone(), at(3)));
    assert_eq!(shown["payload"], json!({"to": 1}));
    shown["payload"] = Value::Null;
    assert_eq!(webhook_job(&job, at(3)), shown);
}

#[test]
fn an_http_job_shows_where_it_goes_and_neither_headers_nor_body() {
    let payload = r#"{"url":"http://x/","headers":{"authorization":"secret"},"body":"secret"}"#;
    let body = json!(JobBody::new(job(Kind::http(), payload), at(0)));
    assert_eq!(body["http"], json!({"url": "http://x/", "method": "POST"}));
    assert_eq!(body["payload"], Value::Null);
    assert!(!body.to_string().contains("secret"), "{body}");
}

#[test]
fn counts_are_of_the_present_retry_budget() {
    let (mut job, _) = failed_job();
    job.progress.attempts_before = 4;
    job.progress.attempt = 7;
    let body = json!(JobBody::new(job, at(3)));
    let counts = ["attempt", "attemptsBefore", "retryCount", "maxRetries"];
    assert_eq!(
        counts.map(|name| body[name].as_u64()),
        [7, 4, 2, 3].map(Some)
    );
}

#[test]
fn history_marks_the_first_attempt_after_a_requeue() {
    let (_, record) = failed_job();
    let found: Vec<_> = (1..=6)
        .map(|number| {
            let attempt = Attempt {
                attempt: number,
                attempts_before: if number > 3 { 3 } else { 0 },
                ..record.clone()
            };
            let body = AttemptBody::new(attempt, &mail());
            (body.retry_count, body.requeued)
        })
        .collect();
    let expected = [
        (0, false),
        (1, false),
        (2, false),
        (0, true),
        (1, false),
        (2, false),
    ];
    assert_eq!(found, expected);
}

#[test]
fn an_attempt_has_its_explanation_as_a_sentence_and_in_figures() {
    let (_, record) = failed_job();
    let body = json!(AttemptBody::new(record, &mail()));
    let sentence = body["explanation"].as_str().unwrap();
    assert!(sentence.starts_with("Not retried: "), "{sentence}");
    assert_eq!(body["decision"]["rule"], "non_retryable");
    assert_eq!(body["decision"]["maxRetries"], 3);
}

#[test]
fn an_output_is_a_response_by_the_kind_of_its_job_and_not_by_its_looks() {
    let (_, record) = failed_job();
    let output = Payload::from_json(r#"{"status":200,"timings":{"totalMs":1}}"#).unwrap();
    let record = Attempt {
        status: AttemptStatus::Success,
        fence: Fence(1),
        output: Some(output.clone()),
        ..record
    };
    let of_worker = AttemptBody::new(record.clone(), &mail());
    assert_eq!(
        (of_worker.response, of_worker.result),
        (None, Some(output.clone()))
    );
    for kind in [Kind::http(), Kind::webhook()] {
        let of_call = AttemptBody::new(record.clone(), &kind);
        assert_eq!(
            (of_call.response, of_call.result),
            (Some(output.clone()), None)
        );
    }
}

#[test]
fn a_create_is_answered_with_a_job_a_schedule_or_a_list() {
    let rule = TickRule::Cron {
        cron: Cron::parse("0 3 * * *").unwrap(),
        zone: Zone::utc(),
    };
    let timetable = Timetable::new(rule).unwrap();
    let schedule = Schedule {
        id: ScheduleId::from_bits(2),
        name: ScheduleName::new("nightly").unwrap(),
        progress: ScheduleProgress::default(),
        timetable,
        template: new_job(mail(), r#"{"n":1}"#),
        paused: true,
        created_at: at(0),
        revision: 1,
    };
    let job = JobBody::new(job(mail(), r#"{"n":1}"#), at(0));
    let list = json!({"jobs": [job], "nextCursor": null});
    for (text, kind) in [
        (json!(job).to_string(), "job"),
        (json!(ScheduleBody::from(schedule)).to_string(), "schedule"),
        (list.to_string(), "list"),
    ] {
        let read = match serde_json::from_str(&text).unwrap() {
            CreateResult::Job(_) => "job",
            CreateResult::Schedule(_) => "schedule",
            CreateResult::Jobs(_) => "list",
            _ => "something new",
        };
        assert_eq!(read, kind);
    }
}

#[test]
fn a_request_holds_only_what_was_set() {
    let request = CreateJobRequest {
        kind: Some("mail".to_owned()),
        retry: Some(PolicyPatch::default().max_retries(2)),
        ..CreateJobRequest::default()
    };
    assert_eq!(
        json!(request),
        json!({"kind": "mail", "retry": {"maxRetries": 2}})
    );
    let read: CreateJobRequest = serde_json::from_value(json!(request)).unwrap();
    assert_eq!(read, request);
    assert_eq!(json!(JobQuery::default()), json!({}));
    let request = DeadLettersRequest::default();
    assert_eq!(json!(request), json!({"all": false, "dryRun": false}));
}

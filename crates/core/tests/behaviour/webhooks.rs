//! Which events are delivered to which addresses, and what the deliveries are.
use std::{collections::BTreeSet, sync::Arc, time::Duration};

use serde_json::{Value, json};
use steadfast_core::{
    BodyFormat, Destination, Dice, Endpoint, EndpointId, EndpointSecret, EventType, Failure,
    FailureClass, Guarantee, Jitter, Job, JobCommand, JobId, Kind, NewJob, Outcome, Payload,
    PolicyPatch, Preset, Queue, Subscription, Subscriptions, Tags, Tenant, Timestamp, Transition,
    Webhook, WebhookEvent, WebhookSecret, WebhookTarget, WorkerName, after_attempt, on_command,
};

const T0: Timestamp = Timestamp::from_millis(1_767_225_600_000);
const HOUR: Duration = Duration::from_secs(60 * 60);

fn at(secs: u64) -> Timestamp {
    T0.plus(Duration::from_secs(secs))
}

fn tenant(name: &str) -> Tenant {
    Tenant::new(name).unwrap()
}

fn steady() -> PolicyPatch {
    PolicyPatch::preset(Preset::Http).jitter(Jitter::None)
}

fn job() -> Job {
    let kind = Kind::new("mail").unwrap();
    let payload = Payload::from_json(r#"{"to": "her alone"}"#).unwrap();
    let policy = Arc::new(steady().build().unwrap());
    let mut job = NewJob::new(JobId::from_bits(1), kind, payload, policy);
    job.tenant = tenant("acme");
    job.into_job(T0)
}

fn with_webhook(mut job: Job, events: &[EventType]) -> Job {
    job.webhook = Some(Arc::new(Webhook {
        target: WebhookTarget::Url {
            url: "https://example.com/own".to_owned(),
            secret: Some(WebhookSecret::new("whsec_b3duIHNlY3JldA")),
        },
        events: events.to_vec(),
        retry: PolicyPatch::default(),
    }));
    job
}

fn subscription(number: u128, events: &[EventType]) -> Subscription {
    Subscription {
        endpoint: EndpointId::from_bits(number),
        destination: Destination::of_url("https://hooks.example.com/a"),
        events: events.to_vec(),
        format: BodyFormat::Standard,
        retry: PolicyPatch::default(),
    }
}

fn subscriptions(to: &str, all: impl IntoIterator<Item = Subscription>) -> Subscriptions {
    let mut subscriptions = Subscriptions::new(
        |job, now| json!({"id": job.id, "label": job.label(now), "reason": job.progress.reason}),
    );
    for subscription in all {
        subscriptions.subscribe(tenant(to), subscription);
    }
    subscriptions
}

fn failure(class: FailureClass) -> Outcome {
    Outcome::Failure {
        failure: Failure::new(class, "it broke"),
        output: None,
    }
}

fn success() -> Outcome {
    Outcome::Success { output: None }
}

/// One attempt that started at T+1 and ended at T+2.
fn attempt(job: Job, outcome: Outcome, subscriptions: &Subscriptions) -> Transition {
    let worker = WorkerName::new("node-1").unwrap();
    let ended = job.claim(worker, None, at(1)).end(outcome, at(2));
    after_attempt(&ended, subscriptions, Dice::new(1 << 63))
}

fn body(delivery: &NewJob) -> Value {
    delivery.payload.decode().unwrap()
}

fn event_types(outbox: &[NewJob]) -> Vec<String> {
    let types = outbox.iter().map(|delivery| body(delivery)["type"].clone());
    types
        .map(|event| event.as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn each_end_of_an_attempt_has_its_own_event() {
    let cancelled = Outcome::Cancelled {
        message: "moot".to_owned(),
    };
    let snoozed = Outcome::Snoozed(Duration::from_secs(9));
    let released = Outcome::Released { started: true };
    for (outcome, event) in [
        (success(), Some("job.succeeded")),
        (failure(FailureClass::VALIDATION), Some("job.failed")),
        (failure(FailureClass::TIMEOUT), Some("job.retrying")),
        (Outcome::Lost, Some("job.retrying")),
        (cancelled, Some("job.cancelled")),
        (snoozed, None),
        (released, None),
    ] {
        let everything = subscriptions("acme", [subscription(1, EventType::ALL)]);
        let transition = attempt(job(), outcome.clone(), &everything);
        assert_eq!(
            event_types(&transition.outbox),
            Vec::from_iter(event),
            "{outcome:?}"
        );
    }
}

#[test]
fn a_retry_is_sent_only_on_request() {
    let usual = subscriptions("acme", [subscription(1, EventType::OF_JOBS)]);
    let failing = || failure(FailureClass::TIMEOUT);
    assert_eq!(attempt(job(), failing(), &usual).outbox, []);
    let mut last = job();
    last.progress.attempt = 3;
    assert_eq!(
        event_types(&attempt(last, failing(), &usual).outbox),
        ["job.failed"]
    );
    let own = with_webhook(job(), &[EventType::JobRetrying]);
    let transition = attempt(own, failing(), &usual);
    assert_eq!(event_types(&transition.outbox), ["job.retrying"]);
}

#[test]
fn a_delivery_has_the_destination_of_its_endpoint_or_its_own_address() {
    let usual = subscriptions("acme", [subscription(1, EventType::OF_JOBS)]);
    let own = with_webhook(job(), EventType::OF_JOBS);
    let outbox = attempt(own, success(), &usual).outbox;
    let destinations = outbox.iter().map(|delivery| delivery.destination.clone());
    let destinations: Vec<_> = destinations.flatten().map(|it| it.to_string()).collect();
    let expected = ["https://example.com", "https://hooks.example.com"];
    assert_eq!(destinations, expected);
}

#[test]
fn a_job_that_is_lost_and_may_start_once_is_reported_as_failed() {
    let mut job = job();
    job.guarantee = Guarantee::AtMostOnce;
    let usual = subscriptions("acme", [subscription(1, EventType::OF_JOBS)]);
    let transition = attempt(job, Outcome::Lost, &usual);
    assert_eq!(event_types(&transition.outbox), ["job.failed"]);
    let data = &body(&transition.outbox[0])["data"];
    assert_eq!(data["reason"], "outcome_unknown");
}

#[test]
fn a_cancel_is_reported_when_it_takes_effect_and_not_when_it_is_requested() {
    let everything = subscriptions("acme", [subscription(1, EventType::ALL)]);
    let waiting = on_command(job(), &JobCommand::Cancel, &everything, at(5)).unwrap();
    assert_eq!(event_types(&waiting.outbox), ["job.cancelled"]);

    let worker = WorkerName::new("node-1").unwrap();
    let claim = job().claim(worker, None, at(1));
    let running = claim.job().clone();
    let requested = on_command(running, &JobCommand::Cancel, &everything, at(5)).unwrap();
    assert_eq!(requested.outbox, []);
    let mut ended = claim.end(failure(FailureClass::TIMEOUT), at(6));
    ended.set_cancel_requested();
    let transition = after_attempt(&ended, &everything, Dice::new(0));
    assert_eq!(event_types(&transition.outbox), ["job.cancelled"]);
}

#[test]
fn commands_on_dead_letters_have_no_event() {
    let everything = subscriptions("acme", [subscription(1, EventType::ALL)]);
    let mut dead = job();
    dead.progress = attempt(job(), failure(FailureClass::VALIDATION), &everything).to;
    for command in [JobCommand::Discard, JobCommand::Retry { payload: None }] {
        let changed = on_command(dead.clone(), &command, &everything, at(9)).unwrap();
        assert_eq!(changed.outbox, [], "{command:?}");
    }
}

#[test]
fn the_body_carries_the_job_as_the_event_left_it() {
    let usual = subscriptions("acme", [subscription(1, EventType::OF_JOBS)]);
    let transition = attempt(job(), failure(FailureClass::VALIDATION), &usual);
    let event = body(&transition.outbox[0]);
    assert_eq!(event["timestamp"], "2026-01-01T00:00:02Z");
    assert_eq!(
        event["data"],
        json!({
            "id": JobId::from_bits(1),
            "label": "failed",
            "reason": "non_retryable",
        })
    );
}

#[test]
fn a_delivery_is_a_job_of_the_same_tenant_with_the_webhook_preset() {
    let usual = subscriptions("acme", [subscription(7, EventType::OF_JOBS)]);
    let transition = attempt(job(), success(), &usual);
    let [delivery] = transition.outbox.as_slice() else {
        panic!("one delivery expected: {:?}", transition.outbox);
    };
    assert_eq!(delivery.tenant, tenant("acme"));
    assert_eq!(delivery.queue, Queue::webhooks());
    assert_eq!(delivery.kind, Kind::webhook());
    assert_eq!(*delivery.policy, Preset::Webhook.policy());
    let endpoint = EndpointId::from_bits(7);
    let target = &delivery.webhook.as_ref().unwrap().target;
    assert_eq!(*target, WebhookTarget::Endpoint { endpoint });
    let event = body(delivery)["id"].as_str().unwrap().to_owned();
    assert_eq!(
        *delivery.tags(),
        Tags::from([
            ("endpoint".to_owned(), endpoint.to_string()),
            ("event".to_owned(), "job.succeeded".to_owned()),
            ("eventId".to_owned(), event),
            ("job".to_owned(), JobId::from_bits(1).to_string()),
        ])
    );
}

#[test]
fn deciding_twice_makes_the_same_deliveries() {
    let usual = subscriptions("acme", [1, 2].map(|n| subscription(n, EventType::OF_JOBS)));
    let own = with_webhook(job(), EventType::OF_JOBS);
    let first = attempt(own.clone(), success(), &usual);
    assert_eq!(attempt(own, success(), &usual).outbox, first.outbox);
    assert_eq!(first.outbox.len(), 3);
}

#[test]
fn a_jobs_own_webhook_and_each_endpoint_get_the_same_event_in_jobs_of_their_own() {
    let usual = subscriptions("acme", [1, 2].map(|n| subscription(n, EventType::OF_JOBS)));
    let own = with_webhook(job(), EventType::OF_JOBS);
    let outbox = attempt(own, success(), &usual).outbox;
    let ids: BTreeSet<JobId> = outbox.iter().map(|delivery| delivery.id).collect();
    assert_eq!(ids.len(), 3);
    let events = outbox
        .iter()
        .map(|delivery| body(delivery)["id"].to_string());
    assert_eq!(events.collect::<BTreeSet<String>>().len(), 1);
}

#[test]
fn a_later_attempt_is_another_event() {
    let everything = subscriptions("acme", [subscription(1, EventType::ALL)]);
    let first = attempt(job(), failure(FailureClass::TIMEOUT), &everything);
    let mut again = job();
    again.progress = first.to.clone();
    let second = attempt(again, failure(FailureClass::TIMEOUT), &everything);
    assert_ne!(first.outbox[0].id, second.outbox[0].id);
    assert_ne!(body(&first.outbox[0])["id"], body(&second.outbox[0])["id"]);
}

#[test]
fn deliveries_have_no_events_of_their_own() {
    let everything = subscriptions("acme", [subscription(1, EventType::ALL)]);
    let delivery = || {
        let outbox = attempt(job(), success(), &everything).outbox;
        outbox.into_iter().next().unwrap().into_job(T0)
    };
    for outcome in [
        success(),
        failure(FailureClass::NOT_FOUND),
        failure(FailureClass::TIMEOUT),
    ] {
        let transition = attempt(delivery(), outcome.clone(), &everything);
        assert_eq!(transition.outbox, [], "{outcome:?}");
    }
    let cancelled = on_command(delivery(), &JobCommand::Cancel, &everything, at(5));
    assert_eq!(cancelled.unwrap().outbox, []);
}

#[test]
fn tenants_are_sent_events_of_their_own_jobs_only() {
    let mut subscriptions = subscriptions("acme", [subscription(1, EventType::ALL)]);
    subscriptions.subscribe(tenant("other"), subscription(2, EventType::ALL));
    let outbox = attempt(job(), success(), &subscriptions).outbox;
    let targets: Vec<&WebhookTarget> = outbox
        .iter()
        .map(|delivery| &delivery.webhook.as_ref().unwrap().target)
        .collect();
    let endpoint = EndpointId::from_bits(1);
    assert_eq!(targets, [&WebhookTarget::Endpoint { endpoint }]);
}

#[test]
fn a_jobs_own_webhook_may_have_its_own_policy() {
    let mut own = with_webhook(job(), EventType::OF_JOBS);
    let mut webhook = Webhook::clone(own.webhook.as_ref().unwrap());
    webhook.retry = PolicyPatch::default().max_retries(9);
    own.webhook = Some(Arc::new(webhook));
    let outbox = attempt(own, success(), &Subscriptions::default()).outbox;
    assert_eq!(outbox[0].policy.max_retries(), 9);
}

#[test]
fn a_jobs_own_webhook_cannot_subscribe_to_alerts() {
    for event in EventType::ALL {
        let own = with_webhook(job(), &[*event]).webhook.unwrap();
        assert_eq!(own.check().is_ok(), event.is_of_jobs(), "{event}");
    }
}

#[test]
fn a_delivery_can_be_a_cloud_event() {
    let mut subscription = subscription(1, EventType::ALL);
    subscription.format = BodyFormat::CloudEvents;
    let job = job();
    let id = job.id.to_string();
    let transition = attempt(job, success(), &subscriptions("acme", [subscription]));
    let body = body(&transition.outbox[0]);
    assert_eq!(body["specversion"], "1.0");
    assert_eq!(body["type"], "job.succeeded");
    assert_eq!(body["source"], "/steadfast/acme");
    assert_eq!(body["subject"], id);
    assert_eq!(body["id"], transition.outbox[0].tags()["eventId"]);
    assert_eq!(body["datacontenttype"], "application/json");
    assert!(body["data"].is_object() && body["time"].is_string());
}

fn slack(failure: &str) -> String {
    let mut subscription = subscription(1, EventType::ALL);
    subscription.format = BodyFormat::Slack;
    let outcome = Outcome::Failure {
        failure: Failure::new(FailureClass::VALIDATION, failure),
        output: None,
    };
    let transition = attempt(job(), outcome, &subscriptions("acme", [subscription]));
    let Value::Object(mut body) = body(&transition.outbox[0]) else {
        panic!("the body should be an object");
    };
    assert_eq!(body.len(), 2);
    let id = body.remove("id").unwrap();
    assert_eq!(id, transition.outbox[0].tags()["eventId"]);
    body.remove("text").unwrap().as_str().unwrap().to_owned()
}

#[test]
fn slack_is_sent_one_line_of_text() {
    let id = JobId::from_bits(1);
    assert_eq!(
        slack("it broke"),
        format!("job {id} (mail) of acme failed: validation: it broke")
    );
    assert!(slack("first\nat line 2").ends_with("validation: first"));
}

#[test]
fn the_message_of_a_failure_cannot_notify_a_whole_channel() {
    assert!(slack("a < b && <!channel>").ends_with("a &lt; b &amp;&amp; &lt;!channel&gt;"));
}

#[test]
fn secrets_are_neither_in_bodies_nor_in_debug_output() {
    let usual = subscriptions("acme", [subscription(1, EventType::OF_JOBS)]);
    let own = with_webhook(job(), EventType::OF_JOBS);
    assert!(!format!("{own:?}").contains("b3du"));
    let transition = attempt(own, success(), &usual);
    assert!(!format!("{transition:?}").contains("b3du"));
    for delivery in &transition.outbox {
        assert!(!delivery.payload.as_str().contains("b3du"));
        assert!(!delivery.payload.as_str().contains("whsec_"));
    }
    assert!(!format!("{:?}", endpoint()).contains("Zmlyc3Q"));
}

#[test]
fn a_webhook_is_read_as_it_was_written_whichever_target_it_has() {
    let own = with_webhook(job(), EventType::OF_JOBS).webhook.unwrap();
    let usual = subscriptions("acme", [subscription(1, EventType::OF_JOBS)]);
    let outbox = attempt(job(), success(), &usual).outbox;
    let to_endpoint = outbox[0].webhook.clone().unwrap();
    for webhook in [own, to_endpoint] {
        let text = serde_json::to_string(&webhook).unwrap();
        assert_eq!(serde_json::from_str::<Webhook>(&text).unwrap(), *webhook);
    }
}

fn endpoint() -> Endpoint {
    let id = EndpointId::from_bits(1);
    Endpoint {
        events: vec![EventType::JobFailed, EventType::AlertFired],
        secrets: vec![EndpointSecret {
            secret: WebhookSecret::new("whsec_Zmlyc3Q"),
            expires_at: None,
        }],
        ..Endpoint::new(id, tenant("acme"), "https://example.com/hook", T0)
    }
}

fn live(endpoint: &Endpoint, now: Timestamp) -> Vec<&str> {
    endpoint
        .live_secrets(now)
        .map(WebhookSecret::reveal)
        .collect()
}

#[test]
fn an_endpoint_subscribes_to_its_events_also_while_it_is_disabled() {
    let mut endpoint = endpoint();
    let subscription = endpoint.subscription();
    assert_eq!(subscription.events, endpoint.events);
    let subscriptions = subscriptions("acme", [subscription]);
    let event_of = |event| WebhookEvent {
        event,
        tenant: tenant("acme"),
        at: T0,
        data: json!({}),
        text: String::new(),
        seed: String::new(),
        tags: Tags::new(),
        traceparent: None,
    };
    assert_eq!(
        subscriptions
            .deliver(&event_of(EventType::AlertFired))
            .len(),
        1
    );
    assert_eq!(
        subscriptions
            .deliver(&event_of(EventType::AlertResolved))
            .len(),
        0
    );
    // Its deliveries wait; they are not lost.
    endpoint.disabled = true;
    assert_eq!(endpoint.subscription().events, endpoint.events);
}

#[test]
fn after_a_rotation_both_keys_sign_until_the_overlap_ends() {
    let mut endpoint = endpoint();
    endpoint.rotate(WebhookSecret::new("second"), HOUR, T0);
    assert_eq!(live(&endpoint, T0), ["second", "whsec_Zmlyc3Q"]);
    let end = T0.plus(HOUR);
    let just_before = end.minus(Duration::from_micros(1));
    assert_eq!(live(&endpoint, just_before), ["second", "whsec_Zmlyc3Q"]);
    assert_eq!(live(&endpoint, end), ["second"]);
}

#[test]
fn a_rotation_without_overlap_ends_the_old_key_at_once() {
    let mut endpoint = endpoint();
    endpoint.rotate(WebhookSecret::new("second"), Duration::ZERO, T0);
    assert_eq!(live(&endpoint, T0), ["second"]);
}

#[test]
fn a_second_rotation_never_prolongs_an_older_key() {
    let mut endpoint = endpoint();
    endpoint.rotate(WebhookSecret::new("second"), HOUR, T0);
    endpoint.rotate(WebhookSecret::new("third"), 24 * HOUR, T0.plus(HOUR / 2));
    assert_eq!(
        live(&endpoint, T0.plus(HOUR / 2)),
        ["third", "second", "whsec_Zmlyc3Q"]
    );
    assert_eq!(live(&endpoint, T0.plus(HOUR)), ["third", "second"]);
    endpoint.rotate(
        WebhookSecret::new("fourth"),
        Duration::ZERO,
        T0.plus(2 * HOUR),
    );
    assert_eq!(live(&endpoint, T0.plus(2 * HOUR)), ["fourth"]);
    // The first key had expired and is not kept; the others expire now.
    assert_eq!(endpoint.secrets.len(), 3);
}

#[test]
fn many_rotations_keep_a_bounded_number_of_keys_the_newest_first() {
    let mut endpoint = endpoint();
    for n in 0..20 {
        endpoint.rotate(WebhookSecret::new(n.to_string()), HOUR, T0);
    }
    assert_eq!(live(&endpoint, T0), ["19", "18", "17", "16", "15"]);
}

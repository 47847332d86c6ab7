//! The figures of alerts: which break a rule, how a message says them, and how they are stored and sent.

use std::{collections::BTreeMap, time::Duration};

use serde_json::json;
use steadfast_core::{
    AlertMetrics, AlertObservation, AlertRule, AlertSettings, AlertState, AlertStatus,
    AlertSubject, Queue, Tenant, Timestamp,
};

use super::{T0, any_rate, at, attempted, dead_letters, due_since, of_jobs};

#[test]
fn a_rule_is_broken_above_its_limit_and_not_at_it() {
    let strict = AlertSettings {
        retry_rate: steadfast_core::RetryRateAlert {
            min_attempts: 20,
            ..any_rate().retry_rate
        },
        ..AlertSettings::default()
    };
    let usual = any_rate();
    let rate = AlertRule::RetryRate;
    let late = |seconds| due_since(at(60).minus(Duration::from_secs(seconds)));
    for (settings, rule, metrics, fires) in [
        (&usual, rate, attempted(10, 1, 0), false),
        (&usual, rate, attempted(1_000, 101, 0), true),
        (&usual, rate, attempted(1, 1, 0), true),
        (&usual, rate, attempted(0, 0, 0), false),
        (&strict, rate, attempted(19, 19, 0), false),
        (&strict, rate, attempted(20, 3, 0), true),
        (&usual, AlertRule::Exhausted, attempted(10, 0, 10), false),
        (&usual, AlertRule::Exhausted, attempted(11, 0, 11), true),
        (&usual, AlertRule::Overdue, late(300), false),
        (&usual, AlertRule::Overdue, late(301), true),
        (&usual, AlertRule::Overdue, AlertMetrics::default(), false),
    ] {
        let change = rule.step(settings, None, &of_jobs(metrics), at(60));
        let status = change.map(|change| change.state.status);
        let expected = fires.then_some(AlertStatus::Firing);
        assert_eq!(status, expected, "{rule} of {metrics:?}");
    }
}

#[test]
fn the_message_says_the_figures_and_the_limit() {
    let settings = any_rate();
    let message = |rule: AlertRule, metrics| {
        let change = rule.step(&settings, None, &of_jobs(metrics), at(60));
        change.unwrap().state.message
    };
    assert_eq!(
        message(AlertRule::RetryRate, attempted(30, 10, 0)),
        "10 of 30 attempts in queue mail of tenant acme within 5m were retries: 33.3%, the limit is 10%"
    );
    assert_eq!(
        message(AlertRule::Overdue, due_since(at(53))),
        "the oldest ready job in queue mail of tenant acme has been due for 7m, since 2026-01-01T00:53:00Z; \
         the limit is 5m"
    );
}

#[test]
fn figures_of_lanes_add_up_and_the_oldest_job_is_the_oldest_of_any() {
    let mut sum = AlertMetrics::default();
    sum += attempted(10, 2, 1);
    sum += due_since(at(7));
    sum += due_since(at(3));
    sum += dead_letters(4);
    let expected = AlertMetrics {
        dead_letters: 4,
        oldest_ready: Some(at(3)),
        ..attempted(10, 2, 1)
    };
    assert_eq!(sum, expected);
}

#[test]
fn the_event_of_an_alert_has_the_fields_of_the_api() {
    let mut settings = AlertSettings::default();
    settings.overdue.after = Duration::from_secs(30);
    let late = |now: Timestamp| (now, of_jobs(due_since(T0)));
    let mut stored = None;
    let mut events = Vec::new();
    for (now, observed) in [late(at(6)), late(at(7)), (at(9), of_jobs(dead_letters(0)))] {
        let rule = AlertRule::Overdue;
        let change = rule
            .step(&settings, stored.as_ref(), &observed, now)
            .unwrap();
        events.extend(change.webhook_event());
        stored = Some(change.state);
    }
    let texts: Vec<&str> = events.iter().map(|event| event.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "alert overdue fired: the oldest ready job in queue mail of tenant acme has been due for 7m, \
             since 2026-01-01T00:00:00Z; the limit is 5m",
            "alert overdue resolved after 2m: no job in tenant acme is due",
        ]
    );
    assert_eq!(
        events[0].data,
        json!({
            "rule": "overdue",
            "tenant": "acme",
            "subject": "jobs",
            "status": "firing",
            "since": "2026-01-01T00:06:00Z",
            "firedAt": "2026-01-01T00:07:00Z",
            "notifiedAt": "2026-01-01T00:07:00Z",
            "resolvedAt": null,
            "updatedAt": "2026-01-01T00:07:00Z",
            "unit": "seconds",
            "value": 420,
            "threshold": 300,
            "queue": "mail",
            "message": "the oldest ready job in queue mail of tenant acme has been due for 7m, \
                        since 2026-01-01T00:00:00Z; the limit is 5m",
        })
    );
}

#[test]
fn an_alert_names_the_queue_that_contributes_most() {
    let mut settings = any_rate();
    settings.retry_rate.above = 0.01;
    let queues = [
        ("fax", 1, attempted(100, 3, 20), at(3)),
        ("mail", 5, attempted(100, 9, 1), at(1)),
        ("idle", 0, attempted(0, 0, 0), at(60)),
        ("sms", 5, attempted(10, 9, 0), at(2)),
    ];
    let queues = queues.map(|(name, dead_letters, attempted, due)| {
        let metrics = AlertMetrics {
            dead_letters,
            oldest_ready: Some(due),
            ..attempted
        };
        (Queue::new(name).unwrap(), metrics)
    });
    let tenant = Tenant::new("acme").unwrap();
    let observed = AlertObservation::new(tenant, AlertSubject::Jobs, BTreeMap::from(queues));
    for (rule, queue, message) in [
        (
            AlertRule::Dlq,
            "mail",
            "11 dead letters in tenant acme, most in queue mail",
        ),
        (
            AlertRule::RetryRate,
            "mail",
            "21 of 210 attempts in tenant acme within 5m were retries, most in queue mail: \
             10%, the limit is 1%",
        ),
        (
            AlertRule::Exhausted,
            "fax",
            "21 jobs in tenant acme ran out of retries within 5m, most in queue fax; \
             the limit is 10",
        ),
        (
            AlertRule::Overdue,
            "mail",
            "the oldest ready job in queue mail of tenant acme has been due for 59m, \
             since 2026-01-01T00:01:00Z; the limit is 5m",
        ),
    ] {
        let change = rule.step(&settings, None, &observed, at(60)).unwrap();
        assert_eq!(change.state.queue.unwrap().as_str(), queue, "{rule}");
        assert_eq!(change.state.message, message);
    }
}

#[test]
fn figures_are_numbers_of_one_unit_for_each_rule_also_of_states_stored_before() {
    let settings = any_rate();
    for (rule, metrics, shown) in [
        (AlertRule::Dlq, dead_letters(3), json!(["jobs", 3, 0])),
        (
            AlertRule::RetryRate,
            attempted(4, 1, 0),
            json!(["share", 0.25, 0.1]),
        ),
        (
            AlertRule::Exhausted,
            attempted(0, 0, 11),
            json!(["jobs", 11, 10]),
        ),
        (
            AlertRule::Overdue,
            due_since(T0),
            json!(["seconds", 3600, 300]),
        ),
    ] {
        let change = rule
            .step(&settings, None, &of_jobs(metrics), at(60))
            .unwrap();
        let mut state = serde_json::to_value(&change.state).unwrap();
        assert_eq!(
            json!([state["unit"], state["value"], state["threshold"]]),
            shown
        );
        // The version before wrote times as text, and neither unit nor queue.
        let fields = state.as_object_mut().unwrap();
        fields.remove("unit");
        fields.remove("queue");
        if rule == AlertRule::Overdue {
            fields.insert("value".into(), json!("1h"));
            fields.insert("threshold".into(), json!("5m"));
        }
        let before: AlertState = serde_json::from_value(state).unwrap();
        let later = at(61);
        let read = rule
            .step(&settings, Some(&before), &of_jobs(metrics), later)
            .unwrap();
        assert_eq!((read.event, read.state.unit), (None, rule.unit()));
        assert_eq!(read.state.queue, change.state.queue);
    }
}

#[test]
fn a_state_is_read_as_it_was_written() {
    let settings = any_rate();
    for (rule, metrics) in [
        (AlertRule::Dlq, dead_letters(3)),
        (AlertRule::RetryRate, attempted(1, 1, 0)),
        (AlertRule::RetryRate, attempted(4, 1, 0)),
        (AlertRule::Exhausted, attempted(0, 0, 11)),
        (AlertRule::Overdue, due_since(T0)),
    ] {
        let change = rule.step(&settings, None, &of_jobs(metrics), at(60));
        let state = change.unwrap().state;
        let text = serde_json::to_string(&state).unwrap();
        assert_eq!(serde_json::from_str::<AlertState>(&text).unwrap(), state);
    }
}

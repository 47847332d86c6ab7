//! Alerts as tables: how each check changes a state, one line per change.
use std::{collections::BTreeMap, time::Duration};

use serde_json::json;
use steadfast_core::{
    AlertMetrics, AlertObservation, AlertRule, AlertSettings, AlertState, AlertStatus,
    AlertSubject, EventType, Kind, Queue, Tally, Tenant, Timestamp, duration,
};

const T0: Timestamp = Timestamp::from_millis(1_767_225_600_000);
const MINUTE: Duration = Duration::from_secs(60);

fn at(minutes: u32) -> Timestamp {
    T0.plus(MINUTE * minutes)
}

fn of(subject: AlertSubject, metrics: AlertMetrics) -> AlertObservation {
    let queue = Queue::new("mail").unwrap();
    let tenant = Tenant::new("acme").unwrap();
    AlertObservation::new(tenant, subject, BTreeMap::from([(queue, metrics)]))
}

fn of_jobs(metrics: AlertMetrics) -> AlertObservation {
    of(AlertSubject::Jobs, metrics)
}

fn dead_letters(dead_letters: u64) -> AlertMetrics {
    AlertMetrics {
        dead_letters,
        ..AlertMetrics::default()
    }
}

fn attempted(attempts: u64, retries: u64, exhausted: u64) -> AlertMetrics {
    AlertMetrics {
        recent: Tally {
            attempts,
            retries,
            exhausted,
            ..Tally::default()
        },
        ..AlertMetrics::default()
    }
}

fn due_since(run_at: Timestamp) -> AlertMetrics {
    AlertMetrics {
        oldest_ready: Some(run_at),
        ..AlertMetrics::default()
    }
}

/// Checks one rule against each observation in turn, and writes a line for each change.
fn changes(
    settings: &AlertSettings,
    rule: AlertRule,
    observations: impl IntoIterator<Item = (Timestamp, AlertObservation)>,
) -> Vec<String> {
    let mut stored: Option<AlertState> = None;
    let mut lines = Vec::new();
    for (now, observed) in observations {
        let Some(change) = rule.step(settings, stored.as_ref(), &observed, now) else {
            continue;
        };
        let clock = now.to_string();
        lines.push(format!(
            "{} {}, {}: {}",
            &clock[11..19],
            change.state.status,
            change.event.map_or("-", EventType::as_str),
            change.state.message,
        ));
        stored = Some(change.state);
    }
    lines
}

fn minutely(
    minutes: std::ops::Range<u32>,
    observed: &AlertObservation,
) -> impl Iterator<Item = (Timestamp, AlertObservation)> {
    minutes.map(|minute| (at(minute), observed.clone()))
}

#[test]
fn dead_letters_fire_after_five_minutes_again_every_hour_and_resolve_once() {
    let three = of_jobs(dead_letters(3));
    let none = of_jobs(dead_letters(0));
    let all = minutely(0..2, &none)
        .chain(minutely(2..130, &three))
        .chain(minutely(130..200, &none));
    assert_eq!(
        changes(&AlertSettings::default(), AlertRule::Dlq, all),
        [
            "00:02:00 pending, -: 3 dead letters in queue mail of tenant acme",
            "00:07:00 firing, alert.fired: 3 dead letters in queue mail of tenant acme for 5m",
            "01:07:00 firing, alert.renotified: 3 dead letters in queue mail of tenant acme for 1h 5m",
            "02:07:00 firing, alert.renotified: 3 dead letters in queue mail of tenant acme for 2h 5m",
            "02:10:00 ok, alert.resolved: no dead letters in tenant acme",
        ]
    );
}

#[test]
fn dead_letters_that_are_soon_dealt_with_fire_nothing_and_the_wait_begins_anew() {
    let one = of_jobs(dead_letters(1));
    let none = of_jobs(dead_letters(0));
    let all = minutely(0..4, &one)
        .chain(minutely(4..5, &none))
        .chain(minutely(5..11, &one));
    assert_eq!(
        changes(&AlertSettings::default(), AlertRule::Dlq, all),
        [
            "00:00:00 pending, -: 1 dead letter in queue mail of tenant acme",
            "00:04:00 ok, -: no dead letters in tenant acme",
            "00:05:00 pending, -: 1 dead letter in queue mail of tenant acme",
            "00:10:00 firing, alert.fired: 1 dead letter in queue mail of tenant acme for 5m",
        ]
    );
}

#[test]
fn an_alert_that_resolved_can_fire_again() {
    let many = of_jobs(attempted(20, 0, 11));
    let few = of_jobs(attempted(20, 0, 10));
    let all = [(at(0), many.clone()), (at(1), few), (at(2), many)];
    assert_eq!(
        changes(&AlertSettings::default(), AlertRule::Exhausted, all),
        [
            "00:00:00 firing, alert.fired: 11 jobs in queue mail of tenant acme ran out of retries within 5m; the limit is 10",
            "00:01:00 ok, alert.resolved: 10 jobs in tenant acme ran out of retries within 5m; the limit is 10",
            "00:02:00 firing, alert.fired: 11 jobs in queue mail of tenant acme ran out of retries within 5m; the limit is 10",
        ]
    );
}

/// Settings by which one attempt is enough for a rate, at once.
fn any_rate() -> AlertSettings {
    let mut settings = AlertSettings::default();
    settings.retry_rate.min_attempts = 1;
    settings.retry_rate.after = Duration::ZERO;
    settings
}

#[test]
fn by_default_the_retries_of_a_few_jobs_fire_nothing() {
    let few = minutely(0..10, &of_jobs(attempted(49, 40, 10))).collect::<Vec<_>>();
    for rule in [AlertRule::RetryRate, AlertRule::Exhausted] {
        let lines = changes(&AlertSettings::default(), rule, few.clone());
        assert!(lines.is_empty(), "{lines:?}");
    }
    let many = of_jobs(attempted(50, 40, 0));
    let all = minutely(0..3, &many);
    let lines = changes(&AlertSettings::default(), AlertRule::RetryRate, all);
    assert!(lines[0].starts_with("00:00:00 pending, -"), "{lines:?}");
    assert!(
        lines[1].starts_with("00:02:00 firing, alert.fired"),
        "{lines:?}"
    );
}

#[test]
fn a_pending_alert_shows_its_present_figures() {
    let growing = (0..90).map(|s| {
        let now = T0.plus(Duration::from_secs(s));
        (now, of_jobs(dead_letters(17 + s)))
    });
    let lines = changes(&AlertSettings::default(), AlertRule::Dlq, growing);
    assert_eq!(
        lines,
        [
            "00:00:00 pending, -: 17 dead letters in queue mail of tenant acme",
            "00:00:30 pending, -: 47 dead letters in queue mail of tenant acme",
            "00:01:00 pending, -: 77 dead letters in queue mail of tenant acme",
        ]
    );
}

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
fn checking_more_often_changes_nothing() {
    let three = of_jobs(dead_letters(3));
    let seconds = (0..20 * 60).map(|s| (T0.plus(Duration::from_secs(s)), three.clone()));
    let lines = changes(&AlertSettings::default(), AlertRule::Dlq, seconds);
    assert_eq!(lines.len(), 2, "{lines:#?}");
}

#[test]
fn figures_that_move_are_written_again_twice_a_minute_and_without_an_event() {
    let settings = AlertSettings::default();
    let growing = (0..90).map(|s| {
        let now = T0.plus(Duration::from_secs(s));
        (now, of_jobs(attempted(100, 0, 11 + s)))
    });
    let lines = changes(&settings, AlertRule::Exhausted, growing);
    let starts: Vec<&str> = lines
        .iter()
        .map(|line| line.split(" in queue").next().unwrap())
        .collect();
    assert_eq!(
        starts,
        [
            "00:00:00 firing, alert.fired: 11 jobs",
            "00:00:30 firing, -: 41 jobs",
            "00:01:00 firing, -: 71 jobs",
        ]
    );
}

#[test]
fn a_clock_that_is_set_back_fires_nothing_early_and_puts_nothing_off() {
    let one = of_jobs(dead_letters(1));
    let all = [10, 11, 2, 4, 6, 7, 5, 64, 65].map(|minute| (at(minute), one.clone()));
    assert_eq!(
        changes(&AlertSettings::default(), AlertRule::Dlq, all),
        [
            "00:10:00 pending, -: 1 dead letter in queue mail of tenant acme",
            "00:02:00 pending, -: 1 dead letter in queue mail of tenant acme",
            "00:07:00 firing, alert.fired: 1 dead letter in queue mail of tenant acme for 5m",
            "00:05:00 firing, -: 1 dead letter in queue mail of tenant acme for 5m",
            "01:05:00 firing, alert.renotified: 1 dead letter in queue mail of tenant acme for 1h 3m",
        ]
    );
}

#[test]
fn switching_a_rule_off_resolves_it_and_keeps_it_silent() {
    let mut settings = AlertSettings::default();
    settings.dlq.after = Duration::ZERO;
    let one = of_jobs(dead_letters(1));
    let fired = AlertRule::Dlq.step(&settings, None, &one, at(0)).unwrap();
    settings.dlq.enabled = false;
    let change = AlertRule::Dlq
        .step(&settings, Some(&fired.state), &one, at(1))
        .unwrap();
    assert_eq!(change.event, Some(EventType::AlertResolved));
    assert_eq!(change.state.message, "the rule is disabled");
    let off = AlertRule::Dlq.step(&settings, Some(&change.state), &one, at(2));
    assert_eq!(off, None);
    assert_eq!(AlertRule::Dlq.step(&settings, None, &one, at(2)), None);
}

#[test]
fn failed_notifications_fire_an_alert_that_is_sent_to_no_endpoint() {
    let mut settings = AlertSettings::default();
    settings.dlq.after = Duration::ZERO;
    for (subject, location, is_sent) in [
        (AlertSubject::Jobs, "in queue mail of tenant acme", true),
        (
            AlertSubject::Deliveries,
            "among the deliveries of tenant acme",
            true,
        ),
        (
            AlertSubject::Notifications,
            "among the notifications of tenant acme",
            false,
        ),
    ] {
        let observed = of(subject, dead_letters(2));
        let change = AlertRule::Dlq
            .step(&settings, None, &observed, at(0))
            .unwrap();
        assert_eq!(change.event, Some(EventType::AlertFired));
        assert_eq!(change.state.message, format!("2 dead letters {location}"));
        assert_eq!(change.webhook_event().is_some(), is_sent, "{subject}");
    }
    for (kind, queue, subject) in [
        (Kind::webhook(), Queue::webhooks(), AlertSubject::Deliveries),
        (
            Kind::webhook(),
            Queue::alerts(),
            AlertSubject::Notifications,
        ),
        (Kind::http(), Queue::alerts(), AlertSubject::Jobs),
    ] {
        assert_eq!(AlertSubject::of(&kind, &queue), subject);
    }
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

#[test]
fn settings_are_read_field_by_field_over_the_defaults() {
    let read: AlertSettings = serde_json::from_value(json!({
        "window": "10m",
        "dlq": {"enabled": false},
        "retryRate": {"above": 0.5, "minAttempts": 100, "after": "1m"},
        "overdue": {"above": 90_000},
    }))
    .unwrap();
    let mut expected = AlertSettings {
        window: 10 * MINUTE,
        ..AlertSettings::default()
    };
    expected.dlq.enabled = false;
    expected.retry_rate.above = 0.5;
    expected.retry_rate.min_attempts = 100;
    expected.retry_rate.after = MINUTE;
    expected.overdue.above = Duration::from_secs(90);
    assert_eq!(read, expected);
    assert_eq!(read.check(), Ok(()));
    let misspelt = json!({"dlq": {"over": 3}});
    let error = serde_json::from_value::<AlertSettings>(misspelt).unwrap_err();
    assert!(error.to_string().contains("`over`"), "{error}");
}

#[test]
fn settings_that_make_no_sense_are_refused_by_name() {
    let refused = |change: fn(&mut AlertSettings)| {
        let mut settings = AlertSettings::default();
        change(&mut settings);
        settings.check().unwrap_err().to_string()
    };
    assert_eq!(
        refused(|settings| settings.window = duration::parse("10s").unwrap()),
        "window is 10s: must be between 1m and 1d"
    );
    assert_eq!(
        refused(|settings| settings.renotify = Duration::ZERO),
        "renotify is 0s: must be between 1m and 30d"
    );
    for rate in [-0.1, 10.0, f64::NAN] {
        let mut settings = AlertSettings::default();
        settings.retry_rate.above = rate;
        assert_eq!(settings.check().unwrap_err().field, "retryRate.above");
    }
}

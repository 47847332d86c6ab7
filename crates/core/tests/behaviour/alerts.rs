//! Alerts as tables: how each check changes a state, one line per change.

mod figures;
mod settings;

use std::{collections::BTreeMap, time::Duration};

use steadfast_core::{
    AlertMetrics, AlertObservation, AlertRule, AlertSettings, AlertState, AlertSubject, EventType,
    Kind, Queue, Tally, Tenant, Timestamp,
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
fn a_certificate_alert_names_the_node_whose_certificate_is_bad_now() {
    let bad = |node: &str| {
        let mut observed = of_jobs(AlertMetrics::default());
        observed.add_certificate_problem(format!("node {node}: expired"));
        observed
    };
    let (first, second) = (bad("a"), bad("b"));
    let all = minutely(0..5, &first).chain(minutely(5..9, &second));
    let lines = changes(&AlertSettings::default(), AlertRule::Certificate, all);
    let last = lines.last().unwrap();
    assert_eq!(last, "00:05:00 firing, -: node b: expired", "{lines:#?}");
}

#[test]
fn a_fragile_alert_quotes_a_certificate_that_is_bad_now() {
    let bad = |names: &[&str]| {
        let mut observed = of_jobs(AlertMetrics::default());
        for name in names {
            observed.add_fragile(format!("certificate {name}: does not recover"));
        }
        observed
    };
    let [one, other, both, none] = [&["a"][..], &["b"], &["b", "c"], &[]].map(bad);
    let all = minutely(0..5, &one)
        .chain(minutely(5..9, &other))
        .chain(minutely(9..13, &both))
        .chain(minutely(13..14, &none));
    assert_eq!(
        changes(&AlertSettings::default(), AlertRule::Fragile, all),
        [
            "00:00:00 firing, alert.fired: certificate a: does not recover",
            "00:05:00 firing, -: certificate b: does not recover",
            "00:09:00 firing, -: 2 kept certificates of tenant acme show systems that do not \
             recover; certificate b: does not recover",
            "00:13:00 ok, alert.resolved: no kept certificate of tenant acme shows a system that \
             does not recover",
        ]
    );
}

#[test]
fn an_alert_about_corrected_times_quotes_a_node_and_resolves() {
    let corrected = |nodes: &[&str]| {
        let mut observed = of_jobs(AlertMetrics::default());
        for node in nodes {
            observed.add_correction(format!("node {node}: resumed 1 schedule"));
        }
        observed
    };
    let [one, both, none] = [&["a"][..], &["a", "b"], &[]].map(corrected);
    let all = minutely(0..2, &one)
        .chain(minutely(2..4, &both))
        .chain(minutely(4..5, &none));
    assert_eq!(
        changes(&AlertSettings::default(), AlertRule::Corrected, all),
        [
            "00:00:00 firing, alert.fired: node a: resumed 1 schedule",
            "00:02:00 firing, -: 2 nodes have corrected stored times; node a: resumed 1 schedule",
            "00:04:00 ok, alert.resolved: no node has corrected stored times recently",
        ]
    );
}

#[test]
fn an_alert_about_a_slow_store_counts_nodes_and_resolves() {
    let slow = |nodes: &[&str]| {
        let mut observed = of_jobs(AlertMetrics::default());
        for node in nodes {
            observed.add_store_problem(format!("node {node}: the store is slow"));
        }
        observed
    };
    let [one, both, none] = [&["a"][..], &["a", "b"], &[]].map(slow);
    let all = minutely(0..2, &one)
        .chain(minutely(2..4, &both))
        .chain(minutely(4..5, &none));
    assert_eq!(
        changes(&AlertSettings::default(), AlertRule::StoreSlow, all),
        [
            "00:00:00 firing, alert.fired: node a: the store is slow",
            "00:02:00 firing, -: 2 nodes refuse most creates because the store is slow; node a: the \
             store is slow",
            "00:04:00 ok, alert.resolved: the store is fast again: no node refuses creates for it",
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

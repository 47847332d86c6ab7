//! The nights on which clocks change, as a table of what must fire.

use steadfast_core::{Cron, Dst, Timestamp, Zone};

const NEW_YORK: &str = "America/New_York";

/// All ticks after `from` and up to `until`; `gap` and `fold` follow the ones so marked.
fn check(pattern: &str, zone: &str, from: &str, until: &str, expected: &[&str]) {
    let cron = Cron::parse(pattern).unwrap();
    let zone = Zone::parse(zone).unwrap();
    let mut at: Timestamp = from.parse().unwrap();
    let until: Timestamp = until.parse().unwrap();
    let mut ticks = Vec::new();
    while let Some(tick) = cron.next_after(&zone, at).filter(|tick| tick.at <= until) {
        ticks.push(match tick.dst {
            None => tick.at.to_string(),
            Some(Dst::Gap) => format!("{} gap", tick.at),
            Some(Dst::Fold) => format!("{} fold", tick.at),
        });
        at = tick.at;
    }
    assert_eq!(ticks, expected, "{pattern:?} in {zone}");
}

/// 8 March 2026 in New York: 01:59:59 EST is followed by 03:00:00 EDT, at 07:00Z.
fn check_spring(pattern: &str, expected: &[&str]) {
    let (from, until) = ("2026-03-08T06:00:00Z", "2026-03-08T08:00:00Z");
    check(pattern, NEW_YORK, from, until, expected);
}

/// 1 November 2026 in New York: 01:59:59 EDT is followed by 01:00:00 EST, at 06:00Z.
fn check_autumn(pattern: &str, expected: &[&str]) {
    let (from, until) = ("2026-11-01T04:59:59Z", "2026-11-01T06:59:59Z");
    check(pattern, NEW_YORK, from, until, expected);
}

#[test]
fn a_fixed_time_in_the_gap_fires_once_right_after_it() {
    check_spring("30 2 * * *", &["2026-03-08T07:00:00Z gap"]);
    check_spring("0 2 * * *", &["2026-03-08T07:00:00Z gap"]);
    check_spring("59 59 2 * * *", &["2026-03-08T07:00:00Z gap"]);
    check_spring("@daily", &[]);
}

#[test]
fn several_fixed_times_in_the_gap_collapse_into_one() {
    check_spring("0,30 2 * * *", &["2026-03-08T07:00:00Z gap"]);
    check_spring("5-55/10 2 * * *", &["2026-03-08T07:00:00Z gap"]);
    check_spring("0 2,3 * * *", &["2026-03-08T07:00:00Z gap"]);
    check_spring(
        "30 2,3 * * *",
        &["2026-03-08T07:00:00Z gap", "2026-03-08T07:30:00Z"],
    );
}

#[test]
fn a_fixed_time_in_the_fold_fires_on_the_first_pass_only() {
    check_autumn("30 1 * * *", &["2026-11-01T05:30:00Z fold"]);
    check_autumn("0 1,13 * * *", &["2026-11-01T05:00:00Z fold"]);
    check_autumn(
        "0,30 1 * * *",
        &["2026-11-01T05:00:00Z fold", "2026-11-01T05:30:00Z fold"],
    );
}

#[test]
fn a_fixed_time_is_not_repeated_when_asked_for_in_the_second_pass() {
    let (second_pass, next_day) = ("2026-11-01T06:10:00Z", "2026-11-02T12:00:00Z");
    check(
        "30 1 * * *",
        NEW_YORK,
        second_pass,
        next_day,
        &["2026-11-02T06:30:00Z"],
    );
    check(
        "0 2 * * *",
        NEW_YORK,
        second_pass,
        next_day,
        &["2026-11-01T07:00:00Z", "2026-11-02T07:00:00Z"],
    );
}

#[test]
fn an_interval_has_nothing_in_the_gap_and_goes_on_after_it() {
    check(
        "*/15 * * * *",
        NEW_YORK,
        "2026-03-08T06:40:00Z",
        "2026-03-08T07:20:00Z",
        &[
            "2026-03-08T06:45:00Z",
            "2026-03-08T07:00:00Z",
            "2026-03-08T07:15:00Z",
        ],
    );
    check_spring("*/30 2 * * *", &[]);
    let (from, until) = ("2026-03-08T04:59:59Z", "2026-03-08T08:00:00Z");
    check(
        "0 */2 * * *",
        NEW_YORK,
        from,
        until,
        &["2026-03-08T05:00:00Z", "2026-03-08T08:00:00Z"],
    );
}

#[test]
fn an_interval_fires_in_both_passes_of_the_fold() {
    check_autumn(
        "*/15 * * * *",
        &[
            "2026-11-01T05:00:00Z fold",
            "2026-11-01T05:15:00Z fold",
            "2026-11-01T05:30:00Z fold",
            "2026-11-01T05:45:00Z fold",
            "2026-11-01T06:00:00Z fold",
            "2026-11-01T06:15:00Z fold",
            "2026-11-01T06:30:00Z fold",
            "2026-11-01T06:45:00Z fold",
        ],
    );
    let both = ["2026-11-01T05:30:00Z fold", "2026-11-01T06:30:00Z fold"];
    check_autumn("30 * * * *", &both);
    check_autumn(
        "*/40 30 1 * * *",
        &[
            both[0],
            "2026-11-01T05:30:40Z fold",
            both[1],
            "2026-11-01T06:30:40Z fold",
        ],
    );
}

#[test]
fn a_beat_of_seconds_within_a_fixed_minute_is_an_interval() {
    check_spring("*/10 30 2 * * *", &[]);
    check_spring("0/10 30 2 * * *", &["2026-03-08T07:00:00Z gap"]);
}

#[test]
fn half_an_hour_of_lord_howe_is_a_gap_and_a_fold_too() {
    let zone = "Australia/Lord_Howe";
    let (from, until) = ("2026-10-03T15:00:00Z", "2026-10-03T17:00:00Z");
    check(
        "15 2 * * *",
        zone,
        from,
        until,
        &["2026-10-03T15:30:00Z gap"],
    );
    check("45 2 * * *", zone, from, until, &["2026-10-03T15:45:00Z"]);
    let (from, until) = ("2026-04-04T14:00:00Z", "2026-04-04T16:00:00Z");
    check(
        "45 1 * * *",
        zone,
        from,
        until,
        &["2026-04-04T14:45:00Z fold"],
    );
    check(
        "45 * * * *",
        zone,
        from,
        until,
        &["2026-04-04T14:45:00Z fold", "2026-04-04T15:15:00Z fold"],
    );
    check("15 1 * * *", zone, from, until, &["2026-04-04T14:15:00Z"]);
}

#[test]
fn where_midnight_is_missing_midnight_rules_fire_at_one_the_same_day() {
    for (zone, from, expected) in [
        (
            "Africa/Cairo",
            "2026-04-23T12:00:00Z",
            "2026-04-23T22:00:00Z gap",
        ),
        (
            "America/Santiago",
            "2026-09-05T12:00:00Z",
            "2026-09-06T04:00:00Z gap",
        ),
        (
            "Asia/Beirut",
            "2026-03-28T12:00:00Z",
            "2026-03-28T22:00:00Z gap",
        ),
        (
            "America/Havana",
            "2026-03-07T12:00:00Z",
            "2026-03-08T05:00:00Z gap",
        ),
    ] {
        let until =
            Timestamp::from_millis(from.parse::<Timestamp>().unwrap().as_millis() + 86_400_000);
        check("0 0 * * *", zone, from, &until.to_string(), &[expected]);
    }
}

#[test]
fn the_day_that_apia_skipped_is_one_long_gap() {
    let zone = "Pacific/Apia";
    let (from, until) = ("2011-12-29T11:00:00Z", "2011-12-31T09:00:00Z");
    check(
        "0 0 30 12 *",
        zone,
        from,
        until,
        &["2011-12-30T10:00:00Z gap"],
    );
    check(
        "0 12 * * *",
        zone,
        from,
        until,
        &[
            "2011-12-29T22:00:00Z",
            "2011-12-30T10:00:00Z gap",
            "2011-12-30T22:00:00Z",
        ],
    );
    check("0 */12 30 12 *", zone, from, until, &[]);
}

#[test]
fn rules_of_ramadan_and_of_a_negative_summer_time_are_followed() {
    // Morocco goes back an hour for Ramadan: 15 February to 22 March 2026.
    let (from, until) = ("2026-02-14T12:00:00Z", "2026-02-16T12:00:00Z");
    check(
        "30 2 * * *",
        "Africa/Casablanca",
        from,
        until,
        &["2026-02-15T01:30:00Z fold", "2026-02-16T02:30:00Z"],
    );
    let (from, until) = ("2026-03-21T12:00:00Z", "2026-03-23T12:00:00Z");
    check(
        "30 2 * * *",
        "Africa/Casablanca",
        from,
        until,
        &["2026-03-22T02:00:00Z gap", "2026-03-23T01:30:00Z"],
    );
    // In the zone data Irish winter time is the exception and summer time the rule.
    let (from, until) = ("2026-03-28T12:00:00Z", "2026-03-29T12:00:00Z");
    check(
        "30 1 * * *",
        "Europe/Dublin",
        from,
        until,
        &["2026-03-29T01:00:00Z gap"],
    );
}

#[test]
fn an_interval_that_only_names_skipped_hours_never_fires() {
    let cron = Cron::parse("*/5 2 8-14 3 */7").unwrap();
    let after = "2026-01-01T00:00:00Z".parse().unwrap();
    assert_eq!(
        cron.next_after(&Zone::parse(NEW_YORK).unwrap(), after),
        None
    );
    assert!(cron.next_after(&Zone::utc(), after).is_some());
}

//! Which days a pattern means, as a table.

use steadfast_core::{Cron, Timestamp, Zone};

/// The dates (or, with a `T`, the times) of the first ticks from the morning of `from` on, in UTC.
fn check(pattern: &str, from: &str, expected: &[&str]) {
    let cron = Cron::parse(pattern).unwrap();
    let mut at: Timestamp = format!("{from}T00:00:00Z").parse::<Timestamp>().unwrap();
    at = Timestamp::from_micros(at.as_micros() - 1);
    for expected in expected {
        at = cron.next_after(&Zone::utc(), at).unwrap().at;
        let found = at.to_string();
        assert!(
            found.starts_with(expected),
            "{pattern:?}: {found} is not {expected}"
        );
    }
}

#[test]
fn a_day_that_a_month_lacks_is_left_out_and_never_clamped() {
    check(
        "0 0 31 * *",
        "2026-01-01",
        &[
            "2026-01-31",
            "2026-03-31",
            "2026-05-31",
            "2026-07-31",
            "2026-08-31",
            "2026-10-31",
            "2026-12-31",
            "2027-01-31",
        ],
    );
    check(
        "0 0 30 * *",
        "2026-01-01",
        &["2026-01-30", "2026-03-30", "2026-04-30"],
    );
}

#[test]
fn a_leap_day_is_found_over_2100() {
    check("0 0 29 2 *", "2026-01-01", &["2028-02-29", "2032-02-29"]);
    check("0 0 29 2 *", "2096-01-01", &["2096-02-29", "2104-02-29"]);
    check("0 0 29 2 *", "2097-01-01", &["2104-02-29"]);
}

#[test]
fn the_rarest_days_of_all_are_found() {
    // A leap day on a given weekday comes every 28 years, and 40 across 2100.
    check(
        "0 0 29 2 */7",
        "2033-01-01",
        &["2060-02-29", "2088-02-29", "2128-02-29"],
    );
    for weekday in 0..7 {
        let cron = Cron::parse(&format!("0 0 * 2 {weekday}#5")).unwrap();
        let mut at: Timestamp = "2000-01-01T00:00:00Z".parse().unwrap();
        for _ in 0..12 {
            at = cron.next_after(&Zone::utc(), at).unwrap().at;
            assert!(at.to_string().contains("-02-29T"), "{at}");
        }
    }
}

#[test]
fn the_last_day_and_days_before_it_follow_the_length_of_the_month() {
    check(
        "0 0 L * *",
        "2026-01-01",
        &["2026-01-31", "2026-02-28", "2026-03-31", "2026-04-30"],
    );
    check("0 0 L 2 *", "2028-01-01", &["2028-02-29"]);
    check(
        "0 0 L-3 * *",
        "2026-01-01",
        &["2026-01-28", "2026-02-25", "2026-03-28", "2026-04-27"],
    );
    check(
        "0 0 1,L * *",
        "2026-02-01",
        &["2026-02-01", "2026-02-28", "2026-03-01"],
    );
}

#[test]
fn the_nearest_weekday_stays_in_its_month() {
    check("0 12 15W * *", "2025-06-01", &["2025-06-16"]);
    check("0 12 15W * *", "2025-02-01", &["2025-02-14"]);
    check("0 12 1W * *", "2025-02-01", &["2025-02-03"]);
    check("0 12 31W * *", "2025-08-01", &["2025-08-29", "2025-10-31"]);
    check(
        "0 12 LW * *",
        "2025-05-01",
        &["2025-05-30", "2025-06-30", "2025-07-31", "2025-08-29"],
    );
}

#[test]
fn the_last_weekday_of_its_kind_may_be_written_in_four_ways() {
    for pattern in ["0 0 * * FRI#L", "0 0 * * 5L", "0 0 * * FRIL", "0 0 ? * 5#L"] {
        check(pattern, "2025-02-01", &["2025-02-28", "2025-03-28"]);
    }
    for pattern in ["0 0 * * 7L", "0 0 * * 0L", "0 0 * * SUN#L", "0 0 * * sunl"] {
        check(pattern, "2026-11-01", &["2026-11-29", "2026-12-27"]);
    }
}

#[test]
fn an_nth_weekday_that_a_month_lacks_is_left_out() {
    check("0 0 * * TUE#3", "2025-06-01", &["2025-06-17"]);
    check(
        "0 0 * * FRI#5",
        "2025-01-01",
        &["2025-01-31", "2025-05-30", "2025-08-29"],
    );
    check(
        "0 0 * * MON#1,FRI#2",
        "2026-06-01",
        &["2026-06-01", "2026-06-12", "2026-07-06"],
    );
}

#[test]
fn two_restricted_day_fields_mean_either() {
    check(
        "0 12 1 * MON",
        "2026-01-01",
        &["2026-01-01", "2026-01-05", "2026-01-12"],
    );
    check(
        "0 12 1-31 * MON",
        "2026-01-01",
        &["2026-01-01", "2026-01-02", "2026-01-03"],
    );
    check(
        "0 12 L * FRI#1",
        "2026-01-01",
        &["2026-01-02", "2026-01-31", "2026-02-06"],
    );
}

#[test]
fn a_day_field_that_begins_with_a_star_leaves_it_to_the_other() {
    check("0 12 * * MON", "2026-01-01", &["2026-01-05", "2026-01-12"]);
    check("0 12 ? * MON", "2026-01-01", &["2026-01-05", "2026-01-12"]);
    check(
        "0 12 */2 * MON",
        "2026-01-01",
        &["2026-01-05", "2026-01-19", "2026-02-09"],
    );
    check(
        "0 12 13 * */5",
        "2026-01-01",
        &["2026-02-13", "2026-03-13", "2026-09-13", "2026-11-13"],
    );
}

#[test]
fn weekdays_count_from_sunday_which_is_both_0_and_7() {
    check("0 9 * * 1", "2026-01-01", &["2026-01-05"]);
    check("0 9 * * 0", "2026-01-01", &["2026-01-04"]);
    check("0 9 * * 7", "2026-01-01", &["2026-01-04"]);
    check(
        "0 9 * * 5-7",
        "2026-01-01",
        &["2026-01-02", "2026-01-03", "2026-01-04", "2026-01-09"],
    );
    check(
        "0 9 * * FRI-SUN",
        "2026-01-05",
        &["2026-01-09", "2026-01-10", "2026-01-11", "2026-01-16"],
    );
    check(
        "0 9 * * SUN-TUE",
        "2026-01-01",
        &["2026-01-04", "2026-01-05", "2026-01-06", "2026-01-11"],
    );
    check(
        "0 9 * * 1/2",
        "2026-01-04",
        &["2026-01-05", "2026-01-07", "2026-01-09", "2026-01-12"],
    );
}

#[test]
fn six_fields_begin_with_seconds_and_five_mean_second_zero() {
    check(
        "*/20 * * * * *",
        "2026-01-01",
        &["2026-01-01T00:00:00Z", "2026-01-01T00:00:20Z"],
    );
    check(
        "15 30 9 * * *",
        "2026-01-01",
        &["2026-01-01T09:30:15Z", "2026-01-02T09:30:15Z"],
    );
    check("30 9 * * *", "2026-01-01", &["2026-01-01T09:30:00Z"]);
    check(
        "5/15 * * * *",
        "2026-01-01",
        &["2026-01-01T00:05:00Z", "2026-01-01T00:20:00Z"],
    );
    check(
        "1-10/4 3 * * *",
        "2026-01-01",
        &[
            "2026-01-01T03:01:00Z",
            "2026-01-01T03:05:00Z",
            "2026-01-01T03:09:00Z",
            "2026-01-02T03:01",
        ],
    );
}

#[test]
fn nicknames_mean_what_they_say() {
    for (nickname, expected) in [
        ("@yearly", "2027-01-01T00:00:00Z"),
        ("@annually", "2027-01-01T00:00:00Z"),
        ("@monthly", "2026-07-01T00:00:00Z"),
        ("@weekly", "2026-06-14T00:00:00Z"),
        ("@daily", "2026-06-11T00:00:00Z"),
        ("@midnight", "2026-06-11T00:00:00Z"),
        ("@hourly", "2026-06-10T01:00:00Z"),
    ] {
        let after = "2026-06-10T00:00:00Z".parse().unwrap();
        let tick = Cron::parse(nickname)
            .unwrap()
            .next_after(&Zone::utc(), after)
            .unwrap();
        assert_eq!(tick.at.to_string(), expected, "{nickname}");
    }
}

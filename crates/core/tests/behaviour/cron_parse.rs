//! What is refused, and how the refusal reads.

use proptest::prelude::*;
use steadfast_core::{Cron, Timestamp, Zone};

#[test]
fn a_refusal_names_the_field_the_value_and_what_is_allowed() {
    for (pattern, expected) in [
        (
            "60 0 * * *",
            "must have 0 to 59 in the minute field, not \"60\"",
        ),
        (
            "60 * * * * *",
            "must have 0 to 59 in the second field, not \"60\"",
        ),
        (
            "0 24 * * *",
            "must have 0 to 23 in the hour field, not \"24\"",
        ),
        (
            "0 0 32 * *",
            "must have 1 to 31, L, LW, L-3 or 15W in the day-of-month field, not \"32\"",
        ),
        (
            "0 0 * 13 *",
            "must have 1 to 12 or JAN to DEC in the month field, not \"13\"",
        ),
        (
            "0 0 * * 8",
            "must have 0 to 7 (0 and 7 are Sunday), SUN to SAT, FRI#2 or FRIL in the day-of-week field, not \"8\"",
        ),
        (
            "*/61 * * * *",
            "must have a step of 1 to 60 in the minute field, not \"*/61\"",
        ),
        (
            "0 22-2 * * *",
            "must have ascending ranges in the hour field, not \"22-2\": write two ranges",
        ),
        (
            "0 0 30 2 *",
            "must match at least one date; this pattern never fires",
        ),
        (
            "0 0 * *",
            "must have 5 fields (minute, hour, day of month, month, day of week) or 6 (with seconds first), not 4",
        ),
        (
            "@Daily",
            "must be one of @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly, or a cron pattern",
        ),
    ] {
        let error = Cron::parse(pattern).unwrap_err();
        assert_eq!(error.expected, expected, "{pattern:?}");
        assert_eq!(error.field, "schedule");
        assert!(error.value.contains(pattern));
    }
}

// long: it is one table
#[test]
fn patterns_that_other_crons_guess_at_are_refused() {
    for pattern in [
        "",
        " ",
        "*",
        "* * * * * * *",
        "0 0 1 1 * 2026 *",
        "/30 * * * *",
        "*/0 * * * *",
        "*/ * * * *",
        "1,,2 * * * *",
        ",1 * * * *",
        "1, * * * *",
        "1- * * * *",
        "-1 * * * *",
        "1-2-3 * * * *",
        "+5 * * * *",
        "5.0 * * * *",
        "0x5 * * * *",
        "** * * * *",
        "*5 * * * *",
        "1/2/3 * * * *",
        "? * * * *",
        "* ? * * *",
        "* * * ? *",
        "0 0 ?,1 * *",
        "0 0 ?/2 * *",
        "* * * * MONDAY",
        "* * * JANUARY *",
        "* * * * JAN",
        "0 0 10-5 * *",
        "0 0 * 11-2 *",
        "0 0 * * 6-0",
        "0 0 * * SAT-MON",
        "0 0 1-15W * *",
        "0 0 W * *",
        "0 0 32W * *",
        "0 0 0W * *",
        "0 0 L-0 * *",
        "0 0 L-31 * *",
        "0 0 L-3W * *",
        "0 0 LL * *",
        "0 0 WL * *",
        "0 0 L/2 * *",
        "0 0 * * L",
        "0 0 * * FRI#0",
        "0 0 * * FRI#6",
        "0 0 * * FRI#",
        "0 0 * * #2",
        "0 0 * * 8#1",
        "0 0 * * MON-FRI#2",
        "0 0 * * MON-FRIL",
        "0 0 * * FRI#2#3",
        "0 0 * * FRI#2/2",
        "L * * * *",
        "* L * * *",
        "* * * L *",
        "@",
        "@reboot",
        "@every 90s",
        "@daily @daily",
        "@DAILY",
        "0\n0 * * *",
        "0 0 * * *\n",
        "0\u{a0}0 * * *",
        "٣ * * * *",
        "0 0 30 2 *",
        "0 0 31 4 *",
        "0 0 31 2,4,6,9,11 *",
        "0 0 L-30 2 *",
        "0 0 30W 2 *",
        "0 0 */30 2 TUE#1,TUE#2 junk",
        "256 * * * *",
        "99999999999999999999 * * * *",
    ] {
        assert!(Cron::parse(pattern).is_err(), "{pattern:?} was accepted");
    }
    assert!(Cron::parse(&"*".repeat(513)).is_err());
    assert!(Cron::parse(&" ".repeat(1_000_000)).is_err());
}

#[test]
fn a_rule_that_can_fire_at_all_is_accepted() {
    for pattern in [
        "0 0 29 2 *",
        "0 0 30 2 MON",
        "0 0 31 4,5 *",
        "0 0 L-29 * *",
        "0 0 * 2 FRI#5",
        "0 0 29W 2 *",
        "\t0  0 *\t* * ",
        "00 09 * * 01",
        "0 0 * jan-Mar mon-FRI",
        "*/60 */24 */31 */12 */7",
        "0-59/1,5 0-23 1-31 1-12 0-7",
        "*,5 * * * *",
        "0 0 ? * ?",
    ] {
        assert!(Cron::parse(pattern).is_ok(), "{pattern:?} was refused");
    }
}

#[test]
fn a_cron_travels_as_the_text_it_was_given() {
    let text = " 0 9  * * mon-FRI";
    let cron: Cron = text.parse().unwrap();
    assert_eq!(cron.as_str(), text);
    assert_eq!(cron.to_string(), text);
    let json = serde_json::to_string(&cron).unwrap();
    assert_eq!(json, format!("{text:?}"));
    assert_eq!(serde_json::from_str::<Cron>(&json).unwrap(), cron);
    assert!(serde_json::from_str::<Cron>("\"60 0 * * *\"").is_err());
}

/// Text made of the pieces of patterns, most of it nearly right.
fn scrap() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "*", "/", "-", ",", " ", " ", " ", "L", "W", "#", "?", "@daily", "0", "1", "5", "7", "31",
        "59", "60", "255", "256", "MON", "SUN", "feb", "é", "\t", "\0",
    ]);
    prop::collection::vec(piece, 0..16).prop_map(|pieces| pieces.concat())
}

fn field(values: &'static str) -> impl Strategy<Value = String> {
    let value = prop::sample::select(values.split(' ').collect::<Vec<_>>());
    prop::collection::vec(value, 1..3).prop_map(|values| values.join(","))
}

fn pattern() -> impl Strategy<Value = String> {
    (
        prop::option::of(field("* */7 0 5/20 10-50/3")),
        field("* */5 0 30 59 1-10/2 5/15"),
        field("* */6 0 1 2 23 1-4"),
        field("* 1 15 L LW L-3 15W */2 29-31"),
        field("* JAN 2 3-11/2 DEC"),
        field("* MON 0 7 FRI#2 5L 1-5"),
    )
        .prop_map(|(second, minute, hour, day, month, weekday)| {
            let second = second.map(|second| second + " ").unwrap_or_default();
            format!("{second}{minute} {hour} {day} {month} {weekday}")
        })
}

fn zone() -> impl Strategy<Value = Zone> {
    let names = [
        "UTC",
        "America/New_York",
        "Australia/Lord_Howe",
        "Asia/Tehran",
        "Africa/Monrovia",
    ];
    prop::sample::select(names.to_vec()).prop_map(|name| Zone::parse(name).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_the_parser_panic(text in ".{0,80}") {
        let _ = Cron::parse(&text);
        let _ = Zone::parse(&text);
    }

    #[test]
    fn nearly_right_text_is_accepted_or_refused_but_fires_if_accepted(text in scrap()) {
        if let Ok(cron) = Cron::parse(&text) {
            prop_assert!(cron.next_after(&Zone::utc(), Timestamp::EPOCH).is_some());
        }
    }

    #[test]
    fn ticks_strictly_increase_and_depend_on_nothing_else(
        text in pattern(),
        zone in zone(),
        micros in 0..Timestamp::MAX.as_micros(),
    ) {
        let Ok(cron) = Cron::parse(&text) else { return Ok(()) };
        let again = Cron::parse(cron.as_str()).unwrap();
        prop_assert_eq!(&cron, &again);
        let mut at = Timestamp::from_micros(micros);
        for _ in 0..20 {
            let Some(tick) = cron.next_after(&zone, at) else { break };
            prop_assert!(tick.at > at, "{} after {}", tick.at, at);
            prop_assert_eq!(tick.at.as_micros() % 1_000_000, 0);
            prop_assert_eq!(again.next_after(&zone, at), Some(tick));
            // Nothing lies between: any moment before the tick leads to it.
            let between = Timestamp::from_micros(at.as_micros().midpoint(tick.at.as_micros()));
            if between < tick.at {
                prop_assert_eq!(cron.next_after(&zone, between), Some(tick));
            }
            at = tick.at;
        }
    }
}

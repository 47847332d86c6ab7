//! Thousands of random rules against a clock that is watched minute by minute.

mod clock;
mod rule;

use clock::{Window, changes, second};
use rule::{Dice, RandomRule};
use steadfast_core::{Cron, Timestamp, Zone};

const ZONES: [&str; 9] = [
    "America/New_York",
    "Australia/Lord_Howe",
    "Pacific/Chatham",
    "Europe/Dublin",
    "America/Sao_Paulo",
    "Africa/Casablanca",
    "Pacific/Apia",
    "Asia/Kolkata",
    "UTC",
];

const HOUR: i64 = 3_600;
const DAY: i64 = 24 * HOUR;

/// The next tick after each of many moments must be the one on the watched clock.
fn check(seed: u64, rule: &RandomRule, window: &Window, dice: &mut Dice) -> usize {
    let Ok(cron) = Cron::parse(&rule.text) else {
        assert_never_fires(seed, rule);
        return 0;
    };
    let zone = Zone::parse(&window.zone).unwrap();
    let expected = window.ticks(rule);
    let end = Timestamp::from_millis(window.until * 1_000);
    // A tick of the window's first moments may belong to a jump before the window.
    let begin = window.from + 26 * HOUR;
    let mut moments: Vec<i64> = (0..12)
        .map(|_| dice.roll(begin * 1_000, window.until * 1_000 - 1))
        .collect();
    let ticks = expected.iter().map(|tick| tick.at.as_millis());
    let ticks: Vec<i64> = ticks.filter(|at| *at >= begin * 1_000).collect();
    moments.extend(ticks.iter().take(40));
    moments.extend(ticks.iter().take(10).map(|at| at - 1));
    for after in moments {
        let after = Timestamp::from_millis(after);
        let index = expected.partition_point(|tick| tick.at <= after);
        let found = cron.next_after(&zone, after);
        assert_eq!(
            found.filter(|tick| tick.at < end),
            expected.get(index).copied(),
            "seed {seed}: {:?} in {} after {after}",
            rule.text,
            window.zone,
        );
    }
    ticks.len()
}

/// A refused rule must match no day of 400 years, after which the calendar repeats.
fn assert_never_fires(seed: u64, rule: &RandomRule) {
    let first = jiff::civil::date(2000, 1, 1);
    let mut days = first.series(jiff::ToSpan::day(1)).take(146_097);
    let day = days.find(|day| rule.matches_day(*day));
    assert_eq!(day, None, "seed {seed}: {:?} was refused", rule.text);
}

#[test]
fn random_rules_agree_with_a_watched_clock_around_every_change_of_clocks() {
    let mut windows = Vec::new();
    for zone in ZONES {
        let mut around = changes(zone, "2010-01-01T00:00:00Z", "2028-01-01T00:00:00Z");
        around.push(second("2026-06-15T00:00:00Z"));
        for at in around {
            windows.push(Window::new(zone, at - 40 * HOUR, at + 40 * HOUR, 60));
        }
    }
    assert!(windows.iter().filter(|window| window.has_change()).count() > 200);
    let mut ticks = 0;
    for seed in 0..4_000 {
        let mut dice = Dice::new(seed);
        let rule = RandomRule::random(&mut dice, false);
        for _ in 0..2 {
            let index = dice.roll(0, i64::try_from(windows.len()).unwrap() - 1);
            ticks += check(
                seed,
                &rule,
                &windows[usize::try_from(index).unwrap()],
                &mut dice,
            );
        }
    }
    assert!(ticks > 50_000, "only {ticks} ticks were compared");
}

#[test]
fn random_rules_with_seconds_agree_with_a_clock_watched_every_second() {
    let mut windows = Vec::new();
    for zone in [
        "America/New_York",
        "Australia/Lord_Howe",
        "Africa/Casablanca",
    ] {
        for at in changes(zone, "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z") {
            windows.push(Window::new(zone, at - 28 * HOUR, at + 3 * HOUR, 1));
        }
    }
    assert!(windows.iter().all(Window::has_change));
    let mut ticks = 0;
    for seed in 0..150 {
        let mut dice = Dice::new(seed);
        let rule = RandomRule::random(&mut dice, true);
        let index = dice.roll(0, i64::try_from(windows.len()).unwrap() - 1);
        ticks += check(
            seed,
            &rule,
            &windows[usize::try_from(index).unwrap()],
            &mut dice,
        );
    }
    assert!(ticks > 10_000, "only {ticks} ticks were compared");
}

#[test]
fn random_rules_agree_with_a_watched_clock_over_years() {
    for (zone_seed, zone) in (0..).zip(ZONES) {
        let from = second("2016-12-01T00:00:00Z");
        let window = Window::new(zone, from, from + 2 * 365 * DAY, 60);
        for seed in 0..5 {
            let seed = 1_000_000 + zone_seed * 1_000 + seed;
            let mut dice = Dice::new(seed);
            let rule = RandomRule::random(&mut dice, false);
            check(seed, &rule, &window, &mut dice);
        }
    }
}

//! Cron patterns in all zones: a line with the pattern, then one with a zone, and one with the
//! time to start from, where they are given.

use std::time::Duration;

use steadfast_core::{Cron, Timestamp, Zone};

const TICKS: usize = 12;
const A_MOMENT: Duration = Duration::from_micros(1);

pub fn check(input: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(input) else {
        return false;
    };
    let mut lines = text.splitn(3, '\n');
    let Ok(cron) = Cron::parse(lines.next().unwrap_or_default()) else {
        return false;
    };
    assert_eq!(cron.to_string().parse::<Cron>().ok(), Some(cron.clone()));
    let zone = lines.next().map_or(Ok(Zone::utc()), Zone::parse);
    let start = lines.next().map_or(Ok(Timestamp::EPOCH), str::parse);
    let (Ok(zone), Ok(start)) = (zone, start) else {
        return false;
    };
    ticks_are_in_order(&cron, &zone, start);
    true
}

fn ticks_are_in_order(cron: &Cron, zone: &Zone, start: Timestamp) {
    let mut after = start;
    for _ in 0..TICKS {
        let Some(tick) = cron.next_after(zone, after) else {
            return;
        };
        let at = tick.at;
        assert!(
            after < at && at <= Timestamp::MAX,
            "{cron} {zone}: {after} is followed by {at}"
        );
        // Wherever between two ticks one asks from, the next is the same.
        let halfway = after.plus(at.since(after) / 2).min(at.minus(A_MOMENT));
        for from in [halfway, at.minus(A_MOMENT)] {
            let next = cron.next_after(zone, from);
            assert_eq!(
                next,
                Some(tick),
                "{cron} {zone}: asked from {from} and from {after}"
            );
        }
        after = at;
    }
}

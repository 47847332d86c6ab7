//! From local matches to instants, through gaps and folds.
//!
//! When clocks go forward some local times do not happen (a gap); when they go back some
//! happen twice (a fold). What a person means by `30 2 * * *` and by `*/15 * * * *` on such
//! a night differs, and Vixie cron's rule is the one that people know:
//!
//! * A **fixed** rule names times of day. One that falls into a gap fires right after it,
//!   once, however many of its times lie in the gap; in a fold it fires on the first pass.
//! * An **interval** rule means "every so often". It follows real time: both passes of a
//!   fold, and nothing for local times that did not happen.
//!
//! A rule is interval when its minute or hour field begins with `*`. Vixie has no seconds;
//! a second field that begins with `*` makes an interval too, because `*/10 30 2 * * *` repeats
//! within the minute just as `*/10 2 * * *` repeats within the hour.
//!
//! Searching local times and then converting them to instants fails at the edges: a search that
//! starts in the second pass finds times of the first. So the search goes period by period of
//! constant offset, in which local and real time differ by a constant, and treats only the edges
//! specially.

use super::{Dst, Tick, fields::Fields};
use crate::{
    limits,
    schedule::zone::{Period, Zone},
    values::Timestamp,
};

const MICROS: i64 = 1_000_000; // not a limit: a unit

/// The first tick strictly after `after`. The search ends after [`limits::CRON_SEARCH_SECS_MAX`]:
/// by then every pattern has matched, unless each match lies in a gap (`*/5 2 8-14 3 */7` in New
/// York names only the hour that is always skipped).
pub(super) fn next_after(fields: &Fields, zone: &Zone, after: Timestamp) -> Option<Tick> {
    let mut from = after.as_micros() / MICROS + 1;
    let until = (from + limits::CRON_SEARCH_SECS_MAX).min(Timestamp::MAX.as_micros() / MICROS);
    while from < until {
        let period = zone.period(from);
        if let Some(tick) = first_in(fields, &period, from, until) {
            return Some(tick);
        }
        from = period.end;
    }
    None
}

/// The first tick within `period` at or after `from` and before `until`.
fn first_in(fields: &Fields, period: &Period, from: i64, until: i64) -> Option<Tick> {
    let Period {
        start,
        end,
        offset,
        offset_before,
        ..
    } = *period;
    let mut local = from + offset;
    if !fields.interval && start != i64::MIN {
        // What the clock would have shown when the period began, had it not been changed.
        let uninterrupted = start + offset_before;
        let has_match_in_gap = || fields.first_match(uninterrupted, start + offset).is_some();
        if from == start && has_match_in_gap() {
            return Some(Tick {
                at: instant(start),
                dst: Some(Dst::Gap),
            });
        }
        // In a fold, the clock has shown earlier local times already.
        local = local.max(uninterrupted);
    }
    let local = fields.first_match(local, end.min(until) + offset)?;
    Some(Tick {
        at: instant(local - offset),
        dst: is_repeated(period, local).then_some(Dst::Fold),
    })
}

/// Whether the clock shows this local time twice, at either end of the period.
fn is_repeated(period: &Period, local: i64) -> bool {
    let second_pass = period.start != i64::MIN && local < period.start + period.offset_before;
    let first_pass = period.end != i64::MAX && local >= period.end + period.offset_after;
    second_pass || first_pass
}

fn instant(second: i64) -> Timestamp {
    Timestamp::from_micros(second.saturating_mul(MICROS))
}

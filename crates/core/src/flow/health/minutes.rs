//! Outcomes by the minute, for people: how an incident went.

use serde::{Deserialize, Serialize};

use super::OutcomeCounts;
use crate::{limits, values::Timestamp};

/// How attempts ended in each of the last minutes in which nodes had something to report: those
/// before and during an incident. What went well otherwise is not reported.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct OutcomeMinutes(Vec<Minute>);

/// `[minute since 1970, ended, failed]`, the oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Minute(i64, u32, u32);

const MICROS: i64 = 60_000_000; // not a limit: of a minute

impl OutcomeMinutes {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn add(&mut self, counts: &OutcomeCounts) {
        for (at, ended, failed) in counts.pieces() {
            let number = at.as_micros().div_euclid(MICROS);
            let index = self.0.partition_point(|known| known.0 < number);
            match self.0.get_mut(index).filter(|known| known.0 == number) {
                Some(known) => {
                    known.1 = known.1.saturating_add(ended);
                    known.2 = known.2.saturating_add(failed);
                }
                None => self.0.insert(index, Minute(number, ended, failed)),
            }
        }
        let excess = self.0.len().saturating_sub(limits::HEALTH_MINUTES_MAX);
        self.0.drain(..excess);
    }

    /// When each began, how many attempts ended in it, and how many of them failed.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Timestamp, u32, u32)> {
        self.0.iter().map(|Minute(number, ended, failed)| {
            let began = Timestamp::from_micros(number.saturating_mul(MICROS));
            (began, *ended, *failed)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::values::JobId;

    #[test]
    fn outcomes_are_counted_by_the_minute_and_the_oldest_minute_goes() {
        let start = Timestamp::from_millis(1_767_225_600_000);
        let mut minutes = OutcomeMinutes::default();
        let most = u32::try_from(limits::HEALTH_MINUTES_MAX).unwrap();
        for minute in 0..most + 2 {
            let began = start.plus(Duration::from_secs(60) * minute);
            let mut counts = OutcomeCounts::default();
            for (second, has_failed) in [(1, false), (30, true), (59, true)] {
                let at = began.plus(Duration::from_secs(second));
                counts.add(JobId::from_bits(4), has_failed, at, 1);
            }
            minutes.add(&counts);
        }
        let kept: Vec<_> = minutes.iter().collect();
        assert_eq!(kept.len(), limits::HEALTH_MINUTES_MAX);
        let first = start.plus(Duration::from_secs(120));
        assert_eq!(kept[0], (first, 3, 2));
    }
}

//! What recorded attempts say about the system that they called.

use std::{collections::HashMap, time::Duration};

use super::{MINUTE_MICROS, ReplayHistory};
use crate::limits;

/// The numbers of a target, measured from calls to it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct MeasuredTarget {
    /// Calls per second that it answered in its best minute. It may bear more, which was never seen.
    pub capacity: f64,
    /// Jobs per second that called it, from the first to the last.
    pub traffic: f64,
    /// The time of half of the calls that succeeded.
    pub latency: Duration,
    /// How many calls succeeded.
    pub calls: u64,
}

impl ReplayHistory {
    /// Measures the target of all attempts; `None` if there are too few.
    pub fn measure(&self) -> Option<MeasuredTarget> {
        let mut times = Vec::new();
        let mut by_minute: HashMap<i64, u32> = HashMap::new();
        for attempt in self.attempts().iter().filter(|it| it.failure.is_none()) {
            times.push(attempt.duration());
            let minute = attempt.finished_at.as_micros() / MINUTE_MICROS;
            *by_minute.entry(minute).or_default() += 1;
        }
        if times.len() < limits::MEASURED_CALLS_MIN {
            return None;
        }
        times.sort_unstable();
        let firsts = self.runs().iter();
        let firsts = firsts.filter_map(|run| Some(self.attempts_of(run).first()?.started_at));
        let (mut jobs, mut first, mut last) = (0_u32, None, None);
        for at in firsts {
            jobs += 1;
            first = Some(first.map_or(at, |first| at.min(first)));
            last = last.max(Some(at));
        }
        let span = last?.since(first?).max(limits::MEASURED_SPAN_MIN);
        let best = by_minute.values().copied().max()?;
        let latency = times.get(times.len() / 2).copied()?;
        Some(MeasuredTarget {
            capacity: f64::from(best) / 60.0,
            traffic: f64::from(jobs) / span.as_secs_f64(),
            latency: latency.max(*limits::CERTIFICATE_TIME.start()),
            calls: u64::try_from(times.len()).unwrap_or(u64::MAX),
        })
    }
}

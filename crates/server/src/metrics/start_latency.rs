//! The recent start latency of attempts on this node, for the overview.
//!
//! The metrics count since the start of the node, which says nothing about now; and the store keeps
//! no such counts, because they would cost a write with every claim.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, MutexGuard, OnceLock, PoisonError, Weak},
    time::Duration,
};

use steadfast_core::{Tenant, Timestamp};
use steadfast_store::Store;

use crate::limits;

/// Doubles from a millisecond on, so that half a day fits.
const BUCKETS: usize = 26; // not a limit: of a histogram

/// A histogram of latencies: each bucket is twice as wide as the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LatencyCounts([u32; BUCKETS]);

impl LatencyCounts {
    fn add(&mut self, late: Duration) {
        let millis = u64::try_from(late.as_millis()).unwrap_or(u64::MAX);
        let bits = usize::try_from(u64::BITS - millis.leading_zeros()).unwrap_or(BUCKETS);
        let count = &mut self.0[bits.min(BUCKETS - 1)];
        *count = count.saturating_add(1);
    }

    fn merge(&mut self, other: &Self) {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count = count.saturating_add(more);
        }
    }

    /// How late the part `share` of all attempts was at most; `None` without any.
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        let all: u64 = self.0.iter().copied().map(u64::from).sum();
        if all == 0 {
            return None;
        }
        let wanted = share * all as f64;
        let mut below = 0.0;
        for (bucket, count) in self.0.iter().copied().enumerate() {
            let count = f64::from(count);
            if count > 0.0 && below + count >= wanted {
                // Bucket 0 is below a millisecond; bucket n begins at 2^(n-1).
                let end = Duration::from_millis(1 << bucket);
                let start = if bucket == 0 { Duration::ZERO } else { end / 2 };
                let part = ((wanted - below) / count).clamp(0.0, 1.0);
                return Some(start + (end - start).mul_f64(part));
            }
            below += count;
        }
        None
    }
}

/// Counts of equal spans of time, the oldest first; spans without any are left out.
struct SpanCounts {
    length: Duration,
    most: usize,
    spans: VecDeque<(Timestamp, LatencyCounts)>,
}

impl SpanCounts {
    fn new((number, length): (u32, Duration)) -> Self {
        Self {
            length,
            most: usize::try_from(number).unwrap_or(1),
            spans: VecDeque::new(),
        }
    }

    fn add(&mut self, now: Timestamp, late: Duration) {
        let length = i64::try_from(self.length.as_micros()).unwrap_or(1).max(1);
        let micros = now.as_micros();
        let at = Timestamp::from_micros(micros - micros.rem_euclid(length));
        // A clock that was set back counts in the newest span.
        if self.spans.back().is_none_or(|(newest, _)| *newest < at) {
            self.spans.push_back((at, LatencyCounts::default()));
        }
        while self.spans.len() > self.most {
            self.spans.pop_front();
        }
        if let Some((_, counts)) = self.spans.back_mut() {
            counts.add(late);
        }
    }
}

/// The counts of one tenant, or of all.
struct LatencyRecord {
    hour: SpanCounts,
    day: SpanCounts,
}

impl LatencyRecord {
    fn new() -> Self {
        Self {
            hour: SpanCounts::new(limits::CHART_HOUR),
            day: SpanCounts::new(limits::CHART_DAY),
        }
    }

    fn add(&mut self, now: Timestamp, late: Duration) {
        self.hour.add(now, late);
        self.day.add(now, late);
    }

    fn newest(&self) -> Option<Timestamp> {
        self.hour.spans.back().map(|(at, _)| *at)
    }
}

#[derive(Default)]
struct Records {
    all: Option<LatencyRecord>,
    tenants: HashMap<Tenant, LatencyRecord>,
}

/// The recent start latency of attempts, by tenant and in total.
#[derive(Default)]
pub struct StartLatency {
    /// Whose clock counts. The engine that reports attempts owns the store, and not the reverse.
    store: OnceLock<Weak<dyn Store>>,
    records: Mutex<Records>,
}

impl StartLatency {
    /// Attempts are counted from here on.
    pub fn start(&self, store: Weak<dyn Store>) {
        self.store.get_or_init(|| store);
    }

    pub fn note(&self, tenant: &Tenant, late: Duration) {
        let Some(store) = self.store.get().and_then(Weak::upgrade) else {
            return;
        };
        let now = store.now();
        let mut records = self.lock();
        let all = &mut records.all;
        all.get_or_insert_with(LatencyRecord::new).add(now, late);
        let tenants = &mut records.tenants;
        if !tenants.contains_key(tenant) {
            if tenants.len() >= limits::START_LATENCY_TENANTS_MAX {
                let old = now.minus(limits::START_LATENCY_TENANT_KEPT);
                tenants.retain(|_, record| record.newest().is_some_and(|at| at >= old));
            }
            if tenants.len() >= limits::START_LATENCY_TENANTS_MAX {
                return;
            }
            tenants.insert(tenant.clone(), LatencyRecord::new());
        }
        if let Some(record) = tenants.get_mut(tenant) {
            record.add(now, late);
        }
    }

    /// Since this time, of a tenant or of all.
    pub fn since(&self, tenant: Option<&Tenant>, since: Timestamp) -> LatencyCounts {
        let mut sum = LatencyCounts::default();
        for (at, counts) in self.spans(tenant, limits::CHART_HOUR) {
            if at >= since {
                sum.merge(&counts);
            }
        }
        sum
    }

    /// The parts of a chart of an hour or a day, the oldest first; there are no others.
    pub fn spans(
        &self,
        tenant: Option<&Tenant>,
        (_, length): (u32, Duration),
    ) -> Vec<(Timestamp, LatencyCounts)> {
        let records = self.lock();
        let record = match tenant {
            Some(tenant) => records.tenants.get(tenant),
            None => records.all.as_ref(),
        };
        let spans = record
            .into_iter()
            .flat_map(|record| [&record.hour, &record.day]);
        let spans = spans.filter(|spans| spans.length == length);
        spans.flat_map(|spans| &spans.spans).copied().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Records> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_right_within_a_factor_of_two() {
        let mut counts = LatencyCounts::default();
        assert_eq!(counts.quantile(0.5), None);
        for millis in 1..=1_000 {
            counts.add(Duration::from_millis(millis));
        }
        for (share, exact) in [(0.5, 500.0), (0.95, 950.0), (0.99, 990.0)] {
            let found = counts.quantile(share).unwrap().as_secs_f64() * 1_000.0;
            assert!(
                (exact / 2.0..=exact * 2.0).contains(&found),
                "{share}: {found}"
            );
        }
        counts.add(Duration::MAX);
        assert!(counts.quantile(1.0).unwrap() > Duration::from_secs(3_600));
    }

    #[test]
    fn old_ranges_are_dropped_and_a_clock_set_back_loses_no_count() {
        let mut spans = SpanCounts::new((3, Duration::from_secs(60)));
        let at = |secs: i64| Timestamp::from_micros(secs * 1_000_000);
        for secs in [0, 59, 60, 120, 185, 130] {
            spans.add(at(secs), Duration::from_millis(5));
        }
        let counted: Vec<(Timestamp, u32)> = spans
            .spans
            .iter()
            .map(|(at, counts)| (*at, counts.0.iter().sum()))
            .collect();
        assert_eq!(counted, [(at(60), 1), (at(120), 1), (at(180), 2)]);
    }
}

//! Rates in units: how much may be used in a time.
//!
//! A [`Rate`](super::rate::Rate) spaces starts, which all cost the same. Costs differ by orders of
//! magnitude, and are known exactly only afterwards: if a bucket is to take the largest job, and no
//! window may hold more than the limit, little of the limit is left for all others. So usage is counted
//! over a window that slides: all that was used in the last `per` counts, and a job starts if its cost
//! fits beside it.

use std::{fmt, str::FromStr, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use super::checks::in_range;
use crate::{
    explain::brief,
    job::cost::{Cost, CostChange, Unit, amount_text, ones},
    limits,
    values::{Invalid, Timestamp, duration},
};

/// At most this much is used in any window of length `per`, but for what running attempts use beyond
/// their estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UnitRate {
    /// How much.
    pub limit: u32,
    /// In which time.
    #[serde(with = "duration::text")]
    pub per: Duration,
    /// Of what.
    #[serde(default)]
    pub unit: Unit,
}

impl UnitRate {
    /// Refuses what is outside of [`limits::COST_MAX`] and [`limits::RATE_PER`].
    pub fn new(limit: i64, per: Duration, unit: Unit) -> Result<Self, Invalid> {
        let limit = in_range("limit", limit, 1, limits::COST_MAX)?;
        duration::check("per", per, limits::RATE_PER)?;
        Ok(Self { limit, per, unit })
    }

    /// Rates as people write them into one field: `100000 tokens/1m, 500/1h`.
    ///
    /// ```
    /// use steadfast_core::UnitRate;
    ///
    /// let rates = UnitRate::read_all("100000 tokens/1m, 500/1h").unwrap();
    /// assert_eq!(rates[0].to_string(), "100,000 tokens per 1m");
    /// assert_eq!(UnitRate::write_all(&rates), "100000 tokens/1m, 500/1h");
    /// ```
    pub fn read_all(text: &str) -> Result<Vec<Self>, Invalid> {
        text.split(',').map(|rate| rate.trim().parse()).collect()
    }

    /// As [`UnitRate::read_all`] reads them.
    pub fn write_all(rates: &[Self]) -> String {
        let rates = rates.iter().map(|rate| {
            let per = duration::format(rate.per);
            match rate.unit {
                Unit::STARTS => format!("{}/{per}", rate.limit),
                unit => format!("{} {unit}/{per}", rate.limit),
            }
        });
        rates.collect::<Vec<_>>().join(", ")
    }

    fn cap(&self) -> i64 {
        ones(self.limit)
    }

    fn per_micros(&self) -> i64 {
        i64::try_from(self.per.as_micros()).unwrap_or(i64::MAX)
    }

    /// What must be free for a cost: all, if it is more than the limit.
    fn needed(&self, cost: i64) -> i64 {
        cost.min(self.cap())
    }
}

/// `100000 tokens per 1m`.
impl fmt::Display for UnitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = amount_text(self.cap());
        write!(f, "{limit} {} per {}", self.unit, brief(self.per))
    }
}

/// `100000 tokens/1m`, or `500/1h` for starts.
impl FromStr for UnitRate {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let (limit, per) = text.split_once('/').unwrap_or((text, ""));
        let (limit, unit) = match limit.trim().split_once(' ') {
            Some((limit, unit)) => (limit, Unit::new(unit.trim())),
            None => (limit.trim(), Ok(Unit::STARTS)),
        };
        // A rate of starts is written in the same way.
        let rate = |text: &str| -> Option<(i64, Duration)> {
            let per = match per.starts_with(|c: char| c.is_ascii_digit()) {
                true => duration::parse(per),
                false => duration::parse(&format!("1{per}")),
            };
            Some((text.parse().ok()?, per.ok()?))
        };
        let Some((limit, per)) = rate(limit) else {
            let expected = "must be a rate such as \"100000 tokens/1m\" or \"500/1h\"";
            return Err(Invalid::new("rates", format!("{text:?}"), expected));
        };
        let rate = unit.and_then(|unit| Self::new(limit, per, unit));
        rate.map_err(|error| error.within("rates"))
    }
}

/// What counts at the unit rates of a gate. Shared, because states are copied often and few gates have
/// any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage(Option<Arc<Vec<UsageWindow>>>);

/// What was used of one unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct UsageWindow {
    unit: Unit,
    /// Of the rate, in microseconds: a gate may have several rates of a unit.
    per: i64,
    /// What must be free before anything may start, because the next job needs it.
    #[serde(default)]
    need: i64,
    /// In the order of their times.
    used: Vec<Used>,
}

/// What was used in a part of the window: its first and last time, and the amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Used(i64, i64, i64);

/// A cost that does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UsageWait {
    /// The rate.
    pub rate: UnitRate,
    /// What is needed, in millionths of the unit.
    pub(super) needed: i64,
    /// What is free.
    pub(super) free: i64,
    /// When it fits, if nothing is given back before.
    pub until: Timestamp,
}

impl Usage {
    /// As stores keep it.
    pub fn to_text(&self) -> Option<String> {
        let windows = self.0.as_deref().filter(|windows| !windows.is_empty())?;
        serde_json::to_string(windows).ok()
    }

    /// From what stores keep; what cannot be read counts as nothing.
    pub fn from_text(text: Option<&str>) -> Self {
        let windows = text.and_then(|text| serde_json::from_str(text).ok());
        Self(windows.map(Arc::new))
    }

    /// Until when any of it counts.
    pub(super) fn counts_until(&self) -> Option<Timestamp> {
        let windows = self.0.iter().flat_map(|windows| windows.iter());
        let ends = windows.filter_map(|window| Some((window.used.last()?.1, window.per)));
        let end = ends.map(|(last, per)| last.saturating_add(per)).max();
        end.map(Timestamp::from_micros)
    }

    /// Whether anything may start, whatever it costs: not if nothing is free, nor if it is kept for the
    /// next job. Answers with the room for starts, if those are counted.
    pub(super) fn room(&self, rates: &[UnitRate], now: Timestamp) -> Result<u32, UsageWait> {
        let mut room = u32::MAX;
        for rate in rates {
            let Some(window) = self.window(rate) else {
                if rate.unit == Unit::STARTS {
                    room = room.min(rate.limit);
                }
                continue;
            };
            let least = match rate.unit {
                Unit::STARTS => ones(1),
                _ => 1,
            };
            window.wait(rate, window.need.max(least), now)?;
            if rate.unit == Unit::STARTS {
                let free = window.free(rate, now);
                room = room.min(crate::job::cost::whole_ones(free).max(1));
            }
        }
        Ok(room)
    }

    /// Whether a cost fits.
    pub(super) fn fits(
        &self,
        rates: &[UnitRate],
        cost: &Cost,
        now: Timestamp,
    ) -> Result<(), UsageWait> {
        for rate in rates {
            let millionths = cost.millionths(rate.unit);
            if let Some(window) = self.window(rate)
                && millionths > 0
            {
                window.wait(rate, millionths, now)?;
            }
        }
        Ok(())
    }

    /// Counts the cost of an attempt that starts. What was kept for it is kept no more.
    pub(super) fn charge(&mut self, rates: &[UnitRate], cost: &Cost, now: Timestamp) {
        self.change(rates, |window, rate| {
            window.need = 0;
            window.charge(rate, cost.millionths(rate.unit), now);
        });
    }

    /// Keeps what the next job needs: nothing else starts before it is free.
    pub(super) fn keep_for(&mut self, rates: &[UnitRate], wait: &UsageWait) {
        self.change(rates, |window, rate| {
            if *rate == wait.rate {
                window.need = wait.needed;
            }
        });
    }

    /// Charges or gives back what an attempt used beyond what was reserved, or less than that.
    pub(super) fn settle(&mut self, rates: &[UnitRate], change: &CostChange, now: Timestamp) {
        self.change(rates, |window, rate| match change.millionths(rate.unit) {
            by @ 1.. => window.charge(rate, by, now),
            by => window.give_back(change.at(), by.saturating_neg()),
        });
    }

    fn change(&mut self, rates: &[UnitRate], change: impl Fn(&mut UsageWindow, &UnitRate)) {
        let windows = rates.iter().map(|rate| {
            let mut window = self.window(rate).cloned().unwrap_or_else(|| UsageWindow {
                unit: rate.unit,
                per: 0,
                need: 0,
                used: Vec::new(),
            });
            window.per = rate.per_micros();
            change(&mut window, rate);
            window
        });
        let windows: Vec<UsageWindow> = windows.collect();
        self.0 = (!windows.is_empty()).then(|| Arc::new(windows));
    }

    /// What was used of a rate's unit. If the time of the rate was changed, the longest that is known.
    fn window(&self, rate: &UnitRate) -> Option<&UsageWindow> {
        let of_unit = self.0.iter().flat_map(|windows| windows.iter());
        let of_unit = of_unit.filter(|window| window.unit == rate.unit);
        of_unit.max_by_key(|window| (window.per == rate.per_micros(), window.per))
    }
}

impl UsageWindow {
    /// What counts now, the first to leave the window first.
    fn counting(&self, rate: &UnitRate, now: Timestamp) -> impl Iterator<Item = &Used> {
        let begin = now.as_micros().saturating_sub(rate.per_micros());
        // Later than that, it was written before the clock was set back.
        let end = now.plus(limits::CLOCK_STEP_MAX).as_micros();
        let used = self.used.iter();
        used.filter(move |Used(_, last, _)| *last > begin && *last <= end)
    }

    /// What is free; less than nothing if more was used than the limit.
    fn free(&self, rate: &UnitRate, now: Timestamp) -> i64 {
        let used = self.counting(rate, now);
        let used = used.fold(0_i64, |sum, Used(.., amount)| sum.saturating_add(*amount));
        rate.cap().saturating_sub(used)
    }

    /// Whether so much is free, and if not, when it will be.
    fn wait(&self, rate: &UnitRate, cost: i64, now: Timestamp) -> Result<(), UsageWait> {
        let needed = rate.needed(cost);
        let free = self.free(rate, now);
        if free >= needed {
            return Ok(());
        }
        let (mut then, mut until) = (free, now);
        for Used(_, last, amount) in self.counting(rate, now) {
            then = then.saturating_add(*amount);
            until = Timestamp::from_micros(last.saturating_add(rate.per_micros()));
            if then >= needed {
                break;
            }
        }
        Err(UsageWait {
            rate: *rate,
            needed,
            free,
            until,
        })
    }

    fn charge(&mut self, rate: &UnitRate, amount: i64, now: Timestamp) {
        let begin = now.as_micros().saturating_sub(rate.per_micros());
        let end = now.plus(limits::CLOCK_STEP_MAX).as_micros();
        self.used
            .retain(|Used(_, last, _)| *last > begin && *last <= end);
        if amount <= 0 {
            return;
        }
        let part = rate.per_micros() / limits::USAGE_PARTS;
        let now = now.as_micros();
        match self.used.last_mut() {
            Some(Used(first, last, used)) if now.saturating_sub(*first) < part => {
                *last = now.max(*last);
                *used = used.saturating_add(amount);
            }
            _ => self.used.push(Used(now, now, amount)),
        }
    }

    /// What was reserved at a time is free again. What has left the window is so already.
    fn give_back(&mut self, at: Timestamp, amount: i64) {
        let at = at.as_micros();
        let mut used = self.used.iter_mut();
        if let Some(Used(.., used)) =
            used.find(|Used(first, last, _)| (*first..=*last).contains(&at))
        {
            *used = used.saturating_sub(amount).max(0);
        }
    }
}

#[cfg(test)]
mod tests;

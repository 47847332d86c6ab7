//! Charts of attempts over time.

use std::time::Duration;

use steadfast_core::{Tally, Timestamp};
use steadfast_store::MinuteStats;

use super::{Svg, SvgBuilder, round_up};
use crate::dashboard::format::{format_percent, thousands};

const SIZE: (f64, f64) = (720.0, 190.0); // not a limit: layout of the drawing
/// Space for the axis on the left, and for the times below.
const LEFT: f64 = 44.0; // not a limit: layout of the drawing
const TOP: f64 = 10.0; // not a limit: layout of the drawing
const BOTTOM: f64 = 166.0; // not a limit: layout of the drawing

/// Equal buckets of time, the last of which ends now.
pub struct TimeBuckets {
    pub now: Timestamp,
    pub number: u32,
    pub length: Duration,
}

impl TimeBuckets {
    pub const HOUR: (u32, Duration) = (60, Duration::from_secs(60)); // not a limit: minutes
    pub const DAY: (u32, Duration) = (144, Duration::from_secs(600)); // not a limit: ten minutes

    pub fn new(now: Timestamp, (number, length): (u32, Duration)) -> Self {
        Self {
            now,
            number,
            length,
        }
    }

    pub fn start(&self) -> Timestamp {
        let minute = 60_000_000;
        let micros = self.now.as_micros();
        let end = Timestamp::from_micros(micros - micros.rem_euclid(minute) + minute);
        end.minus(self.length * self.number)
    }

    fn sums(&self, minutes: &[MinuteStats]) -> Vec<Tally> {
        let (start, length) = (self.start(), self.length.as_micros().max(1));
        let number = usize::try_from(self.number).unwrap_or(0);
        let mut sums = vec![Tally::default(); number];
        for minute in minutes.iter().filter(|minute| minute.at >= start) {
            let index = minute.at.since(start).as_micros() / length;
            let sum = usize::try_from(index).ok().and_then(|it| sums.get_mut(it));
            if let Some(sum) = sum {
                *sum += minute.tally;
            }
        }
        sums
    }

    fn time_of_day(&self, index: u32) -> String {
        let time = self.start().plus(self.length * index).to_string();
        // 2026-01-01T12:34:00Z: the time of day is enough.
        time.get(11..16).unwrap_or_default().to_owned()
    }

    fn width(&self) -> f64 {
        (SIZE.0 - LEFT) / f64::from(self.number.max(1))
    }

    fn axis(&self, drawing: &mut SvgBuilder, top: &str) {
        drawing.line("axis", (LEFT, BOTTOM), (SIZE.0, BOTTOM));
        drawing.line("grid", (LEFT, TOP), (SIZE.0, TOP));
        drawing.text("label", (LEFT - 6.0, TOP + 5.0), "end", top);
        drawing.text("label", (LEFT - 6.0, BOTTOM), "end", "0");
        for step in 0..4 {
            let index = self.number * step / 4;
            let x = LEFT + f64::from(index) * self.width();
            drawing.text(
                "label",
                (x, BOTTOM + 16.0),
                "start",
                &self.time_of_day(index),
            );
        }
        drawing.text("label", (SIZE.0, BOTTOM + 16.0), "end", "now");
    }
}

fn height(value: u64, most: u64) -> f64 {
    (BOTTOM - TOP) * value as f64 / most.max(1) as f64
}

/// Successes and failures as stacked bars, with a line for the retries among them.
pub fn throughput(buckets: &TimeBuckets, minutes: &[MinuteStats]) -> Svg {
    let sums = buckets.sums(minutes);
    let most = round_up(sums.iter().map(|sum| sum.attempts).max().unwrap_or(0));
    let mut all = Tally::default();
    sums.iter().for_each(|sum| all += *sum);
    let summary = format!(
        "{} attempts: {} succeeded, {} failed, {} were retries",
        thousands(all.attempts),
        thousands(all.successes),
        thousands(all.failures),
        thousands(all.retries)
    );
    let mut drawing = SvgBuilder::new("throughput", SIZE, "Attempts over time", summary);
    buckets.axis(&mut drawing, &thousands(most));
    let width = buckets.width();
    let mut line = Vec::new();
    for (index, sum) in (0..).zip(&sums) {
        let x = LEFT + f64::from(index) * width;
        let tooltip = format!(
            "{}: {} succeeded, {} failed, {} retries",
            buckets.time_of_day(index),
            thousands(sum.successes),
            thousands(sum.failures),
            thousands(sum.retries)
        );
        let good = height(sum.successes, most);
        let bad = height(sum.failures, most);
        let bar = (width - 1.0).max(1.0);
        if sum.successes > 0 {
            drawing.rect("good", (x, BOTTOM - good), (bar, good), &tooltip);
        }
        if sum.failures > 0 {
            drawing.rect("bad", (x, BOTTOM - good - bad), (bar, bad), &tooltip);
        }
        line.push((x + bar / 2.0, BOTTOM - height(sum.retries, most)));
    }
    if all.retries > 0 {
        drawing.path("retries", &line, false);
    }
    drawing.finish()
}

/// The share of retries among attempts.
pub fn rates(buckets: &TimeBuckets, minutes: &[MinuteStats]) -> Svg {
    let sums = buckets.sums(minutes);
    let worst = sums
        .iter()
        .filter_map(Tally::retry_rate)
        .fold(0.0, f64::max);
    let top = [0.1, 0.25, 0.5, 1.0].into_iter().find(|top| *top >= worst);
    let top = top.unwrap_or(1.0);
    let summary = format!(
        "at worst {} of attempts were retries",
        format_percent(Some(worst))
    );
    let mut drawing = SvgBuilder::new("rates", SIZE, "Retry rate over time", summary);
    buckets.axis(&mut drawing, &format!("{:.0} %", top * 100.0));
    let (width, mut line) = (buckets.width(), vec![(LEFT, BOTTOM)]);
    for (index, sum) in (0..).zip(&sums) {
        let rate = sum.retry_rate().unwrap_or(0.0);
        let x = LEFT + (f64::from(index) + 0.5) * width;
        line.push((x, BOTTOM - (BOTTOM - TOP) * rate / top));
    }
    line.push((SIZE.0, BOTTOM));
    drawing.path("area", &line, true);
    drawing.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_minute_of_the_span_falls_into_a_bucket_and_no_other_does() {
        let now: Timestamp = "2026-01-01T12:34:56Z".parse().unwrap();
        let buckets = TimeBuckets::new(now, TimeBuckets::HOUR);
        assert_eq!(buckets.start().to_string(), "2026-01-01T11:35:00Z");
        let minute = |text: &str| MinuteStats {
            at: text.parse().unwrap(),
            tally: Tally {
                attempts: 1,
                ..Tally::default()
            },
        };
        let sums = buckets.sums(&[
            minute("2026-01-01T11:34:00Z"),
            minute("2026-01-01T11:35:00Z"),
            minute("2026-01-01T12:34:00Z"),
            minute("2026-01-01T12:35:00Z"),
        ]);
        let filled: Vec<usize> = (0..60).filter(|index| sums[*index].attempts > 0).collect();
        assert_eq!(filled, [0, 59]);
    }
}

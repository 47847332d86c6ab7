//! Attempts over time.

use std::time::Duration;

use steadfast_core::{Tally, Timestamp};
use steadfast_store::MinuteStats;

use super::{Drawing, Svg, round_up};
use crate::dashboard::shown::{count, percent};

const SIZE: (f64, f64) = (720.0, 190.0);
/// Room for the axis on the left, and for the times below.
const LEFT: f64 = 44.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 166.0;

/// A stretch of time, cut into equal buckets that end now.
pub struct Span {
    pub now: Timestamp,
    pub buckets: u32,
    pub bucket: Duration,
}

impl Span {
    pub const HOUR: (u32, Duration) = (60, Duration::from_secs(60));
    pub const DAY: (u32, Duration) = (144, Duration::from_secs(600));

    pub fn new(now: Timestamp, (buckets, bucket): (u32, Duration)) -> Self {
        Self {
            now,
            buckets,
            bucket,
        }
    }

    pub fn start(&self) -> Timestamp {
        let minute = 60_000_000;
        let micros = self.now.as_micros();
        let end = Timestamp::from_micros(micros - micros.rem_euclid(minute) + minute);
        end.minus(self.bucket * self.buckets)
    }

    fn sums(&self, minutes: &[MinuteStats]) -> Vec<Tally> {
        let (start, length) = (self.start(), self.bucket.as_micros().max(1));
        let places = usize::try_from(self.buckets).unwrap_or(0);
        let mut sums = vec![Tally::default(); places];
        for minute in minutes.iter().filter(|minute| minute.at >= start) {
            let place = minute.at.since(start).as_micros() / length;
            let sum = usize::try_from(place).ok().and_then(|it| sums.get_mut(it));
            if let Some(sum) = sum {
                *sum += minute.tally;
            }
        }
        sums
    }

    fn at(&self, place: u32) -> String {
        let time = self.start().plus(self.bucket * place).to_string();
        // 2026-01-01T12:34:00Z: the time of day is enough.
        time.get(11..16).unwrap_or_default().to_owned()
    }

    fn width(&self) -> f64 {
        (SIZE.0 - LEFT) / f64::from(self.buckets.max(1))
    }

    fn axis(&self, drawing: &mut Drawing, top: &str) {
        drawing.line("axis", (LEFT, BOTTOM), (SIZE.0, BOTTOM));
        drawing.line("grid", (LEFT, TOP), (SIZE.0, TOP));
        drawing.text("label", (LEFT - 6.0, TOP + 5.0), "end", top);
        drawing.text("label", (LEFT - 6.0, BOTTOM), "end", "0");
        for step in 0..4 {
            let place = self.buckets * step / 4;
            let x = LEFT + f64::from(place) * self.width();
            drawing.text("label", (x, BOTTOM + 16.0), "start", &self.at(place));
        }
        drawing.text("label", (SIZE.0, BOTTOM + 16.0), "end", "now");
    }
}

fn height(value: u64, most: u64) -> f64 {
    (BOTTOM - TOP) * value as f64 / most.max(1) as f64
}

/// Successes and failures as stacked bars, with a dot for the retries among them.
pub fn throughput(span: &Span, minutes: &[MinuteStats]) -> Svg {
    let sums = span.sums(minutes);
    let most = round_up(sums.iter().map(|sum| sum.attempts).max().unwrap_or(0));
    let mut all = Tally::default();
    sums.iter().for_each(|sum| all += *sum);
    let summary = format!(
        "{} attempts: {} succeeded, {} failed, {} were retries",
        count(all.attempts),
        count(all.successes),
        count(all.failures),
        count(all.retries)
    );
    let mut drawing = Drawing::new("throughput", SIZE, "Attempts over time", summary);
    span.axis(&mut drawing, &count(most));
    let width = span.width();
    let mut line = Vec::new();
    for (place, sum) in (0..).zip(&sums) {
        let x = LEFT + f64::from(place) * width;
        let said = format!(
            "{}: {} succeeded, {} failed, {} retries",
            span.at(place),
            count(sum.successes),
            count(sum.failures),
            count(sum.retries)
        );
        let good = height(sum.successes, most);
        let bad = height(sum.failures, most);
        let bar = (width - 1.0).max(1.0);
        if sum.successes > 0 {
            drawing.rect("good", (x, BOTTOM - good), (bar, good), &said);
        }
        if sum.failures > 0 {
            drawing.rect("bad", (x, BOTTOM - good - bad), (bar, bad), &said);
        }
        line.push((x + bar / 2.0, BOTTOM - height(sum.retries, most)));
    }
    if all.retries > 0 {
        drawing.path("retries", &line, false);
    }
    drawing.done()
}

/// Retries among attempts.
pub fn rates(span: &Span, minutes: &[MinuteStats]) -> Svg {
    let sums = span.sums(minutes);
    let worst = sums
        .iter()
        .filter_map(Tally::retry_rate)
        .fold(0.0, f64::max);
    let top = [0.1, 0.25, 0.5, 1.0].into_iter().find(|top| *top >= worst);
    let top = top.unwrap_or(1.0);
    let summary = format!("at worst {} of attempts were retries", percent(Some(worst)));
    let mut drawing = Drawing::new("rates", SIZE, "Retry rate over time", summary);
    span.axis(&mut drawing, &format!("{:.0} %", top * 100.0));
    let (width, mut line) = (span.width(), vec![(LEFT, BOTTOM)]);
    for (place, sum) in (0..).zip(&sums) {
        let rate = sum.retry_rate().unwrap_or(0.0);
        let x = LEFT + (f64::from(place) + 0.5) * width;
        line.push((x, BOTTOM - (BOTTOM - TOP) * rate / top));
    }
    line.push((SIZE.0, BOTTOM));
    drawing.path("area", &line, true);
    drawing.done()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_minute_of_the_span_falls_into_a_bucket_and_no_other_does() {
        let now: Timestamp = "2026-01-01T12:34:56Z".parse().unwrap();
        let span = Span::new(now, Span::HOUR);
        assert_eq!(span.start().to_string(), "2026-01-01T11:35:00Z");
        let minute = |text: &str| MinuteStats {
            at: text.parse().unwrap(),
            tally: Tally {
                attempts: 1,
                ..Tally::default()
            },
        };
        let sums = span.sums(&[
            minute("2026-01-01T11:34:00Z"),
            minute("2026-01-01T11:35:00Z"),
            minute("2026-01-01T12:34:00Z"),
            minute("2026-01-01T12:35:00Z"),
        ]);
        let filled: Vec<usize> = (0..60).filter(|place| sums[*place].attempts > 0).collect();
        assert_eq!(filled, [0, 59]);
    }
}

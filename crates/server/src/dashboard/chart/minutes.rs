//! Charts of attempts over time.

use std::time::Duration;

use steadfast_core::{Tally, Timestamp, explain::brief};
use steadfast_store::MinuteStats;

use super::{
    Svg, SvgBuilder,
    plot::{Marker, Plot, SIZE, TimeBuckets},
    round_up,
};
use crate::{
    dashboard::format::{format_percent, thousands},
    lateness::LatenessCounts,
};

fn sums(buckets: &TimeBuckets, minutes: &[MinuteStats]) -> Vec<Tally> {
    let mut sums = vec![Tally::default(); buckets.count()];
    for minute in minutes {
        let sum = buckets
            .index(minute.at)
            .and_then(|index| sums.get_mut(index));
        if let Some(sum) = sum {
            *sum += minute.tally;
        }
    }
    sums
}

fn height(value: f64, most: f64) -> f64 {
    SIZE.1 * (value / most).clamp(0.0, 1.0)
}

/// A number that fits beside an axis.
fn short(value: u64) -> String {
    match value {
        0..10_000 => thousands(value),
        10_000..1_000_000 => format!("{}k", value / 1_000),
        _ => format!("{:.1}M", value as f64 / 1_000_000.0),
    }
}

/// Successes and failures as stacked bars, with a line for the retries among them.
pub fn throughput(buckets: &TimeBuckets, minutes: &[MinuteStats], markers: &[Marker]) -> Svg {
    let sums = sums(buckets, minutes);
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
    grid(&mut drawing);
    let width = buckets.width();
    let bar = width * 0.82;
    for (index, sum) in sums.iter().enumerate() {
        let x = index as f64 * width + (width - bar) / 2.0;
        let unfinished = match buckets.is_unfinished(index) {
            true => " unfinished",
            false => "",
        };
        let good = height(sum.successes as f64, most as f64);
        let bad = height(sum.failures as f64, most as f64);
        let mut add = |class: &str, y: f64, height: f64| {
            drawing.bar(&format!("{class}{unfinished}"), (x, y), (bar, height));
        };
        if sum.successes > 0 {
            add("good", SIZE.1 - good, good);
        }
        if sum.failures > 0 {
            add("bad", SIZE.1 - good - bad, bad);
        }
    }
    if all.retries > 0 {
        let retries = sums.iter().map(|sum| Some(sum.retries as f64));
        line(buckets, &mut drawing, "retries", retries, most as f64);
    }
    let texts = sums.iter().map(|sum| {
        let [good, bad, retries] = [sum.successes, sum.failures, sum.retries].map(thousands);
        format!("{good} succeeded, {bad} failed, {retries} retries")
    });
    let middle = match most % 2 {
        0 => short(most / 2),
        _ => String::new(),
    };
    Plot {
        texts: texts.collect(),
        labels: [short(most), middle, "0".to_owned()],
        buckets,
        drawing,
        markers,
    }
    .finish()
}

/// The share of retries among attempts.
pub fn rates(buckets: &TimeBuckets, minutes: &[MinuteStats], markers: &[Marker]) -> Svg {
    let rates: Vec<Option<f64>> = sums(buckets, minutes)
        .iter()
        .map(Tally::retry_rate)
        .collect();
    let worst = rates.iter().copied().flatten().fold(0.0, f64::max);
    let top = [0.1, 0.2, 0.5, 1.0].into_iter().find(|top| *top >= worst);
    let top = top.unwrap_or(1.0);
    let summary = format!(
        "at worst {} of attempts were retries",
        format_percent(Some(worst))
    );
    let mut drawing = SvgBuilder::new("rates", SIZE, "Retry rate over time", summary);
    grid(&mut drawing);
    line(buckets, &mut drawing, "rate", rates.iter().copied(), top);
    let texts = rates.iter().map(|rate| match rate {
        Some(_) => format!("{} retries", format_percent(*rate)),
        None => "no attempts".to_owned(),
    });
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    Plot {
        texts: texts.collect(),
        labels: [percent(top), percent(top / 2.0), "0 %".to_owned()],
        buckets,
        drawing,
        markers,
    }
    .finish()
}

const SHARES: [(&str, f64); 3] = [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)];

/// How late attempts started: what half, most and nearly all of them stayed below.
pub fn lateness(
    buckets: &TimeBuckets,
    spans: &[(Timestamp, LatenessCounts)],
    markers: &[Marker],
) -> Svg {
    let mut series = SHARES.map(|_| vec![None; buckets.count()]);
    for (at, counts) in spans {
        let Some(index) = buckets.index(*at) else {
            continue;
        };
        for ((_, share), values) in SHARES.iter().zip(&mut series) {
            values[index] = counts.quantile(*share);
        }
    }
    let all = series.iter().flatten().flatten();
    let worst = all.max().copied().unwrap_or_default();
    let top = round_up_time(worst);
    let summary = format!("at worst {}", brief(worst));
    let mut drawing = SvgBuilder::new("lateness", SIZE, "Lateness of starts over time", summary);
    grid(&mut drawing);
    for ((class, _), values) in SHARES.iter().zip(&series) {
        let values = values.iter().map(|late| late.map(|it| it.as_secs_f64()));
        line(buckets, &mut drawing, class, values, top.as_secs_f64());
    }
    let texts = (0..buckets.count()).map(|index| {
        let known = SHARES.iter().zip(&series);
        let parts = known.filter_map(|((name, _), values)| {
            values[index].map(|late| format!("{name} {}", brief(late)))
        });
        let parts: Vec<String> = parts.collect();
        match parts.is_empty() {
            true => "no starts".to_owned(),
            false => parts.join(", "),
        }
    });
    Plot {
        texts: texts.collect(),
        labels: [brief(top), brief(top / 2), "0".to_owned()],
        buckets,
        drawing,
        markers,
    }
    .finish()
}

fn round_up_time(worst: Duration) -> Duration {
    const ENDS: [u64; 14] = [
        10, 100, 200, 1_000, 2_000, 10_000, 20_000, 60_000, 120_000, 600_000, 1_200_000, 3_600_000,
        7_200_000, 21_600_000,
    ];
    let mut ends = ENDS.into_iter().map(Duration::from_millis);
    ends.find(|end| *end >= worst).unwrap_or(worst)
}

fn grid(drawing: &mut SvgBuilder) {
    for y in [0.0, SIZE.1 / 2.0] {
        drawing.line("grid", (0.0, y), (SIZE.0, y));
    }
    drawing.line("axis", (0.0, SIZE.1), (SIZE.0, SIZE.1));
}

/// A line through the buckets that have a value. It ends before the one that is not over yet, where
/// it would always fall.
fn line(
    buckets: &TimeBuckets,
    drawing: &mut SvgBuilder,
    class: &str,
    values: impl Iterator<Item = Option<f64>>,
    top: f64,
) {
    let mut part: Vec<(f64, f64)> = Vec::new();
    let mut finish = |part: &mut Vec<(f64, f64)>| {
        // A point alone would not be seen.
        if let [(x, y)] = part[..] {
            let half = buckets.width() / 2.0;
            *part = vec![(x - half, y), (x + half, y)];
        }
        if !part.is_empty() {
            drawing.path(&format!("line {class}"), part, false);
        }
        part.clear();
    };
    for (index, value) in values.enumerate() {
        match value.filter(|_| !buckets.is_unfinished(index)) {
            Some(value) => part.push((buckets.middle(index), SIZE.1 - height(value, top))),
            None => finish(&mut part),
        }
    }
    finish(&mut part);
}

/// Attempts of a queue in the last hour by the minute, as bars without axes.
pub fn queue_minutes(buckets: &TimeBuckets, attempts: &[u64]) -> Svg {
    const WIDTH: f64 = 2.0; // not a limit: layout of the drawing
    const HEIGHT: f64 = 22.0; // not a limit: layout of the drawing
    let most = attempts.iter().copied().max().unwrap_or(0);
    let sum = thousands(attempts.iter().sum());
    let summary = format!("{sum} attempts, at most {} in a minute", thousands(most));
    let size = (WIDTH * buckets.count() as f64, HEIGHT);
    let mut drawing = SvgBuilder::new("sparkline", size, "The last hour", summary);
    for (index, count) in attempts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let tall = ((HEIGHT - 1.0) * *count as f64 / most.max(1) as f64).max(1.0);
        let x = WIDTH * index as f64;
        let text = format!("{}: {}", buckets.time_of_day(index), thousands(*count));
        drawing.rect("quiet", (x, HEIGHT - tall), (WIDTH - 0.4, tall), &text);
    }
    drawing.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits;

    fn minute(text: &str, attempts: u64) -> MinuteStats {
        MinuteStats {
            at: text.parse().unwrap(),
            tally: Tally {
                attempts,
                successes: attempts,
                retries: attempts,
                ..Tally::default()
            },
        }
    }

    #[test]
    fn a_line_does_not_fall_in_the_minute_that_is_not_over() {
        let now: Timestamp = "2026-01-01T12:34:02Z".parse().unwrap();
        let buckets = TimeBuckets::new(now, limits::CHART_HOUR);
        let minutes = [
            minute("2026-01-01T12:32:00Z", 50),
            minute("2026-01-01T12:33:00Z", 50),
            minute("2026-01-01T12:34:00Z", 1),
        ];
        let chart = throughput(&buckets, &minutes, &[]).to_string();
        let path = chart.split("class=\"line retries\" d=\"").nth(1).unwrap();
        let last = path.split('"').next().unwrap().rsplit('L').next().unwrap();
        let x: f64 = last.split(' ').next().unwrap().parse().unwrap();
        assert!(x < 59.0 * buckets.width(), "{last}");
        assert!(chart.contains("class=\"good unfinished\""), "{chart}");
        assert!(chart.contains("12:33 50 succeeded, 0 failed"), "{chart}");
        assert!(chart.contains("<span>60</span><span>30</span>"), "{chart}");
    }

    #[test]
    fn labels_of_axes_stay_short() {
        let labels = [0, 9_000, 30_000, 400_000, 2_000_000].map(short);
        assert_eq!(labels, ["0", "9,000", "30k", "400k", "2.0M"]);
    }
}

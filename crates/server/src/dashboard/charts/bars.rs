//! Bars: small rows without axes, the phases of an attempt, and the two charts of a retry policy.

use std::time::Duration;

use steadfast_core::{Dice, PreviewRow, RetryPolicy, explain::brief};

use crate::{
    dashboard::{
        charts::{
            series::TimeBuckets,
            svg::{Svg, SvgBuilder},
        },
        parts::thousands,
    },
    limits,
};

/// A row of bars without axes.
struct BarRow {
    /// From one bar to the next.
    step: f64,
    gap: f64,
    height: f64,
}

/// A bar of a row: its class, its share of the full height, and what it says.
type Bar = (&'static str, f64, String);

impl BarRow {
    fn draw(&self, title: &str, summary: String, count: usize) -> SvgBuilder {
        let width = self.step * count.max(1) as f64;
        SvgBuilder::new("sparkline", (width, self.height), title, summary)
    }

    /// Where the top of a bar of this share is. The lowest bar can still be seen.
    fn top(&self, share: f64) -> f64 {
        self.height - 1.0 - (self.height - 3.0) * share.clamp(0.0, 1.0)
    }

    fn add(&self, drawing: &mut SvgBuilder, index: usize, (class, share, title): Bar) {
        let (x, y) = (self.step * index as f64, self.top(share));
        let size = (self.step - self.gap, self.height - y);
        drawing.rect(class, (x, y), size, &title);
    }
}

/// Jobs that become due, minute by minute, with a line at the rate of the last successes.
pub fn upcoming(due: &[f64], throughput: Option<u64>) -> Svg {
    const ROW: BarRow = BarRow {
        step: 3.0,
        gap: 0.5,
        height: 28.0,
    };
    let most = due.iter().copied().fold(1.0, f64::max);
    let summary = format!("at most {most:.0} in a minute");
    let mut drawing = ROW.draw("Due by the minute", summary, due.len());
    for (index, value) in due.iter().enumerate() {
        let is_above = throughput.is_some_and(|throughput| *value > throughput as f64);
        let class = match *value >= 0.5 {
            true if is_above => "bad",
            true => "good",
            false => "none",
        };
        let bar = (class, value / most, format!("{value:.0} in {index} min"));
        ROW.add(&mut drawing, index, bar);
    }
    if let Some(throughput) = throughput.filter(|it| *it as f64 <= most) {
        let y = ROW.top(throughput as f64 / most);
        drawing.line("grid", (0.0, y), (ROW.step * due.len() as f64, y));
    }
    drawing.finish()
}

/// The last day of counts by the hour, the current hour last.
pub fn sparkline(hours: &[u64]) -> Svg {
    const ROW: BarRow = BarRow {
        step: 5.0,
        gap: 1.0,
        height: 22.0,
    };
    const DAY_HOURS: usize = 24; // not a limit: a day
    let day = &hours[hours.len().saturating_sub(DAY_HOURS)..];
    let most = day.iter().copied().max().unwrap_or(0).max(1);
    let sum = thousands(day.iter().sum());
    let summary = format!("{sum} in total, at most {} in an hour", thousands(most));
    let mut drawing = ROW.draw("The last 24 hours", summary, day.len());
    for (index, count) in day.iter().enumerate() {
        let ago = match day.len() - 1 - index {
            0 => "this hour".to_owned(),
            1 => "the hour before".to_owned(),
            hours => format!("{hours} hours ago"),
        };
        let class = if *count == 0 { "none" } else { "bad" };
        let title = format!("{}, {ago}", thousands(*count));
        let share = *count as f64 / most as f64;
        ROW.add(&mut drawing, index, (class, share, title));
    }
    drawing.finish()
}

/// Attempts of a queue in the last hour by the minute.
pub fn queue_minutes(buckets: &TimeBuckets, attempts: &[u64]) -> Svg {
    const ROW: BarRow = BarRow {
        step: 2.0,
        gap: 0.4,
        height: 22.0,
    };
    let most = attempts.iter().copied().max().unwrap_or(0);
    let sum = thousands(attempts.iter().sum());
    let summary = format!("{sum} attempts, at most {} in a minute", thousands(most));
    let mut drawing = ROW.draw("The last hour", summary, buckets.count());
    for (index, count) in attempts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let share = *count as f64 / most.max(1) as f64;
        let title = format!("{}: {}", buckets.time_of_day(index), thousands(*count));
        ROW.add(&mut drawing, index, ("quiet", share, title));
    }
    drawing.finish()
}

const RUN_STEP: f64 = 14.0; // not a limit: layout of the drawing
const RUNS_HEIGHT: f64 = 22.0; // not a limit: layout of the drawing

/// The last runs of a schedule, oldest first. Each mark is a class and a tooltip. Its height differs by class, too.
pub fn last_runs(marks: &[(&'static str, String)]) -> Svg {
    let width = RUN_STEP * marks.len().max(1) as f64;
    let summary: Vec<&str> = marks.iter().map(|(_, tooltip)| tooltip.as_str()).collect();
    let title = format!("The last {} runs", marks.len());
    let mut drawing = SvgBuilder::new("runs", (width, RUNS_HEIGHT), &title, summary.join("; "));
    for (index, (class, tooltip)) in marks.iter().enumerate() {
        let x = RUN_STEP * index as f64 + 2.0;
        let height = match *class {
            "good" | "bad" => 18.0,
            "running" => 12.0,
            _ => 6.0,
        };
        drawing.rect(
            class,
            (x, RUNS_HEIGHT - 2.0 - height),
            (10.0, height),
            tooltip,
        );
        if *class == "bad" {
            drawing.text("mark", (x + 5.0, RUNS_HEIGHT - 7.0), "middle", "✕");
        }
    }
    drawing.finish()
}

const PHASES_WIDTH: f64 = 900.0; // not a limit: layout of the drawing
const PHASES_HEIGHT: f64 = 10.0; // not a limit: layout of the drawing
/// A thinner part could not be seen.
const PHASE_MIN: f64 = 3.0; // not a limit: layout of the drawing

/// Where the time of one attempt went. Each part has the ending of its class, and its time.
pub fn phases(parts: &[(&str, Duration)], summary: String) -> Svg {
    let mut drawing = SvgBuilder::new("phases", (PHASES_WIDTH, PHASES_HEIGHT), "Phases", summary);
    let least: f64 = parts.iter().map(|_| PHASE_MIN).sum();
    let sum: f64 = parts.iter().map(|(_, took)| took.as_secs_f64()).sum();
    let mut x = 0.0;
    for (name, took) in parts {
        let share = match sum > 0.0 {
            true => took.as_secs_f64() / sum,
            false => 0.0,
        };
        let width = PHASE_MIN + share * (PHASES_WIDTH - least);
        let class = format!("phase-{name}");
        drawing.rect(&class, (x, 0.0), (width, PHASES_HEIGHT), name);
        x += width;
    }
    // It has no text, so it may be as wide as its place.
    drawing.stretched()
}

const WIDTH: f64 = 720.0; // not a limit: layout of the drawing
const LEFT: f64 = 92.0; // not a limit: layout of the drawing
const TOP: f64 = 12.0; // not a limit: layout of the drawing
const BOTTOM: f64 = 190.0; // not a limit: layout of the drawing
const BINS: usize = 80; // not a limit: layout of the drawing

/// The delay before each retry: a band from the shortest to the longest, and the typical one.
/// The axis is logarithmic, so that seconds and hours can both be read.
pub fn curve(rows: &[PreviewRow]) -> Svg {
    let retries: Vec<&PreviewRow> = rows.iter().filter(|row| row.attempt > 1).collect();
    let summary: Vec<String> = retries
        .iter()
        .map(|row| {
            format!(
                "retry {} after {}",
                row.attempt - 1,
                brief(row.delay.typical)
            )
        })
        .collect();
    let size = (WIDTH, 224.0);
    let mut drawing = SvgBuilder::new("curve", size, "Delay before each retry", summary.join(", "));
    let millis = |duration: Duration| 1.0 + duration.as_secs_f64() * 1_000.0;
    let typical = retries.iter().map(|row| row.delay.typical);
    let most = retries.iter().map(|row| row.delay.max).max();
    let most = most.unwrap_or_default();
    let least = typical.min().unwrap_or_default() / 8;
    let (low, high) = (millis(least).ln(), (millis(most) * 1.2).ln());
    let y = |duration: Duration| {
        let share = (millis(duration).ln() - low) / (high - low).max(0.1);
        BOTTOM - (BOTTOM - TOP) * share.clamp(0.0, 1.0)
    };
    let step = (WIDTH - LEFT - 30.0) / (retries.len().max(2) - 1) as f64;
    let x = |index: usize| LEFT + 10.0 + step * index as f64;
    drawing.line("axis", (LEFT, BOTTOM), (WIDTH, BOTTOM));
    for mark in marks(least, most) {
        drawing.line("grid", (LEFT, y(mark)), (WIDTH, y(mark)));
        drawing.text("label", (LEFT - 6.0, y(mark) + 4.0), "end", &brief(mark));
    }
    let line = |of: fn(&PreviewRow) -> Duration| {
        let points = retries.iter().enumerate();
        points
            .map(|(index, row)| (x(index), y(of(row))))
            .collect::<Vec<_>>()
    };
    let mut band = line(|row| row.delay.max);
    band.extend(line(|row| row.delay.min).into_iter().rev());
    drawing.path("band", &band, true);
    drawing.path("middle", &line(|row| row.delay.typical), false);
    let label_every = retries.len().div_ceil(20).max(1);
    for (index, row) in retries.iter().enumerate() {
        let tooltip = format!(
            "retry {}: {} to {}",
            row.attempt - 1,
            brief(row.delay.min),
            brief(row.delay.max)
        );
        drawing.dot("middle", (x(index), y(row.delay.typical)), &tooltip);
        if index.is_multiple_of(label_every) {
            let name = format!("{}", row.attempt - 1);
            drawing.text("label", (x(index), BOTTOM + 18.0), "middle", &name);
        }
    }
    drawing.finish()
}

/// Round durations for the axis between two others.
fn marks(least: Duration, most: Duration) -> Vec<Duration> {
    let round = [
        10,
        100,
        1_000,
        10_000,
        60_000,
        600_000,
        3_600_000,
        21_600_000,
        86_400_000,
        604_800_000,
        2_592_000_000,
    ];
    let all = round.map(Duration::from_millis).into_iter();
    all.filter(|mark| *mark >= least && *mark <= most * 2)
        .collect()
}

/// When a thundering herd comes back: how many jobs in each bin of time, with and without jitter.
pub struct HerdChart {
    pub picture: Svg,
    /// Jobs in the fullest bin.
    pub peak: u64,
    pub peak_without: u64,
    pub bin: Duration,
}

/// Many jobs fail at the same moment; this is when they come back for retry `retry`.
pub fn herd(policy: &RetryPolicy, without_jitter: &RetryPolicy, retry: usize) -> HerdChart {
    let with = return_times(policy, retry);
    let without = return_times(without_jitter, retry);
    let end = with.iter().chain(&without).max().copied();
    let end = end.unwrap_or_default().max(Duration::from_millis(1));
    let (with, without) = (bins(&with, end), bins(&without, end));
    let peak = with.iter().max().copied().unwrap_or(0);
    let peak_without = without.iter().max().copied().unwrap_or(0);
    let summary = format!(
        "at most {} jobs at once with jitter, {} without",
        thousands(peak),
        thousands(peak_without)
    );
    let size = (WIDTH, 250.0);
    let title = format!(
        "{} jobs that failed together come back",
        thousands(limits::HERD_JOBS)
    );
    let mut drawing = SvgBuilder::new("herd", size, &title, summary);
    let width = (WIDTH - LEFT) / BINS as f64;
    for (name, class, bins, top, bottom) in [
        ("no jitter", "bad", &without, 14.0, 104.0),
        ("this policy", "good", &with, 128.0, 218.0),
    ] {
        drawing.line("axis", (LEFT, bottom), (WIDTH, bottom));
        drawing.text("label", (LEFT - 6.0, bottom), "end", name);
        let most = bins.iter().max().copied().unwrap_or(0);
        drawing.text("label", (LEFT - 6.0, top + 8.0), "end", &thousands(most));
        for (index, number) in bins.iter().enumerate().filter(|(_, number)| **number > 0) {
            let height = (bottom - top) * *number as f64 / most.max(1) as f64;
            let x = LEFT + width * index as f64;
            let tooltip = format!("{} jobs", thousands(*number));
            let height = height.max(1.0);
            drawing.rect(
                class,
                (x, bottom - height),
                ((width - 1.0).max(2.0), height),
                &tooltip,
            );
        }
    }
    for quarter in 0..5_u32 {
        let x = LEFT + (WIDTH - LEFT) * f64::from(quarter) / 4.0;
        let anchor = if quarter == 4 { "end" } else { "start" };
        drawing.text("label", (x, 238.0), anchor, &brief(end * quarter / 4));
    }
    HerdChart {
        picture: drawing.finish(),
        peak,
        peak_without,
        bin: end / u32::try_from(BINS).unwrap_or(1),
    }
}

fn return_times(policy: &RetryPolicy, retry: usize) -> Vec<Duration> {
    let mut random = 0x5eed_u64;
    let return_time = |_| {
        let delays = policy.delays_after(0, Duration::ZERO, None, || {
            Dice::new(next_random(&mut random))
        });
        let delays = delays.iter().take(retry);
        delays.map(|delay| delay.jittered).sum()
    };
    (0..limits::HERD_JOBS).map(return_time).collect()
}

fn bins(times: &[Duration], end: Duration) -> Vec<u64> {
    let mut bins = vec![0; BINS];
    for time in times {
        let index = time.as_micros() * BINS as u128 / end.as_micros().max(1);
        let index = usize::try_from(index).unwrap_or(BINS).min(BINS - 1);
        bins[index] += 1;
    }
    bins
}

/// The same numbers each time, so that the chart changes only when the policy does. (SplitMix64)
fn next_random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use steadfast_core::{Jitter, Preset};

    use super::*;

    #[test]
    fn jitter_spreads_a_herd_and_its_absence_does_not() {
        let policy = Preset::Queue.policy();
        let without_jitter = policy.to_patch().jitter(Jitter::None).build().unwrap();
        let herd = herd(&policy, &without_jitter, 1);
        assert_eq!(herd.peak_without, limits::HERD_JOBS);
        assert!(herd.peak < 40, "{}", herd.peak);
    }

    #[test]
    fn the_first_and_last_bin_count_their_edges() {
        let times: Vec<Duration> = (0..=100).map(Duration::from_millis).collect();
        let bins = bins(&times, Duration::from_millis(100));
        assert_eq!(bins.iter().sum::<u64>(), 101);
    }
}

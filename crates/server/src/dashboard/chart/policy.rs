//! Charts of a retry policy: how delays grow, and when jobs that failed together come back.

use std::time::Duration;

use steadfast_core::{Dice, PreviewRow, RetryPolicy, explain::brief};

use super::{Svg, SvgBuilder};
use crate::{dashboard::format::thousands, limits};

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
    fn no_time_is_lost_at_the_edges() {
        let times: Vec<Duration> = (0..=100).map(Duration::from_millis).collect();
        let bins = bins(&times, Duration::from_millis(100));
        assert_eq!(bins.iter().sum::<u64>(), 101);
    }
}

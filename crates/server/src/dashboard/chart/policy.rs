//! What a policy does, as pictures: how waits grow, and how a crowd comes back.

use std::time::Duration;

use steadfast_core::{Dice, PreviewRow, RetryPolicy};

use super::{Drawing, Svg};
use crate::dashboard::shown::{count, short};

const WIDTH: f64 = 720.0;
const LEFT: f64 = 92.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 190.0;
/// The jobs that fail together.
pub const CROWD: u64 = 1_000;
const BINS: usize = 80;

/// The wait before each retry: a band from the luckiest roll to the unluckiest, and the middle.
/// The axis is logarithmic, so that seconds and hours can both be read.
pub fn curve(rows: &[PreviewRow]) -> Svg {
    let retries: Vec<&PreviewRow> = rows.iter().filter(|row| row.attempt > 1).collect();
    let summary: Vec<String> = retries
        .iter()
        .map(|row| {
            format!(
                "retry {} after {}",
                row.attempt - 1,
                short(row.delay.typical)
            )
        })
        .collect();
    let size = (WIDTH, 224.0);
    let mut drawing = Drawing::new("curve", size, "Wait before each retry", summary.join(", "));
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
    let x = |place: usize| LEFT + 10.0 + step * place as f64;
    drawing.line("axis", (LEFT, BOTTOM), (WIDTH, BOTTOM));
    for mark in marks(least, most) {
        drawing.line("grid", (LEFT, y(mark)), (WIDTH, y(mark)));
        drawing.text("label", (LEFT - 6.0, y(mark) + 4.0), "end", &short(mark));
    }
    let line = |of: fn(&PreviewRow) -> Duration| {
        let points = retries.iter().enumerate();
        points
            .map(|(place, row)| (x(place), y(of(row))))
            .collect::<Vec<_>>()
    };
    let mut band = line(|row| row.delay.max);
    band.extend(line(|row| row.delay.min).into_iter().rev());
    drawing.path("band", &band, true);
    drawing.path("middle", &line(|row| row.delay.typical), false);
    let every = retries.len().div_ceil(20).max(1);
    for (place, row) in retries.iter().enumerate() {
        let said = format!(
            "retry {}: {} to {}",
            row.attempt - 1,
            short(row.delay.min),
            short(row.delay.max)
        );
        drawing.dot("middle", (x(place), y(row.delay.typical)), &said);
        if place.is_multiple_of(every) {
            let name = format!("{}", row.attempt - 1);
            drawing.text("label", (x(place), BOTTOM + 18.0), "middle", &name);
        }
    }
    drawing.done()
}

/// Round durations between two others.
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

/// When a crowd comes back: for each bin of time, how many, with and without jitter.
pub struct Herd {
    pub picture: Svg,
    /// The fullest bins.
    pub peak: u64,
    pub peak_without: u64,
    pub bin: Duration,
}

/// A thousand jobs fail in the same moment; this is when they are back for retry `retry`.
pub fn herd(policy: &RetryPolicy, plain: &RetryPolicy, retry: usize) -> Herd {
    let with = returns(policy, retry);
    let without = returns(plain, retry);
    let end = with.iter().chain(&without).max().copied();
    let end = end.unwrap_or_default().max(Duration::from_millis(1));
    let (with, without) = (bins(&with, end), bins(&without, end));
    let peak = with.iter().max().copied().unwrap_or(0);
    let peak_without = without.iter().max().copied().unwrap_or(0);
    let summary = format!(
        "at most {} jobs at once with jitter, {} without",
        count(peak),
        count(peak_without)
    );
    let size = (WIDTH, 250.0);
    let title = format!("{} jobs that failed together come back", count(CROWD));
    let mut drawing = Drawing::new("herd", size, &title, summary);
    let width = (WIDTH - LEFT) / BINS as f64;
    for (name, class, bins, top, bottom) in [
        ("no jitter", "bad", &without, 14.0, 104.0),
        ("this policy", "good", &with, 128.0, 218.0),
    ] {
        drawing.line("axis", (LEFT, bottom), (WIDTH, bottom));
        drawing.text("label", (LEFT - 6.0, bottom), "end", name);
        let most = bins.iter().max().copied().unwrap_or(0);
        drawing.text("label", (LEFT - 6.0, top + 8.0), "end", &count(most));
        for (place, number) in bins.iter().enumerate().filter(|(_, number)| **number > 0) {
            let height = (bottom - top) * *number as f64 / most.max(1) as f64;
            let x = LEFT + width * place as f64;
            let said = format!("{} jobs", count(*number));
            let height = height.max(1.0);
            drawing.rect(
                class,
                (x, bottom - height),
                ((width - 1.0).max(2.0), height),
                &said,
            );
        }
    }
    for quarter in 0..5_u32 {
        let x = LEFT + (WIDTH - LEFT) * f64::from(quarter) / 4.0;
        let anchor = if quarter == 4 { "end" } else { "start" };
        drawing.text("label", (x, 238.0), anchor, &short(end * quarter / 4));
    }
    Herd {
        picture: drawing.done(),
        peak,
        peak_without,
        bin: end / u32::try_from(BINS).unwrap_or(1),
    }
}

fn returns(policy: &RetryPolicy, retry: usize) -> Vec<Duration> {
    let mut random = 0x5eed_u64;
    let of_one = |_| {
        let delays = policy.delays_after(0, Duration::ZERO, None, || Dice::new(next(&mut random)));
        let waited = delays.iter().take(retry);
        waited.map(|delay| delay.jittered).sum()
    };
    (0..CROWD).map(of_one).collect()
}

fn bins(times: &[Duration], end: Duration) -> Vec<u64> {
    let mut bins = vec![0; BINS];
    for time in times {
        let place = time.as_micros() * BINS as u128 / end.as_micros().max(1);
        let place = usize::try_from(place).unwrap_or(BINS).min(BINS - 1);
        bins[place] += 1;
    }
    bins
}

/// The same rolls each time, so that a picture changes only when the policy does. (SplitMix64)
fn next(state: &mut u64) -> u64 {
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
    fn jitter_spreads_a_crowd_and_its_absence_does_not() {
        let policy = Preset::Queue.policy();
        let plain = policy.to_patch().jitter(Jitter::None).build().unwrap();
        let herd = herd(&policy, &plain, 1);
        assert_eq!(herd.peak_without, CROWD);
        assert!(herd.peak < 40, "{}", herd.peak);
    }

    #[test]
    fn nobody_is_lost_at_the_edges() {
        let times: Vec<Duration> = (0..=100).map(Duration::from_millis).collect();
        let bins = bins(&times, Duration::from_millis(100));
        assert_eq!(bins.iter().sum::<u64>(), 101);
    }
}

//! The timeline of a job: attempts as bars, waits as gaps, the future dashed.
//!
//! A request takes milliseconds and the wait after it an hour. On a linear axis one of them
//! would vanish, so if they differ much, widths grow with the logarithm of time; each segment
//! is labelled with its real length.

use std::time::Duration;

use steadfast_core::explain::brief;

use crate::dashboard::charts::svg::{Svg, SvgBuilder};

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    Good,
    Bad,
    /// Neither: released, snoozed, cancelled.
    Grey,
    Running,
    /// Upcoming.
    Future,
}

/// A part of the timeline.
pub enum Segment {
    Attempt {
        number: u32,
        duration: Duration,
        mark: Mark,
        tooltip: String,
    },
    Wait {
        duration: Duration,
        /// It has not ended.
        is_future: bool,
    },
}

const WIDTH: f64 = 960.0; // not a limit: layout of the drawing
const HEIGHT: f64 = 132.0; // not a limit: layout of the drawing
const MIDDLE: f64 = 62.0; // not a limit: layout of the drawing
const BAR: f64 = 44.0; // not a limit: layout of the drawing
/// A thinner bar could not be seen.
const BAR_MIN: f64 = 16.0; // not a limit: layout of the drawing
/// The length of a thinner gap could not be read.
const GAP_MIN: f64 = 34.0; // not a limit: layout of the drawing
/// The width of a letter.
const LETTER: f64 = 7.5; // not a limit: layout of the drawing
/// If the longest segment is more than this many times the shortest, the axis is logarithmic.
const LINEAR_RATIO_MAX: f64 = 12.0; // not a limit: layout of the drawing

pub fn timeline(segments: &[Segment], summary: String) -> Svg {
    let mut drawing = SvgBuilder::new("timeline", (WIDTH, HEIGHT), "Attempts over time", summary);
    let widths = widths(segments);
    let (mut waits, mut names, mut lengths) = (0.0, 0.0, 0.0);
    let mut x = 6.0;
    for (segment, width) in segments.iter().zip(widths) {
        match segment {
            Segment::Wait {
                duration,
                is_future,
            } => {
                let class = if *is_future { "wait ahead" } else { "wait" };
                drawing.line(class, (x, MIDDLE), (x + width, MIDDLE));
                let text = brief(*duration);
                if let Some(at) = place(&mut waits, x + width / 2.0, &text) {
                    drawing.text("label", (at, MIDDLE - 8.0), "middle", &text);
                }
            }
            Segment::Attempt {
                number,
                duration,
                mark,
                tooltip,
            } => {
                let (class, sign) = match mark {
                    Mark::Good => ("good", "✓"),
                    Mark::Bad => ("bad", "✕"),
                    Mark::Grey => ("grey", "–"),
                    Mark::Running => ("running", "▸"),
                    Mark::Future => ("future", "?"),
                };
                let top = MIDDLE - BAR / 2.0;
                drawing.rect(class, (x, top), (width, BAR), tooltip);
                let middle = x + width / 2.0;
                drawing.text("sign", (middle, MIDDLE + 5.0), "middle", sign);
                let name = format!("#{number}");
                if let Some(at) = place(&mut names, middle, &name) {
                    drawing.text("name", (at, top - 8.0), "middle", &name);
                }
                let text = brief(*duration);
                if *mark != Mark::Future
                    && let Some(at) = place(&mut lengths, middle, &text)
                {
                    let below = MIDDLE + BAR / 2.0 + 16.0;
                    drawing.text("label", (at, below), "middle", &text);
                }
            }
        }
        x += width;
    }
    drawing.finish()
}

/// The middle of a text near a place, if it does not run into the one before it, which ends at
/// `taken`. It does not leave the drawing.
fn place(taken: &mut f64, middle: f64, text: &str) -> Option<f64> {
    let half = text.chars().count() as f64 * LETTER / 2.0;
    let middle = middle.clamp(half, WIDTH - half);
    if middle - half < *taken {
        return None;
    }
    *taken = middle + half + LETTER;
    Some(middle)
}

/// Whether the axis is logarithmic, which its reader should know.
pub fn is_logarithmic(segments: &[Segment]) -> bool {
    let lengths = segments.iter().map(Segment::seconds);
    let (least, most) = lengths.fold((f64::MAX, 0.0_f64), |(least, most), it| {
        (least.min(it), most.max(it))
    });
    most > LINEAR_RATIO_MAX * least.max(0.001)
}

impl Segment {
    fn seconds(&self) -> f64 {
        match self {
            Self::Attempt { duration, .. } | Self::Wait { duration, .. } => duration.as_secs_f64(),
        }
    }

    fn width_min(&self) -> f64 {
        match self {
            Self::Attempt { .. } => BAR_MIN,
            Self::Wait { .. } => GAP_MIN,
        }
    }
}

fn widths(segments: &[Segment]) -> Vec<f64> {
    let is_logarithmic = is_logarithmic(segments);
    let weights: Vec<f64> = segments
        .iter()
        .map(|segment| {
            if is_logarithmic {
                (1.0 + segment.seconds() * 1_000.0).ln()
            } else {
                segment.seconds()
            }
        })
        .collect();
    let least: f64 = segments.iter().map(Segment::width_min).sum();
    let room = (WIDTH - 12.0 - least).max(0.0);
    let sum: f64 = weights.iter().sum();
    let squeeze = ((WIDTH - 12.0) / least.max(1.0)).min(1.0);
    let shares = segments.iter().zip(weights);
    shares
        .map(|(segment, weight)| {
            let share = if sum > 0.0 { room * weight / sum } else { 0.0 };
            // Without a bound, a single attempt would fill the page.
            segment.width_min() * squeeze + share.min(220.0)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(millis: u64) -> Segment {
        Segment::Attempt {
            number: 1,
            duration: Duration::from_millis(millis),
            mark: Mark::Bad,
            tooltip: "failed".to_owned(),
        }
    }

    fn wait(seconds: u64) -> Segment {
        Segment::Wait {
            duration: Duration::from_secs(seconds),
            is_future: false,
        }
    }

    #[test]
    fn a_short_attempt_stays_visible_beside_a_long_wait() {
        let segments = [attempt(5), wait(3_600), attempt(5)];
        let widths = widths(&segments);
        assert!(widths[0] >= BAR_MIN && widths[1] > widths[0], "{widths:?}");
        assert!(widths.iter().sum::<f64>() <= WIDTH, "{widths:?}");
    }

    #[test]
    fn labels_do_not_run_into_each_other_or_out_of_the_drawing() {
        let mut taken = 0.0;
        assert_eq!(place(&mut taken, 2.0, "#1"), Some(LETTER));
        assert_eq!(place(&mut taken, 14.0, "#2"), None);
        assert_eq!(place(&mut taken, 60.0, "#3"), Some(60.0));
        assert_eq!(place(&mut taken, WIDTH, "#99"), Some(WIDTH - 1.5 * LETTER));
    }

    #[test]
    fn a_hundred_attempts_fit() {
        let segments: Vec<Segment> = (0..100).flat_map(|_| [attempt(5), wait(1)]).collect();
        let sum: f64 = widths(&segments).iter().sum();
        assert!(sum <= WIDTH, "{sum}");
    }
}

//! A job's life as a picture: attempts as bars, waits as gaps, the future dashed.
//!
//! A request takes milliseconds and the wait after it an hour. On an even axis one of them
//! would vanish, so where they differ much, widths grow with the logarithm of time; each
//! stretch says how long it really is.

use std::time::Duration;

use super::{Drawing, Svg};
use crate::dashboard::shown::short;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    Good,
    Bad,
    /// Neither: given back, snoozed, cancelled.
    Grey,
    Running,
    /// Has not happened.
    Future,
}

/// A piece of the line of time.
pub enum Segment {
    Attempt {
        number: u32,
        took: Duration,
        mark: Mark,
        said: String,
    },
    /// `ahead` if it is not over.
    Wait { long: Duration, ahead: bool },
}

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 132.0;
const MIDDLE: f64 = 62.0;
const BAR: f64 = 44.0;
/// No bar is thinner, or it could not be seen; no gap is, or its length could not be read.
const BAR_MIN: f64 = 16.0;
const GAP_MIN: f64 = 34.0;
/// Where the longest stretch is this many times the shortest, the axis bends.
const EVEN_MAX: f64 = 12.0;

pub fn timeline(segments: &[Segment], summary: String) -> Svg {
    let mut drawing = Drawing::new("timeline", (WIDTH, HEIGHT), "Attempts over time", summary);
    let widths = widths(segments);
    let mut x = 6.0;
    for (stretch, width) in segments.iter().zip(widths) {
        match stretch {
            Segment::Wait { long, ahead } => {
                let class = if *ahead { "wait ahead" } else { "wait" };
                drawing.line(class, (x, MIDDLE), (x + width, MIDDLE));
                let middle = (x + width / 2.0, MIDDLE - 8.0);
                drawing.text("label", middle, "middle", &short(*long));
            }
            Segment::Attempt {
                number,
                took,
                mark,
                said,
            } => {
                let (class, sign) = match mark {
                    Mark::Good => ("good", "✓"),
                    Mark::Bad => ("bad", "✕"),
                    Mark::Grey => ("grey", "–"),
                    Mark::Running => ("running", "▸"),
                    Mark::Future => ("future", "?"),
                };
                let top = MIDDLE - BAR / 2.0;
                drawing.rect(class, (x, top), (width, BAR), said);
                let middle = x + width / 2.0;
                drawing.text("sign", (middle, MIDDLE + 5.0), "middle", sign);
                let name = format!("#{number}");
                drawing.text("name", (middle, top - 8.0), "middle", &name);
                if *mark != Mark::Future {
                    let below = (middle, MIDDLE + BAR / 2.0 + 16.0);
                    drawing.text("label", below, "middle", &short(*took));
                }
            }
        }
        x += width;
    }
    drawing.done()
}

/// Whether the picture has to bend time, which its reader should know.
pub fn is_bent(segments: &[Segment]) -> bool {
    let lengths = segments.iter().map(|stretch| stretch.seconds());
    let (least, most) = lengths.fold((f64::MAX, 0.0_f64), |(least, most), it| {
        (least.min(it), most.max(it))
    });
    most > EVEN_MAX * least.max(0.001)
}

impl Segment {
    fn seconds(&self) -> f64 {
        match self {
            Self::Attempt { took, .. } => took.as_secs_f64(),
            Self::Wait { long, .. } => long.as_secs_f64(),
        }
    }

    fn least(&self) -> f64 {
        match self {
            Self::Attempt { .. } => BAR_MIN,
            Self::Wait { .. } => GAP_MIN,
        }
    }
}

fn widths(segments: &[Segment]) -> Vec<f64> {
    let is_bent = is_bent(segments);
    let weights: Vec<f64> = segments
        .iter()
        .map(|stretch| match is_bent {
            true => (1.0 + stretch.seconds() * 1_000.0).ln(),
            false => stretch.seconds(),
        })
        .collect();
    let least: f64 = segments.iter().map(Segment::least).sum();
    let room = (WIDTH - 12.0 - least).max(0.0);
    let sum: f64 = weights.iter().sum();
    let squeeze = ((WIDTH - 12.0) / least.max(1.0)).min(1.0);
    let shares = segments.iter().zip(weights);
    shares
        .map(|(stretch, weight)| {
            let share = if sum > 0.0 { room * weight / sum } else { 0.0 };
            // One attempt alone would fill the page.
            stretch.least() * squeeze + share.min(220.0)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(millis: u64) -> Segment {
        Segment::Attempt {
            number: 1,
            took: Duration::from_millis(millis),
            mark: Mark::Bad,
            said: "failed".to_owned(),
        }
    }

    fn wait(seconds: u64) -> Segment {
        Segment::Wait {
            long: Duration::from_secs(seconds),
            ahead: false,
        }
    }

    #[test]
    fn a_short_attempt_is_seen_beside_a_long_wait() {
        let segments = [attempt(5), wait(3_600), attempt(5)];
        let widths = widths(&segments);
        assert!(widths[0] >= BAR_MIN && widths[1] > widths[0], "{widths:?}");
        assert!(widths.iter().sum::<f64>() <= WIDTH, "{widths:?}");
    }

    #[test]
    fn a_hundred_attempts_fit() {
        let segments: Vec<Segment> = (0..100).flat_map(|_| [attempt(5), wait(1)]).collect();
        let sum: f64 = widths(&segments).iter().sum();
        assert!(sum <= WIDTH, "{sum}");
    }
}

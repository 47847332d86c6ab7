//! Where the time of one attempt went: a bar in parts.

use std::time::Duration;

use super::{Svg, SvgBuilder};

const WIDTH: f64 = 900.0; // not a limit: layout of the drawing
const HEIGHT: f64 = 10.0; // not a limit: layout of the drawing
/// A thinner part could not be seen.
const PART_MIN: f64 = 3.0; // not a limit: layout of the drawing

/// Each part has the ending of its class, and its time.
pub fn phases(parts: &[(&str, Duration)], summary: String) -> Svg {
    let mut drawing = SvgBuilder::new("phases", (WIDTH, HEIGHT), "Phases", summary);
    let least: f64 = parts.iter().map(|_| PART_MIN).sum();
    let sum: f64 = parts.iter().map(|(_, took)| took.as_secs_f64()).sum();
    let mut x = 0.0;
    for (name, took) in parts {
        let share = match sum > 0.0 {
            true => took.as_secs_f64() / sum,
            false => 0.0,
        };
        let width = PART_MIN + share * (WIDTH - least);
        let class = format!("phase-{name}");
        drawing.rect(&class, (x, 0.0), (width, HEIGHT), name);
        x += width;
    }
    let Svg(text) = drawing.finish();
    // It has no text, so it may be as wide as its place.
    Svg(text.replacen("<svg ", "<svg preserveAspectRatio=\"none\" ", 1))
}

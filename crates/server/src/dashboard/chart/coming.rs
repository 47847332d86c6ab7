//! What is coming, as a row of bars without axes.

use super::{Svg, SvgBuilder};

const STEP: f64 = 3.0; // not a limit: layout of the drawing
const HEIGHT: f64 = 28.0; // not a limit: layout of the drawing

/// Jobs that become due, minute by minute, with a line at what lately succeeded in one.
pub fn coming(due: &[f64], sustained: Option<u64>) -> Svg {
    let most = due.iter().copied().fold(1.0, f64::max);
    let summary = format!("at most {most:.0} in a minute");
    let width = STEP * due.len().max(1) as f64;
    let mut drawing = SvgBuilder::new("sparkline", (width, HEIGHT), "Due by the minute", summary);
    let place = |value: f64| HEIGHT - 1.0 - (HEIGHT - 3.0) * (value / most).min(1.0);
    for (index, value) in due.iter().enumerate() {
        let is_above = sustained.is_some_and(|sustained| *value > sustained as f64);
        let class = match *value >= 0.5 {
            true if is_above => "bad",
            true => "good",
            false => "none",
        };
        let (x, y) = (STEP * index as f64, place(*value));
        let title = format!("{value:.0} in {index} min");
        drawing.rect(class, (x, y), (STEP - 0.5, HEIGHT - y), &title);
    }
    if let Some(sustained) = sustained.filter(|it| *it as f64 <= most) {
        let y = place(sustained as f64);
        drawing.line("grid", (0.0, y), (width, y));
    }
    drawing.finish()
}

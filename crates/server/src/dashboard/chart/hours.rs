//! Counts by the hour, as a row of bars without axes.

use super::{Svg, SvgBuilder};
use crate::dashboard::format::thousands;

const STEP: f64 = 5.0; // not a limit: layout of the drawing
const HEIGHT: f64 = 22.0; // not a limit: layout of the drawing
const DAY_HOURS: usize = 24; // not a limit: a day

/// The last day of counts by the hour, the present hour last.
pub fn sparkline(hours: &[u64]) -> Svg {
    let day = &hours[hours.len().saturating_sub(DAY_HOURS)..];
    let most = day.iter().copied().max().unwrap_or(0).max(1);
    let sum = thousands(day.iter().sum());
    let summary = format!("{sum} in all, at most {} in an hour", thousands(most));
    let width = STEP * day.len().max(1) as f64;
    let mut drawing = SvgBuilder::new("sparkline", (width, HEIGHT), "The last 24 hours", summary);
    for (index, count) in day.iter().enumerate() {
        let ago = match day.len() - 1 - index {
            0 => "this hour".to_owned(),
            1 => "the hour before".to_owned(),
            hours => format!("{hours} hours ago"),
        };
        let height = match count {
            0 => 1.0,
            _ => 2.0 + (HEIGHT - 4.0) * *count as f64 / most as f64,
        };
        let class = if *count == 0 { "none" } else { "bad" };
        let place = (STEP * index as f64, HEIGHT - height);
        let title = format!("{}, {ago}", thousands(*count));
        drawing.rect(class, place, (STEP - 1.0, height), &title);
    }
    drawing.finish()
}

//! The last runs of a schedule, oldest first, as a row of marks.

use super::{Svg, SvgBuilder};

const STEP: f64 = 14.0; // not a limit: layout of the drawing
const HEIGHT: f64 = 22.0; // not a limit: layout of the drawing

/// Each mark is a class and a tooltip. Its height differs by class, too.
pub fn strip(marks: &[(&'static str, String)]) -> Svg {
    let width = STEP * marks.len().max(1) as f64;
    let summary: Vec<&str> = marks.iter().map(|(_, tooltip)| tooltip.as_str()).collect();
    let title = format!("The last {} runs", marks.len());
    let mut drawing = SvgBuilder::new("strip", (width, HEIGHT), &title, summary.join("; "));
    for (index, (class, tooltip)) in marks.iter().enumerate() {
        let x = STEP * index as f64 + 2.0;
        let height = match *class {
            "good" | "bad" => 18.0,
            "running" => 12.0,
            _ => 6.0,
        };
        drawing.rect(class, (x, HEIGHT - 2.0 - height), (10.0, height), tooltip);
        if *class == "bad" {
            drawing.text("mark", (x + 5.0, HEIGHT - 7.0), "middle", "✕");
        }
    }
    drawing.finish()
}

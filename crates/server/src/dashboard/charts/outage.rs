//! Load against time: when a system is well, and from which load on it does not recover.

use std::time::Duration;

use steadfast_api::{CertificateRowBody, PolicyCertificateBody};
use steadfast_core::{SystemState, explain::brief};

use super::svg::{Svg, SvgBuilder};

const LEFT: f64 = 60.0; // not a limit: room for the loads
const WIDTH: f64 = 480.0; // not a limit: of the columns
const ROW: f64 = 18.0; // not a limit: the height of a row

/// One row per load, the highest at the top, and a line below for the fault.
pub fn draw(certificate: &PolicyCertificateBody) -> Svg {
    let picture = &certificate.picture;
    let height = ROW * (picture.rows.len() as f64 + 2.0);
    let size = (LEFT + WIDTH + 10.0, height);
    let summary = certificate.summary.clone();
    let mut drawing = SvgBuilder::new("outage", size, "Load against time", summary);
    for (index, row) in picture.rows.iter().rev().enumerate() {
        draw_row(&mut drawing, index, row);
    }
    let x = |millis: u64| LEFT + WIDTH * millis as f64 / picture.span_ms.max(1) as f64;
    let (from, to) = (x(picture.fault_from_ms), x(picture.fault_to_ms));
    let y = ROW * picture.rows.len() as f64 + 5.0;
    drawing.line("grid", (from, 0.0), (from, y));
    drawing.line("grid", (to, 0.0), (to, y));
    drawing.text(
        "label",
        (f64::midpoint(from, to), y + 12.0),
        "middle",
        "fault",
    );
    let length = brief(Duration::from_millis(picture.span_ms));
    drawing.text("label", (LEFT + WIDTH, y + 12.0), "end", &length);
    drawing.finish()
}

fn draw_row(drawing: &mut SvgBuilder, index: usize, row: &CertificateRowBody) {
    let y = ROW * index as f64;
    let mark = if row.is_given { "▸ " } else { "" };
    let load = format!("{mark}{:.0} %", row.load * 100.0);
    drawing.text("label", (LEFT - 6.0, y + ROW - 5.0), "end", &load);
    let step = WIDTH / row.states.len().max(1) as f64;
    let mut column = 0;
    // Neighbours that are alike are one shape.
    for states in row.states.chunk_by(|one, other| one == other) {
        let (class, name) = match states[0] {
            SystemState::Well => ("band", "well"),
            SystemState::Degraded => ("warn", "jobs fail or wait"),
            SystemState::Down => ("bad", "down"),
        };
        let x = LEFT + step * f64::from(column);
        let count = u32::try_from(states.len()).unwrap_or(u32::MAX);
        let size = (step * f64::from(count), ROW - 3.0);
        drawing.rect(
            class,
            (x, y),
            size,
            &format!("{:.0} % load: {name}", row.load * 100.0),
        );
        column += count;
    }
}

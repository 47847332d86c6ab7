//! The courses of a soak as a picture.

use std::fmt::Write as _;
use std::time::Duration;

use super::sample::{self, Sample};

const WIDTH: f64 = 720.0;
const LEFT: f64 = 20.0;
const CHART_HEIGHT: f64 = 90.0;
const ROW: f64 = 140.0;

pub fn of(samples: &[Sample]) -> String {
    let end = samples.last().map_or(Duration::ZERO, |sample| sample.at);
    let courses = sample::courses(samples);
    let height = ROW * courses.len() as f64 + 30.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"14\" fill=\"#1f2937\">\n\
         <title>Memory, store, descriptors and lateness of a node under load</title>\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    let mut top = 30.0;
    for ((name, unit, _), course) in &courses {
        let most = course.iter().map(|(_, value)| *value);
        let most = most.filter(|value| value.is_finite()).fold(1.0, f64::max);
        let _infallible = writeln!(
            svg,
            "<text x=\"{LEFT}\" y=\"{}\">{name}, up to {most:.0} {unit}</text>\n\
             <rect x=\"{LEFT}\" y=\"{top}\" width=\"{}\" height=\"{CHART_HEIGHT}\" fill=\"#f3f4f6\"/>\n\
             <polyline fill=\"none\" stroke=\"#15803d\" stroke-width=\"1.5\" points=\"{}\"/>",
            top - 8.0,
            WIDTH - 2.0 * LEFT,
            points(course, end, most, top)
        );
        top += ROW;
    }
    let _infallible = writeln!(
        svg,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{:.0} minutes</text>\n</svg>",
        WIDTH - LEFT,
        height - 20.0,
        end.as_secs_f64() / 60.0
    );
    svg
}

fn points(course: &[(Duration, f64)], end: Duration, most: f64, top: f64) -> String {
    let point = |(at, value): &(Duration, f64)| {
        let x = LEFT + (WIDTH - 2.0 * LEFT) * at.as_secs_f64() / end.as_secs_f64().max(1.0);
        let y = top + CHART_HEIGHT * (1.0 - value.min(most) / most);
        format!("{x:.1},{y:.1}")
    };
    course.iter().map(point).collect::<Vec<_>>().join(" ")
}

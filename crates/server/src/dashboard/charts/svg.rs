//! Drawings as SVG; their colours come from the style sheet.
//!
//! The content security policy forbids inline styles, so shapes carry classes. Colour is never
//! the only carrier of a meaning: shapes have titles, and the page repeats in text what matters.

use std::fmt::{self, Write as _};

use askama::filters::{Escaper as _, HtmlSafe};

/// A finished chart.
#[derive(Default)]
pub struct Svg(pub String);

impl fmt::Display for Svg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Text in a chart has passed [`SvgBuilder::text`] or [`escaped`].
impl HtmlSafe for Svg {}

/// A chart that shapes are added to. Coordinates are in units of the chart's own size.
pub struct SvgBuilder {
    pub body: String,
    width: f64,
    height: f64,
    id: &'static str,
    title: String,
    summary: String,
}

impl SvgBuilder {
    pub fn new(
        id: &'static str,
        (width, height): (f64, f64),
        title: &str,
        summary: String,
    ) -> Self {
        Self {
            body: String::new(),
            width,
            height,
            id,
            title: title.to_owned(),
            summary,
        }
    }

    pub fn rect(
        &mut self,
        class: &str,
        (x, y): (f64, f64),
        (width, height): (f64, f64),
        title: &str,
    ) {
        let title = escaped(title);
        self.write(format_args!(
            r#"<rect class="{class}" x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" rx="1.5"><title>{title}</title></rect>"#
        ));
    }

    /// Without a text of its own.
    pub fn bar(&mut self, class: &str, (x, y): (f64, f64), (width, height): (f64, f64)) {
        self.write(format_args!(
            r#"<rect class="{class}" x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}"/>"#
        ));
    }

    pub fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        self.write(format_args!(
            r#"<line class="{class}" x1="{:.1}" y1="{:.1}" x2="{:.1}" y2="{:.1}"/>"#,
            from.0, from.1, to.0, to.1
        ));
    }

    pub fn path(&mut self, class: &str, points: &[(f64, f64)], closed: bool) {
        let mut shape = String::new();
        for (index, (x, y)) in points.iter().enumerate() {
            let verb = if index == 0 { 'M' } else { 'L' };
            write!(shape, "{verb}{x:.1} {y:.1}").unwrap_or_default();
        }
        let end = if closed { "Z" } else { "" };
        self.write(format_args!(r#"<path class="{class}" d="{shape}{end}"/>"#));
    }

    pub fn dot(&mut self, class: &str, (x, y): (f64, f64), title: &str) {
        let title = escaped(title);
        self.write(format_args!(
            r#"<circle class="{class}" cx="{x:.1}" cy="{y:.1}" r="4"><title>{title}</title></circle>"#
        ));
    }

    /// `anchor` is start, middle or end.
    pub fn text(&mut self, class: &str, (x, y): (f64, f64), anchor: &str, text: &str) {
        let text = escaped(text);
        self.write(format_args!(
            r#"<text class="{class}" x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{text}</text>"#
        ));
    }

    fn write(&mut self, shape: fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        self.body.write_fmt(shape).unwrap_or_default();
    }

    pub fn finish(self) -> Svg {
        self.scaled("")
    }

    /// As wide and as high as the style sheet says.
    pub fn stretched(self) -> Svg {
        self.scaled(r#" preserveAspectRatio="none""#)
    }

    fn scaled(self, how: &str) -> Svg {
        let Self {
            body,
            width,
            height,
            id,
            ..
        } = self;
        let (title, summary) = (escaped(&self.title), escaped(&self.summary));
        Svg(format!(
            r#"<svg class="chart chart-{id}" viewBox="0 0 {width:.0} {height:.0}"{how} role="img"><title>{title}</title><desc>{summary}</desc>{body}</svg>"#
        ))
    }
}

pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    askama::filters::Html
        .write_escaped_str(&mut safe, text)
        .unwrap_or_default();
    safe
}

/// The smallest round number at or above this one, for the end of an axis.
pub fn round_up(value: u64) -> u64 {
    let mut size = 1_u64;
    loop {
        for step in [1, 2, 3, 4, 6, 8] {
            let round = size.saturating_mul(step);
            if round >= value {
                return round;
            }
        }
        size = size.saturating_mul(10);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_jobs_cannot_become_markup() {
        let mut drawing = SvgBuilder::new("t", (10.0, 10.0), "<b>", "a \"b\" & c".to_owned());
        drawing.text(
            "label",
            (0.0, 0.0),
            "start",
            "</text><script>alert(1)</script>",
        );
        drawing.rect("bar", (0.0, 0.0), (1.0, 1.0), "</title><script>");
        let svg = drawing.finish().to_string();
        assert!(!svg.contains("<script>") && !svg.contains("<b>"), "{svg}");
    }

    #[test]
    fn axes_end_at_round_numbers() {
        let ends = [0, 1, 3, 7, 11, 180, 5_001].map(round_up);
        assert_eq!(ends, [1, 1, 3, 8, 20, 200, 6_000]);
    }
}

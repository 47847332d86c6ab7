//! A figure, and how it is shown.

use std::borrow::Cow;

use serde::Serialize;

#[derive(Serialize)]
pub struct Figure {
    pub name: Cow<'static, str>,
    pub value: f64,
    pub unit: &'static str,
    /// The baseline measured in this run: a bare loop, unless the goal says otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// The goal.
    pub aim: &'static str,
}

pub struct Report {
    json: bool,
}

impl Report {
    pub fn new(json: bool) -> Self {
        if !json {
            println!(
                "{:<32} {:>12} {:<14} {:>12} {:>7}  aim",
                "figure", "steadfast", "unit", "baseline", "ratio"
            );
        }
        Self { json }
    }

    pub fn alone(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        value: f64,
        unit: &'static str,
        aim: &'static str,
    ) {
        self.show(&Figure {
            name: name.into(),
            value,
            unit,
            beside: None,
            ratio: None,
            aim,
        });
    }

    pub fn compare(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        (value, beside): (f64, f64),
        unit: &'static str,
        aim: &'static str,
    ) {
        self.show(&Figure {
            name: name.into(),
            value,
            unit,
            beside: Some(beside),
            ratio: Some(value / beside),
            aim,
        });
    }

    fn show(&self, figure: &Figure) {
        if self.json {
            println!("{}", serde_json::to_string(figure).unwrap_or_default());
            return;
        }
        let cell = |value: Option<f64>, digits| {
            value.map_or(String::new(), |value| format!("{value:.digits$}"))
        };
        println!(
            "{:<32} {:>12.1} {:<14} {:>12} {:>7}  {}",
            figure.name,
            figure.value,
            figure.unit,
            cell(figure.beside, 1),
            cell(figure.ratio, 2),
            figure.aim,
        );
    }

    pub fn finish(&self) {
        if !self.json {
            println!(
                "\nDurable commits (WAL, synchronous=FULL), 200-byte payloads; the bare loop writes the same rows."
            );
        }
    }
}

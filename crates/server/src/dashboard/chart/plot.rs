//! A chart over time: buckets side by side, their axes, and what happened meanwhile.
//!
//! Shapes are stretched to the width of the page, and text is not: so the axes are HTML around the
//! drawing. Each bucket has an invisible shape over its whole height that says what is in it, which
//! a browser shows without a script; the script shows the same at once.

use std::{fmt::Write as _, time::Duration};

use steadfast_core::Timestamp;

use super::{Svg, SvgBuilder, escaped};

/// The size of a drawing in its own units.
pub const SIZE: (f64, f64) = (1_000.0, 100.0); // not a limit: layout of the drawing

/// Equal buckets of time, the last of which ends now.
pub struct TimeBuckets {
    pub now: Timestamp,
    pub number: u32,
    pub length: Duration,
}

impl TimeBuckets {
    pub fn new(now: Timestamp, (number, length): (u32, Duration)) -> Self {
        Self {
            now,
            number,
            length,
        }
    }

    pub fn start(&self) -> Timestamp {
        let length = i64::try_from(self.length.as_micros()).unwrap_or(1).max(1);
        let micros = self.now.as_micros();
        let end = Timestamp::from_micros(micros - micros.rem_euclid(length) + length);
        end.minus(self.length * self.number)
    }

    /// The bucket of this time, if it has one.
    pub fn index(&self, at: Timestamp) -> Option<usize> {
        let start = self.start();
        if at < start {
            return None;
        }
        let index = at.since(start).as_micros() / self.length.as_micros().max(1);
        let index = usize::try_from(index).ok()?;
        (index < self.count()).then_some(index)
    }

    pub fn count(&self) -> usize {
        usize::try_from(self.number).unwrap_or(0)
    }

    /// The last bucket goes on until its end, so what is in it says little yet.
    pub fn is_unfinished(&self, index: usize) -> bool {
        index + 1 == self.count()
    }

    pub fn time_of_day(&self, index: usize) -> String {
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        let time = self.start().plus(self.length * index).to_string();
        // 2026-01-01T12:34:00Z: the time of day is enough.
        time.get(11..16).unwrap_or_default().to_owned()
    }

    pub fn width(&self) -> f64 {
        SIZE.0 / f64::from(self.number.max(1))
    }

    /// Where the middle of a bucket is.
    pub fn middle(&self, index: usize) -> f64 {
        (index as f64 + 0.5) * self.width()
    }

    /// Where a time is.
    fn place(&self, at: Timestamp) -> f64 {
        let start = self.start();
        if at <= start {
            return 0.0;
        }
        let share = at.since(start).as_secs_f64() / (self.length * self.number).as_secs_f64();
        SIZE.0 * share.min(1.0)
    }
}

/// Something that happened, or went on, while attempts were made.
pub struct Marker {
    pub class: &'static str,
    pub at: Timestamp,
    /// Its end, if it is not a moment.
    pub until: Option<Timestamp>,
    pub text: String,
}

/// A drawing with its axes.
pub struct Plot<'a> {
    pub buckets: &'a TimeBuckets,
    pub drawing: SvgBuilder,
    /// At the top, in the middle and at the bottom.
    pub labels: [String; 3],
    /// What each bucket has.
    pub texts: Vec<String>,
    pub markers: &'a [Marker],
}

impl Plot<'_> {
    pub fn finish(self) -> Svg {
        let Self {
            buckets,
            mut drawing,
            labels,
            texts,
            markers,
        } = self;
        mark(buckets, &mut drawing, markers);
        for (index, text) in texts.iter().enumerate() {
            let x = index as f64 * buckets.width();
            let text = format!("{} {text}", buckets.time_of_day(index));
            drawing.rect("hit", (x, 0.0), (buckets.width(), SIZE.1), &text);
        }
        let mut html =
            String::from("<div class=\"plot\"><div class=\"plot-y\" aria-hidden=\"true\">");
        for label in labels {
            write!(html, "<span>{}</span>", escaped(&label)).unwrap_or_default();
        }
        write!(
            html,
            "</div>{}<div class=\"plot-x\" aria-hidden=\"true\">",
            drawing.stretched()
        )
        .unwrap_or_default();
        for quarter in 0..4 {
            let time = buckets.time_of_day(buckets.count() * quarter / 4);
            write!(html, "<span>{time}</span>").unwrap_or_default();
        }
        html.push_str("<span>now</span></div></div>");
        Svg(html)
    }
}

fn mark(buckets: &TimeBuckets, drawing: &mut SvgBuilder, markers: &[Marker]) {
    let start = buckets.start();
    for marker in markers {
        let end = marker.until.unwrap_or(marker.at);
        if end < start || marker.at > buckets.now {
            continue;
        }
        let x = buckets.place(marker.at);
        match marker.until {
            Some(until) => {
                let width = (buckets.place(until) - x).max(2.0);
                drawing.rect(marker.class, (x, 0.0), (width, SIZE.1), &marker.text);
            }
            None => drawing.line(marker.class, (x, 0.0), (x, SIZE.1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits;

    #[test]
    fn every_minute_of_the_span_falls_into_a_bucket_and_no_other_does() {
        let now: Timestamp = "2026-01-01T12:34:56Z".parse().unwrap();
        let buckets = TimeBuckets::new(now, limits::CHART_HOUR);
        assert_eq!(buckets.start().to_string(), "2026-01-01T11:35:00Z");
        for (at, index) in [
            ("2026-01-01T11:34:59Z", None),
            ("2026-01-01T11:35:00Z", Some(0)),
            ("2026-01-01T12:34:00Z", Some(59)),
            ("2026-01-01T12:35:00Z", None),
        ] {
            assert_eq!(buckets.index(at.parse().unwrap()), index, "{at}");
        }
        let day = TimeBuckets::new(now, limits::CHART_DAY);
        assert_eq!(day.start().to_string(), "2025-12-31T12:40:00Z");
    }

    #[test]
    fn what_happened_before_the_span_is_not_marked() {
        let now: Timestamp = "2026-01-01T12:34:56Z".parse().unwrap();
        let buckets = TimeBuckets::new(now, limits::CHART_HOUR);
        let incident = |from: u64, until: u64| Marker {
            class: "incident",
            at: now.minus(Duration::from_secs(from)),
            until: Some(now.minus(Duration::from_secs(until))),
            text: "an incident".to_owned(),
        };
        let drawn = |marker| {
            let mut drawing = SvgBuilder::new("t", SIZE, "t", String::new());
            mark(&buckets, &mut drawing, &[marker]);
            drawing.body
        };
        assert_eq!(drawn(incident(9_000, 8_000)), "");
        let reaches_in = drawn(incident(9_000, 1_800));
        assert!(reaches_in.contains("x=\"0.0\""), "{reaches_in}");
    }
}

//! Charts over time: buckets side by side, their axes, and what happened meanwhile.
//!
//! Shapes are stretched to the width of the page, and text is not: so the axes are HTML around the
//! drawing. Each bucket has an invisible shape over its whole height that says what is in it, which
//! a browser shows without a script; the script shows the same at once.

use std::{fmt::Write as _, time::Duration};

use steadfast_api::{LearnedPaceBody, PaceMinuteBody};
use steadfast_core::{PaceReason, Tally, Timestamp, explain::brief};
use steadfast_store::MinuteStats;

use crate::{
    dashboard::{
        charts::svg::{Svg, SvgBuilder, escaped, round_up},
        parts::{format_percent, thousands},
    },
    metrics::start_latency::LatencyCounts,
};

/// The size of a drawing in its own units.
const SIZE: (f64, f64) = (1_000.0, 100.0); // not a limit: layout of the drawing
/// The height of incidents, which lie above the bars: painted over them, they would change their colours.
const BAND: f64 = 6.0; // not a limit: layout of the drawing

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

    /// The same without what lies before a time: a young server would show an empty chart.
    #[must_use]
    pub fn since(self, first: Timestamp, least: u32) -> Self {
        let before = first.since(self.start()).as_micros() / self.length.as_micros().max(1);
        let before = u32::try_from(before).unwrap_or(u32::MAX);
        let number = self.number.saturating_sub(before);
        Self {
            number: number.max(least).min(self.number),
            ..self
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
struct Plot<'a> {
    buckets: &'a TimeBuckets,
    drawing: SvgBuilder,
    /// At the top, in the middle and at the bottom.
    labels: [String; 3],
    /// The text of each bucket.
    texts: Vec<String>,
    markers: &'a [Marker],
}

impl Plot<'_> {
    fn finish(self) -> Svg {
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
                drawing.rect(marker.class, (x, 0.0), (width, BAND), &marker.text);
            }
            None => drawing.line(marker.class, (x, 0.0), (x, SIZE.1)),
        }
    }
}

fn sums(buckets: &TimeBuckets, minutes: &[MinuteStats]) -> Vec<Tally> {
    let mut sums = vec![Tally::default(); buckets.count()];
    for minute in minutes {
        let sum = buckets
            .index(minute.at)
            .and_then(|index| sums.get_mut(index));
        if let Some(sum) = sum {
            *sum += minute.tally;
        }
    }
    sums
}

fn height(value: f64, most: f64) -> f64 {
    SIZE.1 * (value / most).clamp(0.0, 1.0)
}

/// A number that fits beside an axis.
fn short(value: u64) -> String {
    match value {
        0..10_000 => thousands(value),
        10_000..1_000_000 => format!("{}k", value / 1_000),
        _ => format!("{:.1}M", value as f64 / 1_000_000.0),
    }
}

/// Successes and failures as stacked bars, with a line for the retries among them.
pub fn throughput(buckets: &TimeBuckets, minutes: &[MinuteStats], markers: &[Marker]) -> Svg {
    let sums = sums(buckets, minutes);
    let most = round_up(sums.iter().map(|sum| sum.attempts).max().unwrap_or(0));
    let mut all = Tally::default();
    sums.iter().for_each(|sum| all += *sum);
    let summary = format!(
        "{} attempts: {} succeeded, {} failed, {} were retries",
        thousands(all.attempts),
        thousands(all.successes),
        thousands(all.failures),
        thousands(all.retries)
    );
    let mut drawing = SvgBuilder::new("throughput", SIZE, "Attempts over time", summary);
    grid(&mut drawing);
    let width = buckets.width();
    let bar = width * 0.82;
    for (index, sum) in sums.iter().enumerate() {
        let x = index as f64 * width + (width - bar) / 2.0;
        let unfinished = match buckets.is_unfinished(index) {
            true => " unfinished",
            false => "",
        };
        let good = height(sum.successes as f64, most as f64);
        let bad = height(sum.failures as f64, most as f64);
        let mut add = |class: &str, y: f64, height: f64| {
            drawing.bar(&format!("{class}{unfinished}"), (x, y), (bar, height));
        };
        if sum.successes > 0 {
            add("good", SIZE.1 - good, good);
        }
        if sum.failures > 0 {
            add("bad", SIZE.1 - good - bad, bad);
        }
    }
    if all.retries > 0 {
        let retries = sums.iter().map(|sum| Some(sum.retries as f64));
        line(buckets, &mut drawing, "retries", retries, most as f64);
    }
    let texts = sums.iter().map(|sum| {
        let [good, bad, retries] = [sum.successes, sum.failures, sum.retries].map(thousands);
        format!("{good} succeeded, {bad} failed, {retries} retries")
    });
    let middle = match most % 2 {
        0 => short(most / 2),
        _ => String::new(),
    };
    Plot {
        texts: texts.collect(),
        labels: [short(most), middle, "0".to_owned()],
        buckets,
        drawing,
        markers,
    }
    .finish()
}

/// A learned number of calls at once: the most of each minute, marked where it was lowered.
pub fn pace(buckets: &TimeBuckets, learned: &LearnedPaceBody) -> Svg {
    let mut minutes: Vec<Option<&PaceMinuteBody>> = vec![None; buckets.count()];
    for minute in &learned.minutes {
        let place = buckets.index(minute.at);
        if let Some(place) = place.and_then(|index| minutes.get_mut(index)) {
            *place = Some(minute);
        }
    }
    let known = minutes.iter().flatten();
    let most = round_up(known.map(|minute| minute.most.into()).max().unwrap_or(0));
    let summary = format!("currently {}", learned.calls_at_once);
    let mut drawing = SvgBuilder::new("pace", SIZE, "Learned calls at once over time", summary);
    grid(&mut drawing);
    let width = buckets.width();
    let bar = width * 0.82;
    for (index, minute) in minutes.iter().enumerate() {
        let Some(minute) = minute else { continue };
        let x = index as f64 * width + (width - bar) / 2.0;
        let height = height(minute.most.into(), most as f64);
        let class = match minute.reason.is_some_and(PaceReason::lowers) {
            true => "bad",
            false => "good",
        };
        drawing.bar(class, (x, SIZE.1 - height), (bar, height));
    }
    let texts = minutes.iter().map(|minute| match minute {
        Some(minute) => pace_text(minute),
        None => "no calls".to_owned(),
    });
    Plot {
        texts: texts.collect(),
        labels: [short(most), String::new(), "0".to_owned()],
        buckets,
        drawing,
        markers: &[],
    }
    .finish()
}

fn pace_text(minute: &PaceMinuteBody) -> String {
    let at_once = match minute.least == minute.most {
        true => format!("{} calls at once", minute.most),
        false => format!("{} to {} calls at once", minute.least, minute.most),
    };
    let [refused, calls] = [minute.refused, minute.calls].map(|count| thousands(count.into()));
    let why = minute.reason.map_or(String::new(), |reason| {
        format!("; it changed because {}", reason.describe())
    });
    format!("{at_once}, {refused} of {calls} calls refused{why}")
}

/// The share of retries among attempts.
pub fn rates(buckets: &TimeBuckets, minutes: &[MinuteStats], markers: &[Marker]) -> Svg {
    let rates: Vec<Option<f64>> = sums(buckets, minutes)
        .iter()
        .map(Tally::retry_rate)
        .collect();
    let worst = rates.iter().copied().flatten().fold(0.0, f64::max);
    let top = [0.1, 0.2, 0.5, 1.0].into_iter().find(|top| *top >= worst);
    let top = top.unwrap_or(1.0);
    let summary = format!(
        "at worst {} of attempts were retries",
        format_percent(Some(worst))
    );
    let mut drawing = SvgBuilder::new("rates", SIZE, "Retry rate over time", summary);
    grid(&mut drawing);
    line(buckets, &mut drawing, "rate", rates.iter().copied(), top);
    let texts = rates.iter().map(|rate| match rate {
        Some(_) => format!("{} retries", format_percent(*rate)),
        None => "no attempts".to_owned(),
    });
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    Plot {
        texts: texts.collect(),
        labels: [percent(top), percent(top / 2.0), "0 %".to_owned()],
        buckets,
        drawing,
        markers,
    }
    .finish()
}

const SHARES: [(&str, f64); 3] = [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)];

/// How late attempts started: what half, most and nearly all of them stayed below.
pub fn start_latency(
    buckets: &TimeBuckets,
    spans: &[(Timestamp, LatencyCounts)],
    markers: &[Marker],
) -> Svg {
    let mut series = SHARES.map(|_| vec![None; buckets.count()]);
    for (at, counts) in spans {
        let Some(index) = buckets.index(*at) else {
            continue;
        };
        for ((_, share), values) in SHARES.iter().zip(&mut series) {
            values[index] = counts.quantile(*share);
        }
    }
    let all = series.iter().flatten().flatten();
    let worst = all.max().copied().unwrap_or_default();
    let top = round_up_time(worst);
    let summary = format!("at worst {}", brief(worst));
    let mut drawing = SvgBuilder::new("start-latency", SIZE, "Start latency over time", summary);
    grid(&mut drawing);
    for ((class, _), values) in SHARES.iter().zip(&series) {
        let values = values.iter().map(|late| late.map(|it| it.as_secs_f64()));
        line(buckets, &mut drawing, class, values, top.as_secs_f64());
    }
    let texts = (0..buckets.count()).map(|index| {
        let known = SHARES.iter().zip(&series);
        let parts = known.filter_map(|((name, _), values)| {
            values[index].map(|late| format!("{name} {}", brief(late)))
        });
        let parts: Vec<String> = parts.collect();
        match parts.is_empty() {
            true => "no starts".to_owned(),
            false => parts.join(", "),
        }
    });
    Plot {
        texts: texts.collect(),
        labels: [brief(top), brief(top / 2), "0".to_owned()],
        buckets,
        drawing,
        markers,
    }
    .finish()
}

fn round_up_time(worst: Duration) -> Duration {
    const ENDS: [u64; 14] = [
        10, 100, 200, 1_000, 2_000, 10_000, 20_000, 60_000, 120_000, 600_000, 1_200_000, 3_600_000,
        7_200_000, 21_600_000,
    ];
    let mut ends = ENDS.into_iter().map(Duration::from_millis);
    ends.find(|end| *end >= worst).unwrap_or(worst)
}

fn grid(drawing: &mut SvgBuilder) {
    for y in [0.0, SIZE.1 / 2.0] {
        drawing.line("grid", (0.0, y), (SIZE.0, y));
    }
    drawing.line("axis", (0.0, SIZE.1), (SIZE.0, SIZE.1));
}

/// A line through the buckets that have a value. It ends before the one that is not over yet, where
/// it would always fall.
fn line(
    buckets: &TimeBuckets,
    drawing: &mut SvgBuilder,
    class: &str,
    values: impl Iterator<Item = Option<f64>>,
    top: f64,
) {
    let mut part: Vec<(f64, f64)> = Vec::new();
    let mut finish = |part: &mut Vec<(f64, f64)>| {
        // A point alone would not be seen.
        if let [(x, y)] = part[..] {
            let half = buckets.width() / 2.0;
            *part = vec![(x - half, y), (x + half, y)];
        }
        if !part.is_empty() {
            drawing.path(&format!("line {class}"), part, false);
        }
        part.clear();
    };
    for (index, value) in values.enumerate() {
        match value.filter(|_| !buckets.is_unfinished(index)) {
            Some(value) => part.push((buckets.middle(index), SIZE.1 - height(value, top))),
            None => finish(&mut part),
        }
    }
    finish(&mut part);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits;

    #[test]
    fn every_minute_of_the_range_has_one_bucket() {
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
    fn the_chart_of_a_young_server_begins_with_it() {
        let now: Timestamp = "2026-01-01T12:34:56Z".parse().unwrap();
        for (first, number, start) in [
            ("2026-01-01T12:05:10Z", 30, "2026-01-01T12:05:00Z"),
            ("2026-01-01T12:33:00Z", 10, "2026-01-01T12:25:00Z"),
            ("2026-01-01T09:00:00Z", 60, "2026-01-01T11:35:00Z"),
            ("2026-01-02T09:00:00Z", 10, "2026-01-01T12:25:00Z"),
        ] {
            let buckets = TimeBuckets::new(now, limits::CHART_HOUR);
            let buckets = buckets.since(first.parse().unwrap(), limits::CHART_PARTS_MIN);
            assert_eq!(buckets.number, number, "{first}");
            assert_eq!(buckets.start().to_string(), start, "{first}");
        }
    }

    #[test]
    fn markers_outside_the_range_are_not_drawn() {
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
        assert!(reaches_in.contains("height=\"6.0\""), "{reaches_in}");
    }

    fn minute(text: &str, attempts: u64) -> MinuteStats {
        MinuteStats {
            at: text.parse().unwrap(),
            tally: Tally {
                attempts,
                successes: attempts,
                retries: attempts,
                ..Tally::default()
            },
        }
    }

    #[test]
    fn a_line_ends_before_the_unfinished_minute() {
        let now: Timestamp = "2026-01-01T12:34:02Z".parse().unwrap();
        let buckets = TimeBuckets::new(now, limits::CHART_HOUR);
        let minutes = [
            minute("2026-01-01T12:32:00Z", 50),
            minute("2026-01-01T12:33:00Z", 50),
            minute("2026-01-01T12:34:00Z", 1),
        ];
        let chart = throughput(&buckets, &minutes, &[]).to_string();
        let path = chart.split("class=\"line retries\" d=\"").nth(1).unwrap();
        let last = path.split('"').next().unwrap().rsplit('L').next().unwrap();
        let x: f64 = last.split(' ').next().unwrap().parse().unwrap();
        assert!(x < 59.0 * buckets.width(), "{last}");
        assert!(chart.contains("class=\"good unfinished\""), "{chart}");
        assert!(chart.contains("12:33 50 succeeded, 0 failed"), "{chart}");
        assert!(chart.contains("<span>60</span><span>30</span>"), "{chart}");
    }

    #[test]
    fn labels_of_axes_stay_short() {
        let labels = [0, 9_000, 30_000, 400_000, 2_000_000].map(short);
        assert_eq!(labels, ["0", "9,000", "30k", "400k", "2.0M"]);
    }
}

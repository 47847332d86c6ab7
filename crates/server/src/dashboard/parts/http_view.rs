//! The request that an HTTP job sends, and its responses, as people read them.

use std::{collections::BTreeMap, time::Duration};

use serde::Deserialize;
use steadfast_core::{Attempt, Job, Kind, LimitHeader, Timestamp, explain::brief};

use crate::dashboard::{
    charts::{Svg, bars},
    parts::{
        format::Excerpt,
        payload_view::{self, RawFields},
    },
};

/// The request of an HTTP job.
pub struct RequestView {
    pub method: String,
    pub url: String,
    /// Values are masked.
    pub headers: Vec<(String, String)>,
    pub body: Option<Excerpt>,
}

impl RequestView {
    /// `None` if the job sends no request, or one that cannot be read.
    pub fn of(job: &Job, may_write: bool) -> Option<Self> {
        if job.kind != Kind::http() {
            return None;
        }
        let shown = payload_view::shown(&job.kind, &job.payload, may_write);
        let request: RawFields = serde_json::from_str(&shown).ok()?;
        let text = |name: &str| serde_json::from_str(request.get(name)?.get()).ok();
        let headers = request.get("headers");
        let headers = headers.and_then(|it| serde_json::from_str(it.get()).ok());
        let headers: BTreeMap<String, String> = headers.unwrap_or_default();
        let body = request.get("body").map(|it| it.get());
        Some(Self {
            method: text("method").unwrap_or_else(|| "POST".to_owned()),
            url: text("url")?,
            headers: headers.into_iter().collect(),
            body: body.filter(|it| *it != "null").map(Excerpt::json),
        })
    }
}

/// The response of an attempt.
pub struct ResponseView {
    pub status: u16,
    pub is_good: bool,
    pub headers: Vec<(String, String)>,
    pub body: Option<Excerpt>,
    pub is_cut: bool,
    /// What the target said remains of its own limits.
    pub quota: Option<String>,
}

/// Where the time of an attempt went.
pub struct PhasesView {
    pub bar: Svg,
    pub phases: Vec<PhaseView>,
}

pub struct PhaseView {
    pub class: &'static str,
    pub name: &'static str,
    pub took: String,
}

/// A call as the engine records it; without a response it has only timings.
#[derive(Deserialize)]
struct Record {
    status: Option<u16>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    body: String,
    #[serde(default)]
    truncated: bool,
    quota: Option<QuotaRecord>,
    #[serde(default)]
    timings: TimingsRecord,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct QuotaRecord {
    header: LimitHeader,
    remaining: u32,
    resets_at: Timestamp,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct TimingsRecord {
    dns_ms: Option<f64>,
    connect_ms: Option<f64>,
    tls_ms: Option<f64>,
    first_byte_ms: Option<f64>,
    body_ms: Option<f64>,
}

/// The response of an attempt, and where its time went. Neither if it has an output of another shape.
pub fn exchange(attempt: &Attempt) -> (Option<ResponseView>, Option<PhasesView>) {
    let record = attempt.output.as_ref().and_then(|it| it.decode().ok());
    let Some(record): Option<Record> = record else {
        return (None, None);
    };
    let phases = phases(&record, attempt.duration());
    let body = record.body;
    let response = record.status.map(|status| ResponseView {
        status,
        is_good: (200..300).contains(&status),
        headers: record.headers.into_iter().collect(),
        body: (!body.is_empty()).then(|| Excerpt::json(&body)),
        is_cut: record.truncated,
        quota: record
            .quota
            .map(|quota| quota.header.describe(quota.remaining, quota.resets_at)),
    });
    (response, phases)
}

/// Everything that no phase accounts for was waiting: for a free slot of the node, and for the record.
fn phases(record: &Record, whole: Duration) -> Option<PhasesView> {
    let timings = &record.timings;
    let known = [
        ("dns", "DNS", timings.dns_ms),
        ("connect", "connect", timings.connect_ms),
        ("tls", "TLS", timings.tls_ms),
        ("first-byte", "first byte", timings.first_byte_ms),
        ("body", "body", timings.body_ms),
    ];
    let known = known.into_iter().filter_map(|(class, name, millis)| {
        let seconds = millis.filter(|it| it.is_finite() && *it >= 0.0)? / 1_000.0;
        let took = Duration::try_from_secs_f64(seconds).ok()?;
        Some((class, name, took))
    });
    let known: Vec<_> = known.collect();
    if known.is_empty() {
        return None;
    }
    let sum: Duration = known.iter().map(|(_, _, took)| *took).sum();
    // Older responses have no time of the body.
    let rest = match (record.status, timings.body_ms) {
        (Some(_), None) => "waiting and body",
        _ => "waiting",
    };
    let rest = ("waiting", rest, whole.saturating_sub(sum));
    let all = [rest].into_iter().filter(|(_, _, took)| !took.is_zero());
    let all: Vec<_> = all.chain(known).collect();
    let parts: Vec<_> = all.iter().map(|(class, _, took)| (*class, *took)).collect();
    let phases = all.iter().map(|(class, name, took)| PhaseView {
        class,
        name,
        took: brief(*took),
    });
    let phases: Vec<PhaseView> = phases.collect();
    let words = phases.iter().map(|it| format!("{} {}", it.name, it.took));
    let summary = words.collect::<Vec<_>>().join(", ");
    Some(PhasesView {
        bar: bars::phases(&parts, summary),
        phases,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn record(value: Value) -> Record {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn the_phases_of_an_attempt_add_up_to_its_time() {
        let timings = json!({"connectMs": 12, "firstByteMs": 341, "bodyMs": 2.5});
        let response = record(json!({"status": 200, "timings": timings}));
        let found = phases(&response, Duration::from_millis(400)).unwrap();
        let words: Vec<_> = found.phases.iter().map(|it| (it.name, &*it.took)).collect();
        let expected = [
            ("waiting", "44ms"),
            ("connect", "12ms"),
            ("first byte", "341ms"),
            ("body", "2ms"),
        ];
        assert_eq!(words, expected);
        // A clock that was set back, or a record that is no such record.
        assert!(phases(&response, Duration::ZERO).is_some());
        assert!(phases(&record(json!({"status": 200})), Duration::ZERO).is_none());
        let odd = record(json!({"timings": {"dnsMs": f64::MAX, "tlsMs": -1}}));
        assert!(phases(&odd, Duration::ZERO).is_none());
    }

    #[test]
    fn a_call_without_a_response_has_the_phases_up_to_where_it_failed() {
        let refused = record(json!({"timings": {"dnsMs": 3, "connectMs": 30, "tlsMs": null}}));
        let found = phases(&refused, Duration::from_millis(40)).unwrap();
        let names: Vec<_> = found.phases.iter().map(|it| it.name).collect();
        assert_eq!(names, ["waiting", "DNS", "connect"]);
    }
}

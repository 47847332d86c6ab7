//! How things are, at a glance.

use std::collections::BTreeMap;

use askama::Template;
use steadfast_core::{AlertState, AlertStatus, JobLabel, Kind, Tenant};
use steadfast_engine::Stats;
use steadfast_store::{JobFilter, JobPageRequest, LaneStats};

use super::{
    chart::{self, Span, Svg},
    frame::{Frame, HtmlPage, PageError, render},
    shown::{When, count, percent, short},
    viewer::Viewer,
};
use crate::App;

/// How many of the worst are named.
const TOP: usize = 5;
/// How many dead letters are looked at for their destinations.
const SAMPLE: usize = 200;

#[derive(Template)]
#[template(path = "overview.html")]
struct OverviewPage {
    frame: Frame,
    tenant: String,
    is_day: bool,
    tiles: Vec<Tile>,
    dead_letters: String,
    firing: Vec<AlertState>,
    overdue: Option<(When, String)>,
    rate: String,
    retry_success: String,
    throughput: Svg,
    rates: Svg,
    kinds: Vec<Worst>,
    destinations: Vec<Worst>,
    is_empty: bool,
}

struct Tile {
    label: &'static str,
    count: String,
}

/// Something that fails often.
struct Worst {
    name: String,
    count: String,
}

pub async fn page(viewer: Viewer) -> HtmlPage {
    let asked = viewer.fields.get("tenant").map(Tenant::new).transpose()?;
    let tenant = viewer.caller.choose(asked)?;
    let app = &viewer.app;
    let frame = Frame::of(&viewer, "/", "Overview");
    let is_day = viewer.fields.get("span") == Some("day");
    let span = Span::new(frame.now, if is_day { Span::DAY } else { Span::HOUR });
    let minutes = app.client.minutes(tenant.clone(), span.start()).await?;
    let lanes = app.lanes.of(app, tenant.as_ref()).await?;
    let mut firing = app.client.alerts(tenant.as_ref()).await?;
    firing.retain(|alert| alert.status == AlertStatus::Firing);
    let kinds = failing_kinds(&lanes);
    let stats: Stats = lanes.into_iter().collect();
    let due = stats.oldest_ready.filter(|due| *due <= frame.now);
    render(&OverviewPage {
        is_empty: stats.total.attempts == 0 && jobs(&stats) == 0,
        tiles: tiles(&stats),
        dead_letters: count(stats.dead_letters),
        firing,
        overdue: due.map(|due| (frame.when(due), short(frame.now.since(due)))),
        rate: percent(stats.recent.retry_rate()),
        retry_success: percent(stats.retry_success_rate()),
        throughput: chart::throughput(&span, &minutes),
        rates: chart::rates(&span, &minutes),
        kinds,
        destinations: match stats.dead_letters {
            0 => Vec::new(),
            _ => failing_destinations(app, tenant).await?,
        },
        tenant: viewer.fields.value("tenant").to_owned(),
        is_day,
        frame,
    })
}

fn jobs(stats: &Stats) -> u64 {
    JobLabel::ALL
        .iter()
        .map(|label| labelled(stats, *label))
        .sum()
}

pub fn labelled(stats: &Stats, label: JobLabel) -> u64 {
    match label {
        JobLabel::Scheduled => stats.scheduled,
        JobLabel::Ready => stats.ready,
        JobLabel::Running => stats.running,
        JobLabel::Retrying => stats.retrying,
        JobLabel::Succeeded => stats.succeeded,
        JobLabel::Failed => stats.failed,
        JobLabel::Cancelled => stats.cancelled,
    }
}

fn tiles(stats: &Stats) -> Vec<Tile> {
    let tile = |label: &JobLabel| Tile {
        label: label.as_str(),
        count: count(labelled(stats, *label)),
    };
    JobLabel::ALL.iter().map(tile).collect()
}

fn worst(counts: BTreeMap<String, u64>) -> Vec<Worst> {
    let mut worst: Vec<(String, u64)> = counts.into_iter().filter(|(_, it)| *it > 0).collect();
    worst.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let named = worst.into_iter().take(TOP).map(|(name, number)| Worst {
        name,
        count: count(number),
    });
    named.collect()
}

/// By failed attempts lately.
fn failing_kinds(lanes: &[LaneStats]) -> Vec<Worst> {
    let mut counts = BTreeMap::new();
    for lane in lanes {
        *counts.entry(lane.kind.to_string()).or_default() += lane.recent.failures;
    }
    worst(counts)
}

/// By the hosts of the newest dead letters that were calls.
async fn failing_destinations(app: &App, tenant: Option<Tenant>) -> Result<Vec<Worst>, PageError> {
    let filter = JobFilter {
        tenant,
        kind: Some(Kind::http()),
        ..JobFilter::dead_letters()
    };
    let listed = app
        .client
        .jobs(filter, JobPageRequest::first(SAMPLE))
        .await?;
    let mut counts = BTreeMap::new();
    for job in listed.items {
        if let Some(host) = host(job.payload.as_str()) {
            *counts.entry(host).or_default() += 1;
        }
    }
    Ok(worst(counts))
}

/// The host of the request that a payload describes.
fn host(payload: &str) -> Option<String> {
    let request: serde_json::Value = serde_json::from_str(payload).ok()?;
    let url = request.get("url")?.as_str()?;
    let uri: axum::http::Uri = url.parse().ok()?;
    uri.scheme()?;
    Some(uri.authority()?.host().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_destination_is_a_host_without_port_or_password() {
        let host = |url: &str| host(&format!(r#"{{"url":"{url}"}}"#));
        assert_eq!(host("https://a.example:8443/x"), Some("a.example".into()));
        assert_eq!(host("http://u:p@b.example/"), Some("b.example".into()));
        assert_eq!(host("nonsense"), None);
    }
}

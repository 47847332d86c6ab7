//! The overview: counts, rates, and what fails most.

use std::collections::BTreeMap;

use askama::Template;
use steadfast_core::{
    AlertState, AlertStatus, DueForecast, JobLabel, Kind, Tenant, explain::brief,
};
use steadfast_engine::{Forecasts, Stats};
use steadfast_store::{JobFilter, JobPageRequest, LaneStats};

use super::{
    chart::{self, Svg, TimeBuckets},
    format::{PageTime, format_percent, thousands},
    frame::{Frame, render},
    page_error::{PageError, PageResult},
    viewer::Viewer,
};
use crate::{App, limits};

#[derive(Template)]
#[template(path = "overview.html")]
struct OverviewPage {
    frame: Frame,
    tenant: String,
    is_day: bool,
    tiles: Vec<Tile>,
    dead_letters: String,
    firing: Vec<AlertState>,
    overdue: Option<(PageTime, String)>,
    rate: String,
    retry_success: String,
    /// How far back the recent figures reach.
    recent: String,
    throughput: Svg,
    rates: Svg,
    kinds: Vec<FailureCount>,
    destinations: Vec<FailureCount>,
    coming: Vec<ComingRow>,
    is_empty: bool,
}

struct Tile {
    label: &'static str,
    count: String,
}

/// What is coming in a queue or for a destination.
struct ComingRow {
    name: String,
    picture: Svg,
    summary: String,
    error: String,
}

/// A kind or host that fails often.
struct FailureCount {
    name: String,
    count: String,
}

pub async fn page(viewer: Viewer) -> PageResult {
    let requested = viewer.fields.get("tenant").map(Tenant::new).transpose()?;
    let tenant = viewer.caller.choose(requested)?;
    let app = &viewer.app;
    let frame = Frame::of(&viewer, "/", "Overview");
    let is_day = viewer.fields.get("span") == Some("day");
    let length = if is_day {
        TimeBuckets::DAY
    } else {
        TimeBuckets::HOUR
    };
    let buckets = TimeBuckets::new(frame.now, length);
    let minutes = app.client.minutes(tenant.clone(), buckets.start()).await?;
    let lanes = app.lane_stats.get(&app.client, tenant.as_ref()).await?;
    let mut firing = app.client.alerts(tenant.as_ref()).await?;
    firing.retain(|alert| alert.status == AlertStatus::Firing);
    let kinds = failing_kinds(&lanes);
    let coming = app.forecasts.get(&app.client, tenant.clone()).await?;
    let stats: Stats = lanes.into_iter().collect();
    let due = stats.oldest_ready.filter(|due| *due <= frame.now);
    render(&OverviewPage {
        is_empty: stats.total.attempts == 0 && count_jobs(&stats) == 0,
        tiles: tiles(&stats),
        dead_letters: thousands(stats.dead_letters),
        firing,
        overdue: due.map(|due| (frame.time(due), brief(frame.now.since(due)))),
        rate: format_percent(stats.recent.retry_rate()),
        retry_success: format_percent(stats.retry_success_rate()),
        recent: brief(limits::RECENT_WINDOW),
        throughput: chart::throughput(&buckets, &minutes),
        rates: chart::rates(&buckets, &minutes),
        kinds,
        coming: coming_rows(&coming),
        destinations: if stats.dead_letters == 0 {
            Vec::new()
        } else {
            failing_destinations(app, tenant).await?
        },
        tenant: viewer.fields.value("tenant").to_owned(),
        is_day,
        frame,
    })
}

fn coming_rows(forecasts: &Forecasts) -> Vec<ComingRow> {
    let row = |name: String, forecast: &DueForecast, error: String| {
        let due: Vec<f64> = forecast.minutes.iter().map(|minute| minute.due).collect();
        ComingRow {
            name,
            picture: chart::coming(&due, forecast.sustained_per_minute),
            summary: forecast.to_string(),
            error,
        }
    };
    let queues = forecasts.queues.iter().take(limits::FORECAST_ROWS_MAX);
    let queues = queues.map(|it| {
        let error = it
            .error
            .map_or("–".to_owned(), |_| format_percent(it.error));
        row(format!("queue {}", it.queue), &it.forecast, error)
    });
    let destinations = forecasts.destinations.iter();
    let destinations = destinations
        .take(limits::FORECAST_ROWS_MAX)
        .map(|it| row(it.destination.to_string(), &it.forecast, "–".to_owned()));
    queues.chain(destinations).collect()
}

fn count_jobs(stats: &Stats) -> u64 {
    JobLabel::ALL
        .iter()
        .map(|label| count_of_label(stats, *label))
        .sum()
}

pub fn count_of_label(stats: &Stats, label: JobLabel) -> u64 {
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
        count: thousands(count_of_label(stats, *label)),
    };
    JobLabel::ALL.iter().map(tile).collect()
}

fn top_failures(counts: BTreeMap<String, u64>) -> Vec<FailureCount> {
    let mut top: Vec<(String, u64)> = counts.into_iter().filter(|(_, it)| *it > 0).collect();
    top.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    top.truncate(limits::TOP_FAILURES_MAX);
    let rows = top.into_iter().map(|(name, number)| FailureCount {
        name,
        count: thousands(number),
    });
    rows.collect()
}

/// Kinds by their recent failed attempts.
fn failing_kinds(lanes: &[LaneStats]) -> Vec<FailureCount> {
    let mut counts = BTreeMap::new();
    for lane in lanes {
        *counts.entry(lane.kind.to_string()).or_default() += lane.recent.failures;
    }
    top_failures(counts)
}

/// Hosts by the newest dead letters of kind `http`.
async fn failing_destinations(
    app: &App,
    tenant: Option<Tenant>,
) -> Result<Vec<FailureCount>, PageError> {
    let filter = JobFilter {
        tenant,
        kind: Some(Kind::http()),
        ..JobFilter::dead_letters()
    };
    let listed = app
        .client
        .jobs(filter, JobPageRequest::first(limits::DESTINATIONS_SCAN_MAX))
        .await?;
    let mut counts = BTreeMap::new();
    for job in listed.items {
        if let Some(host) = host(job.payload.as_str()) {
            *counts.entry(host).or_default() += 1;
        }
    }
    Ok(top_failures(counts))
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

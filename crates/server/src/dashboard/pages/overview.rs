//! The overview: is it healthy, what is failing, how far behind.

use std::collections::{BTreeMap, BTreeSet};

use askama::Template;
use steadfast_api::DestinationBody;
use steadfast_core::{
    AlertState, AlertStatus, DueForecast, HealthStatus, JobLabel, Queue, Tenant, Timestamp,
    explain::brief,
};
use steadfast_engine::{Forecasts, Stats};
use steadfast_store::{LaneStats, MinuteStats};

use crate::{
    api::flow::destinations::body_of,
    dashboard::{
        charts::{Marker, Svg, TimeBuckets, bars, series},
        page::{Layout, PageResult, PageTime, Viewer, render},
        parts::{
            DestinationRow, DueView, FailureRow, HealthSummary, Outage, alert_row::AlertRow,
            count_jobs, count_of_label, format_percent, incident_markers,
        },
        state::overview_facts::OverviewFacts,
    },
    extract::Caller,
    limits,
    metrics::start_latency::LatencyCounts,
};

#[derive(Template)]
#[template(path = "overview.html")]
struct OverviewPage {
    layout: Layout,
    tenant: String,
    is_day: bool,
    is_empty: bool,
    health: HealthSummary,
    stats: Stats,
    behind: Backlog,
    /// The first of them.
    firing: Vec<AlertRow>,
    /// Jobs by label.
    tiles: Vec<(&'static str, u64)>,
    /// How far back the recent figures reach.
    recent: String,
    throughput: Svg,
    rates: Svg,
    start_latency: Svg,
    /// The markers of the charts, in words.
    events: Vec<(&'static str, PageTime, String)>,
    failures: Vec<FailureRow>,
    destinations: Vec<DestinationRow>,
    outage: Option<Outage>,
    queues: Vec<QueueLine>,
    hidden_queues: usize,
    upcoming: Vec<UpcomingRow>,
    /// Said once for all rows that have no rate.
    has_unknown_rate: bool,
}

/// How far behind it is.
struct Backlog {
    overdue: Option<(PageTime, String)>,
    /// p50, p95 and p99.
    late: Option<[String; 3]>,
    due: DueView,
}

/// A queue, over all visible tenants.
struct QueueLine {
    name: String,
    picture: Svg,
    stats: Stats,
    is_paused: bool,
}

impl QueueLine {
    fn counts(&self) -> [(&'static str, u64); 3] {
        [
            ("Ready", self.stats.ready),
            ("Running", self.stats.running),
            ("Retrying", self.stats.retrying),
        ]
    }
}

/// The forecast of a queue or destination.
struct UpcomingRow {
    name: String,
    picture: Svg,
    summary: String,
    has_rate: bool,
    error: String,
}

pub async fn page(viewer: Viewer) -> PageResult {
    let tenant = viewer.tenant()?;
    let app = &viewer.app;
    let layout = viewer.layout("/", "Overview");
    let is_day = viewer.fields.get("span") == Some("day");
    let length = match is_day {
        true => limits::CHART_DAY,
        false => limits::CHART_HOUR,
    };
    let buckets = TimeBuckets::new(layout.now, length);
    let minutes = app.client.minutes(tenant.clone(), buckets.start()).await?;
    let buckets = shown_part(buckets, is_day, &minutes, app.started_at);
    let lanes = app.dashboard.lanes(&app.client, tenant.as_ref()).await?;
    let mut firing = viewer.caller.alerts(app, tenant.as_ref()).await?;
    firing.retain(|alert| alert.status == AlertStatus::Firing);
    let upcoming = app
        .dashboard
        .forecasts(&app.client, tenant.as_ref())
        .await?;
    let facts = app
        .dashboard
        .overview(&app.client, &*app.node.store(), tenant.as_ref())
        .await?;
    let due_lanes = app
        .dashboard
        .due(&app.client, &*app.node.store(), tenant.as_ref())
        .await?;
    let bodies = facts.destinations.iter();
    let bodies = bodies.map(|state| body_of(state, &viewer.caller, layout.now));
    let bodies: Vec<DestinationBody> = bodies.collect();
    let markers = markers(&facts, &bodies, layout.now);
    let (queues, hidden_queues) = queue_lines(&lanes, &facts, &layout);
    let stats: Stats = lanes.into_iter().collect();
    let due = stats.oldest_ready.filter(|due| *due <= layout.now);
    let late = &app.metrics.start_latency;
    let recent = late.since(tenant.as_ref(), layout.now.minus(limits::RECENT_WINDOW));
    let upcoming = upcoming_rows(&upcoming);
    let due_view = DueView::of(&due_lanes.iter().collect(), &viewer.caller);
    let health = HealthSummary::of(&facts, &firing, due, layout.now);
    render(&OverviewPage {
        is_empty: stats.total.attempts == 0 && count_jobs(&stats) == 0,
        health,
        behind: Backlog::of(&stats, due_view, &recent, &layout),
        tiles: JobLabel::ALL
            .iter()
            .map(|label| (label.as_str(), count_of_label(&stats, *label)))
            .collect(),
        recent: brief(limits::RECENT_WINDOW),
        throughput: series::throughput(&buckets, &minutes, &markers),
        rates: series::rates(&buckets, &minutes, &markers),
        start_latency: series::start_latency(
            &buckets,
            &late.spans(tenant.as_ref(), length),
            &markers,
        ),
        events: events(markers, buckets.start(), &layout),
        failures: failure_rows(&facts, &viewer.caller, &layout),
        outage: Outage::newest(&bodies, layout.now),
        destinations: destination_rows(bodies, &layout),
        queues,
        hidden_queues,
        has_unknown_rate: upcoming.iter().any(|row| !row.has_rate),
        upcoming,
        tenant: viewer.fields.value("tenant").to_owned(),
        stats,
        firing: alert_rows(firing, &layout),
        is_day,
        layout,
    })
}

/// An hour without its first part, if this node did not run then and no other one did anything; a day
/// whole.
fn shown_part(
    buckets: TimeBuckets,
    is_day: bool,
    minutes: &[MinuteStats],
    started_at: Timestamp,
) -> TimeBuckets {
    let first = minutes.iter().map(|minute| minute.at).min();
    let first = first.map_or(started_at, |first| first.min(started_at));
    match is_day {
        true => buckets,
        false => buckets.since(first, limits::CHART_PARTS_MIN),
    }
}

fn alert_rows(firing: Vec<AlertState>, layout: &Layout) -> Vec<AlertRow> {
    let rows = firing.into_iter().take(limits::OVERVIEW_ALERTS_MAX);
    rows.map(|alert| AlertRow::of((alert, Vec::new()), layout))
        .collect()
}

impl Backlog {
    fn of(stats: &Stats, due: DueView, late: &LatencyCounts, layout: &Layout) -> Self {
        let oldest = stats.oldest_ready.filter(|due| *due <= layout.now);
        let quantiles = [0.5, 0.95, 0.99].map(|share| late.quantile(share));
        Self {
            due,
            overdue: oldest.map(|due| (layout.time(due), brief(layout.now.since(due)))),
            late: match quantiles {
                [Some(half), Some(most), Some(nearly)] => Some([half, most, nearly].map(brief)),
                _ => None,
            },
        }
    }
}

/// Deploys and incidents, for the charts.
fn markers(facts: &OverviewFacts, bodies: &[DestinationBody], now: Timestamp) -> Vec<Marker> {
    let incidents = bodies.iter().flat_map(|body| incident_markers(body, now));
    let deploys = facts.deploys.iter().map(|deploy| Marker {
        class: "deploy",
        at: deploy.at,
        until: None,
        text: deploy.text.clone(),
    });
    incidents.chain(deploys).collect()
}

/// The newest markers within the charts.
fn events(
    markers: Vec<Marker>,
    start: Timestamp,
    layout: &Layout,
) -> Vec<(&'static str, PageTime, String)> {
    let mut shown: Vec<Marker> = markers
        .into_iter()
        .filter(|marker| marker.until.unwrap_or(marker.at) >= start)
        .collect();
    shown.sort_by_key(|marker| std::cmp::Reverse(marker.at));
    shown.truncate(limits::OVERVIEW_ROWS_MAX);
    let rows = shown.into_iter();
    rows.map(|it| (it.class, layout.time(it.at), it.text))
        .collect()
}

fn failure_rows(facts: &OverviewFacts, caller: &Caller, layout: &Layout) -> Vec<FailureRow> {
    let groups = facts.failures.iter().cloned();
    let groups = groups.map(|group| caller.redact_group(group));
    groups.map(|group| FailureRow::of(group, layout)).collect()
}

/// Those that do not work first.
fn destination_rows(mut bodies: Vec<DestinationBody>, layout: &Layout) -> Vec<DestinationRow> {
    bodies.sort_by_key(|body| {
        let rank = match body.status {
            HealthStatus::Held => 0,
            HealthStatus::Probing => 1,
            HealthStatus::Ramping => 2,
            HealthStatus::Healthy => 3,
        };
        (rank, std::cmp::Reverse(body.failed))
    });
    bodies.truncate(limits::OVERVIEW_ROWS_MAX);
    let rows = bodies.into_iter();
    rows.map(|body| DestinationRow::of(body, None, layout))
        .collect()
}

/// Queues with the most to do or done, and how many are left out.
fn queue_lines(
    lanes: &[LaneStats],
    facts: &OverviewFacts,
    layout: &Layout,
) -> (Vec<QueueLine>, usize) {
    let mut queues: BTreeMap<&Queue, Vec<&LaneStats>> = BTreeMap::new();
    for lane in lanes {
        queues.entry(&lane.queue).or_default().push(lane);
    }
    let buckets = TimeBuckets::new(layout.now, limits::CHART_HOUR);
    let mut busy: Vec<BusyQueue> = queues
        .into_iter()
        .map(|(queue, lanes)| BusyQueue::of(queue, &lanes, facts, buckets.count()))
        .collect();
    busy.sort_by_key(|it| (std::cmp::Reverse(it.weight()), it.queue));
    let hidden = busy.len().saturating_sub(limits::OVERVIEW_QUEUES_MAX);
    busy.truncate(limits::OVERVIEW_QUEUES_MAX);
    let lines = busy.into_iter().map(|it| QueueLine {
        name: it.queue.to_string(),
        picture: bars::queue_minutes(&buckets, &it.minutes),
        is_paused: it.is_paused,
        stats: it.stats,
    });
    (lines.collect(), hidden)
}

struct BusyQueue<'a> {
    queue: &'a Queue,
    stats: Stats,
    minutes: Vec<u64>,
    is_paused: bool,
}

impl<'a> BusyQueue<'a> {
    fn of(queue: &'a Queue, lanes: &[&LaneStats], facts: &OverviewFacts, minutes: usize) -> Self {
        let tenants: BTreeSet<&Tenant> = lanes.iter().map(|lane| &lane.tenant).collect();
        let mut sums = vec![0; minutes];
        for tenant in tenants {
            for (sum, count) in sums.iter_mut().zip(facts.minutes_of(tenant, queue)) {
                *sum += count;
            }
        }
        Self {
            queue,
            stats: lanes.iter().copied().cloned().collect(),
            minutes: sums,
            is_paused: lanes.iter().any(|lane| lane.paused),
        }
    }

    /// Its recent and waiting work.
    fn weight(&self) -> u64 {
        let waiting = self.stats.ready + self.stats.running + self.stats.retrying;
        self.minutes.iter().sum::<u64>().saturating_add(waiting)
    }
}

fn upcoming_rows(forecasts: &Forecasts) -> Vec<UpcomingRow> {
    let row = |name: String, forecast: &DueForecast, error: String| {
        let due: Vec<f64> = forecast.minutes.iter().map(|minute| minute.due).collect();
        let has_rate = forecast.longest_wait().is_some();
        UpcomingRow {
            name,
            picture: bars::upcoming(&due, forecast.throughput_per_minute),
            has_rate,
            summary: match has_rate {
                true => forecast.to_string(),
                false => forecast.demand(),
            },
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

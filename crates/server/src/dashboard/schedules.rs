//! Schedules: what is to come, what was, and what was left out and why.

use std::collections::HashMap;

use askama::Template;
use axum::extract::Path;
use steadfast_core::{
    Dst, Job, JobId, JobLabel, MissedTickPolicy, OverlapPolicy, Schedule, ScheduleId, SkipReason,
    SkippedTicks, Tenant, Tick, TickRule, duration,
};
use steadfast_store::{PageRequest, TickRecord};

use super::{
    chart::{self, Svg},
    explain,
    frame::{Frame, HtmlPage, PageError, done, render},
    shown::{Excerpt, When, count},
    viewer::{Editor, Viewer},
};
use crate::problem::Problem;

/// Each schedule on the list asks for its last ticks.
const PAGE: usize = 25;
const STRIP: usize = 24;
const TICKS: usize = 50;

#[derive(Template)]
#[template(path = "schedules.html")]
struct SchedulesPage {
    frame: Frame,
    rows: Vec<Row>,
    next: Option<String>,
    shows_tenants: bool,
}

#[derive(Template)]
#[template(path = "schedule.html")]
struct SchedulePage {
    frame: Frame,
    row: Row,
    kind: String,
    queue: String,
    policy: String,
    payload: Excerpt,
    overlap: &'static str,
    missed: &'static str,
    runs: String,
    upcoming: Vec<Upcoming>,
    ticks: Vec<Ticked>,
    shows_tenants: bool,
}

struct Row {
    id: String,
    name: String,
    tenant: String,
    rule: String,
    zone: String,
    paused: bool,
    is_over: bool,
    next: Vec<Upcoming>,
    strip: Svg,
    skipped: u64,
    last_skip: Option<String>,
}

struct Upcoming {
    at: When,
    dst: Option<&'static str>,
}

/// What became of a tick.
struct Ticked {
    at: When,
    /// The run it made.
    job: Option<String>,
    class: &'static str,
    said: String,
}

impl Upcoming {
    fn of(tick: &Tick, frame: &Frame) -> Self {
        Self {
            at: frame.when(tick.at),
            dst: tick.dst.map(|dst| match dst {
                Dst::Gap => "clocks go forward: fires right after the gap",
                Dst::Fold => "clocks go back: this local time comes twice",
            }),
        }
    }
}

fn rule(rule: &TickRule) -> (String, String) {
    match rule {
        TickRule::Cron { cron, zone } => (cron.as_str().to_owned(), zone.name().to_owned()),
        TickRule::Every(every) => (format!("every {}", duration::format(*every)), String::new()),
    }
}

fn skipped(skip: &SkippedTicks) -> String {
    let why = match skip.reason {
        SkipReason::Overlap => "the run before had not ended",
        SkipReason::Missed => "nobody was there to see them",
        SkipReason::MissedLimit => "they were older than the newest hundred",
        SkipReason::MaxRuns => "maxRuns was used up",
    };
    match skip.count {
        1 => format!("1 tick skipped: {why}"),
        number => format!("{} ticks skipped: {why}", count(number)),
    }
}

/// What became of ticks, newest first, with the state of each run.
async fn ticked(
    viewer: &Viewer,
    frame: &Frame,
    records: Vec<TickRecord>,
) -> Result<Vec<Ticked>, PageError> {
    let ids: Vec<JobId> = records
        .iter()
        .filter_map(|record| match record {
            TickRecord::Fired { job, .. } => Some(*job),
            TickRecord::Skipped(_) => None,
        })
        .collect();
    let runs = viewer.app.client.jobs_of(ids).await?.into_iter().flatten();
    let runs: HashMap<JobId, Job> = runs.map(|job| (job.id, job)).collect();
    let shown = records.into_iter().map(|record| match record {
        TickRecord::Skipped(skip) => Ticked {
            at: frame.when(skip.from),
            job: None,
            class: "skipped",
            said: skipped(&skip),
        },
        TickRecord::Fired { tick, job } => {
            let label = runs.get(&job).map(|job| job.label(frame.now));
            let class = match label {
                Some(JobLabel::Succeeded) => "good",
                Some(JobLabel::Failed) => "bad",
                Some(JobLabel::Running | JobLabel::Ready | JobLabel::Retrying) => "running",
                _ => "grey",
            };
            Ticked {
                at: frame.when(tick),
                job: label.map(|_| job.to_string()),
                class,
                said: label
                    .map_or("ended, and is not kept any more", JobLabel::as_str)
                    .to_owned(),
            }
        }
    });
    Ok(shown.collect())
}

async fn row(viewer: &Viewer, frame: &Frame, schedule: &Schedule) -> Result<Row, PageError> {
    let listed = viewer
        .app
        .client
        .ticks(schedule.id, PageRequest::first(STRIP))
        .await?;
    let skips = listed.items.iter().filter_map(|record| match record {
        TickRecord::Skipped(skip) => Some(*skip),
        TickRecord::Fired { .. } => None,
    });
    let skips: Vec<SkippedTicks> = skips.collect();
    let ticks = ticked(viewer, frame, listed.items).await?;
    let marks: Vec<(&'static str, String)> = ticks
        .iter()
        .rev()
        .map(|tick| (tick.class, format!("{}: {}", tick.at.absolute(), tick.said)))
        .collect();
    let (rule, zone) = rule(schedule.timetable.rule());
    let next = schedule.timetable.upcoming(&schedule.progress, 3);
    Ok(Row {
        id: schedule.id.to_string(),
        name: schedule.name.to_string(),
        tenant: schedule.tenant().to_string(),
        rule,
        zone,
        paused: schedule.paused,
        is_over: schedule.progress.is_over(),
        next: match schedule.paused {
            true => Vec::new(),
            false => next.iter().map(|tick| Upcoming::of(tick, frame)).collect(),
        },
        strip: chart::strip(&marks),
        skipped: skips.iter().map(|skip| skip.count).sum(),
        last_skip: skips.first().map(skipped),
    })
}

pub async fn page(viewer: Viewer) -> HtmlPage {
    let asked = viewer.fields.get("tenant").map(Tenant::new).transpose()?;
    let tenant = viewer.caller.choose(asked)?;
    let after = viewer.fields.get("after").map(str::parse::<ScheduleId>);
    let page = PageRequest {
        limit: PAGE,
        after: after.transpose()?,
    };
    let frame = Frame::of(&viewer, "/schedules", "Schedules");
    let listed = viewer.app.client.schedules(tenant, page).await?;
    let mut rows = Vec::new();
    for schedule in &listed.items {
        rows.push(row(&viewer, &frame, schedule).await?);
    }
    let next = listed.next.map(|next| {
        let query = viewer.fields.with(&[("after", &next.to_string())]);
        format!("/schedules?{query}")
    });
    render(&SchedulesPage {
        frame,
        rows,
        next,
        shows_tenants: viewer.caller.tenant.is_none(),
    })
}

async fn find(viewer: &Viewer, id: &str) -> Result<Schedule, PageError> {
    let shown: String = id.chars().take(64).collect();
    let id: ScheduleId = id.parse().map_err(|_| Problem::not_found(&shown))?;
    let found = viewer.app.client.find_schedule(id).await?;
    Ok(viewer.caller.schedule(found, id)?)
}

pub async fn one(viewer: Viewer, Path(id): Path<String>) -> HtmlPage {
    let schedule = find(&viewer, &id).await?;
    let frame = Frame::of(&viewer, "/schedules", schedule.name.to_string());
    let client = &viewer.app.client;
    let listed = client.ticks(schedule.id, PageRequest::first(TICKS)).await?;
    let upcoming = schedule.timetable.upcoming(&schedule.progress, 10);
    let template = &schedule.template;
    render(&SchedulePage {
        row: row(&viewer, &frame, &schedule).await?,
        kind: template.kind.to_string(),
        queue: template.queue.to_string(),
        policy: explain::policy(&template.policy),
        payload: Excerpt::json(template.payload.as_str()),
        overlap: match schedule.timetable.overlap() {
            OverlapPolicy::Skip => "a tick is skipped while the run before it has not ended",
            OverlapPolicy::Allow => "runs may overlap",
            OverlapPolicy::QueueOne => "one tick waits for the run before it to end",
            OverlapPolicy::Replace => "a new tick cancels the unfinished run",
        },
        missed: match schedule.timetable.missed() {
            MissedTickPolicy::Skip => "ticks that nobody saw are skipped",
            MissedTickPolicy::RunOnce => "one run makes up for all ticks that nobody saw",
            MissedTickPolicy::RunAll => {
                "every tick that nobody saw is run, the newest hundred at most"
            }
        },
        runs: count(schedule.progress.runs),
        upcoming: upcoming
            .iter()
            .map(|tick| Upcoming::of(tick, &frame))
            .collect(),
        ticks: ticked(&viewer, &frame, listed.items).await?,
        shows_tenants: viewer.caller.tenant.is_none(),
        frame,
    })
}

pub async fn act(Path(id): Path<String>, editor: Editor) -> HtmlPage {
    let Editor { viewer, form } = editor;
    let id = find(&viewer, &id).await?.id;
    let client = &viewer.app.client;
    let back = form.get("back").unwrap_or("/schedules");
    match form.get("action") {
        Some("pause") => {
            client.pause_schedule(id).await?;
            Ok(done(back, "pause", None))
        }
        Some("resume") => {
            client.resume_schedule(id).await?;
            Ok(done(back, "resume", None))
        }
        Some("run-now") => {
            let run = client.run_schedule_now(id).await?;
            Ok(done(&format!("/jobs/{run}"), "run-now", None))
        }
        Some("delete") => {
            client.delete_schedule(id).await?;
            Ok(done("/schedules", "delete", None))
        }
        _ => Err(Problem::invalid("action", "there is no such action").into()),
    }
}

//! Schedules: upcoming ticks, past ticks, and skipped ones with the reason.

use std::collections::HashMap;

use askama::Template;
use axum::extract::Path;
use steadfast_core::{
    Dst, Job, JobId, JobLabel, MissedTickPolicy, OverlapPolicy, Schedule, ScheduleId, SkipReason,
    SkippedTicks, Tick, TickRule, Zone, duration, explain, limits as core_limits,
};
use steadfast_store::{Page, PageRequest, TickRecord};

use crate::{
    api,
    dashboard::{
        charts::{Svg, bars},
        page::{
            Detail, Editor, Layout, List, PageError, PageResult, PageTime, Viewer, done,
            no_such_action, render,
        },
        parts::{Confirmation, Excerpt, payload_view, thousands},
    },
    limits,
};

#[derive(Template)]
#[template(path = "lists/schedules.html")]
struct ScheduleListPage {
    layout: Layout,
    list: List<ScheduleRow>,
}

#[derive(Template)]
#[template(path = "details/schedule.html")]
struct ScheduleDetailPage {
    layout: Layout,
    detail: Detail,
    row: ScheduleRow,
    policy: String,
    payload: Excerpt,
    overlap: &'static str,
    missed: String,
    runs: String,
    upcoming: Vec<UpcomingTick>,
    ticks: Vec<TickRow>,
}

struct ScheduleRow {
    schedule: Schedule,
    rule: String,
    words: String,
    zone: String,
    /// The job of each run, such as `POST https://example.com/report`, or a kind.
    work: String,
    next: Vec<UpcomingTick>,
    last_runs: Svg,
    skipped: u64,
    last_skip: Option<String>,
}

impl ScheduleRow {
    /// Whether its rule has a text of its own beside the words.
    fn has_cron(&self) -> bool {
        self.rule != self.words
    }
}

pub struct UpcomingTick {
    pub at: PageTime,
    /// As clocks of the schedule's zone show it.
    pub local: String,
    pub dst: Option<&'static str>,
}

/// A tick that has passed.
struct TickRow {
    at: PageTime,
    /// The run it created, unless retention has removed it.
    job: Option<String>,
    class: &'static str,
    result: String,
}

impl UpcomingTick {
    pub fn of(tick: &Tick, zone: Option<&Zone>, layout: &Layout) -> Self {
        let at = layout.time(tick.at);
        Self {
            local: local_time(&at, zone),
            at,
            dst: tick.dst.map(|dst| match dst {
                Dst::Gap => "clocks go forward: it fires right after the gap",
                Dst::Fold => "clocks go back: this local time occurs twice",
            }),
        }
    }
}

/// A time as clocks of the schedule's zone show it.
fn local_time(at: &PageTime, zone: Option<&Zone>) -> String {
    match zone.filter(|zone| zone.name() != "UTC") {
        Some(zone) => format!("{} {zone}", zone.local_time(at.at)),
        None => at.absolute(),
    }
}

/// The rule as text, and its time zone.
fn describe_rule(rule: &TickRule) -> (String, String) {
    match rule {
        TickRule::Cron { cron, zone } => (cron.as_str().to_owned(), zone.name().to_owned()),
        TickRule::Every(every) => (format!("every {}", duration::format(*every)), String::new()),
    }
}

fn describe_skip(skip: &SkippedTicks) -> String {
    let reason = match skip.reason {
        SkipReason::Overlap => "the previous run was still active".to_owned(),
        SkipReason::Missed => format!("no node was running; found more than {} late", lateness()),
        SkipReason::MissedLimit => format!(
            "missed; only the newest {} are run",
            core_limits::RUN_ALL_TICKS_MAX
        ),
        SkipReason::MaxRuns => "maxRuns reached".to_owned(),
    };
    match skip.count {
        1 => format!("1 tick skipped: {reason}"),
        number => format!("{} ticks skipped: {reason}", thousands(number)),
    }
}

fn describe_overlap(overlap: OverlapPolicy) -> &'static str {
    match overlap {
        OverlapPolicy::Skip => "a tick is skipped while the previous run is active",
        OverlapPolicy::Allow => "runs may overlap",
        OverlapPolicy::QueueOne => "one tick waits for the previous run to end",
        OverlapPolicy::Replace => "a new tick cancels the unfinished run",
    }
}

fn lateness() -> String {
    duration::format(core_limits::TICK_LATENESS_MAX)
}

fn describe_missed(missed: MissedTickPolicy) -> String {
    match missed {
        MissedTickPolicy::Skip => format!("ticks more than {} late are skipped", lateness()),
        MissedTickPolicy::RunOnce => "one run replaces all missed ticks".to_owned(),
        MissedTickPolicy::RunAll => format!(
            "every missed tick runs, at most the newest {}",
            core_limits::RUN_ALL_TICKS_MAX
        ),
    }
}

/// Past ticks, newest first, with the state of each run.
async fn tick_rows(
    viewer: &Viewer,
    layout: &Layout,
    records: Vec<TickRecord>,
) -> Result<Vec<TickRow>, PageError> {
    let ids: Vec<JobId> = records
        .iter()
        .filter_map(|record| match record {
            TickRecord::Fired { job, .. } => Some(*job),
            TickRecord::Skipped(_) => None,
        })
        .collect();
    let runs = viewer.app.client.jobs_of(ids).await?.into_iter().flatten();
    let runs: HashMap<JobId, Job> = runs.map(|job| (job.id, job)).collect();
    let rows = records.into_iter().map(|record| match record {
        TickRecord::Skipped(skip) => TickRow {
            at: layout.time(skip.from),
            job: None,
            class: "skipped",
            result: describe_skip(&skip),
        },
        TickRecord::Fired { tick, job } => {
            let label = runs.get(&job).map(|job| job.label(layout.now));
            let class = match label {
                Some(JobLabel::Succeeded) => "good",
                Some(JobLabel::Failed) => "bad",
                Some(JobLabel::Running | JobLabel::Ready | JobLabel::Retrying) => "running",
                _ => "grey",
            };
            TickRow {
                at: layout.time(tick),
                job: label.map(|_| job.to_string()),
                class,
                result: label
                    .map_or("ended; removed by retention", JobLabel::as_str)
                    .to_owned(),
            }
        }
    });
    Ok(rows.collect())
}

async fn schedule_row(
    viewer: &Viewer,
    layout: &Layout,
    schedule: Schedule,
) -> Result<ScheduleRow, PageError> {
    let listed = viewer
        .app
        .client
        .ticks(schedule.id, PageRequest::first(limits::LAST_RUNS_MAX))
        .await?;
    let skips = listed.items.iter().filter_map(|record| match record {
        TickRecord::Skipped(skip) => Some(*skip),
        TickRecord::Fired { .. } => None,
    });
    let skips: Vec<SkippedTicks> = skips.collect();
    let ticks = tick_rows(viewer, layout, listed.items).await?;
    let marks: Vec<(&'static str, String)> = ticks
        .iter()
        .rev()
        .map(|tick| {
            (
                tick.class,
                format!("{}: {}", tick.at.absolute(), tick.result),
            )
        })
        .collect();
    let (rule, zone) = describe_rule(schedule.timetable.rule());
    let upcoming = schedule
        .timetable
        .upcoming(&schedule.progress, limits::LIST_UPCOMING_TICKS_MAX);
    let upcoming = upcoming.iter().filter(|_| !schedule.paused);
    Ok(ScheduleRow {
        rule,
        words: schedule.timetable.rule().describe(),
        zone,
        work: api::work::create::describe_work(&schedule.template),
        next: upcoming
            .map(|tick| UpcomingTick::of(tick, schedule.timetable.rule().zone(), layout))
            .collect(),
        last_runs: bars::last_runs(&marks),
        skipped: skips.iter().map(|skip| skip.count).sum(),
        last_skip: skips.first().map(describe_skip),
        schedule,
    })
}

pub async fn page(viewer: Viewer) -> PageResult {
    let tenant = viewer.tenant()?;
    let page = PageRequest {
        limit: limits::PAGE_SCHEDULES_MAX,
        ..viewer.fields.page::<ScheduleId>()
    };
    let layout = viewer.layout("/schedules", "Schedules");
    let listed = viewer.app.client.schedules(tenant, page).await?;
    let mut rows = Vec::new();
    for schedule in listed.items {
        let schedule = viewer.caller.redact_schedule(schedule);
        rows.push(schedule_row(&viewer, &layout, schedule).await?);
    }
    let listed = Page {
        items: rows,
        next: listed.next,
    };
    render(&ScheduleListPage {
        list: List::page(("/schedules", &viewer.fields), &page, listed, |row| row),
        layout,
    })
}

/// By its id or its name.
pub async fn find(viewer: &Viewer, text: &str) -> Result<Schedule, PageError> {
    Ok(api::work::schedules::find(&viewer.app, &viewer.caller, text).await?)
}

pub async fn detail_page(viewer: Viewer, Path(id): Path<String>) -> PageResult {
    let schedule = find(&viewer, &id).await?;
    let layout = viewer.layout("/schedules", schedule.name.to_string());
    let client = &viewer.app.client;
    let request = PageRequest::first(limits::PAGE_TICKS_MAX);
    let listed = client.ticks(schedule.id, request).await?;
    let upcoming = schedule
        .timetable
        .upcoming(&schedule.progress, limits::PAGE_UPCOMING_TICKS_MAX);
    let template = &schedule.template;
    let is_paused = schedule.paused;
    render(&ScheduleDetailPage {
        detail: Detail::new("/schedules", schedule.id, &schedule.name)
            .button(is_paused, "main", ["resume", "Resume"])
            .button(!is_paused, "", ["pause", "Pause"])
            .button(true, "", ["run-now", "Run now"])
            .button(true, "danger", ["delete", "Delete"]),
        policy: explain::policy(&template.policy),
        payload: payload_view::excerpt(&template.kind, &template.payload, layout.may_write),
        overlap: describe_overlap(schedule.timetable.overlap()),
        missed: describe_missed(schedule.timetable.missed()),
        runs: thousands(schedule.progress.runs),
        upcoming: upcoming
            .iter()
            .map(|tick| UpcomingTick::of(tick, schedule.timetable.rule().zone(), &layout))
            .collect(),
        ticks: tick_rows(&viewer, &layout, listed.items).await?,
        row: schedule_row(&viewer, &layout, schedule).await?,
        layout,
    })
}

pub async fn act(Path(id): Path<String>, editor: Editor) -> PageResult {
    let Editor { viewer, form } = editor;
    let schedule = find(&viewer, &id).await?;
    let id = schedule.id;
    let client = viewer.caller.client(&viewer.app).await?;
    let back = form.get("back").unwrap_or("/schedules");
    match form.get("action") {
        Some("pause") => {
            client.pause_schedule(id).await?;
            done(back, "pause")
        }
        Some("resume") => {
            client.resume_schedule(id).await?;
            done(back, "resume")
        }
        Some("run-now") => {
            let run = client.run_schedule_now(id).await?;
            done(&format!("/jobs/{run}"), "run-now")
        }
        Some("delete") if !form.is_confirmed() => {
            let name = schedule.name.to_string();
            Confirmation::new("/schedules", "Delete schedule", name, id.to_string())
                .on_page()
                .page(
                    &viewer,
                    "It creates no more jobs. Existing jobs are not changed.",
                )
        }
        Some("delete") => {
            client.delete_schedule(id).await?;
            done("/schedules", "delete")
        }
        _ => Err(no_such_action()),
    }
}

//! One job: its timeline, its attempts with the reason for each retry, and its actions.

use askama::Template;
use axum::extract::Path;
use steadfast_core::{
    Attempt, AttemptForecast, AttemptStatus, Job, JobCommand, JobEdit, JobId, JobState, Kind, Note,
    Tenant, Timestamp,
    explain::{self, brief},
    tag_text,
};
use steadfast_store::{AuditFilter, JobFilter, JobLinks, JobPageRequest, PageRequest};

use super::{
    audit::AuditRow,
    chart::{self, Svg},
    fields::parse_id,
    format::{Countdown, Excerpt, PageTime},
    frame::{Frame, redirect_back, render},
    jobs::JobRow,
    operations::OperationRow,
    page_error::{PageError, PageResult},
    payload_view,
    start::StartPanel,
    viewer::{Editor, Viewer},
};
use crate::{
    App,
    api::{explain::request as explain_request, jobs::checked_payload},
    limits,
    problem::Problem,
};

#[derive(Template)]
#[template(path = "job.html")]
struct JobDetailPage {
    frame: Frame,
    row: JobRow,
    job: Job,
    note: Option<String>,
    policy: String,
    reason: Option<&'static str>,
    timeline: Svg,
    is_logarithmic: bool,
    next: Option<(PageTime, Countdown)>,
    forecast: Vec<ForecastRow>,
    attempts: Vec<AttemptRow>,
    more_attempts: bool,
    /// The heading of the outputs of attempts.
    output_name: &'static str,
    payload: Excerpt,
    payload_text: String,
    deliveries: Vec<JobRow>,
    schedule: Option<String>,
    finished: Option<PageTime>,
    allowed: AllowedActions,
    /// Why it has not started, if it waits.
    start: Option<StartPanel>,
    /// Who did what to it, the newest first.
    commands: Vec<AuditRow>,
    /// The operations that have looked at it, the newest first.
    operations: Vec<OperationRow>,
    links: JobLinks,
}

/// The actions that make sense for the job as it stands.
struct AllowedActions {
    cancel: bool,
    retry: bool,
    run_now: bool,
    edit: bool,
    discard: bool,
}

impl AllowedActions {
    fn of(job: &Job) -> Self {
        let allows = |command: JobCommand| job.allows(&command).is_ok();
        Self {
            // A second request would change nothing.
            cancel: allows(JobCommand::Cancel) && !job.progress.cancel_requested,
            retry: allows(JobCommand::Retry { payload: None }),
            run_now: allows(JobCommand::RunNow),
            edit: allows(JobCommand::Edit(JobEdit::default())),
            discard: allows(JobCommand::Discard),
        }
    }
}

/// An upcoming attempt.
struct ForecastRow {
    number: u32,
    retry: String,
    at: PageTime,
    delay: String,
}

/// An attempt that has ended.
struct AttemptRow {
    number: u32,
    /// Unlike the number, it is unique: a snoozed attempt is repeated under its number.
    fence: u32,
    retry: String,
    is_first_after_requeue: bool,
    /// Who has requeued it before this attempt, if that is known.
    requeued_by: Option<String>,
    status: &'static str,
    class: &'static str,
    started: PageTime,
    took: String,
    worker: String,
    failure: Option<String>,
    /// The query string of the failure's group.
    failure_address: Option<String>,
    output: Option<Excerpt>,
    note: Option<String>,
    trace: Option<Excerpt>,
    explanation: Option<String>,
    next: Option<PageTime>,
}

impl AttemptRow {
    fn of(attempt: &Attempt, tenant: &Tenant, frame: &Frame) -> Self {
        let next = attempt.decision.as_ref().and_then(|it| it.next_run_at);
        let trace = attempt.failure.as_ref().and_then(|it| it.trace.as_ref());
        let worker = attempt.worker.as_ref().map(ToString::to_string);
        Self {
            number: attempt.attempt,
            fence: attempt.fence.0,
            retry: retry_name(attempt.retry_count()),
            is_first_after_requeue: attempt.is_first_after_requeue(),
            requeued_by: None,
            status: attempt.status.as_str(),
            class: status_class(attempt.status),
            started: frame.time(attempt.started_at),
            took: brief(attempt.duration()),
            worker: worker.unwrap_or_default(),
            failure: attempt.failure.as_ref().map(ToString::to_string),
            failure_address: attempt
                .failure
                .as_ref()
                .and_then(|failure| failure.fingerprint)
                .map(|fingerprint| format!("fingerprint={fingerprint}&tenant={tenant}")),
            output: attempt.output.as_ref().map(|it| Excerpt::json(it.as_str())),
            note: attempt.note.as_deref().map(shown_note),
            trace: trace.cloned().map(Excerpt::of),
            explanation: explain::decision(attempt),
            next: next.map(|at| frame.time(at)),
        }
    }
}

/// Who gave the newest command before the first attempt of a new budget.
fn requeued_by(
    attempt: &Attempt,
    commands: &[AuditRow],
    operations: &[OperationRow],
) -> Option<String> {
    let commands = commands.iter().filter(|it| it.action == "job.retry");
    let operations = operations.iter().filter(|it| it.tries_again());
    let commands = commands.map(|it| (it.at.at, &it.by));
    let all = commands.chain(operations.map(|it| (it.created_at.at, &it.by)));
    let before = all.filter(|(at, _)| *at <= attempt.started_at);
    let newest = before.max_by_key(|(at, _)| *at)?;
    attempt.is_first_after_requeue().then(|| newest.1.clone())
}

fn shown_note(stored: &str) -> String {
    Note::read(stored).to_string()
}

/// The name of an attempt within its retry budget.
fn retry_name(retry_count: u32) -> String {
    match retry_count {
        0 => "first attempt".to_owned(),
        retry => format!("retry {retry}"),
    }
}

fn output_name(kind: &Kind) -> &'static str {
    if *kind == Kind::http() || *kind == Kind::webhook() {
        "Response"
    } else {
        "Result"
    }
}

fn status_class(status: AttemptStatus) -> &'static str {
    match status {
        AttemptStatus::Success => "good",
        AttemptStatus::Failed | AttemptStatus::Lost => "bad",
        AttemptStatus::Snoozed | AttemptStatus::Cancelled | AttemptStatus::Released => "grey",
    }
}

pub async fn page(viewer: Viewer, Path(id): Path<String>) -> PageResult {
    let job = find(&viewer, &id).await?;
    let frame = Frame::of(&viewer, "/jobs", format!("{} {}", job.kind, job.id));
    let request = PageRequest::first(limits::PAGE_ATTEMPTS_MAX);
    let listed = viewer.app.client.attempts(job.id, request).await?;
    let forecast = job.forecast(frame.now);
    let segments = segments(&job, &listed.items, &forecast, frame.now);
    let summary = format!(
        "attempts so far: {}, upcoming if they fail: {}; the job is {}",
        job.progress.attempt,
        forecast.len(),
        job.label(frame.now)
    );
    let is_due_later = job.progress.state == JobState::Waiting && job.earliest_run_at() > frame.now;
    let next = frame.time(job.earliest_run_at());
    let attempts = listed.items.iter();
    let commands = commands(&viewer.app, &job, &frame).await?;
    let operations = operations(&viewer, &job, &frame).await?;
    render(&JobDetailPage {
        row: JobRow::of(&job, &frame),
        note: job.progress.note.as_deref().map(shown_note),
        policy: explain::policy(&job.policy),
        reason: job.progress.reason.map(explain::reason),
        timeline: chart::timeline(&segments, summary),
        is_logarithmic: chart::is_logarithmic(&segments),
        next: is_due_later.then(|| (next, next.countdown())),
        forecast: forecast_rows(&forecast, &frame),
        attempts: attempts
            .map(|it| AttemptRow {
                requeued_by: requeued_by(it, &commands, &operations),
                ..AttemptRow::of(it, &job.tenant, &frame)
            })
            .collect(),
        more_attempts: listed.next.is_some(),
        output_name: output_name(&job.kind),
        payload: payload_view::excerpt(&job.kind, &job.payload, frame.may_write),
        payload_text: payload_view::editable(&job.kind, &job.payload),
        deliveries: deliveries(&viewer.app, &job, &frame).await?,
        schedule: job.scheduled_run.map(|run| run.schedule.to_string()),
        finished: job.progress.finished_at.map(|at| frame.time(at)),
        allowed: AllowedActions::of(&job),
        start: start_panel(&viewer, &job, &frame).await?,
        commands,
        operations,
        links: viewer.app.client.links(job.id).await?,
        job,
        frame,
    })
}

async fn start_panel(
    viewer: &Viewer,
    job: &Job,
    frame: &Frame,
) -> Result<Option<StartPanel>, PageError> {
    if job.progress.state != JobState::Waiting {
        return Ok(None);
    }
    let request = explain_request(&viewer.app, &viewer.caller, &job.tenant).await?;
    let explanation = viewer.app.client.explain(job.id, &request).await?;
    Ok(explanation.map(|it| StartPanel::of(it, frame)))
}

async fn find(viewer: &Viewer, text: &str) -> Result<Job, PageError> {
    let id: JobId = parse_id(text)?;
    Ok(viewer.caller.job(viewer.app.client.job(id).await?, id)?)
}

fn forecast_rows(forecast: &[AttemptForecast], frame: &Frame) -> Vec<ForecastRow> {
    let mut before = frame.now;
    let mut rows = Vec::new();
    for attempt in forecast {
        rows.push(ForecastRow {
            number: attempt.attempt,
            retry: retry_name(attempt.retry_count),
            at: frame.time(attempt.at),
            delay: brief(attempt.at.since(before)),
        });
        before = attempt.at;
    }
    rows
}

/// The parts of the timeline, oldest first.
fn segments(
    job: &Job,
    attempts: &[Attempt],
    forecast: &[AttemptForecast],
    now: Timestamp,
) -> Vec<chart::Segment> {
    let mut segments = Vec::new();
    let mut end: Option<Timestamp> = None;
    let wait = |segments: &mut Vec<chart::Segment>, end: Option<Timestamp>, until: Timestamp| {
        if let Some(end) = end {
            segments.push(chart::Segment::Wait {
                duration: until.since(end),
                is_future: until > now,
            });
        }
    };
    for attempt in attempts.iter().take(limits::TIMELINE_ATTEMPTS_MAX).rev() {
        wait(&mut segments, end, attempt.started_at);
        let failure = attempt.failure.as_ref().map(|it| format!(": {it}"));
        segments.push(chart::Segment::Attempt {
            number: attempt.attempt,
            duration: attempt.duration(),
            mark: match status_class(attempt.status) {
                "good" => chart::Mark::Good,
                "bad" => chart::Mark::Bad,
                _ => chart::Mark::Grey,
            },
            tooltip: format!("{}{}", attempt.status, failure.unwrap_or_default()),
        });
        end = Some(attempt.finished_at);
    }
    if job.progress.state == JobState::Running {
        let started = job.progress.started_at.unwrap_or(now);
        wait(&mut segments, end, started);
        segments.push(chart::Segment::Attempt {
            number: job.progress.attempt,
            duration: now.since(started),
            mark: chart::Mark::Running,
            tooltip: "running".to_owned(),
        });
        end = Some(now);
    }
    for attempt in forecast.iter().take(limits::TIMELINE_FORECAST_MAX) {
        wait(&mut segments, end.or(Some(now)), attempt.at);
        segments.push(chart::Segment::Attempt {
            number: attempt.attempt,
            duration: std::time::Duration::ZERO,
            mark: chart::Mark::Future,
            tooltip: "upcoming, if the attempts before it fail".to_owned(),
        });
        end = Some(attempt.at);
    }
    segments
}

/// The newest webhook deliveries about this job.
async fn deliveries(app: &App, job: &Job, frame: &Frame) -> Result<Vec<JobRow>, PageError> {
    if job.kind == Kind::webhook() || job.progress.attempt == 0 {
        return Ok(Vec::new());
    }
    let has_endpoints = !app.client.endpoints(Some(&job.tenant)).await?.is_empty();
    if job.webhook.is_none() && !has_endpoints {
        return Ok(Vec::new());
    }
    let filter = JobFilter {
        tenant: Some(job.tenant.clone()),
        kind: Some(Kind::webhook()),
        tags: vec![tag_text("job", &job.id.to_string())],
        ..JobFilter::default()
    };
    let page = JobPageRequest::first(limits::DELIVERIES_SHOWN_MAX);
    let listed = app.client.jobs(filter, page).await?.items.into_iter();
    Ok(listed.map(|job| JobRow::of(&job, frame)).collect())
}

/// The newest commands on this job.
async fn commands(app: &App, job: &Job, frame: &Frame) -> Result<Vec<AuditRow>, PageError> {
    let filter = AuditFilter {
        tenant: Some(job.tenant.clone()),
        subject: Some(job.id.to_string()),
        ..AuditFilter::default()
    };
    let page = PageRequest::first(limits::JOB_COMMANDS_SHOWN);
    let found = app.client.audit(filter, page).await?.items.into_iter();
    Ok(found.map(|record| AuditRow::of(record, frame)).collect())
}

/// The newest operations on this job that the viewer may see.
async fn operations(
    viewer: &Viewer,
    job: &Job,
    frame: &Frame,
) -> Result<Vec<OperationRow>, PageError> {
    let client = &viewer.app.client;
    let found = client.operations_of_job(job.id, limits::JOB_COMMANDS_SHOWN);
    let found = found.await?;
    let rows = found.iter().map(|record| {
        let is_visible = match &record.tenant {
            Some(tenant) => viewer.caller.sees(tenant),
            None => viewer.caller.tenant.is_none(),
        };
        let mut row = OperationRow::of(record, frame);
        row.has_page = is_visible;
        row
    });
    Ok(rows.collect())
}

pub async fn act(Path(id): Path<String>, editor: Editor) -> PageResult {
    let Editor { viewer, form } = editor;
    let job = find(&viewer, &id).await?;
    let payload = match form.get("payload") {
        Some(text) => {
            let payload = payload_view::unmask(&job.kind, &job.payload, text)?;
            Some(checked_payload(&job, payload)?)
        }
        None => None,
    };
    let (command, did) = match form.get("action") {
        Some("cancel") => (JobCommand::Cancel, "cancel"),
        Some("retry") => (JobCommand::Retry { payload }, "retry"),
        Some("run-now") => (JobCommand::RunNow, "run-now"),
        Some("discard") => (JobCommand::Discard, "discard"),
        Some("edit") => {
            let edit = JobEdit {
                payload,
                ..JobEdit::default()
            };
            (JobCommand::Edit(edit), "edit")
        }
        _ => return Err(Problem::invalid("action", "there is no such action").into()),
    };
    let by = viewer.caller.actor(&viewer.app, "dashboard").await?;
    viewer.app.client.command_by(&job, command, by).await?;
    let here = format!("/jobs/{}", job.id);
    Ok(redirect_back(form.get("back").unwrap_or(&here), did, None))
}

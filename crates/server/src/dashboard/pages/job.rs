//! One job: its timeline, its attempts with the reason for each retry, and its actions.

mod log_view;

use askama::Template;
use axum::{extract::Path, response::IntoResponse as _};
use steadfast_core::{
    Attempt, AttemptForecast, AuditRecord, Job, JobCommand, JobEdit, JobId, JobState, Kind, Note,
    Payload, PolicyPatch, Priority, ScheduleId, StartExplanation, Timestamp,
    explain::{self, brief},
    tag_text,
};
use steadfast_store::{AuditFilter, JobDetail, JobFilter, JobLinks, JobPageRequest, PageRequest};

use crate::{
    api::work::{explain::request as explain_request, jobs::checked_payload, requeues::Requeues},
    app::App,
    dashboard::{
        charts::{Svg, timeline},
        forms::bulk,
        page::{
            Countdown, Detail, Editor, Fields, Layout, PageError, PageResult, PageTime, Viewer,
            done, no_such_action, parse_id, render,
        },
        parts::{
            AttemptRow, AuditRow, Confirmation, Excerpt, JobRow, OperationRow, StartPanel, Summary,
            attempts::{AttemptGroup, retry_name, status_class},
            failure_row::failure_address,
            http_view::RequestView,
            payload_view, summary,
        },
    },
    extract::body,
    http::Problem,
    limits,
};

use log_view::LogView;

#[derive(Template)]
#[template(path = "details/job.html")]
struct JobDetailPage {
    layout: Layout,
    detail: Detail,
    row: JobRow,
    job: Job,
    note: Option<Note>,
    policy: String,
    /// The request that it sends, if it is an HTTP job.
    request: Option<RequestView>,
    reason: Option<&'static str>,
    /// `None` if nothing has happened and no time of what will is known.
    timeline: Option<Svg>,
    is_logarithmic: bool,
    next: Option<(PageTime, Countdown)>,
    forecast: Vec<ForecastRow>,
    attempts: Vec<AttemptGroup>,
    /// The failure of the newest attempt, unless the job has succeeded since.
    last_failure: Option<LastFailure>,
    more_attempts: bool,
    /// The heading of the outputs of attempts.
    output_name: &'static str,
    payload: Excerpt,
    /// The form that edits it. One that was refused holds what was entered.
    edit: Fields,
    edit_error: Option<String>,
    may_retry: bool,
    may_edit: bool,
    deliveries: Vec<JobRow>,
    /// The id of its schedule, and the name, unless it was deleted.
    schedule: Option<(ScheduleId, Option<String>)>,
    finished: Option<PageTime>,
    /// The blockers of its next start, if it waits.
    start: Option<StartPanel>,
    /// Who did what to it, the newest first.
    commands: Vec<AuditRow>,
    /// The operations that have looked at it, the newest first.
    operations: Vec<OperationRow>,
    links: JobLinks,
    /// The first of the jobs that wait for it, or did.
    dependants: Vec<JobRow>,
    /// The steps that were done, whichever attempt did them.
    steps: Vec<(String, Excerpt)>,
    /// Of the newest attempts.
    logs: Vec<LogView>,
}

/// The form that edits the job.
fn edit_fields(job: &Job) -> Fields {
    Fields::from_iter([
        ("payload", payload_view::editable(&job.kind, &job.payload)),
        ("priority", job.priority.get().to_string()),
    ])
}

/// The name of the job, and the actions that its state allows.
fn detail(job: &Job) -> Detail {
    let allows = |command: JobCommand| job.allows(&command).is_ok();
    // A second request would change nothing.
    let may_cancel = allows(JobCommand::Cancel) && !job.progress.cancel_requested;
    let may_retry = allows(JobCommand::Retry { payload: None });
    Detail::new("/jobs", job.id, Summary::of(job).title)
        .button(allows(JobCommand::RunNow), "main", ["run-now", "Run now"])
        .button(may_retry, "main", ["retry", "Retry"])
        .button(may_cancel, "danger-quiet", ["cancel", "Cancel"])
        .button(
            allows(JobCommand::Discard),
            "danger-quiet",
            ["discard", "Discard"],
        )
        .button(
            allows(JobCommand::Erase),
            "danger-quiet",
            ["erase", "Erase"],
        )
}

/// Why the newest attempt failed.
struct LastFailure {
    text: String,
    /// The query string of the failure's group.
    address: Option<String>,
}

impl LastFailure {
    fn of(job: &Job, newest: Option<&Attempt>) -> Option<Self> {
        let failure = newest.and_then(|attempt| attempt.failure.as_ref())?;
        let is_over = job.progress.state == JobState::Succeeded;
        let fingerprint = failure.fingerprint;
        (!is_over).then(|| Self {
            text: failure.to_string(),
            address: fingerprint.map(|it| failure_address(it, &job.tenant)),
        })
    }
}

/// An upcoming attempt.
struct ForecastRow {
    number: u32,
    retry: String,
    at: PageTime,
    delay: String,
}

fn output_name(kind: &Kind) -> &'static str {
    if kind.is_call() { "Response" } else { "Result" }
}

pub async fn page(viewer: Viewer, Path(id): Path<String>) -> PageResult {
    let job = find(&viewer, &id).await?;
    let edit = edit_fields(&job);
    detail_page(&viewer, job, edit, None).await
}

async fn detail_page(
    viewer: &Viewer,
    job: Job,
    edit: Fields,
    edit_error: Option<String>,
) -> PageResult {
    let layout = viewer.layout("/jobs", format!("{} {}", job.kind, job.id));
    let request = PageRequest::first(limits::PAGE_ATTEMPTS_MAX);
    let mut listed = viewer.app.client.attempts(job.id, request).await?;
    let redact = |attempt| viewer.caller.redact_attempt(attempt, &job.kind);
    listed.items = listed.items.into_iter().map(redact).collect();
    let start = explain_start(viewer, &job).await?;
    let forecast = forecast(&job, start.as_ref(), layout.now);
    let segments = segments(&job, &listed.items, &forecast, layout.now);
    let summary = format!(
        "attempts so far: {}, upcoming if they fail: {}; the job is {}",
        job.progress.attempt,
        forecast.len(),
        job.label(layout.now)
    );
    let is_due_later =
        job.progress.state == JobState::Waiting && job.earliest_run_at() > layout.now;
    let next = layout.time(job.earliest_run_at());
    let attempts = listed.items.iter();
    // A job that has ended makes no more progress.
    let note = job.progress.note.as_deref();
    let note = note.filter(|_| job.progress.finished_at.is_none());
    let commands = commands(&viewer.app, &job).await?;
    let operations = operations(viewer, &job).await?;
    let requeues = Requeues::of(&commands, operations.iter().map(|it| &it.record));
    let links = viewer.app.client.links(job.id).await?;
    render(&JobDetailPage {
        detail: detail(&job),
        row: JobRow::of(&job, &layout),
        note: note.map(Note::read),
        request: RequestView::of(&job, layout.may_write),
        policy: explain::policy(&job.policy),
        reason: job.progress.reason.map(explain::reason),
        timeline: (!segments.is_empty()).then(|| timeline::timeline(&segments, summary)),
        is_logarithmic: timeline::is_logarithmic(&segments),
        next: is_due_later.then(|| (next, next.countdown())),
        forecast: forecast_rows(&forecast, &layout),
        last_failure: LastFailure::of(&job, listed.items.first()),
        attempts: AttemptGroup::fold(attempts.map(|it| AttemptRow {
            requeued_by: requeues.by(it),
            ..AttemptRow::of(it, &job, &layout)
        })),
        more_attempts: listed.next.is_some(),
        output_name: output_name(&job.kind),
        payload: payload_view::excerpt(&job.kind, &job.payload, layout.may_write),
        edit,
        edit_error,
        may_retry: job.allows(&JobCommand::Retry { payload: None }).is_ok(),
        may_edit: job.allows(&JobCommand::Edit(JobEdit::default())).is_ok(),
        deliveries: deliveries(viewer, &job, &layout).await?,
        schedule: schedule(&viewer.app, &job).await?,
        finished: job.progress.finished_at.map(|at| layout.time(at)),
        start: start
            .map(|it| StartPanel::of(it, (&layout, &viewer.caller), format!("/jobs/{}", job.id))),
        commands: audit_rows(commands, &layout),
        operations,
        steps: steps(viewer, &job).await?,
        logs: LogView::of(viewer, &job).await?,
        dependants: dependants(viewer, &links, &layout).await?,
        links,
        job,
        layout,
    })
}

/// The attempts to come. Of a job whose start depends on a person or on other jobs, none is known.
fn forecast(job: &Job, start: Option<&StartExplanation>, now: Timestamp) -> Vec<AttemptForecast> {
    match start {
        None => job.forecast(now),
        Some(start) => match &start.estimate {
            Some(estimate) => job.forecast(estimate.at.max(now)),
            None => Vec::new(),
        },
    }
}

async fn explain_start(viewer: &Viewer, job: &Job) -> Result<Option<StartExplanation>, PageError> {
    if job.progress.state != JobState::Waiting {
        return Ok(None);
    }
    let request = explain_request(&viewer.app, &viewer.caller, &job.tenant).await?;
    Ok(viewer.app.client.explain(job.id, &request).await?)
}

pub async fn find(viewer: &Viewer, text: &str) -> Result<Job, PageError> {
    let id: JobId = parse_id(text)?;
    Ok(viewer.caller.job(viewer.app.client.job(id).await?, id)?)
}

fn forecast_rows(forecast: &[AttemptForecast], layout: &Layout) -> Vec<ForecastRow> {
    let mut before = layout.now;
    let mut rows = Vec::new();
    for attempt in forecast {
        rows.push(ForecastRow {
            number: attempt.attempt,
            retry: retry_name(attempt.retry_count),
            at: layout.time(attempt.at),
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
) -> Vec<timeline::Segment> {
    let mut segments = Vec::new();
    let mut end: Option<Timestamp> = None;
    let wait = |segments: &mut Vec<timeline::Segment>, end: Option<Timestamp>, until: Timestamp| {
        if let Some(end) = end {
            segments.push(timeline::Segment::Wait {
                duration: until.since(end),
                is_future: until > now,
            });
        }
    };
    for attempt in attempts.iter().take(limits::TIMELINE_ATTEMPTS_MAX).rev() {
        wait(&mut segments, end, attempt.started_at);
        let failure = attempt.failure.as_ref().map(|it| format!(": {it}"));
        segments.push(timeline::Segment::Attempt {
            number: attempt.attempt,
            duration: attempt.duration(),
            mark: match status_class(attempt.status) {
                "good" => timeline::Mark::Good,
                "bad" => timeline::Mark::Bad,
                _ => timeline::Mark::Grey,
            },
            tooltip: format!("{}{}", attempt.status, failure.unwrap_or_default()),
        });
        end = Some(attempt.finished_at);
    }
    if job.progress.state == JobState::Running {
        let started = job.progress.started_at.unwrap_or(now);
        wait(&mut segments, end, started);
        segments.push(timeline::Segment::Attempt {
            number: job.progress.attempt,
            duration: now.since(started),
            mark: timeline::Mark::Running,
            tooltip: "running".to_owned(),
        });
        end = Some(now);
    }
    for attempt in forecast.iter().take(limits::TIMELINE_FORECAST_MAX) {
        wait(&mut segments, end.or(Some(now)), attempt.at);
        segments.push(timeline::Segment::Attempt {
            number: attempt.attempt,
            duration: std::time::Duration::ZERO,
            mark: timeline::Mark::Future,
            tooltip: "upcoming, if the attempts before it fail".to_owned(),
        });
        end = Some(attempt.at);
    }
    segments
}

async fn schedule(app: &App, job: &Job) -> Result<Option<(ScheduleId, Option<String>)>, PageError> {
    let Some(run) = job.scheduled_run else {
        return Ok(None);
    };
    let found = app.client.find_schedule(run.schedule).await?;
    Ok(Some((run.schedule, found.map(|it| it.name.to_string()))))
}

/// The newest webhook deliveries about this job.
async fn deliveries(viewer: &Viewer, job: &Job, layout: &Layout) -> Result<Vec<JobRow>, PageError> {
    let app = &viewer.app;
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
    let listed = listed.map(|job| viewer.caller.redact_job(job));
    Ok(listed.map(|job| JobRow::of(&job, layout)).collect())
}

/// The first of the jobs that wait for this one, or did.
async fn dependants(
    viewer: &Viewer,
    links: &JobLinks,
    layout: &Layout,
) -> Result<Vec<JobRow>, PageError> {
    if links.dependants.count == 0 {
        return Ok(Vec::new());
    }
    let ids = links.first_dependants.clone();
    let found = viewer
        .app
        .node
        .store()
        .get_jobs(ids, JobDetail::Listed)
        .await?;
    let mut found: Vec<Job> = found.into_iter().flatten().collect();
    summary::read_payloads(&viewer.app, &viewer.caller, &mut found).await;
    let found = found.into_iter().map(|job| viewer.caller.redact_job(job));
    Ok(found.map(|job| JobRow::of(&job, layout)).collect())
}

async fn steps(viewer: &Viewer, job: &Job) -> Result<Vec<(String, Excerpt)>, PageError> {
    if job.progress.attempt == 0 {
        return Ok(Vec::new());
    }
    let store = viewer.app.node.store();
    let found = store
        .list_steps(job.id, None, limits::JOB_STEPS_SHOWN)
        .await?;
    let shown = found.into_iter().map(|(name, result)| {
        let result = match viewer.caller.sees_payloads() {
            true => Excerpt::json(result.as_str()),
            false => payload_view::hidden(),
        };
        (name.to_string(), result)
    });
    Ok(shown.collect())
}

fn audit_rows(records: Vec<AuditRecord>, layout: &Layout) -> Vec<AuditRow> {
    let records = records.into_iter();
    records.map(|record| AuditRow::of(record, layout)).collect()
}

/// The newest commands on this job.
async fn commands(app: &App, job: &Job) -> Result<Vec<AuditRecord>, PageError> {
    let filter = AuditFilter {
        tenant: Some(job.tenant.clone()),
        subject: Some(job.id.to_string()),
        ..AuditFilter::default()
    };
    let page = PageRequest::first(limits::JOB_COMMANDS_SHOWN);
    Ok(app.client.audit(filter, page).await?.items)
}

/// The newest operations on this job; only those that the viewer may see have a link.
async fn operations(viewer: &Viewer, job: &Job) -> Result<Vec<OperationRow>, PageError> {
    let client = &viewer.app.client;
    let found = client
        .operations_of_job(job.id, limits::JOB_COMMANDS_SHOWN)
        .await?;
    let rows = found.into_iter().map(|record| OperationRow {
        has_page: viewer.caller.sees_record(record.tenant.as_ref()),
        record,
    });
    Ok(rows.collect())
}

pub async fn act(Path(id): Path<String>, editor: Editor) -> PageResult {
    let Editor { viewer, form } = editor;
    let job = find(&viewer, &id).await?;
    let here = format!("/jobs/{}", job.id);
    if form.get("action") == Some("erase") {
        // Its page will be gone.
        let form = [
            ("action", "erase"),
            ("scope", "selected"),
            ("id", &job.id.to_string()),
            ("back", "/jobs"),
        ];
        let form = Fields::from_iter(form.map(|(name, value)| (name, value.to_owned())));
        return bulk::act(Editor { viewer, form }).await;
    }
    let back = form.get("back").unwrap_or(&here);
    if form.get("action") == Some("discard") && !form.is_confirmed() {
        let (name, id) = (Summary::of(&job).title, job.id.to_string());
        let confirmation = Confirmation::new("/jobs", "Discard", name, id).on_page();
        return confirmation.action("discard", back).page(
            &viewer,
            "It is not retried and leaves the dead letters. It stays in the list of jobs, with its \
             history, until its retention ends.",
        );
    }
    match try_act(&viewer, &job, &form).await {
        Ok(did) => done(back, did),
        // What was entered is still there.
        Err(PageError::Problem(problem)) if form.has("payload") => {
            let status = problem.status;
            let page = detail_page(&viewer, job, form, Some(problem.detail)).await?;
            Ok((status, page).into_response())
        }
        Err(other) => Err(other),
    }
}

/// Carries out what the form asks for, and says what that was.
async fn try_act(viewer: &Viewer, job: &Job, form: &Fields) -> Result<&'static str, PageError> {
    let payload = form.get("payload");
    let payload = payload.map(|text| payload_view::edited(&job.kind, &job.payload, text));
    let payload = payload.transpose()?.flatten();
    let payload = payload.map(|it| checked_payload(job, it)).transpose()?;
    let (command, did) = match form.get("action") {
        Some("cancel") => (JobCommand::Cancel, "cancel"),
        Some("retry") => (JobCommand::Retry { payload }, "retry"),
        Some("run-now") => (JobCommand::RunNow, "run-now"),
        Some("discard") => (JobCommand::Discard, "discard"),
        Some("edit") => (JobCommand::Edit(edit(job, form, payload)?), "edit"),
        _ => return Err(no_such_action()),
    };
    let by = viewer.caller.actor(&viewer.app).await?;
    viewer.app.client.command_by(job, command, by).await?;
    Ok(did)
}

/// The changes that the form means. A field that is empty stays as it is.
fn edit(job: &Job, form: &Fields, payload: Option<Payload>) -> Result<JobEdit, PageError> {
    let priority = match form.get("priority").map(str::parse::<u8>) {
        None => None,
        Some(Ok(priority)) => Some(Priority::new(priority)?),
        Some(Err(_)) => {
            let detail = "priority must be a number from 0 to 9";
            return Err(Problem::invalid("priority", detail).into());
        }
    };
    let run_at = form.get("runAt").map(str::parse).transpose()?;
    let policy = match form.get("retry") {
        Some(text) => {
            let patch: PolicyPatch = match text.starts_with('{') {
                true => body::parse(text.as_bytes())?,
                false => PolicyPatch::preset(text.parse()?),
            };
            let policy = patch.over(&job.policy);
            Some(policy.map_err(|error| error.within("retry"))?.into())
        }
        None => None,
    };
    Ok(JobEdit {
        payload,
        policy,
        run_at,
        priority: priority.filter(|it| *it != job.priority),
    })
}

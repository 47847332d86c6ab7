//! The form by which a schedule is created or changed, with what its rule means and its next ticks.

use askama::Template;
use axum::{
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use serde_json::{Map, Value, json};
use steadfast_core::{
    MissedTickPolicy, OverlapPolicy, Schedule, ScheduleName, Tenant, TickRule, Timestamp,
    Timetable, duration,
};

use super::{
    fields::Fields,
    frame::{Frame, redirect_back, render},
    page_error::PageResult,
    schedules::{UpcomingTick, find},
    viewer::{Editor, Viewer},
};
use crate::{
    api,
    body::{self, Body, Id},
    limits,
    problem::Problem,
};

const OVERLAPS: [OverlapPolicy; 4] = [
    OverlapPolicy::Skip,
    OverlapPolicy::Allow,
    OverlapPolicy::QueueOne,
    OverlapPolicy::Replace,
];
/// The default is the first, here and above.
const MISSED: [MissedTickPolicy; 3] = [
    MissedTickPolicy::RunOnce,
    MissedTickPolicy::Skip,
    MissedTickPolicy::RunAll,
];

#[derive(Template)]
#[template(path = "schedule_form.html")]
struct ScheduleFormPage {
    frame: Frame,
    /// The address of the schedule that is changed; `None` for a new one.
    edited: Option<String>,
    fields: Fields,
    overlaps: Vec<String>,
    missed: Vec<String>,
    preview: Option<RulePreview>,
    error: Option<String>,
    shows_tenants: bool,
}

impl ScheduleFormPage {
    fn is_chosen(&self, field: &str, choice: &str) -> bool {
        self.fields.get(field) == Some(choice)
    }
}

/// What a rule means, before anything is stored.
struct RulePreview {
    words: String,
    zone: String,
    ticks: Vec<UpcomingTick>,
}

pub async fn new_page(viewer: Viewer) -> PageResult {
    let fields = viewer.fields.clone();
    form_page(&viewer, None, fields, None)
}

pub async fn edit_page(viewer: Viewer, Path(id): Path<String>) -> PageResult {
    let schedule = find(&viewer, &id).await?;
    form_page(&viewer, Some(&schedule), fields_of(&schedule), None)
}

fn form_page(
    viewer: &Viewer,
    edited: Option<&Schedule>,
    fields: Fields,
    problem: Option<Problem>,
) -> PageResult {
    let title = match edited {
        Some(schedule) => format!("Change {}", schedule.name),
        None => "New schedule".to_owned(),
    };
    let frame = Frame::of(viewer, "/schedules", title);
    let has_rule = ["schedule", "every"]
        .iter()
        .any(|name| fields.get(name).is_some());
    let (preview, wrong_rule) = match has_rule.then(|| preview(&fields, &frame)).transpose() {
        Ok(preview) => (preview, None),
        Err(problem) => (None, Some(problem)),
    };
    let problem = problem.or(wrong_rule);
    let status = problem.as_ref().map_or(StatusCode::OK, |it| it.status);
    let names = |values: &[Value]| {
        let names = values.iter().filter_map(Value::as_str);
        names.map(str::to_owned).collect()
    };
    let page = render(&ScheduleFormPage {
        edited: edited.map(|schedule| schedule.id.to_string()),
        overlaps: names(&OVERLAPS.map(|overlap| json!(overlap))),
        missed: names(&MISSED.map(|missed| json!(missed))),
        preview,
        error: problem.map(|problem| problem.detail),
        shows_tenants: viewer.caller.tenant.is_none(),
        fields,
        frame,
    })?;
    Ok((status, page).into_response())
}

/// The form for a schedule as it is.
fn fields_of(schedule: &Schedule) -> Fields {
    let timetable = &schedule.timetable;
    let time = |time: Option<Timestamp>| time.map(|time| time.to_string()).unwrap_or_default();
    let word = |value: Value| value.as_str().unwrap_or_default().to_owned();
    let (cron, every, zone) = match timetable.rule() {
        TickRule::Cron { cron, zone } => (cron.to_string(), String::new(), zone.to_string()),
        TickRule::Every(every) => (String::new(), duration::format(*every), String::new()),
    };
    let runs = timetable.max_runs().map(|runs| runs.to_string());
    Fields::from_iter([
        ("schedule", cron),
        ("every", every),
        ("timezone", zone),
        ("overlap", word(json!(timetable.overlap()))),
        ("missed", word(json!(timetable.missed()))),
        ("startAt", time(timetable.start_at())),
        ("endAt", time(timetable.end_at())),
        ("maxRuns", runs.unwrap_or_default()),
    ])
}

fn preview(fields: &Fields, frame: &Frame) -> Result<RulePreview, Problem> {
    let rule = match fields.get("schedule") {
        Some(cron) => api::create::tick_rule(cron, fields.get("timezone"))?,
        None => TickRule::Every(duration::parse(fields.value("every"))?),
    };
    let timetable = Timetable::new(rule)?;
    let ticks = timetable.preview(frame.now, limits::PAGE_UPCOMING_TICKS_MAX);
    let rule = timetable.rule();
    Ok(RulePreview {
        words: rule.in_words(),
        zone: rule.zone().map_or(String::new(), |zone| zone.to_string()),
        ticks: ticks
            .iter()
            .map(|tick| UpcomingTick::of(tick, rule.zone(), frame))
            .collect(),
    })
}

/// The fields of the timetable, as the API reads them. What is empty is left out, or cleared.
fn timetable_body(form: &Fields, is_edit: bool) -> Result<Map<String, Value>, Problem> {
    let mut body = Map::new();
    for name in ["schedule", "every", "timezone", "overlap", "missed"] {
        if let Some(text) = form.get(name) {
            body.insert(name.to_owned(), json!(text));
        }
    }
    for name in ["startAt", "endAt"] {
        match form.get(name) {
            Some(text) => drop(body.insert(name.to_owned(), json!(text))),
            None if is_edit => drop(body.insert(name.to_owned(), Value::Null)),
            None => {}
        }
    }
    match form.get("maxRuns").map(str::parse::<u64>) {
        Some(Ok(runs)) => drop(body.insert("maxRuns".to_owned(), json!(runs))),
        Some(Err(_)) => return Err(Problem::invalid("maxRuns", "maxRuns must be a number")),
        None if is_edit => drop(body.insert("maxRuns".to_owned(), Value::Null)),
        None => {}
    }
    Ok(body)
}

/// A field that holds JSON; `None` if it is empty.
fn json_field(form: &Fields, name: &str) -> Result<Option<Value>, Problem> {
    let Some(text) = form.get(name) else {
        return Ok(None);
    };
    let value = serde_json::from_str(text);
    value
        .map(Some)
        .map_err(|error| Problem::invalid(name, format!("{name} must be JSON: {error}")))
}

/// The job of each run: a request to a URL, or a job of a kind.
fn job_body(form: &Fields) -> Result<Value, Problem> {
    if let Some(job) = json_field(form, "job")? {
        return Ok(job);
    }
    let mut job = Map::new();
    for (field, name) in [
        ("url", "api"),
        ("kind", "kind"),
        ("queue", "queue"),
        ("retry", "retry"),
        ("tenant", "tenant"),
    ] {
        if let Some(text) = form.get(field) {
            job.insert(name.to_owned(), json!(text));
        }
    }
    if let Some(payload) = json_field(form, "payload")? {
        job.insert("payload".to_owned(), payload);
    }
    if form.get("url").is_none() && form.get("kind").is_none() {
        let detail = "a schedule needs a URL or a kind for the jobs that it makes";
        return Err(Problem::invalid("url", detail));
    }
    Ok(Value::Object(job))
}

/// Whether only the next ticks are asked for.
fn is_preview(form: &Fields) -> bool {
    form.get("action") == Some("preview")
}

pub async fn create(editor: Editor) -> PageResult {
    if is_preview(&editor.form) {
        return form_page(&editor.viewer, None, editor.form.clone(), None);
    }
    match try_create(&editor).await {
        Ok(id) => Ok(redirect_back(&format!("/schedules/{id}"), "create", None)),
        Err(problem) => {
            let Editor { viewer, form } = editor;
            form_page(&viewer, None, form, Some(problem))
        }
    }
}

async fn try_create(editor: &Editor) -> Result<String, Problem> {
    let Editor { viewer, form } = editor;
    let name = ScheduleName::new(form.value("name"))?;
    let tenant = form.get("tenant").map(Tenant::new).transpose()?;
    let tenant = viewer.caller.choose(tenant)?.unwrap_or_default();
    let mut body = timetable_body(form, false)?;
    body.insert("name".to_owned(), json!(name));
    body.insert("job".to_owned(), job_body(form)?);
    // The API would replace it, which a form for a new one does not mean.
    let client = &viewer.app.client;
    if !client
        .schedules_named(Some(tenant), name.clone())
        .await?
        .is_empty()
    {
        let detail = format!("there is a schedule {name} already: change that one");
        return Err(Problem::new(StatusCode::CONFLICT, "exists", detail));
    }
    let body = body::parse(Value::Object(body).to_string().as_bytes())?;
    let app = State(viewer.app.clone());
    let created: Response = api::schedules::create(app, editor.writes(), Body(body)).await?;
    let location = created.headers().get("location");
    let path = location
        .and_then(|path| path.to_str().ok())
        .unwrap_or_default();
    Ok(path.rsplit('/').next().unwrap_or_default().to_owned())
}

pub async fn edit(Path(id): Path<String>, editor: Editor) -> PageResult {
    let schedule = find(&editor.viewer, &id).await?;
    if is_preview(&editor.form) {
        return form_page(&editor.viewer, Some(&schedule), editor.form.clone(), None);
    }
    match try_edit(&editor, &schedule).await {
        Ok(()) => {
            let path = format!("/schedules/{}", schedule.id);
            Ok(redirect_back(&path, "saved", None))
        }
        Err(problem) => {
            let Editor { viewer, form } = editor;
            form_page(&viewer, Some(&schedule), form, Some(problem))
        }
    }
}

async fn try_edit(editor: &Editor, schedule: &Schedule) -> Result<(), Problem> {
    let mut body = timetable_body(&editor.form, true)?;
    if let Some(job) = json_field(&editor.form, "job")? {
        body.insert("job".to_owned(), job);
    }
    let body = body::parse(Value::Object(body).to_string().as_bytes())?;
    let app = State(editor.viewer.app.clone());
    let id = Id(schedule.id.to_string());
    api::schedules::edit(app, editor.writes(), id, Body(body)).await?;
    Ok(())
}

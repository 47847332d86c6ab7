//! The form by which a schedule is created or changed, with what its rule means and its next ticks.
//!
//! The job of each run has the fields that a job has in its own form, or is given as JSON. If a
//! change leaves all of them as they were, the job is not touched.

use askama::Template;
use axum::{extract::Path, http::StatusCode, response::IntoResponse as _};
use serde_json::{Value, json, value::RawValue};
use steadfast_core::{
    ExpiryAction, Job, MissedTickPolicy, OverlapPolicy, Schedule, ScheduleName, StartBefore,
    TickRule, Timestamp, Timetable, duration,
};

use crate::{
    api::{
        query,
        work::{copy_job, create, schedules},
    },
    auth::keys::Scope,
    dashboard::{
        forms::job_fields::{fields_of_copy, insert, methods, raw, request_body, typed},
        page::{Editor, Fields, Layout, PageResult, Viewer, done, render},
        pages::schedules::{UpcomingTick, find},
        parts::payload_view::RawFields,
    },
    extract::{Body, Id, body::from_json},
    http::Problem,
    limits,
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
#[template(path = "forms/schedule_form.html")]
struct ScheduleFormPage {
    layout: Layout,
    /// The address of the schedule that is changed; `None` for a new one.
    edited: Option<String>,
    fields: Fields,
    overlaps: Vec<String>,
    missed: Vec<String>,
    preview: Option<RulePreview>,
    error: Option<String>,
}

impl ScheduleFormPage {
    fn is_chosen(&self, field: &str, choice: &str) -> bool {
        self.fields.get(field) == Some(choice)
    }

    fn methods(&self) -> Vec<(&'static str, bool)> {
        methods(&self.fields)
    }
}

/// The meaning of a rule, before anything is stored.
struct RulePreview {
    words: String,
    zone: String,
    ticks: Vec<UpcomingTick>,
}

pub async fn new_page(viewer: Viewer) -> PageResult {
    viewer.caller.clone().may(&[Scope::Admin, Scope::Tenant])?;
    let fields = viewer.fields.clone();
    form_page(&viewer, None, fields, None)
}

pub async fn edit_page(viewer: Viewer, Path(id): Path<String>) -> PageResult {
    // The form shows the body of a request.
    viewer.caller.clone().may(&[Scope::Admin, Scope::Tenant])?;
    let schedule = find(&viewer, &id).await?;
    let mut fields = timetable_fields(&schedule);
    fields.extend(&job_fields(&schedule));
    form_page(&viewer, Some(&schedule), fields, None)
}

fn form_page(
    viewer: &Viewer,
    edited: Option<&Schedule>,
    fields: Fields,
    problem: Option<Problem>,
) -> PageResult {
    let title = match edited {
        Some(schedule) => format!("Edit {}", schedule.name),
        None => "New schedule".to_owned(),
    };
    let layout = viewer.layout("/schedules", title);
    let has_rule = ["schedule", "every"]
        .iter()
        .any(|name| fields.get(name).is_some());
    let (preview, wrong_rule) = match has_rule.then(|| preview(&fields, &layout)).transpose() {
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
        fields,
        layout,
    })?;
    Ok((status, page).into_response())
}

/// The timetable of a schedule as it is.
fn timetable_fields(schedule: &Schedule) -> Fields {
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

fn preview(fields: &Fields, layout: &Layout) -> Result<RulePreview, Problem> {
    let rule = match fields.get("schedule") {
        Some(cron) => create::tick_rule(cron, fields.get("timezone"))?,
        None => TickRule::Every(duration::parse(fields.value("every"))?),
    };
    let timetable = Timetable::new(rule)?;
    let ticks = timetable.preview(layout.now, limits::PAGE_UPCOMING_TICKS_MAX);
    let rule = timetable.rule();
    Ok(RulePreview {
        words: rule.describe(),
        zone: rule.zone().map_or(String::new(), |zone| zone.to_string()),
        ticks: ticks
            .iter()
            .map(|tick| UpcomingTick::of(tick, rule.zone(), layout))
            .collect(),
    })
}

/// The job of each run, as if it were one.
fn template_job(schedule: &Schedule) -> Job {
    schedule.template.clone().into_job(Timestamp::EPOCH)
}

/// Its fields in the form.
fn job_fields(schedule: &Schedule) -> Fields {
    let mut fields = fields_of_copy(&template_job(schedule));
    if let Some((before, _)) = start_before(schedule) {
        fields.extend(&Fields::from_iter([("startBefore", before.to_string())]));
    }
    fields
}

fn start_before(schedule: &Schedule) -> Option<(StartBefore, ExpiryAction)> {
    schedule.template.extras()?.start_before
}

/// The fields of the timetable, as the API reads them. What is empty is left out, or cleared.
fn timetable_body(form: &Fields, is_edit: bool) -> Result<RawFields, Problem> {
    let mut body = RawFields::new();
    for name in ["schedule", "every", "timezone", "overlap", "missed"] {
        if let Some(text) = form.get(name) {
            insert(&mut body, name, raw(&text)?);
        }
    }
    for name in ["startAt", "endAt"] {
        if form.get(name).is_some() || is_edit {
            insert(&mut body, name, raw(&form.get(name))?);
        }
    }
    let runs = form.get("maxRuns").map(str::parse::<u64>).transpose();
    let runs = runs.map_err(|_| Problem::invalid("maxRuns", "maxRuns must be a number"))?;
    if runs.is_some() || is_edit {
        insert(&mut body, "maxRuns", raw(&runs)?);
    }
    Ok(body)
}

/// The fields of the form that are those of the job of each run.
const JOB_FIELDS: [&str; 16] = [
    "url",
    "method",
    "headers",
    "body",
    "kind",
    "payload",
    "destination",
    "queue",
    "priority",
    "type",
    "startBefore",
    "timeout",
    "concurrencyKey",
    "jobName",
    "retry",
    "tags",
];

/// The job of each run of a new schedule: as JSON, or by its fields.
fn new_job(form: &Fields) -> Result<Box<RawValue>, Problem> {
    if let Some(text) = form.get("job") {
        return typed("job", text);
    }
    if form.get("url").is_none() && form.get("kind").is_none() {
        let detail = "a schedule needs a URL or a kind for its jobs";
        return Err(Problem::invalid("url", detail));
    }
    let names = JOB_FIELDS.into_iter().chain(["tenant"]);
    let fields = names.map(|name| (name, form.value(name).to_owned()));
    raw(&request_body(&fields.collect(), None)?)
}

/// The job of each run from now on; `None` if the form leaves it as it is.
fn changed_job(form: &Fields, schedule: &Schedule) -> Result<Option<Box<RawValue>>, Problem> {
    if let Some(text) = form.get("job") {
        return typed("job", text).map(Some);
    }
    let stored = job_fields(schedule);
    // Browsers end lines in their own way.
    let entered = |name: &'static str| match form.has(name) {
        true => form.value(name).replace("\r\n", "\n"),
        false => stored.value(name).to_owned(),
    };
    // A form always has a method, also that of a job which sends no request.
    let is_request = !entered("url").is_empty();
    let names = JOB_FIELDS
        .into_iter()
        .filter(|name| is_request || *name != "method");
    if names
        .clone()
        .all(|name| entered(name) == stored.value(name))
    {
        return Ok(None);
    }
    let fields: Fields = names.map(|name| (name, entered(name))).collect();
    let job = template_job(schedule);
    let Body(body) = from_json(&request_body(&fields, Some(&job))?)?;
    let mut body = copy_job::fill_hidden(&job, body)?;
    if let Some((_, on_expiry)) = start_before(schedule)
        && fields.get("startBefore").is_some()
    {
        body.on_expiry = Some(on_expiry);
    }
    raw(&body).map(Some)
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
        Ok(id) => done(&format!("/schedules/{id}"), "create"),
        Err(problem) => {
            let Editor { viewer, form } = editor;
            form_page(&viewer, None, form, Some(problem))
        }
    }
}

async fn try_create(editor: &Editor) -> Result<String, Problem> {
    let Editor { viewer, form } = editor;
    let name = ScheduleName::new(form.value("name"))?;
    let tenant = query::tenant(form.get("tenant"), &viewer.caller)?.unwrap_or_default();
    let mut body = timetable_body(form, false)?;
    insert(&mut body, "name", raw(&name)?);
    insert(&mut body, "job", new_job(form)?);
    // The API would replace it, which a form for a new one does not mean.
    let client = &viewer.app.client;
    if !client
        .schedules_named(Some(tenant), name.clone())
        .await?
        .is_empty()
    {
        let detail = format!("schedule {name} already exists; edit that one");
        return Err(Problem::new(StatusCode::CONFLICT, "exists", detail));
    }
    let created = schedules::create(editor.writes(), from_json(&body)?).await?;
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
        Ok(()) => done(&format!("/schedules/{}", schedule.id), "saved"),
        Err(problem) => {
            let Editor { viewer, form } = editor;
            form_page(&viewer, Some(&schedule), form, Some(problem))
        }
    }
}

async fn try_edit(editor: &Editor, schedule: &Schedule) -> Result<(), Problem> {
    let mut body = timetable_body(&editor.form, true)?;
    if let Some(job) = changed_job(&editor.form, schedule)? {
        insert(&mut body, "job", job);
    }
    let id = Id(schedule.id.to_string());
    schedules::edit(editor.writes(), id, from_json(&body)?).await?;
    Ok(())
}

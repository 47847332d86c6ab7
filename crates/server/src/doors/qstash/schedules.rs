//! Schedules of messages.

use axum::{
    extract::Path,
    http::{HeaderMap, Uri},
};
use serde_json::{Value, json};
use steadfast_core::{NewJob, Schedule, ScheduleName, TickRule};
use steadfast_engine::{ScheduleRequest, http::qstash::QstashMessage};
use steadfast_store::{PageRequest, limits::SCHEDULES_PER_TENANT_MAX};

use super::{
    AnyBody, Door, Reply,
    documents::{GroupEndpoint, check_name},
    done,
    options::{Options, refuse},
    publish::{Draft, destination},
    view,
};
use crate::http::{Json, Problem};

/// A cron rule may begin with its time zone.
const ZONE: &str = "CRON_TZ=";

/// Creates a schedule, or replaces the one with its id. `…/{id}/pause` and `resume` are commands.
pub async fn create(
    door: Door,
    Path(path): Path<String>,
    uri: Uri,
    headers: HeaderMap,
    body: AnyBody,
) -> Reply {
    if command(&path).is_some() {
        return set_paused(door, Path(path)).await;
    }
    let mut options = Options::read(&headers)?;
    check_options(&options)?;
    let id = match options.schedule_id.take() {
        Some(id) => id,
        None => format!("scd_{:032x}", rand::random::<u128>()),
    };
    check_name("Upstash-Schedule-Id", &id)?;
    options.schedule_id = Some(id.clone());
    let cron = options.cron.take().unwrap_or_default();
    let url = destination(&uri, "/v2/schedules/")?;
    if !url.contains("://") {
        let detail = "a schedule needs a URL (http:// or https://): url groups are not supported";
        return Err(Problem::invalid("destination", detail));
    }
    let draft = Draft {
        destination: url.clone(),
        queue: options.queue.take(),
        options,
        body: body.0,
    };
    let endpoint = GroupEndpoint { url, name: None };
    let mut job = draft.job(&door.app, None, &endpoint, door.app.client.now())?;
    if let Some(key) = door.prepare_limits(&draft).await? {
        job = job.concurrency_key(key);
    }
    let (zone, rule) = zoned(&cron);
    let mut request = ScheduleRequest::cron(&id, rule, job.tenant(door.tenant.as_str()));
    if let Some(zone) = zone {
        request = request.timezone(zone);
    }
    let may_replace = |stored: &Schedule, _: &NewJob| is_message(stored);
    let client = door.client().await?;
    client.schedule_if(request, may_replace).await?;
    Ok(Json(json!({"scheduleId": id})))
}

fn check_options(options: &Options) -> Result<(), Problem> {
    if options.cron.is_none() {
        return Err(Problem::invalid("Upstash-Cron", "Upstash-Cron is missing"));
    }
    let given = [
        ("Upstash-Delay", options.delay.is_some()),
        ("Upstash-Not-Before", options.not_before.is_some()),
        (
            "Upstash-Deduplication-Id",
            options.deduplication_id.is_some(),
        ),
        (
            "Upstash-Content-Based-Deduplication",
            options.content_based_deduplication,
        ),
    ];
    refuse(&given, "for a schedule")
}

fn zoned(cron: &str) -> (Option<&str>, &str) {
    let rest = cron.trim().strip_prefix(ZONE);
    match rest.and_then(|rest| rest.split_once(' ')) {
        Some((zone, rule)) => (Some(zone), rule.trim()),
        None => (None, cron),
    }
}

pub async fn list(door: Door) -> Reply {
    let page = PageRequest::first(SCHEDULES_PER_TENANT_MAX);
    let tenant = Some(door.tenant.clone());
    let schedules = door.app.client.schedules(tenant, page).await?.items;
    let bodies = schedules
        .iter()
        .filter(|it| is_message(it))
        .filter_map(body);
    Ok(Json(Value::Array(bodies.collect())))
}

pub async fn read(door: Door, Path(id): Path<String>) -> Reply {
    let schedule = find(&door, &id).await?;
    let body = body(&schedule).ok_or_else(|| not_found(&id))?;
    Ok(Json(body))
}

pub async fn delete(door: Door, Path(id): Path<String>) -> Reply {
    let schedule = find(&door, &id).await?;
    door.client().await?.delete_schedule(schedule.id).await?;
    done()
}

/// `{id}/pause` or `{id}/resume`.
pub async fn set_paused(door: Door, Path(path): Path<String>) -> Reply {
    let (id, is_pause) = command(&path).ok_or_else(|| not_found(&path))?;
    let schedule = find(&door, id).await?;
    let client = door.client().await?;
    match is_pause {
        true => client.pause_schedule(schedule.id).await?,
        false => client.resume_schedule(schedule.id).await?,
    };
    done()
}

fn command(path: &str) -> Option<(&str, bool)> {
    if path.contains("://") {
        return None;
    }
    let (id, command) = path.split_once('/')?;
    match command {
        "pause" => Some((id, true)),
        "resume" => Some((id, false)),
        _ => None,
    }
}

fn not_found(id: &str) -> Problem {
    let id = crate::extract::body::shorten_id(id);
    Problem::not_found(format!("schedule {id}"))
}

async fn find(door: &Door, id: &str) -> Result<Schedule, Problem> {
    let name = ScheduleName::new(id).map_err(|_| not_found(id))?;
    let tenant = Some(door.tenant.clone());
    let found = door.app.client.schedules_named(tenant, name).await?;
    let found = found.into_iter().find(is_message);
    found.ok_or_else(|| not_found(id))
}

/// Whether this door has created it.
fn is_message(schedule: &Schedule) -> bool {
    let (name, value) = QstashMessage::TAG;
    let tag = schedule.template.tags().get(name);
    tag.is_some_and(|tag| tag == value)
}

fn body(schedule: &Schedule) -> Option<Value> {
    let (request, message) = view::parts(&schedule.template.payload)?;
    let mut body = view::request_fields(&request, &message);
    let cron = match schedule.timetable.rule() {
        TickRule::Cron { cron, zone } if zone.name() == "UTC" => cron.to_string(),
        TickRule::Cron { cron, zone } => format!("{ZONE}{} {cron}", zone.name()),
        TickRule::Every(_) => return None,
    };
    let progress = &schedule.progress;
    body.extend(view::fields(json!({
        "scheduleId": schedule.name.as_str(),
        "destination": request.url(),
        "cron": cron,
        "createdAt": view::millis(schedule.created_at),
        "retries": schedule.template.policy.max_retries(),
        "timeout": schedule.template.timeout().map(|timeout| timeout.as_secs()),
        "isPaused": schedule.paused,
        "lastScheduleTime": progress.last_tick.map(view::millis),
        "nextScheduleTime": progress.next_tick.map(view::millis),
    })));
    Some(Value::Object(body))
}

//! Query strings as the store reads them.

use std::str::FromStr;

use steadfast_api::{JobQuery, MinutesQuery, ScheduleQuery, TenantQuery};
use steadfast_core::{
    Destination, FailureClass, Invalid, Kind, Queue, ScheduleId, Tenant, limits as core_limits,
};
use steadfast_store::{JobFilter, JobPageRequest, PageRequest};

use crate::{api::cursor, extract::Caller, http::Problem, limits};

/// The jobs that match a query and are visible to the caller.
pub fn job_filter(query: &JobQuery, caller: &Caller) -> Result<JobFilter, Problem> {
    Ok(JobFilter {
        tenant: tenant(query.tenant.as_deref(), caller)?,
        queue: query.queue.as_deref().map(Queue::new).transpose()?,
        kind: query.kind.as_deref().map(Kind::new).transpose()?,
        not_kind: not_kind(query.not_kind.as_deref())?,
        label: query.label,
        schedule: query.schedule,
        destination: destination(query.destination.as_deref())?,
        batch: query.batch,
        created_from: query.from,
        created_before: query.before,
        failed_from: query.failed_from,
        failed_before: query.failed_before,
        failure_text: caller.search_text(query.text.as_ref())?,
        failure_class: query.class.as_deref().map(FailureClass::named),
        failure_status: query.status,
        fingerprint: query.fingerprint,
        reason: query.reason,
        tags: tags("tag", &query.tag)?,
        dead_letters: false,
        unfinished: false,
        ended: None,
    })
}

fn not_kind(name: Option<&str>) -> Result<Option<Kind>, Invalid> {
    let kind = name.map(Kind::new).transpose();
    kind.map_err(|error| Invalid {
        field: "notKind".to_owned(),
        ..error
    })
}

/// The destination that a filter names.
pub fn destination(text: Option<&str>) -> Result<Option<Destination>, Problem> {
    Ok(text.map(Destination::new).transpose()?)
}

/// Tags as filters name them: `name:value`.
pub fn tags(field: &str, tags: &[String]) -> Result<Vec<String>, Problem> {
    let most = core_limits::TAGS_MAX;
    if tags.len() > most {
        let detail = format!(
            "{field} is given {} times: must be at most {most}",
            tags.len()
        );
        return Err(Problem::invalid(field, detail));
    }
    let is_right = |tag: &&String| tag.find(':').is_some_and(|at| at > 0);
    if let Some(tag) = tags.iter().find(|tag| !is_right(tag)) {
        let detail = format!("{field} is {tag:?}: must be a name and a value, such as order:4711");
        return Err(Problem::invalid(field, detail));
    }
    Ok(tags.to_vec())
}

/// The page of jobs that a query asks for.
pub fn job_page(query: &JobQuery) -> Result<JobPageRequest, Problem> {
    page(query.limit, query.after.as_deref())
}

/// The page of schedules that a query asks for.
pub fn schedule_page(query: &ScheduleQuery) -> Result<PageRequest<ScheduleId>, Problem> {
    page(query.limit, query.after.as_deref())
}

fn page<Cursor: FromStr>(
    limit: Option<usize>,
    after: Option<&str>,
) -> Result<PageRequest<Cursor>, Problem> {
    cursor::page(limit, limits::PAGE_DEFAULT, after)
}

/// The tenant that a request is about: the caller's own, or the one it names.
pub fn tenant(name: Option<&str>, caller: &Caller) -> Result<Option<Tenant>, Problem> {
    caller.choose(name.map(Tenant::new).transpose()?)
}

/// The tenant of a query that names nothing else.
pub fn query_tenant(query: &TenantQuery, caller: &Caller) -> Result<Option<Tenant>, Problem> {
    tenant(query.tenant.as_deref(), caller)
}

/// How many minutes to look back.
pub fn minutes(query: &MinutesQuery) -> Result<u64, Problem> {
    let minutes = query.minutes.unwrap_or(limits::MINUTES_DEFAULT);
    if (1..=limits::MINUTES_MAX).contains(&minutes) {
        return Ok(minutes);
    }
    let most = limits::MINUTES_MAX;
    let detail = format!("minutes is {minutes}: must be between 1 and {most}");
    Err(Problem::invalid("minutes", detail))
}

//! The list of jobs.

use askama::Template;
use steadfast_core::{Job, JobId, JobLabel};
use steadfast_engine::Stats;
use steadfast_store::{JobFilter, JobPageRequest};

use super::{
    fields::Fields,
    format::{PageTime, shorten, thousands},
    frame::{Frame, render},
    operations::{OperationRow, open_operations},
    overview::count_of_label,
    page_error::{PageError, PageResult},
    viewer::Viewer,
};
use crate::{App, api::query, job_search::find_page, limits};

#[derive(Template)]
#[template(path = "jobs.html")]
struct JobListPage {
    frame: Frame,
    fields: Fields,
    filters: Vec<(&'static str, String)>,
    labels: &'static [JobLabel],
    rows: Vec<JobRow>,
    /// How many match, if the counters of the lanes give it.
    total: Option<String>,
    next: Option<String>,
    first: Option<String>,
    back: String,
    bulk: Vec<OperationRow>,
    shows_tenants: bool,
}

/// A job in a list.
pub struct JobRow {
    pub id: String,
    pub label: &'static str,
    pub kind: String,
    pub queue: String,
    pub tenant: String,
    /// Of the present retry budget.
    pub attempts: String,
    pub run_at: PageTime,
    pub created_at: PageTime,
    pub failure: String,
    /// The query string of the failure's group.
    pub failure_address: Option<String>,
}

impl JobRow {
    pub fn of(job: &Job, frame: &Frame) -> Self {
        let label = job.label(frame.now);
        let failure = job.progress.failure.as_ref();
        let failure = failure.map(|it| shorten(&it.to_string(), limits::CELL_CHARS_MAX));
        let attempts = job
            .progress
            .attempt
            .saturating_sub(job.progress.attempts_before);
        Self {
            id: job.id.to_string(),
            label: label.as_str(),
            kind: job.kind.to_string(),
            queue: job.queue.to_string(),
            tenant: job.tenant.to_string(),
            attempts: format!("{attempts} of {}", job.policy.max_attempts()),
            run_at: frame.time(job.earliest_run_at()),
            created_at: frame.time(job.created_at),
            failure: failure.unwrap_or_default(),
            failure_address: failure_address(job),
        }
    }
}

/// The query string of the group of a job's newest failure, if it has one.
fn failure_address(job: &Job) -> Option<String> {
    let fingerprint = job.progress.failure.as_ref()?.fingerprint?;
    Some(format!("fingerprint={fingerprint}&tenant={}", job.tenant))
}

pub async fn page(viewer: Viewer) -> PageResult {
    let filter = query::job_filter(&viewer.fields.job_query()?, &viewer.caller)?;
    let after = viewer.fields.get("after").map(str::parse::<JobId>);
    let page = JobPageRequest {
        limit: limits::PAGE_DEFAULT,
        after: after.transpose()?,
    };
    let frame = Frame::of(&viewer, "/jobs", "Jobs");
    let total = total(&viewer.app, &filter).await?;
    let (jobs, next) = list_jobs(&viewer.app, filter, page).await?;
    let here = |changes: &[(&str, &str)]| {
        let mut changes = changes.to_vec();
        changes.extend([("did", ""), ("n", "")]);
        format!("/jobs?{}", viewer.fields.query_with(&changes))
    };
    let next = next.map(|next| here(&[("after", &next.to_string())]));
    render(&JobListPage {
        rows: jobs.iter().map(|job| JobRow::of(job, &frame)).collect(),
        filters: viewer.fields.filters(),
        labels: JobLabel::ALL,
        total,
        next,
        first: page.after.map(|_| here(&[("after", "")])),
        back: here(&[]),
        bulk: open_operations(&viewer.app, viewer.caller.tenant.as_ref(), &frame).await?,
        shows_tenants: viewer.caller.tenant.is_none(),
        fields: viewer.fields,
        frame,
    })
}

/// A page of jobs, and where the next one begins.
pub async fn list_jobs(
    app: &App,
    filter: JobFilter,
    page: JobPageRequest,
) -> Result<(Vec<Job>, Option<JobId>), PageError> {
    let found = find_page(&app.client, filter, page, limits::PAGE_LIST_TIME_MAX).await?;
    Ok((found.items, found.next))
}

/// How many jobs match, if the filter has only conditions that the lanes are counted by.
async fn total(app: &App, filter: &JobFilter) -> Result<Option<String>, PageError> {
    let lane_filter = JobFilter {
        tenant: filter.tenant.clone(),
        queue: filter.queue.clone(),
        kind: filter.kind.clone(),
        label: filter.label,
        ..JobFilter::default()
    };
    if lane_filter != *filter {
        return Ok(None);
    }
    let mut lanes = app
        .lane_stats
        .get(&app.client, filter.tenant.as_ref())
        .await?;
    lanes.retain(|lane| {
        filter.queue.as_ref().is_none_or(|it| *it == lane.queue)
            && filter.kind.as_ref().is_none_or(|it| *it == lane.kind)
    });
    let stats: Stats = lanes.into_iter().collect();
    let sum = JobLabel::ALL
        .iter()
        .filter(|label| filter.label.is_none_or(|it| it == **label))
        .map(|label| count_of_label(&stats, *label))
        .sum();
    Ok(Some(thousands(sum)))
}

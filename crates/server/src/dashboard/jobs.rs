//! The list of jobs.

use askama::Template;
use steadfast_core::{Job, JobId, JobLabel};
use steadfast_engine::Stats;
use steadfast_store::{JobFilter, JobPageRequest};
use tokio::time::Instant;

use super::{
    bulk::Working,
    fields::Fields,
    frame::{Frame, HtmlPage, PageError, render},
    overview::labelled,
    shown::{When, count, line},
    viewer::Viewer,
};
use crate::{App, api::query, limits};

const MESSAGE_CHARS_MAX: usize = 110;

#[derive(Template)]
#[template(path = "jobs.html")]
struct JobsPage {
    frame: Frame,
    fields: Fields,
    filters: Vec<(&'static str, String)>,
    labels: &'static [JobLabel],
    rows: Vec<Row>,
    /// How many match, where that is known without counting.
    total: Option<String>,
    next: Option<String>,
    first: Option<String>,
    back: String,
    working: Vec<Working>,
    shows_tenants: bool,
}

/// A job in a list.
pub struct Row {
    pub id: String,
    pub label: &'static str,
    pub kind: String,
    pub queue: String,
    pub tenant: String,
    pub attempts: String,
    pub run_at: When,
    pub created_at: When,
    pub failure: String,
}

impl Row {
    pub fn of(job: &Job, frame: &Frame) -> Self {
        let label = job.label(frame.now);
        let failure = job.progress.failure.as_ref();
        let failure = failure.map(|it| line(&it.to_string(), MESSAGE_CHARS_MAX));
        let most = job.policy.max_attempts() + job.progress.attempts_before;
        Self {
            id: job.id.to_string(),
            label: label.as_str(),
            kind: job.kind.to_string(),
            queue: job.queue.to_string(),
            tenant: job.tenant.to_string(),
            attempts: format!("{} of {most}", job.progress.attempt),
            run_at: frame.when(job.progress.run_at),
            created_at: frame.when(job.created_at),
            failure: failure.unwrap_or_default(),
        }
    }
}

pub async fn page(viewer: Viewer) -> HtmlPage {
    let filter = query::job_filter(&viewer.fields.job_query()?, &viewer.caller)?;
    let after = viewer.fields.get("after").map(str::parse::<JobId>);
    let page = JobPageRequest {
        limit: limits::PAGE_DEFAULT,
        after: after.transpose()?,
    };
    let frame = Frame::of(&viewer, "/jobs", "Jobs");
    let total = total(&viewer.app, &filter).await?;
    let (jobs, next) = listed(&viewer.app, filter, page).await?;
    let here = |changes: &[(&str, &str)]| {
        let mut changes = changes.to_vec();
        changes.extend([("did", ""), ("n", "")]);
        format!("/jobs?{}", viewer.fields.with(&changes))
    };
    let next = next.map(|next| here(&[("after", &next.to_string())]));
    render(&JobsPage {
        rows: jobs.iter().map(|job| Row::of(job, &frame)).collect(),
        filters: viewer.fields.filters(),
        labels: JobLabel::ALL,
        total,
        next,
        first: page.after.map(|_| here(&[("after", "")])),
        back: here(&[]),
        working: viewer.app.bulk.shown(&viewer.caller),
        shows_tenants: viewer.caller.tenant.is_none(),
        fields: viewer.fields,
        frame,
    })
}

/// A page of jobs. The store bounds the work of one look, so a rare kind of job may take a few.
pub async fn listed(
    app: &App,
    filter: JobFilter,
    mut page: JobPageRequest,
) -> Result<(Vec<Job>, Option<JobId>), PageError> {
    /// One more look may take as long again, and pages are to be there in a tenth of a second.
    const TIME_MAX: std::time::Duration = std::time::Duration::from_millis(25);
    let (wanted, deadline) = (page.limit, Instant::now() + TIME_MAX);
    let mut found: Vec<Job> = Vec::new();
    loop {
        page.limit = wanted - found.len();
        let listed = app.client.jobs(filter.clone(), page).await?;
        found.extend(listed.items);
        let is_enough = found.len() >= wanted || Instant::now() >= deadline;
        match listed.next {
            Some(next) if !is_enough => page.after = Some(next),
            next => return Ok((found, next)),
        }
    }
}

/// How many jobs match, if the counters of the lanes can say it.
async fn total(app: &App, filter: &JobFilter) -> Result<Option<String>, PageError> {
    let counted = JobFilter {
        tenant: filter.tenant.clone(),
        queue: filter.queue.clone(),
        kind: filter.kind.clone(),
        label: filter.label,
        ..JobFilter::default()
    };
    if counted != *filter {
        return Ok(None);
    }
    let mut lanes = app.lanes.of(app, filter.tenant.as_ref()).await?;
    lanes.retain(|lane| {
        filter.queue.as_ref().is_none_or(|it| *it == lane.queue)
            && filter.kind.as_ref().is_none_or(|it| *it == lane.kind)
    });
    let stats: Stats = lanes.into_iter().collect();
    let sum = JobLabel::ALL
        .iter()
        .filter(|label| filter.label.is_none_or(|wanted| wanted == **label))
        .map(|label| labelled(&stats, *label))
        .sum();
    Ok(Some(count(sum)))
}

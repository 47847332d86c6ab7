//! The list of jobs.

use askama::Template;
use steadfast_core::{Job, JobId, JobLabel, JobState};
use steadfast_store::{JobFilter, JobPageRequest};

use super::{
    failures::failure_address,
    fields::Fields,
    format::{PageTime, shorten},
    frame::{Frame, render},
    list_head::{ListHead, answer_search},
    operations::{OperationRow, open_operations},
    page_error::{PageError, PageResult},
    summary::{Summary, read_payloads},
    viewer::Viewer,
};
use crate::{App, api::query, job_search::find_page, limits};

#[derive(Template)]
#[template(path = "jobs.html")]
struct JobListPage {
    frame: Frame,
    fields: Fields,
    head: ListHead,
    filters: Vec<(&'static str, String)>,
    labels: &'static [JobLabel],
    rows: Vec<JobRow>,
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
    pub summary: Summary,
    pub kind: String,
    pub queue: String,
    pub tenant: String,
    /// Of the present retry budget.
    pub attempts: String,
    pub run_at: PageTime,
    /// What happens or happened to it, and when.
    pub when: (&'static str, PageTime),
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
            summary: Summary::of(job),
            kind: job.kind.to_string(),
            queue: job.queue.to_string(),
            tenant: job.tenant.to_string(),
            attempts: format!("{attempts} of {}", job.policy.max_attempts()),
            run_at: frame.time(job.earliest_run_at()),
            when: when(job, frame),
            created_at: frame.time(job.created_at),
            failure: failure.unwrap_or_default(),
            failure_address: job
                .progress
                .failure
                .as_ref()
                .and_then(|failure| failure.fingerprint)
                .map(|fingerprint| failure_address(fingerprint, &job.tenant)),
        }
    }

    /// The end of the id, which tells jobs of the same time apart.
    pub fn short_id(&self) -> &str {
        let start = self.id.len().saturating_sub(SHORT_ID_CHARS);
        self.id.get(start..).unwrap_or(&self.id)
    }
}

/// Thirty bits, which are random: enough to tell the jobs of a page apart.
const SHORT_ID_CHARS: usize = 6; // not a limit: layout of a row

fn when(job: &Job, frame: &Frame) -> (&'static str, PageTime) {
    let progress = &job.progress;
    match progress.state {
        JobState::Running => {
            let started = progress.started_at.unwrap_or(job.created_at);
            ("started", frame.time(started))
        }
        state if state.is_final() => {
            let finished = progress.finished_at.unwrap_or(job.created_at);
            ("ended", frame.time(finished))
        }
        _ if job.is_blocked() => ("waits for others", frame.time(job.created_at)),
        _ => ("due", frame.time(job.earliest_run_at())),
    }
}

pub async fn page(viewer: Viewer) -> PageResult {
    if let Some(answer) = answer_search(&viewer, "/jobs").await? {
        return Ok(answer);
    }
    let filter = query::job_filter(&viewer.fields.job_query()?, &viewer.caller)?;
    let page = viewer.fields.page::<JobId>()?;
    let frame = Frame::of(&viewer, "/jobs", "Jobs");
    let (jobs, next) = list_jobs(&viewer.app, filter.clone(), page).await?;
    let here = |changes: &[(&str, &str)]| viewer.fields.here("/jobs", changes);
    let next = next.map(|next| here(&[("after", &next.to_string())]));
    render(&JobListPage {
        head: ListHead::of(&viewer, "/jobs", &filter, &jobs).await?,
        rows: jobs.iter().map(|job| JobRow::of(job, &frame)).collect(),
        filters: viewer.fields.filters(),
        labels: JobLabel::ALL,
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
    let mut jobs = found.items;
    read_payloads(app, &mut jobs).await;
    Ok((jobs, found.next))
}

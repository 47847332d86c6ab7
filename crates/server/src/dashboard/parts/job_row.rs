//! A job in a list.

use steadfast_core::{Job, JobId, JobState, Timestamp};
use steadfast_store::{JobFilter, JobPageRequest, Page};

use crate::{
    api::work::job_search::find_page,
    app::App,
    dashboard::parts::{
        failure_row::failure_address,
        format::shorten,
        summary::{Summary, read_payloads},
    },
    extract::Caller,
    limits,
    theme::{Layout, PageError, PageTime},
};

pub struct JobRow {
    pub id: String,
    pub label: &'static str,
    pub summary: Summary,
    pub kind: String,
    pub queue: String,
    pub tenant: String,
    /// Of the current retry budget.
    pub attempts: String,
    pub run_at: PageTime,
    /// Its last or next event, and the time.
    pub when: (&'static str, PageTime),
    pub created_at: PageTime,
    pub failure: String,
    /// The query string of the failure's group.
    pub failure_address: Option<String>,
}

impl JobRow {
    pub fn of(job: &Job, layout: &Layout) -> Self {
        let label = job.label(layout.now);
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
            run_at: layout.time(job.earliest_run_at()),
            when: when(job, layout),
            created_at: layout.time(job.created_at),
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
pub const SHORT_ID_CHARS: usize = 6; // not a limit: layout of a row

fn when(job: &Job, layout: &Layout) -> (&'static str, PageTime) {
    let progress = &job.progress;
    match progress.state {
        JobState::Running => {
            let started = progress.started_at.unwrap_or(job.created_at);
            ("started", layout.time(started))
        }
        state if state.is_final() => {
            let finished = progress.finished_at.unwrap_or(job.created_at);
            ("ended", layout.time(finished))
        }
        _ if job.is_blocked() => ("waiting for others", layout.time(job.created_at)),
        // The store has moved it to the end of time.
        _ if job.earliest_run_at() == Timestamp::MAX => {
            ("corrupt, created", layout.time(job.created_at))
        }
        _ => ("due", layout.time(job.earliest_run_at())),
    }
}

/// A page of jobs, with what their summaries need.
pub async fn list_jobs(
    app: &App,
    caller: &Caller,
    filter: JobFilter,
    page: JobPageRequest,
) -> Result<Page<Job, JobId>, PageError> {
    let mut found = find_page(&app.client, filter, page, limits::PAGE_LIST_TIME_MAX).await?;
    read_payloads(app, caller, &mut found.items).await;
    found.items = found
        .items
        .into_iter()
        .map(|job| caller.redact_job(job))
        .collect();
    Ok(found)
}

//! Lists of jobs: the filters and the table that several commands share.

use steadfast_api::{JobList, JobQuery};
use steadfast_core::{BatchId, EndReason, FailureFingerprint, ScheduleId, Timestamp};

use crate::{
    output::print_line, page::print_page, server_args::Server, show::job_lines,
    verbs::schedules::schedule_id,
};

/// The filters of `jobs list`, `dlq` and bulk work.
#[derive(clap::Args, Clone, PartialEq, Default)]
pub struct JobFilterArgs {
    /// Jobs in this queue.
    #[arg(long)]
    pub queue: Option<String>,
    /// Jobs of this kind, e.g. http.
    #[arg(long)]
    pub kind: Option<String>,
    /// Jobs of any other kind; webhook leaves deliveries out.
    #[arg(long, value_name = "KIND")]
    pub not_kind: Option<String>,
    /// Only this tenant; requires a key for all tenants.
    #[arg(long)]
    pub tenant: Option<String>,
    /// Runs of this schedule, by id or name.
    #[arg(long, value_name = "SCHEDULE")]
    pub schedule: Option<String>,
    /// Jobs for this destination, e.g. https://api.example.com.
    #[arg(long, value_name = "ORIGIN")]
    pub destination: Option<String>,
    /// Jobs of this batch.
    #[arg(long, value_name = "BATCH")]
    pub batch: Option<BatchId>,
    /// Jobs whose last failure message contains this text.
    #[arg(long)]
    pub text: Option<String>,
    /// Jobs whose last failure has this class, e.g. timeout.
    #[arg(long)]
    pub class: Option<String>,
    /// Jobs whose last failure has this HTTP status, e.g. 503.
    #[arg(long)]
    pub status: Option<u16>,
    /// Jobs whose last failure has this fingerprint; see `failures list`.
    #[arg(long)]
    pub fingerprint: Option<FailureFingerprint>,
    /// Jobs that ended for this reason, e.g. exhausted or non_retryable.
    #[arg(long)]
    pub reason: Option<EndReason>,
    /// Jobs with this tag, e.g. order=4711; repeat to require several tags.
    #[arg(long = "tag", value_name = "NAME=VALUE", value_parser = tag_filter)]
    pub tags: Vec<String>,
    /// Jobs created at this time or later, e.g. 2026-12-24T18:00:00Z.
    #[arg(long, value_name = "TIME")]
    pub from: Option<Timestamp>,
    /// Jobs created before this time.
    #[arg(long, value_name = "TIME")]
    pub before: Option<Timestamp>,
    /// Jobs that failed permanently at this time or later.
    #[arg(long, value_name = "TIME")]
    pub failed_from: Option<Timestamp>,
    /// Jobs that failed permanently before this time.
    #[arg(long, value_name = "TIME")]
    pub failed_before: Option<Timestamp>,
}

impl JobFilterArgs {
    /// The id of the schedule, if one is named.
    pub async fn schedule_id(&self, server: &Server) -> anyhow::Result<Option<ScheduleId>> {
        match &self.schedule {
            Some(text) => schedule_id(server, text).await.map(Some),
            None => Ok(None),
        }
    }

    /// The jobs that match.
    pub fn query(self, schedule: Option<ScheduleId>) -> JobQuery {
        JobQuery {
            queue: self.queue,
            kind: self.kind,
            not_kind: self.not_kind,
            tenant: self.tenant,
            schedule,
            destination: self.destination,
            batch: self.batch,
            text: self.text,
            class: self.class,
            status: self.status,
            fingerprint: self.fingerprint,
            reason: self.reason,
            tag: self.tags,
            from: self.from,
            before: self.before,
            failed_from: self.failed_from,
            failed_before: self.failed_before,
            ..JobQuery::default()
        }
    }
}

/// A tag as the API filters by it, `order:4711`: `jobs create` takes it as `order=4711`.
fn tag_filter(tag: &str) -> Result<String, &'static str> {
    let filter = tag.replacen('=', ":", 1);
    match filter.find(':') {
        Some(1..) => Ok(filter),
        Some(0) | None => Err("must be a name and a value, e.g. order=4711"),
    }
}

/// A page of jobs, and how to get the next one.
pub fn print_jobs(list: &JobList, if_empty: &str) -> anyhow::Result<()> {
    if list.jobs.is_empty() && list.next_cursor.is_none() {
        return Ok(print_line!("{if_empty}")?);
    }
    print_page(&job_lines(&list.jobs), list.next_cursor.as_ref())
}

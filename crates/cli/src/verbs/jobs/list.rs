//! `steadfast jobs list`.

use steadfast_api::{JobList, JobQuery};
use steadfast_core::{BatchId, EndReason, FailureFingerprint, JobLabel, ScheduleId, Timestamp};

use crate::{
    output::print_line,
    page::{PageArgs, print_page},
    server_args::Server,
    show::job_lines,
    verbs::schedules::schedule_id,
};

#[derive(clap::Args)]
pub struct Args {
    /// scheduled, ready, running, retrying, succeeded, failed or cancelled.
    #[arg(long)]
    label: Option<JobLabel>,
    #[command(flatten)]
    filter: JobFilterArgs,
    #[command(flatten)]
    page: PageArgs,
}

/// Conditions that `jobs list` and `dlq` have in common.
#[derive(clap::Args, Clone, PartialEq, Default)]
pub struct JobFilterArgs {
    /// Jobs in this queue.
    #[arg(long)]
    pub queue: Option<String>,
    /// Jobs of this kind, as http.
    #[arg(long)]
    pub kind: Option<String>,
    /// Only this tenant; for keys that see all tenants.
    #[arg(long)]
    pub tenant: Option<String>,
    /// Runs of this schedule, by its id or its name.
    #[arg(long, value_name = "SCHEDULE")]
    pub schedule: Option<String>,
    /// Jobs that call this system, as https://api.example.com.
    #[arg(long, value_name = "ORIGIN")]
    pub destination: Option<String>,
    /// Jobs that are counted in this batch.
    #[arg(long, value_name = "BATCH")]
    pub batch: Option<BatchId>,
    /// Part of the newest failure's message.
    #[arg(long)]
    pub text: Option<String>,
    /// Class of the newest failure, as timeout.
    #[arg(long)]
    pub class: Option<String>,
    /// Fingerprint of the newest failure, as `failures list` shows it.
    #[arg(long)]
    pub fingerprint: Option<FailureFingerprint>,
    /// Why the job ended, as exhausted or non_retryable.
    #[arg(long)]
    pub reason: Option<EndReason>,
    /// Jobs with this tag, as order=4711; of several, jobs with all of them.
    #[arg(long = "tag", value_name = "NAME=VALUE", value_parser = tag_filter)]
    pub tags: Vec<String>,
    /// Created at this time or later, as 2026-12-24T18:00:00Z.
    #[arg(long, value_name = "TIME")]
    pub from: Option<Timestamp>,
    /// Created before this time.
    #[arg(long, value_name = "TIME")]
    pub before: Option<Timestamp>,
    /// Failed for good at this time or later.
    #[arg(long, value_name = "TIME")]
    pub failed_from: Option<Timestamp>,
    /// Failed for good before this time.
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
            tenant: self.tenant,
            schedule,
            destination: self.destination,
            batch: self.batch,
            text: self.text,
            class: self.class,
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
        Some(0) | None => Err("must be a name and a value, as order=4711"),
    }
}

pub async fn run(server: &Server, args: Args) -> anyhow::Result<()> {
    let schedule = args.filter.schedule_id(server).await?;
    let query = JobQuery {
        label: args.label,
        limit: Some(args.page.limit),
        after: args.page.after,
        ..args.filter.query(schedule)
    };
    match server.call(server.client.list_jobs(&query)).await? {
        Some(list) => print_jobs(&list, "no jobs"),
        None => Ok(()),
    }
}

/// A page of jobs, and how to get the next one.
pub fn print_jobs(list: &JobList, if_empty: &str) -> anyhow::Result<()> {
    if list.jobs.is_empty() && list.next_cursor.is_none() {
        return Ok(print_line!("{if_empty}")?);
    }
    print_page(&job_lines(&list.jobs), list.next_cursor.as_ref())
}

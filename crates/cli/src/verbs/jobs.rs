//! `steadfast jobs`: made, listed, looked at, changed, watched.

mod create;
mod watch;

use clap::Subcommand;
use serde::Deserialize;
use serde_json::Value;

use super::{read_json, said};
use crate::{
    output::{self, print_line},
    remote::{Remote, part},
    settings::RetryArg,
    show::{AttemptView, JobView, execution_log, job_details, job_table, table_lines},
};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  steadfast jobs create https://example.com/hook --watch\n  steadfast jobs list --label failed\n  steadfast jobs show job_…"
)]
pub struct Args {
    #[command(flatten)]
    remote: Remote,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Make a job: a request to a URL, or work for a handler or worker.
    Create(Box<create::Args>),
    /// List jobs, newest first.
    #[command(
        after_help = "Examples:\n  steadfast jobs list\n  steadfast jobs list --label retrying --queue mail\n  steadfast jobs list --text 'connection refused' --limit 200 --json"
    )]
    List(ListArgs),
    /// Look at a job: what it is, where it stands, and what it went through.
    #[command(after_help = "Example:\n  steadfast jobs show job_…")]
    Show { id: String },
    /// The execution log of a job, or of all runs of a schedule.
    #[command(
        after_help = "Examples:\n  steadfast jobs history job_…\n  steadfast jobs history sch_… --limit 50"
    )]
    History {
        /// job_… or sch_…
        id: String,
        /// How many attempts, the newest ones.
        #[arg(long, default_value_t = 10)]
        limit: u32,
    },
    /// Stop a job: at once if it waits, as soon as it can if it runs.
    #[command(after_help = "Example:\n  steadfast jobs cancel job_…")]
    Cancel { id: String },
    /// Try a job that failed or was cancelled once more, with a fresh retry budget.
    #[command(
        after_help = "Examples:\n  steadfast jobs retry job_…\n  steadfast jobs retry job_… --payload '{\"user\": 8}'"
    )]
    Retry {
        id: String,
        /// Another payload: JSON, @FILE, or - for standard input.
        #[arg(long, value_name = "JSON")]
        payload: Option<String>,
    },
    /// Start a waiting job without waiting for its time.
    #[command(after_help = "Example:\n  steadfast jobs run-now job_…")]
    RunNow { id: String },
    /// Change a waiting job.
    #[command(
        after_help = "Examples:\n  steadfast jobs edit job_… --priority 9\n  steadfast jobs edit job_… --run-at 2026-12-24T18:00:00Z --retry patient"
    )]
    Edit(EditArgs),
    /// Follow one job until it ends, or all jobs as they happen.
    #[command(
        after_help = "With an id it ends with 0 if the job succeeded and with 1 if not.\n\nExamples:\n  steadfast jobs watch\n  steadfast jobs watch job_… && echo done"
    )]
    Watch {
        /// job_…; all jobs where nobody says.
        id: Option<String>,
        /// For admin keys; others have a tenant of their own.
        #[arg(long)]
        tenant: Option<String>,
    },
}

#[derive(clap::Args)]
struct ListArgs {
    /// scheduled, ready, running, retrying, succeeded, failed or cancelled.
    #[arg(long)]
    label: Option<String>,
    /// Jobs in this queue.
    #[arg(long)]
    queue: Option<String>,
    /// Jobs of this kind, as http.
    #[arg(long)]
    kind: Option<String>,
    /// For admin keys; others have a tenant of their own.
    #[arg(long)]
    tenant: Option<String>,
    /// Runs of this schedule.
    #[arg(long, value_name = "ID")]
    schedule: Option<String>,
    /// Part of the newest failure's message.
    #[arg(long)]
    text: Option<String>,
    /// Class of the newest failure, as timeout.
    #[arg(long)]
    class: Option<String>,
    /// Why it ended, as exhausted.
    #[arg(long)]
    reason: Option<String>,
    /// Created at this time or later.
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Created before this time.
    #[arg(long, value_name = "TIME")]
    before: Option<String>,
    /// How many, up to 500.
    #[arg(long, default_value_t = 50)]
    limit: u32,
    /// Where the page before ended.
    #[arg(long, value_name = "CURSOR")]
    after: Option<String>,
}

#[derive(clap::Args)]
struct EditArgs {
    id: String,
    /// Another payload: JSON, @FILE, or - for standard input.
    #[arg(long, value_name = "JSON")]
    payload: Option<String>,
    /// Laid over the policy it has: a preset's name, or JSON.
    #[arg(long, value_name = "POLICY")]
    retry: Option<RetryArg>,
    /// Not before this time.
    #[arg(long, value_name = "TIME")]
    run_at: Option<String>,
    /// 0 to 9, higher first.
    #[arg(long)]
    priority: Option<u8>,
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    let remote = &args.remote;
    let command = |id: &str, verb: &str| format!("/jobs/{}/{verb}", part(id));
    match args.verb {
        Verb::Create(create) => create::run(remote, *create).await,
        Verb::List(list) => list.run(remote).await,
        Verb::Show { id } => show(remote, &id).await,
        Verb::History { id, limit } => history(remote, &id, limit).await,
        Verb::Cancel { id } => {
            let answer = remote.post(&command(&id, "cancel"), Value::Null).await?;
            changed(remote, answer, "cancelled")
        }
        Verb::Retry { id, payload } => {
            let payload = payload
                .map(|text| read_json(&text, "--payload"))
                .transpose()?;
            let body = said([("payload", payload)]);
            let answer = remote.post(&command(&id, "retry"), body).await?;
            changed(remote, answer, "will be tried again")
        }
        Verb::RunNow { id } => {
            let answer = remote.post(&command(&id, "run-now"), Value::Null).await?;
            changed(remote, answer, "is due now")
        }
        Verb::Edit(edit) => edit.run(remote).await,
        Verb::Watch { id: Some(id), .. } => watch::one(remote, &id).await,
        Verb::Watch { id: None, tenant } => watch::all(remote, tenant).await,
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JobList {
    jobs: Vec<JobView>,
    next_cursor: Option<String>,
}

impl ListArgs {
    async fn run(self, remote: &Remote) -> anyhow::Result<()> {
        let query = [
            ("label", self.label),
            ("queue", self.queue),
            ("kind", self.kind),
            ("tenant", self.tenant),
            ("schedule", self.schedule),
            ("text", self.text),
            ("class", self.class),
            ("reason", self.reason),
            ("from", self.from),
            ("before", self.before),
            ("limit", Some(self.limit.to_string())),
            ("after", self.after),
        ];
        let answer = remote.get("/jobs", &query).await?;
        listed(remote, answer)
    }
}

/// A page of jobs, and where to go on.
pub fn listed(remote: &Remote, answer: Value) -> anyhow::Result<()> {
    if remote.json {
        return Ok(output::print_json(&answer)?);
    }
    let list: JobList = serde_json::from_value(answer)?;
    match list.jobs.as_slice() {
        [] if list.next_cursor.is_none() => print_line!("no jobs")?,
        jobs => print_line!("{}", table_lines(&job_table(jobs)))?,
    }
    if let Some(cursor) = list.next_cursor {
        print_line!("more: --after {cursor}")?;
    }
    Ok(())
}

impl EditArgs {
    async fn run(self, remote: &Remote) -> anyhow::Result<()> {
        let payload = self.payload.map(|text| read_json(&text, "--payload"));
        let body = said([
            ("payload", payload.transpose()?),
            ("retry", self.retry.map(|retry| serde_json::json!(retry))),
            ("runAt", self.run_at.map(Value::from)),
            ("priority", self.priority.map(Value::from)),
        ]);
        let path = format!("/jobs/{}", part(&self.id));
        let answer = remote.patch(&path, body).await?;
        changed(remote, answer, "changed")
    }
}

/// A job after something was done to it.
fn changed(remote: &Remote, answer: Value, what: &str) -> anyhow::Result<()> {
    if remote.json {
        return Ok(output::print_json(&answer)?);
    }
    let job: JobView = serde_json::from_value(answer)?;
    Ok(print_line!("{} {what}: it is {}", job.id, job.label)?)
}

async fn show(remote: &Remote, id: &str) -> anyhow::Result<()> {
    let answer = remote.get(&format!("/jobs/{}", part(id)), &[]).await?;
    if remote.json {
        return Ok(output::print_json(&answer)?);
    }
    let job: JobView = serde_json::from_value(answer)?;
    print_line!("Job: {} ({})", job.title(), job.id)?;
    for (name, fact) in job_details(&job) {
        print_line!("  {name:<9} {fact}")?;
    }
    let attempts = attempts(remote, id, SHOWN_ATTEMPTS_MAX).await?;
    if !attempts.is_empty() {
        print_line!("\n{}", execution_log(attempts.iter()))?;
    }
    Ok(())
}

const SHOWN_ATTEMPTS_MAX: u32 = 101;

async fn history(remote: &Remote, id: &str, limit: u32) -> anyhow::Result<()> {
    if remote.json {
        let query = [("limit", Some(limit.to_string()))];
        let answer = remote
            .get(&format!("/jobs/{}/history", part(id)), &query)
            .await?;
        return Ok(output::print_json(&answer)?);
    }
    let attempts = attempts(remote, id, limit).await?;
    if attempts.is_empty() {
        return Ok(print_line!("no attempts yet")?);
    }
    // The runs of a schedule are told one after the other.
    let mut jobs: Vec<&str> = attempts
        .iter()
        .map(|attempt| attempt.job_id.as_str())
        .collect();
    jobs.dedup();
    for job in jobs {
        print_line!("Job: {job}")?;
        let theirs = attempts.iter().filter(|attempt| attempt.job_id == job);
        print_line!("{}", execution_log(theirs))?;
    }
    Ok(())
}

/// The newest attempts, the oldest of them first.
async fn attempts(remote: &Remote, id: &str, limit: u32) -> anyhow::Result<Vec<AttemptView>> {
    #[derive(Deserialize)]
    struct History {
        attempts: Vec<AttemptView>,
    }
    let query = [("limit", Some(limit.to_string()))];
    let path = format!("/jobs/{}/history", part(id));
    let answer = remote.get(&path, &query).await?;
    let mut history: History = serde_json::from_value(answer)?;
    history.attempts.reverse();
    Ok(history.attempts)
}

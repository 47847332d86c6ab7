//! `steadfast jobs`: create, list, show, change and watch jobs.

mod create;
mod list;
mod logs;
mod watch;

use clap::Subcommand;
use steadfast_api::{AttemptBody, EditJobRequest, JobBody, PageQuery, RetryJobRequest};
use steadfast_client::Request;
use steadfast_core::{JobId, JobLabel, OperationKind, Timestamp};

use super::{
    operations::bulk::{self, BulkWork, CanaryArgs, JobBulkArgs},
    read_optional_json,
    schedules::schedule_id,
};
use crate::{
    exit::usage,
    limits::{HISTORY_DEFAULT, SHOW_ATTEMPTS_MAX},
    output::print_line,
    server_args::{Server, ServerArgs},
    settings::RetryArg,
    show::{
        execution_log, is_cancel_pending, job_facts, job_title, newest_trace, now, start_lines,
    },
};

pub use watch::one as follow_job;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  steadfast jobs create https://example.com/hook --watch\n  steadfast jobs list --label failed\n  steadfast jobs show job_…"
)]
pub struct Args {
    #[command(flatten)]
    server: ServerArgs,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Create a job: an HTTP request, or work for a handler or worker.
    Create(Box<create::Args>),
    /// List jobs, newest first.
    #[command(
        after_help = "Examples:\n  steadfast jobs list\n  steadfast jobs list --label retrying --queue mail\n  steadfast jobs list --text 'connection refused' --limit 200 --json"
    )]
    List(list::Args),
    /// Show a job with its state and attempts.
    #[command(after_help = "Example:\n  steadfast jobs show job_…")]
    Show {
        /// Job id, job_….
        id: String,
    },
    /// Show the attempts of a job, or of all runs of a schedule.
    #[command(
        after_help = "Examples:\n  steadfast jobs history job_…\n  steadfast jobs history sch_… --limit 50"
    )]
    History {
        /// Job id, or the id or name of a schedule.
        id: String,
        /// Maximum number of attempts, newest first.
        #[arg(long, default_value_t = HISTORY_DEFAULT)]
        limit: usize,
    },
    /// Show what an attempt logged, or follow the log of a running job.
    #[command(
        after_help = "Examples:\n  steadfast jobs logs job_…\n  steadfast jobs logs job_… --attempt 2\n  steadfast jobs logs job_… --follow"
    )]
    Logs(logs::Args),
    /// Explain why a job has not started, and estimate when it will.
    #[command(after_help = "Example:\n  steadfast jobs why job_…")]
    Why {
        /// Job id, job_….
        id: String,
    },
    /// Cancel jobs. Waiting jobs are cancelled at once; running attempts are asked to stop.
    #[command(
        after_help = "Examples:\n  steadfast jobs cancel job_…\n  steadfast jobs cancel --queue mail --label retrying --dry-run\n  steadfast jobs cancel --tag order=4711 --yes"
    )]
    Cancel(Box<JobBulkArgs>),
    /// Retry failed or cancelled jobs with a new retry budget.
    #[command(
        after_help = "Examples:\n  steadfast jobs retry job_…\n  steadfast jobs retry job_… --payload '{\"user\": 8}'\n  steadfast jobs retry --queue mail --label cancelled --mode canary --yes"
    )]
    Retry {
        #[command(flatten)]
        selection: Box<JobBulkArgs>,
        #[command(flatten)]
        canary: CanaryArgs,
        /// New payload for a single job: JSON, @FILE, or - for standard input.
        #[arg(long, value_name = "JSON", requires = "ids")]
        payload: Option<String>,
    },
    /// Run waiting jobs now.
    #[command(
        after_help = "Examples:\n  steadfast jobs run-now job_…\n  steadfast jobs run-now --queue mail --label scheduled --pace 20 --yes"
    )]
    RunNow(Box<JobBulkArgs>),
    /// Change the retry policy of waiting jobs.
    #[command(
        after_help = "Examples:\n  steadfast jobs edit-policy patient --queue mail --yes\n  steadfast jobs edit-policy '{\"maxRetries\": 9}' --tag order=4711 --dry-run"
    )]
    EditPolicy {
        /// Retry policy: a preset name, or JSON.
        policy: RetryArg,
        #[command(flatten)]
        selection: Box<JobBulkArgs>,
    },
    /// Delete ended jobs for good, with payload, result, history and deliveries.
    #[command(
        after_help = "Jobs that have not ended are left alone: cancel them first. The audit keeps the ids of erased jobs.\n\nExamples:\n  steadfast jobs erase job_… --yes\n  steadfast jobs erase --tag customer=4711 --dry-run"
    )]
    Erase(Box<JobBulkArgs>),
    /// Edit a waiting job.
    #[command(
        after_help = "Examples:\n  steadfast jobs edit job_… --priority 9\n  steadfast jobs edit job_… --run-at 2026-12-24T18:00:00Z --retry patient"
    )]
    Edit(EditArgs),
    /// Follow one job until it ends, or all jobs as they run.
    #[command(
        after_help = "With an id, the exit code is 0 if the job succeeds, and 1 otherwise.\n\nExamples:\n  steadfast jobs watch\n  steadfast jobs watch job_… && echo done"
    )]
    Watch {
        /// Job id [default: all jobs].
        id: Option<String>,
        /// Only this tenant; requires a key for all tenants.
        #[arg(long)]
        tenant: Option<String>,
    },
}

#[derive(clap::Args)]
struct EditArgs {
    /// Job id, job_….
    id: String,
    /// New payload: JSON, @FILE, or - for standard input.
    #[arg(long, value_name = "JSON")]
    payload: Option<String>,
    /// Changes to the retry policy: a preset name, or JSON.
    #[arg(long, value_name = "POLICY")]
    retry: Option<RetryArg>,
    /// Run at this time, e.g. 2026-12-24T18:00:00Z.
    #[arg(long, value_name = "TIME")]
    run_at: Option<Timestamp>,
    /// Priority from 0 to 9, higher first.
    #[arg(long)]
    priority: Option<u8>,
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    let server = args.server.connect()?;
    let client = &server.client;
    match args.verb {
        Verb::Create(create) => create::run(&server, *create).await,
        Verb::List(list) => list::run(&server, list).await,
        Verb::Show { id } => show(&server, &id).await,
        Verb::History { id, limit } => {
            let id = match id.parse::<JobId>() {
                Ok(_) => id,
                Err(_) => schedule_id(&server, &id).await?.to_string(),
            };
            history(&server, &id, limit).await
        }
        Verb::Logs(args) => logs::run(&server, args).await,
        Verb::Why { id } => why(&server, &id).await,
        Verb::Cancel(args) => match args.single_id() {
            Some(id) => {
                server.confirm_in_production(&format!("cancel {id}?"), args.bulk.run.yes)?;
                cancel(&server, id).await
            }
            None => args.run(&server, OperationKind::Cancel).await,
        },
        Verb::Retry {
            selection,
            canary,
            payload,
        } => retry(&server, &selection, canary, payload.as_ref()).await,
        Verb::RunNow(args) => match args.single_id() {
            Some(id) => change(&server, client.run_job_now(id), "is due now").await,
            None => args.run(&server, OperationKind::RunNow).await,
        },
        Verb::Erase(args) => args.run(&server, OperationKind::Erase).await,
        Verb::EditPolicy { policy, selection } => {
            let work = BulkWork {
                retry: Some(policy.0),
                ..BulkWork::on_jobs(OperationKind::EditPolicy, selection.label)
            };
            bulk::run(&server, &work, &selection.bulk).await
        }
        Verb::Edit(edit) => {
            let request = client.edit_job(&edit.id, &edit.request()?);
            change(&server, request, "changed").await
        }
        Verb::Watch { id: Some(id), .. } => watch::one(&server, &id).await,
        Verb::Watch { id: None, tenant } => watch::all(&server, tenant).await,
    }
}

impl EditArgs {
    fn request(&self) -> anyhow::Result<EditJobRequest> {
        if self.payload.is_none()
            && self.retry.is_none()
            && self.run_at.is_none()
            && self.priority.is_none()
        {
            return Err(usage(
                "nothing to change: pass --payload, --retry, --run-at or --priority",
            ));
        }
        Ok(EditJobRequest {
            payload: read_optional_json(self.payload.as_ref(), "--payload")?,
            retry: self.retry.clone().map(|retry| retry.0),
            run_at: self.run_at,
            priority: self.priority,
        })
    }
}

async fn why(server: &Server, id: &str) -> anyhow::Result<()> {
    if let Some(explanation) = server.call(server.client.explain_job(id)).await? {
        for line in start_lines(&explanation, now()) {
            print_line!("{line}")?;
        }
    }
    Ok(())
}

async fn retry(
    server: &Server,
    selection: &JobBulkArgs,
    canary: CanaryArgs,
    payload: Option<&String>,
) -> anyhow::Result<()> {
    let payload = read_optional_json(payload, "--payload")?;
    match selection.single_id() {
        Some(id) if canary.mode.is_none() => {
            let request = server.client.retry_job(id, &RetryJobRequest { payload });
            change(server, request, "will be retried").await
        }
        _ if payload.is_some() => Err(usage("--payload requires exactly one job id")),
        _ => {
            let work = BulkWork {
                canary,
                ..BulkWork::on_jobs(OperationKind::Retry, selection.label)
            };
            bulk::run(server, &work, &selection.bulk).await
        }
    }
}

async fn cancel(server: &Server, id: &str) -> anyhow::Result<()> {
    if let Some(job) = server.call(server.client.cancel_job(id)).await? {
        if is_cancel_pending(&job) {
            print_line!(
                "{} cancel requested: it is {}, and its attempt was asked to stop",
                job.id,
                job.label
            )?;
        } else {
            print_line!("{} {}", job.id, job.label)?;
        }
    }
    Ok(())
}

async fn change(server: &Server, request: Request<JobBody>, done: &str) -> anyhow::Result<()> {
    if let Some(job) = server.call(request).await? {
        print_line!("{} {done}: it is {}", job.id, job.label)?;
        print_waits(&job)?;
    }
    Ok(())
}

/// The blockers of a job that was just made due.
pub fn print_waits(job: &JobBody) -> anyhow::Result<()> {
    for blocker in &job.waiting_for {
        print_line!("  still blocked: {}", blocker.sentence)?;
    }
    Ok(())
}

async fn show(server: &Server, id: &str) -> anyhow::Result<()> {
    let Some(job) = server.call(server.client.get_job(id)).await? else {
        return Ok(());
    };
    let attempts = newest_attempts(server, id, SHOW_ATTEMPTS_MAX).await?;
    print_line!("Job: {} ({})", job_title(&job), job.id)?;
    for (name, fact) in job_facts(&job, &attempts) {
        print_line!("  {name:<9} {fact}")?;
    }
    if !attempts.is_empty() {
        print_line!("\n{}", execution_log(attempts.iter()))?;
    }
    if let Some(trace) = newest_trace(&attempts) {
        print_line!("\n{trace}")?;
    }
    if job.label == JobLabel::Ready || !job.waiting_for.is_empty() {
        print_what_it_waits_for(server, id).await?;
    }
    Ok(())
}

/// People ask most often why a due job does not start.
async fn print_what_it_waits_for(server: &Server, id: &str) -> anyhow::Result<()> {
    let explanation = server.fetch(server.client.explain_job(id)).await?;
    if !explanation.blockers.is_empty() {
        print_line!("\n{}", start_lines(&explanation, now()).join("\n"))?;
    }
    Ok(())
}

async fn history(server: &Server, id: &str, limit: usize) -> anyhow::Result<()> {
    if server.json {
        let query = PageQuery {
            limit: Some(limit),
            after: None,
        };
        server.call(server.client.list_attempts(id, &query)).await?;
        return Ok(());
    }
    let attempts = newest_attempts(server, id, limit).await?;
    if attempts.is_empty() {
        return Ok(print_line!("no attempts yet")?);
    }
    // Each run of a schedule has its own table.
    let mut jobs: Vec<JobId> = attempts.iter().map(|attempt| attempt.job_id).collect();
    jobs.dedup();
    for job in jobs {
        print_line!("Job: {job}")?;
        let own = attempts.iter().filter(|attempt| attempt.job_id == job);
        print_line!("{}", execution_log(own))?;
    }
    Ok(())
}

/// The newest attempts, the oldest of them first.
async fn newest_attempts(
    server: &Server,
    id: &str,
    limit: usize,
) -> anyhow::Result<Vec<AttemptBody>> {
    let query = PageQuery {
        limit: Some(limit),
        after: None,
    };
    let list = server
        .fetch(server.client.list_attempts(id, &query))
        .await?;
    Ok(list.attempts.into_iter().rev().collect())
}

//! `steadfast queues`: how full they are, and whether they are paused.

use clap::Subcommand;
use steadfast_api::{PauseQueueRequest, QueueList, TenantQuery};
use steadfast_core::{Pause, Timestamp};

use crate::{
    output::print_line,
    page::print_rows,
    server_args::ServerArgs,
    settings::DurationArg,
    show::{age, now, quantity, queue_lines, status_cell},
};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  steadfast queues list\n  steadfast queues why mail\n  steadfast queues pause mail\n  steadfast queues resume mail"
)]
pub struct Args {
    #[command(flatten)]
    server: ServerArgs,
    /// Only this tenant; requires a key for all tenants.
    #[arg(long, global = true)]
    tenant: Option<String>,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// List queues with their depth, oldest job and recent attempts.
    #[command(after_help = "Example:\n  steadfast queues list")]
    List,
    /// Explain why the jobs of a queue do or do not start.
    #[command(after_help = "Example:\n  steadfast queues why mail")]
    Why { name: String },
    /// Pause a queue: no job starts until it is resumed; running attempts continue.
    #[command(
        after_help = "Example:\n  steadfast queues pause mail --reason 'provider maintenance' --for 2h"
    )]
    Pause {
        name: String,
        /// Reason shown to other people.
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        /// Resume at this time, e.g. 2026-12-24T18:00:00Z.
        #[arg(long, value_name = "TIME", conflicts_with = "duration")]
        until: Option<Timestamp>,
        /// Resume after this duration.
        #[arg(long = "for", value_name = "DURATION")]
        duration: Option<DurationArg>,
    },
    /// Resume a paused queue.
    #[command(after_help = "Example:\n  steadfast queues resume mail")]
    Resume { name: String },
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    let server = args.server.connect()?;
    let client = &server.client;
    let query = TenantQuery {
        tenant: args.tenant,
    };
    let (request, sentence) = match args.verb {
        Verb::List => {
            let list = server
                .fetch_all(query.tenant.as_ref(), |query| client.list_queues(query))
                .await?;
            return server.print(&list, print_list);
        }
        Verb::Why { name } => {
            let explanation = server.call(client.explain_queue(&name, &query)).await?;
            for line in explanation.iter().flat_map(|it| queue_lines(it, now())) {
                print_line!("{line}")?;
            }
            return Ok(());
        }
        Verb::Pause {
            name,
            reason,
            until,
            duration,
        } => {
            let until = until.or_else(|| duration.map(|duration| now().plus(duration.0)));
            let why = PauseQueueRequest { reason, until };
            (
                client.pause_queue_with(&name, &query, &why),
                format!("queue {name} is paused"),
            )
        }
        Verb::Resume { name } => (
            client.resume_queue(&name, &query),
            format!("queue {name} is resumed"),
        ),
    };
    if server.call(request).await?.is_some() {
        print_line!("{sentence}")?;
    }
    Ok(())
}

fn print_list(list: &QueueList) -> anyhow::Result<()> {
    let now = now();
    print_rows(
        &list.queues,
        "no queues yet",
        [
            "tenant",
            "queue",
            "status",
            "ready",
            "running",
            "retrying",
            "scheduled",
            "dlq",
            "oldest",
            "last 5 min",
        ],
        None,
        |queue| {
            let counts = &queue.counts;
            let oldest = counts.oldest_ready;
            let oldest = oldest.map_or(String::new(), |time| age(time, now));
            let recent = match counts.recent.attempts {
                0 => String::new(),
                attempts => format!(
                    "{}, {} failed",
                    quantity(attempts, "attempt", "attempts"),
                    counts.recent.failures
                ),
            };
            vec![
                queue.tenant.as_str().into(),
                queue.name.as_str().into(),
                status_cell(if queue.paused { "paused" } else { "open" }),
                counts.ready.into(),
                counts.running.into(),
                counts.retrying.into(),
                counts.scheduled.into(),
                counts.dlq_size.into(),
                oldest.into(),
                recent.into(),
            ]
        },
    )?;
    for queue in &list.queues {
        let is_explained = |pause: &&Pause| pause.by.is_some() || pause.reason.is_some();
        if let Some(pause) = queue.pause.as_ref().filter(is_explained) {
            print_line!("{} is {}", queue.name, pause.describe(now))?;
        }
    }
    Ok(())
}

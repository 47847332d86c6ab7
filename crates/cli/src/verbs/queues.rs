//! `steadfast queues`: how full they are, and whether they are served.

use clap::Subcommand;
use serde::Deserialize;
use serde_json::Value;
use steadfast::Timestamp;

use crate::{
    output::{self, print_line},
    remote::{Remote, part},
    show::{age, now, plain_table, status_cell, table_lines},
};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  steadfast queues list\n  steadfast queues pause mail\n  steadfast queues resume mail"
)]
pub struct Args {
    #[command(flatten)]
    remote: Remote,
    /// For admin keys; others have a tenant of their own.
    #[arg(long, global = true)]
    tenant: Option<String>,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Queues with their depth, their oldest job and how things went lately.
    #[command(after_help = "Example:\n  steadfast queues list")]
    List,
    /// Stop claims from a queue until it is resumed; what runs goes on.
    #[command(after_help = "Example:\n  steadfast queues pause mail")]
    Pause { name: String },
    /// Serve a queue again.
    #[command(after_help = "Example:\n  steadfast queues resume mail")]
    Resume { name: String },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct QueueView {
    tenant: String,
    name: String,
    paused: bool,
    scheduled: u64,
    ready: u64,
    running: u64,
    retrying: u64,
    dlq_size: u64,
    oldest_ready: Option<Timestamp>,
    recent: TallyView,
}

#[derive(Deserialize)]
struct TallyView {
    attempts: u64,
    failures: u64,
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    let remote = &args.remote;
    let (name, verb, sentence) = match args.verb {
        Verb::List => {
            let answer = remote.get("/queues", &[("tenant", args.tenant)]).await?;
            return list(remote, answer);
        }
        Verb::Pause { name } => (name, "pause", "is paused"),
        Verb::Resume { name } => (name, "resume", "is served"),
    };
    let tenant = args
        .tenant
        .map_or(String::new(), |tenant| format!("?tenant={}", part(&tenant)));
    let path = format!("/queues/{}/{verb}{tenant}", part(&name));
    let answer = remote.post(&path, Value::Null).await?;
    match remote.json {
        true => Ok(output::print_json(&answer)?),
        false => Ok(print_line!("queue {name} {sentence}")?),
    }
}

fn list(remote: &Remote, answer: Value) -> anyhow::Result<()> {
    #[derive(Deserialize)]
    struct Queues {
        queues: Vec<QueueView>,
    }
    if remote.json {
        return Ok(output::print_json(&answer)?);
    }
    let list: Queues = serde_json::from_value(answer)?;
    if list.queues.is_empty() {
        return Ok(print_line!("no queues yet")?);
    }
    let now = now();
    let mut table = plain_table([
        "tenant",
        "queue",
        "",
        "ready",
        "running",
        "retrying",
        "scheduled",
        "dlq",
        "oldest",
        "last 5 min",
    ]);
    for queue in &list.queues {
        let oldest = queue
            .oldest_ready
            .map_or(String::new(), |time| age(time, now));
        let lately = match queue.recent.attempts {
            0 => String::new(),
            attempts => format!("{attempts} attempts, {} failed", queue.recent.failures),
        };
        table.add_row(vec![
            queue.tenant.as_str().into(),
            queue.name.as_str().into(),
            status_cell(if queue.paused { "paused" } else { "" }),
            queue.ready.into(),
            queue.running.into(),
            queue.retrying.into(),
            queue.scheduled.into(),
            queue.dlq_size.into(),
            oldest.into(),
            lately.into(),
        ]);
    }
    Ok(print_line!("{}", table_lines(&table))?)
}

//! `steadfast operations`: follow, pause and cancel bulk operations.

pub mod bulk;

use anyhow::Context as _;
use clap::Subcommand;
use steadfast_api::{OperationBody, OperationJobQuery, OperationList, OperationQuery};
use steadfast_core::{OperationKind, OperationStatus};

use crate::{
    exit::ExitError,
    limits::{FOLLOW_FIRST, PROGRESS_EVERY, WATCH_EVERY},
    output::{self, print_line},
    page::{PageArgs, print_rows},
    server_args::{ConfirmArgs, Server, ServerArgs},
    show::{age, moment, now, status_cell, thousands},
};

#[derive(clap::Args)]
#[command(
    after_help = "Operations are created by `dlq requeue`, `dlq discard`, `jobs cancel`, `jobs retry`, `jobs run-now`,\n`jobs edit-policy`, `jobs erase` and `keys rotate-encryption`.\n\nExamples:\n  steadfast operations list --open\n  steadfast operations show opr_… --watch\n  steadfast operations results opr_… --not-changed\n  steadfast operations pause opr_…"
)]
pub struct Args {
    #[command(flatten)]
    server: ServerArgs,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// List operations, newest first.
    #[command(
        after_help = "Examples:\n  steadfast operations list\n  steadfast operations list --open"
    )]
    List {
        /// Only this tenant; requires a key for all tenants.
        #[arg(long)]
        tenant: Option<String>,
        /// Only operations that have not ended.
        #[arg(long)]
        open: bool,
        #[command(flatten)]
        page: PageArgs,
    },
    /// Show an operation: its jobs, its progress and its creator.
    #[command(
        after_help = "Examples:\n  steadfast operations show opr_…\n  steadfast operations show opr_… --watch"
    )]
    Show {
        /// Operation id, opr_….
        id: String,
        /// Follow the operation until it ends.
        #[arg(long)]
        watch: bool,
    },
    /// List the jobs of an operation with the result for each.
    #[command(
        after_help = "Examples:\n  steadfast operations results opr_…\n  steadfast operations results opr_… --not-changed"
    )]
    Results {
        /// Operation id, opr_….
        id: String,
        /// Only jobs that were not changed.
        #[arg(long)]
        not_changed: bool,
        #[command(flatten)]
        page: PageArgs,
    },
    /// Print a one-line report of an operation.
    #[command(
        after_help = "The exit code is 1 if the operation was cancelled or stopped by its canary.\n\nExample:\n  steadfast operations report opr_…"
    )]
    Report {
        /// Operation id, opr_….
        id: String,
    },
    /// Pause an operation until it is resumed.
    #[command(after_help = "Example:\n  steadfast operations pause opr_…")]
    Pause {
        /// Operation id, opr_….
        id: String,
    },
    /// Resume a paused operation.
    #[command(after_help = "Example:\n  steadfast operations resume opr_…")]
    Resume {
        /// Operation id, opr_….
        id: String,
    },
    /// Cancel an operation; its remaining jobs are not changed.
    #[command(after_help = "Example:\n  steadfast operations cancel opr_…")]
    Cancel {
        /// Operation id, opr_….
        id: String,
        #[command(flatten)]
        confirm: ConfirmArgs,
    },
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    let server = &args.server.connect()?;
    let client = &server.client;
    let changed = match args.verb {
        Verb::List { tenant, open, page } => {
            let query = OperationQuery {
                tenant,
                open: open.then_some(true),
                limit: Some(page.limit),
                after: page.after,
            };
            let list = server.call(client.list_operations(&query)).await?;
            return list.as_ref().map_or(Ok(()), print_list);
        }
        Verb::Show { id, watch } => return show(server, &id, watch).await,
        Verb::Results {
            id,
            not_changed,
            page,
        } => {
            let query = OperationJobQuery {
                not_changed: not_changed.then_some(true),
                limit: Some(page.limit),
                after: page.after,
            };
            return print_results(server, &id, &query).await;
        }
        Verb::Report { id } => {
            let operation = server.fetch(client.get_operation(&id)).await?;
            return print_end(server, &operation);
        }
        Verb::Pause { id } => client.pause_operation(&id),
        Verb::Resume { id } => client.resume_operation(&id),
        Verb::Cancel { id, confirm } => {
            server.confirm_in_production(&format!("cancel operation {id}?"), confirm.yes)?;
            client.cancel_operation(&id)
        }
    };
    if let Some(operation) = server.call(changed).await? {
        print_line!("{}: {}", operation.id, operation.report)?;
    }
    Ok(())
}

/// Shows progress until an operation has ended, or is paused.
pub async fn follow(
    server: &Server,
    mut operation: OperationBody,
) -> anyhow::Result<OperationBody> {
    let bar = output::progress_bar(operation.id, operation.total);
    let mut pause = FOLLOW_FIRST;
    while operation.status == OperationStatus::Running {
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(WATCH_EVERY);
        if pause == WATCH_EVERY {
            bar.enable_steady_tick(PROGRESS_EVERY);
        }
        let id = operation.id;
        let fetched = server.fetch(server.client.get_operation(id)).await;
        operation = fetched.with_context(|| detached(&operation))?;
        bar.set_length(operation.total.max(operation.worked));
        bar.set_position(operation.worked);
        bar.set_message(progress_text(&operation));
    }
    bar.finish_and_clear();
    Ok(operation)
}

fn progress_text(operation: &OperationBody) -> String {
    match operation.mode.as_str() {
        "canary" => outcomes_text(operation),
        _ => String::new(),
    }
}

/// `0 succeeded, 23 failed again`.
fn outcomes_text(operation: &OperationBody) -> String {
    let outcomes = &operation.outcomes;
    let failed = outcomes.failed_again + outcomes.failed_otherwise;
    let (succeeded, failed) = (thousands(outcomes.succeeded), thousands(failed));
    format!("{succeeded} succeeded, {failed} failed again")
}

/// What to print for an operation that continues in the background.
pub fn detached(operation: &OperationBody) -> String {
    let id = operation.id;
    format!(
        "{id} continues in the background; follow it with `steadfast operations show {id} --watch`"
    )
}

/// Prints a report. The command fails if the operation did not finish.
pub fn print_end(server: &Server, operation: &OperationBody) -> anyhow::Result<()> {
    match server.json {
        true => output::print_json(operation)?,
        false => print_line!("{}: {}", operation.id, operation.report)?,
    }
    check_end(operation)
}

/// Whether the operation finished, as an exit code.
pub fn check_end(operation: &OperationBody) -> anyhow::Result<()> {
    match operation.status {
        OperationStatus::Stopped | OperationStatus::Cancelled => Err(ExitError::Reported.into()),
        _ => Ok(()),
    }
}

async fn show(server: &Server, id: &str, watch: bool) -> anyhow::Result<()> {
    if watch {
        let operation = server.fetch(server.client.get_operation(id)).await?;
        return print_end(server, &follow(server, operation).await?);
    }
    let Some(operation) = server.call(server.client.get_operation(id)).await? else {
        return Ok(());
    };
    let now = now();
    print_line!("{}: {}", operation.id, operation.report)?;
    let jobs = jobs_text(&operation);
    let mut facts = vec![
        ("jobs", jobs.to_owned()),
        ("worked", worked(&operation)),
        ("by", operation.by.to_string()),
        ("created", moment(operation.created_at, now)),
    ];
    facts.extend(operation.finished_at.map(|at| ("ended", moment(at, now))));
    facts.extend(
        operation
            .tenant
            .as_ref()
            .map(|it| ("tenant", it.to_string())),
    );
    facts.extend(
        operation
            .pace
            .map(|pace| ("pace", format!("{pace} per second"))),
    );
    let tries_again = matches!(
        operation.kind,
        OperationKind::Requeue | OperationKind::Retry
    );
    if tries_again && operation.changed > 0 && operation.mode != "canary" {
        facts.push(("outcome", outcomes_text(&operation)));
    }
    if operation.mode == "canary" {
        let stage = format!(
            "{} of 4; {}",
            operation.stage + 1,
            progress_text(&operation)
        );
        facts.push(("stage", stage));
    }
    for (name, fact) in facts {
        print_line!("  {name:<8} {fact}")?;
    }
    Ok(())
}

/// The jobs, in words.
fn jobs_text(operation: &OperationBody) -> &str {
    match operation.kind {
        OperationKind::RotateEncryption => "none",
        _ if operation.is_named => "selected by id",
        _ => operation.filter.as_str(),
    }
}

/// `3 of at least 10`.
fn worked(operation: &OperationBody) -> String {
    let at_least = if operation.at_least { "at least " } else { "" };
    let total = thousands(operation.total);
    format!("{} of {at_least}{total}", thousands(operation.worked))
}

fn print_list(list: &OperationList) -> anyhow::Result<()> {
    let now = now();
    print_rows(
        &list.operations,
        "no operations",
        [
            "id", "kind", "status", "worked", "changed", "by", "age", "jobs",
        ],
        list.next_cursor.as_ref(),
        |operation| {
            let jobs = match operation.is_named {
                true => "named",
                false => jobs_text(operation),
            };
            vec![
                operation.id.to_string().into(),
                operation.kind.as_str().into(),
                status_cell(operation.status.as_str()),
                worked(operation).into(),
                thousands(operation.changed).into(),
                operation.by.to_string().into(),
                age(operation.created_at, now).into(),
                jobs.into(),
            ]
        },
    )
}

async fn print_results(server: &Server, id: &str, query: &OperationJobQuery) -> anyhow::Result<()> {
    let request = server.client.list_operation_jobs(id, query);
    let Some(list) = server.call(request).await? else {
        return Ok(());
    };
    print_rows(
        &list.jobs,
        "no jobs",
        ["job", "result", "next attempt"],
        list.next_cursor.as_ref(),
        |job| {
            let result = job.result.map_or("pending", |result| result.as_str());
            let outcome = job.outcome.map_or("", |outcome| outcome.as_str());
            [job.job.to_string(), result.to_owned(), outcome.to_owned()]
        },
    )
}

const _: () = assert!(FOLLOW_FIRST.as_nanos() < WATCH_EVERY.as_nanos());

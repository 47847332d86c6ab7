//! `steadfast dlq`: list, requeue and discard dead letters.

use std::collections::BTreeSet;

use clap::Subcommand;
use steadfast_api::{BulkResult, DeadLettersRequest, JobQuery};
use steadfast_client::Request;
use steadfast_core::{OperationKind, Payload};

use super::{
    operations::bulk::{self, BulkArgs, BulkWork, CanaryArgs},
    read_optional_json,
};
use crate::{
    exit::{ExitError, usage},
    job_list::{JobFilterArgs, print_jobs},
    output::{self, print_line},
    page::PageArgs,
    server_args::{Server, ServerArgs},
    show::quantity,
};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  steadfast dlq list\n  steadfast dlq requeue job_… job_…\n  steadfast dlq requeue --class timeout --dry-run\n  steadfast dlq discard --queue mail --reason exhausted --yes"
)]
pub struct Args {
    #[command(flatten)]
    server: ServerArgs,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// List dead letters, newest first.
    #[command(
        after_help = "Examples:\n  steadfast dlq list\n  steadfast dlq list --class timeout --json"
    )]
    List {
        #[command(flatten)]
        filter: Box<JobFilterArgs>,
        #[command(flatten)]
        page: PageArgs,
    },
    /// Requeue dead letters, each with a new retry budget.
    #[command(
        after_help = "Examples:\n  steadfast dlq requeue job_…\n  steadfast dlq requeue job_… --payload '{\"user\": 8}'\n  steadfast dlq requeue --text 'connection refused' --dry-run\n  steadfast dlq requeue --fingerprint 01725bb71d23924e --mode canary --yes\n  steadfast dlq requeue --all --pace 50 --yes --detach"
    )]
    Requeue {
        #[command(flatten)]
        selection: Box<BulkArgs>,
        #[command(flatten)]
        canary: CanaryArgs,
        /// New payload for all given ids: JSON, @FILE, or - for standard input.
        #[arg(long, value_name = "JSON", requires = "ids")]
        payload: Option<String>,
    },
    /// Discard dead letters without retrying them.
    #[command(
        after_help = "Examples:\n  steadfast dlq discard job_…\n  steadfast dlq discard --class not_found --yes"
    )]
    Discard {
        #[command(flatten)]
        selection: Box<BulkArgs>,
    },
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    let server = &args.server.connect()?;
    match args.verb {
        Verb::List { filter, page } => {
            let schedule = filter.schedule_id(server).await?;
            let query = JobQuery {
                limit: Some(page.limit),
                after: page.after,
                ..filter.query(schedule)
            };
            let request = server.client.list_dead_letters(&query);
            server
                .show(request, |it| print_jobs(it, "no dead letters"))
                .await
        }
        Verb::Requeue {
            selection,
            canary,
            payload,
        } => {
            let payload = read_optional_json(payload.as_ref(), "--payload")?;
            let work = BulkWork {
                canary,
                ..BulkWork::on_dead_letters(OperationKind::Requeue)
            };
            apply(server, work, &selection, payload).await
        }
        Verb::Discard { selection } => {
            let work = BulkWork::on_dead_letters(OperationKind::Discard);
            apply(server, work, &selection, None).await
        }
    }
}

/// Named dead letters are changed at once, unless the work is to be done in another way.
async fn apply(
    server: &Server,
    work: BulkWork,
    selection: &BulkArgs,
    payload: Option<Payload>,
) -> anyhow::Result<()> {
    let run = &selection.run;
    let is_operation = run.detach || run.pace.is_some() || work.canary.mode.is_some();
    if is_operation && payload.is_some() {
        let sentence = "--payload cannot be combined with --mode, --pace or --detach";
        return Err(usage(sentence));
    }
    let has_filter = selection.filter != JobFilterArgs::default();
    if selection.ids.is_empty() || is_operation || has_filter {
        return bulk::run(server, &work, selection).await;
    }
    let body = DeadLettersRequest {
        ids: Some(selection.ids.clone()),
        payload,
        dry_run: run.dry_run,
        ..DeadLettersRequest::default()
    };
    if work.kind == OperationKind::Discard && !run.dry_run {
        let amount = quantity(selection.ids.len() as u64, "dead letter", "dead letters");
        server.confirm_in_production(&format!("discard {amount}?"), run.yes)?;
    }
    let result = server.fetch(request(server, work.kind, &body)).await?;
    if result.count == 0 {
        let sentence = "none of these jobs is a dead letter (not_found)";
        return Err(ExitError::NotFound(sentence.to_owned()).into());
    }
    if server.json {
        return output::print_json(&result);
    }
    let count = quantity(result.count, "dead letter", "dead letters");
    match result.dry_run {
        true => print_line!("would {} {count}", work.kind)?,
        false => print_line!("{count} {}", work.past())?,
    }
    let named: BTreeSet<&String> = selection.ids.iter().collect();
    let left = (named.len() as u64).saturating_sub(result.count);
    if left > 0 {
        let left = quantity(left, "id", "ids");
        print_line!("{left} skipped: not a dead letter, or not allowed")?;
    }
    Ok(())
}

fn request(server: &Server, kind: OperationKind, body: &DeadLettersRequest) -> Request<BulkResult> {
    match kind {
        OperationKind::Discard => server.client.discard_dead_letters(body),
        _ => server.client.requeue_dead_letters(body),
    }
}

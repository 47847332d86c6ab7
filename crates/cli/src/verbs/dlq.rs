//! `steadfast dlq`: dead letters, requeued or discarded.
//!
//! All dead letters that match are changed page by page from here, and not in one long request, so
//! that there is progress to show, and a lost connection leaves nothing in doubt.

use std::{num::NonZeroU32, time::Duration};

use clap::Subcommand;
use indicatif::{ProgressBar, ProgressStyle};
use steadfast::job::BulkCommand;
use steadfast_api::{BulkResult, DeadLettersRequest};
use steadfast_client::Request;
use steadfast_core::{Payload, ScheduleId};
use tokio::time::Instant;

use super::{
    confirm,
    jobs::{JobFilterArgs, print_jobs},
    read_optional_json,
};
use crate::{
    exit::{ExitError, usage},
    limits::{DEAD_LETTER_PAGE, LIST_DEFAULT, PROGRESS_EVERY},
    output::{self, print_line},
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
        filter: JobFilterArgs,
        /// How many, up to 500.
        #[arg(long, default_value_t = LIST_DEFAULT)]
        limit: usize,
        /// Continue after this cursor, which the page before ended with.
        #[arg(long, value_name = "CURSOR")]
        after: Option<String>,
    },
    /// Requeue dead letters, each with a new retry budget.
    #[command(
        after_help = "Examples:\n  steadfast dlq requeue job_…\n  steadfast dlq requeue job_… --payload '{\"user\": 8}'\n  steadfast dlq requeue --text 'connection refused' --dry-run\n  steadfast dlq requeue --all --yes"
    )]
    Requeue {
        #[command(flatten)]
        selection: Selection,
        /// A new payload for all of them; only with ids. JSON, @FILE, or -.
        #[arg(long, value_name = "JSON", requires = "ids")]
        payload: Option<String>,
    },
    /// Discard dead letters: they are never retried.
    #[command(
        after_help = "Examples:\n  steadfast dlq discard job_…\n  steadfast dlq discard --class not_found --yes"
    )]
    Discard {
        #[command(flatten)]
        selection: Selection,
    },
}

#[derive(clap::Args)]
struct Selection {
    /// The dead letters by id; or describe them with the options below.
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    #[command(flatten)]
    filter: JobFilterArgs,
    /// Every dead letter, or all that the options describe.
    #[arg(long, conflicts_with = "ids")]
    all: bool,
    /// Only count them.
    #[arg(long)]
    dry_run: bool,
    /// How many a second at most.
    #[arg(long, value_name = "N", default_value_t = BulkCommand::RATE_DEFAULT)]
    rate: NonZeroU32,
    /// Do not ask for confirmation.
    #[arg(long, short)]
    yes: bool,
}

#[derive(Clone, Copy)]
enum Action {
    Requeue,
    Discard,
}

impl Action {
    fn verb(self) -> &'static str {
        match self {
            Self::Requeue => "requeue",
            Self::Discard => "discard",
        }
    }

    fn past(self) -> &'static str {
        match self {
            Self::Requeue => "requeued",
            Self::Discard => "discarded",
        }
    }

    fn request(self, server: &Server, body: &DeadLettersRequest) -> Request<BulkResult> {
        match self {
            Self::Requeue => server.client.requeue_dead_letters(body),
            Self::Discard => server.client.discard_dead_letters(body),
        }
    }
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    let server = &args.server.connect()?;
    match args.verb {
        Verb::List {
            filter,
            limit,
            after,
        } => {
            let schedule = filter.schedule_id(server).await?;
            let query = filter.query(schedule, limit, after);
            let request = server.client.list_dead_letters(&query);
            match server.call(request).await? {
                Some(list) => print_jobs(&list, "no dead letters"),
                None => Ok(()),
            }
        }
        Verb::Requeue { selection, payload } => {
            let payload = read_optional_json(payload.as_ref(), "--payload")?;
            apply(server, Action::Requeue, selection, payload).await
        }
        Verb::Discard { selection } => apply(server, Action::Discard, selection, None).await,
    }
}

async fn apply(
    server: &Server,
    action: Action,
    selection: Selection,
    payload: Option<Payload>,
) -> anyhow::Result<()> {
    let verb = action.verb();
    let has_filter = selection.filter != JobFilterArgs::default();
    if !selection.ids.is_empty() {
        if has_filter {
            return Err(usage("pass ids, or options that describe them; not both"));
        }
        return apply_to_ids(server, action, selection, payload).await;
    }
    if !has_filter && !selection.all {
        return Err(usage(format!(
            "choose the dead letters to {verb}: pass ids, options such as --class timeout, or --all"
        )));
    }
    let schedule = selection.filter.schedule_id(server).await?;
    let body = selection.dry_run_request(schedule);
    let count = server.fetch(action.request(server, &body)).await?;
    if selection.dry_run {
        return print_result(server, action, &count);
    }
    if count.count == 0 {
        let nothing = BulkResult {
            dry_run: false,
            ..count
        };
        if server.json {
            return output::print_json(&nothing);
        }
        return Ok(print_line!("no dead letter matches: nothing to {verb}")?);
    }
    let question = format!("{verb} {}?", dead_letters(&count));
    confirm(&question, selection.yes)?;
    let done = apply_by_page(server, action, &selection, count.count).await?;
    let result = BulkResult {
        count: done,
        dry_run: false,
        at_least: false,
    };
    print_result(server, action, &result)
}

impl Selection {
    fn dry_run_request(&self, schedule: Option<ScheduleId>) -> DeadLettersRequest {
        let filter = self.filter.clone();
        DeadLettersRequest {
            all: self.all,
            tenant: filter.tenant,
            queue: filter.queue,
            kind: filter.kind,
            schedule,
            reason: filter.reason,
            tags: filter.tags,
            class: filter.class,
            fingerprint: filter.fingerprint,
            text: filter.text,
            from: filter.from,
            before: filter.before,
            failed_from: filter.failed_from,
            failed_before: filter.failed_before,
            dry_run: true,
            ..DeadLettersRequest::default()
        }
    }
}

async fn apply_to_ids(
    server: &Server,
    action: Action,
    selection: Selection,
    payload: Option<Payload>,
) -> anyhow::Result<()> {
    let body = DeadLettersRequest {
        ids: Some(selection.ids),
        payload,
        dry_run: selection.dry_run,
        ..DeadLettersRequest::default()
    };
    let result = server.fetch(action.request(server, &body)).await?;
    if result.count == 0 {
        let sentence = "none of these is a dead letter (not_found)";
        return Err(ExitError::NotFound(sentence.to_owned()).into());
    }
    print_result(server, action, &result)
}

/// From the newest to the oldest: a job that fails again meanwhile is newer and is not met twice.
async fn apply_by_page(
    server: &Server,
    action: Action,
    selection: &Selection,
    total: u64,
) -> anyhow::Result<u64> {
    let schedule = selection.filter.schedule_id(server).await?;
    let bar = progress_bar(total);
    let mut done = 0;
    let mut after = None;
    loop {
        let page_begin = Instant::now();
        let query = selection
            .filter
            .clone()
            .query(schedule, DEAD_LETTER_PAGE, after);
        let page = server
            .fetch(server.client.list_dead_letters(&query))
            .await?;
        if !page.jobs.is_empty() {
            let body = DeadLettersRequest {
                ids: Some(page.jobs.iter().map(|job| job.id.to_string()).collect()),
                ..DeadLettersRequest::default()
            };
            done += server.fetch(action.request(server, &body)).await?.count;
            bar.set_position(done);
        }
        after = page.next_cursor;
        if after.is_none() {
            break;
        }
        let count = u32::try_from(page.jobs.len()).unwrap_or(u32::MAX);
        let page_time = Duration::from_secs(1) * count / selection.rate.get();
        tokio::time::sleep_until(page_begin + page_time).await;
    }
    bar.finish_and_clear();
    Ok(done)
}

/// Hidden if it is one page, or if standard error is not a terminal.
fn progress_bar(total: u64) -> ProgressBar {
    if total <= DEAD_LETTER_PAGE as u64 {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(total);
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} {eta}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(PROGRESS_EVERY);
    bar
}

fn print_result(server: &Server, action: Action, result: &BulkResult) -> anyhow::Result<()> {
    if server.json {
        return output::print_json(result);
    }
    let dead_letters = dead_letters(result);
    if result.dry_run {
        print_line!("would {} {dead_letters}", action.verb())?;
    } else {
        print_line!("{dead_letters} {}", action.past())?;
    }
    Ok(())
}

fn dead_letters(result: &BulkResult) -> String {
    let at_least = if result.at_least { "at least " } else { "" };
    let count = quantity(result.count, "dead letter", "dead letters");
    format!("{at_least}{count}")
}

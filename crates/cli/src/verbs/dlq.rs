//! `steadfast dlq`: dead letters, tried again or put away.
//!
//! All that match are walked through page by page from here, and not in one long request, so that
//! there is something to see meanwhile and a lost connection leaves nothing in doubt.

use std::time::Duration;

use clap::Subcommand;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{confirm, jobs::listed, read_json, said};
use crate::{
    exit::{ExitError, Problem, usage},
    limits::DEAD_LETTER_PAGE,
    output::{self, print_line},
    remote::Remote,
};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  steadfast dlq list\n  steadfast dlq requeue job_… job_…\n  steadfast dlq requeue --class timeout --dry-run\n  steadfast dlq discard --queue mail --reason exhausted --yes"
)]
pub struct Args {
    #[command(flatten)]
    remote: Remote,
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
        filter: Filter,
        /// How many, up to 500.
        #[arg(long, default_value_t = 50)]
        limit: u32,
        /// Where the page before ended.
        #[arg(long, value_name = "CURSOR")]
        after: Option<String>,
    },
    /// Try dead letters again, each with a fresh retry budget.
    #[command(
        after_help = "Examples:\n  steadfast dlq requeue job_…\n  steadfast dlq requeue job_… --payload '{\"user\": 8}'\n  steadfast dlq requeue --text 'connection refused' --dry-run\n  steadfast dlq requeue --all --yes"
    )]
    Requeue {
        #[command(flatten)]
        which: Which,
        /// In place of the payload they have; only with ids. JSON, @FILE, or -.
        #[arg(long, value_name = "JSON", requires = "ids")]
        payload: Option<String>,
    },
    /// Put dead letters away without trying them again.
    #[command(
        after_help = "Examples:\n  steadfast dlq discard job_…\n  steadfast dlq discard --class not_found --yes"
    )]
    Discard {
        #[command(flatten)]
        which: Which,
    },
}

#[derive(clap::Args, PartialEq, Default)]
struct Filter {
    /// Those in this queue.
    #[arg(long)]
    queue: Option<String>,
    /// Those of this kind, as http.
    #[arg(long)]
    kind: Option<String>,
    /// For admin keys; others have a tenant of their own.
    #[arg(long)]
    tenant: Option<String>,
    /// Runs of this schedule.
    #[arg(long, value_name = "ID")]
    schedule: Option<String>,
    /// Why it was given up, as exhausted or non_retryable.
    #[arg(long)]
    reason: Option<String>,
    /// Class of the failure, as timeout.
    #[arg(long)]
    class: Option<String>,
    /// Part of the failure's message.
    #[arg(long)]
    text: Option<String>,
    /// Created at this time or later.
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Created before this time.
    #[arg(long, value_name = "TIME")]
    before: Option<String>,
}

#[derive(clap::Args)]
struct Which {
    /// Those that are meant; or describe them with the options below.
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    #[command(flatten)]
    filter: Filter,
    /// Every dead letter there is, or all that the options describe.
    #[arg(long, conflicts_with = "ids")]
    all: bool,
    /// Only say how many it would be.
    #[arg(long)]
    dry_run: bool,
    /// Do not ask.
    #[arg(long, short)]
    yes: bool,
}

impl Filter {
    fn query(&self) -> [(&'static str, Option<String>); 9] {
        [
            ("queue", self.queue.clone()),
            ("kind", self.kind.clone()),
            ("tenant", self.tenant.clone()),
            ("schedule", self.schedule.clone()),
            ("reason", self.reason.clone()),
            ("class", self.class.clone()),
            ("text", self.text.clone()),
            ("from", self.from.clone()),
            ("before", self.before.clone()),
        ]
    }
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    let remote = &args.remote;
    match args.verb {
        Verb::List {
            filter,
            limit,
            after,
        } => {
            let mut query = filter.query().to_vec();
            query.push(("limit", Some(limit.to_string())));
            query.push(("after", after));
            let answer = remote.get("/dlq", &query).await?;
            match answer["jobs"].as_array().is_some_and(Vec::is_empty) && !remote.json {
                true => Ok(print_line!("no dead letters")?),
                false => listed(remote, answer),
            }
        }
        Verb::Requeue { which, payload } => {
            let payload = payload.map(|text| read_json(&text, "--payload"));
            resolve(remote, which, "requeue", payload.transpose()?).await
        }
        Verb::Discard { which } => resolve(remote, which, "discard", None).await,
    }
}

async fn resolve(
    remote: &Remote,
    which: Which,
    verb: &str,
    payload: Option<Value>,
) -> anyhow::Result<()> {
    let path = format!("/dlq/{verb}");
    if !which.ids.is_empty() {
        return by_ids(remote, &which, &path, payload).await;
    }
    if which.filter == Filter::default() && !which.all {
        return Err(usage(format!(
            "say which dead letters to {verb}: ids, options as --class timeout, or --all"
        )));
    }
    let count = count(remote, &which, &path).await?;
    if which.dry_run || count.count == 0 {
        return answered(remote, verb, &count);
    }
    let at_least = if count.at_least { "at least " } else { "" };
    let question = format!("{verb} {at_least}{}?", letters(count.count));
    confirm(&question, which.yes)?;
    let done = walk(remote, &which, &path, count.count).await?;
    answered(
        remote,
        verb,
        &Done {
            count: done,
            ..Done::default()
        },
    )
}

#[derive(Default, Deserialize, serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct Done {
    count: u64,
    dry_run: bool,
    at_least: bool,
}

async fn count(remote: &Remote, which: &Which, path: &str) -> anyhow::Result<Done> {
    let mut body = json!({"dryRun": true, "all": which.all});
    for (name, value) in which.filter.query() {
        if let Some(value) = value {
            body[name] = value.into();
        }
    }
    Ok(serde_json::from_value(remote.post(path, body).await?)?)
}

async fn by_ids(
    remote: &Remote,
    which: &Which,
    path: &str,
    payload: Option<Value>,
) -> anyhow::Result<()> {
    if which.filter != Filter::default() {
        return Err(usage("name dead letters, or describe them; not both"));
    }
    let body = said([
        ("ids", Some(json!(which.ids))),
        ("payload", payload),
        ("dryRun", Some(which.dry_run.into())),
    ]);
    let done: Done = serde_json::from_value(remote.post(path, body).await?)?;
    if done.count == 0 {
        let problem = Problem {
            status: 404,
            code: "not_found".to_owned(),
            detail: "none of these is a dead letter".to_owned(),
            field: None,
        };
        return Err(ExitError::Refused(problem).into());
    }
    answered(remote, path.rsplit('/').next().unwrap_or_default(), &done)
}

/// From the newest to the oldest; what comes back meanwhile is behind us and is not met again.
async fn walk(remote: &Remote, which: &Which, path: &str, total: u64) -> anyhow::Result<u64> {
    let bar = progress(total);
    let mut done = 0;
    let mut after = None;
    loop {
        let mut query = which.filter.query().to_vec();
        query.push(("limit", Some(DEAD_LETTER_PAGE.to_string())));
        query.push(("after", after));
        let page = remote.get("/dlq", &query).await?;
        let jobs = page["jobs"].as_array().map_or(&[][..], Vec::as_slice);
        let ids: Vec<&Value> = jobs.iter().map(|job| &job["id"]).collect();
        if !ids.is_empty() {
            let answer = remote.post(path, json!({"ids": ids})).await?;
            done += answer["count"].as_u64().unwrap_or_default();
            bar.set_position(done);
        }
        match page["nextCursor"].as_str() {
            Some(next) => after = Some(next.to_owned()),
            None => break,
        }
    }
    bar.finish_and_clear();
    Ok(done)
}

/// Hidden by itself where standard error is no terminal.
fn progress(total: u64) -> ProgressBar {
    if total <= u64::from(DEAD_LETTER_PAGE) {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(total);
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} {eta}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

fn answered(remote: &Remote, verb: &str, done: &Done) -> anyhow::Result<()> {
    if remote.json {
        return Ok(output::print_json(&json!(done))?);
    }
    let letters = letters(done.count);
    let at_least = if done.at_least { "at least " } else { "" };
    match done.dry_run {
        true => Ok(print_line!("would {verb} {at_least}{letters}")?),
        false => Ok(print_line!("{letters} {}", past(verb))?),
    }
}

fn past(verb: &str) -> &str {
    match verb {
        "requeue" => "requeued",
        _ => "discarded",
    }
}

fn letters(count: u64) -> String {
    match count {
        1 => "1 dead letter".to_owned(),
        count => format!("{count} dead letters"),
    }
}

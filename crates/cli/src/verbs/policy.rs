//! `steadfast policy`: what a retry policy would do, what it would have done, and what an outage
//! would lead to.

mod certificates;
mod certify;

use std::time::Duration;

use clap::Subcommand;
use serde_json::{Map, Value, json};
use steadfast_api::{PolicyPreviewBody, PolicyReplayBody, ReplayPolicyRequest};
use steadfast_core::{explain, limits::REPLAY_SPAN};

use crate::{
    exit::usage,
    numbers::Number,
    output::{self, print_line},
    server_args::ServerArgs,
    settings::{DurationArg, RetryArg},
    show::{brief, moment, now, policy_table, quantity, replay_table, table_lines, thousands},
};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  steadfast policy preview patient\n  steadfast policy replay patient --queue default\n  steadfast policy certify http --capacity 100 --traffic 60 --latency 200ms"
)]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Print the timetable of a job whose every attempt fails. Requires no server.
    Preview(Box<PreviewArgs>),
    /// Replay a policy over recorded attempts and compare the results.
    Replay(Box<ReplayArgs>),
    /// Compute whether a system recovers by itself after outages. Requires no server unless
    /// --destination is given.
    Certify(Box<certify::CertifyArgs>),
    /// List and delete certificates that are kept with `certify --keep`.
    Certificates(certificates::CertificatesArgs),
}

#[derive(clap::Args)]
#[command(
    after_help = "Presets: http, queue, patient, webhook, conservative, aggressive, once.\n\nExamples:\n  steadfast policy preview http\n  steadfast policy preview patient --max-retries 8 --jitter none\n  steadfast policy preview '{\"delays\": [\"30s\", \"5m\", \"1h\"], \"maxRetries\": 5}'\n  steadfast policy preview --backoff linear --base-delay 10s --max-retries 6"
)]
struct PreviewArgs {
    #[command(flatten)]
    policy: PolicyArgs,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
#[command(
    after_help = "The policy replaces the `retry` of each job; other fields come from the settings of its queue.\nAt least one of --queue, --kind and --destination is required.\n\nExamples:\n  steadfast policy replay patient --queue default\n  steadfast policy replay --max-retries 8 --base-delay 10s --kind http --last 3d\n  steadfast policy replay --max-delay 10m --destination https://api.example.com"
)]
struct ReplayArgs {
    #[command(flatten)]
    policy: PolicyArgs,
    /// Jobs in this queue.
    #[arg(long)]
    queue: Option<String>,
    /// Jobs of this kind.
    #[arg(long)]
    kind: Option<String>,
    /// Jobs for this destination, e.g. https://api.example.com.
    #[arg(long, value_name = "ORIGIN")]
    destination: Option<String>,
    /// Jobs created within this duration before now, up to 7d [default: 24h].
    #[arg(long, value_name = "DURATION")]
    last: Option<DurationArg>,
    /// Jobs of this tenant; requires a key for all tenants.
    #[arg(long)]
    tenant: Option<String>,
    #[command(flatten)]
    server: ServerArgs,
}

#[derive(clap::Args)]
struct PolicyArgs {
    /// Preset name, or JSON as in the API.
    policy: Option<RetryArg>,
    /// Maximum number of retries after the first attempt.
    #[arg(long, value_name = "N")]
    max_retries: Option<u32>,
    /// Backoff: exponential, linear, fixed, fibonacci or delays.
    #[arg(long)]
    backoff: Option<String>,
    /// First delay.
    #[arg(long, value_name = "DURATION")]
    base_delay: Option<DurationArg>,
    /// Factor of exponential backoff.
    #[arg(long)]
    factor: Option<Number>,
    /// Maximum delay.
    #[arg(long, value_name = "DURATION")]
    max_delay: Option<DurationArg>,
    /// Explicit delays, separated by commas; the last one repeats.
    #[arg(long, value_name = "DURATIONS", value_delimiter = ',')]
    delays: Option<Vec<DurationArg>>,
    /// Jitter: none, proportional, full, equal or decorrelated.
    #[arg(long)]
    jitter: Option<String>,
    /// Factor of proportional jitter, from 0 to 1.
    #[arg(long)]
    jitter_factor: Option<Number>,
    /// Give up after this much time since the first attempt.
    #[arg(long, value_name = "DURATION")]
    max_elapsed: Option<DurationArg>,
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    match args.verb {
        Verb::Preview(args) => preview(&args),
        Verb::Replay(args) => replay(*args).await,
        Verb::Certify(args) => certify::run(*args).await,
        Verb::Certificates(args) => certificates::run(args).await,
    }
}

fn preview(args: &PreviewArgs) -> anyhow::Result<()> {
    let policy = args.policy.patch()?.build();
    let policy = policy.map_err(|error| usage(format!("invalid policy: {error}")))?;
    let preview = PolicyPreviewBody::from(policy);
    if args.json {
        return output::print_json(&preview);
    }
    print_line!("{}", explain::policy(&preview.retry))?;
    print_line!("\n{}\n", table_lines(&policy_table(&preview)))?;
    let gives_up = preview.gives_up;
    let [typical, min, max] = [gives_up.typical_ms, gives_up.min_ms, gives_up.max_ms]
        .map(|millis| brief(Duration::from_millis(millis)));
    let range = if min == max {
        String::new()
    } else {
        format!(" ({min} to {max})")
    };
    let attempts = quantity(preview.attempts.len() as u64, "attempt", "attempts");
    Ok(print_line!(
        "If every attempt fails immediately, the job is given up after {attempts},\n{typical}{range} after the first. Slower attempts delay all later ones."
    )?)
}

async fn replay(args: ReplayArgs) -> anyhow::Result<()> {
    if let Some(DurationArg(last)) = args.last
        && !REPLAY_SPAN.contains(&last)
    {
        let [least, most] = [REPLAY_SPAN.start(), REPLAY_SPAN.end()].map(|it| brief(*it));
        let last = brief(last);
        return Err(usage(format!(
            "--last is {last}: must be between {least} and {most}"
        )));
    }
    let request = ReplayPolicyRequest {
        retry: args.policy.patch()?.0,
        queue: args.queue,
        kind: args.kind,
        destination: args.destination,
        since: args.last.map(|last| now().minus(last.0)),
        tenant: args.tenant,
    };
    let server = args.server.connect()?;
    server
        .show(server.client.replay_policy(&request), print_replay)
        .await
}

fn print_replay(replay: &PolicyReplayBody) -> anyhow::Result<()> {
    if replay.recorded.jobs == 0 {
        return Ok(print_line!("{}", replay.summary)?);
    }
    let jobs = quantity(replay.recorded.jobs, "job", "jobs");
    let since = moment(replay.since, now());
    let cut = if replay.is_cut {
        "; older jobs were left out because there are too many to replay"
    } else {
        ""
    };
    print_line!("{jobs} since {since}{cut}\n")?;
    print_line!("{}\n", table_lines(&replay_table(replay)))?;
    if replay.new.is_none() {
        return Ok(print_line!("{}", replay.summary)?);
    }
    let percent = (100.0 * replay.observed_share).floor();
    print_line!("{percent} % of the simulated retries are backed by observed attempts.")?;
    match replay.old {
        Some(old) if old != replay.recorded => Ok(print_line!(
            "For comparison, a replay of the original policies: {} succeeded, {} and {}.",
            thousands(old.successes),
            quantity(old.dead_letters, "dead letter", "dead letters"),
            quantity(old.attempts, "attempt", "attempts"),
        )?),
        _ => Ok(()),
    }
}

impl PolicyArgs {
    /// Flags override the named policy.
    fn patch(&self) -> anyhow::Result<RetryArg> {
        let mut fields = match json!(self.policy.clone().unwrap_or_default()) {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        let text = |arg: Option<DurationArg>| arg.map(|arg| Value::from(arg.to_string()));
        let list = self.delays.as_ref().map(|list| {
            let texts: Vec<String> = list.iter().map(ToString::to_string).collect();
            Value::from(texts)
        });
        let flags = [
            ("maxRetries", self.max_retries.map(Value::from)),
            ("backoff", self.backoff.clone().map(Value::from)),
            ("baseDelay", text(self.base_delay)),
            ("factor", self.factor.map(|factor| factor.0.into())),
            ("maxDelay", text(self.max_delay)),
            ("delays", list),
            ("jitter", self.jitter.clone().map(Value::from)),
            (
                "jitterFactor",
                self.jitter_factor.map(|factor| factor.0.into()),
            ),
            ("maxElapsed", text(self.max_elapsed)),
        ];
        for (name, value) in flags {
            if let Some(value) = value {
                fields.insert(name.to_owned(), value);
            }
        }
        let invalid = |error: &dyn std::fmt::Display| usage(format!("invalid policy: {error}"));
        serde_json::from_value(Value::Object(fields)).map_err(|error| invalid(&error))
    }
}

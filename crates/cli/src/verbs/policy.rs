//! `steadfast policy preview`: what a retry policy would do, without doing it. Needs no server.

use std::time::Duration;

use clap::Subcommand;
use serde_json::{Map, Value, json};
use steadfast_api::PolicyPreviewBody;
use steadfast_core::{RetryPolicy, explain};

use crate::{
    exit::usage,
    output::{self, print_line},
    settings::{DurationArg, RetryArg},
    show::{brief, policy_table, quantity, table_lines},
};

#[derive(clap::Args)]
#[command(after_help = "Example:\n  steadfast policy preview patient")]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Print the timetable of a job that always fails at once.
    Preview(PreviewArgs),
}

#[derive(clap::Args)]
#[command(
    after_help = "Presets: http, queue, patient, webhook, conservative, aggressive, once.\n\nExamples:\n  steadfast policy preview http\n  steadfast policy preview patient --max-retries 8 --jitter none\n  steadfast policy preview '{\"delays\": [\"30s\", \"5m\", \"1h\"], \"maxRetries\": 5}'\n  steadfast policy preview --backoff linear --base-delay 10s --max-retries 6"
)]
struct PreviewArgs {
    /// A preset's name, or JSON as in the API [default: queue].
    policy: Option<RetryArg>,
    /// Retries after the first attempt.
    #[arg(long, value_name = "N")]
    max_retries: Option<u32>,
    /// exponential, linear, fixed, fibonacci or delays.
    #[arg(long)]
    backoff: Option<String>,
    /// The first delay.
    #[arg(long, value_name = "DURATION")]
    base_delay: Option<DurationArg>,
    /// The factor of exponential backoff.
    #[arg(long)]
    factor: Option<f64>,
    /// The cap on any delay.
    #[arg(long, value_name = "DURATION")]
    max_delay: Option<DurationArg>,
    /// An explicit list, separated by commas; the last one repeats.
    #[arg(long, value_name = "DURATIONS", value_delimiter = ',')]
    delays: Option<Vec<DurationArg>>,
    /// none, proportional, full, equal or decorrelated.
    #[arg(long)]
    jitter: Option<String>,
    /// The factor of proportional jitter, from 0 to 1.
    #[arg(long)]
    jitter_factor: Option<f64>,
    /// Give up when this much time has passed since the first attempt.
    #[arg(long, value_name = "DURATION")]
    max_elapsed: Option<DurationArg>,
    /// Print JSON, for programs.
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> anyhow::Result<()> {
    let Verb::Preview(args) = args.verb;
    let preview = PolicyPreviewBody::from(args.policy()?);
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
        "A job that always fails at once is given up after {attempts}, {typical}{range}\nafter the first. Attempts that take longer delay everything after them."
    )?)
}

impl PreviewArgs {
    /// Flags override the named policy.
    fn policy(&self) -> anyhow::Result<RetryPolicy> {
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
            ("factor", self.factor.map(Value::from)),
            ("maxDelay", text(self.max_delay)),
            ("delays", list),
            ("jitter", self.jitter.clone().map(Value::from)),
            ("jitterFactor", self.jitter_factor.map(Value::from)),
            ("maxElapsed", text(self.max_elapsed)),
        ];
        for (name, value) in flags {
            if let Some(value) = value {
                fields.insert(name.to_owned(), value);
            }
        }
        let invalid = |error: &dyn std::fmt::Display| usage(format!("invalid policy: {error}"));
        let retry: RetryArg =
            serde_json::from_value(Value::Object(fields)).map_err(|error| invalid(&error))?;
        retry.build().map_err(|error| invalid(&error))
    }
}

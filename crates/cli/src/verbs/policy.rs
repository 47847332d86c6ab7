//! `steadfast policy preview`: what a retry policy would do, without doing it. Needs no server.

use clap::Subcommand;
use serde_json::{Map, Value, json};
use steadfast::{RetryPolicy, duration};

use crate::{
    exit::usage,
    say::{self, say},
    settings::{Retry, Span},
    show::{brief, lines_of, policy_sentence, timetable},
};

#[derive(clap::Args)]
#[command(after_help = "Example:\n  steadfast policy preview patient")]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Draw the timetable of a job that always fails at once.
    Preview(PreviewArgs),
}

#[derive(clap::Args)]
#[command(
    after_help = "Presets: http, queue, patient, webhook, conservative, aggressive, once.\n\nExamples:\n  steadfast policy preview http\n  steadfast policy preview patient --max-retries 8 --jitter none\n  steadfast policy preview '{\"delays\": [\"30s\", \"5m\", \"1h\"], \"maxRetries\": 5}'\n  steadfast policy preview --backoff linear --base-delay 10s --max-retries 6"
)]
struct PreviewArgs {
    /// A preset's name, or JSON as the API takes it [default: queue].
    policy: Option<Retry>,
    /// Retries after the first attempt.
    #[arg(long, value_name = "N")]
    max_retries: Option<u32>,
    /// exponential, linear, fixed, fibonacci or delays.
    #[arg(long)]
    backoff: Option<String>,
    /// The first delay.
    #[arg(long, value_name = "DURATION")]
    base_delay: Option<Span>,
    /// Of exponential backoff.
    #[arg(long)]
    factor: Option<f64>,
    /// The cap on any delay.
    #[arg(long, value_name = "DURATION")]
    max_delay: Option<Span>,
    /// An explicit list, separated by commas; the last one repeats.
    #[arg(long, value_name = "DURATIONS", value_delimiter = ',')]
    delays: Option<Vec<Span>>,
    /// none, proportional, full, equal or decorrelated.
    #[arg(long)]
    jitter: Option<String>,
    /// Of proportional jitter, from 0 to 1.
    #[arg(long)]
    jitter_factor: Option<f64>,
    /// Give up when this long has passed since the first attempt.
    #[arg(long, value_name = "DURATION")]
    max_elapsed: Option<Span>,
    /// Print JSON, for programs.
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> anyhow::Result<()> {
    let Verb::Preview(preview) = args.verb;
    let policy = preview.policy()?;
    if preview.json {
        return Ok(say::json(&as_api(&policy))?);
    }
    say!("{}", policy_sentence(&policy))?;
    say!("\n{}\n", lines_of(&timetable(&policy)))?;
    let gives_up = policy.preview().gives_up;
    let spread = match gives_up.min == gives_up.max {
        true => String::new(),
        false => format!(" ({} to {})", brief(gives_up.min), brief(gives_up.max)),
    };
    Ok(say!(
        "A job that always fails at once is given up after {} attempts, {}{spread}\nafter the first. Attempts that take longer push everything after them back.",
        policy.preview().rows.len(),
        brief(gives_up.typical),
    )?)
}

impl PreviewArgs {
    /// Flags go over what is named.
    fn policy(&self) -> anyhow::Result<RetryPolicy> {
        let mut fields = match json!(self.policy.clone().unwrap_or_default()) {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        let text = |span: Option<Span>| span.map(|span| Value::from(span.to_string()));
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
        let wrong = |error: &dyn std::fmt::Display| usage(format!("no such policy: {error}"));
        let retry: Retry =
            serde_json::from_value(Value::Object(fields)).map_err(|error| wrong(&error))?;
        retry.build().map_err(|error| wrong(&error))
    }
}

/// As `POST /policies/preview` answers.
fn as_api(policy: &RetryPolicy) -> Value {
    let spread = |spread: steadfast::policy::DelayRange| {
        json!({
            "minMs": duration::millis(spread.min),
            "typicalMs": duration::millis(spread.typical),
            "maxMs": duration::millis(spread.max),
        })
    };
    let preview = policy.preview();
    let attempts: Vec<Value> = preview
        .rows
        .iter()
        .map(|row| {
            json!({
                "attempt": row.attempt,
                "retryCount": row.attempt.saturating_sub(1),
                "delay": spread(row.delay),
                "at": spread(row.at),
            })
        })
        .collect();
    json!({"retry": policy, "attempts": attempts, "givesUp": spread(preview.gives_up)})
}

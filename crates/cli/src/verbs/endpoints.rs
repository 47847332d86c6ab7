//! `steadfast endpoints`: where webhooks and alerts go.

use clap::Subcommand;
use serde::Deserialize;
use serde_json::{Value, json};
use steadfast::Timestamp;

use super::said;
use crate::{
    output::{self, print_line},
    remote::{Remote, part},
    settings::{DurationArg, RetryArg},
    show::{age, now, plain_table, table_lines},
};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  steadfast endpoints create https://example.com/steadfast\n  steadfast endpoints create https://subscriptions.slack.com/… --format slack --events alert.fired,alert.resolved\n  steadfast endpoints rotate end_…"
)]
pub struct Args {
    #[command(flatten)]
    remote: Remote,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// List endpoints, oldest first.
    #[command(after_help = "Example:\n  steadfast endpoints list")]
    List {
        /// For admin keys; others have a tenant of their own.
        #[arg(long)]
        tenant: Option<String>,
    },
    /// Send news of jobs, or alerts, to a URL. The key that signs is shown once.
    #[command(
        after_help = "Examples:\n  steadfast endpoints create https://example.com/steadfast\n  steadfast endpoints create https://example.com/oncall --events alert.fired,alert.resolved"
    )]
    Create(Box<CreateArgs>),
    /// Forget an endpoint; what was on its way there is called off.
    #[command(after_help = "Example:\n  steadfast endpoints delete end_…")]
    Delete { id: String },
    /// Sign with a new key; the old one signs beside it for a while.
    #[command(after_help = "Example:\n  steadfast endpoints rotate end_… --overlap 2d")]
    Rotate {
        id: String,
        /// How long the old key signs beside the new one [default: 24h].
        #[arg(long, value_name = "DURATION")]
        overlap: Option<DurationArg>,
    },
}

#[derive(clap::Args)]
struct CreateArgs {
    /// Where to send them.
    #[arg(value_name = "URL")]
    target: String,
    /// Which events, separated by commas: job.succeeded, job.failed, job.retrying, job.cancelled,
    /// alert.fired, alert.renotified, alert.resolved [default: the first two].
    #[arg(long, value_delimiter = ',')]
    events: Option<Vec<String>>,
    /// standard (Standard Webhooks), or slack for one line of text.
    #[arg(long)]
    format: Option<String>,
    /// For people.
    #[arg(long)]
    description: Option<String>,
    /// When a delivery is tried again: a preset's name, or JSON [default: webhook].
    #[arg(long, value_name = "POLICY")]
    retry: Option<RetryArg>,
    /// For admin keys; others have a tenant of their own.
    #[arg(long)]
    tenant: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EndpointView {
    id: String,
    tenant: String,
    url: String,
    events: Vec<String>,
    format: String,
    live_secrets: u64,
    created_at: Timestamp,
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    let remote = &args.remote;
    match args.verb {
        Verb::List { tenant } => list(
            remote,
            remote.get("/endpoints", &[("tenant", tenant)]).await?,
        ),
        Verb::Create(create) => {
            let answer = remote.post("/endpoints", create.body()).await?;
            with_secret(remote, &answer, "made")
        }
        Verb::Rotate { id, overlap } => {
            let path = format!("/endpoints/{}/rotate", part(&id));
            let overlap = overlap.map(|span| Value::from(span.to_string()));
            let answer = remote.post(&path, said([("overlap", overlap)])).await?;
            with_secret(remote, &answer, "has a new key")
        }
        Verb::Delete { id } => {
            let answer = remote.delete(&format!("/endpoints/{}", part(&id))).await?;
            match remote.json {
                true => Ok(output::print_json(&answer)?),
                false => Ok(print_line!("{id} is gone")?),
            }
        }
    }
}

impl CreateArgs {
    fn body(self) -> Value {
        said([
            ("url", Some(self.target.into())),
            ("events", self.events.map(Value::from)),
            ("format", self.format.map(Value::from)),
            ("description", self.description.map(Value::from)),
            ("retry", self.retry.map(|retry| json!(retry))),
            ("tenant", self.tenant.map(Value::from)),
        ])
    }
}

fn with_secret(remote: &Remote, answer: &Value, what: &str) -> anyhow::Result<()> {
    if remote.json {
        return Ok(output::print_json(answer)?);
    }
    let of = |name: &str| answer[name].as_str().unwrap_or_default();
    print_line!("{} {what}; its key is shown this once:", of("id"))?;
    Ok(print_line!("{}", of("secret"))?)
}

fn list(remote: &Remote, answer: Value) -> anyhow::Result<()> {
    if remote.json {
        return Ok(output::print_json(&answer)?);
    }
    let endpoints: Vec<EndpointView> = serde_json::from_value(answer["endpoints"].clone())?;
    if endpoints.is_empty() {
        return Ok(print_line!("no endpoints")?);
    }
    let now = now();
    let mut table = plain_table(["id", "tenant", "url", "events", "format", "keys", "age"]);
    for endpoint in &endpoints {
        table.add_row(vec![
            endpoint.id.clone(),
            endpoint.tenant.clone(),
            endpoint.url.clone(),
            endpoint.events.join(","),
            endpoint.format.clone(),
            endpoint.live_secrets.to_string(),
            age(endpoint.created_at, now),
        ]);
    }
    Ok(print_line!("{}", table_lines(&table))?)
}

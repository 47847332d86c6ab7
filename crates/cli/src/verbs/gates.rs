//! `steadfast gates`: how much of one thing may run, and how fast it may start.

use std::{error::Error, str::FromStr};

use clap::{Subcommand, builder::NonEmptyStringValueParser};
use serde_json::{Value, json};
use steadfast_api::{GateBody, GateList, TenantQuery};
use steadfast_core::{GatePatch, GateScope, HealthPatch, HoldMode, PausePatch, Rate, Timestamp};

use super::read_json;
use crate::{
    exit::usage,
    numbers::{Number, expected},
    output::{self, print_line},
    server_args::{Server, ServerArgs},
    settings::DurationArg,
    show::{now, plain_table, table_lines},
};

#[derive(clap::Args)]
#[command(
    after_help = "A gate limits the jobs of one queue, kind, tenant, destination, or key (concurrencyKey).\n\nExamples:\n  steadfast gates list\n  steadfast gates set destination https://api.example.com --rate 10/1s --max-running 5\n  steadfast gates set key customer-7 --ordered true\n  steadfast gates set queue mail --pause --reason 'the provider moves' --for 2h\n  steadfast gates delete queue mail"
)]
pub struct Args {
    #[command(flatten)]
    server: ServerArgs,
    /// Only for jobs of this tenant; for keys that see all tenants.
    #[arg(long, global = true)]
    tenant: Option<String>,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// List gates with their limits and their present use.
    #[command(after_help = "Example:\n  steadfast gates list")]
    List,
    /// Show a gate.
    #[command(after_help = "Example:\n  steadfast gates show queue mail")]
    Show(GateArgs),
    /// Set or change limits of a gate; those that are not named stay. It holds within two seconds.
    #[command(
        after_help = "Examples:\n  steadfast gates set destination https://api.example.com --rate 10/1s --max-running 5\n  steadfast gates set destination https://api.example.com --rate none\n  steadfast gates set tenant acme --max-running 100 --weight 3\n  steadfast gates set queue mail --resume"
    )]
    Set(Box<SetArgs>),
    /// Delete a gate: what it held back may start.
    #[command(after_help = "Example:\n  steadfast gates delete queue mail")]
    Delete {
        #[command(flatten)]
        gate: GateArgs,
        /// Earlier versions asked without it.
        #[arg(long, short, hide = true)]
        yes: bool,
    },
}

#[derive(clap::Args)]
struct GateArgs {
    /// queue, kind, tenant, destination or key.
    #[arg(value_name = "SCOPE")]
    scope: GateScope,
    /// The queue, kind, tenant, destination (as https://api.example.com) or concurrency key.
    #[arg(value_name = "KEY", value_parser = NonEmptyStringValueParser::new())]
    key: String,
}

#[derive(clap::Args)]
struct SetArgs {
    #[command(flatten)]
    gate: GateArgs,
    /// Attempts at once, or none for no limit.
    #[arg(long, value_name = "N")]
    max_running: Option<Limit<i64>>,
    /// Starts in a time, as 10/1s, 100/1m or with a burst 10/1s+5; or none.
    #[arg(long, value_name = "RATE")]
    rate: Option<Limit<Rate>>,
    /// One at a time, in the order of creation: true or false. Only for scope key.
    #[arg(long, value_name = "BOOL")]
    ordered: Option<bool>,
    /// Which part of the starts in a minute may be retries, as 0.2; or none.
    #[arg(long, value_name = "PART")]
    retry_share: Option<Limit<Number>>,
    /// What the tenant counts for beside others, or none. Only for scope tenant.
    #[arg(long, value_name = "N")]
    weight: Option<Limit<i64>>,
    /// What follows if a destination is found unhealthy: watch, auto or off; or none.
    #[arg(long, value_name = "MODE")]
    hold: Option<Limit<HoldMode>>,
    /// Whether a Retry-After counts for all jobs of the destination: true or false.
    #[arg(long, value_name = "BOOL")]
    share_retry_after: Option<bool>,
    /// When a destination counts as unhealthy, as JSON: {"minAttempts": 20, "failedShare": 0.8}; or
    /// none.
    #[arg(long, value_name = "JSON")]
    health: Option<String>,
    /// Close it: its jobs wait.
    #[arg(long, conflicts_with = "resume")]
    pause: bool,
    /// Why, for people.
    #[arg(long, requires = "pause", value_name = "TEXT")]
    reason: Option<String>,
    /// Open it again at this time, as 2026-12-24T18:00:00Z.
    #[arg(
        long,
        requires = "pause",
        conflicts_with = "duration",
        value_name = "TIME"
    )]
    until: Option<Timestamp>,
    /// Open it again after this long.
    #[arg(long = "for", requires = "pause", value_name = "DURATION")]
    duration: Option<DurationArg>,
    /// Open it.
    #[arg(long)]
    resume: bool,
    /// Remove limits that are not named here.
    #[arg(long)]
    replace: bool,
}

/// A value, or `none`.
#[derive(Clone)]
pub(super) struct Limit<T>(pub Option<T>);

impl<T: FromStr<Err: Error + 'static>> FromStr for Limit<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self(None)),
            _ => {
                let value = text.parse().map_err(|error: T::Err| {
                    let sentence =
                        expected(&error).map_or_else(|| error.to_string(), str::to_owned);
                    format!("{sentence}, or none")
                })?;
                Ok(Self(Some(value)))
            }
        }
    }
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    let server = args.server.connect()?;
    let client = &server.client;
    let query = TenantQuery {
        tenant: args.tenant,
    };
    match args.verb {
        Verb::List => {
            let list = server
                .fetch_all(query.tenant.as_ref(), |query| client.list_gates(query))
                .await?;
            match server.json {
                true => output::print_json(&list),
                false => print_list(&list),
            }
        }
        Verb::Show(gate) => {
            let request = client.get_gate(gate.scope, &gate.key, &query);
            print_answer(&server, server.call(request).await?)
        }
        Verb::Set(set) => {
            let patch = set.patch()?;
            let GateArgs { scope, key } = &set.gate;
            let request = match set.replace {
                true => client.set_gate(*scope, key, &query, &patch),
                false => client.edit_gate(*scope, key, &query, &patch),
            };
            print_answer(&server, server.call(request).await?)
        }
        Verb::Delete { gate, yes: _ } => {
            let GateArgs { scope, key } = &gate;
            let request = client.delete_gate(*scope, key, &query);
            if server.call(request).await?.is_some() {
                print_line!("gate for {scope} {key} deleted")?;
            }
            Ok(())
        }
    }
}

impl SetArgs {
    fn patch(&self) -> anyhow::Result<GatePatch> {
        let health = self.health.as_deref().map(health_patch).transpose()?;
        let until = self.until.or_else(|| {
            let duration = self.duration.as_ref();
            duration.map(|duration| now().plus(duration.0))
        });
        let paused = match (self.pause, self.resume) {
            (true, _) => Some(PausePatch::Pause {
                reason: self.reason.clone(),
                until,
            }),
            (false, true) => Some(PausePatch::Resume),
            (false, false) => None,
        };
        let patch = GatePatch {
            max_running: self.max_running.as_ref().map(|limit| limit.0),
            rate: self.rate.as_ref().map(|limit| limit.0.map(Into::into)),
            ordered: self.ordered.map(Some),
            retry_share: self
                .retry_share
                .as_ref()
                .map(|limit| limit.0.map(|part| part.0)),
            paused: paused.map(Some),
            weight: self.weight.as_ref().map(|limit| limit.0),
            hold: self.hold.as_ref().map(|limit| limit.0),
            share_retry_after: self.share_retry_after.map(Some),
            health: health.flatten(),
        };
        match patch == GatePatch::default() {
            true => Err(usage("name a limit to set, such as --max-running 5")),
            false => Ok(patch),
        }
    }
}

/// When a destination counts as unhealthy, as JSON or `none`.
pub(super) fn health_patch(text: &str) -> anyhow::Result<Option<Option<HealthPatch>>> {
    let health: Value = match text {
        "none" => Value::Null,
        _ => read_json(text, "--health")?,
    };
    // Read as part of a gate, where no unknown field is passed over.
    let gate: GatePatch = serde_json::from_value(json!({ "health": health }))
        .map_err(|error| usage(format!("--health cannot be used: {error}")))?;
    Ok(gate.health)
}

/// What a gate is for, in two words or five.
fn title(body: &GateBody) -> String {
    body.gate.id.to_string()
}

fn print_answer(server: &Server, gate: Option<GateBody>) -> anyhow::Result<()> {
    let Some(body) = gate else {
        return Ok(());
    };
    debug_assert!(!server.json, "it is printed already");
    let (limits, now) = (&body.gate.limits, now());
    print_line!("{}", title(&body))?;
    let described = limits.describe();
    match (described.is_empty(), &limits.paused) {
        (true, None) => print_line!("  no limits are left, so there is no gate any more")?,
        (true, Some(_)) => {}
        (false, _) => print_line!("  {described}")?,
    }
    if let Some(pause) = &limits.paused {
        print_line!("  {}", pause.describe(now))?;
    }
    let used = body.describe_use(now);
    if !used.is_empty() {
        print_line!("  {used}")?;
    }
    Ok(())
}

fn print_list(list: &GateList) -> anyhow::Result<()> {
    if list.gates.is_empty() {
        return Ok(print_line!(
            "no gates: nothing is limited; set one with `steadfast gates set`"
        )?);
    }
    let now = now();
    let mut table = plain_table(["scope", "key", "tenant", "limits", "now"]);
    for body in &list.gates {
        let (id, limits) = (&body.gate.id, &body.gate.limits);
        let mut parts = vec![limits.describe()];
        parts.extend(limits.paused.as_ref().map(|pause| pause.describe(now)));
        parts.retain(|part| !part.is_empty());
        table.add_row(vec![
            id.scope.to_string(),
            id.key.clone(),
            match (&id.tenant, id.scope) {
                (Some(tenant), _) => tenant.to_string(),
                (None, GateScope::Tenant) => String::new(),
                (None, _) => "(all)".to_owned(),
            },
            parts.join("; "),
            body.describe_use(now),
        ]);
    }
    Ok(print_line!("{}", table_lines(&table))?)
}

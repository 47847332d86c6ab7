//! `steadfast gates`: concurrency and rate limits.

use std::{error::Error, str::FromStr};

use clap::{Subcommand, builder::NonEmptyStringValueParser};
use serde_json::{Value, json};
use steadfast_api::{GateBody, GateList, TenantQuery};
use steadfast_core::{
    GatePatch, GateScope, HealthPatch, HoldMode, Invalid, PaceMode, PausePatch, Rate, Timestamp,
    UnitRate,
};

use super::read_json;
use crate::{
    exit::usage,
    numbers::{Number, expected},
    output::print_line,
    page::print_rows,
    server_args::{ConfirmArgs, Server, ServerArgs},
    settings::DurationArg,
    show::now,
};

#[derive(clap::Args)]
#[command(
    after_help = "A gate limits the jobs of one queue, kind, tenant, destination, or key (concurrencyKey).\n\nExamples:\n  steadfast gates list\n  steadfast gates set destination https://api.example.com --rate 10/1s --max-running 5\n  steadfast gates set key customer-7 --ordered true\n  steadfast gates set queue mail --pause --reason 'provider maintenance' --for 2h\n  steadfast gates delete queue mail"
)]
pub struct Args {
    #[command(flatten)]
    server: ServerArgs,
    /// Only for jobs of this tenant; requires a key for all tenants.
    #[arg(long, global = true)]
    tenant: Option<String>,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// List gates with their limits and current use.
    #[command(after_help = "Example:\n  steadfast gates list")]
    List,
    /// Show a gate.
    #[command(after_help = "Example:\n  steadfast gates show queue mail")]
    Show(GateArgs),
    /// Set limits of a gate; other limits stay unchanged. Takes effect within two seconds.
    #[command(
        after_help = "Examples:\n  steadfast gates set destination https://api.example.com --rate 10/1s --max-running 5\n  steadfast gates set destination https://api.example.com --rate none\n  steadfast gates set destination https://api.example.com --rates '100000 tokens/1m, 500/1h'\n  steadfast gates set tenant acme --max-running 100 --weight 3\n  steadfast gates set queue mail --max-waiting 100000\n  steadfast gates set queue mail --resume"
    )]
    Set(Box<SetArgs>),
    /// Delete a gate; the jobs it held back may start.
    #[command(after_help = "Example:\n  steadfast gates delete queue mail")]
    Delete {
        #[command(flatten)]
        gate: GateArgs,
        #[command(flatten)]
        confirm: ConfirmArgs,
    },
}

#[derive(clap::Args)]
struct GateArgs {
    /// queue, kind, tenant, destination or key.
    #[arg(value_name = "SCOPE")]
    scope: GateScope,
    /// Name of the queue, kind or tenant, destination (e.g. https://api.example.com), or concurrency
    /// key.
    #[arg(value_name = "KEY", value_parser = NonEmptyStringValueParser::new())]
    key: String,
}

#[derive(clap::Args)]
struct SetArgs {
    #[command(flatten)]
    gate: GateArgs,
    /// Maximum number of concurrent attempts, or none for no limit.
    #[arg(long, value_name = "N")]
    max_running: Option<Limit<i64>>,
    /// Maximum number of waiting jobs, or none for no limit: more are refused when they are created.
    /// Only for scopes queue and tenant.
    #[arg(long, value_name = "N")]
    max_waiting: Option<Limit<i64>>,
    /// Rate limit for starts, e.g. 10/1s, 100/1m, or 10/1s+5 with a burst; or none.
    #[arg(long, value_name = "RATE")]
    rate: Option<Limit<Rate>>,
    /// Rates in units that jobs cost, separated by commas, e.g. '100000 tokens/1m, 500/1h' (of starts,
    /// without a unit); or none.
    #[arg(long, value_name = "RATES")]
    rates: Option<Limit<Rates>>,
    /// Run jobs one at a time in creation order: true or false. Only for scope key.
    #[arg(long, value_name = "BOOL")]
    ordered: Option<bool>,
    /// Maximum fraction of starts per minute that may be retries, e.g. 0.2; or none.
    #[arg(long, value_name = "PART")]
    retry_share: Option<Limit<Number>>,
    /// Fair-share weight of the tenant, or none. Only for scope tenant.
    #[arg(long, value_name = "N")]
    weight: Option<Limit<i64>>,
    /// What to do when the destination is unhealthy: watch, auto or off; or none for the default.
    #[arg(long, value_name = "MODE")]
    hold: Option<Limit<HoldMode>>,
    /// Whether a Retry-After applies to all tenants (true) or only to the job that received it
    /// (false).
    #[arg(long, value_name = "BOOL")]
    share_retry_after: Option<bool>,
    /// Whether to find the number of calls at once to the destination from its answers: learn or
    /// off; or none for the default. Only for scope destination.
    #[arg(long, value_name = "MODE")]
    pace: Option<Limit<PaceMode>>,
    /// Thresholds for an unhealthy destination, as JSON: {"minAttempts": 20, "failedShare": 0.8};
    /// or none for the defaults.
    #[arg(long, value_name = "JSON")]
    health: Option<String>,
    /// Pause the gate: its jobs wait.
    #[arg(long, conflicts_with = "resume")]
    pause: bool,
    /// Reason shown to other people.
    #[arg(long, requires = "pause", value_name = "TEXT")]
    reason: Option<String>,
    /// Resume at this time, e.g. 2026-12-24T18:00:00Z.
    #[arg(
        long,
        requires = "pause",
        conflicts_with = "duration",
        value_name = "TIME"
    )]
    until: Option<Timestamp>,
    /// Resume after this duration.
    #[arg(long = "for", requires = "pause", value_name = "DURATION")]
    duration: Option<DurationArg>,
    /// Resume the gate.
    #[arg(long)]
    resume: bool,
    /// Remove all limits not given here.
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

/// Rates in one text.
#[derive(Clone)]
struct Rates(Vec<UnitRate>);

impl FromStr for Rates {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        UnitRate::read_all(text).map(Self)
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
            server.print(&list, print_list)
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
        Verb::Delete { gate, confirm } => {
            let GateArgs { scope, key } = &gate;
            let question = format!("delete the gate for {scope} {key}?");
            server.confirm_in_production(&question, confirm.yes)?;
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
            max_waiting: self.max_waiting.as_ref().map(|limit| limit.0),
            rate: self.rate.as_ref().map(|limit| limit.0.map(Into::into)),
            rates: self.rates.as_ref().map(|limit| {
                let rates = limit.0.as_ref()?.0.iter();
                Some(rates.copied().map(Into::into).collect())
            }),
            ordered: self.ordered.map(Some),
            retry_share: self
                .retry_share
                .as_ref()
                .map(|limit| limit.0.map(|part| part.0)),
            paused: paused.map(Some),
            weight: self.weight.as_ref().map(|limit| limit.0),
            hold: self.hold.as_ref().map(|limit| limit.0),
            share_retry_after: self.share_retry_after.map(Some),
            pace: self.pace.as_ref().map(|pace| pace.0),
            health: health.flatten(),
        };
        match patch == GatePatch::default() {
            true => Err(usage(
                "nothing to set: pass a limit, such as --max-running 5",
            )),
            false => Ok(patch),
        }
    }
}

/// The thresholds of an unhealthy destination, as JSON or `none`.
pub(super) fn health_patch(text: &str) -> anyhow::Result<Option<Option<HealthPatch>>> {
    let health: Value = match text {
        "none" => Value::Null,
        _ => read_json(text, "--health")?,
    };
    // Parsed as part of a gate, which rejects unknown fields.
    let gate: GatePatch = serde_json::from_value(json!({ "health": health }))
        .map_err(|error| usage(format!("--health is invalid: {error}")))?;
    Ok(gate.health)
}

/// The scope and key of a gate.
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
        (true, None) => print_line!("  no limits left; gate deleted")?,
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
    let now = now();
    print_rows(
        &list.gates,
        "no gates; set one with `steadfast gates set`",
        ["scope", "key", "tenant", "limits", "now"],
        None,
        |body| {
            let (id, limits) = (&body.gate.id, &body.gate.limits);
            let mut parts = vec![limits.describe()];
            parts.extend(limits.paused.as_ref().map(|pause| pause.describe(now)));
            parts.retain(|part| !part.is_empty());
            [
                id.scope.to_string(),
                id.key.clone(),
                match (&id.tenant, id.scope) {
                    (Some(tenant), _) => tenant.to_string(),
                    (None, GateScope::Tenant) => String::new(),
                    (None, _) => "(all)".to_owned(),
                },
                parts.join("; "),
                body.describe_use(now),
            ]
        },
    )
}

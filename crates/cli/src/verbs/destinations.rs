//! `steadfast destinations`: how the systems that jobs call are doing.

use clap::Subcommand;
use steadfast_api::{
    DestinationBody, DestinationList, DestinationQuery, HoldDestinationRequest, IncidentBody,
    TenantQuery,
};
use steadfast_core::{GatePatch, HealthStatus, HoldMode, PaceMode, Timestamp};

use super::gates::{Limit, health_patch};
use crate::{
    exit::usage,
    output::print_line,
    page::print_rows,
    server_args::ServerArgs,
    settings::DurationArg,
    show::{age, brief, moment, now, relative, status_cell},
};

#[derive(clap::Args)]
#[command(
    after_help = "A destination is the origin of a URL, e.g. https://api.example.com.\n\nExamples:\n  steadfast destinations list\n  steadfast destinations show https://api.example.com\n  steadfast destinations hold https://api.example.com --reason 'they asked us to stop' --for 1h\n  steadfast destinations release https://api.example.com\n  steadfast destinations set https://api.example.com --hold auto"
)]
pub struct Args {
    #[command(flatten)]
    server: ServerArgs,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// List destinations that failed recently or are held.
    #[command(after_help = "Example:\n  steadfast destinations list --status held")]
    List {
        /// Only destinations with this status: healthy, held, probing or ramping.
        #[arg(long)]
        status: Option<HealthStatus>,
        /// Only destinations where this tenant's attempts failed; requires a key for all tenants.
        #[arg(long)]
        tenant: Option<String>,
    },
    /// Show a destination with its health, incidents and settings.
    #[command(after_help = "Example:\n  steadfast destinations show https://api.example.com")]
    Show {
        /// Origin of the destination.
        origin: String,
        /// Show the settings of this tenant; requires a key for all tenants.
        #[arg(long)]
        tenant: Option<String>,
    },
    /// Hold a destination: start no jobs for it until it is released.
    #[command(
        after_help = "Example:\n  steadfast destinations hold https://api.example.com --reason 'they asked us to stop'"
    )]
    Hold {
        /// Origin of the destination.
        origin: String,
        /// Reason shown to other people.
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        /// Release at this time, e.g. 2026-12-24T18:00:00Z.
        #[arg(long, value_name = "TIME", conflicts_with = "duration")]
        until: Option<Timestamp>,
        /// Release after this duration.
        #[arg(long = "for", value_name = "DURATION")]
        duration: Option<DurationArg>,
    },
    /// Release a held destination, so that its jobs may start.
    #[command(after_help = "Example:\n  steadfast destinations release https://api.example.com")]
    Release {
        /// Origin of the destination.
        origin: String,
    },
    /// Set what to do when a destination is unhealthy. Other settings stay unchanged.
    #[command(
        after_help = "Example:\n  steadfast destinations set https://api.example.com --hold auto --health '{\"maxHold\": \"2h\"}'"
    )]
    Set(SetArgs),
}

#[derive(clap::Args)]
struct SetArgs {
    /// Origin of the destination.
    origin: String,
    /// What to do when the destination is unhealthy: watch, auto or off; or none for the default.
    #[arg(long, value_name = "MODE")]
    hold: Option<Limit<HoldMode>>,
    /// Whether a Retry-After applies to all tenants (true) or only to the job that received it
    /// (false); or none for the default.
    #[arg(long, value_name = "BOOL")]
    share_retry_after: Option<Limit<bool>>,
    /// Whether to find the number of calls at once from answers: learn or off; or none for the
    /// default.
    #[arg(long, value_name = "MODE")]
    pace: Option<Limit<PaceMode>>,
    /// Thresholds for an unhealthy destination, as JSON: {"minAttempts": 20, "failedShare": 0.8};
    /// or none for the defaults.
    #[arg(long, value_name = "JSON")]
    health: Option<String>,
    /// Only for jobs of this tenant; requires a key for all tenants.
    #[arg(long)]
    tenant: Option<String>,
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    let server = args.server.connect()?;
    let client = &server.client;
    let request = match args.verb {
        Verb::List { status, tenant } => {
            let page = |after| DestinationQuery {
                tenant: tenant.clone(),
                status,
                after,
                ..DestinationQuery::default()
            };
            let list = server
                .fetch_pages(|after| client.list_destinations(&page(after)))
                .await?;
            return server.print(&list, print_list);
        }
        Verb::Show { origin, tenant } => client.get_destination(&origin, &TenantQuery { tenant }),
        Verb::Hold {
            origin,
            reason,
            until,
            duration,
        } => {
            let until = until.or_else(|| duration.map(|duration| now().plus(duration.0)));
            client.hold_destination(&origin, &HoldDestinationRequest { reason, until })
        }
        Verb::Release { origin } => client.release_destination(&origin),
        Verb::Set(set) => {
            let query = TenantQuery {
                tenant: set.tenant.clone(),
            };
            client.edit_destination(&set.origin, &query, &set.changes()?)
        }
    };
    server.show(request, print_destination).await
}

impl SetArgs {
    fn changes(&self) -> anyhow::Result<GatePatch> {
        let health = self.health.as_deref().map(health_patch).transpose()?;
        let changes = GatePatch {
            hold: self.hold.as_ref().map(|hold| hold.0),
            share_retry_after: self.share_retry_after.as_ref().map(|share| share.0),
            pace: self.pace.as_ref().map(|pace| pace.0),
            health: health.flatten(),
            ..GatePatch::default()
        };
        match changes == GatePatch::default() {
            true => Err(usage(
                "nothing to change: pass a setting, such as --hold auto",
            )),
            false => Ok(changes),
        }
    }
}

fn print_list(list: &DestinationList) -> anyhow::Result<()> {
    let now = now();
    print_rows(
        &list.destinations,
        "no destination has failed recently, and none is held",
        [
            "destination",
            "tenant",
            "status",
            "hold",
            "recently",
            "since",
            "cause",
        ],
        None,
        |destination| {
            let incident = destination.incident.as_ref();
            vec![
                destination.destination.as_str().into(),
                destination.tenant.as_deref().unwrap_or("all").into(),
                status_cell(destination.describe_status()),
                destination.hold.as_str().into(),
                recent(destination).into(),
                incident
                    .map_or(String::new(), |incident| age(incident.began_at, now))
                    .into(),
                incident
                    .map_or("", |incident| incident.cause.as_str())
                    .into(),
            ]
        },
    )
}

/// Recent attempts and failures.
fn recent(destination: &DestinationBody) -> String {
    match destination.attempts {
        0 => String::new(),
        attempts => format!("{} of {attempts} failed", destination.failed),
    }
}

fn print_destination(body: &DestinationBody) -> anyhow::Result<()> {
    let now = now();
    let consequence = body.describe_consequence();
    let consequence = consequence.map_or(String::new(), |text| format!("; {text}"));
    print_line!(
        "{}: {}{consequence}",
        body.destination,
        body.describe_status()
    )?;
    let applies = body.retry_after_scope.describe();
    print_line!("  hold {}; a Retry-After {applies}", body.hold)?;
    if let Some(tenant) = &body.tenant {
        print_line!("  these settings apply to tenant {tenant} only")?;
    }
    let recent = recent(body);
    if !recent.is_empty() {
        print_line!("  recent attempts: {recent}")?;
    }
    if let Some(hold) = &body.held_by_hand {
        print_line!("  {}", hold.describe(now))?;
    }
    if let Some(retry_after) = &body.retry_after {
        let until = moment(retry_after.until, now);
        let header = match retry_after.header.as_str() {
            "" | "Retry-After" => String::new(),
            header => format!(" with {header}"),
        };
        let status = retry_after.status;
        print_line!("  {status}{header} received: jobs wait until {until}")?;
    }
    if body.pace == PaceMode::Learn && body.learned.is_empty() {
        print_line!("  pace is learned; no calls yet")?;
    }
    for learned in &body.learned {
        let tenant = learned.tenant.as_ref();
        let tenant = tenant.map_or(String::new(), |tenant| format!(" for tenant {tenant}"));
        print_line!("  pace{tenant}: {}", learned.sentence)?;
    }
    if let Some(quota) = &body.quota {
        print_line!("  it says that {}", quota.sentence)?;
    }
    if let Some(probe) = body.next_probe_at {
        print_line!("  next probe {}", relative(probe, now))?;
    }
    let incidents = body.incident.iter().chain(&body.past_incidents);
    for incident in incidents {
        print_incident(incident, now)?;
    }
    Ok(())
}

fn print_incident(incident: &IncidentBody, now: Timestamp) -> anyhow::Result<()> {
    let lasted = incident.ended_at.unwrap_or(now).since(incident.began_at);
    let state = match incident.ended_at {
        Some(_) => format!("for {}", brief(lasted)),
        None => format!("for {} so far", brief(lasted)),
    };
    print_line!(
        "  incident of {} {state}: {}",
        incident.began_at,
        incident.cause
    )?;
    print_line!("    {}", incident.describe_cost())?;
    if let Some(by) = &incident.released_by {
        print_line!("    released by {by}")?;
    }
    Ok(())
}

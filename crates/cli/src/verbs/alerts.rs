//! `steadfast alerts`: what is wrong now, and what was.

use std::time::Duration;

use steadfast_api::{AcknowledgeAlertsRequest, AlertList, SilenceAlertsRequest};
use steadfast_core::{AlertRule, AlertState, AlertStatus, AlertSubject};

use crate::{
    exit::ExitError,
    output::print_line,
    server_args::{Server, ServerArgs},
    settings::DurationArg,
    show::{now, plain_table, relative, stacked_lines, status_cell},
};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  steadfast alerts\n  steadfast alerts --firing --json\n  steadfast alerts acknowledge dlq --tenant acme\n  steadfast alerts silence destination --destination https://api.example.com --for 2h"
)]
pub struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    server: ServerArgs,
    /// Only this tenant; requires a key for all tenants.
    #[arg(long, global = true)]
    tenant: Option<String>,
    /// Only firing alerts; exits with 1 if there are any.
    #[arg(long)]
    firing: bool,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// Accepted because other commands have a verb `list`.
    #[command(hide = true)]
    List,
    /// Acknowledge firing alerts: no reminders until they fire again.
    #[command(after_help = "Example:\n  steadfast alerts acknowledge dlq --tenant acme")]
    Acknowledge {
        #[command(flatten)]
        selection: Selection,
    },
    /// Silence alerts: no notifications for a while.
    #[command(after_help = "Example:\n  steadfast alerts silence dlq --for 2h")]
    Silence {
        #[command(flatten)]
        selection: Selection,
        /// Length of the silence, at most a week.
        #[arg(long = "for", value_name = "DURATION", default_value = "1h")]
        duration: DurationArg,
    },
    /// End a silence.
    #[command(after_help = "Example:\n  steadfast alerts unsilence dlq")]
    Unsilence {
        #[command(flatten)]
        selection: Selection,
    },
}

#[derive(clap::Args)]
struct Selection {
    /// Rule of the alerts, such as dlq.
    rule: AlertRule,
    /// Only alerts about jobs, deliveries or notifications.
    #[arg(long)]
    subject: Option<AlertSubject>,
    /// Only the alert of this destination.
    #[arg(long, value_name = "ORIGIN")]
    destination: Option<String>,
}

impl Selection {
    fn silence(self, tenant: Option<String>, duration: Duration) -> SilenceAlertsRequest {
        SilenceAlertsRequest {
            rule: self.rule,
            tenant,
            subject: self.subject,
            destination: self.destination,
            until: now().plus(duration),
        }
    }
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    let server = args.server.connect()?;
    let (client, tenant) = (&server.client, args.tenant);
    match args.verb {
        Some(Verb::Acknowledge { selection }) => {
            let request = AcknowledgeAlertsRequest {
                rule: selection.rule,
                tenant,
                subject: selection.subject,
                destination: selection.destination,
            };
            print_answer(&server, client.acknowledge_alerts(&request)).await
        }
        Some(Verb::Silence {
            selection,
            duration,
        }) => {
            let request = selection.silence(tenant, duration.0);
            print_answer(&server, client.silence_alerts(&request)).await
        }
        Some(Verb::Unsilence { selection }) => {
            let request = selection.silence(tenant, Duration::ZERO);
            print_answer(&server, client.silence_alerts(&request)).await
        }
        None | Some(Verb::List) => list(&server, tenant, args.firing).await,
    }
}

async fn print_answer(
    server: &Server,
    request: steadfast_client::Request<AlertList>,
) -> anyhow::Result<()> {
    match server.call(request).await? {
        Some(list) => print_list(&list),
        None => Ok(()),
    }
}

async fn list(server: &Server, tenant: Option<String>, firing: bool) -> anyhow::Result<()> {
    let mut list = server
        .fetch_all(tenant.as_ref(), |query| server.client.list_alerts(query))
        .await?;
    if firing {
        list.alerts
            .retain(|alert| alert.status == AlertStatus::Firing);
    }
    server.print(&list, print_list)?;
    if firing && !list.alerts.is_empty() {
        return Err(ExitError::Reported.into());
    }
    Ok(())
}

fn print_list(list: &AlertList) -> anyhow::Result<()> {
    let now = now();
    let header = ["status", "rule", "tenant", "subject", "since", "message"];
    if list.alerts.is_empty() {
        return Ok(print_line!("no alerts")?);
    }
    let mut table = plain_table(header);
    for alert in &list.alerts {
        table.add_row(vec![
            status_cell(alert.status.as_str()),
            alert.rule.as_str().into(),
            alert.tenant.as_str().into(),
            alert.subject.as_str().into(),
            relative(alert.since, now).into(),
            message(alert).into(),
        ]);
    }
    Ok(print_line!("{}", stacked_lines(table, [5]))?)
}

/// What is wrong, and whether a person works on it.
fn message(alert: &AlertState) -> String {
    let mut text = alert.message.clone();
    if let Some(acknowledged) = &alert.acknowledged {
        let by = acknowledged.by.as_ref();
        let by = by.map_or(String::new(), |by| format!(" by {by}"));
        text.push_str(&format!(" (acknowledged{by})"));
    }
    if let Some(until) = alert.silenced_until.filter(|_| alert.is_silenced(now())) {
        text.push_str(&format!(" (silenced until {until})"));
    }
    text
}

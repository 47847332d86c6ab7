//! `steadfast alerts`: what is wrong at the moment, and what was.

use serde::Deserialize;
use steadfast::Timestamp;

use crate::{
    output::{self, print_line},
    remote::Remote,
    show::{now, plain_table, relative, status_cell, table_lines},
};

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  steadfast alerts\n  steadfast alerts --firing --json")]
pub struct Args {
    #[command(flatten)]
    remote: Remote,
    /// For admin keys; others have a tenant of their own.
    #[arg(long)]
    tenant: Option<String>,
    /// Only those that fire; ends with 1 if any does.
    #[arg(long)]
    firing: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AlertView {
    rule: String,
    tenant: String,
    subject: String,
    status: String,
    since: Timestamp,
    message: String,
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    let mut answer = args
        .remote
        .get("/alerts", &[("tenant", args.tenant)])
        .await?;
    if let Some(alerts) = answer["alerts"].as_array_mut().filter(|_| args.firing) {
        alerts.retain(|alert| alert["status"] == "firing");
    }
    let alerts: Vec<AlertView> = serde_json::from_value(answer["alerts"].clone())?;
    if args.remote.json {
        output::print_json(&answer)?;
    } else if alerts.is_empty() {
        print_line!("no alerts")?;
    } else {
        let now = now();
        let mut table = plain_table(["status", "rule", "tenant", "subject", "since", "message"]);
        for alert in &alerts {
            table.add_row(vec![
                status_cell(&alert.status),
                alert.rule.as_str().into(),
                alert.tenant.as_str().into(),
                alert.subject.as_str().into(),
                relative(alert.since, now).into(),
                alert.message.as_str().into(),
            ]);
        }
        print_line!("{}", table_lines(&table))?;
    }
    match args.firing && !alerts.is_empty() {
        true => Err(crate::exit::ExitError::Reported.into()),
        false => Ok(()),
    }
}

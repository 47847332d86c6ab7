//! `steadfast alerts`: what is wrong now, and what was.

use steadfast_api::AlertList;
use steadfast_core::AlertStatus;

use crate::{
    exit::ExitError,
    page::print_rows,
    server_args::ServerArgs,
    show::{now, relative, status_cell},
};

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  steadfast alerts\n  steadfast alerts --firing --json")]
pub struct Args {
    /// Accepted because other commands have a verb `list`.
    #[arg(hide = true, value_parser = ["list"])]
    _verb: Option<String>,
    #[command(flatten)]
    server: ServerArgs,
    /// Only this tenant; requires a key for all tenants.
    #[arg(long)]
    tenant: Option<String>,
    /// Only firing alerts; exits with 1 if there are any.
    #[arg(long)]
    firing: bool,
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    let server = args.server.connect()?;
    let mut list = server
        .fetch_all(args.tenant.as_ref(), |query| {
            server.client.list_alerts(query)
        })
        .await?;
    if args.firing {
        list.alerts
            .retain(|alert| alert.status == AlertStatus::Firing);
    }
    server.print(&list, print_list)?;
    if args.firing && !list.alerts.is_empty() {
        return Err(ExitError::Reported.into());
    }
    Ok(())
}

fn print_list(list: &AlertList) -> anyhow::Result<()> {
    let now = now();
    let header = ["status", "rule", "tenant", "subject", "since", "message"];
    print_rows(&list.alerts, "no alerts", header, None, |alert| {
        vec![
            status_cell(alert.status.as_str()),
            alert.rule.as_str().into(),
            alert.tenant.as_str().into(),
            alert.subject.as_str().into(),
            relative(alert.since, now).into(),
            alert.message.as_str().into(),
        ]
    })
}

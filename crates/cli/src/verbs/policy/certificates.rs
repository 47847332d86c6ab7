//! `steadfast policy certificates`: those that are computed again every hour.

use clap::Subcommand;
use steadfast_api::{KeptCertificateBody, KeptCertificateList, TenantQuery};

use crate::{
    output::print_line,
    page::print_rows,
    server_args::{ConfirmArgs, ServerArgs},
    show::{age, now},
};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  steadfast policy certificates list\n  steadfast policy certificates delete payments"
)]
pub struct CertificatesArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// Tenant of the certificates; requires a key for all tenants.
    #[arg(long, global = true)]
    tenant: Option<String>,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// List kept certificates.
    #[command(after_help = "Example:\n  steadfast policy certificates list")]
    List,
    /// Delete a kept certificate. It is no longer computed, and alert `fragile` no longer counts it.
    #[command(after_help = "Example:\n  steadfast policy certificates delete payments")]
    Delete {
        /// Name of the certificate.
        name: String,
        #[command(flatten)]
        confirm: ConfirmArgs,
    },
}

pub async fn run(args: CertificatesArgs) -> anyhow::Result<()> {
    let server = args.server.connect()?;
    match args.verb {
        Verb::List => {
            let tenant = args.tenant.as_ref();
            let list = server.fetch_all(tenant, |page| server.client.list_certificates(page));
            server.print(&list.await?, print_list)?;
        }
        Verb::Delete { name, confirm } => {
            server.confirm_in_production(&format!("delete certificate {name}?"), confirm.yes)?;
            let query = TenantQuery {
                tenant: args.tenant,
            };
            let deleted = server.call(server.client.delete_certificate(&name, &query));
            if deleted.await?.is_some() {
                print_line!("certificate {name} deleted")?;
            }
        }
    }
    Ok(())
}

fn print_list(list: &KeptCertificateList) -> anyhow::Result<()> {
    let now = now();
    print_rows(
        &list.certificates,
        "no kept certificates",
        ["name", "tenant", "destination", "computed", "result"],
        None,
        |kept| {
            vec![
                kept.name.to_string(),
                kept.tenant.to_string(),
                kept.settings.destination.clone().unwrap_or_default(),
                format!("{} ago", age(kept.computed_at, now)),
                result(kept),
            ]
        },
    )
}

/// The result, and why there is no newer one.
fn result(kept: &KeptCertificateBody) -> String {
    let summary = &kept.certificate.summary;
    match &kept.problem {
        Some(problem) => format!("{summary}; cannot be computed again: {problem}"),
        None => summary.clone(),
    }
}

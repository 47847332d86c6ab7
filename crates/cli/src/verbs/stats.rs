//! `steadfast stats`: counts and rates.

use steadfast_api::TenantPageQuery;

use crate::{
    output::{self, print_line},
    server_args::ServerArgs,
    show::thousands,
};

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  steadfast stats\n  steadfast stats --json")]
pub struct Args {
    #[command(flatten)]
    server: ServerArgs,
    /// Only this tenant; requires a key for all tenants.
    #[arg(long)]
    tenant: Option<String>,
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    let server = args.server.connect()?;
    if server.json {
        let tenant = args.tenant.as_ref();
        let stats = server.fetch_all(tenant, |page| server.client.get_stats(page));
        return output::print_json(&stats.await?);
    }
    let query = TenantPageQuery {
        tenant: args.tenant,
        ..TenantPageQuery::default()
    };
    let stats = server.fetch(server.client.get_stats(&query)).await?;
    let counts = &stats.counts;
    let sections: [(&str, &[(&str, u64)]); 4] = [
        (
            "Jobs now",
            &[
                ("ready", counts.ready),
                ("running", counts.running),
                ("retrying", counts.retrying),
                ("scheduled", counts.scheduled),
            ],
        ),
        (
            "Ended jobs, within retention",
            &[
                ("succeeded", counts.succeeded),
                ("failed", counts.failed),
                ("cancelled", counts.cancelled),
                ("dead letters", counts.dlq_size),
            ],
        ),
        (
            "Attempts",
            &[
                ("total", counts.total.attempts),
                ("last 5 min", counts.recent.attempts),
            ],
        ),
        (
            "Retries",
            &[
                ("total", stats.total_retries),
                ("successful", stats.successful_retries),
            ],
        ),
    ];
    for (title, rows) in sections {
        print_line!("{title}")?;
        for (name, count) in rows {
            print_line!("  {name:<12} {:>10}", thousands(*count))?;
        }
        if title == "Attempts" {
            print_line!("  per second   {:>10.2}", stats.throughput)?;
        }
    }
    print_line!("  success rate {:>10}", percent(stats.retry_success_rate))?;
    Ok(print_line!(
        "  retry rate   {:>10} of attempts in the last 5 min",
        percent(stats.retry_rate)
    )?)
}

fn percent(rate: Option<f64>) -> String {
    rate.map_or("–".to_owned(), |rate| format!("{:.1} %", 100.0 * rate))
}

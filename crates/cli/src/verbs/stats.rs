//! `steadfast stats`: counts and rates.

use serde_json::Value;

use crate::{
    output::{self, print_line},
    remote::Remote,
};

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  steadfast stats\n  steadfast stats --json")]
pub struct Args {
    #[command(flatten)]
    remote: Remote,
    /// For admin keys; others have a tenant of their own.
    #[arg(long)]
    tenant: Option<String>,
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    let stats = args
        .remote
        .get("/stats", &[("tenant", args.tenant)])
        .await?;
    if args.remote.json {
        return Ok(output::print_json(&stats)?);
    }
    let count = |name: &str| stats[name].as_u64().unwrap_or_default();
    print_line!("Jobs now")?;
    for label in ["ready", "running", "retrying", "scheduled"] {
        print_line!("  {label:<12} {:>10}", count(label))?;
    }
    print_line!("Ended, and still kept")?;
    for label in ["succeeded", "failed", "cancelled"] {
        print_line!("  {label:<12} {:>10}", count(label))?;
    }
    print_line!("  dead letters {:>10}", count("dlqSize"))?;
    print_line!("Attempts")?;
    print_line!(
        "  in all       {:>10}",
        stats["total"]["attempts"].as_u64().unwrap_or_default()
    )?;
    print_line!(
        "  last 5 min   {:>10}",
        stats["recent"]["attempts"].as_u64().unwrap_or_default()
    )?;
    print_line!(
        "  per second   {:>10.2}",
        stats["throughput"].as_f64().unwrap_or_default()
    )?;
    print_line!("Retries")?;
    print_line!("  in all       {:>10}", count("totalRetries"))?;
    print_line!("  successful   {:>10}", count("successfulRetries"))?;
    print_line!("  success rate {:>10}", rate(&stats["retrySuccessRate"]))?;
    Ok(print_line!(
        "  retry rate   {:>10} of attempts in the last 5 min",
        rate(&stats["retryRate"])
    )?)
}

fn rate(value: &Value) -> String {
    value
        .as_f64()
        .map_or("–".to_owned(), |rate| format!("{:.1} %", 100.0 * rate))
}

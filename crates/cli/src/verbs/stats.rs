//! `steadfast stats`: counts and rates.

use serde_json::Value;

use crate::{
    remote::Remote,
    say::{self, say},
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
        return Ok(say::json(&stats)?);
    }
    let count = |name: &str| stats[name].as_u64().unwrap_or_default();
    say!("Jobs now")?;
    for label in ["ready", "running", "retrying", "scheduled"] {
        say!("  {label:<12} {:>10}", count(label))?;
    }
    say!("Ended, and still kept")?;
    for label in ["succeeded", "failed", "cancelled"] {
        say!("  {label:<12} {:>10}", count(label))?;
    }
    say!("  dead letters {:>10}", count("dlqSize"))?;
    say!("Attempts")?;
    say!(
        "  in all       {:>10}",
        stats["total"]["attempts"].as_u64().unwrap_or_default()
    )?;
    say!(
        "  last 5 min   {:>10}",
        stats["recent"]["attempts"].as_u64().unwrap_or_default()
    )?;
    say!(
        "  per second   {:>10.2}",
        stats["throughput"].as_f64().unwrap_or_default()
    )?;
    say!("Retries")?;
    say!("  in all       {:>10}", count("totalRetries"))?;
    say!("  successful   {:>10}", count("successfulRetries"))?;
    say!("  success rate {:>10}", rate(&stats["retrySuccessRate"]))?;
    Ok(say!(
        "  retry rate   {:>10} of attempts in the last 5 min",
        rate(&stats["retryRate"])
    )?)
}

fn rate(value: &Value) -> String {
    value
        .as_f64()
        .map_or("–".to_owned(), |rate| format!("{:.1} %", 100.0 * rate))
}

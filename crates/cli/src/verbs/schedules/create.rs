//! `steadfast schedules create`.

use steadfast_api::{CreateJobRequest, CreateScheduleRequest};
use steadfast_core::{MissedTickPolicy, OverlapPolicy, Timestamp};

use super::{print_schedule, rule};
use crate::{
    exit::usage,
    output::print_line,
    server_args::Server,
    settings::{DurationArg, RetryArg},
    verbs::{parse_name, read_optional_json},
};

#[derive(clap::Args)]
#[command(
    group = clap::ArgGroup::new("rule").args(["cron", "every"]).required(true),
    after_help = "Examples:\n  steadfast schedules create nightly https://example.com/report \\\n    --cron '0 3 * * *' --timezone Europe/Paris\n  steadfast schedules create tidy --every 90s --kind tidy --retry patient\n  steadfast schedules create report --cron @hourly --job @job.json"
)]
pub struct Args {
    /// Name of the schedule, unique within the tenant.
    name: String,
    /// URL that each run requests.
    #[arg(value_name = "URL")]
    target: Option<String>,
    /// Cron rule with 5 or 6 fields (seconds first), or a shorthand such as @hourly.
    #[arg(long, value_name = "CRON")]
    cron: Option<String>,
    /// Interval, instead of --cron.
    #[arg(long, value_name = "DURATION")]
    every: Option<DurationArg>,
    /// IANA time zone for --cron [default: UTC].
    #[arg(long, value_name = "ZONE")]
    timezone: Option<String>,
    /// No ticks before this time, e.g. 2026-12-24T18:00:00Z.
    #[arg(long, value_name = "TIME")]
    from: Option<Timestamp>,
    /// No ticks at this time or later.
    #[arg(long, value_name = "TIME")]
    until: Option<Timestamp>,
    /// Maximum total number of runs.
    #[arg(long, value_name = "N")]
    max_runs: Option<u64>,
    /// What to do at a tick while the previous run is unfinished: skip, allow, queueOne or replace.
    #[arg(long, value_parser = parse_name::<OverlapPolicy>)]
    overlap: Option<OverlapPolicy>,
    /// What to do with ticks missed by more than 10s because no node was running: skip, runOnce, or
    /// runAll, which requires --overlap allow.
    #[arg(long, value_parser = parse_name::<MissedTickPolicy>)]
    missed: Option<MissedTickPolicy>,
    /// Kind of each run.
    #[arg(long, conflicts_with = "target")]
    kind: Option<String>,
    /// Job to create at each tick, as in the API: JSON, @FILE, or - for standard input.
    #[arg(long, value_name = "JSON")]
    job: Option<String>,
    /// Retry policy of each run: a preset name, or JSON.
    #[arg(long, value_name = "POLICY")]
    retry: Option<RetryArg>,
    /// Queue of each run [default: default].
    #[arg(long)]
    queue: Option<String>,
    /// Create it for this tenant; requires a key for all tenants.
    #[arg(long)]
    tenant: Option<String>,
}

pub async fn run(server: &Server, args: Args) -> anyhow::Result<()> {
    let request = args.request()?;
    let before = server.client.get_schedule(&request.name).await.ok();
    let request = server.client.create_schedule(&request);
    if let Some(schedule) = server.call(request).await? {
        if let Some(before) = before.filter(|before| before.id == schedule.id) {
            print_line!(
                "Replaced the existing schedule with this name: {}",
                rule(&before)
            )?;
        }
        print_schedule(&schedule)?;
    }
    Ok(())
}

impl Args {
    fn request(self) -> anyhow::Result<CreateScheduleRequest> {
        let job: Option<CreateJobRequest> = read_optional_json(self.job.as_ref(), "--job")?;
        let job = job.unwrap_or_default();
        // Flags override the fields of --job.
        let job = CreateJobRequest {
            api: self.target.or(job.api),
            kind: self.kind.or(job.kind),
            retry: self.retry.map(|retry| retry.0).or(job.retry),
            queue: self.queue.or(job.queue),
            tenant: self.tenant.or(job.tenant),
            ..job
        };
        if job == CreateJobRequest::default() {
            return Err(usage("a schedule requires a URL, --kind or --job"));
        }
        Ok(CreateScheduleRequest {
            name: self.name,
            tenant: None,
            schedule: self.cron,
            every: self.every.map(|every| every.0.into()),
            timezone: self.timezone,
            start_at: self.from,
            end_at: self.until,
            max_runs: self.max_runs,
            overlap: self.overlap,
            missed: self.missed,
            job,
        })
    }
}

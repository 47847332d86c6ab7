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
    /// Its name; unique within the tenant.
    name: String,
    /// Each run is a request to this URL.
    #[arg(value_name = "URL")]
    target: Option<String>,
    /// A cron rule with 5 or 6 fields (seconds first), or @hourly and the like.
    #[arg(long, value_name = "CRON")]
    cron: Option<String>,
    /// An interval, in place of --cron.
    #[arg(long, value_name = "DURATION")]
    every: Option<DurationArg>,
    /// An IANA time zone for --cron [default: UTC].
    #[arg(long, value_name = "ZONE")]
    timezone: Option<String>,
    /// No tick before this time, as 2026-12-24T18:00:00Z.
    #[arg(long, value_name = "TIME")]
    from: Option<Timestamp>,
    /// No tick at this time or later.
    #[arg(long, value_name = "TIME")]
    until: Option<Timestamp>,
    /// How many runs it makes at most in all.
    #[arg(long, value_name = "N")]
    max_runs: Option<u64>,
    /// At a tick while the run before it has not ended: skip, allow, queueOne or replace.
    #[arg(long, value_parser = parse_name::<OverlapPolicy>)]
    overlap: Option<OverlapPolicy>,
    /// For ticks that passed while no node was running, found more than 10s late: skip, runOnce, or
    /// runAll, which needs --overlap allow.
    #[arg(long, value_parser = parse_name::<MissedTickPolicy>)]
    missed: Option<MissedTickPolicy>,
    /// Each run is a job of this kind.
    #[arg(long, conflicts_with = "target")]
    kind: Option<String>,
    /// Each run is this job, as in the API: JSON, @FILE, or - for standard input.
    #[arg(long, value_name = "JSON")]
    job: Option<String>,
    /// The retry policy of each run: a preset's name, or JSON.
    #[arg(long, value_name = "POLICY")]
    retry: Option<RetryArg>,
    /// The queue of each run [default: default].
    #[arg(long)]
    queue: Option<String>,
    /// For this tenant; for keys that see all tenants.
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
                "It takes the place of the one of this name: {}",
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
            return Err(usage(
                "a schedule needs a URL, --kind or --job for its runs",
            ));
        }
        Ok(CreateScheduleRequest {
            name: self.name,
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

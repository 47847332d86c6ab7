//! `steadfast schedules edit`.

use std::{fmt::Display, str::FromStr};

use steadfast_api::{CreateJobRequest, EditScheduleRequest};
use steadfast_core::{MissedTickPolicy, OverlapPolicy, Timestamp};

use super::print_schedule;
use crate::{
    exit::usage,
    server_args::Server,
    settings::DurationArg,
    verbs::{parse_name, read_optional_json},
};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  steadfast schedules edit nightly --cron '30 4 * * *' --timezone Europe/Paris\n  steadfast schedules edit nightly --until 2030-01-01T00:00:00Z\n  steadfast schedules edit nightly --until none\n  steadfast schedules edit nightly --job @job.json"
)]
pub struct Args {
    /// Id or name of the schedule.
    schedule: String,
    /// New cron rule with 5 or 6 fields (seconds first), or a shorthand such as @hourly.
    #[arg(long, value_name = "CRON", conflicts_with = "every")]
    cron: Option<String>,
    /// New interval, instead of --cron.
    #[arg(long, value_name = "DURATION")]
    every: Option<DurationArg>,
    /// IANA time zone for the cron rule.
    #[arg(long, value_name = "ZONE")]
    timezone: Option<String>,
    /// No ticks before this time, or `none`.
    #[arg(long, value_name = "TIME", value_parser = parse_limit::<Timestamp>)]
    from: Option<Limit<Timestamp>>,
    /// No ticks at this time or later, or `none`.
    #[arg(long, value_name = "TIME", value_parser = parse_limit::<Timestamp>)]
    until: Option<Limit<Timestamp>>,
    /// Maximum total number of runs, or `none`.
    #[arg(long, value_name = "N", value_parser = parse_limit::<u64>)]
    max_runs: Option<Limit<u64>>,
    /// What to do at a tick while the previous run is unfinished: skip, allow, queueOne or replace.
    #[arg(long, value_parser = parse_name::<OverlapPolicy>)]
    overlap: Option<OverlapPolicy>,
    /// What to do with ticks missed by more than 10s because no node was running: skip, runOnce, or
    /// runAll, which requires --overlap allow.
    #[arg(long, value_parser = parse_name::<MissedTickPolicy>)]
    missed: Option<MissedTickPolicy>,
    /// Job to create at future ticks, as in the API: JSON, @FILE, or - for standard input.
    #[arg(long, value_name = "JSON")]
    job: Option<String>,
}

/// A limit that `none` removes.
#[derive(Clone, Copy)]
struct Limit<T>(Option<T>);

fn parse_limit<T: FromStr<Err: Display>>(text: &str) -> Result<Limit<T>, String> {
    if text == "none" {
        return Ok(Limit(None));
    }
    let value = text.parse().map_err(|error: T::Err| error.to_string())?;
    Ok(Limit(Some(value)))
}

pub async fn run(server: &Server, args: Args) -> anyhow::Result<()> {
    let job: Option<CreateJobRequest> = read_optional_json(args.job.as_ref(), "--job")?;
    let edit = EditScheduleRequest {
        schedule: args.cron,
        every: args.every.map(|every| every.0.into()),
        timezone: args.timezone,
        start_at: args.from.map(|limit| limit.0),
        end_at: args.until.map(|limit| limit.0),
        max_runs: args.max_runs.map(|limit| limit.0),
        overlap: args.overlap,
        missed: args.missed,
        job,
    };
    if edit == EditScheduleRequest::default() {
        return Err(usage(
            "nothing to change: pass an option, such as --cron '30 4 * * *'",
        ));
    }
    let request = server.client.edit_schedule(&args.schedule, &edit);
    server.show(request, print_schedule).await?;
    Ok(())
}

//! `steadfast schedules`: rules that create one job per tick.

mod create;
mod edit;

use clap::Subcommand;
use steadfast_api::{
    PageQuery, ScheduleBody, ScheduleList, ScheduleQuery, TickList, UpcomingTickBody,
};
use steadfast_core::{Dst, ScheduleId, Timestamp, Zone};

use super::name_of;
use crate::{
    limits::{TICKS_DEFAULT, UPCOMING_TICKS},
    output::print_line,
    page::{PageArgs, print_rows},
    server_args::{ConfirmArgs, Server, ServerArgs},
    show::{local_time, moment_in, now, relative, status_cell, template_facts},
};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  steadfast schedules create nightly https://example.com/ --cron '0 3 * * *'\n  steadfast schedules edit nightly --cron '30 4 * * *'\n  steadfast schedules ticks nightly"
)]
pub struct Args {
    #[command(flatten)]
    server: ServerArgs,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Create a schedule, or replace the existing one with the same name.
    Create(Box<create::Args>),
    /// Edit a schedule; other settings stay unchanged.
    Edit(Box<edit::Args>),
    /// List schedules, newest first.
    #[command(after_help = "Example:\n  steadfast schedules list")]
    List {
        /// Only this tenant; requires a key for all tenants.
        #[arg(long)]
        tenant: Option<String>,
        #[command(flatten)]
        page: PageArgs,
    },
    /// Show a schedule and its next ticks.
    #[command(after_help = "Example:\n  steadfast schedules show nightly")]
    Show {
        /// Id or name of the schedule.
        schedule: String,
    },
    /// Pause a schedule: no runs until it is resumed.
    #[command(after_help = "Example:\n  steadfast schedules pause nightly")]
    Pause {
        /// Id or name of the schedule.
        schedule: String,
    },
    /// Resume a paused schedule.
    #[command(after_help = "Example:\n  steadfast schedules resume nightly")]
    Resume {
        /// Id or name of the schedule.
        schedule: String,
    },
    /// Create one extra run now.
    #[command(after_help = "Example:\n  steadfast schedules run-now nightly")]
    RunNow {
        /// Id or name of the schedule.
        schedule: String,
    },
    /// List upcoming ticks, and past ticks with the run each created or why it was skipped.
    #[command(after_help = "Example:\n  steadfast schedules ticks nightly --limit 50")]
    Ticks {
        /// Id or name of the schedule.
        schedule: String,
        /// Maximum number of results, up to 500.
        #[arg(long, default_value_t = TICKS_DEFAULT)]
        limit: usize,
    },
    /// Delete a schedule; its existing runs stay.
    #[command(after_help = "Example:\n  steadfast schedules delete nightly")]
    Delete {
        /// Id or name of the schedule.
        schedule: String,
        #[command(flatten)]
        confirm: ConfirmArgs,
    },
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    let server = args.server.connect()?;
    let client = &server.client;
    match args.verb {
        Verb::Create(create) => create::run(&server, *create).await?,
        Verb::Edit(edit) => edit::run(&server, *edit).await?,
        Verb::List { tenant, page } => {
            let query = ScheduleQuery {
                tenant,
                limit: Some(page.limit),
                after: page.after,
            };
            server
                .show(client.list_schedules(&query), print_list)
                .await?;
        }
        Verb::Show { schedule: id } => {
            server.show(client.get_schedule(id), print_schedule).await?;
        }
        Verb::Pause { schedule: id } => {
            if let Some(schedule) = server.call(client.pause_schedule(id)).await? {
                print_line!("{} is paused ({})", schedule.name, schedule.id)?;
            }
        }
        Verb::Resume { schedule: id } => {
            if let Some(schedule) = server.call(client.resume_schedule(id)).await? {
                let next = schedule.next_tick;
                let zone = zone_of(&schedule);
                let next = next.map_or("never".to_owned(), |next| {
                    moment_in(zone.as_ref(), next, now())
                });
                print_line!("{} is resumed; next tick: {next}", schedule.name)?;
            }
        }
        Verb::RunNow { schedule: id } => {
            if let Some(run) = server.call(client.run_schedule_now(id)).await? {
                print_line!("{} created", run.id)?;
            }
        }
        Verb::Ticks {
            schedule: id,
            limit,
        } => {
            let query = PageQuery {
                limit: Some(limit),
                after: None,
            };
            // The schedule knows the zone of its ticks.
            let zone = match server.json {
                true => None,
                false => zone_of(&server.fetch(client.get_schedule(&id)).await?),
            };
            if let Some(ticks) = server.call(client.list_ticks(id, &query)).await? {
                print_ticks(&ticks, zone.as_ref())?;
            }
        }
        Verb::Delete {
            schedule: id,
            confirm,
        } => {
            server.confirm_in_production(&format!("delete schedule {id}?"), confirm.yes)?;
            if server.call(client.delete_schedule(&id)).await?.is_some() {
                print_line!("{id} deleted")?;
            }
        }
    }
    Ok(())
}

/// The id of a schedule that is named by its id or its name.
pub async fn schedule_id(server: &Server, text: &str) -> anyhow::Result<ScheduleId> {
    match text.parse() {
        Ok(id) => Ok(id),
        Err(_) => Ok(server.fetch(server.client.get_schedule(text)).await?.id),
    }
}

/// The time zone of a schedule's rule, unless that is UTC.
fn zone_of(schedule: &ScheduleBody) -> Option<Zone> {
    let name = schedule.timezone.as_deref().filter(|name| *name != "UTC")?;
    Zone::parse(name).ok()
}

/// `0 3 * * * Europe/Paris`, `every 5m`.
fn rule(schedule: &ScheduleBody) -> String {
    match (&schedule.schedule, &schedule.every, &schedule.timezone) {
        (Some(cron), _, Some(zone)) if zone != "UTC" => format!("{cron} {zone}"),
        (Some(cron), ..) => cron.clone(),
        (None, Some(every), _) => format!("every {every}"),
        (None, None, _) => String::new(),
    }
}

fn print_list(list: &ScheduleList) -> anyhow::Result<()> {
    let now = now();
    print_rows(
        &list.schedules,
        "no schedules",
        ["id", "name", "rule", "runs", "last", "next"],
        list.next_cursor.as_ref(),
        |schedule| {
            let when =
                |time: Option<Timestamp>| time.map_or(String::new(), |time| relative(time, now));
            let next = match (schedule.paused, schedule.next_tick) {
                (true, _) => status_cell("paused"),
                (false, None) => "never".into(),
                (false, next) => when(next).into(),
            };
            vec![
                schedule.id.to_string().into(),
                schedule.name.as_str().into(),
                rule(schedule).into(),
                schedule.runs.into(),
                when(schedule.last_tick).into(),
                next,
            ]
        },
    )
}

fn print_schedule(schedule: &ScheduleBody) -> anyhow::Result<()> {
    let now = now();
    let zone = zone_of(schedule);
    print_line!("Schedule: {} ({})", schedule.name, schedule.id)?;
    print_line!("  runs      {}", schedule.in_words)?;
    print_line!("  rule      {}", rule(schedule))?;
    for (name, fact) in template_facts(&schedule.job) {
        print_line!("  {name:<9} {fact}")?;
    }
    print_line!("  tenant    {}", schedule.tenant)?;
    print_line!("  overlap   {}", name_of(&schedule.overlap))?;
    print_line!("  missed    {}", name_of(&schedule.missed))?;
    print_limits(schedule, zone.as_ref())?;
    let plural = if schedule.runs == 1 { "" } else { "s" };
    print_line!("  so far    {} run{plural}", schedule.runs)?;
    if let Some(last) = schedule.last_tick {
        print_line!("  last      {}", moment_in(zone.as_ref(), last, now))?;
    }
    if schedule.paused {
        return Ok(print_line!(
            "  next      paused; steadfast schedules resume {}",
            schedule.name
        )?);
    }
    print_upcoming(&schedule.upcoming, zone.as_ref(), now)
}

/// When it begins and ends, if it does.
fn print_limits(schedule: &ScheduleBody, zone: Option<&Zone>) -> anyhow::Result<()> {
    let now = now();
    for (name, time) in [("from", schedule.start_at), ("until", schedule.end_at)] {
        if let Some(time) = time {
            print_line!("  {name:<9} {}", moment_in(zone, time, now))?;
        }
    }
    if let Some(most) = schedule.max_runs {
        print_line!("  max runs  {most}")?;
    }
    Ok(())
}

fn print_upcoming(
    upcoming: &[UpcomingTickBody],
    zone: Option<&Zone>,
    now: Timestamp,
) -> anyhow::Result<()> {
    for tick in upcoming {
        let dst = match tick.dst {
            Some(Dst::Gap) => "  (skipped by daylight saving time; runs right after the gap)",
            Some(_) => "  (occurs twice because of daylight saving time)",
            None => "",
        };
        print_line!("  next      {}{dst}", moment_in(zone, tick.at, now))?;
    }
    Ok(())
}

fn print_ticks(list: &TickList, zone: Option<&Zone>) -> anyhow::Result<()> {
    let now = now();
    let upcoming = list.upcoming.get(..UPCOMING_TICKS);
    print_upcoming(upcoming.unwrap_or(&list.upcoming), zone, now)?;
    print_rows(
        &list.ticks,
        "no ticks yet",
        ["tick", "when", "result"],
        None,
        |tick| {
            let result = match (tick.job_id, &tick.skipped) {
                (Some(job), _) => job.to_string(),
                (None, Some(skipped)) => {
                    format!("{} skipped: {}", skipped.count, name_of(&skipped.reason))
                }
                (None, None) => String::new(),
            };
            let at = local_time(zone, tick.at);
            vec![at, relative(tick.at, now), result]
        },
    )
}

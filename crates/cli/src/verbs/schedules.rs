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
    page::{PageArgs, print_page},
    server_args::{Server, ServerArgs},
    show::{
        local_time, moment_in, now, plain_table, relative, status_cell, table_lines, template_facts,
    },
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
            if let Some(list) = server.call(client.list_schedules(&query)).await? {
                print_list(&list)?;
            }
        }
        Verb::Show { schedule: id } => {
            if let Some(schedule) = server.call(client.get_schedule(id)).await? {
                print_schedule(&schedule)?;
            }
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
        Verb::Delete { schedule: id } => {
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
    if list.schedules.is_empty() {
        return Ok(print_line!("no schedules")?);
    }
    let now = now();
    let mut table = plain_table(["id", "name", "rule", "runs", "last", "next"]);
    for schedule in &list.schedules {
        let when = |time: Option<Timestamp>| time.map_or(String::new(), |time| relative(time, now));
        let next = match (schedule.paused, schedule.next_tick) {
            (true, _) => status_cell("paused"),
            (false, None) => "never".into(),
            (false, next) => when(next).into(),
        };
        table.add_row(vec![
            schedule.id.to_string().into(),
            schedule.name.as_str().into(),
            rule(schedule).into(),
            schedule.runs.into(),
            when(schedule.last_tick).into(),
            next,
        ]);
    }
    print_page(&table_lines(&table), list.next_cursor.as_ref())
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
    if list.ticks.is_empty() {
        return Ok(print_line!("no ticks yet")?);
    }
    let mut table = plain_table(["tick", "when", "result"]);
    for tick in &list.ticks {
        let result = match (tick.job_id, &tick.skipped) {
            (Some(job), _) => job.to_string(),
            (None, Some(skipped)) => {
                format!("{} skipped: {}", skipped.count, name_of(&skipped.reason))
            }
            (None, None) => String::new(),
        };
        let at = local_time(zone, tick.at);
        table.add_row(vec![at, relative(tick.at, now), result]);
    }
    Ok(print_line!("{}", table_lines(&table))?)
}

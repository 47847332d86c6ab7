//! `steadfast schedules`: rules that create one job per tick.

mod create;

use clap::Subcommand;
use steadfast_api::{
    PageQuery, ScheduleBody, ScheduleList, ScheduleQuery, TickList, UpcomingTickBody,
};
use steadfast_core::{Dst, Timestamp};

use super::name_of;
use crate::{
    limits::{LIST_DEFAULT, TICKS_DEFAULT, UPCOMING_TICKS},
    output::print_line,
    server_args::ServerArgs,
    show::{moment, now, plain_table, relative, status_cell, table_lines},
};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  steadfast schedules create nightly https://example.com/ --cron '0 3 * * *'\n  steadfast schedules list\n  steadfast schedules ticks sch_…"
)]
pub struct Args {
    #[command(flatten)]
    server: ServerArgs,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Create a schedule, or update the one of that name.
    Create(Box<create::Args>),
    /// List schedules, newest first.
    #[command(after_help = "Example:\n  steadfast schedules list")]
    List {
        /// Only this tenant; for keys that see all tenants.
        #[arg(long)]
        tenant: Option<String>,
        /// How many, up to 500.
        #[arg(long, default_value_t = LIST_DEFAULT)]
        limit: usize,
        /// Continue after this cursor, which the page before ended with.
        #[arg(long, value_name = "CURSOR")]
        after: Option<String>,
    },
    /// Show a schedule and its next ticks.
    #[command(after_help = "Example:\n  steadfast schedules show sch_…")]
    Show { id: String },
    /// Pause a schedule: no more runs until it is resumed.
    #[command(after_help = "Example:\n  steadfast schedules pause sch_…")]
    Pause { id: String },
    /// Resume a schedule with its next tick.
    #[command(after_help = "Example:\n  steadfast schedules resume sch_…")]
    Resume { id: String },
    /// Create one run now, besides those of the ticks.
    #[command(after_help = "Example:\n  steadfast schedules run-now sch_…")]
    RunNow { id: String },
    /// List ticks: the run that each created, or why it was skipped; and the next ones.
    #[command(after_help = "Example:\n  steadfast schedules ticks sch_… --limit 50")]
    Ticks {
        id: String,
        /// How many, up to 500.
        #[arg(long, default_value_t = TICKS_DEFAULT)]
        limit: usize,
    },
    /// Delete a schedule; runs that it has created stay.
    #[command(after_help = "Example:\n  steadfast schedules delete sch_…")]
    Delete { id: String },
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    let server = args.server.connect()?;
    let client = &server.client;
    match args.verb {
        Verb::Create(create) => create::run(&server, *create).await?,
        Verb::List {
            tenant,
            limit,
            after,
        } => {
            let query = ScheduleQuery {
                tenant,
                limit: Some(limit),
                after,
            };
            if let Some(list) = server.call(client.list_schedules(&query)).await? {
                print_list(&list)?;
            }
        }
        Verb::Show { id } => {
            if let Some(schedule) = server.call(client.get_schedule(id)).await? {
                print_schedule(&schedule)?;
            }
        }
        Verb::Pause { id } => {
            if let Some(schedule) = server.call(client.pause_schedule(id)).await? {
                print_line!("{} is paused", schedule.id)?;
            }
        }
        Verb::Resume { id } => {
            if let Some(schedule) = server.call(client.resume_schedule(id)).await? {
                let next = schedule.next_tick;
                let next = next.map_or("never".to_owned(), |next| moment(next, now()));
                print_line!("{} is resumed: its next tick is {next}", schedule.id)?;
            }
        }
        Verb::RunNow { id } => {
            if let Some(run) = server.call(client.run_schedule_now(id)).await? {
                print_line!("{} created", run.id)?;
            }
        }
        Verb::Ticks { id, limit } => {
            let query = PageQuery {
                limit: Some(limit),
                after: None,
            };
            if let Some(ticks) = server.call(client.list_ticks(id, &query)).await? {
                print_ticks(&ticks)?;
            }
        }
        Verb::Delete { id } => {
            if server.call(client.delete_schedule(&id)).await?.is_some() {
                print_line!("{id} deleted")?;
            }
        }
    }
    Ok(())
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
    print_line!("{}", table_lines(&table))?;
    if let Some(cursor) = &list.next_cursor {
        print_line!("more: --after {cursor}")?;
    }
    Ok(())
}

fn print_schedule(schedule: &ScheduleBody) -> anyhow::Result<()> {
    let now = now();
    print_line!("Schedule: {} ({})", schedule.name, schedule.id)?;
    print_line!("  rule      {}", rule(schedule))?;
    print_line!("  tenant    {}", schedule.tenant)?;
    print_line!("  overlap   {}", name_of(&schedule.overlap))?;
    print_line!("  missed    {}", name_of(&schedule.missed))?;
    print_line!("  runs      {}", schedule.runs)?;
    if let Some(last) = schedule.last_tick {
        print_line!("  last      {}", moment(last, now))?;
    }
    if schedule.paused {
        return Ok(print_line!(
            "  next      paused; steadfast schedules resume {}",
            schedule.id
        )?);
    }
    print_upcoming(&schedule.upcoming, now)
}

fn print_upcoming(upcoming: &[UpcomingTickBody], now: Timestamp) -> anyhow::Result<()> {
    for tick in upcoming {
        let dst = match tick.dst {
            Some(Dst::Gap) => "  (the clock skips this time: right after the gap)",
            Some(_) => "  (the clock shows this time twice)",
            None => "",
        };
        print_line!("  next      {}{dst}", moment(tick.at, now))?;
    }
    Ok(())
}

fn print_ticks(list: &TickList) -> anyhow::Result<()> {
    let now = now();
    let upcoming = list.upcoming.get(..UPCOMING_TICKS);
    print_upcoming(upcoming.unwrap_or(&list.upcoming), now)?;
    if list.ticks.is_empty() {
        return Ok(print_line!("no ticks yet")?);
    }
    let mut table = plain_table(["tick", "", "result"]);
    for tick in &list.ticks {
        let result = match (tick.job_id, &tick.skipped) {
            (Some(job), _) => job.to_string(),
            (None, Some(skipped)) => {
                format!("{} skipped: {}", skipped.count, name_of(&skipped.reason))
            }
            (None, None) => String::new(),
        };
        table.add_row(vec![tick.at.to_string(), relative(tick.at, now), result]);
    }
    Ok(print_line!("{}", table_lines(&table))?)
}

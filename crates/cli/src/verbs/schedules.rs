//! `steadfast schedules`: rules that make one job per tick.

use clap::Subcommand;
use serde::Deserialize;
use serde_json::{Value, json};
use steadfast::Timestamp;

use super::{read_json, said};
use crate::{
    exit::usage,
    output::{self, print_line},
    remote::{Remote, part},
    settings::{DurationArg, RetryArg},
    show::{moment, now, plain_table, relative, status_cell, table_lines},
};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  steadfast schedules create nightly https://example.com/ --cron '0 3 * * *'\n  steadfast schedules list\n  steadfast schedules ticks sch_…"
)]
pub struct Args {
    #[command(flatten)]
    remote: Remote,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Make a schedule, or bring the one of that name in line.
    Create(Box<CreateArgs>),
    /// List schedules, newest first.
    #[command(after_help = "Example:\n  steadfast schedules list")]
    List {
        /// For admin keys; others have a tenant of their own.
        #[arg(long)]
        tenant: Option<String>,
        /// How many, up to 500.
        #[arg(long, default_value_t = 50)]
        limit: u32,
        /// Where the page before ended.
        #[arg(long, value_name = "CURSOR")]
        after: Option<String>,
    },
    /// Look at a schedule and its next ticks.
    #[command(after_help = "Example:\n  steadfast schedules show sch_…")]
    Show { id: String },
    /// Make no more runs until it is resumed.
    #[command(after_help = "Example:\n  steadfast schedules pause sch_…")]
    Pause { id: String },
    /// Go on with the next tick.
    #[command(after_help = "Example:\n  steadfast schedules resume sch_…")]
    Resume { id: String },
    /// Make one run now, beside the timetable.
    #[command(after_help = "Example:\n  steadfast schedules run-now sch_…")]
    RunNow { id: String },
    /// What became of ticks: the run each made, or why it was skipped; and those to come.
    #[command(after_help = "Example:\n  steadfast schedules ticks sch_… --limit 50")]
    Ticks {
        id: String,
        /// How many, up to 500.
        #[arg(long, default_value_t = 20)]
        limit: u32,
    },
    /// Forget a schedule; runs it has made go on.
    #[command(after_help = "Example:\n  steadfast schedules delete sch_…")]
    Delete { id: String },
}

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  steadfast schedules create nightly https://example.com/report \\\n    --cron '0 3 * * *' --timezone Europe/Paris\n  steadfast schedules create tidy --every 90s --kind tidy --retry patient\n  steadfast schedules create report --cron @hourly --job @job.json"
)]
struct CreateArgs {
    /// What it is called; unique within the tenant.
    name: String,
    /// Each run is a request to this URL.
    #[arg(value_name = "URL")]
    target: Option<String>,
    /// Cron with 5 or 6 fields (seconds first), or @hourly and the like.
    #[arg(long, value_name = "CRON", required_unless_present = "every")]
    cron: Option<String>,
    /// At equal distances, in the place of --cron.
    #[arg(long, value_name = "DURATION", conflicts_with = "cron")]
    every: Option<DurationArg>,
    /// An IANA time zone for --cron [default: UTC].
    #[arg(long, value_name = "ZONE")]
    timezone: Option<String>,
    /// At a tick while the last run has not ended: skip, allow, queueOne or replace.
    #[arg(long)]
    overlap: Option<String>,
    /// Ticks that nobody was there to fire: skip, runOnce or runAll.
    #[arg(long)]
    missed: Option<String>,
    /// Each run is a job of this kind.
    #[arg(long, conflicts_with = "target")]
    kind: Option<String>,
    /// Each run is this job, as the API takes it: JSON, @FILE, or - for standard input.
    #[arg(long, value_name = "JSON")]
    job: Option<String>,
    /// When a run is tried again: a preset's name, or JSON.
    #[arg(long, value_name = "POLICY")]
    retry: Option<RetryArg>,
    /// Which lane runs wait in [default: default].
    #[arg(long)]
    queue: Option<String>,
    /// For admin keys; others have a tenant of their own.
    #[arg(long)]
    tenant: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ScheduleView {
    id: String,
    tenant: String,
    name: String,
    schedule: Option<String>,
    every: Option<String>,
    timezone: Option<String>,
    overlap: String,
    missed: String,
    paused: bool,
    runs: u64,
    last_tick: Option<Timestamp>,
    next_tick: Option<Timestamp>,
    upcoming: Vec<UpcomingView>,
}

#[derive(Deserialize)]
struct UpcomingView {
    at: Timestamp,
    dst: Option<String>,
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    let remote = &args.remote;
    let path = |id: &str, verb: &str| format!("/schedules/{}{verb}", part(id));
    match args.verb {
        Verb::Create(create) => create.run(remote).await,
        Verb::List {
            tenant,
            limit,
            after,
        } => {
            let limit = Some(limit.to_string());
            let query = [("tenant", tenant), ("limit", limit), ("after", after)];
            list(remote, remote.get("/schedules", &query).await?)
        }
        Verb::Show { id } => shown(remote, remote.get(&path(&id, ""), &[]).await?),
        Verb::Pause { id } => {
            let answer = remote.post(&path(&id, "/pause"), Value::Null).await?;
            done(remote, &answer, &format!("{id} is paused"))
        }
        Verb::Resume { id } => {
            let answer = remote.post(&path(&id, "/resume"), Value::Null).await?;
            let next = answer["nextTick"].as_str().unwrap_or("never").to_owned();
            done(
                remote,
                &answer,
                &format!("{id} goes on: its next tick is {next}"),
            )
        }
        Verb::RunNow { id } => {
            let answer = remote.post(&path(&id, "/run-now"), Value::Null).await?;
            let run = answer["id"].as_str().unwrap_or_default().to_owned();
            done(remote, &answer, &format!("{run} made"))
        }
        Verb::Ticks { id, limit } => {
            let query = [("limit", Some(limit.to_string()))];
            ticks(remote, remote.get(&path(&id, "/ticks"), &query).await?)
        }
        Verb::Delete { id } => {
            let answer = remote.delete(&path(&id, "")).await?;
            done(remote, &answer, &format!("{id} is gone"))
        }
    }
}

fn done(remote: &Remote, answer: &Value, sentence: &str) -> anyhow::Result<()> {
    match remote.json {
        true => Ok(output::print_json(answer)?),
        false => Ok(print_line!("{sentence}")?),
    }
}

impl CreateArgs {
    async fn run(self, remote: &Remote) -> anyhow::Result<()> {
        let mut job = match &self.job {
            Some(text) => read_json(text, "--job")?,
            None => json!({}),
        };
        let fields = job.as_object_mut();
        let fields = fields.ok_or_else(|| usage("--job must be a JSON object"))?;
        let over = said([
            ("api", self.target.map(Value::from)),
            ("kind", self.kind.map(Value::from)),
            ("retry", self.retry.map(|retry| json!(retry))),
            ("queue", self.queue.map(Value::from)),
            ("tenant", self.tenant.map(Value::from)),
        ]);
        fields.extend(over.as_object().cloned().unwrap_or_default());
        if fields.is_empty() {
            return Err(usage("say what each run does: a URL, --kind or --job"));
        }
        let body = said([
            ("name", Some(self.name.into())),
            ("schedule", self.cron.map(Value::from)),
            ("every", self.every.map(|every| every.to_string().into())),
            ("timezone", self.timezone.map(Value::from)),
            ("overlap", self.overlap.map(Value::from)),
            ("missed", self.missed.map(Value::from)),
            ("job", Some(job)),
        ]);
        shown(remote, remote.post("/schedules", body).await?)
    }
}

impl ScheduleView {
    fn rule(&self) -> String {
        match (&self.schedule, &self.every, &self.timezone) {
            (Some(cron), _, Some(zone)) if zone != "UTC" => format!("{cron} {zone}"),
            (Some(cron), ..) => cron.clone(),
            (None, Some(every), _) => format!("every {every}"),
            (None, None, _) => String::new(),
        }
    }
}

fn list(remote: &Remote, answer: Value) -> anyhow::Result<()> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct List {
        schedules: Vec<ScheduleView>,
        next_cursor: Option<String>,
    }
    if remote.json {
        return Ok(output::print_json(&answer)?);
    }
    let list: List = serde_json::from_value(answer)?;
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
            schedule.id.as_str().into(),
            schedule.name.as_str().into(),
            schedule.rule().into(),
            schedule.runs.into(),
            when(schedule.last_tick).into(),
            next,
        ]);
    }
    print_line!("{}", table_lines(&table))?;
    if let Some(cursor) = list.next_cursor {
        print_line!("more: --after {cursor}")?;
    }
    Ok(())
}

fn shown(remote: &Remote, answer: Value) -> anyhow::Result<()> {
    if remote.json {
        return Ok(output::print_json(&answer)?);
    }
    let schedule: ScheduleView = serde_json::from_value(answer)?;
    let now = now();
    print_line!("Schedule: {} ({})", schedule.name, schedule.id)?;
    print_line!("  rule      {}", schedule.rule())?;
    print_line!("  tenant    {}", schedule.tenant)?;
    print_line!("  overlap   {}", schedule.overlap)?;
    print_line!("  missed    {}", schedule.missed)?;
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
    coming(&schedule.upcoming, now)
}

fn coming(upcoming: &[UpcomingView], now: Timestamp) -> anyhow::Result<()> {
    for tick in upcoming {
        let dst = match tick.dst.as_deref() {
            Some("gap") => "  (the clock skips this time: right after the gap)",
            Some(_) => "  (the clock shows this time twice)",
            None => "",
        };
        print_line!("  next      {}{dst}", moment(tick.at, now))?;
    }
    Ok(())
}

fn ticks(remote: &Remote, answer: Value) -> anyhow::Result<()> {
    #[derive(Deserialize)]
    struct Ticks {
        ticks: Vec<TickView>,
        upcoming: Vec<UpcomingView>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct TickView {
        at: Timestamp,
        job_id: Option<String>,
        skipped: Option<SkipView>,
    }
    #[derive(Deserialize)]
    struct SkipView {
        reason: String,
        count: u64,
    }
    if remote.json {
        return Ok(output::print_json(&answer)?);
    }
    let ticks: Ticks = serde_json::from_value(answer)?;
    let now = now();
    coming(ticks.upcoming.get(..3).unwrap_or(&ticks.upcoming), now)?;
    let mut table = plain_table(["tick", "", "what became of it"]);
    for tick in &ticks.ticks {
        let what = match (&tick.job_id, &tick.skipped) {
            (Some(job), _) => job.clone(),
            (None, Some(skip)) => format!("{} skipped: {}", skip.count, skip.reason),
            (None, None) => String::new(),
        };
        table.add_row(vec![tick.at.to_string(), relative(tick.at, now), what]);
    }
    match ticks.ticks.is_empty() {
        true => Ok(print_line!("no ticks yet")?),
        false => Ok(print_line!("{}", table_lines(&table))?),
    }
}

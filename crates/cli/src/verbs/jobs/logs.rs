//! `steadfast jobs logs`: what attempts logged, or log while they run.

use steadfast_api::{AttemptLogBody, LogEventBody, LogLineBody, LogQuery};
use steadfast_core::JobLabel;

use crate::{
    limits::{LOG_TRIES_MAX, WATCH_EVERY},
    output::print_line,
    server_args::Server,
    show::clock_time,
};

#[derive(clap::Args)]
pub struct Args {
    /// Job id, job_….
    id: String,
    /// Number of the attempt, from 1 [default: the newest].
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    attempt: Option<u32>,
    /// Print new lines until the attempt ends; without --attempt, until the job ends.
    #[arg(long, short)]
    follow: bool,
}

pub async fn run(server: &Server, args: Args) -> anyhow::Result<()> {
    match (args.attempt, args.follow) {
        (Some(attempt), true) => follow(server, &args.id, attempt, 0).await.map(drop),
        (None, true) => follow_job(server, &args.id).await,
        (attempt, false) => print(server, &args.id, attempt).await,
    }
}

async fn print(server: &Server, id: &str, attempt: Option<u32>) -> anyhow::Result<()> {
    let attempt = match attempt {
        Some(attempt) => attempt,
        None => server.fetch(server.client.get_job(id)).await?.attempt,
    };
    if attempt == 0 {
        eprintln!("{id} has not started yet");
        return Ok(());
    }
    let log = read(server, id, attempt).await?;
    if server.json {
        return Ok(print_line!("{}", serde_json::to_string(&log)?)?);
    }
    if log.dropped > 0 {
        print_dropped(log.dropped)?;
    }
    if log.lines.is_empty() {
        eprintln!("attempt {attempt} of {id} logged nothing");
    }
    for line in &log.lines {
        print_log_line(line)?;
    }
    Ok(())
}

/// The whole log, which may be longer than one answer.
async fn read(server: &Server, id: &str, attempt: u32) -> anyhow::Result<AttemptLogBody> {
    let mut log = AttemptLogBody::new(attempt);
    loop {
        let query = LogQuery {
            from: Some(log.next),
            ..LogQuery::default()
        };
        let more = server.client.get_attempt_log(id, attempt, &query);
        let more = server.fetch(more).await?;
        log.dropped += more.dropped;
        log.next = more.next;
        if more.lines.is_empty() {
            return Ok(log);
        }
        log.lines.extend(more.lines);
    }
}

/// Follows attempt after attempt, from the newest on, until the job has ended.
async fn follow_job(server: &Server, id: &str) -> anyhow::Result<()> {
    let mut position = None;
    loop {
        let job = server.fetch(server.client.get_job(id)).await?;
        let has_ended = job.finished_at.is_some();
        let (attempt, next) = position.get_or_insert((job.attempt.saturating_sub(1), 0));
        let is_open = has_ended || job.label == JobLabel::Running;
        // An attempt that was not counted shares its number with the next.
        if *attempt == job.attempt && *attempt > 0 && is_open {
            *next = follow(server, id, *attempt, *next).await?;
        }
        // Those that came and went since the last look, too.
        while *attempt < job.attempt {
            *attempt += 1;
            if *attempt > 1 && !server.json {
                eprintln!("attempt {attempt}:");
            }
            *next = follow(server, id, *attempt, 0).await?;
        }
        if has_ended {
            return Ok(());
        }
        tokio::time::sleep(WATCH_EVERY).await;
    }
}

/// Follows one attempt until it has ended, on new connections if need be. Answers with the number of
/// the next line.
async fn follow(server: &Server, id: &str, attempt: u32, from: u64) -> anyhow::Result<u64> {
    let (mut next, mut tries) = (from, 0);
    loop {
        let events = server.client.follow_attempt_log(id, attempt, next).await;
        let mut events = match events {
            Err(error) if error.is_transient() && tries < LOG_TRIES_MAX => {
                tries += 1;
                tokio::time::sleep(WATCH_EVERY).await;
                continue;
            }
            events => events.map_err(|error| server.explain(error))?,
        };
        while let Some(event) = events.next().await {
            let event = match event {
                Err(error) if error.is_transient() => break,
                event => event.map_err(|error| server.explain(error))?.data,
            };
            tries = 0;
            match &event {
                LogEventBody::End { next, .. } => return Ok(*next),
                LogEventBody::Line(line) => next = line.number + 1,
                _ => {}
            }
            match &event {
                event if server.json => print_line!("{}", serde_json::to_string(event)?)?,
                LogEventBody::Line(line) => print_log_line(line)?,
                LogEventBody::Dropped { lines } => print_dropped(*lines)?,
                _ => {}
            }
        }
        // The node stops, and another may go on.
        tokio::time::sleep(WATCH_EVERY).await;
    }
}

fn print_log_line(line: &LogLineBody) -> anyhow::Result<()> {
    let text = line.text.replace('\n', "\n                ");
    print_line!("{} {:<5} {text}", clock_time(line.at), line.level)?;
    Ok(())
}

fn print_dropped(lines: u64) -> anyhow::Result<()> {
    print_line!("… {lines} older lines were dropped: the log is full")?;
    Ok(())
}

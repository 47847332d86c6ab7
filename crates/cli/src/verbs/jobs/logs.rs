//! `steadfast jobs logs`: what attempts logged, or log while they run.

use steadfast_api::{LogEventBody, LogLineBody, LogQuery};
use steadfast_core::JobLabel;

use crate::{limits::WATCH_EVERY, output::print_line, server_args::Server, show::clock_time};

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
    let query = LogQuery::default();
    let log = server.client.get_attempt_log(id, attempt, &query);
    let log = server.fetch(log).await?;
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

/// Follows attempt after attempt until the job has ended.
async fn follow_job(server: &Server, id: &str) -> anyhow::Result<()> {
    let (mut attempt, mut next) = (0, 0);
    loop {
        let job = server.fetch(server.client.get_job(id)).await?;
        let has_ended = job.finished_at.is_some();
        if job.label == JobLabel::Running || (has_ended && attempt != job.attempt) {
            // An attempt that was not counted shares its number with the next.
            if attempt != job.attempt {
                (attempt, next) = (job.attempt, 0);
                if attempt > 1 && !server.json {
                    eprintln!("attempt {attempt}:");
                }
            }
            next = follow(server, id, attempt, next).await?;
        } else if !has_ended {
            tokio::time::sleep(WATCH_EVERY).await;
        }
        if has_ended {
            return Ok(());
        }
    }
}

/// Follows one attempt until it has ended. Answers with the number of the next line.
async fn follow(server: &Server, id: &str, attempt: u32, from: u64) -> anyhow::Result<u64> {
    let mut next = from;
    let events = server.client.follow_attempt_log(id, attempt, from).await;
    let mut events = events.map_err(|error| server.explain(error))?;
    while let Some(event) = events.next().await {
        let event = event.map_err(|error| server.explain(error))?.data;
        if let LogEventBody::End { next, .. } = event {
            return Ok(next);
        }
        if server.json {
            print_line!("{}", serde_json::to_string(&event)?)?;
            continue;
        }
        match event {
            LogEventBody::Line(line) => {
                next = line.number + 1;
                print_log_line(&line)?;
            }
            LogEventBody::Dropped { lines } => print_dropped(lines)?,
            _ => {}
        }
    }
    Ok(next)
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

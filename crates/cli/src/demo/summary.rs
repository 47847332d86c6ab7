//! The history of each job of the demo, and what it shows.

use steadfast_api::PageQuery;

use super::{live::DemoTotals, print_heading, scenarios::DemoJobs};
use crate::{
    limits::{DEMO_TEXT_CHARS, DEMO_TICKS, DEMO_WEBHOOKS},
    output::print_line,
    server_args::Server,
    show::{brief, execution_log},
};

pub async fn print(server: &Server, jobs: &DemoJobs, totals: &DemoTotals) -> anyhow::Result<()> {
    print_heading("results")?;
    for (scenario, id) in jobs.iter() {
        let job = server.fetch(server.client.get_job(id)).await?;
        let history = server.client.list_attempts(id, &PageQuery::default());
        let attempts = server.fetch(history).await?.attempts;
        let label = match &job.explanation {
            Some(reason) => format!("{}, {reason}", job.label),
            None => job.label.to_string(),
        };
        print_line!("\nJob: {} ({id}): {label}", scenario.name)?;
        print_line!("{}", execution_log(attempts.iter().rev()))?;
        for line in wrapped(scenario.lesson) {
            print_line!("{line}")?;
        }
    }
    print_line!("\nSchedule: ticker ({})", jobs.schedule)?;
    print_line!(
        "{} of {DEMO_TICKS} ticks ran, each exactly once and as a separate job.",
        totals.ticks
    )?;
    print_line!(
        "\nWebhooks: {} of {DEMO_WEBHOOKS} arrived with a valid signature.",
        totals.webhooks_verified
    )?;
    print_heading("summary")?;
    for line in wrapped(
        "Every retry was a stored row with a due time, not a timer in memory: if this process had been killed halfway, the next one would have continued. Every attempt left a record of the failure, the rule that decided, and the time of the next attempt.",
    ) {
        print_line!("{line}")?;
    }
    Ok(print_line!("It took {}.", brief(totals.took))?)
}

pub fn print_next_steps(url: &str, is_kept: bool) -> anyhow::Result<()> {
    print_heading("next steps")?;
    if is_kept {
        print_line!("  {url}/           the dashboard; the server runs until Ctrl-C")?;
        print_line!("  {url}/docs/      the book")?;
        print_line!("  {url}/api/docs   the API reference, with commands to copy")?;
        print_line!("  steadfast jobs list --url {url}")?;
        print_line!("  steadfast dlq requeue --all --url {url}")?;
        return Ok(());
    }
    print_line!("  steadfast demo --keep            the same, and the server keeps running")?;
    print_line!("  steadfast serve                  your own server, on ./steadfast.db")?;
    print_line!("  steadfast jobs create URL --watch")?;
    Ok(print_line!(
        "  steadfast policy preview patient a retry policy as a timetable"
    )?)
}

fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= DEMO_TEXT_CHARS => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

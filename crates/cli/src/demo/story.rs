//! What became of each job, and what there is to learn from it.

use serde::Deserialize;

use super::{
    cast::{Cast, TICKS, WEBHOOKS},
    heading,
    live::{self, Seen},
};
use crate::{
    remote::Remote,
    say::say,
    show::{AttemptView, JobView, execution_log},
};

const WIDTH: usize = 78;

pub async fn tell(remote: &Remote, cast: &Cast, seen: &Seen) -> anyhow::Result<()> {
    heading("what became of them")?;
    for role in &cast.roles {
        let job = remote.get(&format!("/jobs/{}", role.id), &[]).await?;
        let job: JobView = serde_json::from_value(job)?;
        let label = match job.reason {
            Some(reason) => format!("{} ({reason})", job.label),
            None => job.label,
        };
        say!("\nJob: {} ({}): {label}", role.name, role.id)?;
        say!(
            "{}",
            execution_log(attempts(remote, &role.id).await?.iter())
        )?;
        for line in wrapped(role.lesson) {
            say!("{line}")?;
        }
    }
    say!("\nSchedule: ticker ({})", cast.schedule)?;
    say!(
        "{} of {TICKS} ticks ran, each once and as a job of its own.",
        seen.ticks
    )?;
    say!(
        "\nWebhooks: {} of {WEBHOOKS} arrived, with a signature that is right.",
        seen.webhooks_verified
    )?;
    heading("in short")?;
    for line in wrapped(
        "Every retry was a row in a file with a time on it, not a timer in memory: had this process been killed in the middle, the next one would have gone on. Every attempt left one record that says what failed, which rule decided, and when the next try came.",
    ) {
        say!("{line}")?;
    }
    Ok(say!("It took {}.", live::duration(seen))?)
}

pub fn what_next(url: &str, is_kept: bool) -> anyhow::Result<()> {
    heading("where to go next")?;
    if is_kept {
        say!("  {url}/api/docs   the API, to try out; the server runs until Ctrl-C")?;
        say!("  steadfast jobs list --url {url}")?;
        say!("  steadfast dlq requeue --all --url {url}")?;
        return Ok(());
    }
    say!("  steadfast demo --keep            the same, and the server stays to look around")?;
    say!("  steadfast serve                  a server of your own, on ./steadfast.db")?;
    say!("  steadfast jobs create URL --watch")?;
    Ok(say!(
        "  steadfast policy preview patient a retry policy, drawn"
    )?)
}

async fn attempts(remote: &Remote, id: &str) -> anyhow::Result<Vec<AttemptView>> {
    #[derive(Deserialize)]
    struct History {
        attempts: Vec<AttemptView>,
    }
    let answer = remote.get(&format!("/jobs/{id}/history"), &[]).await?;
    let mut history: History = serde_json::from_value(answer)?;
    history.attempts.reverse();
    Ok(history.attempts)
}

fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

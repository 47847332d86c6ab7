//! Attempts as they happen, one line each.

use std::{collections::HashSet, time::Duration};

use serde::Deserialize;
use steadfast::{Notice, Notices};
use tokio::{sync::watch, time::Instant};

use super::{
    cast::{self, Cast, TICKS, WEBHOOKS},
    heading,
};
use crate::{
    remote::Remote,
    say::{has_colours, say},
    show::{AttemptView, brief},
};

/// What was seen besides the jobs' own histories.
pub struct Seen {
    pub ticks: u32,
    pub webhooks_verified: u32,
    pub took: Duration,
}

pub fn introduce(url: &str) -> anyhow::Result<()> {
    say!("A Steadfast server runs on {url}, with its store in a")?;
    say!("temporary file, beside a target that misbehaves. These jobs are made there:\n")?;
    for (name, does) in cast::names() {
        say!("  {name:<12} {does}")?;
    }
    say!(
        "  {:<12} a schedule: one run each second, {TICKS} times",
        "ticker"
    )?;
    Ok(heading("attempts, as they happen")?)
}

/// Until every job has ended, every tick has run and every webhook has arrived.
pub async fn watch(
    remote: &Remote,
    cast: &Cast,
    mut notices: Notices,
    mut verified: watch::Receiver<u32>,
) -> anyhow::Result<Seen> {
    let started = Instant::now();
    let mut open: HashSet<&str> = cast.roles.iter().map(|role| role.id.as_str()).collect();
    let (mut ticks, mut webhooks) = (0, 0);
    while !open.is_empty() || ticks < TICKS || webhooks < WEBHOOKS {
        let Some(notice) = notices.next().await else {
            break;
        };
        if notice.ended.is_none() {
            continue;
        }
        let id = notice.job.to_string();
        let name = cast.name_of(&id, notice.kind.as_str());
        let attempt = record(remote, &id, &notice).await?;
        say!("{}", line(started.elapsed(), name, &attempt))?;
        if notice.event.is_final() {
            open.remove(id.as_str());
            ticks += u32::from(name == "ticker");
            webhooks += u32::from(name == "webhook");
        }
    }
    let webhooks_verified = *verified.borrow_and_update();
    Ok(Seen {
        ticks,
        webhooks_verified,
        took: started.elapsed(),
    })
}

/// The record that an attempt left.
async fn record(remote: &Remote, id: &str, notice: &Notice) -> anyhow::Result<AttemptView> {
    #[derive(Deserialize)]
    struct History {
        attempts: Vec<AttemptView>,
    }
    let answer = remote.get(&format!("/jobs/{id}/history"), &[]).await?;
    let history: History = serde_json::from_value(answer)?;
    let found = history.attempts.into_iter();
    let mut found = found.filter(|attempt| attempt.attempt == notice.attempt);
    found
        .next()
        .ok_or_else(|| anyhow::anyhow!("an attempt of {id} left no record"))
}

fn line(at: Duration, name: &str, attempt: &AttemptView) -> String {
    let is_good = attempt.status == "SUCCESS";
    let (mark, colour) = if is_good {
        ("✓", "32")
    } else {
        ("✗", "31")
    };
    let mark = match has_colours() {
        true => format!("\x1b[{colour}m{mark}\x1b[0m"),
        false => mark.to_owned(),
    };
    let what = attempt.in_a_word();
    let then = attempt.then_briefly();
    let then = then.map_or(String::new(), |then| format!(" → {then}"));
    let attempt = attempt.name();
    let secs = at.as_secs_f64();
    format!("{secs:>5.1}s {mark} {name:<12} {attempt:<9} {what:<9}{then}")
        .trim_end()
        .to_owned()
}

pub fn duration(seen: &Seen) -> String {
    brief(seen.took)
}

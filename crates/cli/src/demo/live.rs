//! Attempts as they happen, one line each.

use std::{collections::HashSet, time::Duration};

use serde::Deserialize;
use steadfast::{Notice, Notices};
use tokio::{sync::watch, time::Instant};

use super::{
    print_heading,
    scenarios::{DemoJobs, SCENARIOS},
};
use crate::{
    limits::{DEMO_TICKS, DEMO_WEBHOOKS},
    output::{has_colours, print_line},
    remote::Remote,
    show::AttemptView,
};

/// What the jobs' own histories do not hold.
pub struct DemoTotals {
    pub ticks: u32,
    pub webhooks_verified: u32,
    pub took: Duration,
}

pub fn print_intro(url: &str) -> anyhow::Result<()> {
    print_line!("A Steadfast server runs on {url}, with its store in a")?;
    print_line!("temporary file, beside a target that fails in many ways. It gets these jobs:\n")?;
    for scenario in SCENARIOS {
        print_line!("  {:<12} {}", scenario.name, scenario.description)?;
    }
    print_line!(
        "  {:<12} a schedule: one run each second, {DEMO_TICKS} times",
        "ticker"
    )?;
    Ok(print_heading("attempts, as they happen")?)
}

/// Until every job has ended, every tick has run and every webhook has arrived.
pub async fn watch(
    remote: &Remote,
    jobs: &DemoJobs,
    mut notices: Notices,
    mut verified: watch::Receiver<u32>,
) -> anyhow::Result<DemoTotals> {
    let started = Instant::now();
    let mut open: HashSet<&str> = jobs.iter().map(|(_, id)| id).collect();
    let (mut ticks, mut webhooks) = (0, 0);
    while !open.is_empty() || ticks < DEMO_TICKS || webhooks < DEMO_WEBHOOKS {
        let Some(notice) = notices.next().await else {
            break;
        };
        if notice.ended.is_none() {
            continue;
        }
        let id = notice.job.to_string();
        let name = jobs.name_of(&id, notice.kind.as_str());
        let attempt = find_attempt(remote, &id, &notice).await?;
        print_line!("{}", line(started.elapsed(), name, &attempt))?;
        if notice.event.is_final() {
            open.remove(id.as_str());
            ticks += u32::from(name == "ticker");
            webhooks += u32::from(name == "webhook");
        }
    }
    let webhooks_verified = *verified.borrow_and_update();
    Ok(DemoTotals {
        ticks,
        webhooks_verified,
        took: started.elapsed(),
    })
}

/// The record of the attempt that a notice is about.
async fn find_attempt(remote: &Remote, id: &str, notice: &Notice) -> anyhow::Result<AttemptView> {
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
        .ok_or_else(|| anyhow::anyhow!("an attempt of {id} has no record"))
}

fn line(at: Duration, name: &str, attempt: &AttemptView) -> String {
    let is_good = attempt.status == "SUCCESS";
    let (mark, colour) = if is_good {
        ("✓", "32")
    } else {
        ("✗", "31")
    };
    let mark = if has_colours() {
        format!("\x1b[{colour}m{mark}\x1b[0m")
    } else {
        mark.to_owned()
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

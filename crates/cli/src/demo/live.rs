//! Attempts as they happen, one line each.

use std::{collections::HashSet, time::Duration};

use anyhow::Context as _;
use steadfast::{Client, Notice, Notices, job::PageRequest};
use steadfast_api::AttemptBody;
use steadfast_core::{AttemptStatus, explain};
use tokio::{sync::watch, time::Instant};

use super::{
    print_heading,
    scenarios::{DemoJobs, SCENARIOS},
};
use crate::{
    limits::{DEMO_TICKS, DEMO_WEBHOOKS, HISTORY_DEFAULT},
    output::{mark_of, print_line},
    show::{attempt_name, attempt_summary},
};

/// What the jobs' own histories do not hold.
pub struct DemoTotals {
    pub ticks: u32,
    pub webhooks_verified: u32,
    pub took: Duration,
}

pub fn print_intro(url: &str) -> anyhow::Result<()> {
    print_line!("A Steadfast server is running on {url} with a")?;
    print_line!(
        "temporary store, and a target that fails in different ways. These jobs call it:\n"
    )?;
    for scenario in SCENARIOS {
        print_line!("  {:<12} {}", scenario.name, scenario.description)?;
    }
    print_line!(
        "  {:<12} a schedule with one run per second, {DEMO_TICKS} times",
        "ticker"
    )?;
    Ok(print_heading("attempts, as they happen")?)
}

/// Until every job has ended, every tick has run and every webhook has arrived.
pub async fn watch(
    client: &Client,
    jobs: &DemoJobs,
    mut notices: Notices,
    mut verified: watch::Receiver<u32>,
) -> anyhow::Result<DemoTotals> {
    let started = Instant::now();
    let mut open: HashSet<_> = jobs.iter().map(|(_, id)| id).collect();
    let (mut ticks, mut webhooks) = (0, 0);
    while !open.is_empty() || ticks < DEMO_TICKS || webhooks < DEMO_WEBHOOKS {
        let Some(notice) = notices.next().await else {
            break;
        };
        if notice.ended.is_none() {
            continue;
        }
        let name = jobs.name_of(notice.job, &notice.kind);
        let line = attempt_line(client, started.elapsed(), name, &notice).await?;
        print_line!("{line}")?;
        if notice.event.is_final() {
            open.remove(&notice.job);
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

/// The attempt that a notice is about, from its record.
async fn attempt_line(
    client: &Client,
    at: Duration,
    name: &str,
    notice: &Notice,
) -> anyhow::Result<String> {
    let page = PageRequest::first(HISTORY_DEFAULT);
    let history = client.attempts(notice.job, page).await?;
    let mut attempts = history.items.into_iter();
    let attempt = attempts
        .find(|attempt| attempt.attempt == notice.attempt)
        .with_context(|| format!("an attempt of {} has no record", notice.job))?;
    let mark = mark_of(attempt.status == AttemptStatus::Success);
    let decision = explain::decision_brief(&attempt);
    let decision = decision.map_or(String::new(), |decision| format!(" → {decision}"));
    let attempt = AttemptBody::new(attempt, &notice.kind);
    let (retry, summary) = (attempt_name(&attempt), attempt_summary(&attempt));
    let secs = at.as_secs_f64();
    let line = format!("{secs:>5.1}s {mark} {name:<11} {retry:<8} {summary:<8}{decision}");
    Ok(line.trim_end().to_owned())
}

//! `steadfast jobs watch`: one job until it ends, or all of them as they happen.
//!
//! One job is asked for again and again, because its attempts may run on any node; the stream of
//! events only knows those of the node that is asked.

use std::time::Duration;

use http_body_util::BodyExt as _;
use serde_json::Value;

use super::attempts;
use crate::{
    exit::ExitError,
    output::print_line,
    remote::{Remote, part},
    show::{AttemptView, JobView, brief, now, relative},
};

const LOOK_EVERY: Duration = Duration::from_millis(250);
/// More attempts than this between two looks are not to be read anyway.
const NEWEST: u32 = 20;

pub async fn one(remote: &Remote, id: &str) -> anyhow::Result<()> {
    let mut shown = 0;
    let mut label = String::new();
    loop {
        // The job first: an attempt that ends in between is shown at the next look.
        let answer = remote.get(&format!("/jobs/{}", part(id)), &[]).await?;
        let job: JobView = serde_json::from_value(answer)?;
        for attempt in attempts(remote, id, NEWEST).await? {
            if attempt.attempt > shown {
                shown = attempt.attempt;
                told(remote, &attempt)?;
            }
        }
        if !remote.json && (job.has_ended() || shown == 0 && job.label != label) {
            label.clone_from(&job.label);
            match label.as_str() {
                "scheduled" => print_line!("{id} is scheduled, {}", relative(job.run_at, now()))?,
                _ if job.has_ended() => print_line!("{id} {label}")?,
                _ => print_line!("{id} is {label}")?,
            }
        }
        match job.label.as_str() {
            "succeeded" => return Ok(()),
            _ if job.has_ended() => return Err(ExitError::Reported.into()),
            _ => tokio::time::sleep(LOOK_EVERY).await,
        }
    }
}

fn told(remote: &Remote, attempt: &AttemptView) -> anyhow::Result<()> {
    let took = brief(Duration::from_millis(attempt.duration_ms));
    if remote.json {
        return Ok(print_line!(
            "{}",
            serde_json::json!({
                "jobId": attempt.job_id, "attempt": attempt.attempt, "status": attempt.status,
                "durationMs": attempt.duration_ms, "nextRunAt": attempt.next_run_at,
            })
        )?);
    }
    print_line!(
        "  {:<8} {:<8} {took:>6}  {}",
        attempt.name(),
        attempt.status,
        attempt.what()
    )?;
    if let Some(then) = attempt.then() {
        print_line!("  {:26}→ {then}", "")?;
    }
    Ok(())
}

/// News as they come, until the server stops or the reader has seen enough.
pub async fn all(remote: &Remote, tenant: Option<String>) -> anyhow::Result<()> {
    let mut body = remote.events(&[("tenant", tenant)]).await?;
    let mut text = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { break };
        text.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
        while let Some(end) = text.windows(2).position(|pair| pair == b"\n\n") {
            let event: Vec<u8> = text.drain(..end + 2).collect();
            heard(remote, &String::from_utf8_lossy(&event))?;
        }
    }
    Err(ExitError::Unreachable(format!("{} has ended the stream", remote.url)).into())
}

fn heard(remote: &Remote, event: &str) -> anyhow::Result<()> {
    let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
    let (Some(name), Some(data)) = (field("event: "), field("data: ")) else {
        return Ok(());
    };
    let mut data: Value = serde_json::from_str(data)?;
    if remote.json {
        data["event"] = name.into();
        return Ok(print_line!("{data}")?);
    }
    let what = name.strip_prefix("job.").unwrap_or(name);
    let of = |key: &str| data[key].as_str().unwrap_or_default().to_owned();
    let failure = data["failure"]["message"].as_str().unwrap_or_default();
    let next = data["nextRunAt"]
        .as_str()
        .and_then(|text| text.parse().ok());
    let next = next.map_or(String::new(), |next| {
        format!(" → {}", relative(next, now()))
    });
    Ok(print_line!(
        "{} {what:<9} {} attempt {}  {failure}{next}",
        of("jobId"),
        of("kind"),
        data["attempt"],
    )?)
}

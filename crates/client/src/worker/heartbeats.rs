//! Renews the leases of all claims, with one request for those that are due at about the same time,
//! and notifies the handlers whose claims have expired.

use std::{sync::Arc, time::Duration};

use steadfast_api::{HeartbeatEntry, HeartbeatList, HeartbeatResult, HeartbeatsRequest};
use steadfast_core::LogLines;
use tokio::time::{Instant, sleep_until};

use super::held::{HeldClaim, HeldClaims, Report, StopReason};
use crate::{
    client::Client,
    error::ClientError,
    limits::{BATCH_MAX, CLAIM_WAIT, HEARTBEAT_TIMEOUT_MIN, LOG_BYTES_PER_REQUEST_MAX},
};

pub struct Heartbeats {
    pub client: Client,
    pub held: Arc<HeldClaims>,
    pub worker: String,
    /// In place of each job's own lease.
    pub lease: Option<Duration>,
}

/// What a handler says, for one heartbeat.
type UnsentReport = (Option<Arc<Report>>, Option<LogLines>);

/// What the handlers of some claims say. Logs that would make the request too large are sent with
/// the next one.
fn unsent_reports(claims: &[Arc<HeldClaim>]) -> Vec<UnsentReport> {
    let mut room = LOG_BYTES_PER_REQUEST_MAX;
    let reports = claims.iter().map(|held| {
        let log = held.unsent_log().filter(|log| {
            let bytes = serde_json::to_string(log).map_or(usize::MAX, |text| text.len());
            let has_room = bytes <= room;
            room -= if has_room { bytes } else { 0 };
            has_room
        });
        (held.unsent_report(), log)
    });
    reports.collect()
}

impl Heartbeats {
    /// Sends heartbeats for as long as the worker lives.
    pub async fn run(&self) {
        loop {
            let (due, next) = self.due(Instant::now());
            if !due.is_empty() {
                self.send(&due).await;
                continue;
            }
            tokio::select! {
                () = sleep_until(next) => {}
                () = self.held.changed() => {}
            }
        }
    }

    /// The claims to renew now, and until when nothing needs to be done if there are none. A
    /// handler whose lease is over is stopped here; the outcome of one that has ended is still
    /// worth a try.
    fn due(&self, now: Instant) -> (Vec<Arc<HeldClaim>>, Instant) {
        let (mut due, mut soon) = (Vec::new(), Vec::new());
        let mut next = now + CLAIM_WAIT;
        for held in self.held.all() {
            if now >= held.lease_end() && !held.is_ended() {
                let job = held.job.id;
                tracing::warn!(%job, "the lease expired: no heartbeat succeeded in time");
                held.stop(StopReason::LeaseLost);
                self.held.remove(&held);
                continue;
            }
            let beat_at = held.beat_at();
            next = next.min(beat_at);
            if beat_at <= now {
                due.push(held);
            } else if beat_at <= now + held.lease / 6 {
                soon.push(held);
            }
        }
        if !due.is_empty() {
            due.append(&mut soon);
            due.truncate(BATCH_MAX);
        }
        (due, next)
    }

    /// Renews some claims. A log that the server refuses must not cost the leases of all of them, so
    /// they are renewed without it.
    pub async fn send(&self, claims: &[Arc<HeldClaim>]) {
        let mut reports = unsent_reports(claims);
        let mut sent_at = Instant::now();
        let mut answer = self.post(claims, &reports).await;
        if let Err(error) = &answer
            && error.is_refusal_of_content()
            && reports.iter().any(|(_, log)| log.is_some())
        {
            let error = error.with_causes();
            tracing::warn!(claims = claims.len(), error, "logs were refused");
            for (held, (_, log)) in claims.iter().zip(&mut reports) {
                held.drop_log(log.take().map_or(0, |log| log.next()));
            }
            sent_at = Instant::now();
            answer = self.post(claims, &reports).await;
        }
        match answer {
            Ok(list) if list.claims.len() == claims.len() => {
                let results = claims.iter().zip(&reports).zip(&list.claims);
                for ((held, (report, log)), result) in results {
                    self.heed(held, result, sent_at);
                    held.drop_report(report.as_ref());
                    held.drop_log(log.as_ref().map_or(0, LogLines::next));
                }
            }
            Ok(_) => self.plan_again(claims, "the server returned no result for some claims"),
            Err(error) => self.plan_again(claims, &error.with_causes()),
        }
    }

    /// Sends one request. It is given up after a third of the shortest lease, so that there is time
    /// for another.
    async fn post(
        &self,
        claims: &[Arc<HeldClaim>],
        reports: &[UnsentReport],
    ) -> Result<HeartbeatList, ClientError> {
        let entries = claims.iter().zip(reports);
        let request = HeartbeatsRequest {
            worker: self.worker.clone(),
            claims: entries.map(|(held, sent)| self.entry(held, sent)).collect(),
        };
        let shortest = claims.iter().map(|held| held.lease).min();
        let timeout = shortest.unwrap_or_default() / 3;
        let call = self.client.send_heartbeats(&request);
        call.timeout(timeout.max(HEARTBEAT_TIMEOUT_MIN)).await
    }

    fn entry(&self, held: &HeldClaim, (report, log): &UnsentReport) -> HeartbeatEntry {
        let report = report.as_deref();
        HeartbeatEntry {
            id: held.job.id.to_string(),
            fence: held.fence,
            lease: self.lease.map(Into::into),
            note: report.and_then(|report| report.note.clone()),
            progress: report.and_then(|report| report.percent),
            log: log.clone(),
        }
    }

    /// Does what the server says about one claim.
    fn heed(&self, held: &HeldClaim, result: &HeartbeatResult, sent_at: Instant) {
        if !result.ok {
            let job = held.job.id;
            let code = result.code.as_deref().unwrap_or_default();
            if matches!(code, "stale_fence" | "not_found") {
                if !held.is_ended() {
                    tracing::warn!(%job, code, "the claim has expired");
                }
                held.stop(StopReason::LeaseLost);
                self.held.remove(held);
            } else {
                // The report is at fault, and is not sent again.
                let detail = result.detail.as_deref().unwrap_or_default();
                tracing::warn!(%job, code, detail, "a heartbeat was refused");
                held.beat_again(sent_at);
            }
            return;
        }
        if result.timed_out == Some(true) {
            held.stop(StopReason::TimedOut);
        } else if result.cancel_requested == Some(true) {
            held.stop(StopReason::Cancelled);
        }
        held.renew(sent_at);
    }

    fn plan_again(&self, claims: &[Arc<HeldClaim>], error: &str) {
        tracing::warn!(claims = claims.len(), error, "cannot renew leases yet");
        let now = Instant::now();
        for held in claims {
            held.beat_again(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::held::tests::{held_claim, log_lines};

    #[test]
    fn many_logs_of_short_lines_fit_into_requests() {
        let claims: Vec<_> = (0..20).map(held_claim).collect();
        for held in &claims {
            log_lines(held, "x");
        }
        let reports = unsent_reports(&claims);
        let logs: Vec<_> = reports.into_iter().filter_map(|(_, log)| log).collect();
        let bytes: usize = logs
            .iter()
            .map(|log| serde_json::to_string(log).unwrap().len())
            .sum();
        assert!(bytes <= LOG_BYTES_PER_REQUEST_MAX, "{bytes}");
        assert!(!logs.is_empty() && logs.len() < claims.len());
    }
}

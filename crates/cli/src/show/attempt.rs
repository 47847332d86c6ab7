//! One attempt, and why the job went where it went after it.

use std::time::Duration;

use serde::Deserialize;
use steadfast::Timestamp;

use super::brief;

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttemptView {
    pub job_id: String,
    pub attempt: u32,
    pub retry_count: u32,
    pub status: String,
    pub finished_at: Timestamp,
    pub duration_ms: u64,
    pub failure: Option<FailureView>,
    pub response: Option<ResponseView>,
    pub note: Option<String>,
    pub decision: Option<DecisionView>,
    pub next_run_at: Option<Timestamp>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FailureView {
    pub class: String,
    pub http_status: Option<u16>,
    pub message: String,
}

#[derive(Clone, Debug, Deserialize)]
pub struct ResponseView {
    pub status: u16,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DecisionView {
    pub rule: String,
    pub delay_ms: Option<u64>,
    pub jitter: Option<String>,
    pub jittered_ms: Option<u64>,
    pub retry_after_ms: Option<u64>,
    pub cap_ms: Option<u64>,
}

impl AttemptView {
    /// `Initial`, `Retry #1`, …
    pub fn name(&self) -> String {
        match self.retry_count {
            0 => "Initial".to_owned(),
            retry => format!("Retry #{retry}"),
        }
    }

    /// What happened, in a line.
    pub fn what(&self) -> String {
        match (&self.failure, &self.response) {
            (Some(failure), _) => failure.message.clone(),
            (None, Some(response)) => format!("HTTP {}", response.status),
            (None, None) => self.note.clone().unwrap_or_default(),
        }
    }

    /// What happened, as `HTTP 503` or `timeout`.
    pub fn in_a_word(&self) -> String {
        let status = self.response.as_ref().map(|response| response.status);
        match (&self.failure, status) {
            (Some(failure), _) => match failure.http_status {
                Some(status) => format!("HTTP {status}"),
                None => failure.class.clone(),
            },
            (None, Some(status)) => format!("HTTP {status}"),
            (None, None) => "done".to_owned(),
        }
    }

    /// What follows, in a few words.
    pub fn then_briefly(&self) -> Option<String> {
        let decision = self.decision.as_ref()?;
        let Some(next) = self.next_run_at else {
            return decision.why_never();
        };
        let wait = brief(next.since(self.finished_at));
        Some(match decision.retry_after_ms > decision.delay_ms {
            true => format!("again in {wait}, as the target asked"),
            false => format!("again in {wait}, by policy"),
        })
    }

    /// What follows, and why.
    pub fn then(&self) -> Option<String> {
        let decision = self.decision.as_ref()?;
        match self.next_run_at {
            Some(next) => {
                let wait = brief(next.since(self.finished_at));
                Some(format!("next in {wait}: {}", decision.why_then()))
            }
            None => decision.why_never(),
        }
    }
}

impl DecisionView {
    fn why_then(&self) -> String {
        let ms = |millis: u64| brief(Duration::from_millis(millis));
        let mut reasons = Vec::new();
        match (self.rule.as_str(), self.delay_ms) {
            ("rule", Some(delay)) => reasons.push(format!("a rule says {}", ms(delay))),
            (_, Some(delay)) if self.cap_ms == Some(delay) => {
                reasons.push(format!("{} by the policy's cap", ms(delay)));
            }
            (_, Some(delay)) => reasons.push(format!("{} by policy", ms(delay))),
            (rule, None) => reasons.push(rule.replace('_', " ")),
        }
        if let Some(asked) = self.retry_after_ms {
            reasons.push(format!("the target asked for {}", ms(asked)));
        }
        match (self.jitter.as_deref(), self.delay_ms, self.jittered_ms) {
            (None | Some("none"), ..) => {}
            (Some(jitter), before, after) if before != after => {
                reasons.push(format!("{jitter} jitter"));
            }
            _ => {}
        }
        reasons.join(", ")
    }

    fn why_never(&self) -> Option<String> {
        let why = match self.rule.as_str() {
            "exhausted" => "no retries left",
            "non_retryable" => "given up: no retry can mend this",
            "rule" => "given up: a rule says so",
            "at_most_once" => "given up: at most once means no retry",
            "outcome_unknown" => "given up: nobody knows whether it happened",
            "expired" => "given up: maxElapsed has passed",
            "cancelled" => "cancelled",
            "success" => return None,
            other => return Some(other.replace('_', " ")),
        };
        Some(why.to_owned())
    }
}

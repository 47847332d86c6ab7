//! The limits of a gate in words.

use std::fmt::Write as _;

use crate::{explain::brief, values::Timestamp};

use super::{gate::GateLimits, hold::Pause, pace::PaceMode};

impl GateLimits {
    /// Everything that is set but a pause, as `at most 5 running, 10 per 1s, in order`; empty if
    /// nothing is.
    ///
    /// ```
    /// use steadfast_core::GateLimits;
    ///
    /// let limits = GateLimits { max_running: Some(5), ordered: true, ..GateLimits::default() };
    /// assert_eq!(limits.describe(), "at most 5 running, in order");
    /// ```
    pub fn describe(&self) -> String {
        let health = &self.health;
        let parts = [
            self.max_running
                .map(|most| format!("at most {most} running")),
            self.max_waiting
                .map(|most| format!("at most {most} waiting")),
            self.rate.map(|rate| rate.to_string()),
            self.describe_rates(),
            self.ordered.then(|| "in order".to_owned()),
            self.retry_share
                .map(|share| format!("at most {} % retries", share.get() * 100.0)),
            self.weight.map(|weight| format!("weight {}", weight.get())),
            self.hold.map(|hold| format!("hold {hold}")),
            self.share_retry_after.map(|shares| match shares {
                true => "Retry-After applies to all tenants".to_owned(),
                false => "Retry-After applies to one job".to_owned(),
            }),
            self.pace.map(|pace| match pace {
                PaceMode::Learn => "pace is learned".to_owned(),
                PaceMode::Off => "pace is not learned".to_owned(),
            }),
            health
                .min_attempts
                .map(|least| format!("unhealthy after {least} attempts")),
            health
                .min_jobs
                .map(|least| format!("of {least} different jobs")),
            health
                .failed_share
                .map(|share| format!("{} % failed", share * 100.0)),
            health.window.map(|time| format!("within {}", brief(time))),
            health
                .max_hold
                .map(|time| format!("held for at most {}", brief(time))),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        parts.join(", ")
    }

    /// `100,000 tokens per 1m, 500 starts per 1h`.
    fn describe_rates(&self) -> Option<String> {
        let rates: Vec<String> = self.rates.iter().map(ToString::to_string).collect();
        (!rates.is_empty()).then(|| rates.join(", "))
    }
}

impl Pause {
    /// `paused by ann for 5m: the partner moves; ends in 2h`.
    pub fn describe(&self, now: Timestamp) -> String {
        let mut text = "paused".to_owned();
        if let Some(by) = &self.by {
            let _ = write!(text, " by {by}");
        }
        let _ = write!(text, " for {}", brief(now.since(self.since)));
        if let Some(reason) = &self.reason {
            let _ = write!(text, ": {reason}");
        }
        if let Some(until) = self.until {
            if until > now {
                let _ = write!(text, "; ends in {}", brief(until.since(now)));
            } else {
                text.push_str("; ended");
            }
        }
        text
    }

    /// Whether it still holds.
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.until.is_some_and(|until| until <= now)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::flow::{HoldMode, RetryShare};

    #[test]
    fn limits_are_listed_and_a_pause_says_who_and_why() {
        let limits = GateLimits {
            max_running: Some(5),
            rate: "10/s+5".parse().ok(),
            retry_share: RetryShare::new(0.25),
            hold: Some(HoldMode::Auto),
            ..GateLimits::default()
        };
        assert_eq!(
            limits.describe(),
            "at most 5 running, 10 per 1s plus a burst of 5, at most 25 % retries, \
             hold auto"
        );
        assert_eq!(GateLimits::default().describe(), "");
        let since = Timestamp::from_millis(1_767_225_600_000);
        let mut pause = Pause {
            by: Some("ann".to_owned()),
            since,
            reason: Some("the partner moves".to_owned()),
            until: Some(since.plus(Duration::from_secs(3_600))),
        };
        let now = since.plus(Duration::from_secs(300));
        assert_eq!(
            pause.describe(now),
            "paused by ann for 5m: the partner moves; ends in 55m"
        );
        assert!(!pause.is_over(now) && pause.is_over(since.plus(Duration::from_secs(3_600))));
        pause.until = None;
        pause.by = None;
        assert_eq!(pause.describe(now), "paused for 5m: the partner moves");
    }
}

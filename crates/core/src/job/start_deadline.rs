//! Jobs that must not start late.

use std::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{
    job::JobProgress,
    state::JobState,
    values::{Invalid, Timestamp, duration, string_enum},
};

string_enum! {
    /// The end of a job that did not start in time.
    // Exhaustive on purpose: every store must handle each.
    ExpiryAction, "onExpiry" {
        /// It ends `failed`, and waits for a person as a dead letter.
        Fail = "fail",
        /// It ends `cancelled`.
        Cancel = "cancel",
    }
}

/// Until when a job may start, as a request says it: a time, or how long after the creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartBefore {
    /// A time.
    At(Timestamp),
    /// This long after the job was created.
    After(Duration),
}

impl FromStr for StartBefore {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if let Ok(time) = text.parse() {
            return Ok(Self::At(time));
        }
        duration::parse(text).map(Self::After).map_err(|_| {
            let expected =
                "must be a time such as 2026-01-01T12:00:00Z, or a duration such as \"10m\"";
            Invalid::new("startBefore", format!("{text:?}"), expected)
        })
    }
}

impl fmt::Display for StartBefore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(time) => write!(f, "{time}"),
            Self::After(wait) => f.write_str(&duration::format(*wait)),
        }
    }
}

impl Serialize for StartBefore {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for StartBefore {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

/// Until when a job may start its first attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartDeadline {
    at: Timestamp,
    on_expiry: ExpiryAction,
}

impl StartDeadline {
    /// Refuses a time that is not after both now and the time at which the job is due: the job
    /// could never start.
    pub fn new(
        before: StartBefore,
        on_expiry: ExpiryAction,
        due: Timestamp,
        now: Timestamp,
    ) -> Result<Self, Invalid> {
        let at = match before {
            StartBefore::At(time) => time,
            StartBefore::After(wait) => now.plus(wait),
        };
        if at <= now {
            let expected = format!("must be in the future; the current time is {now}");
            return Err(Invalid::new("startBefore", before, expected));
        }
        if at <= due {
            let expected = format!("must be later than runAt ({due})");
            return Err(Invalid::new("startBefore", before, expected));
        }
        Ok(Self { at, on_expiry })
    }

    /// The deadline as a store reads it back.
    pub fn stored(at: Timestamp, on_expiry: ExpiryAction) -> Self {
        Self { at, on_expiry }
    }

    /// When it is too late to start.
    pub fn at(self) -> Timestamp {
        self.at
    }

    /// The end of the job then.
    pub fn on_expiry(self) -> ExpiryAction {
        self.on_expiry
    }

    /// Whether it is too late for this job: it waits, and never started an attempt that counts or
    /// that its handler snoozed. A retry by command takes the deadline away, because a person has
    /// decided that the job shall run.
    pub fn is_missed(self, progress: &JobProgress, now: Timestamp) -> bool {
        let has_started = progress.attempt > 0 || progress.snoozes > 0;
        progress.state == JobState::Waiting && !has_started && now >= self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T0: Timestamp = Timestamp::from_millis(1_767_225_600_000);
    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn a_deadline_is_a_time_or_a_duration_and_lies_ahead() {
        let new = |text: &str, due| {
            let before = text.parse()?;
            StartDeadline::new(before, ExpiryAction::Fail, due, T0)
        };
        let at = |text| new(text, T0).map(StartDeadline::at);
        assert_eq!(at("10m"), Ok(T0.plus(10 * MINUTE)));
        assert_eq!(at("2026-01-01T00:10:00Z"), Ok(T0.plus(10 * MINUTE)));
        let errors = [
            at("soon").unwrap_err(),
            at("0s").unwrap_err(),
            at("2025-12-31T23:59:59Z").unwrap_err(),
            new("5m", T0.plus(5 * MINUTE)).unwrap_err(),
        ];
        let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(lines.join("\n"));
    }

    #[test]
    fn only_a_job_that_never_started_misses_it() {
        let deadline = StartDeadline::stored(T0.plus(MINUTE), ExpiryAction::Cancel);
        let missed = |change: fn(&mut JobProgress), secs| {
            let mut progress = JobProgress::waiting(T0);
            change(&mut progress);
            deadline.is_missed(&progress, T0.plus(Duration::from_secs(secs)))
        };
        assert!(!missed(|_| {}, 59));
        assert!(missed(|_| {}, 60));
        assert!(!missed(|progress| progress.attempt = 1, 60));
        assert!(!missed(|progress| progress.snoozes = 1, 60));
        assert!(!missed(|progress| progress.state = JobState::Running, 60));
        assert!(!missed(|progress| progress.state = JobState::Cancelled, 60));
        // Given back before its handler started: it was never tried.
        assert!(missed(
            |progress| progress.fence = progress.fence.next(),
            60
        ));
    }
}

//! The words for where a job stands, how often it may start, and why it ended.

use std::{fmt, str::FromStr};

use crate::values::string_enum;

string_enum! {
    /// The stored state of a job. People see the [`JobLabel`].
    // Exhaustive on purpose: every store and every page must handle each state.
    JobState, "state" {
        /// Waits for its time or for a free worker; may be claimed from `runAt` on.
        Waiting = "waiting",
        /// A worker holds a claim on it.
        Running = "running",
        /// Ended well.
        Succeeded = "succeeded",
        /// Ended without success: a dead letter until a person retries or discards it.
        Failed = "failed",
        /// Ended because a person or its handler cancelled it.
        Cancelled = "cancelled",
    }
}

impl JobState {
    /// Whether the job has ended; only a person can start it again.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Cancelled)
    }
}

string_enum! {
    /// The state shown to people: derived from state, `runAt`, attempts and the time.
    // Exhaustive on purpose: lists, counts and filters must handle each label.
    JobLabel, "label" {
        /// Waiting, and its first attempt is not due yet.
        Scheduled = "scheduled",
        /// Waiting, and due: the next free worker takes it.
        Ready = "ready",
        /// A worker holds a claim on it.
        Running = "running",
        /// Waiting for the delay after a failed attempt to pass.
        Retrying = "retrying",
        /// Ended well.
        Succeeded = "succeeded",
        /// Ended without success.
        Failed = "failed",
        /// Ended because a person or its handler cancelled it.
        Cancelled = "cancelled",
    }
}

string_enum! {
    /// How often a job may start.
    // Exhaustive on purpose: a promise that some part did not handle would be broken.
    Guarantee, "type" {
        /// Runs until it succeeds or the policy gives up. The default.
        AtLeastOnce = "AT_LEAST_ONCE",
        /// Starts at most once, ever.
        AtMostOnce = "AT_MOST_ONCE",
    }
}

string_enum! {
    /// Why a job ended without success. [`explain::reason`](crate::explain::reason) has the words
    /// for people.
    #[non_exhaustive]
    EndReason, "reason" {
        /// Its first attempt failed, and an AT_MOST_ONCE job has no second.
        AtMostOnce = "at_most_once",
        /// A person or its handler cancelled it.
        Cancelled = "cancelled",
        /// A rule of its policy gave up on the failure.
        Rule = "rule",
        /// The failure is permanent, and no rule of its policy retries it.
        NonRetryable = "non_retryable",
        /// All retries of its policy are used.
        Exhausted = "exhausted",
        /// `maxElapsed` of its policy has passed since its first attempt.
        Expired = "expired",
        /// `startBefore` had passed before its first attempt started.
        ExpiredUnstarted = "expired_unstarted",
        /// A job that it waited for ended without success.
        PrerequisiteFailed = "prerequisite_failed",
        /// An attempt may or may not have taken effect: that of an AT_MOST_ONCE job was lost, or the
        /// question about it was never answered.
        OutcomeUnknown = "outcome_unknown",
    }
}

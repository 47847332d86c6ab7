//! At most one such job: what becomes of a request if there is one already.

use std::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    job::RunAt,
    limits,
    values::{Invalid, Tenant, UniqueKey, duration, hash_number, string_enum},
};

string_enum! {
    /// For how long a unique job is the only one of its key.
    // Exhaustive on purpose: every store must handle each.
    UniqueScope, "unique.while" {
        /// Until it starts. One that waits for a retry has not ended, and counts.
        Waiting = "waiting",
        /// Until it ends.
        Unfinished = "unfinished",
    }
}

string_enum! {
    /// What to do with a request for a unique job that already exists.
    // Exhaustive on purpose: every store must handle each.
    ConflictAction, "unique.onConflict" {
        /// The existing job is returned unchanged.
        Keep = "keep",
        /// The one that waits gets the payload, policy and time of the request, which must be for
        /// the same kind and queue.
        Replace = "replace",
        /// The request is refused.
        Reject = "reject",
    }
}

string_enum! {
    /// The result of a request for a unique job that already existed.
    #[non_exhaustive]
    UniqueResult, "uniqueResult" {
        /// The one that there was is the answer.
        Kept = "kept",
        /// The one that there was is the answer, and starts at another time.
        Moved = "moved",
        /// The one that there was has the payload, policy and time of the request now.
        Replaced = "replaced",
    }
}

/// Makes a job the only one of its key within its tenant.
///
/// ```
/// use steadfast_core::Unique;
///
/// let unique: Unique = serde_json::from_str(r#"{"key": "report:7"}"#).unwrap();
/// assert_eq!(unique.scope.as_str(), "unfinished");
/// assert_eq!(unique.on_conflict.as_str(), "keep");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Unique {
    /// The unique key.
    pub key: UniqueKey,
    /// For how long; until it ends by default.
    #[serde(rename = "while", default = "unfinished")]
    pub scope: UniqueScope,
    /// What to do with a second request; by default it creates no job.
    #[serde(default = "keep")]
    pub on_conflict: ConflictAction,
}

fn unfinished() -> UniqueScope {
    UniqueScope::Unfinished
}

fn keep() -> ConflictAction {
    ConflictAction::Keep
}

/// Lets a unique job wait until no request for it has come for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Debounce {
    pub(super) wait: Duration,
    pub(super) wait_max: Duration,
}

impl Unique {
    /// The number of its key within a tenant, by which a store finds jobs that may have it.
    pub fn number(&self, tenant: &Tenant) -> i64 {
        hash_number(&[tenant.as_str(), self.key.as_str()])
    }
}

impl fmt::Display for Debounce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = duration::format;
        write!(f, "{} up to {}", text(self.wait), text(self.wait_max))
    }
}

impl Debounce {
    /// Refuses a time of zero or more than `wait_max`, one without `unique`, a unique job whose
    /// requests are refused, and one with a time of its own (`run_at`): the wait says when it starts. Without `wait_max`, requests can move the start by
    /// [`limits::DEBOUNCE_FACTOR`] times the wait; [`limits::DEBOUNCE_MAX`] is the most.
    pub fn new(
        wait: Duration,
        wait_max: Option<Duration>,
        unique: Option<&Unique>,
        run_at: RunAt,
    ) -> Result<Self, Invalid> {
        let most = limits::DEBOUNCE_MAX;
        let by_default = wait.saturating_mul(limits::DEBOUNCE_FACTOR).min(most);
        let wait_max = wait_max.unwrap_or(by_default);
        let text = duration::format;
        let Some(unique) = unique else {
            let expected = "requires unique, whose key identifies duplicates";
            return Err(Invalid::new("debounce", text(wait), expected));
        };
        if unique.on_conflict == ConflictAction::Reject {
            let expected = "must be keep or replace with debounce";
            return Err(Invalid::new("unique.onConflict", "\"reject\"", expected));
        }
        let expected = "must be omitted with debounce, which determines the start time";
        run_at.check_now(expected)?;
        if wait_max > most {
            let expected = format!("must be at most {}", text(most));
            return Err(Invalid::new("debounceMax", text(wait_max), expected));
        }
        if wait.is_zero() {
            return Err(Invalid::new("debounce", "0s", "must be more than 0s"));
        }
        if wait > wait_max {
            let expected = format!("must be at most debounceMax ({})", text(wait_max));
            return Err(Invalid::new("debounce", text(wait), expected));
        }
        Ok(Self { wait, wait_max })
    }
}

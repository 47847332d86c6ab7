//! The contract of failure groups.

use std::{fmt, str::FromStr};

use async_trait::async_trait;
use steadfast_core::{
    AuditRecord, Destination, FailureClass, FailureFingerprint, FailureGroup, FailureKey,
    FailureMark, FailureState, Invalid, Kind, Queue, Tenant, Timestamp,
};

use super::{BaseStore, Page, PageRequest};
use crate::error::StoreError;

/// Groups of failures with one cause, with everything that commits have counted.
#[async_trait]
pub trait FailureStore: BaseStore {
    /// Groups that match, those with the most failures first. Walking the cursors meets each match
    /// once, if nothing is counted meanwhile.
    async fn list_failures(
        &self,
        filter: FailureFilter,
        page: PageRequest<FailureCursor>,
    ) -> Result<Page<FailureGroup, FailureCursor>, StoreError>;

    /// Groups that are new or regressed, the newest first; no more than `limit` of each.
    async fn new_failures(&self, limit: usize) -> Result<Vec<FailureGroup>, StoreError>;

    /// Marks a group for a person, with an audit record. Answers with the group after that, or
    /// `None` if there is no such group. A mark that the group already has changes nothing and
    /// leaves no record.
    async fn mark_failure(
        &self,
        key: FailureKey,
        mark: FailureMark,
        by: Option<String>,
        audit: Option<AuditRecord>,
    ) -> Result<Option<FailureGroup>, StoreError>;
}

/// Which groups of failures are meant. `None` matches all; what is given must all hold.
///
/// Callers build it with `..FailureFilter::default()`, so it is not `#[non_exhaustive]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FailureFilter {
    /// Groups of this tenant.
    pub tenant: Option<Tenant>,
    /// The group with this fingerprint.
    pub fingerprint: Option<FailureFingerprint>,
    /// Groups in this state now.
    pub state: Option<FailureState>,
    /// Failures of this class.
    pub class: Option<FailureClass>,
    /// Failures with this HTTP status.
    pub status: Option<u16>,
    /// Failures of jobs of this kind, as far as the group names it.
    pub kind: Option<Kind>,
    /// Failures of jobs that call this system, as far as the group names it.
    pub destination: Option<Destination>,
    /// Failures of jobs of this queue, as far as the group names it.
    pub queue: Option<Queue>,
    /// Part of the pattern or of the example's message, in upper or lower case.
    pub text: Option<String>,
    /// Seen at this time or later.
    pub since: Option<Timestamp>,
    /// Only groups with dead letters.
    pub has_dead_letters: bool,
}

impl FailureFilter {
    /// The reference meaning of the filter; drivers that can ask an index must agree with it.
    pub fn matches(&self, group: &FailureGroup, now: Timestamp) -> bool {
        let tally = &group.tally;
        let failure = tally.example.as_ref().map(|example| &example.failure);
        let (key, kinds, queues) = (&group.key, &tally.kinds.names, &tally.queues.names);
        let destinations = &tally.destinations.names;
        is_any_or(&self.tenant, |tenant| key.tenant == *tenant)
            && is_any_or(&self.fingerprint, |it| key.fingerprint == *it)
            && is_any_or(&self.state, |state| group.state(now) == *state)
            && is_any_or(&self.class, |class| {
                failure.is_some_and(|failure| failure.class == *class)
            })
            && is_any_or(&self.status, |status| {
                failure.is_some_and(|failure| failure.http_status == Some(*status))
            })
            && is_any_or(&self.kind, |kind| kinds.contains(kind.as_str()))
            && is_any_or(&self.queue, |queue| queues.contains(queue.as_str()))
            && is_any_or(&self.destination, |it| destinations.contains(it.as_str()))
            && (!self.has_dead_letters || tally.dead_letters > 0)
            && is_any_or(&self.since, |since| tally.last_seen >= *since)
            && is_any_or(&self.text, |text| {
                let text = text.to_lowercase();
                let message = failure.map(|failure| failure.message.to_lowercase());
                message.is_some_and(|message| message.contains(&text))
                    || group.pattern().to_lowercase().contains(&text)
            })
    }
}

fn is_any_or<T>(wanted: &Option<T>, is_met: impl FnOnce(&T) -> bool) -> bool {
    wanted.as_ref().is_none_or(is_met)
}

/// Groups are listed by how many failures they have; tenant and fingerprint tell apart those with
/// as many.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FailureCursor {
    /// How many failures the group has.
    pub count: u64,
    /// Whose group it is.
    pub tenant: Tenant,
    /// Its fingerprint.
    pub fingerprint: FailureFingerprint,
}

impl FailureCursor {
    /// Where a group stands in the list.
    pub fn of(group: &FailureGroup) -> Self {
        Self {
            count: group.tally.count,
            tenant: group.key.tenant.clone(),
            fingerprint: group.key.fingerprint,
        }
    }
}

impl fmt::Display for FailureCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.count, self.fingerprint, self.tenant)
    }
}

impl FromStr for FailureCursor {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let invalid = || {
            Invalid::new(
                "after",
                format!("{text:?}"),
                "must be a nextCursor of this list",
            )
        };
        let mut parts = text.splitn(3, '-');
        let mut part = || parts.next().ok_or_else(invalid);
        Ok(Self {
            count: part()?.parse().map_err(|_| invalid())?,
            fingerprint: part()?.parse().map_err(|_| invalid())?,
            tenant: Tenant::new(part()?).map_err(|_| invalid())?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_back_as_it_was_given_out() {
        let cursor = FailureCursor {
            count: 12,
            tenant: Tenant::new("acme-eu").unwrap(),
            fingerprint: FailureFingerprint::from_bits(7),
        };
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        for text in [
            "",
            "12",
            "12-x-acme",
            "x-0000000000000007-acme",
            "12-0000000000000007-",
        ] {
            assert!(text.parse::<FailureCursor>().is_err(), "{text}");
        }
    }
}

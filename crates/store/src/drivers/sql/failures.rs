//! Walking a list of groups of failures.
//!
//! An index gives the order, and [`FailureFilter::matches`] decides. A tenant has a bounded number of
//! groups, but there may be many tenants, so a walk ends early with a cursor.

use steadfast_core::{FailureFingerprint, FailureGroup, Invalid, Tenant, Timestamp};

use crate::{
    drivers::sql::values::UnreadableValue,
    limits::{FAILURE_GROUPS_READ_MAX, ROWS_EXAMINED_MAX},
    store::{FailureCursor, FailureFilter, Page, PageRequest},
};

/// A row of a group, as far as it can be read.
pub(crate) struct FailureRow {
    pub cursor: FailureCursor,
    pub group: Option<FailureGroup>,
}

impl FailureRow {
    pub(crate) fn new(
        tenant: &str,
        fingerprint: &str,
        count: i64,
        body: &str,
    ) -> Result<Self, UnreadableValue> {
        let unreadable = |error: Invalid| UnreadableValue::new("group of failures", error);
        let fingerprint: FailureFingerprint = fingerprint.parse().map_err(unreadable)?;
        let cursor = FailureCursor {
            count: u64::try_from(count).unwrap_or(0),
            tenant: Tenant::new(tenant).map_err(unreadable)?,
            fingerprint,
        };
        let group = read_group(body, &cursor);
        Ok(Self { cursor, group })
    }
}

/// A group that cannot be read begins anew when it is counted next.
fn read_group(body: &str, of: &FailureCursor) -> Option<FailureGroup> {
    serde_json::from_str(body)
        .inspect_err(|error| {
            tracing::warn!(tenantId = %of.tenant, fingerprint = %of.fingerprint, %error,
                "cannot decode a failure group");
        })
        .ok()
}

/// How far a walk has come.
pub(crate) struct FailureWalk<'f> {
    filter: &'f FailureFilter,
    now: Timestamp,
    limit: usize,
    pub below: Option<FailureCursor>,
    items: Vec<FailureGroup>,
    examined: usize,
    is_at_end: bool,
}

impl<'f> FailureWalk<'f> {
    /// Rows that are read at once.
    pub(crate) const ROWS: usize = FAILURE_GROUPS_READ_MAX;

    pub(crate) fn new(
        filter: &'f FailureFilter,
        page: &PageRequest<FailureCursor>,
        now: Timestamp,
    ) -> Self {
        Self {
            filter,
            now,
            limit: page.limit,
            below: page.after.clone(),
            items: Vec::new(),
            examined: 0,
            is_at_end: false,
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_at_end || self.items.len() > self.limit || self.examined >= ROWS_EXAMINED_MAX
    }

    pub(crate) fn take(&mut self, rows: Vec<FailureRow>) {
        self.is_at_end = rows.len() < Self::ROWS;
        self.examined += rows.len();
        for FailureRow { cursor, group } in rows {
            let matching = group.filter(|group| self.filter.matches(group, self.now));
            self.items.extend(matching);
            self.below = Some(cursor);
        }
    }

    pub(crate) fn page(mut self) -> Page<FailureGroup, FailureCursor> {
        let is_full = self.items.len() > self.limit;
        self.items.truncate(self.limit);
        let next = match is_full {
            true => self.items.last().map(FailureCursor::of),
            false => self.below.filter(|_| !self.is_at_end),
        };
        Page {
            items: self.items,
            next,
        }
    }
}

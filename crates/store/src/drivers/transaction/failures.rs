//! Rows of failure groups.

use async_trait::async_trait;
use steadfast_core::{FailureGroup, FailureKey, FailureState, Tenant, Timestamp};

use crate::{drivers::driver_error::DriverError, failures::FailureTallies, store::FailureCursor};

/// Rows out.
#[async_trait]
pub(crate) trait FailureReads: Send {
    /// Those of some groups that are stored and can be read.
    async fn failure_groups(
        &mut self,
        keys: &[FailureKey],
    ) -> Result<Vec<FailureGroup>, DriverError>;

    /// Groups of a tenant or of all in the order of a list, below a cursor.
    async fn failure_rows(
        &mut self,
        tenant: Option<&Tenant>,
        below: Option<&FailureCursor>,
        limit: usize,
    ) -> Result<Vec<FailureRow>, DriverError>;

    /// Groups that entered a state at this time or later, the newest first.
    async fn failures_in_state(
        &mut self,
        state: FailureState,
        since: Timestamp,
        limit: usize,
    ) -> Result<Vec<FailureGroup>, DriverError>;

    /// How many groups each of some tenants has.
    async fn count_failure_groups(
        &mut self,
        tenants: &[&str],
    ) -> Result<Vec<(Tenant, usize)>, DriverError>;
}

/// Rows in.
#[async_trait]
pub(crate) trait FailureWrites {
    /// Takes some of what was counted and is not in its group yet.
    async fn take_failure_counts(&mut self) -> Result<FailureTallies, DriverError>;

    async fn save_failure_groups(&mut self, groups: &[FailureGroup]) -> Result<(), DriverError>;
}

/// A row of a group, and the group if it can be read.
pub(crate) struct FailureRow {
    pub cursor: FailureCursor,
    pub group: Option<FailureGroup>,
}

//! The bulk actions that run on this node, for the pages that show their progress.

use std::sync::{
    Arc, Mutex, PoisonError, Weak,
    atomic::{AtomicU64, Ordering},
};

use steadfast_core::{JobCommand, Tenant};

use super::format::thousands;
use crate::{problem::Problem, tenant_limiter::TenantPermit};

/// The bulk operations that run on this node, the newest first. The task of an operation owns
/// it, so that one which ends in any way is gone from here.
#[derive(Default)]
pub struct BulkTracker(Mutex<Vec<Weak<BulkOperation>>>);

/// One action on many jobs.
pub struct BulkOperation {
    pub tenant: Option<Tenant>,
    pub action: BulkAction,
    pub matches: MatchCount,
    pub done: AtomicU64,
    /// Gives room to another one when the operation ends.
    pub _permit: TenantPermit,
}

/// How far an operation has come, for a page.
pub struct BulkProgress {
    pub action: &'static str,
    pub done: u64,
    pub done_text: String,
    pub total: u64,
    pub total_text: String,
}

/// What is done to each job.
#[derive(Clone, Copy)]
pub enum BulkAction {
    Cancel,
    Retry,
    Discard,
}

impl BulkAction {
    pub fn parse(name: Option<&str>) -> Result<Self, Problem> {
        match name {
            Some("cancel") => Ok(Self::Cancel),
            Some("retry") => Ok(Self::Retry),
            Some("discard") => Ok(Self::Discard),
            _ => Err(Problem::invalid("action", "there is no such action")),
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Retry => "retry",
            Self::Discard => "discard",
        }
    }

    pub fn command(self) -> JobCommand {
        match self {
            Self::Cancel => JobCommand::Cancel,
            Self::Retry => JobCommand::Retry { payload: None },
            Self::Discard => JobCommand::Discard,
        }
    }
}

/// How many jobs match, as far as they were counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatchCount {
    pub counted: u64,
    /// There may be more than were counted.
    pub is_lower_bound: bool,
}

impl MatchCount {
    pub fn text(self) -> String {
        let at_least = if self.is_lower_bound { "at least " } else { "" };
        format!("{at_least}{}", thousands(self.counted))
    }
}

impl BulkTracker {
    /// The operations under way of a tenant, or of all.
    pub fn progress(&self, tenant: Option<&Tenant>) -> Vec<BulkProgress> {
        let running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let visible = running
            .iter()
            .filter_map(Weak::upgrade)
            .filter(|it| tenant.is_none() || tenant == it.tenant.as_ref());
        visible.map(|operation| operation.progress()).collect()
    }

    /// Shows an operation for as long as its task holds what this returns.
    pub fn start(&self, operation: BulkOperation) -> Arc<BulkOperation> {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|it| it.strong_count() > 0);
        let operation = Arc::new(operation);
        running.insert(0, Arc::downgrade(&operation));
        operation
    }
}

impl BulkOperation {
    fn progress(&self) -> BulkProgress {
        let done = self.done.load(Ordering::Relaxed);
        BulkProgress {
            action: self.action.name(),
            done,
            done_text: thousands(done),
            total: self.matches.counted.max(done),
            total_text: self.matches.text(),
        }
    }
}

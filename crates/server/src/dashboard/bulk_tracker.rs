//! The bulk actions that run on this node, for the pages that show their progress.

use std::sync::{
    Arc, Mutex, PoisonError, Weak,
    atomic::{AtomicU64, Ordering},
};

use axum::http::StatusCode;
use steadfast_core::{JobCommand, Tenant};

use super::format::thousands;
use crate::{limits, problem::Problem};

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

    pub fn start(&self, operation: BulkOperation) -> Result<Arc<BulkOperation>, Problem> {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|it| it.strong_count() > 0);
        let busy = |detail: String| Problem::new(StatusCode::CONFLICT, "busy", detail);
        let of_tenant = running.iter().filter_map(Weak::upgrade);
        let of_tenant = of_tenant.filter(|it| it.tenant == operation.tenant).count();
        if of_tenant >= limits::BULK_ACTIONS_PER_TENANT_MAX {
            return Err(busy(format!(
                "{of_tenant} bulk actions of this tenant already run on this node; try again when \
                 one has ended"
            )));
        }
        if running.len() >= limits::BULK_ACTIONS_MAX {
            let detail = "this node is busy with bulk actions; try again when one has ended";
            return Err(busy(detail.to_owned()));
        }
        let operation = Arc::new(operation);
        running.insert(0, Arc::downgrade(&operation));
        Ok(operation)
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

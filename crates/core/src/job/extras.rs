//! Fields that only some jobs have; other jobs pay nothing for them.

use crate::{
    audit::Actor,
    job::{
        confirm::ConfirmSettings,
        cost::Cost,
        dependencies::{Dependencies, OnFailure},
        start_deadline::{ExpiryAction, StartBefore, StartDeadline},
        unique::{Debounce, Unique},
    },
    values::{BatchId, Timestamp},
};

/// Fields that only some jobs have.
// Exhaustive on purpose: every store reads and writes each field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobExtras {
    /// Makes it the only one of its key.
    pub unique: Option<Unique>,
    /// Until when it may start its first attempt.
    pub start_deadline: Option<StartDeadline>,
    /// It waits for other jobs, and what it does if one of them fails.
    pub after: Option<OnFailure>,
    /// The batch that it is counted in.
    pub batch: Option<BatchId>,
    /// How it asks whether an attempt took effect.
    pub confirm: Option<ConfirmSettings>,
    /// What an attempt is expected to use.
    pub cost: Option<Cost>,
}

/// Fields that only some requests for a job have.
// Exhaustive on purpose: every store writes each field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewJobExtras {
    /// Makes it the only one of its key.
    pub unique: Option<Unique>,
    /// Lets it wait until no request for it has come for a while.
    pub debounce: Option<Debounce>,
    /// Until when it may start its first attempt, and what becomes of it then.
    pub start_before: Option<(StartBefore, ExpiryAction)>,
    /// The jobs that it waits for.
    pub after: Option<Dependencies>,
    /// The batch that it is added to.
    pub batch: Option<BatchId>,
    /// How it asks whether an attempt took effect.
    pub confirm: Option<ConfirmSettings>,
    /// What an attempt is expected to use.
    pub cost: Option<Cost>,
    /// Who asks for it, if it is unique: a request that changes a stored job is a command on that job.
    pub requested_by: Option<Actor>,
}

impl NewJobExtras {
    /// The extras of a job that is stored at `now`.
    pub(super) fn stored(&self, now: Timestamp) -> JobExtras {
        JobExtras {
            unique: self.unique.clone(),
            start_deadline: self.start_deadline(now),
            after: self.after.as_ref().map(Dependencies::on_failure),
            batch: self.batch,
            confirm: self.confirm.clone(),
            cost: self.cost.clone(),
        }
    }

    pub(super) fn start_deadline(&self, now: Timestamp) -> Option<StartDeadline> {
        let (before, on_expiry) = self.start_before?;
        let at = match before {
            StartBefore::At(time) => time,
            StartBefore::After(wait) => now.plus(wait),
        };
        Some(StartDeadline::stored(at, on_expiry))
    }

    /// What tells two requests apart, as texts. The batch does not: a job that exists by its key is the
    /// same job in whichever batch it is asked for.
    pub(super) fn texts(&self) -> Vec<String> {
        let mut texts = Vec::new();
        if let Some(unique) = &self.unique {
            let Unique {
                key,
                scope,
                on_conflict,
            } = unique;
            texts.push(format!("unique {scope} {on_conflict} {key}"));
        }
        if let Some(debounce) = self.debounce {
            texts.push(format!("debounce {debounce}"));
        }
        if let Some((before, on_expiry)) = self.start_before {
            texts.push(format!("start before {before} {on_expiry}"));
        }
        if let Some(after) = &self.after {
            texts.push(format!("after {}", after.on_failure()));
            texts.extend(after.texts());
        }
        if let Some(confirm) = &self.confirm {
            let confirm = serde_json::to_string(confirm).unwrap_or_default();
            texts.push(format!("confirm {confirm}"));
        }
        if let Some(cost) = &self.cost {
            texts.push(format!("cost {cost}"));
        }
        texts
    }
}

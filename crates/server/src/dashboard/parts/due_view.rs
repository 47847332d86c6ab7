//! Due jobs on a page: how many can start, and what stops the others.

use std::time::Duration;

use steadfast_core::{
    GateScope,
    explain::{brief, thousands},
};
use steadfast_engine::{DueStop, DueSummary};

use crate::{
    dashboard::{
        fields::Fields,
        parts::cure::{Cure, gate_text},
    },
    extract::Caller,
    limits,
};

pub struct DueView {
    pub due: String,
    /// How many of them can start: `12`, or `at most 12`.
    pub startable: String,
    /// When those will have started, at the rate of the last minutes.
    pub cleared_in: Option<String>,
    pub stops: Vec<StopView>,
    /// How many reasons are left out.
    pub hidden: usize,
}

/// Jobs that something stops.
pub struct StopView {
    /// `1,624 held`.
    pub count: String,
    /// What it is about, and its page.
    pub subject: String,
    pub address: String,
    pub cure: Option<Cure>,
}

impl DueView {
    pub fn of(sum: &DueSummary, caller: &Caller) -> Self {
        let per_second = sum.recent_attempts as f64 / limits::RECENT_WINDOW.as_secs_f64();
        let seconds = sum.startable as f64 / per_second;
        let cleared_in = (sum.startable > 0 && per_second > 0.0)
            .then(|| Duration::try_from_secs_f64(seconds.ceil()).ok());
        let at_most = if sum.is_at_most { "at most " } else { "" };
        let shown = sum.stopped.iter().take(limits::DUE_STOPS_MAX);
        Self {
            due: thousands(sum.due),
            startable: format!("{at_most}{}", thousands(sum.startable)),
            cleared_in: cleared_in.flatten().map(brief),
            stops: shown
                .map(|(by, jobs)| StopView::of(by, *jobs, caller))
                .collect(),
            hidden: sum.stopped.len().saturating_sub(limits::DUE_STOPS_MAX),
        }
    }
}

impl StopView {
    fn of(by: &DueStop, jobs: u64, caller: &Caller) -> Self {
        let at =
            |path: &str, name: &str, value: &str| Fields::default().here(path, &[(name, value)]);
        let (state, subject, address, cure) = match by {
            DueStop::Held(to) => (
                "held",
                to.to_string(),
                at("/destinations", "show", to.as_str()),
                Cure::release(to, caller),
            ),
            DueStop::RetryAfter(to) => (
                "asked to wait",
                to.to_string(),
                at("/destinations", "show", to.as_str()),
                Cure::release(to, caller),
            ),
            DueStop::Quota(to) => (
                "out of quota",
                to.to_string(),
                at("/destinations", "show", to.as_str()),
                Cure::release(to, caller),
            ),
            DueStop::Paused(gate) if gate.scope == GateScope::Queue => (
                "paused",
                gate.to_string(),
                at("/queues", "q", &gate.key),
                Cure::resume(gate, caller),
            ),
            DueStop::Paused(gate) => (
                "paused",
                gate.to_string(),
                at("/gates", "edit", &gate_text(gate)),
                Cure::resume(gate, caller),
            ),
            DueStop::NoWorker(kind) => (
                "without a worker",
                format!("kind {kind}"),
                Fields::default().here("/jobs", &[("label", "ready"), ("kind", kind.as_str())]),
                None,
            ),
        };
        Self {
            count: format!("{} {state}", thousands(jobs)),
            subject,
            address,
            cure,
        }
    }
}

#[cfg(test)]
mod tests {
    use steadfast_api::Scope;

    use super::*;

    #[test]
    fn numbers_have_separators_and_a_rate_clears_what_can_start() {
        let caller = Caller {
            scope: Scope::Read,
            tenant: None,
            key: None,
            person: None,
            way: "dashboard",
            agent: None,
        };
        let mut sum = DueSummary::default();
        sum.due = 47_171;
        sum.startable = 1_038;
        sum.is_at_most = true;
        sum.recent_attempts = 2 * limits::RECENT_WINDOW.as_secs();
        sum.stopped = vec![(DueStop::NoWorker("mail".parse().unwrap()), 46_133)];
        let view = DueView::of(&sum, &caller);
        assert_eq!(view.due, "47,171");
        assert_eq!(view.startable, "at most 1,038");
        assert_eq!(view.cleared_in.as_deref(), Some("8m 39s"));
        assert_eq!(view.stops[0].count, "46,133 without a worker");
    }
}

//! Why a job has not started.

use steadfast_core::StartExplanation;

use crate::{
    dashboard::parts::cure::Cure,
    extract::Caller,
    theme::{Layout, PageTime},
};

/// The blockers of a job that has not started.
pub struct StartPanel {
    pub job: String,
    /// Whether it can start, in a sentence.
    pub verdict: &'static str,
    pub blockers: Vec<BlockerRow>,
    /// When it will probably start, and what that is based on.
    pub estimate: Option<(PageTime, String)>,
    pub action: Option<String>,
    /// The same as a button, if there is one.
    pub cure: Option<Cure>,
    /// The address of this page.
    pub here: String,
}

pub struct BlockerRow {
    pub kind: String,
    pub sentence: String,
    pub holders: Vec<String>,
}

impl StartPanel {
    /// `here` is the address of the page that shows it.
    pub fn of(
        explanation: StartExplanation,
        (layout, caller): (&Layout, &Caller),
        here: String,
    ) -> Self {
        let verdict = match (explanation.claimable, explanation.has_no_worker()) {
            (true, true) => "It waits for a worker.",
            (true, false) => "It can start as soon as it is claimed.",
            (false, _) => "It cannot start yet.",
        };
        let cure = explanation.action_blocker;
        let cure = cure.and_then(|place| explanation.blockers.get(place));
        let cure = cure.and_then(|blocker| Cure::of(blocker, explanation.job, caller));
        let blockers = explanation.blockers.into_iter();
        let estimate = explanation.estimate.filter(|it| it.at > layout.now);
        Self {
            verdict,
            cure,
            here,
            job: explanation.job.to_string(),
            blockers: blockers
                .map(|blocker| BlockerRow {
                    kind: blocker.kind.as_str().replace('_', " "),
                    sentence: blocker.sentence,
                    holders: blocker
                        .holders
                        .iter()
                        .map(|it| it.job.to_string())
                        .chain(blocker.jobs.iter().map(ToString::to_string))
                        .collect(),
                })
                .collect(),
            estimate: estimate.map(|it| (layout.time(it.at), it.basis)),
            action: explanation.action,
        }
    }
}

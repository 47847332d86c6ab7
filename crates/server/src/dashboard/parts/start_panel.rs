//! Why a job has not started.

use steadfast_core::StartExplanation;

use crate::theme::{Layout, PageTime};

/// The blockers of a job that has not started.
pub struct StartPanel {
    pub job: String,
    pub claimable: bool,
    pub blockers: Vec<BlockerRow>,
    /// When it will probably start, and what that is based on.
    pub estimate: Option<(PageTime, String)>,
    pub action: Option<String>,
}

pub struct BlockerRow {
    pub kind: String,
    pub sentence: String,
    pub holders: Vec<String>,
}

impl StartPanel {
    pub fn of(explanation: StartExplanation, layout: &Layout) -> Self {
        let blockers = explanation.blockers.into_iter();
        let estimate = explanation.estimate.filter(|it| it.at > layout.now);
        Self {
            job: explanation.job.to_string(),
            claimable: explanation.claimable,
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

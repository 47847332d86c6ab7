//! What callers wait for, and what writes make due.

use std::collections::HashMap;
#[cfg(feature = "postgres")]
use std::{collections::HashSet, sync::Arc};

#[cfg(feature = "postgres")]
use steadfast_core::FlowKey;
use steadfast_core::{Kind, Queue, Tenant, Timestamp};

use crate::{claim::ClaimRequest, lane::Lane, limits::WAKE_LANES_MAX};
#[cfg(feature = "postgres")]
use crate::{
    claim::{DueRange, FlowKeyId},
    limits::RANGE_HINTS_MAX,
};

/// What a caller waits for. Callers with equal ones stand in for each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum WakeInterest {
    /// Whatever happens.
    Everything,
    /// A schedule that may be due.
    Schedules,
    /// Something has happened to a job that others wait for.
    Links,
    /// A job that a claim could take; lists are sorted, and empty ones mean any.
    #[non_exhaustive]
    Jobs {
        /// Only of this tenant.
        tenant: Option<Tenant>,
        /// Only of these queues.
        queues: Vec<Queue>,
        /// Only of these kinds.
        kinds: Vec<Kind>,
        /// Not of these kinds.
        except_kinds: Vec<Kind>,
    },
}

impl WakeInterest {
    /// In the jobs that this request could claim.
    pub fn of(request: &ClaimRequest) -> Self {
        fn sorted<N: Clone + Ord>(names: &[N]) -> Vec<N> {
            let mut names = names.to_vec();
            names.sort_unstable();
            names.dedup();
            names
        }
        Self::Jobs {
            tenant: request.tenant.clone(),
            queues: sorted(&request.queues),
            kinds: sorted(&request.kinds),
            except_kinds: sorted(&request.except_kinds),
        }
    }

    /// As [`ClaimRequest::wants`] says.
    pub(super) fn wants(&self, lane: &Lane) -> bool {
        let Self::Jobs {
            tenant,
            queues,
            kinds,
            except_kinds,
        } = self
        else {
            return *self == Self::Everything;
        };
        tenant.as_ref().is_none_or(|wanted| *wanted == lane.tenant)
            && (queues.is_empty() || queues.binary_search(&lane.queue).is_ok())
            && (kinds.is_empty() || kinds.binary_search(&lane.kind).is_ok())
            && except_kinds.binary_search(&lane.kind).is_err()
    }
}

/// What a write has made due, or due sooner.
#[derive(Clone, Debug, Default)]
pub(crate) struct WakeReasons {
    pub(super) jobs: HashMap<Lane, WaitingJobs>,
    pub(super) schedules: bool,
    /// Something has happened to a job that others wait for. Only this node has to know.
    pub(super) links: bool,
    /// All callers look, whatever they wait for.
    pub(super) all_callers: bool,
    /// Nothing is known of what it is.
    pub(super) everything: bool,
    #[cfg(feature = "postgres")]
    pub(super) ranges: HashMap<DueRange, StripHint>,
    /// Jobs that do not wait there any more, which only this node has to know.
    #[cfg(feature = "postgres")]
    pub(super) left: Vec<(DueRange, Timestamp)>,
    /// Flow keys of which attempts have ended, or the order of whose jobs has changed.
    #[cfg(feature = "postgres")]
    pub(super) ended: HashSet<FlowKeyId>,
}

/// A job waits in a range.
#[cfg(feature = "postgres")]
#[derive(Clone, Debug)]
pub(crate) struct StripHint {
    /// What the range's flow key is, if the hint is of this node.
    pub flow_key: Option<Arc<FlowKey>>,
    pub run_at: Timestamp,
}

/// Jobs of one lane that wait, and did not before.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitingJobs {
    pub count: usize,
    pub earliest: Timestamp,
}

impl WakeReasons {
    /// Nothing is known of what it is.
    pub(crate) fn everything() -> Self {
        Self {
            everything: true,
            ..Self::default()
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        #[cfg(feature = "postgres")]
        let has_ended = !self.ended.is_empty();
        #[cfg(not(feature = "postgres"))]
        let has_ended = false;
        let wakes_all = self.all_callers || self.everything;
        self.jobs.is_empty() && !self.schedules && !self.links && !wakes_all && !has_ended
    }

    /// A job waits in a range.
    #[cfg(feature = "postgres")]
    pub(crate) fn range_waits(
        &mut self,
        range: DueRange,
        flow_key: Option<Arc<FlowKey>>,
        run_at: Timestamp,
    ) {
        if let Some(hint) = self.ranges.get_mut(&range) {
            hint.run_at = hint.run_at.min(run_at);
        } else if self.ranges.len() < RANGE_HINTS_MAX {
            self.ranges.insert(range, StripHint { flow_key, run_at });
        } else {
            self.everything = true;
        }
    }

    /// A job does not wait in a range any more, though it was not claimed.
    #[cfg(feature = "postgres")]
    pub(crate) fn job_left(&mut self, range: DueRange, run_at: Timestamp) {
        self.left.push((range, run_at));
    }

    #[cfg(feature = "postgres")]
    pub(crate) fn left(&self) -> &[(DueRange, Timestamp)] {
        &self.left
    }

    /// An attempt has ended, or the order of jobs has changed.
    #[cfg(feature = "postgres")]
    pub(crate) fn attempt_ended(&mut self, flow_key: FlowKeyId) {
        match self.ended.len() < RANGE_HINTS_MAX {
            true => drop(self.ended.insert(flow_key)),
            false => self.everything = true,
        }
    }

    #[cfg(feature = "postgres")]
    pub(crate) fn ranges(&self) -> &HashMap<DueRange, StripHint> {
        &self.ranges
    }

    #[cfg(feature = "postgres")]
    pub(crate) fn ended(&self) -> &HashSet<FlowKeyId> {
        &self.ended
    }

    /// Whether it does not say what it is.
    #[cfg(feature = "postgres")]
    pub(crate) fn is_unknown(&self) -> bool {
        self.everything
    }

    /// Jobs wait, the first of them for this time.
    pub(crate) fn jobs_wait(&mut self, lane: &Lane, count: usize, earliest: Timestamp) {
        if let Some(waiting) = self.jobs.get_mut(lane) {
            waiting.count += count;
            waiting.earliest = waiting.earliest.min(earliest);
        } else if self.jobs.len() < WAKE_LANES_MAX {
            let waiting = WaitingJobs { count, earliest };
            self.jobs.insert(lane.clone(), waiting);
        } else {
            self.all_callers = true;
        }
    }

    /// The same and others.
    #[cfg(feature = "postgres")]
    pub(crate) fn add(&mut self, other: &Self) {
        self.schedules |= other.schedules;
        self.links |= other.links;
        self.all_callers |= other.all_callers;
        if other.everything {
            self.wake_all();
        }
        for (lane, waiting) in &other.jobs {
            self.jobs_wait(lane, waiting.count, waiting.earliest);
        }
        for (range, hint) in &other.ranges {
            self.range_waits(*range, hint.flow_key.clone(), hint.run_at);
        }
        for flow_key in &other.ended {
            self.attempt_ended(*flow_key);
        }
    }

    /// A schedule may be due, or a run has ended for which a tick waits.
    pub(crate) fn schedule_waits(&mut self) {
        self.schedules = true;
    }

    /// Something has happened to a job that others wait for.
    pub(crate) fn links_changed(&mut self) {
        self.links = true;
    }

    /// Something changed of which nothing is known.
    pub(crate) fn wake_all(&mut self) {
        self.everything = true;
        self.jobs.clear();
    }
}

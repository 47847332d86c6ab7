//! The picture of a certificate: how the system is at each load and time.

use std::time::Duration;

use super::{SystemState, recovery::Course};
use crate::limits;

/// Load against time: where the system does not recover.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CertificatePicture {
    /// The time that the columns cover.
    pub span: Duration,
    /// When the fault begins and ends.
    pub fault: (Duration, Duration),
    /// The lowest load first.
    pub rows: Vec<CertificateRow>,
}

/// What follows from faults at one load.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CertificateRow {
    /// The part of the capacity that the jobs need if each is called once.
    pub load: f64,
    /// Whether it is the load of the settings.
    pub is_given: bool,
    /// The time from the end of the fault to recovery, for the worst of the faults; `None` if one of
    /// them is not recovered from.
    pub recovers_after: Option<Duration>,
    /// The worst state in each column.
    pub states: Vec<SystemState>,
}

/// The runs of all faults at one load.
pub struct Runs {
    pub load: f64,
    pub is_given: bool,
    pub courses: Vec<Course>,
}

impl Runs {
    /// As in [`CertificateRow::recovers_after`].
    pub fn recovers_after(&self) -> Option<Duration> {
        let each = self.courses.iter().map(Course::recovers_after);
        each.collect::<Option<Vec<_>>>()?.into_iter().max()
    }
}

impl CertificatePicture {
    pub(super) fn new(mut runs: Vec<Runs>, outage: Duration) -> Self {
        runs.sort_by(|one, other| one.load.total_cmp(&other.load));
        let from = limits::CERTIFICATE_WARM_UP;
        let to = from + outage;
        let longest = runs.iter().filter_map(Runs::recovers_after).max();
        // Some time in which nothing changes shows that it stays so.
        let after = longest.unwrap_or_default().max(outage) * 5 / 4;
        let span = to + after;
        let rows = runs.iter().map(|runs| CertificateRow {
            load: runs.load,
            is_given: runs.is_given,
            recovers_after: runs.recovers_after(),
            states: worst_states(&runs.courses, span),
        });
        Self {
            span,
            fault: (from, to),
            rows: rows.collect(),
        }
    }
}

fn worst_states(courses: &[Course], span: Duration) -> Vec<SystemState> {
    let mut worst = vec![SystemState::Well; limits::CERTIFICATE_COLUMNS];
    for course in courses {
        let states = course.states(span, limits::CERTIFICATE_COLUMNS);
        for (worst, state) in worst.iter_mut().zip(states) {
            *worst = (*worst).max(state);
        }
    }
    worst
}

//! Requests to create or change a schedule.

use std::time::Duration;

use steadfast_core::{
    Cron, Invalid, MissedTickPolicy, OverlapPolicy, Tick, TickRule, Timestamp, Timetable, Zone,
};

use crate::client::request::JobRequest;

/// A schedule to be created, or to be updated if there is one of its name.
#[derive(Clone, Debug)]
pub struct ScheduleRequest {
    pub(crate) name: String,
    rule: Result<TickRule, Invalid>,
    zone: Option<String>,
    pub(crate) job: JobRequest,
    start_at: Option<Timestamp>,
    end_at: Option<Timestamp>,
    max_runs: Option<u64>,
    overlap: OverlapPolicy,
    missed: MissedTickPolicy,
}

impl ScheduleRequest {
    /// A schedule by cron rule: five or six fields (seconds first), or a name like `@hourly`.
    pub fn cron(name: &str, cron: &str, job: impl Into<JobRequest>) -> Self {
        let rule = Cron::parse(cron).map(|cron| TickRule::Cron {
            cron,
            zone: Zone::utc(),
        });
        Self::new(name, rule, job.into())
    }

    /// A schedule at equal distances, from `start_at` or from current.
    pub fn every(name: &str, every: Duration, job: impl Into<JobRequest>) -> Self {
        Self::new(name, Ok(TickRule::Every(every)), job.into())
    }

    fn new(name: &str, rule: Result<TickRule, Invalid>, job: JobRequest) -> Self {
        Self {
            name: name.to_owned(),
            rule,
            zone: None,
            job,
            start_at: None,
            end_at: None,
            max_runs: None,
            overlap: OverlapPolicy::default(),
            missed: MissedTickPolicy::default(),
        }
    }

    /// The time zone of a cron rule by its IANA name, as `Europe/Paris`; UTC by default.
    #[must_use]
    pub fn timezone(mut self, zone: &str) -> Self {
        self.zone = Some(zone.to_owned());
        self
    }

    /// No tick before this time.
    #[must_use]
    pub fn start_at(mut self, time: impl Into<Timestamp>) -> Self {
        self.start_at = Some(time.into());
        self
    }

    /// No tick at or after this time.
    #[must_use]
    pub fn end_at(mut self, time: impl Into<Timestamp>) -> Self {
        self.end_at = Some(time.into());
        self
    }

    /// No further tick after this many runs.
    #[must_use]
    pub fn max_runs(mut self, runs: u64) -> Self {
        self.max_runs = Some(runs);
        self
    }

    /// What happens at a tick while the run before it has not ended.
    #[must_use]
    pub fn overlap(mut self, overlap: OverlapPolicy) -> Self {
        self.overlap = overlap;
        self
    }

    /// What happens to ticks that passed while no node was running.
    #[must_use]
    pub fn missed(mut self, missed: MissedTickPolicy) -> Self {
        self.missed = missed;
        self
    }

    /// The first `count` ticks after `from`.
    pub fn preview(&self, from: impl Into<Timestamp>, count: usize) -> Result<Vec<Tick>, Invalid> {
        Ok(self.timetable()?.preview(from.into(), count))
    }

    pub(crate) fn timetable(&self) -> Result<Timetable, Invalid> {
        let rule = in_zone(self.rule.clone()?, self.zone.as_deref())?;
        let timetable = Timetable::new(rule)?
            .with_window(self.start_at, self.end_at)?
            .with_max_runs(self.max_runs)?
            .with_overlap(self.overlap)
            .with_missed(self.missed);
        timetable.check_policies()?;
        Ok(timetable)
    }
}

/// Changes to a schedule; what is `None` stays. Every field is optional, so a new one breaks no
/// caller that ends with `..ScheduleEdit::default()`.
#[derive(Clone, Debug, Default)]
pub struct ScheduleEdit {
    /// Another cron rule; not together with `every`.
    pub cron: Option<String>,
    /// Another distance between ticks; not together with `cron`.
    pub every: Option<Duration>,
    /// Another time zone, of a cron rule.
    pub timezone: Option<String>,
    /// No tick before this time; `Some(None)` takes the limit away.
    pub start_at: Option<Option<Timestamp>>,
    /// No tick at or after this time; `Some(None)` takes the limit away.
    pub end_at: Option<Option<Timestamp>>,
    /// No further tick after this many runs in total; `Some(None)` removes the limit.
    pub max_runs: Option<Option<u64>>,
    /// What happens at a tick while the run before it has not ended.
    pub overlap: Option<OverlapPolicy>,
    /// What happens to ticks that passed while no node was running.
    pub missed: Option<MissedTickPolicy>,
    /// The job of each future run.
    pub job: Option<JobRequest>,
}

impl ScheduleEdit {
    pub(crate) fn apply_to(&self, current: &Timetable) -> Result<Timetable, Invalid> {
        let rule = match (&self.cron, self.every, current.rule()) {
            (Some(cron), Some(_), _) => {
                let expected = "must be omitted if every is given";
                return Err(Invalid::new("schedule", format!("{cron:?}"), expected));
            }
            (Some(cron), None, TickRule::Cron { zone, .. }) => TickRule::Cron {
                cron: Cron::parse(cron)?,
                zone: zone.clone(),
            },
            (Some(cron), None, TickRule::Every(_)) => TickRule::Cron {
                cron: Cron::parse(cron)?,
                zone: Zone::utc(),
            },
            (None, Some(every), _) => TickRule::Every(every),
            (None, None, rule) => rule.clone(),
        };
        let rule = in_zone(rule, self.timezone.as_deref())?;
        let start_at = self.start_at.unwrap_or(current.start_at());
        let timetable = Timetable::new(rule)?
            .with_window(start_at, self.end_at.unwrap_or(current.end_at()))?
            .with_max_runs(self.max_runs.unwrap_or(current.max_runs()))?
            .with_overlap(self.overlap.unwrap_or(current.overlap()))
            .with_missed(self.missed.unwrap_or(current.missed()));
        if self.overlap.is_some() || self.missed.is_some() {
            timetable.check_policies()?;
        }
        Ok(timetable)
    }
}

fn in_zone(mut rule: TickRule, name: Option<&str>) -> Result<TickRule, Invalid> {
    if let Some(name) = name {
        match &mut rule {
            TickRule::Cron { zone, .. } => *zone = Zone::parse(name)?,
            TickRule::Every(_) => {
                let expected = "must be omitted: an interval has no time zone";
                return Err(Invalid::new("timezone", format!("{name:?}"), expected));
            }
        }
    }
    Ok(rule)
}

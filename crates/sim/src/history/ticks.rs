//! Schedules and their ticks.

use std::{collections::BTreeMap, time::Duration};

use steadfast_core::{Job, JobId, ScheduleId, ScheduleProgress, Timestamp};
use steadfast_store::{FireRequest, FireResult};

use super::{Event, History};
use crate::Invariant;

/// A schedule with even ticks, and what became of them.
#[derive(Clone, Debug)]
pub struct ExpectedSchedule {
    pub every: Duration,
    pub first: Timestamp,
    pub fired: BTreeMap<Timestamp, JobId>,
    pub skipped: Vec<(Timestamp, Timestamp)>,
    pub progress: ScheduleProgress,
}

impl History {
    pub fn scheduled(&mut self, id: ScheduleId, every: Duration, progress: ScheduleProgress) {
        let Some(first) = progress.next_tick else {
            return;
        };
        let known = ExpectedSchedule {
            every,
            first,
            fired: BTreeMap::new(),
            skipped: Vec::new(),
            progress,
        };
        self.schedules.entry(id).or_insert(known);
    }

    /// `runs` are the runs of the firing that still exist.
    pub fn fired(
        &mut self,
        firing: &FireRequest,
        answer: FireResult,
        runs: &[Option<Job>],
        now: Timestamp,
    ) {
        if answer != FireResult::Done {
            self.count_check(Invariant::TicksOnce);
            if runs.iter().any(Option::is_some) {
                let why = "runs of an outdated firing were stored";
                self.broken(Invariant::TicksOnce, None, why);
            }
            return;
        }
        let Some(mut known) = self.schedules.remove(&firing.schedule) else {
            return;
        };
        known.progress = firing.progress;
        let skips = firing.skipped.iter().map(|skip| (skip.from, skip.to));
        known.skipped.extend(skips);
        for (run, stored) in firing.runs.iter().zip(runs) {
            let Some(tick) = run.scheduled_run.map(|run| run.tick) else {
                continue;
            };
            self.count_check(Invariant::TicksOnce);
            self.tell(now, run.id, Event::Fired { tick });
            let before = known.fired.get(&tick).copied();
            match (stored, before) {
                (Some(job), None) => {
                    known.fired.insert(tick, job.id);
                    self.learn(job, now);
                }
                (None, Some(_)) => {}
                (Some(_), Some(_)) => {
                    let why = format!("the tick {tick} fires for the second time");
                    self.broken(Invariant::TicksOnce, run.id, why);
                }
                (None, None) => {
                    let why = format!("the tick {tick} fired without a run");
                    self.broken(Invariant::TicksOnce, run.id, why);
                }
            }
        }
        self.schedules.insert(firing.schedule, known);
    }

    /// Each tick that is dealt with has fired or was skipped, and not both.
    pub(crate) fn check_ticks(&mut self) {
        let mut found = Vec::new();
        for known in self.schedules.values() {
            let end = match known.progress.next_tick {
                Some(next) => next,
                None => known
                    .progress
                    .last_tick
                    .map_or(known.first, |last| last.plus(known.every)),
            };
            let mut tick = known.first;
            while tick < end {
                let fired = usize::from(known.fired.contains_key(&tick));
                let covers = |(from, to): &&(Timestamp, Timestamp)| (*from..=*to).contains(&tick);
                let skipped = known.skipped.iter().filter(covers).count();
                let waits = usize::from(known.progress.queued_tick == Some(tick));
                found.push((tick, fired + skipped + waits));
                tick = tick.plus(known.every);
            }
        }
        for (tick, fates) in found {
            self.count_check(Invariant::TicksOnce);
            if fates != 1 {
                let why = format!("the tick {tick} is accounted for {fates} times");
                self.broken(Invariant::TicksOnce, None, why);
            }
        }
    }
}

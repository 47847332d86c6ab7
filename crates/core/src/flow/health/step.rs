//! The next health of a destination: the one place that decides it.

use std::time::Duration;

use super::{
    DestinationHealth, HealthReport, HealthRules, OutcomeCounts, Phase, SharedRetryAfter,
    TenantCounts,
    incident::{HoldInterval, Incident, IncidentCause, ManualHold},
};
use crate::{
    flow::{hold::HoldMode, pace::LearnedPace, shared_quota::SharedQuota},
    limits,
    values::Timestamp,
};

/// The input of a step. Without any input, time alone may change the health.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HealthInput<'a> {
    /// The counts of a node.
    pub report: Option<&'a HealthReport>,
    /// How many due jobs wait because of the destination's health; `None` if that is not known.
    pub waiting: Option<u64>,
    /// The command of a person.
    pub command: Option<&'a HoldCommand>,
}

/// A person's command for a destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HoldCommand {
    /// Start nothing, not even a probe.
    Hold {
        /// Who; `None` if that is not known.
        by: Option<String>,
        /// For people.
        reason: Option<String>,
        /// When it is released by itself; it must be in the future.
        until: Option<Timestamp>,
    },
    /// Start jobs again, faster from second to second, and forget what the destination asked for.
    Release {
        /// Who; `None` if that is not known.
        by: Option<String>,
    },
}

/// The result of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct HealthChange {
    /// The document to store, if the stored one has not changed since.
    pub health: DestinationHealth,
    /// Events to report once it is stored.
    pub event: Option<HealthEvent>,
    /// How many probes, or ramps after one, it shows to have failed.
    pub failed_probes: u32,
    /// Jobs that were held start again, slowly at first.
    pub is_released: bool,
}

/// An event that people should learn of.
#[derive(Clone, Debug, PartialEq)]
pub enum HealthEvent {
    /// An incident has begun.
    Began(Incident),
    /// An incident is over.
    Ended(Incident),
}

impl DestinationHealth {
    /// Decides what follows; `None` if nothing changes, and nothing needs to be stored.
    pub fn step(
        &self,
        input: HealthInput<'_>,
        rules: &HealthRules,
        now: Timestamp,
    ) -> Option<HealthChange> {
        let mut next = self.clone();
        next.correct_clock(now);
        next.counts.keep_window(rules.window, now);
        next.by_tenant.keep_window(rules.window, now);
        if next
            .retry_after
            .is_some_and(|retry_after| retry_after.until <= now)
        {
            next.retry_after = None;
        }
        next.quota = next.quota.filter(|quota| quota.until > now);
        if let Some(report) = input.report {
            next.add_report(report, rules, now);
        }
        match input.command {
            Some(command) => next.obey(command, now),
            None => next.advance(input.waiting, rules, now),
        }
        if let (Some(incident), Some(waiting)) = (&mut next.incident, input.waiting) {
            incident.jobs_delayed = incident.jobs_delayed.max(waiting);
        }
        let event = match (&self.incident, &next.incident) {
            (None, Some(began)) => Some(HealthEvent::Began(began.clone())),
            (Some(_), None) => next.past_incidents.first().cloned().map(HealthEvent::Ended),
            _ => None,
        };
        let failed_probes =
            |health: &Self| health.incident.as_ref().map_or(0, |it| it.failed_probes);
        let is_ramping = |health: &Self| matches!(health.phase, Phase::Ramping { .. });
        (next != *self).then(|| HealthChange {
            event,
            failed_probes: failed_probes(&next).saturating_sub(failed_probes(self)),
            is_released: is_ramping(&next) && !is_ramping(self),
            health: next,
        })
    }

    /// When time alone may change something, so that a step should be taken; `None` if never.
    pub fn next_step_at(&self, rules: &HealthRules, now: Timestamp) -> Option<Timestamp> {
        let by_phase = match self.phase {
            Phase::Healthy => None,
            Phase::Held { .. } => self.give_up_at(rules),
            Phase::HeldByHand { until } => until,
            Phase::Ramping { since, .. } => Some(since.plus(limits::RAMP_STEP)),
            Phase::GivenUp => Some(now.plus(limits::HEALTH_PIECE)),
        };
        let by_counts = (!self.counts.is_empty()).then(|| now.plus(limits::HEALTH_PIECE));
        let by_retry_after = self.retry_after.map(|retry_after| retry_after.until);
        let by_quota = self.quota.map(|quota| quota.until);
        let times = by_phase.into_iter().chain(by_counts);
        let times = times.chain(by_retry_after).chain(by_quota);
        times.min().map(|at| at.max(now))
    }

    /// Times that lie ahead although they cannot were written before the clock was set back.
    fn correct_clock(&mut self, now: Timestamp) {
        let latest = now.plus(limits::CLOCK_STEP_MAX);
        let correct = |at: &mut Timestamp| {
            if *at > latest {
                *at = now;
            }
        };
        let wait = self.probe_wait();
        match &mut self.phase {
            Phase::Held { next_probe_at } if *next_probe_at > latest.plus(wait) => {
                *next_probe_at = now.plus(wait);
            }
            Phase::Ramping { since, .. } => correct(since),
            _ => {}
        }
        correct(&mut self.counted_from);
        let starts = [
            &mut self.last_good_start,
            &mut self.last_bad_start,
            &mut self.last_unclear_start,
        ];
        starts.into_iter().flatten().for_each(correct);
        if let Some(incident) = &mut self.incident {
            correct(&mut incident.began_at);
            incident.recovered_at.iter_mut().for_each(correct);
        }
        if let Some(hold) = &mut self.hold {
            correct(&mut hold.from);
        }
        if let Some(retry_after) = &mut self.retry_after
            && retry_after.at > latest
        {
            *retry_after = retry_after.not_in_future(now);
        }
        if let Some(quota) = &mut self.quota
            && quota.at > latest
        {
            *quota = quota.not_in_future(now);
        }
        if let Some(pace) = &mut self.pace {
            pace.correct_clock(now);
        }
        let oldest = now.minus(limits::HEALTH_REPORT_MEMORY);
        let newest = now.plus(limits::HEALTH_REPORT_MEMORY);
        self.reports.retain(|_, at| (oldest..=newest).contains(at));
    }

    fn add_report(&mut self, report: &HealthReport, rules: &HealthRules, now: Timestamp) {
        let known = self.reports.get(&report.node);
        if known.is_some_and(|known| report.at <= *known) {
            return;
        }
        self.remember(report);
        let content = &report.content;
        self.last_good_start = self.last_good_start.max(content.last_good_start);
        self.last_bad_start = self.last_bad_start.max(content.last_bad_start);
        self.last_unclear_start = self.last_unclear_start.max(content.last_unclear_start);
        let retry_after = content
            .retry_after
            .filter(|retry_after| retry_after.until > now);
        self.retry_after = SharedRetryAfter::later(self.retry_after, retry_after);
        let quota = content.quota.filter(|quota| quota.until > now);
        self.quota = SharedQuota::current(self.quota, quota);
        if let Some(counts) = &content.pace {
            let pace = self.pace.take().unwrap_or_else(|| LearnedPace::new(now));
            self.pace = Some(pace.step(counts, now));
        }
        self.minutes.add(&content.counts);
        let dead_letters = u64::from(content.dead_letters);
        if let Some(known) = self
            .incident
            .as_mut()
            .and_then(|it| it.dead_letters.as_mut())
        {
            *known = known.saturating_add(dead_letters);
        }
        // The node did not know yet from when attempts count.
        if content.counted_from != self.counted_from {
            return;
        }
        self.counts.merge(&content.counts);
        self.counts.keep_window(rules.window, now);
        self.by_tenant.merge(&content.by_tenant);
        self.by_tenant.keep_window(rules.window, now);
        let tenants = match &mut self.incident {
            Some(incident) => &mut incident.tenants,
            None => &mut self.tenants,
        };
        tenants.extend(content.tenants.iter().cloned());
        while tenants.len() > limits::HEALTH_TENANTS_MAX {
            tenants.pop_last();
        }
        if let Some(incident) = &mut self.incident {
            let failed = u64::from(content.counts.failed());
            incident.failed_attempts = incident.failed_attempts.saturating_add(failed);
            return;
        }
        let are_bad_for_all = self.by_tenant.is_empty() || self.by_tenant.are_bad(rules);
        if self.counts.are_bad(rules) && are_bad_for_all {
            let cause = IncidentCause::Failures {
                attempts: self.counts.ended(),
                failed: self.counts.failed(),
                jobs: self.counts.jobs(),
                newest: content.newest_failure.clone(),
            };
            self.incident = Some(Incident {
                tenants: std::mem::take(&mut self.tenants),
                dead_letters: Some(dead_letters),
                ..Incident::new(cause, now)
            });
            self.hold(now);
        }
    }

    fn remember(&mut self, report: &HealthReport) {
        self.reports.insert(report.node.clone(), report.at);
        while self.reports.len() > limits::HEALTH_NODES_MAX {
            let oldest = self.reports.iter().min_by_key(|(_, at)| **at);
            let Some(oldest) = oldest.map(|(node, _)| node.clone()) else {
                return;
            };
            self.reports.remove(&oldest);
        }
    }

    fn advance(&mut self, waiting: Option<u64>, rules: &HealthRules, now: Timestamp) {
        match self.phase {
            Phase::Healthy => {
                // As in `HealthTally::is_worth_reporting`.
                if self.counts.failed_share() < rules.failed_share / 2.0 {
                    self.counts = OutcomeCounts::default();
                    self.by_tenant = TenantCounts::default();
                }
                if self.counts.is_empty() {
                    self.tenants.clear();
                }
            }
            Phase::Held { next_probe_at } => {
                if self.give_up_at(rules).is_some_and(|end| end <= now) {
                    self.give_up(now);
                } else if self.recent(now).are_good(rules) {
                    // Where attempts go on, a probe is not needed to see it.
                    self.ramp(now);
                } else {
                    self.read_probe(next_probe_at, now);
                }
            }
            Phase::HeldByHand { until } => {
                if until.is_some_and(|until| until <= now) {
                    self.ramp(now);
                }
            }
            Phase::Ramping { level, since } => {
                self.advance_ramp(level, since, waiting, rules, now);
            }
            Phase::GivenUp => {
                let since = self.counted_from;
                let answers = self.last_good_start.is_some_and(|start| start >= since)
                    && self.counts.failed_share() < rules.failed_share;
                let is_unused = self.counts.failed() == 0 && since.plus(rules.window) <= now;
                if answers || is_unused {
                    self.end(now);
                }
            }
        }
    }

    /// An attempt that started when a probe might is one.
    fn read_probe(&mut self, due: Timestamp, now: Timestamp) {
        let [good, bad, unclear] = [
            self.last_good_start,
            self.last_bad_start,
            self.last_unclear_start,
        ]
        .map(|start| start.filter(|start| *start >= due));
        if good > bad {
            self.ramp(now);
        } else if bad.is_some() {
            if let Some(incident) = &mut self.incident {
                incident.failed_probes = incident.failed_probes.saturating_add(1);
            }
            self.hold(now);
        } else if unclear.is_some() {
            self.hold(now);
        }
    }

    fn advance_ramp(
        &mut self,
        level: u32,
        since: Timestamp,
        waiting: Option<u64>,
        rules: &HealthRules,
        now: Timestamp,
    ) {
        let recent = self.recent(now);
        // What fails for one tenant only is held for that one only.
        let fails_for_one = self.failing_lately(now) == Some(1);
        if recent.failed() > 0 && !fails_for_one && recent.failed_share() >= rules.failed_share {
            self.by_hand = None;
            if let Some(incident) = &mut self.incident {
                incident.failed_probes = incident.failed_probes.saturating_add(1);
            }
            match self.give_up_at(rules).is_some_and(|end| end <= now) {
                true => self.give_up(now),
                false => self.hold(now),
            }
            return;
        }
        // Each level shows that it is borne before the next one begins: if calls hang, nothing fails
        // for a while.
        let is_over = since.plus(limits::RAMP_STEP) <= now;
        let is_after = |start: Option<Timestamp>| start.is_some_and(|start| start > since);
        // People release all jobs, also those of which only their tenants know whether they succeed.
        let is_borne = is_after(self.last_good_start)
            || (self.by_hand.is_some() && is_after(self.last_unclear_start));
        // Jobs that wait may be kept back by something else.
        let is_unused = since.plus(rules.window) <= now;
        let is_done = is_borne && level >= limits::RAMP_LEVEL_MAX;
        if is_over && (waiting == Some(0) || is_done || is_unused) {
            if let Some(incident) = &mut self.incident {
                incident.has_caught_up = waiting == Some(0);
            }
            self.end(now);
        } else if is_over && is_borne {
            self.phase = Phase::Ramping {
                level: level + 1,
                since: now,
            };
        }
    }

    fn recent(&self, now: Timestamp) -> OutcomeCounts {
        let mut recent = self.counts.clone();
        recent.keep_window(limits::RAMP_WINDOW, now);
        recent
    }

    /// Of how many tenants attempts failed lately, if those of several are counted.
    fn failing_lately(&self, now: Timestamp) -> Option<usize> {
        let mut recent = self.by_tenant.clone();
        recent.keep_window(limits::RAMP_WINDOW, now);
        (!recent.is_empty()).then(|| recent.failing())
    }

    fn obey(&mut self, command: &HoldCommand, now: Timestamp) {
        match command {
            HoldCommand::Hold { by, reason, until } => {
                let cause = IncidentCause::ByHand {
                    by: by.clone(),
                    reason: reason.clone(),
                };
                let since = match (&self.by_hand, self.phase) {
                    (Some(known), Phase::HeldByHand { .. }) => known.since,
                    _ => now,
                };
                self.incident
                    .get_or_insert_with(|| Incident::new(cause, now));
                if !matches!(self.phase, Phase::HeldByHand { .. }) {
                    self.restart_counts(now);
                }
                self.by_hand = Some(ManualHold {
                    by: by.clone(),
                    since,
                    reason: reason.clone(),
                });
                self.phase = Phase::HeldByHand { until: *until };
                self.begin_hold(now);
            }
            HoldCommand::Release { by } => {
                self.retry_after = None;
                self.quota = None;
                if matches!(self.phase, Phase::Held { .. } | Phase::HeldByHand { .. }) {
                    if let Some(incident) = &mut self.incident {
                        incident.released_by.clone_from(by);
                    }
                    self.ramp(now);
                }
            }
        }
    }

    fn hold(&mut self, now: Timestamp) {
        self.set_recovered(None);
        if !matches!(self.phase, Phase::Held { .. }) {
            self.restart_counts(now);
        }
        self.phase = Phase::Held {
            next_probe_at: now.plus(self.probe_wait()),
        };
        self.begin_hold(now);
    }

    fn ramp(&mut self, now: Timestamp) {
        self.set_recovered(Some(now));
        self.restart_counts(now);
        self.phase = Phase::Ramping {
            level: 0,
            since: now,
        };
    }

    fn set_recovered(&mut self, at: Option<Timestamp>) {
        if let Some(incident) = &mut self.incident {
            incident.recovered_at = at;
        }
    }

    fn give_up(&mut self, now: Timestamp) {
        self.set_recovered(None);
        self.end_hold(now);
        if let Some(incident) = &mut self.incident {
            incident.given_up_at = Some(now);
        }
        self.restart_counts(now);
        self.phase = Phase::GivenUp;
    }

    fn end(&mut self, now: Timestamp) {
        self.end_hold(now);
        if let Some(mut incident) = self.incident.take() {
            incident.ended_at = Some(now);
            self.past_incidents.insert(0, incident);
            self.past_incidents.truncate(limits::INCIDENTS_MAX);
        }
        self.by_hand = None;
        self.phase = Phase::Healthy;
    }

    /// The counts belong to the previous phase.
    fn restart_counts(&mut self, now: Timestamp) {
        self.counts = OutcomeCounts::default();
        self.by_tenant = TenantCounts::default();
        self.counted_from = now;
    }

    /// Held by a person, jobs are held whatever their setting; otherwise some are.
    fn begin_hold(&mut self, now: Timestamp) {
        let by_hand = self.by_hand.is_some();
        if self.hold.is_none_or(|hold| hold.by_hand != by_hand) {
            self.end_hold(now);
            self.hold = Some(HoldInterval {
                from: now,
                to: Timestamp::MAX,
                by_hand,
            });
        }
    }

    fn end_hold(&mut self, now: Timestamp) {
        let Some(hold) = self.hold.take() else {
            return;
        };
        self.past_holds.push(HoldInterval { to: now, ..hold });
        if self.past_holds.len() > limits::HOLDS_MAX {
            let oldest = self.past_holds.remove(0);
            self.past_holds[0] = oldest.joined(self.past_holds[0]);
        }
    }

    /// When jobs with this setting were held, the first first. Those whose setting is not `auto` are
    /// held by people only.
    pub(in crate::flow) fn holds(
        &self,
        mode: HoldMode,
    ) -> impl Iterator<Item = (Timestamp, Timestamp)> {
        let holds = self.past_holds.iter().chain(&self.hold);
        holds
            .filter(move |hold| hold.by_hand || mode == HoldMode::Auto)
            .map(|hold| (hold.from, hold.to))
    }

    fn give_up_at(&self, rules: &HealthRules) -> Option<Timestamp> {
        let incident = self.incident.as_ref()?;
        Some(incident.began_at.plus(rules.max_hold))
    }

    /// How long the next probe waits: twice as long after each that failed.
    fn probe_wait(&self) -> Duration {
        let failed = self
            .incident
            .as_ref()
            .map_or(0, |known| known.failed_probes);
        let doublings = failed.min(limits::PROBE_DOUBLINGS_MAX);
        (limits::PROBE_WAIT_MIN * 2_u32.pow(doublings)).min(limits::PROBE_WAIT_MAX)
    }
}

//! The health of the target, as a node's health keeper counts and advances it.

use std::{sync::Arc, time::Duration};

use crate::{
    flow::{DestinationHealth, HealthInput, HealthRules, HealthStatus, HealthTally, HoldMode},
    job::attempt::EndedAttempt,
    values::Timestamp,
};

pub struct HealthKeeper {
    rules: HealthRules,
    tally: HealthTally,
    health: Arc<DestinationHealth>,
    waiting_counted_at: Timestamp,
    /// When time alone may change something.
    planned: Option<Timestamp>,
}

impl HealthKeeper {
    pub fn new(rules: HealthRules) -> Self {
        Self {
            rules,
            tally: HealthTally::default(),
            health: Arc::default(),
            waiting_counted_at: Timestamp::EPOCH,
            planned: None,
        }
    }

    pub fn is_healthy(&self) -> bool {
        self.health.incident().is_none()
    }

    pub fn add(&mut self, ended: &EndedAttempt, count: u32) {
        self.tally.add_group(ended, Some(&self.health), count);
    }

    /// One round; the new health if it has changed. `waiting` jobs are due.
    pub fn keep(&mut self, waiting: u64, now: Timestamp) -> Option<Arc<DestinationHealth>> {
        let before = self.health.clone();
        let known = Some(&*before);
        if self.tally.is_worth_reporting(known, &self.rules, now) {
            let report = self.tally.take_report("node", now);
            let input = HealthInput {
                report: Some(&report),
                ..HealthInput::default()
            };
            self.step(input, now);
        }
        let input = HealthInput {
            waiting: self.is_count_due(now).then_some(waiting),
            ..HealthInput::default()
        };
        let next = self.health.next_step_at(&self.rules, now);
        let next = next.into_iter().chain(self.planned).min();
        self.planned = next.filter(|at| *at > now);
        if input.waiting.is_some() || next.is_some_and(|at| at <= now) {
            self.step(input, now);
        }
        (!Arc::ptr_eq(&before, &self.health)).then(|| self.health.clone())
    }

    fn step(&mut self, input: HealthInput<'_>, now: Timestamp) {
        if let Some(change) = self.health.step(input, &self.rules, now) {
            self.health = Arc::new(change.health);
        }
    }

    fn is_count_due(&mut self, now: Timestamp) -> bool {
        let health = &self.health;
        if health.incident().is_none() || !health.keeps_back(HoldMode::Auto) {
            return false;
        }
        let is_ramping = health.status(now) == HealthStatus::Ramping;
        let is_due = is_ramping || now.since(self.waiting_counted_at) >= WAITING_COUNTED_EVERY;
        if is_due {
            self.waiting_counted_at = now;
        }
        is_due
    }
}

/// As often as the health keeper of a node counts them.
const WAITING_COUNTED_EVERY: Duration = Duration::from_secs(5); // not a limit: what nodes do

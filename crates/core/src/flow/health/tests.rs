//! A destination, a node that calls it, and what follows.

mod counts;
mod people;
mod phases;
mod quotas;
mod tenants;

use std::{sync::Arc, time::Duration};

use super::*;
use crate::{
    failure::{Failure, FailureClass},
    flow::{ClosedBy, GateLimits, GateState, HoldMode, Room},
    job::{
        NewJob,
        attempt::{EndedAttempt, Outcome},
    },
    limits,
    policy::Preset,
    state::Guarantee,
    values::{JobId, Kind, Payload, WorkerName},
};

const T0: Timestamp = Timestamp::from_millis(1_767_225_600_000);
const SECOND: Duration = Duration::from_secs(1);

fn at(secs: u64) -> Timestamp {
    T0.plus(Duration::from_secs(secs))
}

fn success() -> Outcome {
    Outcome::Success { output: None }
}

fn failed(failure: Failure) -> Outcome {
    Outcome::Failure {
        failure,
        output: None,
    }
}

fn unreachable() -> Outcome {
    failed(Failure::new(FailureClass::CONNECTION, "refused"))
}

fn ended(job: u128, outcome: Outcome, from: Timestamp, to: Timestamp) -> EndedAttempt {
    let policy = Arc::new(Preset::Http.policy());
    let job = NewJob::new(
        JobId::from_bits(job),
        Kind::http(),
        Payload::default(),
        policy,
    );
    let claim = job
        .into_job(from)
        .claim(WorkerName::new("n").unwrap(), None, from);
    claim.end(outcome, to)
}

/// A destination, and one node that calls it and reports at once.
struct World {
    health: DestinationHealth,
    rules: HealthRules,
    gate: GateState,
    mode: HoldMode,
    tally: HealthTally,
    lines: Vec<String>,
    next_job: u128,
}

impl World {
    fn new(mode: HoldMode) -> Self {
        Self {
            health: DestinationHealth::default(),
            rules: HealthRules::default(),
            gate: GateState::default(),
            mode,
            tally: HealthTally::default(),
            lines: Vec::new(),
            next_job: 1,
        }
    }

    fn limits(&self) -> GateLimits {
        GateLimits {
            destination: self.health.limit(self.mode, true).map(Arc::new),
            ..GateLimits::default()
        }
    }

    fn room(&self, now: Timestamp) -> Room {
        self.limits().room(&self.gate, false, now)
    }

    /// Starts as many as may, up to `most`.
    fn start(&mut self, most: u32, now: Timestamp) -> u32 {
        let Room::For(room) = self.room(now) else {
            return 0;
        };
        let starts = room.min(most);
        self.gate = self.limits().after_starts(&self.gate, starts, 0, now);
        starts
    }

    fn end(&mut self, outcome: Outcome, from: Timestamp, to: Timestamp) {
        self.next_job += 1;
        let ended = ended(self.next_job, outcome, from, to);
        self.tally.add(&ended, Some(&self.health));
        if let Some(retry_after) = SharedRetryAfter::of(&ended, true) {
            self.tally.add_retry_after(retry_after);
        }
    }

    /// For how long jobs with this setting were held.
    fn held(&self, from: Timestamp, to: Timestamp, mode: HoldMode) -> Duration {
        let holds = self.health.holds(mode);
        holds
            .map(|(begin, end)| end.min(to).since(begin.max(from)))
            .sum()
    }

    fn step(&mut self, waiting: Option<u64>, now: Timestamp) -> Option<HealthEvent> {
        let is_worth = self
            .tally
            .is_worth_reporting(Some(&self.health), &self.rules, now);
        let report = is_worth.then(|| self.tally.take_report("n", now));
        self.step_with(
            HealthInput {
                report: report.as_ref(),
                waiting,
                command: None,
            },
            now,
        )
    }

    fn command(&mut self, command: &HoldCommand, now: Timestamp) {
        let input = HealthInput {
            command: Some(command),
            ..HealthInput::default()
        };
        self.step_with(input, now);
    }

    fn step_with(&mut self, input: HealthInput<'_>, now: Timestamp) -> Option<HealthEvent> {
        let change = self.health.step(input, &self.rules, now)?;
        let before = std::mem::replace(&mut self.health, change.health);
        let again = self.health.step(input, &self.rules, now);
        let again = again.map(|change| change.health);
        // Taken twice, nothing is counted twice.
        let again = again.as_ref().unwrap_or(&self.health);
        assert!(again.counts().ended() <= self.health.counts().ended());
        if before.phase != self.health.phase {
            let json = serde_json::to_string(&self.health).unwrap();
            assert_eq!(
                serde_json::from_str::<DestinationHealth>(&json).unwrap(),
                self.health
            );
            let time = now.since(T0).as_secs_f64();
            self.lines.push(format!("{time}s {}", self.phase()));
        }
        change.event
    }

    fn phase(&self) -> String {
        match self.health.phase {
            Phase::Healthy => "healthy".to_owned(),
            Phase::Held { next_probe_at } => {
                format!("held, probe at {}s", next_probe_at.since(T0).as_secs_f64())
            }
            Phase::HeldByHand { .. } => "held manually".to_owned(),
            Phase::Ramping { level, .. } => format!("ramping, {} per second", 1 << level),
            Phase::GivenUp => "given up".to_owned(),
        }
    }

    /// Twenty failures at once.
    fn break_down(&mut self, now: Timestamp) {
        for _ in 0..20 {
            self.end(unreachable(), now, now);
        }
        self.step(None, now);
    }

    /// Every second, starts what may, of `backlog` jobs; each ends at once. Returns what is left.
    fn run(
        &mut self,
        secs: std::ops::Range<u64>,
        mut backlog: u64,
        works: impl Fn(u64) -> bool,
    ) -> u64 {
        for second in secs {
            let is_busy = works(second) && self.mode == HoldMode::Auto;
            let claims = if is_busy {
                limits::RAMP_CLAIMS_PER_SECOND
            } else {
                1
            };
            for claim in (0..claims).rev() {
                let now = at(second).minus(Duration::from_secs(1) / claims * claim);
                let most = u32::try_from(backlog).unwrap().min(100_000);
                let most = if is_busy { most } else { most.min(100) };
                let starts = self.start(most, now);
                for _ in 0..starts {
                    let outcome = if works(second) {
                        success()
                    } else {
                        unreachable()
                    };
                    self.end(outcome, now, now);
                }
                if works(second) {
                    backlog -= u64::from(starts);
                }
            }
            self.step(Some(backlog), at(second));
        }
        backlog
    }
}

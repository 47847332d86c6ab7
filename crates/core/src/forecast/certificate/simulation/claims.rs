//! The gates of a claim: what is set for the destination, and what follows from its health.

use std::{collections::HashMap, sync::Arc, time::Duration};

use super::super::CertificateSettings;
use crate::{
    flow::{
        AppliedGate, ClosedBy, DestinationHealth, FlowKey, Gate, GateDefaults, GateId, GateLimits,
        GateNumber, GateScope, GateState, Gates, HealthSubject, HoldMode, Room,
    },
    job::{Job, cost::Cost},
    values::Timestamp,
};

pub struct ClaimGates {
    gates: Gates,
    flow_key: FlowKey,
    applied: Vec<AppliedGate>,
    states: HashMap<GateNumber, GateState>,
    counts_elapsed: bool,
}

/// A closed gate.
pub struct ClosedGate {
    pub until: Option<Timestamp>,
    pub is_for_retries: bool,
}

impl ClaimGates {
    pub fn new(settings: &CertificateSettings, job: &Job) -> Self {
        let hold = match settings.is_held() {
            true => HoldMode::Auto,
            false => HoldMode::Watch,
        };
        let limits = GateLimits {
            hold: Some(hold),
            paused: None,
            ..settings.gate.clone()
        };
        let flow_key = FlowKey::from(job);
        let ids = flow_key.destination.iter().map(|destination| GateId {
            tenant: None,
            scope: GateScope::Destination,
            key: destination.as_str().to_owned(),
        });
        let set = ids.map(|id| Gate {
            id,
            limits: limits.clone(),
        });
        let gates = Gates::new(set, GateDefaults::default());
        Self {
            applied: gates.applying_to(&flow_key),
            gates,
            flow_key,
            states: HashMap::new(),
            counts_elapsed: settings.policy.max_elapsed().is_some(),
        }
    }

    /// The health of the target is another one.
    pub fn set_health(&mut self, health: Arc<DestinationHealth>) {
        let FlowKey { tenant, .. } = &self.flow_key;
        let subject = self.flow_key.destination.iter();
        let subject = subject.map(|it| HealthSubject::of_tenant(it, tenant));
        let known = subject.map(|subject| (subject, health.clone()));
        self.gates = std::mem::take(&mut self.gates).with_health(known);
        self.applied = self.gates.applying_to(&self.flow_key);
    }

    /// How many jobs may start, at least one. Where running attempts are limited, `least` of them
    /// must have ended, or all.
    pub fn room(&self, is_retry: bool, least: u32, now: Timestamp) -> Result<u32, ClosedGate> {
        let mut room = u32::MAX;
        for gate in &self.applied {
            let state = self.states.get(&gate.number).cloned().unwrap_or_default();
            let most_running = gate.limits.most_running();
            let is_nearly_full = most_running.is_some_and(|most| {
                state.running > 0 && most.saturating_sub(state.running) < least
            });
            if is_nearly_full {
                return Err(ClosedGate {
                    until: None,
                    is_for_retries: false,
                });
            }
            match gate.limits.room(&state, is_retry, now) {
                Room::For(at_gate) => room = room.min(with_rate_ahead(gate, at_gate, &state)),
                Room::Closed(by) => {
                    return Err(ClosedGate {
                        until: by.until(),
                        is_for_retries: matches!(by, ClosedBy::RetryShare(_)),
                    });
                }
            }
        }
        Ok(room)
    }

    pub fn start(&mut self, count: u32, is_retry: bool, now: Timestamp) {
        let retries = if is_retry { count } else { 0 };
        for gate in &self.applied {
            let state = self.states.entry(gate.number).or_default();
            *state = gate.limits.after_starts(state, count, retries, now);
            // Of units, only starts are known.
            let starts = if gate.limits.counts_usage() { count } else { 0 };
            for _ in 0..starts {
                gate.limits.charge(state, &Cost::default(), now);
            }
        }
    }

    /// Only what is set counts running attempts.
    pub fn end(&mut self, count: u32) {
        for gate in &self.applied {
            if let Some(state) = self.states.get_mut(&gate.number) {
                state.running = state.running.saturating_sub(count);
            }
        }
    }

    /// For how long a job was held, which `maxElapsed` does not count.
    pub fn held_time(&self, job: &Job, now: Timestamp) -> Duration {
        match job.progress.first_started_at {
            Some(first) if self.counts_elapsed => self.gates.held_between(job, first, now),
            _ => Duration::ZERO,
        }
    }
}

/// A rate lets jobs through one by one. Here those of half a second go together, and the next ones
/// wait for as long as all of them would have.
fn with_rate_ahead(gate: &AppliedGate, room: u32, state: &GateState) -> u32 {
    let Some(rate) = gate.limits.rate else {
        return room;
    };
    let ahead = 0.5 / rate.interval().as_secs_f64().max(1e-6);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most half a million"
    )]
    let ahead = (ahead as u32).max(room);
    let most_running = gate.limits.most_running();
    let free = most_running.map_or(u32::MAX, |most| most.saturating_sub(state.running));
    match gate.limits.retry_share {
        // It counts each start of the minute.
        Some(_) => room,
        None => ahead.min(free),
    }
}

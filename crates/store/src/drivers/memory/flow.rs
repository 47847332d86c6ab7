//! What claims of the memory store remember: gates, their states, and the shares of tenants.

use std::{cell::RefCell, collections::BTreeMap, sync::Arc};

use steadfast_core::{
    AppliedGate, CostChange, FlowKey, GateId, GateNumber, GateState, Gates, Share, Tenant,
    Timestamp,
};

use crate::claim::Shares;

/// Places whose gates are remembered.
const APPLIED_MAX: usize = 10_000; // not a limit: a cache

/// What claims remember.
#[derive(Default)]
pub(super) struct Flow {
    gates: Arc<Gates>,
    /// Which of them apply, as far as that was asked: every claim asks it of every place where jobs
    /// wait.
    applied: RefCell<BTreeMap<FlowKey, Arc<[AppliedGate]>>>,
    /// Without how many attempts run, which the jobs tell.
    pub(super) states: BTreeMap<GateNumber, GateState>,
    shares: Shares,
}

impl Flow {
    /// The gates that limit the jobs of a flow key.
    pub(super) fn applying_to(&self, flow_key: &FlowKey) -> Arc<[AppliedGate]> {
        let mut applied = self.applied.borrow_mut();
        if let Some(gates) = applied.get(flow_key) {
            return gates.clone();
        }
        if applied.len() >= APPLIED_MAX {
            applied.clear();
        }
        let gates: Arc<[AppliedGate]> = self.gates.applying_to(flow_key).into();
        applied.insert(flow_key.clone(), gates.clone());
        gates
    }

    /// A gate that is set for a single key.
    pub(super) fn gate(&self, id: &GateId) -> Option<AppliedGate> {
        self.gates.applied(id)
    }

    /// The gates that hold from now on.
    pub(super) fn set_gates(&mut self, gates: &Arc<Gates>) {
        if !Arc::ptr_eq(gates, &self.gates) {
            self.gates = gates.clone();
            self.applied.borrow_mut().clear();
        }
    }

    /// The gates that were set last.
    pub(super) fn gates(&self) -> &Arc<Gates> {
        &self.gates
    }

    /// Whether gates may hold jobs back.
    pub(super) fn has_gates(&self) -> bool {
        !self.gates.is_empty()
    }

    pub(super) fn state(&self, number: GateNumber) -> GateState {
        self.states.get(&number).cloned().unwrap_or_default()
    }

    /// An attempt used more or less than what was reserved for it.
    pub(super) fn settle_cost(&mut self, flow_key: &FlowKey, change: &CostChange, now: Timestamp) {
        for gate in &*self.applying_to(flow_key) {
            if let Some(state) = self.states.get_mut(&gate.number) {
                gate.limits.settle(state, change, now);
            }
        }
    }

    pub(super) fn share(&self, tenant: &Tenant) -> Share {
        self.shares.get(tenant)
    }

    pub(super) fn charge(&mut self, tenant: &Tenant) {
        self.shares.charge(tenant, 1, &self.gates);
    }
}

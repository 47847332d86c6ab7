//! Gates that let no job of a flow key start, however few run: people and destinations close them.

use super::{
    flow_key::FlowKey,
    gate::GateId,
    gate_state::{ClosedBy, GateState},
    gates::Gates,
    room::Room,
};
use crate::values::Timestamp;

/// Why a gate lets no job start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GateStop {
    /// A person paused it.
    Paused,
    /// Its destination is held, by a person or because it does not work.
    Held,
    /// Its destination asked its callers to wait.
    RetryAfter,
    /// Nothing remains of the destination's own limits.
    Quota,
}

impl Gates {
    /// The first gate that stops the jobs of a flow key. Limits do not: jobs behind them start one
    /// after the other, and so they do while a destination recovers.
    pub fn stop_of(&self, flow_key: &FlowKey, now: Timestamp) -> Option<(GateId, GateStop)> {
        let gates = self.applying_to(flow_key).into_iter();
        let mut stops = gates.filter_map(|gate| {
            let stop = match gate.limits.room(&GateState::default(), false, now) {
                Room::Closed(ClosedBy::Pause(_)) => GateStop::Paused,
                Room::Closed(ClosedBy::Hold { .. } | ClosedBy::ManualHold { .. }) => GateStop::Held,
                Room::Closed(ClosedBy::RetryAfter(_)) => GateStop::RetryAfter,
                Room::Closed(ClosedBy::Quota { quota, .. }) if quota.remaining == 0 => {
                    GateStop::Quota
                }
                // A probe is due, and no other job.
                _ if gate.limits.is_for_probes() => GateStop::Held,
                _ => return None,
            };
            Some((gate.id, stop))
        });
        stops.next()
    }
}

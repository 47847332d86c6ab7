//! How many calls may be made at a time: the call slots and windows of nodes, or workers' slots.

use super::CallerSettings;
use crate::{
    flow::{CallWindow, call_allowance, tenant_call_allowance, webhook_slots},
    limits,
};

pub struct Callers {
    nodes: Vec<Caller>,
    next: usize,
}

struct Caller {
    slots: u32,
    in_flight: u32,
    /// What a node has learned; workers learn nothing.
    window: Option<CallWindow>,
}

/// The node of a group of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallerIndex(usize);

impl Callers {
    pub fn new(settings: CallerSettings) -> Self {
        let nodes = match settings {
            CallerSettings::Nodes(nodes) => (0..nodes)
                .map(|_| Caller {
                    slots: limits::CERTIFICATE_CALL_SLOTS,
                    in_flight: 0,
                    window: Some(CallWindow::default()),
                })
                .collect(),
            CallerSettings::Slots(slots) => vec![Caller {
                slots,
                in_flight: 0,
                window: None,
            }],
        };
        Self { nodes, next: 0 }
    }

    /// The next node with room for at least `least` calls, or without any, and how many it may
    /// begin.
    pub fn room(&self, least: u32) -> Option<(CallerIndex, u32)> {
        let count = self.nodes.len();
        let order = (0..count).map(|step| (self.next + step) % count);
        let mut rooms = order.map(|index| (index, self.nodes[index].room()));
        let is_enough = |(index, room): &(usize, u32)| {
            *room >= least || (*room > 0 && self.nodes[*index].in_flight == 0)
        };
        let (index, room) = rooms.find(is_enough)?;
        Some((CallerIndex(index), room))
    }

    pub fn begin(&mut self, index: CallerIndex, count: u32) {
        self.nodes[index.0].in_flight += count;
        self.next = (index.0 + 1) % self.nodes.len();
    }

    pub fn end(&mut self, index: CallerIndex, count: u32, has_timed_out: bool) {
        let node = &mut self.nodes[index.0];
        node.in_flight = node.in_flight.saturating_sub(count);
        if let Some(window) = &mut node.window {
            for _ in 0..count {
                *window = window.after_call(has_timed_out);
            }
        }
    }
}

impl Caller {
    fn room(&self) -> u32 {
        let free = self.slots.saturating_sub(self.in_flight);
        let Some(window) = self.window else {
            return free;
        };
        let of_kind = free.saturating_sub(webhook_slots(self.slots));
        let wanted = of_kind.min(window.get().saturating_sub(self.in_flight));
        if wanted == 0 {
            return 0;
        }
        wanted
            .min(call_allowance(self.slots, free, self.in_flight, window))
            .min(tenant_call_allowance(self.slots, free, 1, self.in_flight))
    }
}

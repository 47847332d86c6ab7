//! How many calls a node makes at a time to one destination and for one tenant, without a setting.
//!
//! A call that hangs keeps its slot until it times out, and cannot be taken out of it. To give each
//! destination a part of what is free is not enough: those that come first take most, and if they
//! hang, the last ones find nothing. So each destination begins with a few calls, and gets more only
//! while calls end and while more than half of the slots are free. When few slots are left, a
//! destination gets one.
//!
//! A tenant that is alone may fill most slots. Some are left for the others, whatever addresses and
//! timeouts it invents, and a tenant that has more than its fair part gets no more of them. The last
//! few slots are for webhooks: an alert is sent although all jobs hang.

use super::FlowKey;
use crate::{
    limits,
    values::{Destination, Kind, Tenant},
};

/// Whom a call belongs to, of those that may have a part of a node's call slots each.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallOwner {
    /// All calls of a kind.
    Kind(Kind),
    /// The calls of a tenant of one kind.
    Tenant(Tenant, Kind),
    /// The calls to a destination.
    Destination(Destination),
}

impl CallOwner {
    /// The owners of the calls of a flow key.
    pub fn all_of(flow_key: &FlowKey) -> impl Iterator<Item = Self> + use<> {
        let kind = Self::Kind(flow_key.kind.clone());
        let tenant = Self::Tenant(flow_key.tenant.clone(), flow_key.kind.clone());
        let destination = flow_key.destination.clone().map(Self::Destination);
        [kind, tenant].into_iter().chain(destination)
    }
}

/// How many calls to a destination a node may make at a time, learned from its calls. Kept by each
/// node while it calls the destination, and forgotten afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallWindow(u32);

impl Default for CallWindow {
    fn default() -> Self {
        Self(limits::CALL_WINDOW_START)
    }
}

impl CallWindow {
    /// After a call: if it ended, well or not, one more may be made at a time; if it timed out, half
    /// as many.
    #[must_use]
    pub fn after_call(self, has_timed_out: bool) -> Self {
        Self(match has_timed_out {
            true => (self.0 / 2).max(1),
            false => self.0.saturating_add(1).min(limits::CALL_WINDOW_MAX),
        })
    }

    /// How many calls at a time.
    pub fn get(self) -> u32 {
        self.0
    }
}

/// How many more calls a node may begin to a destination, given how many slots it has, how many of
/// them are free, and how many the destination has.
pub fn call_allowance(slots: u32, free: u32, in_flight: u32, window: CallWindow) -> u32 {
    count_starts(free.min(slots), |free, begun| {
        in_flight.saturating_add(begun) < share(slots, free).min(window.get())
    })
}

/// Each start takes a slot and gives it to its owner, so that the answer is the same if they are
/// asked for one by one. After the first that is refused all are, so it is found by halving: a node
/// asks with each claim, and a certificate does so often.
fn count_starts(most: u32, may_start: impl Fn(u32, u32) -> bool) -> u32 {
    let (mut begun, mut refused) = (0, most);
    while begun < refused {
        let middle = u32::midpoint(begun, refused);
        match may_start(most - middle, middle) {
            true => begun = middle + 1,
            false => refused = middle,
        }
    }
    begun
}

/// How many more calls a node may begin for a tenant, given how many slots it has, how many of them
/// are free, and how many the tenant has; `tenants` have calls in flight, this one among them.
pub fn tenant_call_allowance(slots: u32, free: u32, tenants: u32, in_flight: u32) -> u32 {
    count_starts(free.min(slots), |free, begun| {
        in_flight.saturating_add(begun) < tenant_share(slots, free, tenants)
    })
}

/// How many more webhooks of a tenant a node may deliver, given also how many of its calls in flight
/// are webhooks: some may go although the tenant has its part of the slots.
pub fn tenant_webhook_allowance(
    slots: u32,
    free: u32,
    tenants: u32,
    in_flight: u32,
    webhooks_in_flight: u32,
) -> u32 {
    let kept = (webhook_slots(slots) / 2).max(1);
    tenant_call_allowance(slots, free, tenants, in_flight)
        .max(kept.saturating_sub(webhooks_in_flight))
        .min(free)
}

/// The slots that only webhooks may take.
pub fn webhook_slots(slots: u32) -> u32 {
    slots / limits::WEBHOOK_SLOTS_DIVISOR
}

/// How many slots one tenant may have while `free` slots are free.
fn tenant_share(slots: u32, free: u32, tenants: u32) -> u32 {
    let reserve = slots / limits::TENANT_RESERVE_DIVISOR;
    let fair = ((slots - reserve) / tenants.max(1)).max(1);
    match free.checked_sub(reserve) {
        Some(more) if more > 0 => fair.max(more.saturating_mul(limits::TENANT_SLOTS_FACTOR)),
        // Of the reserve, each takes at most half of what the others have left.
        _ => fair.min((free / 2).max(1)),
    }
}

/// How many slots one destination may have while `free` slots are free.
fn share(slots: u32, free: u32) -> u32 {
    let few = match free > slots / limits::SLOT_RESERVE_DIVISOR {
        true => limits::CALL_SHARE_MIN,
        false => 1,
    };
    free.saturating_sub(slots / 2).max(few)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The starts of one after the other, as `count_starts` promises to count them.
    fn starts_one_by_one(slots: u32, free: u32, tenants: u32, in_flight: u32) -> u32 {
        let most = free.min(slots);
        let may_start = |begun: &u32| {
            in_flight.saturating_add(*begun) < tenant_share(slots, most - begun, tenants)
        };
        (0..most).find(|begun| !may_start(begun)).unwrap_or(most)
    }

    proptest! {
        #[test]
        fn starts_are_counted_as_if_they_were_asked_for_one_by_one(
            (slots, free) in (0..600_u32, 0..600_u32),
            (tenants, in_flight) in (1..9_u32, 0..600_u32),
            window in 1..600_u32,
        ) {
            let counted = tenant_call_allowance(slots, free, tenants, in_flight);
            prop_assert_eq!(counted, starts_one_by_one(slots, free, tenants, in_flight));
            let most = free.min(slots);
            let refused = (0..most).find(|begun| {
                in_flight + begun >= share(slots, most - begun).min(window)
            });
            let counted = call_allowance(slots, free, in_flight, CallWindow(window));
            prop_assert_eq!(counted, refused.unwrap_or(most));
        }
    }

    const SLOTS: u32 = 512;
    const WIDE: CallWindow = CallWindow(limits::CALL_WINDOW_MAX);

    /// Destinations that hang take as much as they may, in the order given; returns what is free.
    fn free_after(slots: u32, windows: &[CallWindow], order: &[usize]) -> u32 {
        let mut free = slots;
        let mut in_flight = vec![0; windows.len()];
        for destination in order.iter().copied().chain(0..windows.len()) {
            let window = windows[destination];
            let starts = call_allowance(slots, free, in_flight[destination], window);
            in_flight[destination] += starts;
            free -= starts;
        }
        free
    }

    #[test]
    fn one_destination_alone_gets_a_quarter_and_the_next_ones_less() {
        let mut free = SLOTS;
        let shares = [0; 8].map(|_: u32| {
            let share = call_allowance(SLOTS, free, 0, WIDE);
            free -= share;
            share
        });
        assert_eq!(shares, [128, 64, 32, 16, 8, 4, 4, 4]);
    }

    #[test]
    fn a_tenant_alone_leaves_a_sixth_to_the_others() {
        let mut free = SLOTS;
        let mut tenants = 0;
        let shares = [0; 8].map(|_: u32| {
            tenants += 1;
            let share = tenant_call_allowance(SLOTS, free, tenants, 0);
            free -= share;
            share
        });
        assert_eq!(shares, [427, 28, 19, 13, 8, 6, 4, 2]);
        // One that has more than its part gets no more, one that ends some does not get them back.
        assert_eq!(tenant_call_allowance(SLOTS, free, 8, 427), 0);
        assert_eq!(tenant_call_allowance(SLOTS, 60, 8, 400), 0);
        // Many small ones do not keep a large one from what they leave.
        assert!(tenant_call_allowance(SLOTS, SLOTS - 100, 101, 0) > 200);
    }

    #[test]
    fn webhooks_have_slots_that_no_other_call_takes() {
        assert_eq!(webhook_slots(SLOTS), 16);
        assert_eq!(tenant_webhook_allowance(SLOTS, 16, 2, 448, 0), 8);
        assert_eq!(tenant_webhook_allowance(SLOTS, 16, 2, 448, 8), 0);
        assert_eq!(tenant_webhook_allowance(8, 1, 1, 7, 0), 1);
    }

    #[test]
    fn a_window_grows_with_calls_that_end_and_shrinks_with_those_that_time_out() {
        let window = CallWindow::default();
        let grown = (0..100).fold(window, |window, _| window.after_call(false));
        assert_eq!(grown.get(), limits::CALL_WINDOW_START + 100);
        let shrunk = (0..20).fold(grown, |window, _| window.after_call(true));
        assert_eq!(shrunk.get(), 1);
    }

    /// The figures of the documentation: slots that are free beside destinations that hang.
    #[test]
    fn free_slots_beside_destinations_that_hang() {
        let mut figures = Vec::new();
        for (slots, count) in [(SLOTS, 50), (SLOTS, 500), (4 * SLOTS, 500)] {
            let new = vec![CallWindow::default(); count];
            let known = vec![WIDE; count];
            let free = |windows: &[CallWindow]| free_after(slots, windows, &[]);
            figures.push((slots, count, free(&new), free(&known)));
        }
        assert_eq!(
            figures,
            [(512, 50, 128, 84), (512, 500, 0, 0), (2_048, 500, 14, 0)]
        );
    }

    proptest! {
        /// Whatever windows they have, and in whatever order they come: a new destination gets slots.
        #[test]
        fn fifty_destinations_that_hang_do_not_keep_a_new_one_from_a_slot(
            windows in prop::collection::vec(1..=limits::CALL_WINDOW_MAX, 50),
            order in prop::collection::vec(0..50_usize, 0..200),
        ) {
            let windows: Vec<_> = windows.into_iter().map(CallWindow).collect();
            let free = free_after(SLOTS, &windows, &order);
            let allowance = call_allowance(SLOTS, free, 0, CallWindow::default());
            prop_assert!(allowance >= limits::CALL_SHARE_MIN, "{} free", free);
        }

        /// Whatever the others have: one with no calls gets a slot while one is free.
        #[test]
        fn tenants_that_hang_do_not_keep_another_from_a_slot(
            order in prop::collection::vec(0..20_usize, 0..200),
            slots in 8..2_000_u32,
        ) {
            let mut in_flight = [0_u32; 20];
            let mut free = slots;
            for tenant in order {
                let others = in_flight.iter().enumerate();
                let others = others.filter(|(other, calls)| *other != tenant && **calls > 0);
                let tenants = u32::try_from(others.count()).unwrap() + 1;
                let starts = tenant_call_allowance(slots, free, tenants, in_flight[tenant]);
                prop_assert!(in_flight[tenant] > 0 || free == 0 || starts > 0);
                in_flight[tenant] += starts;
                free -= starts;
            }
        }

        #[test]
        fn an_allowance_never_exceeds_what_is_free_and_is_at_least_one(
            (slots, free, in_flight) in (0..2_000_u32, 0..2_000_u32, 0..2_000_u32),
            window in 1..2_000_u32,
        ) {
            let allowance = call_allowance(slots, free, in_flight, CallWindow(window));
            prop_assert!(allowance <= free.min(slots));
            if in_flight == 0 && free.min(slots) > 0 {
                prop_assert!(allowance >= 1);
            }
        }
    }
}

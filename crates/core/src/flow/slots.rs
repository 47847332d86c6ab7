//! How many calls a node makes to one destination at a time, without a setting.
//!
//! A call that hangs keeps its slot until it times out, and cannot be taken out of it. To give each
//! destination a part of what is free is not enough: those that come first take most, and if they
//! hang, the last ones find nothing. So each destination begins with a few calls, and gets more only
//! while calls end and while more than half of the slots are free. When few slots are left, a
//! destination gets one.

use crate::limits;

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
    let most_free = free.min(slots);
    // Each start takes a slot and gives it to the destination, so that the answer is the same if
    // they are asked for one by one.
    (0..most_free)
        .take_while(|begun| {
            let (free, in_flight) = (most_free - begun, in_flight.saturating_add(*begun));
            in_flight < share(slots, free).min(window.get())
        })
        .count()
        .try_into()
        .unwrap_or(u32::MAX)
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

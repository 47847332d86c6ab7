//! Where the counting of batches goes on.
//!
//! Events are read in the order of their numbers. What is counted is deleted, but while a session of
//! PostgreSQL holds an old snapshot, indexes keep the entries of deleted rows, and a search from the
//! lowest number would walk over all of them again. So a node remembers a number up to which there are
//! no events: the floor.
//!
//! Numbers do not become visible in their order, because a transaction may take a low one and commit
//! late. So the floor follows what was seen only after a while; whatever is committed even later is
//! found by the full scan that is made now and then.

use std::{
    collections::HashMap,
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use steadfast_core::BatchId;

use crate::{
    drivers::transaction::BatchEvents,
    limits::{
        EVENT_COMMIT_MARGIN, EVENTS_FULL_SCAN_EVERY, EVENTS_PAGE_MAX, WHOLE_LOOK_COST_FACTOR,
    },
};

/// A look takes it, and puts it back at its end. One that comes meanwhile begins anew, which is slower.
#[derive(Default)]
pub(crate) struct EventPosition(Mutex<Position>);

#[derive(Default)]
struct Position {
    floor: i64,
    /// All events up to this number are visible, or gone.
    visible: i64,
    /// The last event that was seen, and when.
    seen: Option<(i64, Instant)>,
    whole: Option<FullScan>,
    /// Behind which event the page begins; that of the floor, if it is higher.
    after: i64,
    /// Batches that a look has come to, and that were not counted, or not to their end: they come again
    /// when all others have had their turn.
    passed: Vec<BatchId>,
}

/// The last look that began at the lowest number.
struct FullScan {
    at: Instant,
    took: Duration,
}

impl EventPosition {
    /// A look at up to `limit` batches, for about as many events in all.
    pub(crate) fn begin(&self, limit: usize, now: Instant) -> EventLook {
        let mut position = mem::take(&mut *self.lock());
        let is_whole = position.whole.as_ref().is_none_or(|last| {
            let wait = EVENTS_FULL_SCAN_EVERY.max(last.took * WHOLE_LOOK_COST_FACTOR);
            now.saturating_duration_since(last.at) >= wait
        });
        if is_whole {
            position.after = 0;
            // If it fails, the next one is far off.
            let took = EVENTS_FULL_SCAN_EVERY;
            position.whole = Some(FullScan { at: now, took });
        } else {
            position.after = position.after.max(position.floor);
        }
        if position.passed.len() > EVENTS_PAGE_MAX {
            position.passed.clear();
        }
        EventLook {
            is_whole,
            is_round: position.passed.is_empty() && position.after <= position.floor,
            passed_earlier: position.passed.len(),
            position,
            is_at_end: false,
            is_over: false,
            has_rest: false,
            looks: 0,
            counted: 0,
            limit,
        }
    }

    /// The look is over: answers whether there is more to count.
    pub(crate) fn end(&self, look: EventLook) -> bool {
        *self.lock() = look.position;
        // If none could be counted, the same again would not help.
        look.counted > 0 && (!look.is_over || look.has_rest)
    }

    fn lock(&self) -> MutexGuard<'_, Position> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A page of events.
pub(crate) struct EventPage {
    /// The batches to count, those of each tenant in turn.
    batches: Vec<BatchId>,
    is_full: bool,
    first: Option<i64>,
    last: Option<i64>,
}

impl EventPage {
    pub(crate) fn new(found: Vec<BatchEvents>, look: &EventLook) -> Self {
        let events: usize = found.iter().map(|batch| batch.count).sum();
        let mut turns: HashMap<Option<&str>, usize> = HashMap::new();
        let mut batches: Vec<(usize, i64, BatchId)> = Vec::new();
        let wanted = found.iter().filter(|it| !look.passed().contains(&it.batch));
        for batch in wanted {
            let turn = turns.entry(batch.tenant.as_deref()).or_default();
            batches.push((*turn, batch.first, batch.batch));
            *turn += 1;
        }
        batches.sort_unstable();
        let batches = batches.into_iter().take(look.batches_max());
        Self {
            batches: batches.map(|(.., batch)| batch).collect(),
            is_full: events >= EVENTS_PAGE_MAX,
            first: found.iter().map(|batch| batch.first).min(),
            last: found.iter().map(|batch| batch.last).max(),
        }
    }
}

/// One look at batches with events, from where the last one ended round to there: none that has much to
/// count, or cannot be counted now, holds up the others.
pub(crate) struct EventLook {
    position: Position,
    /// The next page is that of the lowest numbers.
    is_whole: bool,
    /// It began with the first batch, or has come back to it.
    is_round: bool,
    passed_earlier: usize,
    is_at_end: bool,
    is_over: bool,
    has_rest: bool,
    looks: usize,
    counted: usize,
    limit: usize,
}

impl EventLook {
    /// Behind which event the next page begins; `None` at the end.
    pub(crate) fn next(&mut self) -> Option<i64> {
        if self.batches_max() == 0 {
            return None;
        }
        if mem::take(&mut self.is_at_end) {
            self.forget_earlier();
            self.position.after = self.position.floor;
            if mem::replace(&mut self.is_round, true) {
                self.is_over = true;
                self.position.passed.clear();
            }
        }
        (!self.is_over).then_some(self.position.after)
    }

    /// What earlier looks have passed comes again.
    fn forget_earlier(&mut self) {
        self.position.passed.drain(..self.passed_earlier);
        self.passed_earlier = 0;
    }

    /// Which batches the next page is to leave out.
    pub(crate) fn passed(&self) -> &[BatchId] {
        &self.position.passed
    }

    /// How many more events may be counted.
    pub(crate) fn room(&self) -> usize {
        self.limit.saturating_sub(self.counted)
    }

    /// How many more batches may be visited.
    pub(crate) fn batches_max(&self) -> usize {
        self.limit.saturating_sub(self.counted.max(self.looks))
    }

    /// There are no events up to this number.
    pub(crate) fn floor(&self) -> i64 {
        self.position.floor
    }

    /// Learns from a page, and answers with the batches to count.
    pub(crate) fn visit(&mut self, page: EventPage, now: Instant, took: Duration) -> Vec<BatchId> {
        self.position.learn(&page, now);
        if mem::take(&mut self.is_whole)
            && let Some(whole) = &mut self.position.whole
        {
            whole.took = took;
        }
        self.position.after = self.position.after.max(self.position.floor);
        self.is_at_end = !page.is_full && page.batches.len() < self.batches_max();
        if page.is_full && page.batches.is_empty() {
            self.position.after = page.last.unwrap_or(i64::MAX);
            self.forget_earlier();
        }
        self.looks += page.batches.len().max(1);
        page.batches
    }

    /// Batches are about to be counted. Said before, so that one that fails is not the first again.
    pub(crate) fn pass(&mut self, batches: &[BatchId]) {
        self.position.passed.extend_from_slice(batches);
    }

    /// Batches were counted to their end, or are tried again.
    pub(crate) fn take_back(&mut self, batches: &[BatchId]) {
        let mut later = self.position.passed.split_off(self.passed_earlier);
        later.retain(|batch| !batches.contains(batch));
        self.position.passed.append(&mut later);
    }

    /// Batches have counted this many events.
    pub(crate) fn add(&mut self, events: usize, has_rest: bool) {
        self.counted += events;
        self.has_rest |= has_rest;
    }

    pub(crate) fn has_counted(&self) -> bool {
        self.counted > 0
    }
}

impl Position {
    fn learn(&mut self, page: &EventPage, now: Instant) {
        if self.after > self.floor {
            return;
        }
        if page.first.is_some_and(|first| first <= self.floor) {
            // One was committed late, or a server has taken over whose numbers were lower.
            (self.floor, self.visible, self.seen) = (0, 0, None);
        }
        if let Some((seen, at)) = self.seen
            && now.saturating_duration_since(at) >= EVENT_COMMIT_MARGIN
        {
            (self.visible, self.seen) = (seen, None);
        }
        self.floor = page
            .first
            .map_or(self.visible, |first| self.visible.min(first - 1));
        if self.seen.is_none() {
            self.seen = page.last.map(|last| (last, now));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(first: Option<i64>, last: Option<i64>) -> EventPage {
        EventPage {
            batches: Vec::new(),
            is_full: false,
            first,
            last,
        }
    }

    /// The batches that a look comes to in pages of three events, and whether there is more. Each event
    /// is `(number, batch)`, and those of batches above 9 cannot be counted.
    fn look(
        position: &EventPosition,
        limit: usize,
        events: &mut Vec<(i64, u128)>,
    ) -> (Vec<u128>, bool) {
        let mut look = position.begin(limit, Instant::now());
        let mut visited = Vec::new();
        while let Some(after) = look.next() {
            let seen: Vec<_> = events
                .iter()
                .filter(|(seq, _)| *seq > after)
                .take(3)
                .collect();
            let mut batches: Vec<BatchId> = Vec::new();
            for (_, batch) in &seen {
                let batch = BatchId::from_bits(*batch);
                if !batches.contains(&batch) {
                    batches.push(batch);
                }
            }
            batches.retain(|batch| !look.passed().contains(batch));
            batches.truncate(look.batches_max());
            let found = EventPage {
                batches,
                is_full: seen.len() == 3,
                ..page(
                    seen.first().map(|event| event.0),
                    seen.last().map(|event| event.0),
                )
            };
            for batch in look.visit(found, Instant::now(), Duration::ZERO) {
                let room = look.room();
                if room == 0 {
                    break;
                }
                visited.push(batch.bits());
                look.pass(&[batch]);
                let mut counted = 0;
                events.retain(|(_, of)| {
                    let is_counted = *of == batch.bits() && *of <= 9 && counted < room;
                    counted += usize::from(is_counted);
                    !is_counted
                });
                let has_rest = counted == room;
                if counted > 0 && !has_rest {
                    look.take_back(&[batch]);
                }
                look.add(counted, has_rest);
            }
        }
        (visited, position.end(look))
    }

    #[test]
    fn looks_come_to_every_batch_whatever_cannot_be_counted() {
        let position = EventPosition::default();
        let mut events = vec![(1, 1), (2, 2), (3, 1), (4, 3)];
        assert_eq!(look(&position, 9, &mut events), (vec![1, 2, 3], false));
        assert_eq!(look(&position, 9, &mut events), (vec![], false));
        // One that has much takes a look for itself, and the next one goes on behind it.
        events = vec![(5, 1), (6, 1), (7, 1), (8, 2)];
        assert_eq!(look(&position, 2, &mut events), (vec![1], true));
        assert_eq!(look(&position, 2, &mut events), (vec![2, 1], true));
        assert_eq!(look(&position, 2, &mut events), (vec![], false));
        // Not again at once, then the others, then what became visible late.
        events = vec![(11, 10), (12, 11), (13, 3)];
        assert_eq!(look(&position, 2, &mut events), (vec![10, 11], false));
        events.insert(0, (10, 4));
        assert_eq!(look(&position, 2, &mut events), (vec![4, 3], true));
        assert_eq!(events, [(11, 10), (12, 11)]);
        // More than a page.
        events = vec![(21, 10), (22, 10), (23, 10), (24, 10), (25, 5)];
        assert_eq!(look(&position, 9, &mut events).0, [10, 5]);
        assert_eq!(events.len(), 4);
    }

    #[test]
    fn the_floor_is_raised_to_what_was_seen_long_enough_ago() {
        let position = EventPosition::default();
        let began = Instant::now();
        let learn = |first, last, seconds| {
            let now = began + Duration::from_secs(seconds);
            let mut look = position.begin(1, now);
            look.next();
            look.visit(page(first, last), now, Duration::ZERO);
            let floor = look.floor();
            position.end(look);
            floor
        };
        let margin = EVENT_COMMIT_MARGIN.as_secs();
        assert_eq!(learn(Some(7), Some(8), 0), 0);
        assert_eq!(learn(None, None, margin - 1), 0, "another may be committed");
        assert_eq!(learn(Some(7), Some(9), margin), 6, "there is an event left");
        assert_eq!(learn(None, None, margin + 1), 8, "9 was just seen");
        assert_eq!(learn(None, None, 2 * margin), 9);
        // A server that lacks the last transactions has taken over.
        let later = began + EVENTS_FULL_SCAN_EVERY;
        let mut look = position.begin(1, later);
        assert_eq!(look.next(), Some(0), "a full scan");
        position.end(look);
        assert_eq!(position.begin(1, later).next(), Some(9), "once");
    }

    #[test]
    fn an_event_below_the_floor_makes_it_look_anew() {
        let position = EventPosition::default();
        let now = Instant::now();
        let mut look = position.begin(1, now);
        look.position.visible = 9;
        look.visit(page(None, None), now, Duration::ZERO);
        assert_eq!(look.floor(), 9);
        look.position.after = 0;
        look.visit(page(Some(4), Some(4)), now, Duration::ZERO);
        assert_eq!(look.floor(), 0);
    }
}

//! Where the counting of batches goes on.
//!
//! Notes are read in the order of their numbers. What is counted is deleted, but while a session holds
//! an old snapshot, indexes keep the entries of deleted rows, and a search from the lowest number would
//! walk over all of them again. So a node remembers a number up to which there are no notes and will be
//! none: the floor.
//!
//! Numbers do not become visible in their order, because a transaction may take a low one and commit
//! late. But it has an id before it takes a number. So once all transactions have ended that are older
//! than one that began after a note was seen, everything up to that note is visible.

use std::{
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use steadfast_core::BatchId;

use crate::limits::{BATCH_NOTES_PAGE_MAX, BATCH_NOTES_WHOLE_EVERY, WHOLE_LOOK_COST_FACTOR};

/// A look takes it, and puts it back at its end. One that comes meanwhile begins anew, which is slower.
#[derive(Default)]
pub(super) struct NotePosition(Mutex<Position>);

#[derive(Default)]
struct Position {
    floor: i64,
    /// All notes up to this number are visible, or gone.
    visible: i64,
    /// A note that was seen, and a transaction that began later.
    seen: Option<(i64, i64)>,
    whole: Option<WholeLook>,
    /// Behind which note the page begins; that of the floor, if it is higher.
    after: i64,
    /// Batches that a look has come to, and that were not counted, or not to their end: they come again
    /// when all others have had their turn.
    passed: Vec<BatchId>,
}

/// The last look that began at the lowest number.
struct WholeLook {
    at: Instant,
    took: Duration,
}

impl NotePosition {
    /// A look at up to `limit` batches, for about as many notes in all.
    pub(super) fn begin(&self, limit: usize, now: Instant) -> NoteLook {
        let mut position = mem::take(&mut *self.lock());
        let is_whole = position.whole.as_ref().is_none_or(|last| {
            let wait = BATCH_NOTES_WHOLE_EVERY.max(last.took * WHOLE_LOOK_COST_FACTOR);
            now.saturating_duration_since(last.at) >= wait
        });
        if is_whole {
            position.after = 0;
            // If it fails, the next one is far off.
            let took = BATCH_NOTES_WHOLE_EVERY;
            position.whole = Some(WholeLook { at: now, took });
        } else {
            position.after = position.after.max(position.floor);
        }
        if position.passed.len() > BATCH_NOTES_PAGE_MAX {
            position.passed.clear();
        }
        NoteLook {
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
    pub(super) fn end(&self, look: NoteLook) -> bool {
        *self.lock() = look.position;
        // If none could be counted, the same again would not help.
        look.counted > 0 && (!look.is_over || look.has_rest)
    }

    fn lock(&self) -> MutexGuard<'_, Position> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A page of notes.
pub(super) struct NotePage {
    /// Those that were looked for, of each tenant in turn.
    pub batches: Vec<BatchId>,
    pub is_full: bool,
    pub first: Option<i64>,
    pub last: Option<i64>,
    /// The oldest transaction that has not ended.
    pub oldest_transaction: i64,
    /// One that began after the last note was seen.
    pub later_transaction: Option<i64>,
}

/// One look at batches with notes, from where the last one ended round to there: none that has much to
/// count, or cannot be counted now, holds up the others.
pub(super) struct NoteLook {
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

impl NoteLook {
    /// Behind which note the next page begins; `None` at the end.
    pub(super) fn next(&mut self) -> Option<i64> {
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
    pub(super) fn passed(&self) -> &[BatchId] {
        &self.position.passed
    }

    /// How many more notes may be counted.
    pub(super) fn room(&self) -> usize {
        self.limit.saturating_sub(self.counted)
    }

    /// How many more batches may be visited.
    pub(super) fn batches_max(&self) -> usize {
        self.limit.saturating_sub(self.counted.max(self.looks))
    }

    /// There are no notes up to this number.
    pub(super) fn floor(&self) -> i64 {
        self.position.floor
    }

    /// Learns from a page, and answers with the batches to count.
    pub(super) fn visit(&mut self, page: NotePage, took: Duration) -> Vec<BatchId> {
        self.position.learn(&page);
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
    pub(super) fn pass(&mut self, batches: &[BatchId]) {
        self.position.passed.extend_from_slice(batches);
    }

    /// Batches were counted to their end, or are tried again.
    pub(super) fn take_back(&mut self, batches: &[BatchId]) {
        let mut later = self.position.passed.split_off(self.passed_earlier);
        later.retain(|batch| !batches.contains(batch));
        self.position.passed.append(&mut later);
    }

    /// Batches have counted this many notes.
    pub(super) fn add(&mut self, notes: usize, has_rest: bool) {
        self.counted += notes;
        self.has_rest |= has_rest;
    }

    pub(super) fn has_counted(&self) -> bool {
        self.counted > 0
    }
}

impl Position {
    fn learn(&mut self, page: &NotePage) {
        if self.after > self.floor {
            return;
        }
        if page.first.is_some_and(|first| first <= self.floor) {
            // Another server has taken over, whose numbers were lower.
            (self.floor, self.visible, self.seen) = (0, 0, None);
        }
        if let Some((seen, later)) = self.seen
            && page.oldest_transaction >= later
        {
            (self.visible, self.seen) = (seen, None);
        }
        self.floor = page
            .first
            .map_or(self.visible, |first| self.visible.min(first - 1));
        if self.seen.is_none() {
            self.seen = page.last.zip(page.later_transaction);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(first: Option<i64>, last: Option<i64>, oldest: i64, later: i64) -> NotePage {
        NotePage {
            batches: Vec::new(),
            is_full: false,
            first,
            last,
            oldest_transaction: oldest,
            later_transaction: last.map(|_| later),
        }
    }

    /// The batches that a look comes to in pages of three notes, and whether there is more. Each note
    /// is `(number, batch)`, and those of batches above 9 cannot be counted.
    fn look(
        position: &NotePosition,
        limit: usize,
        notes: &mut Vec<(i64, u128)>,
    ) -> (Vec<u128>, bool) {
        let mut look = position.begin(limit, Instant::now());
        let mut visited = Vec::new();
        while let Some(after) = look.next() {
            let seen: Vec<_> = notes
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
            let found = NotePage {
                batches,
                is_full: seen.len() == 3,
                ..page(
                    seen.first().map(|note| note.0),
                    seen.last().map(|note| note.0),
                    1,
                    1,
                )
            };
            for batch in look.visit(found, Duration::ZERO) {
                let room = look.room();
                if room == 0 {
                    break;
                }
                visited.push(batch.bits());
                look.pass(&[batch]);
                let mut counted = 0;
                notes.retain(|(_, of)| {
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
        let position = NotePosition::default();
        let mut notes = vec![(1, 1), (2, 2), (3, 1), (4, 3)];
        assert_eq!(look(&position, 9, &mut notes), (vec![1, 2, 3], false));
        assert_eq!(look(&position, 9, &mut notes), (vec![], false));
        // One that has much takes a look for itself, and the next one goes on behind it.
        notes = vec![(5, 1), (6, 1), (7, 1), (8, 2)];
        assert_eq!(look(&position, 2, &mut notes), (vec![1], true));
        assert_eq!(look(&position, 2, &mut notes), (vec![2, 1], true));
        assert_eq!(look(&position, 2, &mut notes), (vec![], false));
        // Not again at once, then the others, then what became visible late.
        notes = vec![(11, 10), (12, 11), (13, 3)];
        assert_eq!(look(&position, 2, &mut notes), (vec![10, 11], false));
        notes.insert(0, (10, 4));
        assert_eq!(look(&position, 2, &mut notes), (vec![4, 3], true));
        assert_eq!(notes, [(11, 10), (12, 11)]);
        // More than a page.
        notes = vec![(21, 10), (22, 10), (23, 10), (24, 10), (25, 5)];
        assert_eq!(look(&position, 9, &mut notes).0, [10, 5]);
        assert_eq!(notes.len(), 4);
    }

    #[test]
    fn the_floor_is_raised_to_what_no_transaction_can_write_any_more() {
        let position = NotePosition::default();
        let began = Instant::now();
        let learn = |found: NotePage, now: Instant| {
            let mut look = position.begin(1, now);
            look.next();
            look.visit(found, Duration::ZERO);
            let floor = look.floor();
            position.end(look);
            floor
        };
        let told = |first, last, oldest, later| learn(page(first, last, oldest, later), began);
        // A transaction older than 50 may hold a number up to 8.
        assert_eq!(told(Some(7), Some(8), 40, 50), 0);
        assert_eq!(told(None, None, 49, 0), 0);
        assert_eq!(told(Some(7), Some(9), 50, 53), 6, "there is a note left");
        assert_eq!(told(None, None, 52, 0), 8, "52 may hold a number up to 9");
        assert_eq!(told(None, None, 53, 0), 9);
        // A server that lacks the last transactions has taken over.
        let later = began + BATCH_NOTES_WHOLE_EVERY;
        let mut look = position.begin(1, later);
        assert_eq!(look.next(), Some(0), "a look at the whole");
        position.end(look);
        assert_eq!(position.begin(1, later).next(), Some(9), "once");
    }

    #[test]
    fn a_note_below_the_floor_makes_it_look_anew() {
        let position = NotePosition::default();
        let mut look = position.begin(1, Instant::now());
        look.position.visible = 9;
        look.visit(page(None, None, 1, 1), Duration::ZERO);
        assert_eq!(look.floor(), 9);
        look.position.after = 0;
        look.visit(page(Some(4), Some(4), 1, 1), Duration::ZERO);
        assert_eq!(look.floor(), 0);
    }
}

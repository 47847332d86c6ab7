//! Where the counting of batches goes on.

use std::sync::{Mutex, PoisonError};

use steadfast_core::BatchId;

/// Where the next look at what has happened to jobs of batches begins.
#[derive(Default)]
pub(super) struct FollowPosition(Mutex<Option<BatchId>>);

impl FollowPosition {
    /// A look at up to `limit` batches, for up to as many notes in all.
    pub(super) fn walk(&self, limit: usize) -> BatchWalk {
        let start = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        BatchWalk {
            start: start.unwrap_or(BEFORE_ALL),
            after: start.unwrap_or(BEFORE_ALL),
            has_turned: false,
            is_round: false,
            looks: 0,
            counted: 0,
            limit,
        }
    }

    /// The next look begins behind this one. Called before it is counted, so that one that fails is not
    /// the first again.
    pub(super) fn pass(&self, batch: BatchId) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(batch);
    }

    /// The look is over: answers whether there is more to count.
    pub(super) fn end(&self, walk: &BatchWalk) -> bool {
        if walk.is_round {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
        // If none could be counted, the same again would not help.
        !walk.is_round && walk.counted > 0
    }
}

/// Batches with notes in the order of their ids, from where the last look ended round to there: none
/// that has much to count, or cannot be counted now, holds up the others.
pub(super) struct BatchWalk {
    start: BatchId,
    after: BatchId,
    has_turned: bool,
    is_round: bool,
    looks: usize,
    counted: usize,
    limit: usize,
}

/// Below the ids of all batches.
const BEFORE_ALL: BatchId = BatchId::from_bits(0);

impl BatchWalk {
    /// Behind which batch to look for the next one; `None` at the end.
    pub(super) fn after(&self) -> Option<BatchId> {
        let has_room = self.counted < self.limit && self.looks < self.limit;
        (has_room && !self.is_round).then_some(self.after)
    }

    /// The batch to count, of what the look for the next one has found.
    pub(super) fn visit(&mut self, found: Option<BatchId>) -> Option<BatchId> {
        let has_turned = self.has_turned;
        match found.filter(|batch| !has_turned || *batch <= self.start) {
            Some(batch) => {
                self.after = batch;
                self.looks += 1;
                Some(batch)
            }
            None => {
                self.is_round = has_turned || self.start == BEFORE_ALL;
                (self.after, self.has_turned) = (BEFORE_ALL, true);
                None
            }
        }
    }

    /// How many notes the next batch may count.
    pub(super) fn room(&self) -> usize {
        self.limit - self.counted
    }

    /// A batch has counted this many notes.
    pub(super) fn add(&mut self, notes: usize) {
        self.counted += notes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The batches that a look comes to, and whether there is more. Each counts what `notes` says.
    fn look(
        position: &FollowPosition,
        limit: usize,
        batches: &[u128],
        notes: impl Fn(u128) -> usize,
    ) -> (Vec<u128>, bool) {
        let mut walk = position.walk(limit);
        let mut visited = Vec::new();
        while let Some(after) = walk.after() {
            let next = batches.iter().find(|batch| **batch > after.bits());
            if let Some(batch) = walk.visit(next.map(|batch| BatchId::from_bits(*batch))) {
                position.pass(batch);
                visited.push(batch.bits());
                walk.add(notes(batch.bits()).min(walk.room()));
            }
        }
        (visited, position.end(&walk))
    }

    #[test]
    fn looks_come_to_every_batch_in_turn() {
        let position = FollowPosition::default();
        let all = [2, 4, 6, 8];
        let look = |limit, notes: fn(u128) -> usize| look(&position, limit, &all, notes);
        assert_eq!(look(9, |_| 1), (vec![2, 4, 6, 8], false));
        // One that has much takes a look for itself, and the next one goes on behind it.
        assert_eq!(look(3, |_| 2), (vec![2, 4], true));
        assert_eq!(
            look(3, |batch| usize::from(batch > 6)),
            (vec![6, 8, 2], true)
        );
        assert_eq!(look(9, |_| 1), (vec![4, 6, 8, 2], false));
        // None can be counted now: not again at once, and then the others.
        assert_eq!(look(2, |_| 0), (vec![2, 4], false));
        assert_eq!(look(2, |_| 0), (vec![6, 8], false));
        assert_eq!(look(9, |_| 0), (vec![2, 4, 6, 8], false));
    }

    #[test]
    fn a_look_without_notes_is_over_at_once() {
        let position = FollowPosition::default();
        assert_eq!(look(&position, 2, &[], |_| 1), (vec![], false));
        position.pass(BatchId::from_bits(7));
        assert_eq!(look(&position, 2, &[], |_| 1), (vec![], false));
        position.pass(BatchId::from_bits(7));
        assert_eq!(look(&position, 2, &[3], |_| 1), (vec![3], false));
    }
}

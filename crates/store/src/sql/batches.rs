//! Batches as columns.

use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use steadfast_core::{
    BatchId, BatchJobFilter, BatchJobState, BatchName, JobId, NewJob, Tenant, Timestamp,
};

use super::{
    template::Template,
    values::{UnreadableValue, state},
};
use crate::store::{BatchCallback, BatchRecord};

/// What never changes of a batch.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BatchBody {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<BatchName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    on_end: Option<JobId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    on_success: Option<JobId>,
    fingerprint: [u8; 16],
}

impl From<&BatchRecord> for BatchBody {
    fn from(batch: &BatchRecord) -> Self {
        Self {
            name: batch.name.clone(),
            on_end: batch.on_end,
            on_success: batch.on_success,
            fingerprint: batch.fingerprint,
        }
    }
}

/// The columns of a batch.
pub(crate) struct BatchColumns<'r> {
    pub id: BatchId,
    pub tenant: &'r str,
    pub created_at: i64,
    pub finished_at: Option<i64>,
    pub counts: &'r str,
    pub body: &'r str,
}

impl BatchColumns<'_> {
    pub(crate) fn read(self) -> Result<BatchRecord, UnreadableValue> {
        let body: BatchBody = parse(self.body)?;
        let tenant = Tenant::new(self.tenant);
        Ok(BatchRecord {
            id: self.id,
            tenant: tenant.map_err(|error| UnreadableValue::new("tenant", error))?,
            name: body.name,
            created_at: Timestamp::from_micros(self.created_at),
            finished_at: self.finished_at.map(Timestamp::from_micros),
            counts: parse(self.counts)?,
            on_end: body.on_end,
            on_success: body.on_success,
            fingerprint: body.fingerprint,
        })
    }
}

fn parse<'t, T: Deserialize<'t>>(text: &'t str) -> Result<T, UnreadableValue> {
    serde_json::from_str(text).map_err(|error| UnreadableValue::new("batch", error))
}

/// What stands for a callback.
pub(crate) fn callback_number(callback: BatchCallback) -> i16 {
    match callback {
        BatchCallback::End => 0,
        BatchCallback::Success => 1,
    }
}

/// The job of a stored callback.
pub(crate) fn callback_job(template: &str) -> Result<NewJob, UnreadableValue> {
    let template: Template = parse(template)?;
    NewJob::try_from(template).map_err(|error| UnreadableValue::new("callback", error))
}

/// Where a job of a batch stood or stands, as it is noted. One in a state that cannot be read has not
/// ended; when it is mended, that is noted too.
pub(crate) fn member_state(number: impl TryInto<i16>) -> BatchJobState {
    let state = number.try_into().ok().and_then(state);
    state.map_or(BatchJobState::Unfinished, BatchJobState::from_state)
}

/// The state that jobs of a batch are found by: those that have not ended have that of one that waits.
pub(crate) fn filter_number(filter: BatchJobFilter) -> i16 {
    match filter {
        BatchJobFilter::Unfinished => 0,
        BatchJobFilter::Succeeded => 2,
        BatchJobFilter::Failed => 3,
        BatchJobFilter::Cancelled => 4,
    }
}

/// Where the next look at what has happened to jobs of batches begins.
#[derive(Default)]
pub(crate) struct FollowPosition(Mutex<Option<BatchId>>);

impl FollowPosition {
    /// A look at up to `limit` batches, for up to as many notes in all.
    pub(crate) fn walk(&self, limit: usize) -> BatchWalk {
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
    pub(crate) fn pass(&self, batch: BatchId) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(batch);
    }

    /// The look is over: answers whether there is more to count.
    pub(crate) fn end(&self, walk: &BatchWalk) -> bool {
        if walk.is_round {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
        // If none could be counted, the same again would not help.
        !walk.is_round && walk.counted > 0
    }
}

/// Batches with notes in the order of their ids, from where the last look ended round to there: none
/// that has much to count, or cannot be counted now, holds up the others.
pub(crate) struct BatchWalk {
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
    pub(crate) fn after(&self) -> Option<BatchId> {
        let has_room = self.counted < self.limit && self.looks < self.limit;
        (has_room && !self.is_round).then_some(self.after)
    }

    /// The batch to count, of what the look for the next one has found.
    pub(crate) fn visit(&mut self, found: Option<BatchId>) -> Option<BatchId> {
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
    pub(crate) fn room(&self) -> usize {
        self.limit - self.counted
    }

    /// A batch has counted this many notes.
    pub(crate) fn add(&mut self, notes: usize) {
        self.counted += notes;
    }

    #[cfg(feature = "postgres")]
    pub(crate) fn has_counted(&self) -> bool {
        self.counted > 0
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

//! When the numbers of lanes and policies were used, so that those that nothing uses can go.
//!
//! A row says when its number was last looked up, to the hour. A number that is remembered is looked
//! up again after some minutes. So a row that says nothing newer than a day before the last search is
//! not about to be used, whatever is under way, and a search need only find out whether a job has it.

use steadfast_core::Timestamp;

use crate::limits::{NAME_SEARCH_EVERY, NUMBERS_REMEMBERED};

/// A number that is remembered for a while.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FoundNumber<Id> {
    pub id: Id,
    pub found_at: Timestamp,
}

impl<Id: Copy> FoundNumber<Id> {
    /// The number, unless it has to be looked up again. A clock that was set back says nothing of
    /// how long ago it was found.
    pub(crate) fn at(self, now: Timestamp) -> Option<Id> {
        let is_known = self.found_at <= now && now.since(self.found_at) < NUMBERS_REMEMBERED;
        is_known.then_some(self.id)
    }
}

/// Whether the use of a number need not be noted again. Rows from before uses were noted say a time
/// to come; one that is far off is from a clock that was set back.
#[cfg(feature = "sqlite")]
pub(crate) fn is_use_noted(used_at: Timestamp, now: Timestamp) -> bool {
    now.minus(crate::limits::NAME_USE_NOTED_EVERY) <= used_at
        && used_at <= now.plus(crate::limits::NAME_USE_AHEAD_MAX)
}

/// What was used last before this may go, if the last search was at the time given.
pub(crate) fn unused_before(last_search: Timestamp) -> i64 {
    last_search.minus(NAME_SEARCH_EVERY).as_micros()
}

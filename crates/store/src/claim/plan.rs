//! The ranges that one statement takes from, so that a claim is one round trip.
//!
//! The outcome is known only afterwards, so what is planned is reserved within the plan: two ranges
//! do not count on the same room.

use std::collections::HashSet;

use steadfast_core::Timestamp;

use super::{
    DueIndex,
    choose::{NextRange, Pick, Search, SentJobs},
    request::ClaimRequest,
};

/// What one tenant may start.
#[derive(Debug)]
pub(crate) struct TenantBatch {
    /// How many jobs in all.
    pub count: usize,
    /// The ranges, the most urgent first.
    pub picks: Vec<Pick>,
}

impl DueIndex {
    /// The ranges that a claim of up to `max` jobs takes from. Each pick must be finished once with
    /// [`DueIndex::finish`].
    pub(crate) fn plan(
        &mut self,
        request: &ClaimRequest,
        max: usize,
        sent: &SentJobs,
        now: Timestamp,
    ) -> Vec<TenantBatch> {
        let Ok(view) = self.view(request, now) else {
            return Vec::new();
        };
        let mut search = Search::new(view, request, sent, now);
        self.advance(&search);
        let mut batches = self.batches(max, &mut search);
        for at in &search.reserved.gates {
            self.views[view].set_with_room(at, steadfast_core::Share::default());
        }
        // Other claims may take from the same ranges meanwhile.
        for pick in batches.iter_mut().flat_map(|batch| &mut batch.picks) {
            self.place(pick.range);
            pick.in_flight = self.in_flight.begin(pick.range);
        }
        batches
    }

    fn batches(&mut self, max: usize, search: &mut Search<'_>) -> Vec<TenantBatch> {
        let mut batches = Vec::new();
        let mut served = HashSet::new();
        let mut left = max;
        while left > 0
            && let Some(tenant) = self.next_tenant(search)
        {
            // Its other ranges are planned when it is known what these held.
            if !served.insert(tenant.clone()) {
                break;
            }
            let count = self.fair_count(search.view, &tenant, left);
            let mut picks = Vec::new();
            let mut is_reserved = false;
            while picks.len() < count && !is_reserved {
                match self.next_range(&tenant, count, search) {
                    NextRange::Start(pick) => {
                        search.reserved.add(&pick);
                        picks.push(pick);
                    }
                    NextRange::Reserved => is_reserved = true,
                    NextRange::None => break,
                }
            }
            if !picks.is_empty() {
                left -= count;
                batches.push(TenantBatch { count, picks });
            } else if is_reserved {
                break;
            } else {
                served.remove(&tenant);
            }
        }
        batches
    }
}

//! Where strips wait although something may start there: what was let through instead of them may
//! have more urgent things to do.

use std::collections::{BTreeSet, HashMap};

use steadfast_core::Share;

use super::view::Park;

/// By the tenant that waits there and has had least.
#[derive(Default)]
pub(super) struct OpenParks {
    /// What that tenant has had, or less.
    order: BTreeSet<(Share, Park)>,
    shares: HashMap<Park, Share>,
}

impl OpenParks {
    pub(super) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    pub(super) fn contains(&self, park: &Park) -> bool {
        self.shares.contains_key(park)
    }

    pub(super) fn insert(&mut self, park: Park, share: Share) {
        self.remove(&park);
        self.shares.insert(park.clone(), share);
        self.order.insert((share, park));
    }

    pub(super) fn remove(&mut self, park: &Park) {
        if let Some(share) = self.shares.remove(park) {
            self.order.remove(&(share, park.clone()));
        }
    }

    pub(super) fn first(&self) -> Option<(Share, Park)> {
        self.order.first().cloned()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Park> {
        self.order.iter().map(|(_, park)| park)
    }
}

//! Outcomes by tenant, so that one tenant cannot have a destination held for all.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use super::{HealthRules, counts};
use crate::{
    limits,
    values::{Tenant, Timestamp},
};

/// How attempts of several tenants ended. Of very many tenants only some are counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct TenantCounts {
    of: BTreeMap<Tenant, Vec<Piece>>,
}

/// `[piece since 1970, ended, failed]`, in the order in which they came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Piece(i64, u32, u32);

impl TenantCounts {
    pub(super) fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    pub(super) fn tenants(&self) -> impl Iterator<Item = &Tenant> {
        self.of.keys()
    }

    pub(super) fn add(&mut self, tenant: &Tenant, has_failed: bool, at: Timestamp) {
        self.add_piece(tenant, Piece(counts::number(at), 1, u32::from(has_failed)));
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (tenant, pieces) in &other.of {
            for piece in pieces {
                self.add_piece(tenant, *piece);
            }
        }
    }

    fn add_piece(&mut self, tenant: &Tenant, piece: Piece) {
        if !self.of.contains_key(tenant) && self.of.len() >= limits::HEALTH_TENANTS_MAX {
            return;
        }
        let pieces = self.of.entry(tenant.clone()).or_default();
        if let Some(known) = pieces.iter_mut().find(|known| known.0 == piece.0) {
            known.1 = known.1.saturating_add(piece.1);
            known.2 = known.2.saturating_add(piece.2);
        } else if pieces.len() < limits::HEALTH_PIECES_MAX {
            pieces.push(piece);
        }
    }

    /// As [`OutcomeCounts::keep_window`](super::OutcomeCounts) does.
    pub(super) fn keep_window(&mut self, window: Duration, now: Timestamp) {
        let kept = counts::window(window, now);
        self.of.retain(|_, pieces| {
            pieces.retain(|piece| kept.contains(&piece.0));
            !pieces.is_empty()
        });
    }

    /// Whether they show that the destination works for none of its callers: attempts of at least
    /// two tenants failed, and none of them counts for more than half of what is needed. So a
    /// tenant whose attempts fail for a reason of its own is outweighed by one whose attempts succeed.
    pub(super) fn are_bad(&self, rules: &HealthRules) -> bool {
        let most = f64::from((rules.min_attempts / 2).max(1));
        let (mut ended, mut failed) = (0.0, 0.0);
        for pieces in self.of.values() {
            let (of_tenant, failed_of_tenant) = totals(pieces);
            let weight = (most / of_tenant.max(1.0)).min(1.0);
            ended += of_tenant * weight;
            failed += failed_of_tenant * weight;
        }
        self.failing() >= 2
            && ended >= f64::from(rules.min_attempts)
            && failed >= ended * rules.failed_share
    }

    /// Of how many tenants attempts failed.
    pub(super) fn failing(&self) -> usize {
        let failing = self.of.values().filter(|pieces| totals(pieces).1 > 0.0);
        failing.count()
    }
}

fn totals(pieces: &[Piece]) -> (f64, f64) {
    let sum = |of: fn(&Piece) -> u32| pieces.iter().map(|piece| f64::from(of(piece))).sum();
    (sum(|piece| piece.1), sum(|piece| piece.2))
}

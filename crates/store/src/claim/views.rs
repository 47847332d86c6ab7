//! Which views there are.
//!
//! To make a view, all ranges of its filter are examined, and every range that changes is put into
//! each view that wants it. So views are few, and tenants share them: each has some for free. For
//! more it pays with the ranges that are examined, and a caller whose tenant has no credit left comes
//! again a little later. So a tenant that names ever new kinds delays its own claims.

use std::collections::HashMap;

use steadfast_core::{Tenant, Timestamp};

use super::{DueIndex, DueRange, NEVER, request::ClaimRequest, view::View};
use crate::limits::{
    DUE_VIEW_RANGES_MAX, DUE_VIEWS_MAX, DUE_VIEWS_PER_TENANT_FREE, VIEW_CREDIT_MAX,
    VIEW_CREDIT_PER_SECOND, VIEW_PAUSE,
};

/// Why a caller gets no view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoView {
    /// Nothing waits that it wants.
    Nothing,
    /// Its tenant has made too many views; it may ask again at this time.
    Later(Timestamp),
}

/// The ranges that tenants may have examined for new views. Those that are not here have all of it.
#[derive(Default)]
pub(super) struct ViewCredits(HashMap<Tenant, (i64, Timestamp)>);

impl ViewCredits {
    fn get(&self, tenant: &Tenant, now: Timestamp) -> i64 {
        let known = self.0.get(tenant);
        known.map_or(VIEW_CREDIT_MAX, |known| credit(*known, now))
    }

    fn pay(&mut self, tenant: &Tenant, ranges: usize, now: Timestamp) {
        let ranges = i64::try_from(ranges).unwrap_or(i64::MAX);
        let left = self.get(tenant, now).saturating_sub(ranges);
        // Those that have all of it again are forgotten.
        self.0
            .retain(|_, known| credit(*known, now) < VIEW_CREDIT_MAX);
        self.0.insert(tenant.clone(), (left, now));
    }
}

/// What is left of a credit, with what it earned since.
fn credit((left, at): (i64, Timestamp), now: Timestamp) -> i64 {
    let millis = i64::try_from(now.since(at).as_millis()).unwrap_or(i64::MAX);
    let earned = millis.saturating_mul(VIEW_CREDIT_PER_SECOND) / 1_000;
    left.saturating_add(earned).min(VIEW_CREDIT_MAX)
}

impl DueIndex {
    /// The view of a request, which is made if there is none.
    pub(super) fn view(&mut self, request: &ClaimRequest, now: Timestamp) -> Result<usize, NoView> {
        self.follow_clock(now);
        self.uses += 1;
        if let Some(index) = self.views.iter().position(|view| view.is_for(request)) {
            self.views[index].used = self.uses;
            return Ok(index);
        }
        let ranges = self.lists.count(request).unwrap_or(self.flow_keys.len());
        if ranges == 0 {
            return Err(NoView::Nothing);
        }
        if let Some(tenant) = &request.tenant {
            let own = self
                .views
                .iter()
                .filter(|view| view.tenant() == Some(tenant));
            if own.count() >= DUE_VIEWS_PER_TENANT_FREE {
                if self.view_credits.get(tenant, now) <= 0 {
                    return Err(NoView::Later(now.plus(VIEW_PAUSE)));
                }
                self.view_credits.pay(tenant, ranges, now);
            }
        }
        let view = self.make_view(request, now);
        self.make_room_for(view.len());
        self.views.push(view);
        Ok(self.views.len() - 1)
    }

    fn make_view(&self, request: &ClaimRequest, now: Timestamp) -> View {
        let mut view = View::new(request, self.uses);
        let candidates = self.lists.candidates(request);
        for id in candidates.unwrap_or_else(|| self.flow_keys.keys().copied().collect()) {
            let Some(entry) = self.flow_keys.get(&id) else {
                continue;
            };
            if !view.wants(&entry.flow_key) {
                continue;
            }
            for (level, bound) in &entry.ranges {
                if bound.run_at == NEVER {
                    continue;
                }
                let range = DueRange {
                    flow_key: id,
                    level: *level,
                };
                let share = self.shares.get(&entry.flow_key.tenant);
                let is_due = bound.run_at <= now;
                view.place(range, &entry.flow_key.tenant, share, bound.run_at, is_due);
            }
        }
        view
    }

    /// Removes views until there is room for another: of the tenant that has most of what is scarce,
    /// views or ranges, the one that was not used for longest. Views of all tenants come last, because
    /// every tenant needs them.
    fn make_room_for(&mut self, ranges: usize) {
        let most = DUE_VIEW_RANGES_MAX.max(4 * self.flow_keys.len());
        let size = |view: &View| view.len() + 1;
        let mut all = ranges + self.views.iter().map(size).sum::<usize>();
        while !self.views.is_empty() && (self.views.len() >= DUE_VIEWS_MAX || all > most) {
            let has_all_views = self.views.len() >= DUE_VIEWS_MAX;
            let mut sizes: HashMap<Option<&Tenant>, usize> = HashMap::new();
            for view in &self.views {
                *sizes.entry(view.tenant()).or_default() += match has_all_views {
                    true => 1,
                    false => size(view),
                };
            }
            let largest = sizes
                .into_iter()
                .max_by_key(|(tenant, size)| (tenant.is_some(), *size));
            let largest = largest.and_then(|(tenant, _)| tenant);
            let own = (0..self.views.len()).filter(|view| self.views[*view].tenant() == largest);
            let oldest = own.min_by_key(|view| self.views[*view].used).unwrap_or(0);
            all -= size(&self.views.swap_remove(oldest));
        }
    }
}

//! What callers that want the same jobs see: each of their strips is ready, waits for its time, or
//! is held back by a gate.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    hash::Hash,
};

use steadfast_core::{Destination, GateNumber, Kind, Queue, Share, Sublane, Tenant, Timestamp};

use super::{Strip, open_parks::OpenParks, order::TenantOrder};
use crate::{limits::OPEN_PARKS_LOOKED_MAX, store::ClaimRequest};

/// Which jobs are wanted.
struct Wish {
    tenant: Option<Tenant>,
    queues: HashSet<Queue>,
    kinds: HashSet<Kind>,
    except_kinds: HashSet<Kind>,
    /// Callers with allowances of their own see destinations differently.
    has_allowance: bool,
}

impl Wish {
    fn of(request: &ClaimRequest) -> Self {
        Self {
            tenant: request.tenant.clone(),
            queues: request.queues.iter().cloned().collect(),
            kinds: request.kinds.iter().cloned().collect(),
            except_kinds: request.except_kinds.iter().cloned().collect(),
            has_allowance: request.allowance.is_some(),
        }
    }

    /// Whether a request wants the same. Names that it has twice make it another wish, which is
    /// served as well.
    fn is_of(&self, request: &ClaimRequest) -> bool {
        fn same<N: Hash + Eq>(wanted: &HashSet<N>, names: &[N]) -> bool {
            wanted.len() == names.len() && names.iter().all(|name| wanted.contains(name))
        }
        self.tenant == request.tenant
            && self.has_allowance == request.allowance.is_some()
            && same(&self.queues, &request.queues)
            && same(&self.kinds, &request.kinds)
            && same(&self.except_kinds, &request.except_kinds)
    }

    /// As [`ClaimRequest::wants`] says.
    fn contains(&self, sublane: &Sublane) -> bool {
        self.tenant
            .as_ref()
            .is_none_or(|tenant| *tenant == sublane.tenant)
            && (self.queues.is_empty() || self.queues.contains(&sublane.queue))
            && (self.kinds.is_empty() || self.kinds.contains(&sublane.kind))
            && !self.except_kinds.contains(&sublane.kind)
    }
}

/// What holds strips back.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Park {
    /// A gate, whatever the job.
    Gate(GateNumber),
    /// A gate that has had its share of retries.
    Retries(GateNumber),
    /// The caller has as much under way to this destination as it wants.
    Destination(Destination),
}

impl Park {
    pub(super) fn is_at(&self, number: GateNumber) -> bool {
        *self == Self::Gate(number) || *self == Self::Retries(number)
    }
}

pub(super) struct View {
    wish: Wish,
    /// When it was used last.
    pub used: u64,
    ready: TenantOrder,
    later: BTreeSet<(Timestamp, Strip)>,
    parked: HashMap<Park, TenantOrder>,
    /// The destinations among what holds strips back: every claim looks at these, and gates may be
    /// many.
    full: HashSet<Destination>,
    /// Those of what holds strips back that have room.
    open: OpenParks,
    places: HashMap<Strip, PlacedStrip>,
}

/// Where a strip is.
struct PlacedStrip {
    tenant: Tenant,
    run_at: Timestamp,
    place: Whereabouts,
}

enum Whereabouts {
    Ready,
    Later,
    Parked(Park),
}

impl View {
    pub(super) fn new(request: &ClaimRequest, used: u64) -> Self {
        Self {
            wish: Wish::of(request),
            used,
            ready: TenantOrder::default(),
            later: BTreeSet::new(),
            parked: HashMap::new(),
            full: HashSet::new(),
            open: OpenParks::default(),
            places: HashMap::new(),
        }
    }

    pub(super) fn is_for(&self, request: &ClaimRequest) -> bool {
        self.wish.is_of(request)
    }

    pub(super) fn wants(&self, sublane: &Sublane) -> bool {
        self.wish.contains(sublane)
    }

    /// Puts a strip where its time belongs, wherever it was. One that a gate holds back stays there.
    pub(super) fn place(
        &mut self,
        strip: Strip,
        tenant: &Tenant,
        share: Share,
        run_at: Timestamp,
        is_due: bool,
    ) {
        let parked = match self.places.get(&strip).map(|placed| &placed.place) {
            Some(Whereabouts::Parked(park)) if is_due => Some(park.clone()),
            _ => None,
        };
        let is_open = matches!(&parked, Some(park) if self.open.contains(park));
        self.remove(strip);
        let place = match parked {
            Some(park) => {
                if is_open {
                    self.open.insert(park.clone(), Share::default());
                }
                if let Park::Destination(destination) = &park {
                    self.full.insert(destination.clone());
                }
                let order = self.parked.entry(park.clone()).or_default();
                order.insert(strip, tenant, share, run_at);
                Whereabouts::Parked(park)
            }
            None if is_due => {
                self.ready.insert(strip, tenant, share, run_at);
                Whereabouts::Ready
            }
            None => {
                self.later.insert((run_at, strip));
                Whereabouts::Later
            }
        };
        let placed = PlacedStrip {
            tenant: tenant.clone(),
            run_at,
            place,
        };
        self.places.insert(strip, placed);
    }

    pub(super) fn park(
        &mut self,
        strip: Strip,
        tenant: &Tenant,
        share: Share,
        run_at: Timestamp,
        park: Park,
    ) {
        self.remove(strip);
        if let Park::Destination(destination) = &park {
            self.full.insert(destination.clone());
        }
        let order = self.parked.entry(park.clone()).or_default();
        order.insert(strip, tenant, share, run_at);
        let placed = PlacedStrip {
            tenant: tenant.clone(),
            run_at,
            place: Whereabouts::Parked(park),
        };
        self.places.insert(strip, placed);
    }

    pub(super) fn remove(&mut self, strip: Strip) {
        let Some(placed) = self.places.remove(&strip) else {
            return;
        };
        let PlacedStrip {
            tenant,
            run_at,
            place,
        } = &placed;
        match place {
            Whereabouts::Ready => self.ready.remove(strip, tenant, *run_at),
            Whereabouts::Later => drop(self.later.remove(&(*run_at, strip))),
            Whereabouts::Parked(park) => {
                if let Some(order) = self.parked.get_mut(park) {
                    order.remove(strip, tenant, *run_at);
                    if order.is_empty() {
                        self.parked.remove(park);
                        self.open.remove(park);
                        if let Park::Destination(destination) = park {
                            self.full.remove(destination);
                        }
                    }
                }
            }
        }
    }

    /// Moves what has become due.
    pub(super) fn advance(
        &mut self,
        now: Timestamp,
        tenant: impl Fn(Strip) -> Option<(Tenant, Share)>,
    ) {
        while let Some((run_at, strip)) = self.later.first().copied()
            && run_at <= now
        {
            match tenant(strip) {
                Some((tenant, share)) => self.place(strip, &tenant, share, run_at, true),
                None => self.remove(strip),
            }
        }
    }

    pub(super) fn has_parked(&self, number: GateNumber) -> bool {
        self.parked.contains_key(&Park::Gate(number))
            || self.parked.contains_key(&Park::Retries(number))
    }

    /// One of the strips that wait there.
    pub(super) fn first_at(&self, park: &Park) -> Option<Strip> {
        let (strip, _) = self.parked.get(park)?.first()?;
        Some(strip)
    }

    /// Lets up to `count` strips through, those of the tenants that have had least first.
    pub(super) fn unpark(
        &mut self,
        park: &Park,
        count: usize,
        share: impl Fn(&Tenant) -> Share,
    ) -> Vec<Strip> {
        let mut through = Vec::new();
        while through.len() < count
            && let Some(order) = self.parked.get_mut(park)
            && let Some(tenant) = order.next_tenant(&share)
            && let Some((strip, run_at)) = order.first_of(&tenant)
        {
            self.remove(strip);
            self.place(strip, &tenant, share(&tenant), run_at, true);
            through.push(strip);
        }
        // Others may have their turn before it, and use the room; and at a rate there is more room
        // soon.
        if count > 0 {
            self.open(park.clone());
        }
        through
    }

    /// What holds strips back has room.
    pub(super) fn open(&mut self, park: Park) {
        if self.parked.contains_key(&park) {
            self.open.insert(park, Share::default());
        }
    }

    /// What holds strips back has no room.
    pub(super) fn close(&mut self, park: &Park) {
        self.open.remove(park);
    }

    /// Whether something waits where there is room, as far as is known.
    pub(super) fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// The tenant that has had least of those that wait where there is room, and where it does.
    pub(super) fn first_open(
        &mut self,
        share: impl Fn(&Tenant) -> Share,
    ) -> Option<(Tenant, Park)> {
        loop {
            let (known, park) = self.open.first()?;
            let order = self.parked.get_mut(&park);
            let Some(tenant) = order.and_then(|order| order.next_tenant(&share)) else {
                self.open.remove(&park);
                continue;
            };
            let share = share(&tenant);
            if share <= known {
                return Some((tenant, park));
            }
            self.open.insert(park, share);
        }
    }

    /// Where there is room, as far as is known, and a tenant waits: among some of those where others
    /// have had least.
    pub(super) fn open_to(&self, tenant: &Tenant) -> Vec<Park> {
        let looked = self.open.iter().take(OPEN_PARKS_LOOKED_MAX);
        let waits = |park: &&Park| self.parked.get(park).is_some_and(|it| it.has(tenant));
        looked.filter(waits).cloned().collect()
    }

    /// Lets up to `count` of a tenant's strips through, the most urgent first.
    pub(super) fn unpark_of(&mut self, tenant: &Tenant, share: Share, park: &Park, count: usize) {
        for _ in 0..count {
            let order = self.parked.get(park);
            let Some((strip, run_at)) = order.and_then(|order| order.first_of(tenant)) else {
                break;
            };
            self.remove(strip);
            self.place(strip, tenant, share, run_at, true);
        }
    }

    /// Lets through what goes to destinations for which the caller has room again.
    pub(super) fn unpark_destinations(
        &mut self,
        allowance: &dyn Fn(&Destination) -> usize,
        share: impl Fn(&Tenant) -> Share,
    ) {
        let rooms = self.full.iter();
        let rooms = rooms.map(|destination| (destination.clone(), allowance(destination)));
        let open: Vec<(Destination, usize)> = rooms.filter(|(_, room)| *room > 0).collect();
        for (destination, room) in open {
            self.unpark(&Park::Destination(destination), room, &share);
        }
    }

    /// A strip that has something due, as far as is known.
    pub(super) fn first_ready(&self) -> Option<(Strip, Timestamp)> {
        self.ready.first()
    }

    /// The strip that is due next.
    pub(super) fn first_later(&self) -> Option<(Strip, Timestamp)> {
        let (run_at, strip) = self.later.first()?;
        Some((*strip, *run_at))
    }

    pub(super) fn ready_tenants(&self) -> usize {
        self.ready.tenants()
    }

    pub(super) fn next_tenant(&mut self, share: impl Fn(&Tenant) -> Share) -> Option<Tenant> {
        self.ready.next_tenant(share)
    }

    /// Takes a tenant's most urgent strip out.
    pub(super) fn take_first(&mut self, tenant: &Tenant) -> Option<Strip> {
        let (strip, _) = self.ready.first_of(tenant)?;
        self.remove(strip);
        Some(strip)
    }
}

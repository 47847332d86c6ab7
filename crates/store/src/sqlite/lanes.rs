//! Where something waits: for each lane and priority, a lower bound of the earliest `runAt`.
//!
//! A claim would have to search every lane ten times, once for each priority, only to learn
//! that nothing is due. The bounds are kept in memory by the writer, which makes nearly all
//! changes itself; they say which searches can find something, and when to look again.
//! Whatever another connection writes makes them stale, and they are read again when a claim
//! next asks. A bound may be too early, never too late.

#[cfg(test)]
mod tests;

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap, HashSet},
};

use rusqlite::Connection;
use steadfast_core::{Queue, Tenant, Timestamp, limits::PRIORITY_MAX};

use super::{
    fault::Fault,
    names::{LaneId, LaneName, lanes_after},
};
use crate::ClaimRequest;

pub(super) const PRIORITIES: usize = PRIORITY_MAX as usize + 1;

/// Nothing waits.
const NEVER: i64 = i64::MAX;

#[derive(Default)]
pub(super) struct Lanes {
    lanes: Vec<Lane>,
    places: HashMap<LaneId, usize>,
    paused: HashSet<(Tenant, Queue)>,
    /// Counts the occasions on which other connections may have changed anything.
    era: u64,
    is_loaded: bool,
}

struct Lane {
    id: LaneId,
    name: LaneName,
    is_paused: bool,
    /// When the bounds were read; in an older era they mean nothing.
    era: u64,
    bounds: [Bound; PRIORITIES],
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Bound {
    run_at: i64,
    /// A job waits for exactly this time.
    is_exact: bool,
}

impl Bound {
    const NOTHING: Self = Self {
        run_at: NEVER,
        is_exact: true,
    };
}

impl Lanes {
    /// Other connections have written, or a transaction of ours was rolled back.
    pub(super) fn forget(&mut self) {
        self.era += 1;
        self.is_loaded = false;
    }

    /// Rows may have gone back to an earlier time, lane numbers included.
    pub(super) fn forget_all(&mut self) {
        let era = self.era + 1;
        *self = Self {
            era,
            ..Self::default()
        };
    }

    /// The places of the lanes that a claim may take from, with bounds that can be trusted.
    pub(super) fn wanted(
        &mut self,
        conn: &Connection,
        request: &ClaimRequest,
    ) -> Result<Vec<usize>, Fault> {
        if !self.is_loaded {
            self.load(conn)?;
        }
        let era = self.era;
        let mut places = Vec::new();
        for (place, lane) in self.lanes.iter_mut().enumerate() {
            if lane.is_wanted(request) {
                if lane.era != era {
                    lane.read_bounds(conn)?;
                    lane.era = era;
                }
                places.push(place);
            }
        }
        Ok(places)
    }

    pub(super) fn id(&self, place: usize) -> LaneId {
        self.lanes[place].id
    }

    /// The places among those given where a job of this priority may be due, by when.
    pub(super) fn due(
        &self,
        places: &[usize],
        priority: usize,
        now: Timestamp,
    ) -> BinaryHeap<Reverse<(i64, usize)>> {
        places
            .iter()
            .map(|place| (self.lanes[*place].bounds[priority].run_at, *place))
            .filter(|(run_at, _)| *run_at <= now.as_micros())
            .map(Reverse)
            .collect()
    }

    /// Looks up the earliest `runAt` where it is not known exactly.
    pub(super) fn exact(
        &mut self,
        conn: &Connection,
        place: usize,
        priority: usize,
    ) -> Result<i64, Fault> {
        let lane = &mut self.lanes[place];
        let bound = &mut lane.bounds[priority];
        if !bound.is_exact {
            let earliest: Option<i64> = conn
                .prepare_cached(include_str!("sql/claim_next.sql"))?
                .query_row((lane.id, priority_number(priority)), |row| row.get(0))?;
            *bound = Bound {
                run_at: earliest.unwrap_or(NEVER),
                is_exact: true,
            };
        }
        Ok(bound.run_at)
    }

    /// When the next job of the places given becomes due.
    pub(super) fn next_due(
        &mut self,
        conn: &Connection,
        places: &[usize],
    ) -> Result<Option<Timestamp>, Fault> {
        let mut earliest: BinaryHeap<_> = places
            .iter()
            .flat_map(|place| {
                let bounds = self.lanes[*place].bounds.iter().enumerate();
                bounds.map(|(priority, bound)| Reverse((bound.run_at, *place, priority)))
            })
            .filter(|Reverse((run_at, ..))| *run_at != NEVER)
            .collect();
        while let Some(Reverse((bound, place, priority))) = earliest.pop() {
            let run_at = self.exact(conn, place, priority)?;
            if run_at == bound {
                return Ok(Some(Timestamp::from_micros(run_at)));
            }
            if run_at != NEVER {
                earliest.push(Reverse((run_at, place, priority)));
            }
        }
        Ok(None)
    }

    /// A job waits, and says whether that is earlier than was known.
    pub(super) fn added(&mut self, lane: LaneId, priority: u8, run_at: Timestamp) -> bool {
        let era = self.era;
        let Some((read_in, bound)) = self.bound(lane, priority) else {
            // A lane that is not known yet is read when a claim next asks.
            self.is_loaded = false;
            return true;
        };
        let run_at = run_at.as_micros();
        let is_earlier = run_at < bound.run_at;
        if run_at <= bound.run_at {
            *bound = Bound {
                run_at,
                is_exact: true,
            };
        }
        is_earlier || read_in != era
    }

    /// A job waits no more. If it was the first, the next one's time is not known.
    pub(super) fn removed(&mut self, lane: LaneId, priority: u8, run_at: Timestamp) {
        if let Some((_, bound)) = self.bound(lane, priority)
            && bound.run_at == run_at.as_micros()
        {
            bound.is_exact = false;
        }
    }

    /// The earliest jobs of a lane were claimed; what is left is not earlier than `run_at`.
    pub(super) fn raise(&mut self, place: usize, priority: usize, run_at: Timestamp) {
        self.lanes[place].bounds[priority] = Bound {
            run_at: run_at.as_micros(),
            is_exact: false,
        };
    }

    /// The lane was searched: whatever the bound said, the next one's time is not known.
    pub(super) fn doubt(&mut self, place: usize, priority: usize) {
        self.lanes[place].bounds[priority].is_exact = false;
    }

    pub(super) fn set_paused(&mut self, tenant: &Tenant, queue: &Queue, paused: bool) {
        let named = (tenant.clone(), queue.clone());
        if paused {
            self.paused.insert(named);
        } else {
            self.paused.remove(&named);
        }
        for lane in &mut self.lanes {
            if lane.name.tenant == *tenant && lane.name.queue == *queue {
                lane.is_paused = paused;
            }
        }
    }

    fn bound(&mut self, lane: LaneId, priority: u8) -> Option<(u64, &mut Bound)> {
        let lane = &mut self.lanes[*self.places.get(&lane)?];
        Some((lane.era, lane.bounds.get_mut(usize::from(priority))?))
    }

    fn load(&mut self, conn: &Connection) -> Result<(), Fault> {
        self.paused = read_paused(conn)?;
        let newest = self.lanes.last().map_or(0, |lane| lane.id);
        for (id, name) in lanes_after(conn, newest)? {
            self.places.insert(id, self.lanes.len());
            self.lanes.push(Lane {
                id,
                name,
                is_paused: false,
                era: self.era.wrapping_sub(1),
                bounds: [Bound::NOTHING; PRIORITIES],
            });
        }
        for lane in &mut self.lanes {
            let queue = (lane.name.tenant.clone(), lane.name.queue.clone());
            lane.is_paused = self.paused.contains(&queue);
        }
        self.is_loaded = true;
        Ok(())
    }
}

impl Lane {
    fn is_wanted(&self, request: &ClaimRequest) -> bool {
        let LaneName {
            tenant,
            queue,
            kind,
        } = &self.name;
        !self.is_paused
            && request
                .tenant
                .as_ref()
                .is_none_or(|wanted| wanted == tenant)
            && (request.queues.is_empty() || request.queues.contains(queue))
            && (request.kinds.is_empty() || request.kinds.contains(kind))
            && !request.except_kinds.contains(kind)
    }

    fn read_bounds(&mut self, conn: &Connection) -> Result<(), Fault> {
        let mut statement = conn.prepare_cached(include_str!("sql/claim_bounds.sql"))?;
        let mut rows = statement.query([self.id])?;
        while let Some(row) = rows.next()? {
            let priority: u8 = row.get(0)?;
            if let Some(bound) = self.bounds.get_mut(usize::from(priority)) {
                *bound = Bound {
                    run_at: row.get::<_, Option<i64>>(1)?.unwrap_or(NEVER),
                    is_exact: true,
                };
            }
        }
        Ok(())
    }
}

fn read_paused(conn: &Connection) -> Result<HashSet<(Tenant, Queue)>, Fault> {
    let mut statement = conn.prepare_cached(include_str!("sql/paused.sql"))?;
    let mut rows = statement.query([])?;
    let mut paused = HashSet::new();
    while let Some(row) = rows.next()? {
        let tenant: String = row.get(0)?;
        let queue: String = row.get(1)?;
        let tenant = Tenant::new(&tenant).map_err(|error| Fault::unreadable("tenant", error))?;
        let queue = Queue::new(&queue).map_err(|error| Fault::unreadable("queue", error))?;
        paused.insert((tenant, queue));
    }
    Ok(paused)
}

pub(super) fn priority_number(priority: usize) -> i64 {
    i64::try_from(priority).unwrap_or(i64::MAX)
}

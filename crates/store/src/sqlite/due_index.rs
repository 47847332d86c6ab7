//! Where jobs wait: for each lane and priority, a lower bound of the earliest `runAt`.
//!
//! A claim would have to search every lane ten times, once for each priority, only to learn
//! that nothing is due. The writer holds the bounds in memory and makes nearly all changes
//! itself; they say which searches can find something, and when to look again. A write of
//! another connection makes them stale, and the next claim reads them again. A bound may be
//! too early, never too late.

#[cfg(test)]
mod tests;

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap, HashSet},
    hash::Hash,
};

use rusqlite::Connection;
use steadfast_core::{Kind, Queue, Tenant, Timestamp, limits::PRIORITY_MAX};

use super::{
    damage::pass_over,
    driver_error::DriverError,
    names::{LaneId, lanes_after},
    values::parse,
};
use crate::{damage::DamageLog, lane::Lane, sql::columns::columns, store::ClaimRequest};

pub(super) const PRIORITIES: usize = PRIORITY_MAX as usize + 1; // not a limit: how many there are

/// No job waits.
const NEVER: i64 = i64::MAX; // not a limit: a time that does not come

columns! {
    struct BoundColumns { priority, run_at }
}

columns! {
    struct QueueColumns { tenant, queue }
}

#[derive(Default)]
pub(super) struct DueIndex {
    entries: Vec<Entry>,
    /// Where a lane is in `entries`.
    indexes: HashMap<LaneId, usize>,
    /// Where the lanes of a tenant, queue or kind are, so that a request that names some does not
    /// walk over the others.
    by_tenant: HashMap<Tenant, Vec<usize>>,
    by_queue: HashMap<Queue, Vec<usize>>,
    by_kind: HashMap<Kind, Vec<usize>>,
    paused: HashSet<(Tenant, Queue)>,
    /// Counts the occasions on which other connections may have changed anything.
    era: u64,
    is_loaded: bool,
}

/// One lane.
struct Entry {
    id: LaneId,
    lane: Lane,
    is_paused: bool,
    /// When the bounds were read; those of an older era mean nothing.
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

impl DueIndex {
    /// Other connections have written, or a transaction of ours was rolled back.
    pub(super) fn invalidate(&mut self) {
        self.era += 1;
        self.is_loaded = false;
    }

    /// Rows may have gone back to an earlier time, lane numbers included.
    pub(super) fn clear(&mut self) {
        let era = self.era + 1;
        *self = Self {
            era,
            ..Self::default()
        };
    }

    /// The indexes of the lanes that a claim may take from, with bounds that can be trusted.
    pub(super) fn wanted_lanes(
        &mut self,
        conn: &Connection,
        damage: &DamageLog,
        request: &ClaimRequest,
    ) -> Result<Vec<usize>, DriverError> {
        if !self.is_loaded {
            self.load(conn, damage)?;
        }
        let wanted = WantedNames::new(request);
        let mut indexes = self.candidates(request);
        indexes.retain(|index| {
            let entry = &self.entries[*index];
            !entry.is_paused && wanted.contains(&entry.lane)
        });
        for index in &indexes {
            let entry = &mut self.entries[*index];
            if entry.era != self.era {
                entry.read_bounds(conn)?;
                entry.era = self.era;
            }
        }
        Ok(indexes)
    }

    /// Lanes among which are all that a request wants: the shortest list that its names lead to.
    fn candidates(&self, request: &ClaimRequest) -> Vec<usize> {
        fn named<N: Hash + Eq>(names: &[N], lists: &HashMap<N, Vec<usize>>) -> Option<Vec<usize>> {
            let distinct: HashSet<&N> = names.iter().collect();
            let found = distinct.into_iter().filter_map(|name| lists.get(name));
            let mut indexes: Vec<usize> = found.flatten().copied().collect();
            indexes.sort_unstable();
            (!names.is_empty()).then_some(indexes)
        }
        named(request.tenant.as_slice(), &self.by_tenant)
            .into_iter()
            .chain(named(&request.queues, &self.by_queue))
            .chain(named(&request.kinds, &self.by_kind))
            .min_by_key(Vec::len)
            .unwrap_or_else(|| (0..self.entries.len()).collect())
    }

    pub(super) fn lane_id(&self, index: usize) -> LaneId {
        self.entries[index].id
    }

    /// Those of the lanes given in which a job of this priority may be due, by when.
    pub(super) fn due(
        &self,
        indexes: &[usize],
        priority: usize,
        now: Timestamp,
    ) -> BinaryHeap<Reverse<(i64, usize)>> {
        indexes
            .iter()
            .map(|index| (self.entries[*index].bounds[priority].run_at, *index))
            .filter(|(run_at, _)| *run_at <= now.as_micros())
            .map(Reverse)
            .collect()
    }

    /// The earliest `runAt`, which is looked up if it is not known exactly.
    pub(super) fn exact_bound(
        &mut self,
        conn: &Connection,
        index: usize,
        priority: usize,
    ) -> Result<i64, DriverError> {
        let entry = &mut self.entries[index];
        let bound = &mut entry.bounds[priority];
        if !bound.is_exact {
            let earliest: Option<i64> = conn
                .prepare_cached(include_str!("sql/claim_next.sql"))?
                .query_row((entry.id, priority_number(priority)), |row| row.get(0))?;
            *bound = Bound {
                run_at: earliest.unwrap_or(NEVER),
                is_exact: true,
            };
        }
        Ok(bound.run_at)
    }

    /// When the next job of the lanes given becomes due.
    pub(super) fn next_due(
        &mut self,
        conn: &Connection,
        indexes: &[usize],
    ) -> Result<Option<Timestamp>, DriverError> {
        let mut earliest: BinaryHeap<_> = indexes
            .iter()
            .flat_map(|index| {
                let bounds = self.entries[*index].bounds.iter().enumerate();
                bounds.map(|(priority, bound)| Reverse((bound.run_at, *index, priority)))
            })
            .filter(|Reverse((run_at, ..))| *run_at != NEVER)
            .collect();
        while let Some(Reverse((bound, index, priority))) = earliest.pop() {
            let run_at = self.exact_bound(conn, index, priority)?;
            if run_at == bound {
                return Ok(Some(Timestamp::from_micros(run_at)));
            }
            if run_at != NEVER {
                earliest.push(Reverse((run_at, index, priority)));
            }
        }
        Ok(None)
    }

    /// A job waits. Answers whether that is earlier than was known.
    pub(super) fn add(&mut self, lane: LaneId, priority: u8, run_at: Timestamp) -> bool {
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

    /// A job does not wait any more. If it was the first, the next one's time is not known.
    pub(super) fn remove(&mut self, lane: LaneId, priority: u8, run_at: Timestamp) {
        if let Some((_, bound)) = self.bound(lane, priority)
            && bound.run_at == run_at.as_micros()
        {
            bound.is_exact = false;
        }
    }

    /// The earliest jobs of a lane were claimed; what is left is not earlier than `run_at`.
    pub(super) fn raise_bound(&mut self, index: usize, priority: usize, run_at: Timestamp) {
        self.entries[index].bounds[priority] = Bound {
            run_at: run_at.as_micros(),
            is_exact: false,
        };
    }

    /// The lane was searched: whatever the bound said, the next one's time is not known.
    pub(super) fn mark_inexact(&mut self, index: usize, priority: usize) {
        self.entries[index].bounds[priority].is_exact = false;
    }

    pub(super) fn set_paused(&mut self, tenant: &Tenant, queue: &Queue, paused: bool) {
        let named = (tenant.clone(), queue.clone());
        if paused {
            self.paused.insert(named);
        } else {
            self.paused.remove(&named);
        }
        for entry in &mut self.entries {
            if entry.lane.tenant == *tenant && entry.lane.queue == *queue {
                entry.is_paused = paused;
            }
        }
    }

    fn bound(&mut self, lane: LaneId, priority: u8) -> Option<(u64, &mut Bound)> {
        let entry = &mut self.entries[*self.indexes.get(&lane)?];
        Some((entry.era, entry.bounds.get_mut(usize::from(priority))?))
    }

    fn load(&mut self, conn: &Connection, damage: &DamageLog) -> Result<(), DriverError> {
        self.paused = read_paused(conn, damage)?;
        let newest = self.entries.last().map_or(0, |entry| entry.id);
        for (id, lane) in lanes_after(conn, newest, damage)? {
            let index = self.entries.len();
            self.indexes.insert(id, index);
            let Lane {
                tenant,
                queue,
                kind,
            } = lane.clone();
            self.by_tenant.entry(tenant).or_default().push(index);
            self.by_queue.entry(queue).or_default().push(index);
            self.by_kind.entry(kind).or_default().push(index);
            self.entries.push(Entry {
                id,
                lane,
                is_paused: false,
                era: self.era.wrapping_sub(1),
                bounds: [Bound::NOTHING; PRIORITIES],
            });
        }
        for entry in &mut self.entries {
            let queue = (entry.lane.tenant.clone(), entry.lane.queue.clone());
            entry.is_paused = self.paused.contains(&queue);
        }
        self.is_loaded = true;
        Ok(())
    }
}

/// The names of a request, to compare many lanes with.
struct WantedNames<'r> {
    request: &'r ClaimRequest,
    queues: HashSet<&'r Queue>,
    kinds: HashSet<&'r Kind>,
}

impl<'r> WantedNames<'r> {
    fn new(request: &'r ClaimRequest) -> Self {
        Self {
            request,
            queues: request.queues.iter().collect(),
            kinds: request.kinds.iter().collect(),
        }
    }

    /// As [`ClaimRequest::wants`] says.
    fn contains(&self, lane: &Lane) -> bool {
        let tenant = self.request.tenant.as_ref();
        tenant.is_none_or(|wanted| *wanted == lane.tenant)
            && (self.queues.is_empty() || self.queues.contains(&lane.queue))
            && (self.kinds.is_empty() || self.kinds.contains(&lane.kind))
            && !self.request.except_kinds.contains(&lane.kind)
    }
}

impl Entry {
    fn read_bounds(&mut self, conn: &Connection) -> Result<(), DriverError> {
        let mut statement = conn.prepare_cached(include_str!("sql/claim_bounds.sql"))?;
        let columns = BoundColumns::find(statement.column_names())?;
        let mut rows = statement.query([self.id])?;
        while let Some(row) = rows.next()? {
            let priority: u8 = row.get(columns.priority)?;
            if let Some(bound) = self.bounds.get_mut(usize::from(priority)) {
                *bound = Bound {
                    run_at: row.get::<_, Option<i64>>(columns.run_at)?.unwrap_or(NEVER),
                    is_exact: true,
                };
            }
        }
        Ok(())
    }
}

fn read_paused(
    conn: &Connection,
    damage: &DamageLog,
) -> Result<HashSet<(Tenant, Queue)>, DriverError> {
    let mut statement = conn.prepare_cached(include_str!("sql/paused.sql"))?;
    let columns = QueueColumns::find(statement.column_names())?;
    let mut rows = statement.query([])?;
    let mut paused = HashSet::new();
    let mut number = 0;
    while let Some(row) = rows.next()? {
        let read = parse(row, columns.tenant, "tenant", Tenant::new).and_then(|tenant| {
            let queue = parse(row, columns.queue, "queue", Queue::new)?;
            Ok((tenant, queue))
        });
        paused.extend(pass_over(read, damage, "paused", number)?);
        number += 1;
    }
    Ok(paused)
}

pub(super) fn priority_number(priority: usize) -> i64 {
    i64::try_from(priority).unwrap_or(i64::MAX)
}

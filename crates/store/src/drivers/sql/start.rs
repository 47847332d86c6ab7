//! What stands between a job and its start. Both SQL drivers answer alike: the index says where to
//! look, and a driver only reads and counts rows.

use std::{collections::HashMap, future::Future, sync::Arc};

use steadfast_core::{
    AppliedGate, Destination, FlowKey, GateHolder, GateId, GateNumber, GateSnapshot, GateState,
    Gates, Job, JobId, JobSnapshot, JobState, PlaceSnapshot, Queue, Tenant, Timestamp,
};

use crate::{
    claim::{DueIndex, DueRange, RangeAhead, WaitingJob},
    limits::{JOBS_AHEAD_MAX, RANGES_COUNTED_TOGETHER},
    store::{DueMinutes, StartQuery, StartSnapshot, WaitingSum},
};

/// A range in which jobs are counted.
pub(crate) struct CountedRange {
    pub range: DueRange,
    /// No living row is earlier.
    #[cfg_attr(
        not(feature = "postgres"),
        expect(dead_code, reason = "only PostgreSQL leaves dead rows in an index")
    )]
    pub oldest_live: Timestamp,
    /// Jobs up to this time count.
    pub until: Timestamp,
    /// Of jobs of exactly that time, only those claimed before this one count.
    pub before: Option<JobId>,
    /// How many index entries are read.
    pub entries_max: u64,
}

/// The jobs of a range that count, and how many index entries were read to find them.
pub(crate) struct RangeCount {
    pub jobs: u64,
    pub entries: u64,
}

/// The jobs of a range that wait for one minute.
pub(crate) struct RangeMinute {
    /// The index of the range.
    pub range: usize,
    pub minute: i64,
    pub jobs: i64,
}

/// What a driver reads to explain a start.
pub(crate) trait StartReads: Sync {
    type Error: Send;

    /// Asks the index, which is up to date and knows the gates that hold.
    fn ask_index<T: Send + 'static>(
        &self,
        ask: impl Fn(&DueIndex, Timestamp) -> T + Clone + Send + 'static,
    ) -> impl Future<Output = Result<T, Self::Error>> + Send;

    /// The gates that the index knows.
    fn gates(&self) -> impl Future<Output = Result<Arc<Gates>, Self::Error>> + Send {
        self.ask_index(|index, _| index.gates().clone())
    }

    fn job(&self, id: JobId) -> impl Future<Output = Result<Option<Job>, Self::Error>> + Send;

    /// The first job of each range, with its time, in any order; of empty ranges, none.
    fn heads(
        &self,
        ranges: Vec<DueRange>,
    ) -> impl Future<Output = Result<Vec<(usize, Timestamp, JobId)>, Self::Error>> + Send;

    /// Counts in each range, in their order.
    fn count(
        &self,
        ranges: Vec<CountedRange>,
    ) -> impl Future<Output = Result<Vec<RangeCount>, Self::Error>> + Send;

    /// Counts the jobs of ranges up to a time by the minute, and at most so many of each range. Each
    /// range comes with a time before which it has no living row.
    fn count_minutes(
        &self,
        ranges: Vec<(DueRange, Timestamp)>,
        until: Timestamp,
        entries_max: i64,
    ) -> impl Future<Output = Result<Vec<RangeMinute>, Self::Error>> + Send;

    /// The oldest unfinished job of a concurrency key.
    fn first_of_key(
        &self,
        number: i64,
    ) -> impl Future<Output = Result<Option<Job>, Self::Error>> + Send;

    /// The states of gates, in their order.
    fn gate_states(
        &self,
        gates: Vec<AppliedGate>,
    ) -> impl Future<Output = Result<Vec<GateState>, Self::Error>> + Send;

    /// Some of the attempts that run behind each of these gates.
    fn holders(
        &self,
        gates: Vec<AppliedGate>,
    ) -> impl Future<Output = Result<HashMap<GateNumber, Vec<GateHolder>>, Self::Error>> + Send;
}

pub(crate) async fn explain_start<R: StartReads>(
    reads: &R,
    of: &StartQuery,
) -> Result<Option<StartSnapshot>, R::Error> {
    let id = match of {
        StartQuery::Job(id) => Some(*id),
        StartQuery::FirstOf(tenant, queue) => first_of(reads, tenant, queue).await?,
    };
    let Some(id) = id else { return Ok(None) };
    let Some(job) = reads.job(id).await? else {
        return Ok(None);
    };
    let mut reading = StartSnapshot::new(job);
    if reading.job.progress.state != JobState::Waiting {
        return Ok(Some(reading));
    }
    let waiting = Arc::new(WaitingJob::from(&reading.job));
    let looked = reads.ask_index(move |index, now| (index.start(&waiting, now), now));
    let (start, now) = looked.await?;
    reading.gates = gate_snapshots(reads, start.gates).await?;
    reading.before_in_key = before_in_key(reads, &reading, now).await?;
    if reading.job.progress.run_at <= now {
        count_before(reads, &mut reading, &start.before, start.is_cut).await?;
    }
    Ok(Some(reading))
}

/// Jobs for a destination that wait for a time up to `until`, by the minute.
pub(crate) async fn due_minutes<R: StartReads>(
    reads: &R,
    destination: Destination,
    tenant: Option<Tenant>,
    until: Timestamp,
    most: u64,
) -> Result<DueMinutes, R::Error> {
    let looked = reads.ask_index(move |index, now| {
        let ranges = index.due_ranges(&destination, tenant.as_ref(), until);
        (ranges, now)
    });
    let ((ranges, mut at_least), now) = looked.await?;
    let mut sum = WaitingSum::at(now);
    let mut left = i64::try_from(most).unwrap_or(i64::MAX);
    for some in ranges.chunks(RANGES_COUNTED_TOGETHER) {
        if left == 0 && at_least {
            break;
        }
        // One more tells whether there are more.
        let entries_max = left.saturating_add(1);
        let counts = reads.count_minutes(some.to_vec(), until, entries_max);
        for RangeMinute {
            range,
            minute,
            jobs,
        } in counts.await?
        {
            at_least |= jobs > left;
            let jobs = jobs.min(left);
            let is_retry = some.get(range).is_some_and(|it| it.0.level.is_retry());
            sum.add(minute, jobs, if is_retry { jobs } else { 0 });
            left -= jobs;
        }
    }
    Ok(DueMinutes {
        minutes: sum.finish(),
        at_least,
    })
}

pub(crate) async fn gate_states<R: StartReads>(
    reads: &R,
    of: Vec<GateId>,
) -> Result<Vec<GateState>, R::Error> {
    let gates = reads.gates().await?;
    let applied: Vec<Option<AppliedGate>> = of.iter().map(|id| gates.applied(id)).collect();
    let known = applied.iter().flatten().cloned().collect();
    let mut states = reads.gate_states(known).await?.into_iter();
    // A gate that is not set has nothing to say.
    let states = applied
        .iter()
        .map(|gate| gate.as_ref().and_then(|_| states.next()));
    Ok(states.map(Option::unwrap_or_default).collect())
}

async fn first_of<R: StartReads>(
    reads: &R,
    tenant: &Tenant,
    queue: &Queue,
) -> Result<Option<JobId>, R::Error> {
    let (tenant, queue) = (tenant.clone(), queue.clone());
    let looked = reads.ask_index(move |index, now| (index.first_ranges(&tenant, &queue, now), now));
    let (ranges, now) = looked.await?;
    let heads = reads.heads(ranges.iter().map(|first| first.range).collect());
    let heads = heads.await?.into_iter().filter_map(|(index, run_at, id)| {
        let first = ranges.get(index)?;
        Some((first.order(run_at, now), id))
    });
    Ok(heads.min().map(|(_, id)| id))
}

async fn gate_snapshots<R: StartReads>(
    reads: &R,
    gates: Vec<AppliedGate>,
) -> Result<Vec<GateSnapshot>, R::Error> {
    if gates.is_empty() {
        return Ok(Vec::new());
    }
    let states = reads.gate_states(gates.clone()).await?;
    let is_held = |(gate, state): &(&AppliedGate, &GateState)| {
        gate.limits.most_running().is_some() && state.running > 0
    };
    let held = gates.iter().zip(&states).filter(is_held);
    let held: Vec<AppliedGate> = held.map(|(gate, _)| gate.clone()).collect();
    let mut holders = match held.is_empty() {
        true => HashMap::new(),
        false => reads.holders(held).await?,
    };
    let gates = gates.into_iter().zip(states);
    let snapshots = gates.map(|(gate, state)| GateSnapshot {
        state,
        ahead: 0,
        holders: holders.remove(&gate.number).unwrap_or_default(),
        gate,
    });
    Ok(snapshots.collect())
}

async fn before_in_key<R: StartReads>(
    reads: &R,
    reading: &StartSnapshot,
    now: Timestamp,
) -> Result<Option<JobSnapshot>, R::Error> {
    let is_ordered = reading.gates.iter().any(|gate| gate.gate.limits.ordered);
    let key = reading.job.concurrency_key.as_ref().filter(|_| is_ordered);
    let Some(key) = key else { return Ok(None) };
    let number = FlowKey::key_number(&reading.job.tenant, key);
    let first = reads.first_of_key(number).await?;
    let first = first.filter(|first| first.id != reading.job.id);
    Ok(first.map(|first| JobSnapshot {
        job: first.id,
        label: first.label(now),
        run_at: first.progress.run_at,
    }))
}

/// Counts the jobs that are claimed before one, until there are enough for people.
async fn count_before<R: StartReads>(
    reads: &R,
    reading: &mut StartSnapshot,
    before: &[RangeAhead],
    mut is_cut: bool,
) -> Result<(), R::Error> {
    reading.place = Some(PlaceSnapshot::default());
    let mut left = JOBS_AHEAD_MAX + 1;
    for some in before.chunks(RANGES_COUNTED_TOGETHER) {
        if left == 0 {
            is_cut = true;
            break;
        }
        let counted = some.iter().map(|ahead| CountedRange {
            range: ahead.range,
            oldest_live: ahead.oldest_live,
            until: ahead.until,
            before: ahead.is_by_order.then_some(reading.job.id),
            entries_max: ahead.most.min(left),
        });
        let counts = reads.count(counted.collect()).await?;
        let most = left;
        for (count, ahead) in counts.iter().zip(some) {
            // Jobs of exactly its time that come after it may hide others.
            is_cut |= count.entries == most;
            left = left.saturating_sub(count.jobs);
            reading.add_before(count.jobs, ahead.is_same_class, &ahead.shared);
        }
    }
    reading.bound_counts(JOBS_AHEAD_MAX, is_cut);
    Ok(())
}

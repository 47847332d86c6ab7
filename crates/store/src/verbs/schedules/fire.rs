//! Which schedules are due, and what was decided about their ticks.
//!
//! Nodes look for due schedules at the same time. On PostgreSQL, a schedule that another node is firing
//! is locked: a search passes over it, and so does a firing, so that no node waits for another and each
//! finds work of its own.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use steadfast_core::{
    JobCommand, JobId, NewJob, Schedule, ScheduleId, SkippedTicks, Subscriptions, Timestamp,
};

use super::body::{ScheduleBody, read};
use crate::{
    drivers::driver_error::DriverError,
    drivers::transaction::{
        Reads, Record, RecordKind, RecordOrder, RecordQuery, RecordState, StoredRecord,
        Transaction, WakeReason,
    },
    store::{DueSchedule, DueSchedules, FireRequest, FireResult},
    verbs::{
        audit::save_audit,
        records::{readable, skip_corrupt},
    },
};

/// The states of schedules that are not paused.
const UNPAUSED: [RecordState; 2] = [RecordState::Active, RecordState::Queued];

pub(super) async fn due(tx: &mut dyn Reads, limit: usize) -> Result<DueSchedules, DriverError> {
    let now = tx.now();
    let (mut found, mut next_due) = (BTreeMap::new(), None);
    for state in UNPAUSED {
        for schedule in reached(tx, state, now, limit).await? {
            found.insert(schedule.id, schedule);
        }
        let next = tx
            .next_record_time(RecordKind::Schedule, state, now)
            .await?;
        next_due = next.into_iter().chain(next_due).min();
    }
    for schedule in freed(tx).await? {
        found.insert(schedule.id, schedule);
    }
    // After the schedules were read: if one fires meanwhile, its revision is not the stored one.
    let ids: Vec<ScheduleId> = found.keys().copied().collect();
    let unfinished = tx.unfinished_runs(&ids).await?;
    let with_time = |schedule: Schedule| {
        let unfinished = unfinished.get(&schedule.id).copied();
        let reached = schedule.progress.next_tick.filter(|tick| *tick <= now);
        let freed = schedule.progress.queued_tick;
        let freed = freed.filter(|_| unfinished.is_none());
        let since = reached.into_iter().chain(freed).min()?;
        Some((
            since,
            DueSchedule {
                schedule,
                unfinished,
            },
        ))
    };
    let mut due: Vec<(Timestamp, DueSchedule)> =
        found.into_values().filter_map(with_time).collect();
    due.sort_by_key(|(since, _)| *since);
    due.truncate(limit);
    let due = due.into_iter().map(|(_, due)| due).collect();
    Ok(DueSchedules { due, next_due })
}

/// Schedules whose next tick has come, the longest due first.
async fn reached(
    tx: &mut dyn Reads,
    state: RecordState,
    now: Timestamp,
    limit: usize,
) -> Result<Vec<Schedule>, DriverError> {
    let query = RecordQuery {
        kind: RecordKind::Schedule,
        order: RecordOrder::Earliest {
            state,
            before: now.plus(Duration::from_micros(1)),
        },
        limit,
    };
    readable(tx, query, read).await
}

/// Schedules with a queued tick and no unfinished run.
async fn freed(tx: &mut dyn Reads) -> Result<Vec<Schedule>, DriverError> {
    let (kind, state) = (RecordKind::Schedule, RecordState::Queued);
    let ids = tx.record_ids(kind, state).await?;
    let ids: Vec<ScheduleId> = ids.iter().filter_map(|id| id.parse().ok()).collect();
    let unfinished = tx.unfinished_runs(&ids).await?;
    let free = ids.iter().filter(|id| !unfinished.contains_key(id));
    let free: Vec<String> = free.map(ToString::to_string).collect();
    let mut schedules = Vec::new();
    for record in tx.free_records(kind, &free).await? {
        schedules.extend(skip_corrupt(tx, read(&record), "schedule", &record.id)?);
    }
    Ok(schedules)
}

pub(super) async fn fire(
    tx: &mut dyn Transaction,
    firings: &[FireRequest],
) -> Result<Vec<FireResult>, DriverError> {
    let mut results = Vec::with_capacity(firings.len());
    let mut rest = firings;
    while !rest.is_empty() {
        // No part names a schedule twice.
        let mut schedules = HashSet::new();
        let part = rest.iter().take_while(|it| schedules.insert(it.schedule));
        let (part, others) = rest.split_at(part.count());
        results.extend(fire_different(tx, part).await?);
        rest = others;
    }
    Ok(results)
}

/// Firings of different schedules, by few statements.
async fn fire_different(
    tx: &mut dyn Transaction,
    firings: &[FireRequest],
) -> Result<Vec<FireResult>, DriverError> {
    // First of all, because it locks the schedules against other nodes that would fire them.
    let ids: Vec<String> = firings.iter().map(|it| it.schedule.to_string()).collect();
    let stored = tx.free_records(RecordKind::Schedule, &ids).await?;
    let revisions: HashMap<&str, u64> = stored
        .iter()
        .map(|record| (record.id.as_str(), record.revision))
        .collect();
    let is_current = ids.iter().zip(firings);
    let is_current: Vec<bool> = is_current
        .map(|(id, firing)| revisions.get(id.as_str()) == Some(&firing.revision))
        .collect();
    let current = firings.iter().zip(&is_current);
    let current: Vec<&FireRequest> = current.filter_map(|(it, is)| is.then_some(it)).collect();
    if !current.is_empty() {
        cancel_runs(tx, &current).await?;
        let repeated = save_runs(tx, &current).await?;
        save_progress(tx, &stored, &current, &repeated).await?;
        let skipped = current.iter().flat_map(|firing| {
            let skipped = firing.skipped.iter();
            skipped.map(|skip| (firing.schedule, *skip))
        });
        let skipped: Vec<(ScheduleId, SkippedTicks)> = skipped.collect();
        tx.save_skipped_ticks(&skipped).await?;
        for firing in &current {
            save_audit(tx, firing.audit.as_ref()).await?;
        }
        tx.wake(WakeReason::Schedules);
    }
    let result = |is_current| match is_current {
        true => FireResult::Done,
        false => FireResult::Outdated,
    };
    Ok(is_current.into_iter().map(result).collect())
}

async fn save_progress(
    tx: &mut dyn Transaction,
    stored: &[StoredRecord],
    firings: &[&FireRequest],
    repeated: &HashMap<ScheduleId, u64>,
) -> Result<(), DriverError> {
    let now = tx.now();
    let stored: HashMap<&str, &StoredRecord> =
        stored.iter().map(|it| (it.id.as_str(), it)).collect();
    let mut bodies = Vec::with_capacity(firings.len());
    for firing in firings {
        if let Some(record) = stored.get(firing.schedule.to_string().as_str()) {
            let mut body = ScheduleBody::read(record)?;
            let repeated = repeated.get(&firing.schedule).copied().unwrap_or(0);
            body.advance(&firing.progress, repeated, now)?;
            let json = body.json()?;
            bodies.push((*record, body, json));
        }
    }
    let records: Vec<Record<'_>> = bodies
        .iter()
        .map(|(record, body, json)| {
            let revision = record.revision;
            body.record(&record.id, Some(revision), revision + 1, json)
        })
        .collect();
    tx.replace_records(&records).await
}

async fn cancel_runs(
    tx: &mut dyn Transaction,
    firings: &[&FireRequest],
) -> Result<(), DriverError> {
    // Those of one batch mostly have the same subscriptions.
    let mut groups: Vec<(&Arc<Subscriptions>, Vec<JobId>)> = Vec::new();
    for firing in firings {
        let Some(job) = firing.cancel else {
            continue;
        };
        let same =
            |(other, _): &&mut (&Arc<Subscriptions>, _)| Arc::ptr_eq(other, &firing.subscriptions);
        match groups.iter_mut().find(same) {
            Some((_, jobs)) => jobs.push(job),
            None => groups.push((&firing.subscriptions, vec![job])),
        }
    }
    for (subscriptions, jobs) in groups {
        let cancel = JobCommand::Cancel;
        let results = tx.run_command(&jobs, &cancel, subscriptions, &|_| true);
        for error in results.await?.into_iter().filter_map(Result::err) {
            tracing::debug!(%error, "a run to cancel has ended meanwhile");
        }
    }
    Ok(())
}

/// Stores runs, except those of ticks that have fired already, and answers how many of each schedule
/// those were.
async fn save_runs(
    tx: &mut dyn Transaction,
    firings: &[&FireRequest],
) -> Result<HashMap<ScheduleId, u64>, DriverError> {
    let (mut ticks, mut known) = (Vec::new(), HashSet::new());
    for firing in firings {
        let runs = firing.runs.iter();
        let own = runs.filter_map(|run| Some((firing.schedule, run.scheduled_run?.tick, run.id)));
        ticks.extend(own.filter(|(schedule, tick, _)| known.insert((*schedule, *tick))));
    }
    let fired = tx.save_fired_ticks(&ticks).await?;
    let fired: HashSet<JobId> = fired.into_iter().collect();
    let mut repeated: HashMap<ScheduleId, u64> = HashMap::new();
    for (schedule, _, job) in &ticks {
        if !fired.contains(job) {
            *repeated.entry(*schedule).or_default() += 1;
        }
    }
    let runs = firings.iter().flat_map(|firing| &firing.runs);
    let new = runs.filter(|run| run.scheduled_run.is_none() || fired.contains(&run.id));
    let new: Vec<NewJob> = new.cloned().collect();
    tx.insert_jobs(&new).await?;
    Ok(repeated)
}

//! Firing schedules: what was decided about many of them is written by a few statements.
//!
//! Nodes look for due schedules at the same time. A schedule that another node is firing is
//! locked: a look passes over it, and so does a firing, so that no node waits for another and
//! each finds work of its own.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use steadfast_core::{JobCommand, JobId, ScheduleId, Subscriptions};

use super::{
    audit::save_audit,
    change,
    driver_error::DriverError,
    enqueue,
    key::Key,
    names::with_numbers,
    session::{Conn, Session},
    values::to_json,
};
use crate::{
    sql::schedules::progress_columns,
    store::{FireRequest, FireResult},
    wake::WakeReasons,
};

/// Writes firings of different schedules in one transaction.
pub(super) async fn fire(
    conn: &mut Conn<'_>,
    firings: &[&FireRequest],
    hints: &mut WakeReasons,
) -> Result<Vec<FireResult>, DriverError> {
    let runs = firings.iter().flat_map(|firing| &firing.runs);
    let runs = with_numbers(&conn.session(), runs).await?;
    let transaction = conn.begin().await?;
    let session = transaction.session();
    // First of all, because it locks the schedules against other nodes that would fire them.
    let current = write_progress(&session, firings).await?;
    let written = || {
        firings
            .iter()
            .copied()
            .filter(|it| current.contains(&it.schedule))
    };
    if current.is_empty() {
        transaction.roll_back().await?;
        return Ok(vec![FireResult::Outdated; firings.len()]);
    }
    cancel_runs(&session, written(), hints).await?;
    let fired = mark_fired(&session, written()).await?;
    let owners = firings
        .iter()
        .flat_map(|firing| firing.runs.iter().map(|_| firing.schedule));
    let fresh: Vec<_> = runs
        .into_iter()
        .zip(owners)
        .filter(|(run, owner)| {
            let is_fresh = run.job.scheduled_run.is_none() || fired.contains(&run.job.id);
            is_fresh && current.contains(owner)
        })
        .map(|(run, _)| run)
        .collect();
    enqueue::insert_unless_stored(&session, &fresh, hints).await?;
    mark_skipped(&session, written()).await?;
    for firing in written() {
        save_audit(&session, firing.audit.as_ref()).await?;
    }
    transaction.commit().await?;
    hints.schedule_waits();
    let answer = |firing: &&FireRequest| match current.contains(&firing.schedule) {
        true => FireResult::Done,
        false => FireResult::Outdated,
    };
    Ok(firings.iter().map(answer).collect())
}

/// Answers with the schedules whose revision was the one decided upon.
async fn write_progress(
    session: &Session<'_>,
    firings: &[&FireRequest],
) -> Result<HashSet<ScheduleId>, DriverError> {
    let (mut ids, mut revisions) = (Vec::new(), Vec::new());
    let mut columns: [Vec<Option<i64>>; 4] = Default::default();
    for firing in firings {
        let Ok(revision) = i64::try_from(firing.revision) else {
            continue;
        };
        ids.push(Key::from(firing.schedule));
        revisions.push(revision);
        for (column, value) in columns.iter_mut().zip(progress_columns(&firing.progress)) {
            column.push(value);
        }
    }
    let [next_ticks, last_ticks, runs, queued_ticks] = columns;
    let written = session
        .query(
            include_str!("sql/schedule_progress.sql"),
            &[
                &ids,
                &next_ticks,
                &last_ticks,
                &runs,
                &queued_ticks,
                &revisions,
            ],
        )
        .await?;
    let id = |row: &tokio_postgres::Row| Ok(row.try_get::<_, Key>("id")?.schedule());
    written.iter().map(id).collect()
}

async fn cancel_runs(
    session: &Session<'_>,
    firings: impl Iterator<Item = &FireRequest>,
    hints: &mut WakeReasons,
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
        let answers = change::run_command_in(session, &jobs, &cancel, subscriptions, hints).await?;
        for error in answers.into_iter().filter_map(Result::err) {
            tracing::debug!(%error, "a run to cancel has ended meanwhile");
        }
    }
    Ok(())
}

/// Records the runs of ticks. Answers which have not fired already.
async fn mark_fired(
    session: &Session<'_>,
    firings: impl Iterator<Item = &FireRequest>,
) -> Result<HashSet<JobId>, DriverError> {
    let mut first: HashMap<(Key, i64), Key> = HashMap::new();
    for firing in firings {
        for run in &firing.runs {
            if let Some(of) = run.scheduled_run {
                let tick = (Key::from(firing.schedule), of.tick.as_micros());
                first.entry(tick).or_insert(run.id.into());
            }
        }
    }
    if first.is_empty() {
        return Ok(HashSet::new());
    }
    let mut ticks: Vec<((Key, i64), Key)> = first.into_iter().collect();
    ticks.sort();
    let schedules: Vec<Key> = ticks.iter().map(|((schedule, _), _)| *schedule).collect();
    let times: Vec<i64> = ticks.iter().map(|((_, tick), _)| *tick).collect();
    let jobs: Vec<Key> = ticks.iter().map(|(_, job)| *job).collect();
    let sql = include_str!("sql/tick_fire.sql");
    let rows = session.query(sql, &[&schedules, &times, &jobs]).await?;
    rows.iter()
        .map(|row| Ok(row.try_get::<_, Key>("job")?.job()))
        .collect()
}

async fn mark_skipped(
    session: &Session<'_>,
    firings: impl Iterator<Item = &FireRequest>,
) -> Result<(), DriverError> {
    let (mut schedules, mut ticks, mut skips) = (Vec::new(), Vec::new(), Vec::new());
    for firing in firings {
        for skip in &firing.skipped {
            schedules.push(Key::from(firing.schedule));
            ticks.push(skip.from.as_micros());
            skips.push(to_json(skip)?);
        }
    }
    if schedules.is_empty() {
        return Ok(());
    }
    let sql = include_str!("sql/tick_skip.sql");
    session.execute(sql, &[&schedules, &ticks, &skips]).await
}

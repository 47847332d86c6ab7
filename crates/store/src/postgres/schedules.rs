//! The verbs of schedules.

use std::collections::{HashMap, HashSet};

use steadfast_core::{
    JobCommand, JobId, Schedule, ScheduleId, ScheduleName, ScheduleProgress, SkippedTicks, Tenant,
    Timestamp,
};
use tokio_postgres::{Row, types::ToSql};

use super::{
    change, enqueue,
    fault::Fault,
    list::{limit_with_one_more, listed},
    rows::{Key, json, json_option, limit, micros, parsed, time, time_option, to_json},
    session::{Conn, Session},
    wake_filter::WakeHints,
};
use crate::{
    DueSchedule, DueSchedules, FireRequest, FireResult, Page, PageRequest, ScheduleFilter,
    ScheduleSaveResult, TickRecord, template::Template,
};

pub(super) async fn save(
    session: &Session<'_>,
    schedule: &Schedule,
) -> Result<ScheduleSaveResult, Fault> {
    let saved = Schedule {
        revision: schedule.revision + 1,
        ..schedule.clone()
    };
    let stored = find(session, schedule.id).await?;
    match &stored {
        None if schedule.revision > 0 => return Ok(ScheduleSaveResult::Gone),
        Some(stored) if stored.revision != schedule.revision => {
            return Ok(ScheduleSaveResult::Outdated(stored.clone()));
        }
        _ => {}
    }
    if let Some(namesake) = namesake(session, schedule).await? {
        return Ok(ScheduleSaveResult::Outdated(namesake));
    }
    let sql = match stored {
        None => include_str!("sql/schedule_create.sql"),
        Some(_) => include_str!("sql/schedule_replace.sql"),
    };
    match write(session, sql, &saved).await {
        Ok(true) => Ok(ScheduleSaveResult::Done(saved)),
        // Between the look and the write, someone else changed it or took the name.
        Ok(false) => Err(Fault::Overtaken),
        Err(Fault::Sql(error)) if is_name_taken(&error) => Err(Fault::Overtaken),
        Err(fault) => Err(fault),
    }
}

fn is_name_taken(error: &tokio_postgres::Error) -> bool {
    error.code() == Some(&tokio_postgres::error::SqlState::UNIQUE_VIOLATION)
}

async fn namesake(session: &Session<'_>, schedule: &Schedule) -> Result<Option<Schedule>, Fault> {
    let sql = include_str!("sql/schedule_named.sql");
    let key = (schedule.tenant().as_str(), schedule.name.as_str());
    let found = query(session, sql, &[&key.0, &key.1]).await?;
    Ok(found.into_iter().find(|other| other.id != schedule.id))
}

pub(super) async fn delete(session: &Session<'_>, id: ScheduleId) -> Result<bool, Fault> {
    let sql = include_str!("sql/schedule_delete.sql");
    let deleted = session.query(sql, &[&Key::from(id)]).await?;
    Ok(!deleted.is_empty())
}

pub(super) async fn list(
    session: &Session<'_>,
    filter: &ScheduleFilter,
    page: PageRequest<ScheduleId>,
) -> Result<Page<Schedule, ScheduleId>, Fault> {
    let found = query(
        session,
        include_str!("sql/schedules.sql"),
        &[
            &page.after.map(Key::from),
            &limit_with_one_more(page.limit),
            &filter.tenant.as_ref().map(Tenant::as_str),
            &filter.name.as_ref().map(ScheduleName::as_str),
            &filter.id.map(Key::from),
        ],
    )
    .await?;
    Ok(listed(found, page.limit, |schedule| schedule.id))
}

pub(super) async fn due(
    conn: &mut Conn<'_>,
    now: Timestamp,
    most: usize,
) -> Result<DueSchedules, Fault> {
    let snapshot = conn.snapshot().await?;
    let session = snapshot.session();
    let mut found = Vec::new();
    for sql in [
        include_str!("sql/due_schedules.sql"),
        include_str!("sql/due_queued.sql"),
    ] {
        found.extend(query(&session, sql, &[&now.as_micros(), &limit(most)]).await?);
    }
    found.sort_by_key(|schedule| {
        let ScheduleProgress {
            next_tick,
            queued_tick,
            ..
        } = schedule.progress;
        next_tick.filter(|tick| *tick <= now).or(queued_tick)
    });
    found.truncate(most);
    let unfinished = unfinished(&session, &found).await?;
    let next = session
        .query_one(include_str!("sql/due_next.sql"), &[&now.as_micros()])
        .await?;
    let next_due = time_option(&next, 0)?;
    snapshot.commit().await?;
    let due = found.into_iter().map(|schedule| DueSchedule {
        unfinished: unfinished.get(&schedule.id).copied(),
        schedule,
    });
    Ok(DueSchedules {
        due: due.collect(),
        next_due,
    })
}

async fn unfinished(
    session: &Session<'_>,
    schedules: &[Schedule],
) -> Result<HashMap<ScheduleId, JobId>, Fault> {
    let ids: Vec<Key> = schedules
        .iter()
        .map(|schedule| schedule.id.into())
        .collect();
    let rows = session
        .query(include_str!("sql/unfinished.sql"), &[&ids])
        .await?;
    rows.iter()
        .map(|row| {
            let schedule = row.try_get::<_, Key>(0)?.schedule();
            Ok((schedule, row.try_get::<_, Key>(1)?.job()))
        })
        .collect()
}

/// Each firing is a transaction of its own.
pub(super) async fn fire(
    conn: &mut Conn<'_>,
    firing: &FireRequest,
    news: &mut WakeHints,
) -> Result<FireResult, Fault> {
    let runs = enqueue::numbered(&conn.session(), firing.runs.iter()).await?;
    let transaction = conn.begin().await?;
    let session = transaction.session();
    // First of all, for it locks the schedule against all others who would fire it.
    if !write_progress(&session, firing).await? {
        transaction.roll_back().await?;
        return Ok(FireResult::Outdated);
    }
    if let Some(job) = firing.cancel {
        let (cancel, subscriptions) = (JobCommand::Cancel, &firing.subscriptions);
        let answers = change::command_in(&session, &[job], &cancel, subscriptions, news).await?;
        if let Some(Err(error)) = answers.first() {
            tracing::debug!(%error, "a run to cancel has ended meanwhile");
        }
    }
    let fired = mark_fired(&session, firing).await?;
    let fresh: Vec<_> = runs
        .into_iter()
        .zip(&firing.runs)
        .filter(|(_, run)| run.scheduled_run.is_none() || fired.contains(&run.id))
        .map(|(numbered, _)| numbered)
        .collect();
    enqueue::insert_unless_known(&session, &fresh, news).await?;
    mark_skipped(&session, firing).await?;
    transaction.commit().await?;
    news.for_everybody();
    Ok(FireResult::Done)
}

async fn write_progress(session: &Session<'_>, firing: &FireRequest) -> Result<bool, Fault> {
    let Ok(revision) = i64::try_from(firing.revision) else {
        return Ok(false);
    };
    let [next_tick, last_tick, runs, queued_tick] = progress_columns(&firing.progress);
    let id = Key::from(firing.schedule);
    let sql = include_str!("sql/schedule_progress.sql");
    let written = session
        .query(
            sql,
            &[&id, &next_tick, &last_tick, &runs, &queued_tick, &revision],
        )
        .await?;
    Ok(!written.is_empty())
}

/// Records the runs of ticks, and says which have not fired already.
async fn mark_fired(session: &Session<'_>, firing: &FireRequest) -> Result<HashSet<JobId>, Fault> {
    let mut ticks = HashSet::new();
    let (ticks, jobs): (Vec<i64>, Vec<Key>) = firing
        .runs
        .iter()
        .filter_map(|run| Some((run.scheduled_run?.tick.as_micros(), Key::from(run.id))))
        .filter(|(tick, _)| ticks.insert(*tick))
        .unzip();
    if ticks.is_empty() {
        return Ok(HashSet::new());
    }
    let id = Key::from(firing.schedule);
    let sql = include_str!("sql/tick_fire.sql");
    let rows = session.query(sql, &[&id, &ticks, &jobs]).await?;
    rows.iter()
        .map(|row| Ok(row.try_get::<_, Key>(0)?.job()))
        .collect()
}

async fn mark_skipped(session: &Session<'_>, firing: &FireRequest) -> Result<(), Fault> {
    if firing.skipped.is_empty() {
        return Ok(());
    }
    let mut ticks: Vec<i64> = Vec::new();
    let mut skips: Vec<String> = Vec::new();
    for skip in &firing.skipped {
        ticks.push(skip.from.as_micros());
        skips.push(to_json(skip)?);
    }
    let id = Key::from(firing.schedule);
    let sql = include_str!("sql/tick_skip.sql");
    session.execute(sql, &[&id, &ticks, &skips]).await
}

pub(super) async fn ticks(
    session: &Session<'_>,
    schedule: ScheduleId,
    page: PageRequest<Timestamp>,
) -> Result<Page<TickRecord, Timestamp>, Fault> {
    let below = page.after.map_or(i64::MAX, Timestamp::as_micros);
    let id = Key::from(schedule);
    let sql = include_str!("sql/ticks.sql");
    let rows = session
        .query(sql, &[&id, &below, &limit_with_one_more(page.limit)])
        .await?;
    let items: Result<Vec<TickRecord>, Fault> = rows.iter().map(tick_record).collect();
    Ok(listed(items?, page.limit, TickRecord::at))
}

fn tick_record(row: &Row) -> Result<TickRecord, Fault> {
    if let Some(job) = row.try_get::<_, Option<Key>>(1)? {
        return Ok(TickRecord::Fired {
            tick: time(row.try_get(0)?),
            job: job.job(),
        });
    }
    let skip: Option<SkippedTicks> = json_option(row, 2, "skip")?;
    skip.map(TickRecord::Skipped)
        .ok_or_else(|| Fault::unreadable("tick", "it neither fired nor was skipped"))
}

async fn find(session: &Session<'_>, id: ScheduleId) -> Result<Option<Schedule>, Fault> {
    let sql = include_str!("sql/schedule_find.sql");
    let found = query(session, sql, &[&Key::from(id)]).await?;
    Ok(found.into_iter().next())
}

async fn query(
    session: &Session<'_>,
    sql: &'static str,
    params: &[&(dyn ToSql + Sync)],
) -> Result<Vec<Schedule>, Fault> {
    let rows = session.query(sql, params).await?;
    rows.iter().map(read).collect()
}

fn read(row: &Row) -> Result<Schedule, Fault> {
    let template: Template = json(row, 3, "template")?;
    Ok(Schedule {
        id: row.try_get::<_, Key>(0)?.schedule(),
        name: parsed(row, 1, "name", ScheduleName::new)?,
        timetable: json(row, 2, "timetable")?,
        template: template
            .try_into()
            .map_err(|error| Fault::unreadable("template", error))?,
        paused: row.try_get(4)?,
        created_at: time(row.try_get(5)?),
        revision: u64::try_from(row.try_get::<_, i64>(6)?).unwrap_or(0),
        progress: ScheduleProgress {
            next_tick: time_option(row, 7)?,
            last_tick: time_option(row, 8)?,
            runs: u64::try_from(row.try_get::<_, i64>(9)?).unwrap_or(0),
            queued_tick: time_option(row, 10)?,
        },
    })
}

async fn write(
    session: &Session<'_>,
    sql: &'static str,
    schedule: &Schedule,
) -> Result<bool, Fault> {
    let [next_tick, last_tick, runs, queued_tick] = progress_columns(&schedule.progress);
    let written = session
        .query(
            sql,
            &[
                &Key::from(schedule.id),
                &schedule.tenant().as_str(),
                &schedule.name.as_str(),
                &to_json(&schedule.timetable)?,
                &to_json(&Template::from(&schedule.template))?,
                &schedule.paused,
                &schedule.created_at.as_micros(),
                &i64::try_from(schedule.revision).unwrap_or(i64::MAX),
                &next_tick,
                &last_tick,
                &runs,
                &queued_tick,
            ],
        )
        .await?;
    Ok(!written.is_empty())
}

fn progress_columns(progress: &ScheduleProgress) -> [Option<i64>; 4] {
    [
        micros(progress.next_tick),
        micros(progress.last_tick),
        Some(i64::try_from(progress.runs).unwrap_or(i64::MAX)),
        micros(progress.queued_tick),
    ]
}

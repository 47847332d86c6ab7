//! The verbs of schedules.

use rusqlite::{Connection, OptionalExtension, Params, Row, params};
use steadfast_core::{
    JobCommand, JobId, NewJob, Schedule, ScheduleId, ScheduleName, ScheduleProgress, SkippedTicks,
    Timestamp,
};

use super::{
    change,
    enqueue::insert_unless_known,
    fault::Fault,
    list::ABOVE_ALL,
    readers::Reader,
    rows::{job_id, job_key, json, parsed, schedule_id, schedule_key, time, to_json},
    session::Session,
};
use crate::{
    DueSchedule, DueSchedules, FireRequest, FireResult, Page, PageRequest, ScheduleFilter,
    ScheduleSaveResult, TickRecord, template::Template,
};

pub(super) fn save(
    session: &mut Session<'_>,
    schedule: &Schedule,
) -> Result<ScheduleSaveResult, Fault> {
    match find(session.conn, schedule.id)? {
        None if schedule.revision > 0 => return Ok(ScheduleSaveResult::Gone),
        Some(stored) if stored.revision != schedule.revision => {
            return Ok(ScheduleSaveResult::Outdated(stored));
        }
        _ => {}
    }
    let namesake = query(
        session.conn,
        include_str!("sql/schedule_named.sql"),
        (schedule.tenant().as_str(), schedule.name.as_str()),
    )?;
    if let Some(namesake) = namesake.into_iter().find(|other| other.id != schedule.id) {
        return Ok(ScheduleSaveResult::Outdated(namesake));
    }
    let saved = Schedule {
        revision: schedule.revision + 1,
        ..schedule.clone()
    };
    write(session.conn, &saved)?;
    session.due_sooner = true;
    Ok(ScheduleSaveResult::Done(saved))
}

pub(super) fn delete(session: &mut Session<'_>, id: ScheduleId) -> Result<bool, Fault> {
    let key = schedule_key(id);
    session
        .conn
        .prepare_cached(include_str!("sql/ticks_delete.sql"))?
        .execute([key])?;
    let deleted = session
        .conn
        .prepare_cached(include_str!("sql/schedule_delete.sql"))?
        .execute([key])?;
    Ok(deleted > 0)
}

pub(super) fn list(
    reader: &mut Reader,
    filter: &ScheduleFilter,
    page: PageRequest<ScheduleId>,
) -> Result<Page<Schedule, ScheduleId>, Fault> {
    let conn = &reader.conn;
    let tenant = filter.tenant.as_ref().map(|tenant| tenant.as_str());
    let name = filter.name.as_ref().map(ScheduleName::as_str);
    let mut items = match filter.id {
        Some(id) => {
            let mut found: Vec<_> = find(conn, id)?.into_iter().collect();
            found.retain(|schedule| {
                tenant.is_none_or(|tenant| tenant == schedule.tenant().as_str())
                    && name.is_none_or(|name| name == schedule.name.as_str())
                    && page.after.is_none_or(|after| schedule.id < after)
            });
            found
        }
        None => {
            let below = page
                .after
                .map_or(ABOVE_ALL.to_vec(), |id| schedule_key(id).to_vec());
            let limit = limit_with_one_more(page.limit);
            query(
                conn,
                include_str!("sql/schedules.sql"),
                params![below, limit, tenant, name],
            )?
        }
    };
    let has_more = items.len() > page.limit;
    items.truncate(page.limit);
    let last = items.last().map(|schedule| schedule.id);
    Ok(Page {
        items,
        next: last.filter(|_| has_more),
    })
}

pub(super) fn due(
    reader: &mut Reader,
    now: Timestamp,
    limit: usize,
) -> Result<DueSchedules, Fault> {
    let snapshot = reader.conn.unchecked_transaction()?;
    let most = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut found = Vec::new();
    for sql in [
        include_str!("sql/due_schedules.sql"),
        include_str!("sql/due_queued.sql"),
    ] {
        found.extend(query(&snapshot, sql, params![now.as_micros(), most])?);
    }
    found.sort_by_key(|schedule| {
        let ScheduleProgress {
            next_tick,
            queued_tick,
            ..
        } = schedule.progress;
        next_tick.filter(|tick| *tick <= now).or(queued_tick)
    });
    found.truncate(limit);
    let due: Result<_, Fault> = found
        .into_iter()
        .map(|schedule| {
            Ok(DueSchedule {
                unfinished: unfinished(&snapshot, schedule.id)?,
                schedule,
            })
        })
        .collect();
    let next_due: Option<i64> = snapshot
        .prepare_cached(include_str!("sql/due_next.sql"))?
        .query_row([now.as_micros()], |row| row.get(0))?;
    Ok(DueSchedules {
        due: due?,
        next_due: next_due.map(time),
    })
}

/// Everything is checked before anything is written, because the transaction is shared.
pub(super) fn fire(session: &mut Session<'_>, firing: &FireRequest) -> Result<FireResult, Fault> {
    let key = schedule_key(firing.schedule);
    let revision: Option<i64> = session
        .conn
        .prepare_cached("SELECT revision FROM steadfast_schedule WHERE id = ?1")?
        .query_row([key], |row| row.get(0))
        .optional()?;
    if revision != i64::try_from(firing.revision).ok() {
        return Ok(FireResult::Outdated);
    }
    if let Some(job) = firing.cancel
        && let Err(error) =
            change::command(session, job, &JobCommand::Cancel, &firing.subscriptions)?
    {
        tracing::debug!(%error, "a run to cancel has ended meanwhile");
    }
    for run in &firing.runs {
        make_run(session, key, run)?;
    }
    for skip in &firing.skipped {
        session
            .conn
            .prepare_cached(include_str!("sql/tick_skip.sql"))?
            .execute(params![key, skip.from.as_micros(), to_json(skip)?])?;
    }
    let [next_tick, last_tick, runs, queued_tick] = progress_columns(&firing.progress);
    session
        .conn
        .prepare_cached(include_str!("sql/schedule_progress.sql"))?
        .execute(params![key, next_tick, last_tick, runs, queued_tick])?;
    session.due_sooner = true;
    Ok(FireResult::Done)
}

/// Makes the run of a tick, unless the tick has fired already.
fn make_run(session: &mut Session<'_>, schedule: [u8; 16], run: &NewJob) -> Result<(), Fault> {
    if let Some(tick) = run.scheduled_run.map(|run| run.tick.as_micros()) {
        let has_fired = session
            .conn
            .prepare_cached(include_str!("sql/tick_fired.sql"))?
            .exists(params![schedule, tick])?;
        if has_fired {
            return Ok(());
        }
        session
            .conn
            .prepare_cached(include_str!("sql/tick_fire.sql"))?
            .execute(params![schedule, tick, job_key(run.id)])?;
    }
    insert_unless_known(session, run)
}

pub(super) fn ticks(
    reader: &mut Reader,
    schedule: ScheduleId,
    page: PageRequest<Timestamp>,
) -> Result<Page<TickRecord, Timestamp>, Fault> {
    let below = page.after.map_or(i64::MAX, Timestamp::as_micros);
    let limit = limit_with_one_more(page.limit);
    let mut statement = reader.conn.prepare_cached(include_str!("sql/ticks.sql"))?;
    let mut rows = statement.query(params![schedule_key(schedule), below, limit])?;
    let mut items = Vec::new();
    while let Some(row) = rows.next()? {
        items.push(tick_record(row)?);
    }
    let has_more = items.len() > page.limit;
    items.truncate(page.limit);
    let last = items.last().map(TickRecord::at);
    Ok(Page {
        items,
        next: last.filter(|_| has_more),
    })
}

fn tick_record(row: &Row<'_>) -> Result<TickRecord, Fault> {
    if let Some(job) = row.get::<_, Option<_>>(1)? {
        return Ok(TickRecord::Fired {
            tick: time(row.get(0)?),
            job: job_id(job),
        });
    }
    let skip: Option<SkippedTicks> = json(row, 2, "skip")?;
    skip.map(TickRecord::Skipped)
        .ok_or_else(|| Fault::unreadable("tick", "it neither fired nor was skipped"))
}

fn find(conn: &Connection, id: ScheduleId) -> Result<Option<Schedule>, Fault> {
    let found = query(
        conn,
        include_str!("sql/schedule_find.sql"),
        [schedule_key(id)],
    )?;
    Ok(found.into_iter().next())
}

fn query(conn: &Connection, sql: &str, params: impl Params) -> Result<Vec<Schedule>, Fault> {
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    let mut schedules = Vec::new();
    while let Some(row) = rows.next()? {
        schedules.push(read(row)?);
    }
    Ok(schedules)
}

fn read(row: &Row<'_>) -> Result<Schedule, Fault> {
    let missing = |what| move || Fault::unreadable("schedule", format!("it has no {what}"));
    let template: Template = json(row, 3, "template")?.ok_or_else(missing("template"))?;
    let time_at = |column| -> Result<Option<Timestamp>, Fault> {
        Ok(row.get::<_, Option<i64>>(column)?.map(time))
    };
    Ok(Schedule {
        id: schedule_id(row.get(0)?),
        name: parsed(row, 1, "name", ScheduleName::new)?.ok_or_else(missing("name"))?,
        timetable: json(row, 2, "timetable")?.ok_or_else(missing("timetable"))?,
        template: template
            .try_into()
            .map_err(|error| Fault::unreadable("template", error))?,
        paused: row.get(4)?,
        created_at: time(row.get(5)?),
        revision: u64::try_from(row.get::<_, i64>(6)?).unwrap_or(0),
        progress: ScheduleProgress {
            next_tick: time_at(7)?,
            last_tick: time_at(8)?,
            runs: u64::try_from(row.get::<_, i64>(9)?).unwrap_or(0),
            queued_tick: time_at(10)?,
        },
    })
}

fn write(conn: &Connection, schedule: &Schedule) -> Result<(), Fault> {
    let [next_tick, last_tick, runs, queued_tick] = progress_columns(&schedule.progress);
    conn.prepare_cached(include_str!("sql/schedule_save.sql"))?
        .execute(params![
            schedule_key(schedule.id),
            schedule.tenant().as_str(),
            schedule.name.as_str(),
            to_json(&schedule.timetable)?,
            to_json(&Template::from(&schedule.template))?,
            schedule.paused,
            schedule.created_at.as_micros(),
            i64::try_from(schedule.revision).unwrap_or(i64::MAX),
            next_tick,
            last_tick,
            runs,
            queued_tick,
        ])?;
    Ok(())
}

fn progress_columns(progress: &ScheduleProgress) -> [Option<i64>; 4] {
    [
        progress.next_tick.map(Timestamp::as_micros),
        progress.last_tick.map(Timestamp::as_micros),
        Some(i64::try_from(progress.runs).unwrap_or(i64::MAX)),
        progress.queued_tick.map(Timestamp::as_micros),
    ]
}

fn unfinished(conn: &Connection, id: ScheduleId) -> Result<Option<JobId>, Fault> {
    let newest = conn
        .prepare_cached(include_str!("sql/unfinished.sql"))?
        .query_row([schedule_key(id)], |row| row.get(0))
        .optional()?;
    Ok(newest.map(job_id))
}

/// One more than asked for tells whether there are more.
fn limit_with_one_more(limit: usize) -> i64 {
    i64::try_from(limit).map_or(i64::MAX, |limit| limit.saturating_add(1))
}

//! Rows of another store, as this one stores them.

use super::{Dialect, Table};
use crate::{
    drivers::{
        driver_error::DriverError,
        sql::session::{SqlSession, SqlValue},
    },
    limits::{MOVE_INSERT_ROWS, PAYLOAD_INLINE_BYTES_MAX},
    tables::MoveSide,
};

type Row = Vec<SqlValue<'static>>;

/// A column to write, and the value that it gets: a parameter, unless it is looked up by one.
type Target<'t> = (&'t str, &'t str);

const PARAMETER: &str = "?"; // not a limit: a placeholder
/// The row of a job, by its id.
const JOB_ROW: &str = "(SELECT seq FROM steadfast_job WHERE id = ?)"; // not a limit: a statement

/// Inserts rows that are not stored yet.
pub(super) async fn rows(
    session: &mut dyn SqlSession,
    dialect: Dialect,
    table: &Table,
    rows: &[Row],
) -> Result<(), DriverError> {
    let names: Vec<&str> = table.names().collect();
    match (dialect, table.title) {
        (Dialect::Sqlite, "jobs") => jobs_to_sqlite(session, table, &names, rows).await,
        (Dialect::Sqlite, "attempts") => attempts_to_sqlite(session, table, &names, rows).await,
        (Dialect::Postgres, "lanes") => lanes_to_postgres(session, &names, rows).await,
        (Dialect::Postgres, "gates") => gates_to_postgres(session, rows).await,
        // The triggers of jobs have made them already.
        (Dialect::Postgres, "tags") => {
            let targets: Vec<Target<'_>> = names.iter().map(|name| (*name, PARAMETER)).collect();
            insert(
                session,
                table.from,
                &targets,
                rows,
                "ON CONFLICT DO NOTHING",
            )
            .await
        }
        _ => {
            let targets: Vec<Target<'_>> = names.iter().map(|name| (*name, PARAMETER)).collect();
            insert(session, table.from, &targets, rows, "").await
        }
    }
}

/// A large payload has a table of its own.
async fn jobs_to_sqlite(
    session: &mut dyn SqlSession,
    table: &Table,
    names: &[&str],
    rows: &[Row],
) -> Result<(), DriverError> {
    let [id, payload] = [position(names, "id")?, position(names, "payload")?];
    let mut rows = rows.to_vec();
    let mut large = Vec::new();
    for row in &mut rows {
        if matches!(&row[payload], SqlValue::Text(text) if text.len() > PAYLOAD_INLINE_BYTES_MAX) {
            let body = std::mem::replace(&mut row[payload], SqlValue::Null);
            large.push(vec![row[id].clone(), body]);
        }
    }
    let targets: Vec<Target<'_>> = names.iter().map(|name| (*name, PARAMETER)).collect();
    insert(session, table.from, &targets, &rows, "").await?;
    let targets = [("job", JOB_ROW), ("body", PARAMETER)];
    insert(session, "steadfast_payload", &targets, &large, "").await
}

/// The attempts of a schedule's runs are listed by a table of their own.
async fn attempts_to_sqlite(
    session: &mut dyn SqlSession,
    table: &Table,
    names: &[&str],
    rows: &[Row],
) -> Result<(), DriverError> {
    let schedule = position(names, "schedule")?;
    let listed = ["schedule", "finished_at", "job", "fence"];
    let places = listed.map(|name| position(names, name));
    let mut of_schedules = Vec::new();
    let mut attempts = Vec::with_capacity(rows.len());
    for row in rows {
        if row[schedule] != SqlValue::Null {
            let mut entry = Row::new();
            for place in &places {
                let place = place.as_ref().map_err(|_| missing())?;
                entry.push(row[*place].clone());
            }
            of_schedules.push(entry);
        }
        let mut attempt = row.clone();
        attempt.remove(schedule);
        attempts.push(attempt);
    }
    let own = names.iter().filter(|name| **name != "schedule");
    let targets: Vec<Target<'_>> = own
        .map(|name| (*name, if *name == "job" { JOB_ROW } else { PARAMETER }))
        .collect();
    insert(session, table.from, &targets, &attempts, "").await?;
    let targets = listed.map(|name| (name, PARAMETER));
    insert(
        session,
        "steadfast_schedule_attempt",
        &targets,
        &of_schedules,
        "",
    )
    .await
}

/// The counts of lanes have a table of their own.
async fn lanes_to_postgres(
    session: &mut dyn SqlSession,
    names: &[&str],
    rows: &[Row],
) -> Result<(), DriverError> {
    let of_lane = ["id", "tenant", "queue", "kind", "unused_since"];
    let (mut lanes, mut counts) = (Vec::new(), Vec::new());
    for row in rows {
        let pairs = || names.iter().zip(row);
        let of = |is_lane: bool| {
            let some = pairs().filter(move |(name, _)| of_lane.contains(name) == is_lane);
            some.map(|(_, value)| value.clone())
        };
        lanes.push(of(true).collect::<Row>());
        let id = pairs()
            .find(|(name, _)| **name == "id")
            .map(|(_, id)| id.clone());
        counts.push(id.into_iter().chain(of(false)).collect::<Row>());
    }
    let lane = names.iter().filter(|name| of_lane.contains(name));
    let targets: Vec<Target<'_>> = lane.map(|name| (*name, PARAMETER)).collect();
    insert(session, "steadfast_lane", &targets, &lanes, "").await?;
    let count = names.iter().filter(|name| !of_lane.contains(name));
    let targets: Vec<Target<'_>> = std::iter::once(("lane", PARAMETER))
        .chain(count.map(|name| (*name, PARAMETER)))
        .collect();
    insert(session, "steadfast_lane_count", &targets, &counts, "").await
}

/// The state of a gate is the newest of its turns.
async fn gates_to_postgres(session: &mut dyn SqlSession, rows: &[Row]) -> Result<(), DriverError> {
    let numbers: Vec<Row> = rows.iter().map(|row| row[..1].to_vec()).collect();
    insert(
        session,
        "steadfast_gate",
        &[("number", PARAMETER)],
        &numbers,
        "",
    )
    .await?;
    for row in rows {
        let sql = include_str!("../shared/tables/gate_state_insert.sql");
        session.execute(sql, row).await?;
    }
    Ok(())
}

async fn insert(
    session: &mut dyn SqlSession,
    into: &str,
    targets: &[Target<'_>],
    mut rows: &[Row],
    conflict: &str,
) -> Result<(), DriverError> {
    let columns: Vec<&str> = targets.iter().map(|target| target.0).collect();
    let columns = columns.join(", ");
    while let Some(size) = MOVE_INSERT_ROWS
        .into_iter()
        .find(|size| *size <= rows.len())
    {
        let (some, rest) = rows.split_at(size);
        rows = rest;
        let list: Vec<String> = (0..size)
            .map(|row| {
                let first = row * targets.len() + 1;
                let values = targets.iter().zip(first..);
                let values = values
                    .map(|(target, number)| target.1.replace(PARAMETER, &format!("?{number}")));
                format!("({})", values.collect::<Vec<_>>().join(", "))
            })
            .collect();
        let list = list.join(", ");
        let sql = format!("INSERT INTO {into} ({columns}) VALUES {list} {conflict}");
        let params: Vec<SqlValue<'_>> = some.iter().flatten().cloned().collect();
        session.execute(&sql, &params).await?;
    }
    Ok(())
}

/// Sets or deletes the mark of a move.
pub(super) async fn mark(
    session: &mut dyn SqlSession,
    side: MoveSide,
    mark: Option<&str>,
) -> Result<(), DriverError> {
    let side = SqlValue::from(side.as_str());
    let changed = match mark {
        Some(mark) => {
            let sql = include_str!("../shared/tables/move_mark_set.sql");
            session.execute(sql, &[side, mark.into()]).await
        }
        None => {
            let sql = include_str!("../shared/tables/move_mark_delete.sql");
            session.execute(sql, &[side]).await
        }
    };
    changed.map(drop)
}

fn position(names: &[&str], name: &str) -> Result<usize, DriverError> {
    names.iter().position(|it| *it == name).ok_or_else(missing)
}

fn missing() -> DriverError {
    DriverError::unreadable("table", "a column is missing")
}

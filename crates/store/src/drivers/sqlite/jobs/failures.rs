//! Groups of failures: collected over a transaction, and written once for each in it.

use rusqlite::{Connection, OptionalExtension as _, Params, Row, params};
use steadfast_core::{
    AuditRecord, FailureEvent, FailureGroup, FailureKey, FailureMark, FailureState, Timestamp,
    limits::{FAILURE_GROUPS_MAX, FAILURE_NEW_FOR},
};

use crate::drivers::sqlite::{
    audit::save_audit, driver_error::DriverError, readers::Reader, session::Session,
    values::to_json,
};
use crate::{
    drivers::sql::{
        failures::{FailureRow, FailureWalk},
        paging::row_limit,
    },
    failures::StoredGroups,
    store::{FailureCursor, FailureFilter, Page, PageRequest},
};

/// Writes what was collected, in the transaction that it belongs to.
pub(crate) fn write(session: &mut Session<'_>) -> Result<(), DriverError> {
    if session.failures.is_empty() {
        return Ok(());
    }
    let tallies = std::mem::take(&mut session.failures);
    let mut stored = StoredGroups::default();
    for key in tallies.keys() {
        if let Some(group) = find(session.conn, key)? {
            stored.groups.insert(key.clone(), group);
            continue;
        }
        if !stored.counts.contains_key(&key.tenant) {
            let count = count(session.conn, key)?;
            stored.counts.insert(key.tenant.clone(), count);
            let other = find(session.conn, &key.other())?;
            stored
                .groups
                .extend(other.map(|other| (key.other(), other)));
        }
    }
    for group in stored.add(tallies, session.now) {
        save(session.conn, &group)?;
    }
    Ok(())
}

pub(crate) fn mark(
    session: &mut Session<'_>,
    key: &FailureKey,
    mark: FailureMark,
    by: Option<String>,
    audit: Option<&AuditRecord>,
) -> Result<Option<FailureGroup>, DriverError> {
    // The transaction may have counted failures of the group.
    write(session)?;
    let Some(stored) = find(session.conn, key)? else {
        return Ok(None);
    };
    let event = FailureEvent::Marked(mark, by);
    let Some(step) = FailureGroup::step(Some(&stored), key, event, session.now) else {
        return Ok(Some(stored));
    };
    save(session.conn, &step.group)?;
    save_audit(session, audit)?;
    Ok(Some(step.group))
}

pub(crate) fn list(
    reader: &Reader,
    filter: &FailureFilter,
    page: &PageRequest<FailureCursor>,
    now: Timestamp,
) -> Result<Page<FailureGroup, FailureCursor>, DriverError> {
    let conn = &reader.conn;
    if let (Some(tenant), Some(fingerprint)) = (&filter.tenant, filter.fingerprint) {
        let found = find(conn, &FailureKey::new(tenant.clone(), fingerprint))?;
        let found = found.filter(|group| {
            let after = page.after.as_ref();
            filter.matches(group, now)
                && after.is_none_or(|after| FailureCursor::of(group) < *after)
        });
        return Ok(Page {
            items: found.into_iter().collect(),
            next: None,
        });
    }
    let mut walk = FailureWalk::new(filter, page, now);
    let (first_tenant, first_print) = (char::MAX.to_string(), "~".to_owned());
    while !walk.is_over() {
        let below = walk.below.as_ref();
        let count = below.map_or(i64::MAX, |it| i64::try_from(it.count).unwrap_or(i64::MAX));
        let print = below.map_or(first_print.clone(), |it| it.fingerprint.to_string());
        let limit = row_limit(FailureWalk::ROWS);
        let rows = match &filter.tenant {
            Some(tenant) => read(
                conn,
                include_str!("failures/failures_of_tenant.sql"),
                params![tenant.as_str(), count, print, limit],
            )?,
            None => {
                let tenant = below.map_or(first_tenant.as_str(), |it| it.tenant.as_str());
                let sql = include_str!("failures/failures_of_all.sql");
                read(conn, sql, params![tenant, count, print, limit])?
            }
        };
        walk.take(rows);
    }
    Ok(walk.page())
}

/// Groups that are new or regressed, the newest first.
pub(crate) fn list_new(
    reader: &Reader,
    limit: usize,
    now: Timestamp,
) -> Result<Vec<FailureGroup>, DriverError> {
    let mut groups = Vec::new();
    for state in [FailureState::New, FailureState::Regressed] {
        let since = match state {
            FailureState::New => now.minus(FAILURE_NEW_FOR).as_micros(),
            _ => i64::MIN,
        };
        let sql = include_str!("failures/failures_new.sql");
        let rows = read(
            &reader.conn,
            sql,
            params![state.as_str(), since, row_limit(limit)],
        )?;
        let found = rows.into_iter().filter_map(|row| row.group);
        groups.extend(found.filter(|group| group.state(now) == state));
    }
    Ok(groups)
}

fn read(conn: &Connection, sql: &str, params: impl Params) -> Result<Vec<FailureRow>, DriverError> {
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read_row(row)?);
    }
    Ok(found)
}

fn read_row(row: &Row<'_>) -> Result<FailureRow, DriverError> {
    let (tenant, fingerprint): (String, String) = (row.get("tenant")?, row.get("fingerprint")?);
    let (count, body): (i64, String) = (row.get("count")?, row.get("body")?);
    Ok(FailureRow::new(&tenant, &fingerprint, count, &body)?)
}

fn find(conn: &Connection, key: &FailureKey) -> Result<Option<FailureGroup>, DriverError> {
    let (tenant, fingerprint) = (key.tenant.as_str(), key.fingerprint.to_string());
    let body: Option<String> = conn
        .prepare_cached(include_str!("failures/failure_find.sql"))?
        .query_row(params![tenant, fingerprint], |row| row.get("body"))
        .optional()?;
    let row = body.map(|body| FailureRow::new(tenant, &fingerprint, 0, &body));
    Ok(row.transpose()?.and_then(|row| row.group))
}

fn count(conn: &Connection, key: &FailureKey) -> Result<usize, DriverError> {
    let groups: i64 = conn
        .prepare_cached(include_str!("failures/failure_count.sql"))?
        .query_row(
            params![key.tenant.as_str(), row_limit(FAILURE_GROUPS_MAX)],
            |row| row.get("groups"),
        )?;
    Ok(usize::try_from(groups).unwrap_or(0))
}

fn save(conn: &Connection, group: &FailureGroup) -> Result<(), DriverError> {
    conn.prepare_cached(include_str!("failures/failure_save.sql"))?
        .execute(params![
            group.key.tenant.as_str(),
            group.key.fingerprint.to_string(),
            i64::try_from(group.tally.count).unwrap_or(i64::MAX),
            group.stored_state().as_str(),
            group.state_since.as_micros(),
            group.tally.last_seen.as_micros(),
            group.tally.dead_letters,
            to_json(group)?,
        ])?;
    Ok(())
}

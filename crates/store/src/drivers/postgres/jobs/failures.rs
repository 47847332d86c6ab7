//! Groups of failures.
//!
//! Nodes that settle failures of one cause at the same time would wait for one row. So a transaction
//! appends what it counted, one row for each cause, and one transaction at a time adds that to the
//! groups: in the background, and before groups are read or marked.

use steadfast_core::{
    AuditRecord, FailureEvent, FailureFingerprint, FailureGroup, FailureKey, FailureMark,
    FailureState, FailureTally, Invalid, Tenant, Timestamp,
    limits::{FAILURE_GROUPS_MAX, FAILURE_NEW_FOR},
};
use tokio_postgres::Row;

use crate::drivers::postgres::{
    audit::save_audit,
    driver_error::DriverError,
    session::{Conn, Session},
    values::to_json,
};
use crate::{
    drivers::sql::{
        failures::{FailureRow, FailureWalk},
        paging::row_limit,
    },
    failures::{FailureTallies, StoredGroups},
    limits::{FAILURE_FOLDS_MAX, FAILURES_FOLDED_MAX},
    store::{FailureCursor, FailureFilter, Page, PageRequest},
};

/// Appends what a transaction has counted.
pub(crate) async fn append(
    session: &Session<'_>,
    tallies: &FailureTallies,
) -> Result<(), DriverError> {
    if tallies.is_empty() {
        return Ok(());
    }
    let (mut tenants, mut fingerprints, mut bodies) = (Vec::new(), Vec::new(), Vec::new());
    for (key, tally) in tallies.iter() {
        tenants.push(key.tenant.as_str());
        fingerprints.push(key.fingerprint.to_string());
        bodies.push(to_json(tally)?);
    }
    let sql = include_str!("failures/failure_append.sql");
    session
        .execute(sql, &[&tenants, &fingerprints, &bodies])
        .await
}

/// Adds what was appended to the groups, a little at a time, and not for ever if others append more.
pub(crate) async fn fold(conn: &mut Conn<'_>) -> Result<(), DriverError> {
    for _ in 0..FAILURE_FOLDS_MAX {
        let sql = include_str!("failures/failure_waits.sql");
        let row = conn.session().query_one(sql, &[]).await?;
        if !row.try_get::<_, bool>("waits")? {
            return Ok(());
        }
        let transaction = conn.begin().await?;
        fold_some(&transaction.session()).await?;
        transaction.commit().await?;
    }
    Ok(())
}

async fn fold_some(session: &Session<'_>) -> Result<(), DriverError> {
    session
        .execute(include_str!("failures/failure_lock.sql"), &[])
        .await?;
    let sql = include_str!("failures/failure_take.sql");
    let mut tallies = FailureTallies::default();
    for row in session.query(sql, &[&FAILURES_FOLDED_MAX]).await? {
        match read_change(&row) {
            Ok((key, tally)) => tallies.merge(key, &tally),
            Err(error) if error.is_unreadable() => {
                tracing::warn!(%error, "skipping a failure count that cannot be decoded");
            }
            Err(error) => return Err(error),
        }
    }
    if tallies.is_empty() {
        return Ok(());
    }
    let mut keys: Vec<FailureKey> = tallies.keys().cloned().collect();
    keys.extend(tallies.keys().map(FailureKey::other));
    keys.dedup();
    let mut stored = StoredGroups::default();
    for group in find(session, &keys).await? {
        stored.groups.insert(group.key.clone(), group);
    }
    let unknown = tallies
        .keys()
        .filter(|key| !stored.groups.contains_key(key));
    let mut tenants: Vec<&str> = unknown.map(|key| key.tenant.as_str()).collect();
    tenants.dedup();
    let sql = include_str!("failures/failure_count.sql");
    let counts = session
        .query(sql, &[&tenants, &row_limit(FAILURE_GROUPS_MAX)])
        .await?;
    for row in counts {
        let tenant = read_tenant(row.try_get("tenant")?)?;
        let groups: i64 = row.try_get("groups")?;
        stored
            .counts
            .insert(tenant, usize::try_from(groups).unwrap_or(0));
    }
    let now = session.shared.clock.now();
    save(session, &stored.add(tallies, now)).await
}

pub(crate) async fn mark(
    conn: &mut Conn<'_>,
    key: &FailureKey,
    mark: FailureMark,
    by: Option<String>,
    audit: Option<&AuditRecord>,
) -> Result<Option<FailureGroup>, DriverError> {
    fold(conn).await?;
    let transaction = conn.begin().await?;
    let session = transaction.session();
    session
        .execute(include_str!("failures/failure_lock.sql"), &[])
        .await?;
    let found = find(&session, std::slice::from_ref(key)).await?;
    let Some(stored) = found.into_iter().next() else {
        return Ok(None);
    };
    let now = session.shared.clock.now();
    let event = FailureEvent::Marked(mark, by);
    let Some(step) = FailureGroup::step(Some(&stored), key, event, now) else {
        return Ok(Some(stored));
    };
    save(&session, std::slice::from_ref(&step.group)).await?;
    save_audit(&session, audit).await?;
    transaction.commit().await?;
    Ok(Some(step.group))
}

pub(crate) async fn list(
    conn: &mut Conn<'_>,
    filter: &FailureFilter,
    page: &PageRequest<FailureCursor>,
    now: Timestamp,
) -> Result<Page<FailureGroup, FailureCursor>, DriverError> {
    fold(conn).await?;
    let session = conn.session();
    if let (Some(tenant), Some(fingerprint)) = (&filter.tenant, filter.fingerprint) {
        let key = FailureKey::new(tenant.clone(), fingerprint);
        let mut items = find(&session, &[key]).await?;
        items.retain(|group| {
            let after = page.after.as_ref();
            filter.matches(group, now)
                && after.is_none_or(|after| FailureCursor::of(group) < *after)
        });
        return Ok(Page { items, next: None });
    }
    let mut walk = FailureWalk::new(filter, page, now);
    let first_tenant = char::MAX.to_string();
    while !walk.is_over() {
        let below = walk.below.as_ref();
        let count = below.map_or(i64::MAX, |it| i64::try_from(it.count).unwrap_or(i64::MAX));
        let print = below.map_or_else(|| "~".to_owned(), |it| it.fingerprint.to_string());
        let limit = row_limit(FailureWalk::ROWS);
        let (sql, tenant) = match &filter.tenant {
            Some(tenant) => (
                include_str!("failures/failures_of_tenant.sql"),
                tenant.as_str(),
            ),
            None => (
                include_str!("failures/failures_of_all.sql"),
                below.map_or(first_tenant.as_str(), |it| it.tenant.as_str()),
            ),
        };
        let rows = session
            .query(sql, &[&tenant, &count, &print, &limit])
            .await?;
        let rows: Result<Vec<FailureRow>, DriverError> = rows.iter().map(read_row).collect();
        walk.take(rows?);
    }
    Ok(walk.page())
}

/// Groups that are new or regressed, the newest first.
pub(crate) async fn list_new(
    conn: &mut Conn<'_>,
    limit: usize,
    now: Timestamp,
) -> Result<Vec<FailureGroup>, DriverError> {
    fold(conn).await?;
    let session = conn.session();
    let mut groups = Vec::new();
    for state in [FailureState::New, FailureState::Regressed] {
        let since = match state {
            FailureState::New => now.minus(FAILURE_NEW_FOR).as_micros(),
            _ => i64::MIN,
        };
        let sql = include_str!("failures/failures_new.sql");
        let rows = session
            .query(sql, &[&state.as_str(), &since, &row_limit(limit)])
            .await?;
        for row in rows {
            let group = read_row(&row)?.group;
            groups.extend(group.filter(|group| group.state(now) == state));
        }
    }
    Ok(groups)
}

async fn find(
    session: &Session<'_>,
    keys: &[FailureKey],
) -> Result<Vec<FailureGroup>, DriverError> {
    let tenants: Vec<&str> = keys.iter().map(|key| key.tenant.as_str()).collect();
    let prints: Vec<String> = keys.iter().map(|key| key.fingerprint.to_string()).collect();
    let sql = include_str!("failures/failure_find.sql");
    let mut groups = Vec::new();
    for row in session.query(sql, &[&tenants, &prints]).await? {
        groups.extend(read_row(&row)?.group);
    }
    Ok(groups)
}

async fn save(session: &Session<'_>, groups: &[FailureGroup]) -> Result<(), DriverError> {
    let text = |of: fn(&FailureGroup) -> String| groups.iter().map(of).collect::<Vec<String>>();
    let number = |of: fn(&FailureGroup) -> i64| groups.iter().map(of).collect::<Vec<i64>>();
    let bodies: Result<Vec<String>, DriverError> = groups.iter().map(to_json).collect();
    session
        .execute(
            include_str!("failures/failure_save.sql"),
            &[
                &text(|group| group.key.tenant.to_string()),
                &text(|group| group.key.fingerprint.to_string()),
                &number(|group| i64::try_from(group.tally.count).unwrap_or(i64::MAX)),
                &text(|group| group.stored_state().to_string()),
                &number(|group| group.state_since.as_micros()),
                &number(|group| group.tally.last_seen.as_micros()),
                &number(|group| group.tally.dead_letters),
                &bodies?,
            ],
        )
        .await
}

fn read_row(row: &Row) -> Result<FailureRow, DriverError> {
    Ok(FailureRow::new(
        row.try_get("tenant")?,
        row.try_get("fingerprint")?,
        row.try_get("count")?,
        row.try_get("body")?,
    )?)
}

fn read_change(row: &Row) -> Result<(FailureKey, FailureTally), DriverError> {
    let fingerprint: FailureFingerprint = row
        .try_get::<_, &str>("fingerprint")?
        .parse()
        .map_err(|error: Invalid| DriverError::unreadable("fingerprint", error))?;
    let tenant = read_tenant(row.try_get("tenant")?)?;
    let tally = serde_json::from_str(row.try_get("tally")?)
        .map_err(|error| DriverError::unreadable("tally", error))?;
    Ok((FailureKey::new(tenant, fingerprint), tally))
}

fn read_tenant(name: &str) -> Result<Tenant, DriverError> {
    Tenant::new(name).map_err(|error| DriverError::unreadable("tenant", error))
}

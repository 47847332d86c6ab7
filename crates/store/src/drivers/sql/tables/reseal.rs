//! Values that are encrypted again with the newest key.
//!
//! Rows are read without a transaction, and each new value is written only if the old one is still
//! stored. So nodes go on meanwhile, and what they write stays.

use std::collections::BTreeSet;

use steadfast_core::{Fence, JobId};

use super::{
    Dialect, Table,
    read::{WalkedRows, walk},
};
use crate::{
    drivers::{
        driver_error::DriverError,
        sql::{
            encryption::{Cell, Cipher, key_of},
            session::{SqlSession, SqlValue, value_list},
        },
    },
    tables::{EncryptionKeyIds, ResealedRow, ResealedRows, RowPosition},
};

/// The encrypted columns of a table, and where the job of a row is found.
struct SealedTable {
    title: &'static str,
    /// What is read besides the key: the id of the job, if the key does not have it, then the columns.
    read: &'static str,
    columns: &'static [&'static str],
    condition: Option<&'static str>,
    cell: for<'r> fn(
        key: &'r [SqlValue<'static>],
        job: &SqlValue<'_>,
        column: &str,
    ) -> Option<Cell<'r>>,
}

const SQLITE: &[SealedTable] = &[
    SealedTable {
        title: "payloads",
        read: "(SELECT id FROM steadfast_job WHERE seq = steadfast_payload.job), body",
        columns: &["body"],
        condition: None,
        cell: |_, job, _| Some(Cell::Payload(job_id(job)?)),
    },
    SealedTable {
        title: "attempts",
        read: "(SELECT id FROM steadfast_job WHERE seq = steadfast_attempt.job), output",
        columns: &["output"],
        condition: Some("output IS NOT NULL"),
        cell: cell_of_output,
    },
];

const POSTGRES: &[SealedTable] = &[SealedTable {
    title: "attempts",
    read: "job, output",
    columns: &["output"],
    condition: Some("output IS NOT NULL"),
    cell: cell_of_output,
}];

const SHARED: &[SealedTable] = &[
    SealedTable {
        title: "jobs",
        read: "id, payload, webhook",
        columns: &["payload", "webhook"],
        condition: None,
        cell: cell_of_job,
    },
    SealedTable {
        title: "steps",
        read: "job, result",
        columns: &["result"],
        condition: None,
        cell: |key, job, _| match key {
            [_, SqlValue::Text(step)] => Some(Cell::Step(job_id(job)?, step)),
            _ => None,
        },
    },
    SealedTable {
        title: "logs",
        read: "job, body",
        columns: &["body"],
        condition: None,
        cell: |key, job, _| Some(Cell::Log(job_id(job)?, fence(key)?)),
    },
    SealedTable {
        title: "records",
        read: "NULL, body",
        columns: &["body"],
        // Each record of a key is encrypted with that key; the others are not encrypted.
        condition: Some(
            "steadfast_record.kind NOT IN ('encryption_key', 'move', 'node', 'worker')",
        ),
        cell: |key, _, _| match key {
            [SqlValue::Text(kind), SqlValue::Text(id)] => Some(Cell::Record(kind, id)),
            _ => None,
        },
    },
];

fn cell_of_job<'r>(
    _: &'r [SqlValue<'static>],
    job: &SqlValue<'_>,
    column: &str,
) -> Option<Cell<'r>> {
    let job = job_id(job)?;
    Some(match column {
        "webhook" => Cell::Webhook(job),
        _ => Cell::Payload(job),
    })
}

fn cell_of_output<'r>(
    key: &'r [SqlValue<'static>],
    job: &SqlValue<'_>,
    _: &str,
) -> Option<Cell<'r>> {
    Some(Cell::Output(job_id(job)?, fence(key)?))
}

fn job_id(value: &SqlValue<'_>) -> Option<JobId> {
    match value {
        SqlValue::Id(bits) => Some(JobId::from_bits(*bits)),
        _ => None,
    }
}

fn fence(key: &[SqlValue<'_>]) -> Option<Fence> {
    match key {
        [_, SqlValue::Int(fence)] => u32::try_from(*fence).ok().map(Fence),
        _ => None,
    }
}

impl Dialect {
    fn sealed(self) -> impl Iterator<Item = &'static SealedTable> {
        let own = match self {
            Self::Sqlite => SQLITE,
            Self::Postgres => POSTGRES,
        };
        SHARED.iter().chain(own)
    }

    /// The tables that have encrypted columns.
    pub(super) fn sealed_tables(self) -> impl Iterator<Item = &'static str> {
        self.sealed().map(|table| table.title)
    }
}

/// Rows after a position: those to write, encrypted again.
pub(super) async fn page(
    session: &mut dyn SqlSession,
    dialect: Dialect,
    table: &'static Table,
    after: Option<&RowPosition>,
    limit: usize,
) -> Result<ResealedRows, DriverError> {
    let mut page = ResealedRows {
        table: table.title,
        count: 0,
        unreadable: 0,
        keys_left: Vec::new(),
        rows: Vec::new(),
        next: None,
    };
    let Some(sealed) = dialect.sealed().find(|it| it.title == table.title) else {
        return Ok(page);
    };
    let condition = sealed.condition;
    let WalkedRows { keys, rows, next } =
        walk(session, table, sealed.read, condition, after, limit).await?;
    page.next = next;
    let cipher = session.cipher();
    for (key, row) in keys.into_iter().zip(rows) {
        let [job, values @ ..] = &*row else { continue };
        for (column, value) in sealed.columns.iter().zip(values) {
            let SqlValue::Text(old) = value else { continue };
            page.count += 1;
            if key_of(old) == cipher.key_ids().next() {
                continue;
            }
            let cell = (sealed.cell)(&key, job, column);
            match cell.and_then(|cell| again(cipher, cell, old)) {
                Some(new) => page.rows.push(ResealedRow {
                    key: key.clone(),
                    column,
                    old: old.to_string(),
                    new,
                }),
                None => {
                    page.unreadable += 1;
                    page.keys_left.extend(key_of(old).map(str::to_owned));
                }
            }
        }
    }
    Ok(page)
}

fn again(cipher: &Cipher, cell: Cell<'_>, stored: &str) -> Option<String> {
    let text = cipher.open(cell, stored).ok()?;
    Some(cipher.seal(cell, &text).ok()?.into_owned())
}

/// Writes them, and answers how many were still as they were read.
pub(super) async fn write(
    session: &mut dyn SqlSession,
    table: &Table,
    rows: &[ResealedRow],
) -> Result<usize, DriverError> {
    let mut written = 0;
    for row in rows {
        let sql = include_str!("../shared/tables/reseal.sql")
            .replace("/*table*/", table.from)
            .replace("/*column*/", row.column)
            .replace("/*key*/", &table.key.join(", "))
            .replace("/*values*/", &value_list(3, row.key.len()));
        let mut params = vec![row.new.as_str().into(), row.old.as_str().into()];
        params.extend(row.key.iter().cloned());
        written += session.execute(&sql, &params).await?;
    }
    Ok(written)
}

/// The key that encrypts, and the others that the store has records of.
pub(super) async fn key_ids(session: &mut dyn SqlSession) -> Result<EncryptionKeyIds, DriverError> {
    let sql = include_str!("../shared/tables/encryption_keys.sql");
    let newest = session.cipher().key_ids().next().map(str::to_owned);
    let mut older = Vec::new();
    for row in session.rows(sql, &[]).await? {
        let id = row.text(0)?;
        if newest.as_deref() != Some(id) {
            older.push(id.to_owned());
        }
    }
    Ok(EncryptionKeyIds { newest, older })
}

/// Deletes the records of keys, except that of the key which encrypts.
pub(super) async fn forget_keys(
    session: &mut dyn SqlSession,
    ids: &BTreeSet<String>,
) -> Result<(), DriverError> {
    for id in key_ids(session).await?.older {
        if ids.contains(&id) {
            let sql = include_str!("../shared/tables/encryption_key_delete.sql");
            session.execute(sql, &[id.as_str().into()]).await?;
        }
    }
    Ok(())
}

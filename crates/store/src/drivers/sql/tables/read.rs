//! Pages of tables.

use super::Table;
use crate::{
    drivers::{
        driver_error::DriverError,
        sql::session::{SqlSession, SqlValue, value_list},
    },
    tables::{BrokenRow, InspectedRows, MoveSide, RowPosition, TablePage},
};

/// Rows after a position, as they are moved.
pub(super) async fn page(
    session: &mut dyn SqlSession,
    table: &'static Table,
    after: Option<&RowPosition>,
    limit: usize,
) -> Result<TablePage, DriverError> {
    let columns = table.columns.join(", ");
    let found = walk(session, table, &columns, table.moved_if, after, limit).await?;
    Ok(TablePage {
        table: table.title,
        next: found.next,
        rows: found.rows,
    })
}

/// Checks rows against the rules of their table.
pub(super) async fn inspect(
    session: &mut dyn SqlSession,
    table: &'static Table,
    after: Option<&RowPosition>,
    limit: usize,
) -> Result<InspectedRows, DriverError> {
    let rules: Vec<String> = table
        .rules
        .iter()
        .map(|rule| format!("({})", rule.broken))
        .collect();
    let columns = match rules.is_empty() {
        true => "1".to_owned(),
        false => rules.join(", "),
    };
    let found = walk(session, table, &columns, None, after, limit).await?;
    let mut broken = Vec::new();
    for (key, row) in found.keys.iter().zip(&found.rows) {
        for (rule, verdict) in table.rules.iter().zip(row) {
            if *verdict == SqlValue::Int(1) {
                broken.push(BrokenRow {
                    row: describe(key),
                    rule: rule.sentence,
                });
            }
        }
    }
    Ok(InspectedRows {
        count: found.rows.len(),
        broken,
        next: found.next,
    })
}

pub(super) struct WalkedRows {
    pub keys: Vec<Vec<SqlValue<'static>>>,
    pub rows: Vec<Vec<SqlValue<'static>>>,
    pub next: Option<RowPosition>,
}

pub(super) async fn walk(
    session: &mut dyn SqlSession,
    table: &Table,
    columns: &str,
    condition: Option<&str>,
    after: Option<&RowPosition>,
    limit: usize,
) -> Result<WalkedRows, DriverError> {
    let key = table.key.join(", ");
    let mut params: Vec<SqlValue<'_>> = Vec::new();
    let mut conditions: Vec<String> = condition.map(str::to_owned).into_iter().collect();
    if let Some(RowPosition(position)) = after {
        conditions.push(format!("({key}) > {}", value_list(1, position.len())));
        params.extend(position.iter().cloned());
    }
    params.push(limit.into());
    let conditions = match conditions.is_empty() {
        true => String::new(),
        false => format!("WHERE {}", conditions.join(" AND ")),
    };
    let sql = include_str!("../shared/tables/table_page.sql")
        .replace("/*key*/", &key)
        .replace("/*columns*/", columns)
        .replace("/*table*/", table.from)
        .replace("/*conditions*/", &conditions)
        .replace("/*limit*/", &format!("?{}", params.len()));
    let mut walked = WalkedRows {
        keys: Vec::new(),
        rows: Vec::new(),
        next: None,
    };
    for row in session.rows(&sql, &params).await? {
        let mut key = row.0;
        walked.rows.push(key.split_off(table.key.len()));
        walked.keys.push(key);
    }
    if walked.keys.len() == limit {
        walked.next = walked.keys.last().cloned().map(RowPosition);
    }
    Ok(walked)
}

/// The mark of a move.
pub(super) async fn mark(
    session: &mut dyn SqlSession,
    side: MoveSide,
) -> Result<Option<String>, DriverError> {
    let sql = include_str!("../shared/tables/move_mark.sql");
    let rows = session.rows(sql, &[side.as_str().into()]).await?;
    let mark = rows.first().map(|row| row.text(0).map(str::to_owned));
    mark.transpose()
}

/// A key for people.
fn describe(key: &[SqlValue<'_>]) -> String {
    let part = |value: &SqlValue<'_>| match value {
        SqlValue::Null => "null".to_owned(),
        SqlValue::Int(number) => number.to_string(),
        SqlValue::Text(text) => text.to_string(),
        SqlValue::Id(bits) => steadfast_core::JobId::from_bits(*bits)
            .to_string()
            .trim_start_matches("job_")
            .to_owned(),
        SqlValue::Unreadable(reason) => reason.clone(),
    };
    key.iter().map(part).collect::<Vec<_>>().join(" ")
}

//! Holds every row of a store against what it must be.

use super::TableStore;
use crate::{
    error::StoreError,
    limits::{BROKEN_ROWS_KEPT, CHECKED_ROWS},
};

/// What a check has looked at, and what it has found.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct StoreCheck {
    /// The tables, with how many rows were read.
    pub tables: Vec<(&'static str, u64)>,
    /// Rows that are not what they must be.
    pub broken: Vec<BrokenRows>,
}

/// Rows of a table with the same fault.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BrokenRows {
    /// The title of the table.
    pub table: &'static str,
    /// What is wrong with each of them.
    pub rule: &'static str,
    /// How many there are.
    pub count: u64,
    /// The keys of the first ones.
    pub examples: Vec<String>,
}

/// Reads every table in small steps. A node may be running: each step sees whole transactions.
pub async fn check_tables(store: &dyn TableStore) -> Result<StoreCheck, StoreError> {
    let mut check = StoreCheck::default();
    for table in store.tables() {
        let mut rows = 0;
        let mut after = None;
        loop {
            let inspected = store.inspect_table(table, after, CHECKED_ROWS).await?;
            rows += inspected.count as u64;
            for broken in inspected.broken {
                check.add(table, broken.rule, broken.row);
            }
            match inspected.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
        check.tables.push((table, rows));
    }
    Ok(check)
}

impl StoreCheck {
    fn add(&mut self, table: &'static str, rule: &'static str, row: String) {
        let known = |it: &BrokenRows| it.table == table && it.rule == rule;
        let index = self.broken.iter().position(known).unwrap_or_else(|| {
            self.broken.push(BrokenRows {
                table,
                rule,
                count: 0,
                examples: Vec::new(),
            });
            self.broken.len() - 1
        });
        let broken = &mut self.broken[index];
        broken.count += 1;
        if broken.examples.len() < BROKEN_ROWS_KEPT {
            broken.examples.push(row);
        }
    }
}

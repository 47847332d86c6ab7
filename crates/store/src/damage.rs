//! Rows that cannot be read.
//!
//! One bad row is one bad row: lists, claims and schedules pass over it. What was passed over is
//! remembered here, so that a person finds it: with its id and what is wrong with it, logged
//! once, and no more than a bounded number of them.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

use steadfast_core::Tenant;

use crate::limits::DAMAGED_ROWS_MAX;

/// A stored row that cannot be read, and was passed over.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DamagedRow {
    /// What it is a row of: `job`, `schedule`, `attempt`, `tick`, `document`, `lane`,
    /// `policy`.
    pub table: &'static str,
    /// Its id, as the API shows ids of this kind.
    pub id: String,
    /// Whose it is, if that can be read.
    pub tenant: Option<Tenant>,
    /// What cannot be read.
    pub reason: String,
}

impl DamagedRow {
    pub(crate) fn new(
        table: &'static str,
        id: impl fmt::Display,
        reason: impl fmt::Display,
    ) -> Self {
        Self {
            table,
            id: id.to_string(),
            tenant: None,
            reason: reason.to_string(),
        }
    }

    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) fn of(self, tenant: Option<Tenant>) -> Self {
        Self { tenant, ..self }
    }
}

impl fmt::Display for DamagedRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Ids of jobs and schedules say what they are.
        match self.table {
            "job" | "schedule" => write!(f, "{}: {}", self.id, self.reason),
            table => write!(f, "{table} {}: {}", self.id, self.reason),
        }
    }
}

impl std::error::Error for DamagedRow {}

/// What is known to be damaged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DamagedRows {
    /// Up to [`DAMAGED_ROWS_MAX`] of them, by table and id.
    pub rows: Vec<DamagedRow>,
    /// Whether there were more, which are not in the list.
    pub has_more: bool,
}

/// The rows that one store has passed over.
#[derive(Default)]
pub(crate) struct DamageLog(Mutex<KnownDamage>);

#[derive(Default)]
struct KnownDamage {
    rows: BTreeMap<(&'static str, String), DamagedRow>,
    has_more: bool,
}

#[cfg_attr(
    not(any(feature = "postgres", feature = "sqlite")),
    expect(dead_code, reason = "only rows in SQL can be damaged")
)]
impl DamageLog {
    /// Remembers a row, and logs it if it is news.
    pub(crate) fn note(&self, row: DamagedRow) {
        let mut known = self.lock();
        let key = (row.table, row.id.clone());
        if known.rows.contains_key(&key) {
            return;
        }
        if known.rows.len() >= DAMAGED_ROWS_MAX {
            if !std::mem::replace(&mut known.has_more, true) {
                tracing::error!("more than {DAMAGED_ROWS_MAX} rows are corrupt");
            }
            return;
        }
        let DamagedRow {
            table, id, reason, ..
        } = &row;
        tracing::error!(table, id, reason, "{row} (skipped)");
        known.rows.insert(key, row);
    }

    /// The ids of the known rows of a table.
    pub(crate) fn ids(&self, table: &str) -> Vec<String> {
        let known = self.lock();
        let keys = known.rows.keys().filter(|(of, _)| *of == table);
        keys.map(|(_, id)| id.clone()).collect()
    }

    /// A row was mended or deleted.
    pub(crate) fn forget(&self, table: &'static str, id: &str) {
        let mut known = self.lock();
        known.rows.remove(&(table, id.to_owned()));
        known.has_more = false;
    }

    pub(crate) fn known(&self) -> DamagedRows {
        let known = self.lock();
        DamagedRows {
            rows: known.rows.values().cloned().collect(),
            has_more: known.has_more,
        }
    }

    fn lock(&self) -> MutexGuard<'_, KnownDamage> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(all(test, any(feature = "postgres", feature = "sqlite")))]
mod tests {
    use super::*;

    #[test]
    fn a_bounded_number_is_remembered_and_what_was_mended_makes_room() {
        let log = DamageLog::default();
        for number in 0..=DAMAGED_ROWS_MAX {
            log.note(DamagedRow::new("job", number, "torn"));
            log.note(DamagedRow::new("job", 0, "torn"));
        }
        let known = log.known();
        assert_eq!((known.rows.len(), known.has_more), (DAMAGED_ROWS_MAX, true));
        log.forget("job", "0");
        log.note(DamagedRow::new("tick", 7, "torn"));
        let known = log.known();
        assert_eq!(
            (known.rows.len(), known.has_more),
            (DAMAGED_ROWS_MAX, false)
        );
        assert_eq!(log.ids("tick"), ["7"]);
    }
}

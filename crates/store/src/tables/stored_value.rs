//! Keys of rows as JSON, so that work on tables can say where it continues.

use serde::{Deserialize, Serialize};

use super::RowPosition;
use crate::drivers::sql::session::SqlValue;

/// A value of a key.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum StoredValue {
    Null,
    Int(i64),
    Text(String),
    Id(String),
}

/// A position as it is stored.
pub(super) fn save(position: &RowPosition) -> Vec<StoredValue> {
    position.0.iter().map(save_value).collect()
}

/// A stored position.
pub(super) fn load(values: Vec<StoredValue>) -> RowPosition {
    RowPosition(values.into_iter().map(load_value).collect())
}

fn save_value(value: &SqlValue<'_>) -> StoredValue {
    match value {
        SqlValue::Null | SqlValue::Unreadable(_) => StoredValue::Null,
        SqlValue::Int(number) => StoredValue::Int(*number),
        SqlValue::Text(text) => StoredValue::Text(text.to_string()),
        SqlValue::Id(bits) => StoredValue::Id(format!("{bits:x}")),
    }
}

fn load_value(value: StoredValue) -> SqlValue<'static> {
    match value {
        StoredValue::Null => SqlValue::Null,
        StoredValue::Int(number) => SqlValue::Int(number),
        StoredValue::Text(text) => SqlValue::from(text),
        StoredValue::Id(text) => match u128::from_str_radix(&text, 16) {
            Ok(bits) => SqlValue::Id(bits),
            Err(error) => SqlValue::Unreadable(error.to_string()),
        },
    }
}

//! Values to columns and back.

use std::time::Duration;

use serde::de::DeserializeOwned;
use steadfast_core::Timestamp;
use tokio_postgres::{Row, row::RowIndex};

use super::driver_error::DriverError;
use crate::error::ErrorSource;

/// A column by position or by name. Only results of few rows are read by name.
pub(super) trait Column: RowIndex + std::fmt::Display {}

impl<C: RowIndex + std::fmt::Display> Column for C {}

pub(super) fn time(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros)
}

pub(super) fn time_option(
    row: &Row,
    column: impl Column,
) -> Result<Option<Timestamp>, DriverError> {
    Ok(row.try_get::<_, Option<i64>>(column)?.map(time))
}

pub(super) fn micros(time: Option<Timestamp>) -> Option<i64> {
    time.map(Timestamp::as_micros)
}

/// Microseconds, for what is added to times.
pub(super) fn duration_micros(duration: Duration) -> i64 {
    // Half of the range, so that the sum fits as well.
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX / 2)
}

pub(super) use crate::drivers::sql::values::to_json;

pub(super) fn json<T: DeserializeOwned>(
    row: &Row,
    column: impl Column,
    what: &'static str,
) -> Result<T, DriverError> {
    parse(row, column, what, |text| serde_json::from_str(text))
}

pub(super) fn parse_option<T, E: Into<ErrorSource>>(
    row: &Row,
    column: impl Column,
    what: &'static str,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<Option<T>, DriverError> {
    let text: Option<&str> = row.try_get(column)?;
    text.map(|text| parse(text).map_err(|error| DriverError::unreadable(what, error)))
        .transpose()
}

pub(super) fn parse<T, E: Into<ErrorSource>>(
    row: &Row,
    column: impl Column,
    what: &'static str,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<T, DriverError> {
    let text: &str = row.try_get(column)?;
    parse(text).map_err(|error| DriverError::unreadable(what, error))
}

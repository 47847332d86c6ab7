//! Values to columns and back.

use rusqlite::{
    Row,
    types::{FromSqlError, ValueRef},
};
use serde::de::DeserializeOwned;
use steadfast_core::{JobId, JobState, ScheduleId, Timestamp};

use super::driver_error::DriverError;
use crate::{drivers::sql::values, error::ErrorSource};

pub(super) fn state(stored: i64) -> Result<JobState, DriverError> {
    let number = i16::try_from(stored).ok();
    number
        .and_then(values::state)
        .ok_or_else(|| DriverError::unreadable("state", stored.to_string()))
}

pub(super) fn state_number(state: JobState) -> i64 {
    values::state_number(state).into()
}

pub(super) fn job_id(bytes: [u8; 16]) -> JobId {
    JobId::from_bits(u128::from_be_bytes(bytes))
}

pub(super) fn job_key(id: JobId) -> [u8; 16] {
    id.bits().to_be_bytes()
}

pub(super) fn schedule_id(bytes: [u8; 16]) -> ScheduleId {
    ScheduleId::from_bits(u128::from_be_bytes(bytes))
}

pub(super) fn schedule_key(id: ScheduleId) -> [u8; 16] {
    id.bits().to_be_bytes()
}

pub(super) fn time(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros)
}

pub(super) use crate::drivers::sql::values::to_json;

/// A time that may be null.
pub(super) fn time_option(row: &Row<'_>, column: usize) -> Result<Option<Timestamp>, DriverError> {
    Ok(row.get::<_, Option<i64>>(column)?.map(time))
}

pub(super) fn json_option<T: DeserializeOwned>(
    row: &Row<'_>,
    column: usize,
    what: &'static str,
) -> Result<Option<T>, DriverError> {
    parse_option(row, column, what, |text| serde_json::from_str(text))
}

pub(super) fn parse_option<T, E: Into<ErrorSource>>(
    row: &Row<'_>,
    column: usize,
    what: &'static str,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<Option<T>, DriverError> {
    text_option(row, column)?
        .map(|text| parse(text).map_err(|error| DriverError::unreadable(what, error)))
        .transpose()
}

pub(super) fn parse<T, E: Into<ErrorSource>>(
    row: &Row<'_>,
    column: usize,
    what: &'static str,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<T, DriverError> {
    let text = row.get_ref(column)?.as_str().map_err(wrong_type)?;
    parse(text).map_err(|error| DriverError::unreadable(what, error))
}

pub(super) fn text_option<'row>(
    row: &'row Row<'_>,
    column: usize,
) -> Result<Option<&'row str>, DriverError> {
    match row.get_ref(column)? {
        ValueRef::Null => Ok(None),
        value => Ok(Some(value.as_str().map_err(wrong_type)?)),
    }
}

pub(super) fn wrong_type(error: FromSqlError) -> DriverError {
    DriverError::unreadable("value", error)
}

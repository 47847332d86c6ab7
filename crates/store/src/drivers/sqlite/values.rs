//! Values to columns and back.

use steadfast_core::{JobId, JobState, ScheduleId, Timestamp};

use crate::drivers::sql::values;

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

pub(super) use crate::drivers::sql::values::{read_state, to_json};

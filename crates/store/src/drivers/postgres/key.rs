//! Public ids in columns.

use std::error::Error;

use bytes::BytesMut;
use steadfast_core::{AuditId, BatchId, JobId, OperationId, ScheduleId, limits::DAY};
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, accepts, to_sql_checked};

/// A public id in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Key(u128);

impl From<JobId> for Key {
    fn from(id: JobId) -> Self {
        Self(id.bits())
    }
}

impl From<ScheduleId> for Key {
    fn from(id: ScheduleId) -> Self {
        Self(id.bits())
    }
}

impl From<OperationId> for Key {
    fn from(id: OperationId) -> Self {
        Self(id.bits())
    }
}

impl From<BatchId> for Key {
    fn from(id: BatchId) -> Self {
        Self(id.bits())
    }
}

impl From<AuditId> for Key {
    fn from(id: AuditId) -> Self {
        Self(id.bits())
    }
}

impl Key {
    pub(super) fn job(self) -> JobId {
        JobId::from_bits(self.0)
    }

    pub(super) fn bits(self) -> u128 {
        self.0
    }

    /// The day on which it was made, since 1970.
    pub(super) fn day(self) -> i32 {
        let millis = self.0 >> 80;
        i32::try_from(millis / DAY.as_millis()).unwrap_or(i32::MAX)
    }

    /// The first and the last day on which some were made: only the partitions of these are opened.
    pub(super) fn days(keys: &[Self]) -> (i32, i32) {
        let days = || keys.iter().map(|key| key.day());
        (days().min().unwrap_or(0), days().max().unwrap_or(0))
    }
}

impl ToSql for Key {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.extend_from_slice(&self.0.to_be_bytes());
        Ok(IsNull::No)
    }

    accepts!(UUID);
    to_sql_checked!();
}

impl<'a> FromSql<'a> for Key {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(u128::from_be_bytes(raw.try_into()?)))
    }

    accepts!(UUID);
}

//! Rows as parameters: a batch is sent as one array of rows.
//!
//! One array for each column would be simpler, but the server unpacks each of them apart, and
//! for the forty columns of a transition that costs more than writing it.

use std::error::Error;

use bytes::BytesMut;
use steadfast_core::{JobProgress, WorkerName};
use tokio_postgres::types::{Field, IsNull, Kind, ToSql, Type};

use super::values::{micros, to_json};
use crate::drivers::sql::values::{nanos, state_number};

type PutResult = Result<(), Box<dyn Error + Sync + Send>>;

/// A value that is sent as a row of a type of ours, its fields in the order of the type.
pub(super) trait Composite {
    fn put(&self, fields: &mut Fields<'_>) -> PutResult;
}

/// The fields of a row, as they are written.
pub(super) struct Fields<'o> {
    types: std::slice::Iter<'o, Field>,
    out: &'o mut BytesMut,
}

impl Fields<'_> {
    pub(super) fn put<T: ToSql>(&mut self, value: &T) -> PutResult {
        let field = self
            .types
            .next()
            .ok_or("there are more fields than the type has")?;
        self.out
            .extend_from_slice(&field.type_().oid().to_be_bytes());
        let start = self.out.len();
        self.out.extend_from_slice(&[0; 4]);
        let length = match value.to_sql(field.type_(), self.out)? {
            IsNull::Yes => -1,
            IsNull::No => i32::try_from(self.out.len() - start - 4)?,
        };
        self.out[start..start + 4].copy_from_slice(&length.to_be_bytes());
        Ok(())
    }

    pub(super) fn put_progress(&mut self, progress: &JobProgress) -> PutResult {
        self.put(&state_number(progress.state))?;
        self.put(&progress.run_at.as_micros())?;
        self.put(&i64::from(progress.fence.0))?;
        self.put(&i64::from(progress.attempt))?;
        self.put(&i64::from(progress.attempts_before))?;
        self.put(&progress.cancel_requested)?;
        self.put(&micros(progress.lease_until))?;
        self.put(&micros(progress.started_at))?;
        self.put(&micros(progress.first_started_at))?;
        self.put(&micros(progress.finished_at))?;
        self.put(&micros(progress.resolved_at))?;
        self.put(&progress.worker.as_ref().map(WorkerName::as_str))?;
        self.put(&i32::try_from(progress.snoozes)?)?;
        self.put(&progress.last_delay.map(nanos))?;
        self.put(&progress.reason.map(|reason| reason.as_str()))?;
        self.put(&progress.failure.as_ref().map(to_json).transpose()?)?;
        self.put(&progress.note.as_deref().map(to_json).transpose()?)
    }
}

/// A row as a parameter.
#[derive(Debug)]
pub(super) struct AsRow<T>(pub T);

impl<T: Composite + std::fmt::Debug> ToSql for AsRow<T> {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        let Kind::Composite(types) = ty.kind() else {
            return Err("this is no type of rows".into());
        };
        out.extend_from_slice(&i32::try_from(types.len())?.to_be_bytes());
        let mut fields = Fields {
            types: types.iter(),
            out,
        };
        self.0.put(&mut fields)?;
        match fields.types.next() {
            Some(field) => Err(format!("the field {} is missing", field.name()).into()),
            None => Ok(IsNull::No),
        }
    }

    fn accepts(ty: &Type) -> bool {
        matches!(ty.kind(), Kind::Composite(_))
    }

    tokio_postgres::types::to_sql_checked!();
}

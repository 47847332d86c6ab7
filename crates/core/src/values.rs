//! Checked values that cannot be built wrong, and the arithmetic on them. Nothing here knows a job.

mod destination;
pub mod duration;
pub mod finite;
mod hash;
mod id;
mod invalid;
mod name;
mod note;
mod payload;
mod string_enum;
mod tags;
mod text;
mod time;
mod traceparent;

pub(crate) use crate::string_enum;
pub use destination::Destination;
pub(crate) use hash::hash_number;
pub use hash::name_number;
pub use id::{AuditId, BatchId, EndpointId, EventId, JobId, KeyId, OperationId, ScheduleId};
pub use invalid::Invalid;
pub use name::{
    CertificateName, ConcurrencyKey, IdempotencyKey, Kind, Queue, ScheduleName, SecretName,
    StepName, Tenant, UniqueKey, WorkerName,
};
pub use note::Note;
pub use payload::Payload;
pub use tags::{Tags, tag_text};
pub(crate) use text::{cut_middle, truncate};
pub use time::Timestamp;
pub use traceparent::Traceparent;

//! Errors of the client of an engine.

use steadfast_core::{
    BatchId, IdempotencyKey, Invalid, JobId, OperationId, OperationRefusal, Queue, Schedule,
    ScheduleId, SecretName, Tenant,
};
use steadfast_store::{CommandError, EnqueueError, StoreError};

use crate::{flow::store_meter::StoreSlow, limits::REVISION_TRIES_MAX};

/// Why a [`Client`](crate::Client) could not do what it was asked, by operation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// A value breaks a rule; nothing was done.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The jobs were not stored; none of them was.
    #[error(transparent)]
    Enqueue(#[from] EnqueueError),
    /// The command was not carried out on the job.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The store failed to read, or to write anything but jobs.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no schedule of this id.
    #[error("there is no schedule {0}")]
    ScheduleNotFound(ScheduleId),
    /// An idempotency key was used before, for another request: one of them was for a schedule.
    #[error("idempotency key {key:?} was already used for a different request")]
    KeyTaken {
        /// The key.
        key: IdempotencyKey,
    },
    /// A schedule of this name exists, and the request must not replace it.
    #[error("the name {} is already used by schedule {}", schedule.name, schedule.id)]
    NameTaken {
        /// The schedule that has the name.
        schedule: Box<Schedule>,
    },
    /// Others changed the same thing each time between the reading and the writing of it.
    #[error("{what} was changed concurrently {REVISION_TRIES_MAX} times in a row: try again later")]
    Contended {
        /// The subject of the failed write, such as `schedule nightly`.
        what: String,
    },
    /// The tenant has as many endpoints as it may have.
    #[error(
        "tenant {tenant}: limit of {most} endpoints reached: delete one first, or ask the operator to \
         raise endpointsPerTenant"
    )]
    TooManyEndpoints {
        /// The tenant.
        tenant: Tenant,
        /// The limit.
        most: usize,
    },
    /// The tenant has as many secrets as it may have.
    #[error("tenant {tenant}: limit of {most} secrets reached: delete one first")]
    TooManySecrets {
        /// The tenant.
        tenant: Tenant,
        /// The limit.
        most: usize,
    },
    /// There are as many kept certificates as there may be.
    #[error("limit of {most} kept certificates of {whose} reached: delete one first")]
    TooManyCertificates {
        /// As `tenant acme`.
        whose: String,
        /// How many there may be.
        most: usize,
    },
    /// The stored secret cannot be read.
    #[error(
        "secret {name} of tenant {tenant} is corrupt and cannot be read: {reason}; delete it and set \
         it again"
    )]
    DamagedSecret {
        /// The secret.
        name: SecretName,
        /// Its tenant.
        tenant: Tenant,
        /// What cannot be read.
        reason: String,
    },
    /// There are as many gates as there may be.
    #[error("{whose} limit of {most} gates reached: delete some, or set a default for the scope")]
    TooManyGates {
        /// As `tenant acme has`.
        whose: String,
        /// How many there may be.
        most: usize,
    },
    /// There are as many gates of tenants as there may be.
    #[error("no more gates can be set on this server: ask its operator")]
    NoRoomForGates,
    /// The queue cannot be resumed for one tenant: it is paused for all of them.
    #[error(
        "queue {queue} cannot be resumed: its gate for all tenants is {pause}; resume that gate with \
         an API key for all tenants"
    )]
    PausedForAll {
        /// The queue.
        queue: Queue,
        /// As `paused by ann for 5m: the provider moves`.
        pause: String,
    },
    /// There is no operation of this id.
    #[error("there is no {0}")]
    OperationNotFound(OperationId),
    /// The operation does not allow it.
    #[error("{0}")]
    OperationRefused(OperationRefusal),
    /// There are as many open operations as there may be.
    #[error("limit of {most} open operations reached: cancel one, or wait for one to end")]
    TooManyOperations {
        /// How many a tenant may have.
        most: usize,
    },
    /// A rotation of the encryption key has not ended, and it is to another key.
    #[error(
        "{id} encrypts everything with key {key}, which is not the newest key of this process: \
         wait for its end, or cancel it first"
    )]
    RotationOpen {
        /// The operation.
        id: OperationId,
        /// Its key.
        key: String,
    },
    /// There is no batch of this id.
    #[error("there is no {0}")]
    BatchNotFound(BatchId),
    /// The tenant has as many unfinished batches as it may have.
    #[error(
        "limit of {most} unfinished batches reached: close open batches, or wait for \
         their jobs"
    )]
    TooManyBatches {
        /// How many a tenant may have.
        most: usize,
    },
    /// The tenant has as many schedules as it may have.
    #[error("limit of {most} schedules reached: delete some")]
    TooManySchedules {
        /// How many a tenant may have.
        most: usize,
    },
    /// All jobs of a new batch exist already by their idempotency keys, so that it would be empty.
    #[error(
        "all jobs of this batch already exist with their idempotency keys, the first as {job}{}; nothing \
         was created; use an idempotencyKey for the batch to repeat its creation",
        batch.map_or(String::new(), |batch| format!(" of {batch}"))
    )]
    BatchJobsExist {
        /// The first of them.
        job: JobId,
        /// The batch that it is counted in.
        batch: Option<BatchId>,
    },
    /// Commits have taken too long for some seconds, so nothing was created.
    #[error(transparent)]
    StoreSlow(#[from] StoreSlow),
    /// The store took jobs and did not say what became of each.
    #[error("the store returned no result for some jobs")]
    MissingResult,
}

impl ClientError {
    /// Whether the same call may succeed later without any change.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Store(error) => error.is_transient(),
            Self::Enqueue(error) => error.is_transient(),
            Self::Contended { .. }
            | Self::StoreSlow(_)
            | Self::TooManyOperations { .. }
            | Self::TooManyBatches { .. } => true,
            Self::Invalid(_)
            | Self::Command(_)
            | Self::ScheduleNotFound(_)
            | Self::KeyTaken { .. }
            | Self::NameTaken { .. }
            | Self::TooManyEndpoints { .. }
            | Self::TooManySecrets { .. }
            | Self::TooManyCertificates { .. }
            | Self::DamagedSecret { .. }
            | Self::TooManyGates { .. }
            | Self::NoRoomForGates
            | Self::TooManySchedules { .. }
            | Self::PausedForAll { .. }
            | Self::OperationNotFound(_)
            | Self::OperationRefused(_)
            | Self::RotationOpen { .. }
            | Self::BatchNotFound(_)
            | Self::BatchJobsExist { .. }
            | Self::MissingResult => false,
        }
    }

    pub(crate) fn contended(what: impl std::fmt::Display) -> Self {
        let what = what.to_string();
        Self::Contended { what }
    }
}

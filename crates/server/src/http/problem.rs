//! Answers to requests that cannot be met: RFC 9457, with a stable code.
//!
//! The sentence is for people, the code for programs, and the field says where to look. Errors
//! inside the server go to the log; the client only gets `internal` or `unavailable`.

use std::time::Duration;

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use steadfast_api::ProblemBody;
use steadfast_core::{Dependencies, Invalid, OutboxRefusalReason, limits};
use steadfast_engine::{ClaimError, ClientError, SettleError};
use steadfast_store::{CommandError, EnqueueError, StoreError};
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response as ResponseSchema, ResponseBuilder};

pub const PROBLEM_JSON: &str = "application/problem+json";

/// Why a request is not met.
#[derive(Debug)]
pub struct Problem {
    pub status: StatusCode,
    /// Stable; programs may rely on it.
    pub code: &'static str,
    pub detail: String,
    pub field: Option<String>,
    /// When the same request may be met; otherwise soon.
    pub retry_after: Option<Duration>,
}

impl Problem {
    pub fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Self {
            status,
            code,
            detail: detail.into(),
            field: None,
            retry_after: None,
        }
    }

    /// The same problem, which may be gone after this time.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.retry_after = Some(delay);
        self
    }

    /// The same problem, of this field.
    #[must_use]
    pub fn at(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    /// The same problem, of a field inside of this one.
    #[must_use]
    pub fn within(mut self, outer: &str) -> Self {
        self.field = self.field.map(|field| format!("{outer}.{field}"));
        self
    }

    /// Also for what belongs to another tenant, so that a caller cannot find out what exists.
    pub fn not_found(what: impl std::fmt::Display) -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "not_found",
            format!("there is no {what}"),
        )
    }

    pub fn invalid(field: &str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid", detail).at(field)
    }

    /// A fault of the server; the caller can do nothing about it.
    pub fn internal(error: &dyn std::fmt::Display) -> Self {
        tracing::error!(%error, "cannot answer a request");
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "internal server error; see the server log",
        )
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = ProblemBody {
            kind: "about:blank".to_owned(),
            title: self
                .status
                .canonical_reason()
                .unwrap_or("Problem")
                .to_owned(),
            status: self.status.as_u16(),
            code: self.code.to_owned(),
            detail: self.detail,
            field: self.field,
        };
        let text = serde_json::to_string(&body).unwrap_or_default();
        let mut response = (self.status, text).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
        match self.status {
            StatusCode::UNAUTHORIZED => {
                let scheme = HeaderValue::from_static("Bearer realm=\"steadfast\"");
                headers.insert(header::WWW_AUTHENTICATE, scheme);
            }
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => {
                let seconds = self.retry_after.map_or(1, |delay| delay.as_secs().max(1));
                headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
            }
            _ => {}
        }
        response
    }
}

impl From<Invalid> for Problem {
    fn from(invalid: Invalid) -> Self {
        Self::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "invalid",
            invalid.to_string(),
        )
        .at(invalid.field)
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        if !error.is_transient() {
            return Self::internal(&error);
        }
        tracing::error!(%error, "cannot answer a request");
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "unavailable",
            "the store is currently unavailable; try again",
        )
    }
}

impl From<EnqueueError> for Problem {
    fn from(error: EnqueueError) -> Self {
        match error {
            EnqueueError::Conflict { .. } => {
                let detail = error.to_string();
                Self::new(StatusCode::CONFLICT, "idempotency_conflict", detail).at("idempotencyKey")
            }
            EnqueueError::NotUnique { .. } => {
                let detail = error.to_string();
                Self::new(StatusCode::CONFLICT, "unique_conflict", detail).at("unique")
            }
            EnqueueError::UnknownPrerequisite { job, .. } => {
                let detail = Dependencies::unknown(job).to_string();
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "unknown_job", detail).at("after")
            }
            EnqueueError::UnknownBatch { .. } => {
                let detail = format!("{error}; it may have been deleted by retention");
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "unknown_batch", detail).at("batch")
            }
            EnqueueError::BatchRefused { ref reason, .. } => {
                let code = match reason.field.as_str() {
                    "batch" => "batch_closed",
                    _ => "batch_full",
                };
                Self::new(StatusCode::CONFLICT, code, error.to_string()).at("batch")
            }
            EnqueueError::TenantFull { .. } => {
                Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many", error.to_string())
            }
            EnqueueError::WaitingFull(_) => {
                let detail = error.to_string();
                Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_waiting", detail)
                    .after(limits::WAITING_RETRY_AFTER)
            }
            EnqueueError::Store(error) => error.into(),
        }
    }
}

impl From<CommandError> for Problem {
    fn from(error: CommandError) -> Self {
        match error {
            CommandError::NotFound(id) => Self::not_found(id),
            CommandError::Refused(refused) => {
                Self::new(StatusCode::CONFLICT, "refused", refused.to_string())
            }
        }
    }
}

impl From<ClientError> for Problem {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Invalid(invalid) => invalid.into(),
            ClientError::Enqueue(error) => error.into(),
            ClientError::Command(error) => error.into(),
            ClientError::Store(error) => error.into(),
            ClientError::ScheduleNotFound(id) => Self::not_found(format!("schedule {id}")),
            ClientError::KeyTaken { .. } => {
                let detail = error.to_string();
                Self::new(StatusCode::CONFLICT, "idempotency_conflict", detail).at("idempotencyKey")
            }
            ClientError::NameTaken { .. } => {
                Self::new(StatusCode::CONFLICT, "name_taken", error.to_string()).at("name")
            }
            ClientError::Contended { .. } | ClientError::RotationOpen { .. } => {
                Self::new(StatusCode::CONFLICT, "conflict", error.to_string())
            }
            ClientError::OperationNotFound(id) => Self::not_found(id),
            ClientError::BatchNotFound(id) => Self::not_found(id),
            ClientError::OperationRefused(_) => {
                Self::new(StatusCode::CONFLICT, "refused", error.to_string())
            }
            ClientError::TooManyOperations { .. } | ClientError::TooManyBatches { .. } => {
                Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many", error.to_string())
            }
            ClientError::StoreSlow(_) => {
                let status = StatusCode::SERVICE_UNAVAILABLE;
                Self::new(status, "store_slow", error.to_string()).after(limits::STORE_RETRY_AFTER)
            }
            ClientError::BatchJobsExist { .. } => {
                Self::new(StatusCode::CONFLICT, "jobs_exist", error.to_string()).at("jobs")
            }
            ClientError::TooManyEndpoints { .. }
            | ClientError::TooManySecrets { .. }
            | ClientError::TooManyCertificates { .. }
            | ClientError::TooManyGates { .. }
            | ClientError::NoRoomForGates
            | ClientError::TooManySchedules { .. } => {
                Self::new(StatusCode::CONFLICT, "too_many", error.to_string())
            }
            ClientError::DamagedSecret { .. } => {
                Self::new(StatusCode::CONFLICT, "damaged", error.to_string())
            }
            ClientError::PausedForAll { .. } => {
                Self::new(StatusCode::CONFLICT, "paused_for_all", error.to_string())
            }
            error => Self::internal(&error),
        }
    }
}

impl From<ClaimError> for Problem {
    fn from(error: ClaimError) -> Self {
        match error {
            ClaimError::Store(error) => error.into(),
            ClaimError::Stopping => Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "stopping",
                error.to_string(),
            ),
            error => Self::internal(&error),
        }
    }
}

impl From<SettleError> for Problem {
    fn from(error: SettleError) -> Self {
        match error {
            SettleError::NotFound(id) => Self::not_found(id),
            SettleError::Stale(stale) => {
                Self::new(StatusCode::CONFLICT, "stale_fence", stale.to_string()).at("fence")
            }
            SettleError::OutboxRefused(refusal) => {
                let index = refusal.index;
                Self::from(refusal.reason).within(&format!("onSuccess[{index}]"))
            }
            error => Self::internal(&error),
        }
    }
}

/// As for the same job in a request to create it.
impl From<OutboxRefusalReason> for Problem {
    fn from(reason: OutboxRefusalReason) -> Self {
        let detail = reason.to_string();
        let invalid = StatusCode::UNPROCESSABLE_ENTITY;
        match reason {
            OutboxRefusalReason::UnknownPrerequisite(_) => {
                Self::new(invalid, "unknown_job", detail).at("after")
            }
            OutboxRefusalReason::UnknownBatch(_) => {
                let detail = format!("{detail}; it may have been deleted by retention");
                Self::new(invalid, "unknown_batch", detail).at("batch")
            }
            OutboxRefusalReason::BatchClosed(_) => {
                Self::new(StatusCode::CONFLICT, "batch_closed", detail).at("batch")
            }
            OutboxRefusalReason::BatchFull(_) => {
                Self::new(StatusCode::CONFLICT, "batch_full", detail).at("batch")
            }
        }
    }
}

/// The problems that any request may meet, for the OpenAPI document.
pub struct Problems;

const STATUSES: &[(&str, &str)] = &[
    ("400", "The request is not valid JSON or HTTP"),
    ("401", "The API key is missing or unknown"),
    (
        "403",
        "The scope of the key does not allow this, or the request came from another site",
    ),
    (
        "404",
        "The resource does not exist or belongs to another tenant",
    ),
    ("405", "The method is not allowed for this path"),
    ("408", "The request was received too slowly"),
    ("409", "The request conflicts with the current state"),
    ("413", "The request is too large"),
    (
        "415",
        "The Content-Type of the body must be application/json",
    ),
    (
        "421",
        "The host name is not accepted while the server has no API key",
    ),
    ("422", "A field is invalid; the problem names it"),
    (
        "429",
        "Too many concurrent requests of this type, or too many jobs wait; try again",
    ),
    ("500", "Internal server error"),
    (
        "503",
        "The store is unavailable, too many requests are waiting, or the node is stopping",
    ),
];

impl utoipa::IntoResponses for Problems {
    fn responses() -> std::collections::BTreeMap<String, RefOr<ResponseSchema>> {
        let describe = |(status, why): &(&str, &str)| {
            let content = ContentBuilder::new()
                .schema(Some(Ref::from_schema_name("Problem")))
                .build();
            let response = ResponseBuilder::new()
                .description(*why)
                .content(PROBLEM_JSON, content)
                .build();
            ((*status).to_owned(), response.into())
        };
        STATUSES.iter().map(describe).collect()
    }
}

//! What a client is told when something is wrong: RFC 9457, with a stable code.
//!
//! The sentence is for people, the code for programs, and the field says where to look. What
//! went wrong inside goes to the log; the client is only told that it was us.

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use steadfast_core::Invalid;
use steadfast_engine::{ClientError, SettleError};
use steadfast_store::{CommandError, EnqueueError, StoreError};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ContentBuilder, RefOr, Response as Documented, ResponseBuilder},
};

pub const PROBLEM_JSON: &str = "application/problem+json";

/// An answer that is not what was asked for.
#[derive(Debug)]
pub struct Problem {
    pub status: StatusCode,
    /// Stable; programs may rely on it.
    pub code: &'static str,
    pub detail: String,
    pub field: Option<String>,
}

/// A problem as it is written.
#[derive(Serialize, ToSchema)]
#[schema(as = Problem)]
pub struct ProblemBody {
    /// Always `about:blank`: the code says what kind of problem it is.
    #[serde(rename = "type")]
    kind: &'static str,
    title: String,
    status: u16,
    /// Stable; programs may rely on it.
    code: String,
    /// A sentence for people.
    detail: String,
    /// The field at fault, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    field: Option<String>,
}

impl Problem {
    pub fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Self {
            status,
            code,
            detail: detail.into(),
            field: None,
        }
    }

    #[must_use]
    pub fn at(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    /// Also for what belongs to another tenant: it is not told whether it exists.
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

    /// Nothing that the caller could mend.
    pub fn internal(error: &dyn std::fmt::Display) -> Self {
        tracing::error!(%error, "a request could not be answered");
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "something is wrong on our side; the log of the node says more",
        )
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = ProblemBody {
            kind: "about:blank",
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
            StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
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
        tracing::error!(%error, "a request could not be answered");
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "unavailable",
            "the store does not answer at the moment; try again",
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
            ClientError::Contended { .. } => {
                Self::new(StatusCode::CONFLICT, "conflict", error.to_string())
            }
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
            error => Self::internal(&error),
        }
    }
}

/// The problems that any request may meet, for the OpenAPI document.
pub struct Problems;

const STATUSES: &[(&str, &str)] = &[
    ("400", "The request is not JSON, or not HTTP as we know it"),
    ("401", "A key is needed, or this one is not known"),
    ("403", "The key's scope does not cover this"),
    (
        "404",
        "There is no such thing, or it belongs to another tenant",
    ),
    ("405", "There is no such verb here"),
    ("408", "The request came in too slowly"),
    ("409", "It contradicts what is there"),
    ("413", "The request is too large"),
    ("415", "The body must be application/json"),
    ("422", "A field is wrong; the answer names it"),
    ("500", "Something is wrong on our side"),
    ("503", "The store does not answer at the moment"),
];

impl utoipa::IntoResponses for Problems {
    fn responses() -> std::collections::BTreeMap<String, RefOr<Documented>> {
        let describe = |(status, why): &(&str, &str)| {
            let content = ContentBuilder::new()
                .schema(Some(utoipa::openapi::Ref::from_schema_name("Problem")))
                .build();
            let response = ResponseBuilder::new()
                .description(*why)
                .content(PROBLEM_JSON, content)
                .build();
            ((*status).to_owned(), response.into())
        };
        let _named = ProblemBody::schema();
        STATUSES.iter().map(describe).collect()
    }
}

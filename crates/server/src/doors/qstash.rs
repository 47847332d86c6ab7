//! The API of QStash under `/qstash/v2`, so that its clients work with another base address.
//!
//! * `options`: the `Upstash-…` headers of a request. `text`: durations and formulas within them.
//! * `publish`: messages, which are HTTP jobs. `view`: the same as QStash shows them.
//! * `filter`: query strings. `messages`, `dead_letters`, `events`: what became of messages.
//! * `schedules`, `queues`, `flow_control`: schedules and gates. `url_groups`, `keys`.
//! * `documents`: what has no other place in the store: URL groups, and the times of queues.

mod dead_letters;
mod documents;
mod events;
mod filter;
mod flow_control;
mod keys;
mod messages;
mod options;
mod publish;
mod queues;
mod schedules;
mod text;
mod url_groups;
mod view;

use std::sync::Arc;

use axum::{
    Router,
    body::{self, Body},
    extract::{FromRef, FromRequest, FromRequestParts, Request},
    http::{StatusCode, header, request::Parts},
    middleware,
    response::{IntoResponse as _, Response},
    routing::{delete, get, post},
};
use bytes::Bytes;
use serde_json::{Value, json};
use steadfast_core::Tenant;
use steadfast_engine::Client;

use crate::{
    app::App,
    extract::{Caller, Writes, body::collect},
    http::{Json, Problem, problem::PROBLEM_JSON},
    limits,
};

/// The response of each handler.
type Reply = Result<Json<Value>, Problem>;

pub fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/v2/publish/{*destination}", post(publish::publish))
        .route("/v2/enqueue/{queue}/{*destination}", post(publish::enqueue))
        .route("/v2/batch", post(publish::batch))
        .route("/v2/messages", delete(messages::cancel_many))
        .route(
            "/v2/messages/{id}",
            get(messages::read).delete(messages::cancel),
        )
        .route("/v2/events", get(events::list))
        .route("/v2/logs", get(events::list))
        .route(
            "/v2/dlq",
            get(dead_letters::list).delete(dead_letters::delete_many),
        )
        .route("/v2/dlq/retry", post(dead_letters::retry_many))
        .route("/v2/dlq/retry/{id}", post(dead_letters::retry))
        .route(
            "/v2/dlq/{id}",
            get(dead_letters::read).delete(dead_letters::delete),
        )
        .route("/v2/topics", get(url_groups::list))
        .route(
            "/v2/topics/{name}",
            get(url_groups::read).delete(url_groups::delete),
        )
        .route(
            "/v2/topics/{name}/endpoints",
            post(url_groups::add).delete(url_groups::remove),
        )
        .route("/v2/queues", get(queues::list).post(queues::upsert))
        .route(
            "/v2/queues/{name}",
            get(queues::read).delete(queues::delete),
        )
        .route("/v2/queues/{name}/pause", post(queues::pause))
        .route("/v2/queues/{name}/resume", post(queues::resume))
        .route("/v2/schedules", get(schedules::list))
        // An id is a path of one part; a destination is an address, or the name of a group.
        .route(
            "/v2/schedules/{*destination}",
            post(schedules::create)
                .get(schedules::read)
                .delete(schedules::delete)
                .patch(schedules::set_paused),
        )
        .route("/v2/keys", get(keys::read))
        .route("/v2/keys/rotate", post(keys::rotate))
        .route("/v2/flowControl/{key}", get(flow_control::read))
        .route("/v2/flowControl/{key}/pause", post(flow_control::pause))
        .route("/v2/flowControl/{key}/resume", post(flow_control::resume))
        .route("/v2/flowControl/{key}/pin", post(flow_control::pin))
        .route("/v2/flowControl/{key}/unpin", post(flow_control::unpin))
        .fallback(unsupported)
        .method_not_allowed_fallback(unsupported)
        .layer(middleware::map_response(in_shape))
}

async fn unsupported(request: Request) -> Problem {
    let path = crate::extract::body::shorten_id(request.uri().path());
    let detail = format!(
        "{} {path} is not supported: the documentation lists what is (docs/qstash.md)",
        request.method()
    );
    Problem::new(StatusCode::NOT_FOUND, "not_supported", detail)
}

/// Clients of QStash expect errors as `{"error": "…"}`.
async fn in_shape(response: Response) -> Response {
    let kind = response.headers().get(header::CONTENT_TYPE);
    if kind.is_none_or(|kind| kind != PROBLEM_JSON) {
        return response;
    }
    let (head, body) = response.into_parts();
    let bytes = body::to_bytes(body, limits::QSTASH_ERROR_BYTES_MAX).await;
    let problem: Value = bytes
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default();
    let status = match head.status {
        StatusCode::UNPROCESSABLE_ENTITY => StatusCode::BAD_REQUEST,
        status => status,
    };
    let mut response = Json(json!({"error": problem["detail"]})).into_response();
    *response.status_mut() = status;
    if let Some(wait) = head.headers.get(header::RETRY_AFTER) {
        let wait = wait.clone();
        response.headers_mut().insert(header::RETRY_AFTER, wait);
    }
    response
}

/// A caller and its tenant. Tokens of QStash may do everything, so a key must be allowed to write.
struct Door {
    app: Arc<App>,
    caller: Caller,
    tenant: Tenant,
}

impl<S: Send + Sync> FromRequestParts<S> for Door
where
    Arc<App>: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Writes { app, caller } = Writes::from_request_parts(parts, state).await?;
        let tenant = caller.tenant.clone().unwrap_or_default();
        Ok(Self {
            app,
            caller,
            tenant,
        })
    }
}

impl Door {
    /// A client whose commands leave audit records that name the caller.
    async fn client(&self) -> Result<Client, Problem> {
        self.caller.client(&self.app).await
    }
}

/// A body of any type.
struct AnyBody(Bytes);

impl<S: Send + Sync> FromRequest<S> for AnyBody
where
    Arc<App>: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request(request: Request<Body>, state: &S) -> Result<Self, Problem> {
        let app = Arc::<App>::from_ref(state);
        collect(request, app.settings.body_bytes_max)
            .await
            .map(Self)
    }
}

impl AnyBody {
    fn json<T: serde::de::DeserializeOwned>(&self) -> Result<T, Problem> {
        serde_json::from_slice(&self.0).map_err(|error| {
            let detail = format!("the body cannot be read: {error}");
            Problem::new(StatusCode::BAD_REQUEST, "bad_json", detail)
        })
    }
}

/// The response of commands that have nothing to tell.
fn done() -> Reply {
    Ok(Json(json!({})))
}

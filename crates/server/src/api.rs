//! The API, under `/api/v1`, and its description, which is made from the code. What is public
//! here the dashboard uses, too, so that its actions follow the same rules.

mod alerts;
mod asked;
mod claims;
pub mod cursor;
mod dlq;
pub mod endpoints;
mod events;
pub mod jobs;
pub mod keys;
mod nodes;
mod policies;
pub mod queues;
pub mod schedules;
mod stats;
pub mod wire;

use std::sync::Arc;

use axum::{Router, http::StatusCode, routing::get};
use utoipa::OpenApi;
use utoipa_axum::{router::OpenApiRouter, routes};
use utoipa_swagger_ui::SwaggerUi;

pub use stats::WINDOW;

use crate::{
    App, dashboard, health,
    json::Json,
    metrics,
    problem::{Problem, ProblemBody},
};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Steadfast",
        description = "A durable job scheduler and job queue whose speciality is retry.\n\nDurations are text (`30s`, `5m`) or milliseconds; times are RFC 3339 in UTC. Lists have cursors. Whatever is wrong is answered as application/problem+json with a stable `code` and, where there is one, the `field` at fault.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0")
    ),
    components(schemas(ProblemBody)),
    modifiers(&Security),
    security((), ("key" = []))
)]
struct Description;

struct Security;

impl utoipa::Modify for Security {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
        let bearer = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("An API key, as `steadfast keys create` makes it"))
            .build();
        let components = openapi.components.get_or_insert_default();
        components.add_security_scheme("key", SecurityScheme::Http(bearer));
    }
}

fn described() -> (Router<Arc<App>>, utoipa::openapi::OpenApi) {
    let api = OpenApiRouter::new()
        .routes(routes!(jobs::create, jobs::list))
        .routes(routes!(jobs::read, jobs::edit))
        .routes(routes!(jobs::history))
        .routes(routes!(jobs::cancel))
        .routes(routes!(jobs::retry))
        .routes(routes!(jobs::run_now))
        .routes(routes!(schedules::create, schedules::list))
        .routes(routes!(schedules::read, schedules::edit, schedules::delete))
        .routes(routes!(schedules::pause))
        .routes(routes!(schedules::resume))
        .routes(routes!(schedules::run_now))
        .routes(routes!(schedules::ticks))
        .routes(routes!(claims::claim))
        .routes(routes!(claims::settle))
        .routes(routes!(claims::heartbeat))
        .routes(routes!(claims::succeed))
        .routes(routes!(claims::fail))
        .routes(routes!(claims::snooze))
        .routes(routes!(dlq::list))
        .routes(routes!(dlq::requeue))
        .routes(routes!(dlq::discard))
        .routes(routes!(queues::list))
        .routes(routes!(queues::pause))
        .routes(routes!(queues::resume))
        .routes(routes!(alerts::list))
        .routes(routes!(nodes::list))
        .routes(routes!(stats::stats))
        .routes(routes!(stats::minutes))
        .routes(routes!(endpoints::create, endpoints::list))
        .routes(routes!(endpoints::delete))
        .routes(routes!(endpoints::rotate))
        .routes(routes!(keys::create, keys::list))
        .routes(routes!(keys::delete))
        .routes(routes!(policies::preview))
        .routes(routes!(events::events));
    OpenApiRouter::with_openapi(Description::openapi())
        .nest("/api/v1", api)
        .split_for_parts()
}

/// The description of the API as it is checked in.
pub fn openapi_json() -> String {
    let (_, description) = described();
    let mut text = description.to_pretty_json().unwrap_or_default();
    text.push('\n');
    text
}

pub fn router(app: Arc<App>) -> Router {
    let (api, description) = described();
    let page = SwaggerUi::new("/api/docs").url("/api/v1/openapi.json", description);
    api.merge(page)
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(metrics::metrics))
        .merge(dashboard::router())
        .fallback(dashboard::not_found)
        .method_not_allowed_fallback(|| async {
            let detail = "this address knows other verbs; see /api/docs";
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", detail)
        })
        .with_state(app)
}

/// An answer in JSON.
type Answer<T> = Result<Json<T>, Problem>;

//! All routes of a node: the API, its description, the book, the dashboard, health and metrics.

use std::sync::Arc;

use axum::{
    Router,
    extract::Request,
    http::StatusCode,
    middleware,
    response::{IntoResponse as _, Response},
    routing::get,
};

use crate::{api, app::App, dashboard, docs, health, mount, problem::Problem, scrape};

pub fn router(app: Arc<App>) -> Router {
    let (api, _) = api::routes();
    api.merge(docs::router())
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(scrape::metrics))
        .merge(dashboard::router(app.clone()))
        .fallback(not_found)
        .method_not_allowed_fallback(|| async {
            let detail = "method not allowed for this path; see /api/docs";
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", detail)
        })
        .with_state(app.clone())
        .layer(middleware::from_fn_with_state(app, mount::follow))
}

/// An address that does not exist: JSON for programs, a page for people.
async fn not_found(request: Request) -> Response {
    let problem = Problem::not_found("such page");
    if request.uri().path().starts_with("/api") {
        problem.into_response()
    } else {
        dashboard::error_page(problem)
    }
}

//! All routes of a node: the API, its description, the dashboard, health and metrics.

use std::sync::Arc;

use axum::{
    Router,
    extract::Request,
    http::StatusCode,
    middleware,
    response::{IntoResponse as _, Response},
    routing::get,
};
use utoipa_swagger_ui::SwaggerUi;

use crate::{api, app::App, audit_trail, dashboard, health, problem::Problem, scrape};

pub fn router(app: Arc<App>) -> Router {
    let (api, description) = api::routes();
    let record = middleware::from_fn_with_state(app.clone(), audit_trail::record);
    let api = api.route_layer(record);
    let page = SwaggerUi::new("/api/docs").url("/api/v1/openapi.json", description);
    let page = Router::from(page).layer(middleware::map_response(async |response| {
        dashboard::with_docs_headers(response)
    }));
    api.merge(page)
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(scrape::metrics))
        .merge(dashboard::router(app.clone()))
        .fallback(not_found)
        .method_not_allowed_fallback(|| async {
            let detail = "this address has other methods; see /api/docs";
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", detail)
        })
        .with_state(app)
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

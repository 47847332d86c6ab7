//! All routes of a node: the API, its description, the book, the dashboard, health and metrics.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    http::StatusCode,
    middleware::{self, Next},
    response::{IntoResponse as _, Response},
    routing::get,
};

use steadfast_store::share_store;

use crate::{
    api,
    app::App,
    dashboard, docs, doors,
    http::{
        Problem,
        base_path::{self, MountPath, PublicUrl},
    },
    mcp,
    monitoring::{health, scrape},
    theme::error_page::error_page,
};

pub fn router(app: Arc<App>) -> Router {
    let api = api::router();
    let agents = mcp::router(app.clone(), api.clone());
    let doors = match app.settings.qstash {
        true => Router::new().nest("/qstash", doors::qstash::routes()),
        false => Router::new(),
    };
    api.merge(docs::router())
        .merge(agents)
        .merge(doors)
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
        .layer(middleware::from_fn_with_state(app, put_base_path))
}

/// An address that does not exist: JSON for programs, a page for people.
async fn not_found(request: Request) -> Response {
    let problem = Problem::not_found("such page");
    if request.uri().path().starts_with("/api") {
        problem.into_response()
    } else {
        error_page(problem)
    }
}

/// Puts the path at which it is mounted in front of the addresses in each response.
async fn put_base_path(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let prefix = base_path::prefix_of(&app.settings.base_path, &request);
    if !prefix.is_empty() {
        request.extensions_mut().insert(MountPath(prefix.clone()));
    }
    if let Some(url) = &app.settings.public_url {
        request.extensions_mut().insert(PublicUrl(url.clone()));
    }
    let response = share_store(next.run(request)).await;
    base_path::move_response(response, &prefix).await
}

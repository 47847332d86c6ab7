//! The dashboard, at `/`: what an operator wants at three in the morning.
//!
//! Pages are made here, on the server, from what the engine says; nothing needs a script to be
//! read. A page that is open is told that something changed (`live`) and fetches itself again,
//! so that there is one way to make a page and no second one in the browser.
//!
//! # Layout
//!
//! * `viewer`: who looks, and the guard of every action; `frame`: what all pages share.
//! * one file per page; `bulk` is what is done to many jobs at once.
//! * `chart`: pictures; `shown`: times, durations and counts as people read them.
//! * `explain`: why the next time was chosen; `fingerprint`: which failures are alike.

mod access;
mod alerts;
mod assets;
mod bulk;
mod chart;
mod dead;
mod explain;
mod fields;
mod fingerprint;
mod frame;
mod job;
mod jobs;
mod lanes;
mod live;
mod nodes;
mod overview;
mod queues;
mod schedules;
mod shown;
mod sign_in;
mod simulator;
mod viewer;

use std::sync::Arc;

use axum::{
    Router, middleware,
    response::{IntoResponse as _, Response},
    routing::{get, post},
};

pub use bulk::Bulk;
pub use lanes::Lanes;
pub use sign_in::SignInLimiter;

use crate::{App, problem::Problem};

pub fn router() -> Router<Arc<App>> {
    Router::new()
        .route("/", get(overview::page))
        .route("/sign-in", get(sign_in::page).post(sign_in::sign_in))
        .route("/sign-out", post(sign_in::sign_out))
        .route("/jobs", get(jobs::page))
        .route("/jobs/act", post(bulk::act))
        .route("/jobs/{id}", get(job::page))
        .route("/jobs/{id}/act", post(job::act))
        .route("/schedules", get(schedules::page))
        .route("/schedules/{id}", get(schedules::one))
        .route("/schedules/{id}/act", post(schedules::act))
        .route("/dead-letters", get(dead::page))
        .route("/queues", get(queues::page))
        .route("/queues/act", post(queues::act))
        .route("/nodes", get(nodes::page))
        .route("/alerts", get(alerts::page))
        .route("/endpoints", get(access::endpoints))
        .route("/endpoints/act", post(access::change_endpoint))
        .route("/keys", get(access::keys))
        .route("/keys/act", post(access::change_key))
        .route("/simulator", get(simulator::page))
        .route("/ui/events", get(live::events))
        .route("/ui/{*file}", get(assets::asset))
        .layer(middleware::map_response(frame::secured))
}

/// A problem as a page.
pub async fn error_page(problem: Problem) -> Response {
    frame::secured(frame::PageError::from(problem).into_response()).await
}

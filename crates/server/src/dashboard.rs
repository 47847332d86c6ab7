//! The dashboard, at `/`: what an operator needs at three in the morning.
//!
//! Pages are rendered on the server and can be read without scripts. An open page gets an event
//! when something changed (`live`) and fetches itself again, so that pages are rendered in one
//! way and not a second time in the browser.
//!
//! # Layout
//!
//! * `viewer`: the caller of a page, and the check of every action; `frame`: what all pages share;
//!   `sections`: the way from one to another.
//! * `page_error`: why a page could not be made; `error_page`: what the browser then gets.
//! * One file per page; `bulk` is one action on many jobs; `credential` shows a new secret or token;
//!   `question` asks before something is deleted; `payload_view` shows payloads without
//!   secrets, `http_view` requests and responses in their parts.
//! * `job_fields`: the fields of a job in the forms of jobs and schedules.
//! * `summary`: what a job does, in a few words; `search`: the line of a search box; `list_head`: what
//!   stands over lists of jobs.
//! * `chart`: SVG; `format`: times, counts and texts for people. Why an attempt was retried, core
//!   explains.

mod alerts;
mod assets;
mod attempts;
mod audit;
mod batches;
mod bulk;
mod chart;
mod credential;
mod dead_letters;
mod destinations;
mod endpoints;
mod error_page;
mod failures;
mod fields;
mod format;
mod frame;
mod gates;
mod health_summary;
mod http_view;
mod job;
mod job_fields;
mod job_form;
mod jobs;
mod json_text;
mod keys;
pub(crate) mod lane_stats_cache;
mod list_head;
mod live;
mod nodes;
mod operations;
mod overview;
pub(crate) mod overview_facts;
mod page_caches;
mod page_error;
mod payload_view;
mod question;
mod queues;
mod schedule_form;
mod schedules;
mod search;
pub(crate) mod sections;
mod sign_in;
pub(crate) mod sign_in_limiter;
mod simulator;
mod start;
mod summary;
pub(crate) mod tenant_cache;
mod viewer;

pub use assets::{EmbeddedFile, font, media_type, style_sheet};
pub use frame::with_security_headers;
pub use viewer::own_url;

use std::sync::Arc;

use axum::{
    Router, middleware,
    response::{IntoResponse as _, Response},
    routing::{get, post},
};

use crate::{App, dashboard::page_error::PageError, problem::Problem};

pub fn router(app: Arc<App>) -> Router<Arc<App>> {
    let clear = middleware::from_fn_with_state(app, page_caches::clear);
    Router::new()
        .route("/", get(overview::page))
        .route("/sign-in", get(sign_in::page).post(sign_in::sign_in))
        .route("/sign-out", post(sign_in::sign_out))
        .route("/jobs", get(jobs::page))
        .route("/jobs/act", post(bulk::act))
        .route("/jobs/new", get(job_form::new_page).post(job_form::create))
        .route("/jobs/{id}", get(job::page))
        .route("/jobs/{id}/act", post(job::act))
        .route("/schedules", get(schedules::page))
        .route(
            "/schedules/new",
            get(schedule_form::new_page).post(schedule_form::create),
        )
        .route(
            "/schedules/{id}/edit",
            get(schedule_form::edit_page).post(schedule_form::edit),
        )
        .route("/schedules/{id}", get(schedules::detail_page))
        .route("/schedules/{id}/act", post(schedules::act))
        .route("/dead-letters", get(dead_letters::page))
        .route("/failures", get(failures::page))
        .route("/failures/act", post(failures::act))
        .route("/batches", get(batches::page))
        .route("/batches/{id}", get(batches::detail_page))
        .route("/batches/{id}/act", post(batches::act))
        .route("/operations", get(operations::page))
        .route("/operations/{id}", get(operations::detail_page))
        .route("/operations/{id}/act", post(operations::act))
        .route("/audit", get(audit::page))
        .route("/queues", get(queues::page))
        .route("/queues/act", post(queues::act))
        .route("/queues/why", get(start::queue_page))
        .route("/gates", get(gates::page))
        .route("/gates/act", post(gates::act))
        .route("/destinations", get(destinations::page))
        .route("/destinations/act", post(destinations::act))
        .route("/nodes", get(nodes::page))
        .route("/alerts", get(alerts::page))
        .route("/endpoints", get(endpoints::page))
        .route("/endpoints/act", post(endpoints::act))
        .route("/endpoints/{id}", get(endpoints::detail_page))
        .route("/keys", get(keys::page))
        .route("/keys/act", post(keys::act))
        .route("/simulator", get(simulator::page))
        .route("/ui/events", get(live::events))
        .route("/ui/{*file}", get(assets::asset))
        .route_layer(clear)
        .layer(middleware::map_response(async |response| {
            frame::with_security_headers(response)
        }))
}

/// A problem as a page.
pub fn error_page(problem: Problem) -> Response {
    frame::with_security_headers(PageError::from(problem).into_response())
}

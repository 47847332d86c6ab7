//! The dashboard, at `/`: what an operator needs at three in the morning.
//!
//! Pages are rendered on the server and can be read without scripts. An open page gets an event
//! when something changed (`live`) and fetches itself again, so that pages are rendered in one
//! way and not a second time in the browser.
//!
//! # Layout
//!
//! * `viewer`: the caller of a page, and the check that every action passes; `actions`: what follows
//!   an action; `list`, `detail`: the shapes of a list and of the page of one thing; `page`:
//!   all of these by one name.
//! * `pages`: one file per page; `forms`: what creates and changes; `parts`: what pages share;
//!   `charts`: SVG.
//! * `refused_filters`: the page without a filter that cannot be read.
//! * `state`, `page_caches`: counts that are kept for a moment, and forgotten after an action.
//!
//! Actions call the functions of the API, so that the same rules hold. Why an attempt was retried or
//! a job waits, core explains.

mod actions;
mod charts;
mod detail;
mod fields;
mod forms;
mod list;
mod live;
mod page;
mod page_caches;
mod pages;
mod parts;
mod refused_filters;
pub mod state;
mod viewer;

use std::sync::Arc;

use axum::{
    Router, middleware,
    routing::{get, post},
};

use self::{
    forms::{bulk, job_form, schedule_form},
    pages::{
        alerts, audit, batches, dead_letters, destinations, endpoints, failures, gates, job, jobs,
        keys, nodes, operations, overview, provider_sign_in, queue_start, queues, schedules,
        sign_in, simulator,
    },
};
use crate::{
    app::App,
    theme::{assets, headers::with_security_headers},
};

pub fn router(app: Arc<App>) -> Router<Arc<App>> {
    let clear = middleware::from_fn_with_state(app, page_caches::clear);
    Router::new()
        .route("/", get(overview::page))
        .route("/sign-in", get(sign_in::page).post(sign_in::sign_in))
        .route("/sign-in/start", get(provider_sign_in::start))
        .route("/sign-in/callback", get(provider_sign_in::callback))
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
        .route("/queues/why", get(queue_start::page))
        .route("/gates", get(gates::page))
        .route("/gates/act", post(gates::act))
        .route("/destinations", get(destinations::page))
        .route("/destinations/act", post(destinations::act))
        .route("/nodes", get(nodes::page))
        .route("/alerts", get(alerts::page))
        .route("/alerts/act", post(alerts::act))
        .route("/endpoints", get(endpoints::page))
        .route("/endpoints/act", post(endpoints::act))
        .route("/endpoints/{id}", get(endpoints::detail_page))
        .route("/keys", get(keys::page))
        .route("/keys/act", post(keys::act))
        .route("/simulator", get(simulator::page))
        .route("/simulator/outage", get(simulator::certificate::page))
        .route("/ui/events", get(live::events))
        .route("/ui/{*file}", get(assets::asset))
        .route_layer(clear)
        .route_layer(middleware::from_fn(refused_filters::leave_out))
        .layer(middleware::map_response(async |response| {
            with_security_headers(response)
        }))
}

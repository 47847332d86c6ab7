//! Functions for the fuzz targets, besides the public API.

use std::sync::Arc;

use axum::Router;
use steadfast_core::{JobId, ScheduleId};

use crate::{api::cursor, app::App, router};

/// All routes, without a socket.
pub fn router(app: App) -> Router {
    router::router(Arc::new(app))
}

/// A text that some list takes as its cursor, as each of those lists would write it.
pub fn cursors(text: &str) -> impl Iterator<Item = String> {
    let job = cursor::page::<JobId>(None, 1, Some(text)).ok();
    let schedule = cursor::page::<ScheduleId>(None, 1, Some(text)).ok();
    [
        cursor::next(job.and_then(|page| page.after)),
        cursor::next(schedule.and_then(|page| page.after)),
        cursor::attempt(text).ok().map(cursor::of_attempt),
        cursor::tick(text).ok().map(cursor::of_tick),
    ]
    .into_iter()
    .flatten()
}

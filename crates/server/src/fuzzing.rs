//! A door for the fuzz targets, and for nobody else.

use std::sync::Arc;

use axum::Router;
use steadfast_core::{JobId, ScheduleId};

use crate::{
    App,
    api::{self, cursor},
};

/// All routes, without a socket.
pub fn router(app: App) -> Router {
    api::router(Arc::new(app))
}

/// What each kind of cursor reads of a text, written again.
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

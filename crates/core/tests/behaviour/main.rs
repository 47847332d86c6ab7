//! What core decides, through its public names. One program, because linking takes longer than
//! most of its tests.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod alerts;
mod confirm_settings;
mod cron_days;
mod cron_dst;
mod cron_oracle;
mod cron_parse;
mod cron_step;
mod cron_timetable;
mod delays;
mod explain;
mod forecast;
mod lifecycle;
mod questions;
mod webhooks;
mod words;

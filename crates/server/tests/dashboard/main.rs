//! The dashboard, requested over HTTP and used in a real browser.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod accessibility;
mod browser;
mod in_browser;
mod job_forms;
mod job_page;
mod large_store;
mod layout;
mod lists;
mod mounted;
mod node;
mod operations;
mod overview;
mod pages;
mod screens;
mod screenshots;
mod seed;
mod seed_pages;
mod sign_in;
mod worker_jobs;

//! The dashboard, requested over HTTP and used in a real browser.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod browser;
mod in_browser;
mod job_page;
mod large_store;
mod node;
mod operations;
mod pages;
mod screenshots;
mod seed;
mod sign_in;

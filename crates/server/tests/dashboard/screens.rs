//! What pages say is true: of due jobs, of attempts, of operations and alerts, and while a page is
//! open.

pub mod due_jobs;
mod job_history;
mod live_pages;
mod readers;
mod sentences;

//! What people see: tables, times, and the story of a job.

mod attempt;
mod execution;
mod job;
mod policy;
mod table;
mod when;

pub use attempt::{AttemptView, FailureView};
pub use execution::execution_log;
pub use job::{JobView, job_details, job_table};
pub use policy::{policy_sentence, timetable};
pub use table::{boxed, lines_of, plain, status_cell};
pub use when::{age, ago, bar, brief, moment, now};

//! What people see: tables, times, and the execution log of a job.

mod attempt;
mod execution;
mod job;
mod policy;
mod table;
mod text;
mod time;

pub use attempt::{AttemptView, FailureView};
pub use execution::execution_log;
pub use job::{JobView, job_details, job_table};
pub use policy::{policy_sentence, policy_table};
pub use table::{boxed_table, plain_table, status_cell, table_lines, terminal_width};
pub use text::{quantity, shorten, thousands};
pub use time::{age, bar, brief, moment, now, relative};

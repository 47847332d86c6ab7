//! Output for people: tables, times, and the execution log of a job.

mod attempt;
mod certificate;
mod execution;
mod job;
mod policy;
mod replay;
mod start;
mod table;
mod text;
mod time;

pub use attempt::{attempt_name, attempt_result, attempt_summary, describe_failure};
pub use certificate::{certificate_lines, certificate_table};
pub use execution::{execution_log, newest_trace, requeue_note};
pub use job::{is_cancel_pending, job_facts, job_lines, job_summary, job_title, template_facts};
pub use policy::policy_table;
pub use replay::replay_table;
pub use start::{queue_lines, start_lines};
pub use steadfast_core::explain::brief;
pub use table::{
    Table, boxed_table, plain_table, stacked_lines, status_cell, table_lines, terminal_width,
};
pub use text::{quantity, shorten, shorten_middle, thousands};
pub use time::{age, bar, clock_time, local_time, moment, moment_in, now, relative};

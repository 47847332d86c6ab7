//! Forms: their fields, and what they create or change.

pub mod bulk;
pub mod job_fields;
pub mod job_form;
pub mod schedule_form;

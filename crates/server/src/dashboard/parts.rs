//! Parts that pages share.

pub mod attempts;
pub mod audit_row;
pub mod confirm;
pub mod credential;
pub mod destination_row;
pub mod failure_row;
pub mod format;
pub mod health_summary;
pub mod http_view;
pub mod job_list_header;
pub mod job_row;
pub mod json_text;
pub mod operation_row;
pub mod payload_view;
pub mod search;
pub mod start_panel;
pub mod summary;

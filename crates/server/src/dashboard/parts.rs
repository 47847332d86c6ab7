//! Parts that pages share.

pub mod alert_row;
pub mod attempts;
pub mod audit_row;
pub mod confirm;
pub mod credential;
pub mod cure;
pub mod destination_row;
pub mod due_view;
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

pub use attempts::AttemptRow;
pub use audit_row::AuditRow;
pub use confirm::Confirmation;
pub use credential::NewCredential;
pub use destination_row::{DestinationRow, Outage, incident_markers, outcome_chart};
pub use due_view::DueView;
pub use failure_row::FailureRow;
pub use format::{Excerpt, format_percent, shorten, thousands};
pub use health_summary::HealthSummary;
pub use job_list_header::{JobListHeader, count_jobs, count_of_label};
pub use job_row::{JobRow, list_jobs};
pub use operation_row::{OperationRow, open_operations, operation_name};
pub use start_panel::StartPanel;
pub use summary::{Summary, read_payloads};

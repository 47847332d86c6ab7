//! A command in a list.

use steadfast_core::AuditRecord;

use crate::{
    dashboard::parts::{format::shorten, search::path_of_id},
    limits,
    theme::{Layout, PageTime},
};

pub struct AuditRow {
    pub at: PageTime,
    pub by: String,
    pub action: String,
    pub subject: String,
    /// The page of what it was done to, if that has one.
    pub address: Option<String>,
    pub detail: String,
    pub tenant: String,
}

impl AuditRow {
    pub fn of(record: AuditRecord, layout: &Layout) -> Self {
        let tenant = record.tenant.map(|tenant| tenant.to_string());
        Self {
            at: layout.time(record.at),
            by: record.actor.name,
            action: record.action,
            address: path_of_id(&record.subject),
            subject: shorten(&record.subject, limits::CELL_CHARS_MAX),
            detail: record.detail.unwrap_or_default(),
            tenant: tenant.unwrap_or_else(|| "all".to_owned()),
        }
    }
}

//! Who did what.

use askama::Template;
use steadfast_core::{AuditId, AuditRecord};
use steadfast_store::AuditFilter;

use super::{
    fields::Fields,
    format::{PageTime, shorten},
    frame::{Frame, render},
    page_error::PageResult,
    search::path_of_id,
    viewer::Viewer,
};
use crate::{api::query, limits};

#[derive(Template)]
#[template(path = "audit.html")]
struct AuditPage {
    frame: Frame,
    fields: Fields,
    rows: Vec<AuditRow>,
    next: Option<String>,
    first: Option<String>,
    shows_tenants: bool,
    is_filtered: bool,
}

/// A command on a page.
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
    pub fn of(record: AuditRecord, frame: &Frame) -> Self {
        let tenant = record.tenant.map(|tenant| tenant.to_string());
        Self {
            at: frame.time(record.at),
            by: record.actor.name,
            action: record.action,
            address: path_of_id(&record.subject),
            subject: shorten(&record.subject, limits::CELL_CHARS_MAX),
            detail: record.detail.unwrap_or_default(),
            tenant: tenant.unwrap_or_else(|| "all".to_owned()),
        }
    }
}

pub async fn page(viewer: Viewer) -> PageResult {
    let fields = &viewer.fields;
    let text = |name: &str| fields.get(name).map(str::to_owned);
    let filter = AuditFilter {
        tenant: query::tenant(fields.get("tenant"), &viewer.caller)?,
        subject: text("subject"),
        action: text("action"),
        actor: text("by"),
        from: None,
        before: None,
    };
    let page = fields.page::<AuditId>()?;
    let found = viewer.app.client.audit(filter, page).await?;
    let frame = Frame::of(&viewer, "/audit", "Audit");
    let rows = found.items.into_iter();
    render(&AuditPage {
        rows: rows.map(|record| AuditRow::of(record, &frame)).collect(),
        next: found
            .next
            .map(|next| fields.here("/audit", &[("after", &next.to_string())])),
        first: page.after.map(|_| fields.here("/audit", &[("after", "")])),
        shows_tenants: viewer.caller.tenant.is_none(),
        is_filtered: ["action", "subject", "by", "tenant"]
            .iter()
            .any(|name| fields.get(name).is_some()),
        fields: viewer.fields,
        frame,
    })
}

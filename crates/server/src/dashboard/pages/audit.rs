//! Who did what.

use askama::Template;
use steadfast_core::AuditId;
use steadfast_store::AuditFilter;

use crate::{
    api::query,
    dashboard::{forms::fields::Fields, parts::audit_row::AuditRow, viewer::Viewer},
    theme::{
        layout::{Layout, render},
        page_error::PageResult,
    },
};

#[derive(Template)]
#[template(path = "lists/audit.html")]
struct AuditPage {
    layout: Layout,
    fields: Fields,
    rows: Vec<AuditRow>,
    next: Option<String>,
    first: Option<String>,
    shows_tenants: bool,
    is_filtered: bool,
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
    let layout = viewer.layout("/audit", "Audit");
    let rows = found.items.into_iter();
    render(&AuditPage {
        rows: rows.map(|record| AuditRow::of(record, &layout)).collect(),
        next: found
            .next
            .map(|next| fields.here("/audit", &[("after", &next.to_string())])),
        first: page.after.map(|_| fields.here("/audit", &[("after", "")])),
        shows_tenants: viewer.caller.tenant.is_none(),
        is_filtered: ["action", "subject", "by", "tenant"]
            .iter()
            .any(|name| fields.get(name).is_some()),
        fields: viewer.fields,
        layout,
    })
}

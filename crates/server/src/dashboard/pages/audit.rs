//! The audit log.

use askama::Template;
use steadfast_core::AuditId;
use steadfast_store::AuditFilter;

use crate::dashboard::{
    page::{Fields, Layout, List, PageResult, Viewer, render},
    parts::AuditRow,
};

#[derive(Template)]
#[template(path = "lists/audit.html")]
struct AuditPage {
    layout: Layout,
    fields: Fields,
    list: List<AuditRow>,
    is_filtered: bool,
}

pub async fn page(viewer: Viewer) -> PageResult {
    let fields = &viewer.fields;
    let text = |name: &str| fields.get(name).map(str::to_owned);
    let filter = AuditFilter {
        tenant: viewer.tenant()?,
        subject: text("subject"),
        action: text("action"),
        actor: text("by"),
        from: None,
        before: None,
    };
    let page = fields.page::<AuditId>();
    let found = viewer.app.client.audit(filter, page).await?;
    let layout = viewer.layout("/audit", "Audit");
    let row = |record| AuditRow::of(record, &layout);
    render(&AuditPage {
        list: List::page(("/audit", fields), &page, found, row),
        is_filtered: ["action", "subject", "by", "tenant"]
            .iter()
            .any(|name| fields.get(name).is_some()),
        fields: viewer.fields,
        layout,
    })
}

//! Who did what.

use steadfast_api::{AuditList, AuditQuery};
use steadfast_store::AuditFilter;

use crate::{
    api::{cursor, query},
    extract::{Params, Reads},
    http::{Answer, Json, Problems},
    limits,
};

/// List audit records, newest first: one for every command that changed something.
#[utoipa::path(
    get, path = "/audit", tag = "Operations", operation_id = "listAudit", params(AuditQuery),
    responses((status = 200, description = "A page of audit records", body = AuditList), Problems)
)]
pub async fn list(
    Reads { app, caller }: Reads,
    Params(query): Params<AuditQuery>,
) -> Answer<AuditList> {
    let filter = AuditFilter {
        tenant: query::tenant(query.tenant.as_deref(), &caller)?,
        subject: query.subject,
        action: query.action,
        actor: query.by,
        from: query.from,
        before: query.before,
    };
    let page = cursor::page(query.limit, limits::PAGE_DEFAULT, query.after.as_deref())?;
    let page = app.client.audit(filter, page).await?;
    Ok(Json(AuditList {
        records: page.items.into_iter().map(Into::into).collect(),
        next_cursor: cursor::next(page.next),
    }))
}

//! Certificates that are kept, and computed again every hour.

use axum::http::StatusCode;
use steadfast_api::{
    CertifyPolicyRequest, KeptCertificateBody, KeptCertificateList, TenantPageQuery, TenantQuery,
    schema::NameSchema,
};
use steadfast_core::CertificateName;

use super::policies::certify_permits;
use crate::{
    api::{cursor, query},
    extract::{Body, Id, Params, Reads, Writes},
    http::{Answer, Json, Problem, Problems},
    limits,
};

/// Compute a certificate and keep it.
///
/// A node computes it again every hour, with the traffic and latency of the last day, and the policy,
/// gate and hold that apply then. Alert `fragile` fires while it says that the system does not
/// recover. `destination` and `capacity` are required.
#[utoipa::path(
    put, path = "/certificates/{name}", tag = "Policies", operation_id = "keepCertificate",
    params(("name" = NameSchema, Path, description = "The certificate")),
    request_body(content = CertifyPolicyRequest, example = json!({
        "destination": "https://api.example.com", "capacity": 100, "traffic": 60, "latency": "200ms",
        "retry": "http"
    })),
    responses((status = 200, description = "The kept certificate", body = KeptCertificateBody), Problems)
)]
pub async fn keep(
    Writes { app, caller }: Writes,
    Id(name): Id<String>,
    Body(body): Body<CertifyPolicyRequest>,
) -> Answer<KeptCertificateBody> {
    let tenant = query::tenant(body.tenant.as_deref(), &caller)?.unwrap_or_default();
    let name = CertificateName::new(&name)?;
    // What cannot be kept needs no permit.
    body.check_kept()?;
    let permits = certify_permits(&app, &caller, &body)?;
    let client = caller.client(&app).await?;
    let kept = client.keep_certificate(&tenant, &name, body, permits);
    Ok(Json(kept.await?))
}

/// List kept certificates by tenant and name.
#[utoipa::path(
    get, path = "/certificates", tag = "Policies", operation_id = "listCertificates",
    params(TenantPageQuery),
    responses((status = 200, description = "Kept certificates", body = KeptCertificateList), Problems)
)]
pub async fn list(
    Reads { app, caller }: Reads,
    Params(page): Params<TenantPageQuery>,
) -> Answer<KeptCertificateList> {
    let tenant = query::tenant(page.tenant.as_deref(), &caller)?;
    let page = cursor::page(page.limit, limits::PAGE_MAX, page.after.as_deref())?;
    let page = app.client.certificates(tenant.as_ref(), page).await?;
    Ok(Json(KeptCertificateList {
        certificates: page.items,
        next_cursor: page.next,
    }))
}

/// Delete a kept certificate.
#[utoipa::path(
    delete, path = "/certificates/{name}", tag = "Policies", operation_id = "deleteCertificate",
    params(("name" = NameSchema, Path, description = "The certificate"), TenantQuery),
    responses((status = 204, description = "Deleted"), Problems)
)]
pub async fn delete(
    Writes { app, caller }: Writes,
    Id(name): Id<String>,
    Params(query): Params<TenantQuery>,
) -> Result<StatusCode, Problem> {
    let tenant = query::query_tenant(&query, &caller)?.unwrap_or_default();
    let name = CertificateName::new(&name)?;
    let client = caller.client(&app).await?;
    match client.delete_certificate(&tenant, &name).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Problem::not_found(format!("certificate {name}"))),
    }
}

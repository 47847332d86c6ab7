//! Groups of failures: listed, read, marked as known or fixed.

use steadfast_api::{FailureGroupBody, FailureList, FailureQuery, MarkFailureRequest, TenantQuery};
use steadfast_core::{
    Destination, FailureClass, FailureFingerprint, FailureGroup, Kind, Queue, Tenant,
};
use steadfast_store::FailureFilter;

use crate::{
    api::{cursor, query},
    app::App,
    extract::{Body, Caller, Id, Params, Reads, Writes},
    http::{Answer, Json, Problem, Problems},
    limits,
};

/// List failure groups, most frequent first.
#[utoipa::path(
    get, path = "/failures", tag = "Failures", operation_id = "listFailures", params(FailureQuery),
    responses((status = 200, description = "A page of failure groups", body = FailureList), Problems)
)]
pub async fn list(
    Reads { app, caller }: Reads,
    Params(query): Params<FailureQuery>,
) -> Answer<FailureList> {
    let filter = filter(&query, &caller)?;
    let page = cursor::page(query.limit, limits::PAGE_DEFAULT, query.after.as_deref())?;
    let page = caller.failures(&app, filter, page).await?;
    let now = app.client.now();
    let body = |group| FailureGroupBody::new(group, now);
    Ok(Json(FailureList {
        failures: page.items.into_iter().map(body).collect(),
        next_cursor: cursor::next(page.next),
    }))
}

/// Read a failure group.
#[utoipa::path(
    get, path = "/failures/{fingerprint}", tag = "Failures", operation_id = "getFailure",
    params(("fingerprint" = String, Path, description = "The fingerprint of the group"), TenantQuery),
    responses((status = 200, description = "The group", body = FailureGroupBody), Problems)
)]
pub async fn read(
    Reads { app, caller }: Reads,
    Id(fingerprint): Id<String>,
    Params(query): Params<TenantQuery>,
) -> Answer<FailureGroupBody> {
    let tenant = query::query_tenant(&query, &caller)?;
    let group = find(&app, &fingerprint, tenant.as_ref()).await?;
    let group = caller.redact_group(group);
    Ok(Json(FailureGroupBody::new(group, app.client.now())))
}

/// Mark a failure group as known or fixed.
#[utoipa::path(
    patch, path = "/failures/{fingerprint}", tag = "Failures", operation_id = "markFailure",
    params(("fingerprint" = String, Path, description = "The fingerprint of the group"), TenantQuery),
    request_body(content = MarkFailureRequest, example = json!({"state": "fixed"})),
    responses((status = 200, description = "The group", body = FailureGroupBody), Problems)
)]
pub async fn mark(
    Writes { app, caller }: Writes,
    Id(fingerprint): Id<String>,
    Params(query): Params<TenantQuery>,
    Body(request): Body<MarkFailureRequest>,
) -> Answer<FailureGroupBody> {
    let tenant = query::query_tenant(&query, &caller)?;
    let group = find(&app, &fingerprint, tenant.as_ref()).await?;
    let by = caller.name(&app).await?;
    let client = caller.client(&app).await?;
    let marked = client.mark_failure(group.key, request.state, by.as_deref());
    let group = marked.await?.ok_or_else(|| not_found(&fingerprint))?;
    Ok(Json(FailureGroupBody::new(group, app.client.now())))
}

fn not_found(fingerprint: &str) -> Problem {
    let shown: String = fingerprint.chars().take(limits::ID_CHARS_MAX).collect();
    Problem::not_found(shown)
}

/// The one group of a fingerprint that the caller can mean.
async fn find(
    app: &App,
    fingerprint: &str,
    tenant: Option<&Tenant>,
) -> Result<FailureGroup, Problem> {
    let parsed: FailureFingerprint = fingerprint.parse().map_err(|_| not_found(fingerprint))?;
    let most = limits::TENANTS_NAMED_MAX;
    let mut found = app.client.failures_of(parsed, tenant, most + 1).await?;
    if found.len() > 1 {
        let names = found
            .iter()
            .take(most)
            .map(|group| group.key.tenant.as_str());
        let names: Vec<&str> = names.collect();
        let more = if found.len() > most {
            " and others"
        } else {
            ""
        };
        let detail = format!(
            "tenant is required: jobs of the tenants {}{more} share this fingerprint",
            names.join(", ")
        );
        return Err(Problem::invalid("tenant", detail));
    }
    found.pop().ok_or_else(|| not_found(fingerprint))
}

/// The groups that match a query and are visible to the caller.
pub fn filter(query: &FailureQuery, caller: &Caller) -> Result<FailureFilter, Problem> {
    let destination = query.destination.as_deref().map(Destination::new);
    Ok(FailureFilter {
        tenant: query::tenant(query.tenant.as_deref(), caller)?,
        state: query.state,
        class: query.class.as_deref().map(FailureClass::named),
        status: query.status,
        kind: query.kind.as_deref().map(Kind::new).transpose()?,
        queue: query.queue.as_deref().map(Queue::new).transpose()?,
        destination: destination.transpose()?,
        text: caller.search_text(query.text.as_ref())?,
        since: query.since,
        ..FailureFilter::default()
    })
}

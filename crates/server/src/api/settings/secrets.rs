//! Named secrets, whose values no response contains.

use axum::http::StatusCode;
use steadfast_api::{
    SecretBody, SecretList, SetSecretRequest, TenantPageQuery, TenantQuery, schema::NameSchema,
};
use steadfast_core::{SecretName, SecretValue};

use crate::{
    api::{cursor, query},
    extract::{Body, Id, Params, Writes},
    http::{Answer, Json, Problem, Problems},
    limits,
};

/// Set a secret. Its value is never shown again.
///
/// Headers of HTTP jobs and endpoints of the same tenant can use it: `{"secret": "stripe"}` in place
/// of a text. A new value is used by all requests sent afterwards.
#[utoipa::path(
    put, path = "/secrets/{name}", tag = "Secrets", operation_id = "setSecret",
    params(("name" = NameSchema, Path, description = "The secret"), TenantQuery),
    request_body(content = SetSecretRequest, example = json!({"value": "sk_test_4eC39HqLyjWDarjtT1zdp7dc"})),
    responses((status = 200, description = "The secret, without its value", body = SecretBody), Problems)
)]
pub async fn set(
    Writes { app, caller }: Writes,
    Id(name): Id<String>,
    Params(query): Params<TenantQuery>,
    Body(body): Body<SetSecretRequest>,
) -> Answer<SecretBody> {
    let tenant = query::query_tenant(&query, &caller)?.unwrap_or_default();
    let name = SecretName::new(&name)?;
    let value = SecretValue::new(body.value)?;
    let client = caller.client(&app).await?;
    let secret = client.set_secret(&tenant, &name, value).await?;
    Ok(Json(SecretBody::from(secret)))
}

/// List secrets by tenant and name, without their values.
#[utoipa::path(
    get, path = "/secrets", tag = "Secrets", operation_id = "listSecrets",
    params(TenantPageQuery),
    responses((status = 200, description = "All secrets", body = SecretList), Problems)
)]
pub async fn list(
    Writes { app, caller }: Writes,
    Params(page): Params<TenantPageQuery>,
) -> Answer<SecretList> {
    let tenant = query::tenant(page.tenant.as_deref(), &caller)?;
    let page = cursor::page(page.limit, limits::PAGE_MAX, page.after.as_deref())?;
    let page = app.client.secrets(tenant.as_ref(), page).await?;
    Ok(Json(SecretList {
        secrets: page.items.into_iter().map(SecretBody::from).collect(),
        next_cursor: page.next,
    }))
}

/// Delete a secret. Requests that name it fail with class `secret` and are retried as their policy
/// says.
#[utoipa::path(
    delete, path = "/secrets/{name}", tag = "Secrets", operation_id = "deleteSecret",
    params(("name" = NameSchema, Path, description = "The secret"), TenantQuery),
    responses((status = 204, description = "Deleted"), Problems)
)]
pub async fn delete(
    Writes { app, caller }: Writes,
    Id(name): Id<String>,
    Params(query): Params<TenantQuery>,
) -> Result<StatusCode, Problem> {
    let tenant = query::query_tenant(&query, &caller)?.unwrap_or_default();
    let name = SecretName::new(&name)?;
    let client = caller.client(&app).await?;
    match client.delete_secret(&tenant, &name).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Problem::not_found(format!("secret {name}"))),
    }
}

//! EndpointList: where a tenant's webhooks and alerts go.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode};
use steadfast_api::{
    CreateEndpointRequest, EndpointBody, EndpointList, EndpointWithSecret, RotateSecretRequest,
    TenantPageQuery,
};
use steadfast_core::{
    BodyFormat, Endpoint, EndpointId, EndpointSecret, EventType, Invalid, WebhookSecret, duration,
};
use steadfast_engine::http::{HttpRequest, SigningKey};

use super::{
    Answer,
    create::{check_events, check_secret},
    cursor, query,
};
use crate::{
    access::{Reads, Writes},
    app::App,
    body::{Body, Id, MaybeBody, Params},
    json::Json,
    limits,
    problem::{Problem, Problems},
};

/// Create an endpoint: an address that events of jobs, or alerts, are sent to.
///
/// The secret that signs deliveries is in this one response only.
#[utoipa::path(
    post, path = "/endpoints", tag = "Endpoints", operation_id = "createEndpoint",
    request_body(content = CreateEndpointRequest, example = json!({
        "url": "https://example.com/steadfast", "description": "order service",
        "events": ["job.succeeded", "job.failed"]
    })),
    responses((status = 201, description = "The endpoint, with its secret", body = EndpointWithSecret), Problems)
)]
pub async fn create(
    State(app): State<Arc<App>>,
    Writes(caller): Writes,
    Body(body): Body<CreateEndpointRequest>,
) -> Result<(StatusCode, Json<EndpointWithSecret>), Problem> {
    let tenant = query::tenant(body.tenant.as_deref(), &caller)?.unwrap_or_default();
    HttpRequest::new(&body.url)?;
    let most = limits::DESCRIPTION_CHARS_MAX;
    if body.description.chars().count() > most {
        let detail = format!("description must be at most {most} characters");
        return Err(Problem::invalid("description", detail));
    }
    let known = app.client.endpoints(Some(&tenant)).await?.len();
    let most = app.settings.endpoints_per_tenant;
    if known >= most {
        let detail = format!(
            "tenant {tenant} has {known} endpoints, and may have {most}: delete one first, or let \
             the operator raise endpointsPerTenant"
        );
        return Err(Problem::new(StatusCode::CONFLICT, "too_many", detail));
    }
    let secret = secret_or_new(body.secret.as_deref())?;
    let now = app.client.now();
    let endpoint = Endpoint {
        id: EndpointId::new(now, rand::random()),
        tenant,
        url: body.url,
        description: body.description,
        events: match &body.events {
            Some(events) => check_events(events)?,
            None => EventType::OF_JOBS.to_vec(),
        },
        format: body.format.unwrap_or(BodyFormat::Standard),
        retry: body.retry,
        secrets: vec![EndpointSecret {
            secret: secret.clone(),
            expires_at: None,
        }],
        disabled: false,
        created_at: now,
    };
    let endpoint = app.client.create_endpoint(endpoint).await?;
    let body = EndpointWithSecret::new(&endpoint, &secret, now);
    Ok((StatusCode::CREATED, Json(body)))
}

fn secret_or_new(text: Option<&str>) -> Result<WebhookSecret, Invalid> {
    match text {
        Some(text) => check_secret(text),
        None => Ok(WebhookSecret::new(SigningKey::generate().reveal())),
    }
}

/// List endpoints, oldest first. Keys of scope `read` and `worker` see the host of an address only:
/// its path may be a secret.
#[utoipa::path(
    get, path = "/endpoints", tag = "Endpoints", operation_id = "listEndpoints",
    params(TenantPageQuery),
    responses((status = 200, description = "All endpoints", body = EndpointList), Problems)
)]
pub async fn list(
    State(app): State<Arc<App>>,
    Reads(caller): Reads,
    Params(page): Params<TenantPageQuery>,
) -> Answer<EndpointList> {
    let tenant = query::tenant(page.tenant.as_deref(), &caller)?;
    let endpoints = app.client.endpoints(tenant.as_ref()).await?;
    // Ids ascend with time.
    let key = |endpoint: &Endpoint| endpoint.id.to_string();
    let (endpoints, next_cursor) =
        cursor::page_of_all(endpoints, page.limit, page.after.as_deref(), key)?;
    let now = app.client.now();
    Ok(Json(EndpointList {
        next_cursor,
        endpoints: endpoints
            .iter()
            .map(|endpoint| {
                let mut body = EndpointBody::new(endpoint, now);
                body.url = caller.endpoint_url(&body.url);
                body
            })
            .collect(),
    }))
}

/// Delete an endpoint; deliveries that wait for it are cancelled.
#[utoipa::path(
    delete, path = "/endpoints/{id}", tag = "Endpoints", operation_id = "deleteEndpoint",
    params(("id" = String, Path, description = "end_…")),
    responses((status = 204, description = "It is deleted"), Problems)
)]
pub async fn delete(
    State(app): State<Arc<App>>,
    Writes(caller): Writes,
    Id(id): Id<EndpointId>,
) -> Result<StatusCode, Problem> {
    let tenant = caller.tenant.as_ref();
    if app.client.delete_endpoint(id, tenant).await? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(Problem::not_found(id))
    }
}

/// Rotate the secret of an endpoint: a new one signs, the old one signs beside it for a while.
#[utoipa::path(
    post, path = "/endpoints/{id}/rotate", tag = "Endpoints", operation_id = "rotateEndpointSecret",
    params(("id" = String, Path, description = "end_…")),
    request_body(content = Option<RotateSecretRequest>, example = json!({"overlap": "1d"})),
    responses((status = 200, description = "The endpoint, with its new secret", body = EndpointWithSecret), Problems)
)]
pub async fn rotate(
    State(app): State<Arc<App>>,
    Writes(caller): Writes,
    Id(id): Id<EndpointId>,
    MaybeBody(body): MaybeBody<RotateSecretRequest>,
) -> Answer<EndpointWithSecret> {
    let secret = secret_or_new(body.secret.as_deref())?;
    let overlap = body
        .overlap
        .map_or(limits::SECRET_OVERLAP_DEFAULT, |overlap| overlap.get());
    if overlap > limits::SECRET_OVERLAP_MAX {
        let most = duration::format(limits::SECRET_OVERLAP_MAX);
        let detail = format!("overlap must be at most {most}");
        return Err(Problem::invalid("overlap", detail));
    }
    let now = app.client.now();
    let rotate = |endpoint: &mut Endpoint| endpoint.rotate(secret.clone(), overlap, now);
    let tenant = caller.tenant.as_ref();
    let endpoint = app.client.change_endpoint(id, tenant, rotate).await?;
    let endpoint = endpoint.ok_or_else(|| Problem::not_found(id))?;
    Ok(Json(EndpointWithSecret::new(&endpoint, &secret, now)))
}

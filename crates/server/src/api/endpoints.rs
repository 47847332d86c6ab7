//! Endpoints: where a tenant's webhooks and alerts go.

use std::{sync::Arc, time::Duration};

use axum::{extract::State, http::StatusCode};
use steadfast_core::{
    BodyFormat, Endpoint, EndpointId, EndpointSecret, EventType, Invalid, Preset, Tenant,
    WebhookSecret, limits as core_limits,
};
use steadfast_engine::http::{HttpRequest, SigningKey};

use super::{
    Answer,
    asked::{checked_secret, events},
    queues::TenantQuery,
    wire::{EndpointShown, Endpoints, MadeEndpoint, NewEndpoint, RotateBody},
};
use crate::{
    App,
    access::{Reads, Writes},
    body::{Body, Id, MaybeBody, Params},
    json::Json,
    limits,
    problem::{Problem, Problems},
};

const DESCRIPTION_CHARS_MAX: usize = 200;
/// Long enough for a receiver to be rolled out with the new key.
const OVERLAP_DEFAULT: Duration = core_limits::DAY;
const OVERLAP_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Send news of jobs, or alerts, to an address. The key that signs is shown this once.
#[utoipa::path(
    post, path = "/endpoints", tag = "endpoints", request_body = NewEndpoint,
    responses((status = 201, description = "The endpoint, with its key", body = MadeEndpoint), Problems)
)]
pub async fn create(
    State(app): State<Arc<App>>,
    Writes(caller): Writes,
    Body(body): Body<NewEndpoint>,
) -> Result<(StatusCode, Json<MadeEndpoint>), Problem> {
    let asked = body.tenant.as_deref().map(Tenant::new).transpose()?;
    let tenant = caller.choose(asked)?.unwrap_or_default();
    HttpRequest::new(&body.url)?;
    body.retry
        .over(&Preset::Webhook.policy())
        .map_err(|error| error.within("retry"))?;
    if body.description.chars().count() > DESCRIPTION_CHARS_MAX {
        let detail = format!("description must be at most {DESCRIPTION_CHARS_MAX} characters");
        return Err(Problem::invalid("description", detail));
    }
    let known = app.client.endpoints(None).await?.len();
    if known >= limits::ENDPOINTS_MAX {
        let detail = format!("there are {known} endpoints already, and no more are taken");
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
            Some(names) => events(names)?,
            None => EventType::OF_JOBS.to_vec(),
        },
        format: body
            .format
            .as_deref()
            .map_or(Ok(BodyFormat::Standard), str::parse)?,
        retry: body.retry,
        secrets: vec![EndpointSecret {
            secret: secret.clone(),
            expires_at: None,
        }],
        disabled: false,
        created_at: now,
    };
    let endpoint = app.client.create_endpoint(endpoint).await?;
    Ok((StatusCode::CREATED, Json(made(&endpoint, &secret, now))))
}

fn made(
    endpoint: &Endpoint,
    secret: &WebhookSecret,
    now: steadfast_core::Timestamp,
) -> MadeEndpoint {
    MadeEndpoint {
        endpoint: EndpointShown::of(endpoint, now),
        secret: secret.reveal().to_owned(),
    }
}

fn secret_or_new(text: Option<&str>) -> Result<WebhookSecret, Invalid> {
    match text {
        Some(text) => checked_secret(text),
        None => Ok(WebhookSecret::new(SigningKey::generate().reveal())),
    }
}

/// List endpoints, oldest first.
#[utoipa::path(
    get, path = "/endpoints", tag = "endpoints", params(TenantQuery),
    responses((status = 200, description = "All endpoints", body = Endpoints), Problems)
)]
pub async fn list(
    State(app): State<Arc<App>>,
    Reads(caller): Reads,
    Params(query): Params<TenantQuery>,
) -> Answer<Endpoints> {
    let tenant = query.chosen(&caller)?;
    let endpoints = app.client.endpoints(tenant.as_ref()).await?;
    let now = app.client.now();
    let shown = endpoints
        .iter()
        .map(|endpoint| EndpointShown::of(endpoint, now));
    Ok(Json(Endpoints {
        endpoints: shown.collect(),
    }))
}

/// Forget an endpoint; what was on its way there is called off.
#[utoipa::path(
    delete, path = "/endpoints/{id}", tag = "endpoints",
    params(("id" = String, Path, description = "end_…")),
    responses((status = 204, description = "It is gone"), Problems)
)]
pub async fn delete(
    State(app): State<Arc<App>>,
    Writes(caller): Writes,
    Id(id): Id<EndpointId>,
) -> Result<StatusCode, Problem> {
    let tenant = caller.tenant.as_ref();
    match app.client.delete_endpoint(id, tenant).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Problem::not_found(id)),
    }
}

/// Sign with a new key; the old one signs beside it for a while.
#[utoipa::path(
    post, path = "/endpoints/{id}/rotate", tag = "endpoints",
    params(("id" = String, Path, description = "end_…")), request_body(content = Option<RotateBody>),
    responses((status = 200, description = "The endpoint, with its new key", body = MadeEndpoint), Problems)
)]
pub async fn rotate(
    State(app): State<Arc<App>>,
    Writes(caller): Writes,
    Id(id): Id<EndpointId>,
    MaybeBody(body): MaybeBody<RotateBody>,
) -> Answer<MadeEndpoint> {
    let secret = secret_or_new(body.secret.as_deref())?;
    let overlap = body
        .overlap
        .map_or(OVERLAP_DEFAULT, |overlap| overlap.get());
    if overlap > OVERLAP_MAX {
        return Err(Problem::invalid("overlap", "overlap must be at most 7d"));
    }
    let now = app.client.now();
    let rotate = |endpoint: &mut Endpoint| endpoint.rotate(secret.clone(), overlap, now);
    let tenant = caller.tenant.as_ref();
    let endpoint = app.client.change_endpoint(id, tenant, rotate).await?;
    let endpoint = endpoint.ok_or_else(|| Problem::not_found(id))?;
    Ok(Json(made(&endpoint, &secret, now)))
}

//! Endpoints: where a tenant's webhooks and alerts go.

use axum::http::StatusCode;
use steadfast_api::{
    CreateEndpointRequest, EditEndpointRequest, EndpointBody, EndpointList, EndpointWithSecret,
    JobBody, JobList, PageQuery, RotateSecretRequest, TenantPageQuery,
};
use steadfast_core::{
    Actor, BodyFormat, Destination, Endpoint, EndpointId, EndpointSecret, EventType, Invalid, Job,
    JobId, Kind, Timestamp, WebhookSecret, duration,
};
use steadfast_engine::{
    endpoint_deliveries,
    http::{SigningKey, delivery_request},
    secret_references,
};

use crate::{
    api::{
        cursor, query,
        work::{
            create::{check_events, check_secret},
            jobs::{due_body, job_body, list_page},
        },
    },
    app::App,
    extract::{Body, Caller, Id, MaybeBody, Params, Reads, Writes},
    http::{Answer, Json, Problem, Problems},
    limits,
};

/// Create an endpoint: a URL that receives job events or alerts.
///
/// The signing secret is only in this response.
#[utoipa::path(
    post, path = "/endpoints", tag = "Endpoints", operation_id = "createEndpoint",
    request_body(content = CreateEndpointRequest, example = json!({
        "url": "https://example.com/steadfast", "description": "order service",
        "events": ["job.succeeded", "job.failed"]
    })),
    responses((status = 201, description = "The endpoint, with its secret", body = EndpointWithSecret), Problems)
)]
pub async fn create(
    Writes { app, caller }: Writes,
    Body(body): Body<CreateEndpointRequest>,
) -> Result<(StatusCode, Json<EndpointWithSecret>), Problem> {
    let tenant = query::tenant(body.tenant.as_deref(), &caller)?.unwrap_or_default();
    delivery_request(&body.url, &body.headers)?;
    check_description(&body.description)?;
    let secret = secret_or_new(body.secret.as_deref())?;
    let now = app.client.now();
    let id = EndpointId::new(now, rand::random());
    let endpoint = Endpoint {
        description: body.description,
        events: match &body.events {
            Some(events) => check_subscription(events)?,
            None => EventType::OF_JOBS.to_vec(),
        },
        format: body.format.unwrap_or(BodyFormat::Standard),
        retry: body.retry,
        headers: body.headers,
        secrets: vec![EndpointSecret {
            secret: secret.clone(),
            expires_at: None,
        }],
        ..Endpoint::new(id, tenant, body.url, now)
    };
    let client = caller.client(&app).await?;
    let references = secret_references(&endpoint.headers);
    client
        .check_references(&endpoint.tenant, &references)
        .await?;
    let endpoint = client
        .create_endpoint_within(endpoint, app.settings.endpoints_per_tenant)
        .await?;
    let body = EndpointWithSecret::new(&endpoint, &secret, now);
    Ok((StatusCode::CREATED, Json(body)))
}

fn check_description(text: &str) -> Result<(), Problem> {
    let most = limits::DESCRIPTION_CHARS_MAX;
    if text.chars().count() <= most {
        return Ok(());
    }
    let detail = format!("description must be at most {most} characters");
    Err(Problem::invalid("description", detail))
}

/// Events that an endpoint can be subscribed to.
fn check_subscription(events: &[EventType]) -> Result<Vec<EventType>, Invalid> {
    let test = EventType::EndpointTest;
    if events.contains(&test) {
        let expected = "must not contain the test event, which is only sent on request";
        return Err(Invalid::new("events", test, expected));
    }
    check_events(events)
}

fn secret_or_new(text: Option<&str>) -> Result<WebhookSecret, Invalid> {
    match text {
        Some(text) => check_secret(text),
        None => Ok(WebhookSecret::new(SigningKey::generate().reveal())),
    }
}

/// List endpoints, oldest first. Keys with scope `read` and `worker` see only the host of each URL,
/// because its path may be secret.
#[utoipa::path(
    get, path = "/endpoints", tag = "Endpoints", operation_id = "listEndpoints",
    params(TenantPageQuery),
    responses((status = 200, description = "All endpoints", body = EndpointList), Problems)
)]
pub async fn list(
    Reads { app, caller }: Reads,
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
            .map(|endpoint| body_for(&caller, endpoint, now))
            .collect(),
    }))
}

/// An endpoint as this caller may see it.
pub fn body_for(caller: &Caller, endpoint: &Endpoint, now: Timestamp) -> EndpointBody {
    let mut body = EndpointBody::new(endpoint, now);
    body.url = caller.endpoint_url(&body.url);
    body
}

/// An endpoint, if it exists for this caller.
pub async fn find(app: &App, caller: &Caller, id: EndpointId) -> Result<Endpoint, Problem> {
    let found = app.client.find_endpoint(id, caller.tenant.as_ref()).await?;
    let endpoint = found.ok_or_else(|| Problem::not_found(id))?;
    Ok(endpoint)
}

/// Read an endpoint.
#[utoipa::path(
    get, path = "/endpoints/{id}", tag = "Endpoints", operation_id = "getEndpoint",
    params(("id" = String, Path, description = "end_…")),
    responses((status = 200, description = "The endpoint", body = EndpointBody), Problems)
)]
pub async fn read(Reads { app, caller }: Reads, Id(id): Id<EndpointId>) -> Answer<EndpointBody> {
    let endpoint = find(&app, &caller, id).await?;
    Ok(Json(body_for(&caller, &endpoint, app.client.now())))
}

/// Edit an endpoint; omitted fields stay unchanged.
#[utoipa::path(
    patch, path = "/endpoints/{id}", tag = "Endpoints", operation_id = "editEndpoint",
    params(("id" = String, Path, description = "end_…")),
    request_body(content = EditEndpointRequest, example = json!({
        "url": "https://example.com/v2/steadfast", "events": ["job.failed", "endpoint.disabled"]
    })),
    responses((status = 200, description = "The updated endpoint", body = EndpointBody), Problems)
)]
pub async fn edit(
    Writes { app, caller }: Writes,
    Id(id): Id<EndpointId>,
    Body(edit): Body<EditEndpointRequest>,
) -> Answer<EndpointBody> {
    if edit == EditEndpointRequest::default() {
        let detail = "nothing to change: send url, description, events, format, retry or headers";
        return Err(Problem::invalid("url", detail));
    }
    check_description(edit.description.as_deref().unwrap_or_default())?;
    let events = edit.events.as_deref().map(check_subscription).transpose()?;
    let before = find(&app, &caller, id).await?;
    let url = edit.url.as_deref().unwrap_or(&before.url);
    let headers = edit.headers.clone().unwrap_or_default();
    delivery_request(url, &headers)?;
    app.client
        .check_references(&before.tenant, &secret_references(&headers))
        .await?;
    let change = |endpoint: &mut Endpoint| {
        let edit = edit.clone();
        endpoint.move_to(edit.url.unwrap_or(endpoint.url.clone()));
        endpoint.description = edit.description.unwrap_or(endpoint.description.clone());
        endpoint.events = events.clone().unwrap_or(endpoint.events.clone());
        endpoint.format = edit.format.unwrap_or(endpoint.format);
        endpoint.retry = edit.retry.unwrap_or(endpoint.retry.clone());
        endpoint.headers = edit.headers.unwrap_or(endpoint.headers.clone());
    };
    let tenant = caller.tenant.as_ref();
    let client = caller.client(&app).await?;
    let mut endpoint = client.change_endpoint(id, tenant, change).await?;
    let is_enabled = endpoint.as_ref().is_some_and(|now| !now.disabled);
    let origin = Destination::of_url(&before.url);
    if let Some(moved) = endpoint
        .as_ref()
        .filter(|now| Destination::of_url(&now.url) != origin)
    {
        // A hold of the old address does not hold for the new one.
        let (by, pace) = (caller.actor(&app).await?, Some(app.bulk_pace()));
        app.client.move_deliveries(moved, by, pace).await?;
    } else if before.disabled && is_enabled {
        // Its deliveries need not wait until they look for it again.
        let (by, pace) = (caller.actor(&app).await?, Some(app.bulk_pace()));
        endpoint = app.client.enable_endpoint(id, tenant, by, pace).await?;
    }
    answer(&app, &caller, id, endpoint)
}

fn answer(
    app: &App,
    caller: &Caller,
    id: EndpointId,
    endpoint: Option<Endpoint>,
) -> Answer<EndpointBody> {
    let endpoint = endpoint.ok_or_else(|| Problem::not_found(id))?;
    Ok(Json(body_for(caller, &endpoint, app.client.now())))
}

/// Enable an endpoint: an operation sends its waiting deliveries, limited by the setting
/// `bulkRate`.
#[utoipa::path(
    post, path = "/endpoints/{id}/enable", tag = "Endpoints", operation_id = "enableEndpoint",
    params(("id" = String, Path, description = "end_…")),
    responses((status = 200, description = "The updated endpoint", body = EndpointBody), Problems)
)]
pub async fn enable(
    Writes { app, caller }: Writes,
    Id(id): Id<EndpointId>,
) -> Answer<EndpointBody> {
    find(&app, &caller, id).await?;
    let by = caller.actor(&app).await?;
    let pace = Some(app.bulk_pace());
    let tenant = caller.tenant.as_ref();
    let endpoint = app.client.enable_endpoint(id, tenant, by, pace).await?;
    answer(&app, &caller, id, endpoint)
}

/// Disable an endpoint: its deliveries wait until it is enabled, for at most seven days.
#[utoipa::path(
    post, path = "/endpoints/{id}/disable", tag = "Endpoints", operation_id = "disableEndpoint",
    params(("id" = String, Path, description = "end_…")),
    responses((status = 200, description = "The updated endpoint", body = EndpointBody), Problems)
)]
pub async fn disable(
    Writes { app, caller }: Writes,
    Id(id): Id<EndpointId>,
) -> Answer<EndpointBody> {
    find(&app, &caller, id).await?;
    let tenant = caller.tenant.as_ref();
    let client = caller.client(&app).await?;
    let endpoint = client.disable_endpoint(id, tenant).await?;
    answer(&app, &caller, id, endpoint)
}

/// Send an event of type `endpoint.test` to an endpoint as a normal delivery.
#[utoipa::path(
    post, path = "/endpoints/{id}/test", tag = "Endpoints", operation_id = "testEndpoint",
    params(("id" = String, Path, description = "end_…")),
    responses((status = 200, description = "The delivery job", body = JobBody), Problems)
)]
pub async fn test(Writes { app, caller }: Writes, Id(id): Id<EndpointId>) -> Answer<JobBody> {
    let endpoint = find(&app, &caller, id).await?;
    let delivery = send_test(&app, &caller, &endpoint).await?;
    Ok(Json(job_body(&app, delivery, app.client.now())))
}

/// Sends a test to an endpoint that is not disabled.
pub async fn send_test(app: &App, caller: &Caller, endpoint: &Endpoint) -> Result<Job, Problem> {
    if endpoint.disabled {
        let id = endpoint.id;
        let detail = format!("{id} is disabled: enable it first");
        return Err(Problem::new(StatusCode::CONFLICT, "disabled", detail));
    }
    let client = caller.client(app).await?;
    Ok(client.test_endpoint(endpoint).await?)
}

/// List the deliveries to an endpoint, newest first. Deliveries are jobs; their attempts are in the
/// job history.
#[utoipa::path(
    get, path = "/endpoints/{id}/deliveries", tag = "Endpoints", operation_id = "listDeliveries",
    params(("id" = String, Path, description = "end_…"), PageQuery),
    responses((status = 200, description = "A page of deliveries", body = JobList), Problems)
)]
pub async fn deliveries(
    Reads { app, caller }: Reads,
    Id(id): Id<EndpointId>,
    Params(page): Params<PageQuery>,
) -> Answer<JobList> {
    let endpoint = find(&app, &caller, id).await?;
    let page = cursor::page(page.limit, limits::PAGE_DEFAULT, page.after.as_deref())?;
    let filter = endpoint_deliveries(&endpoint);
    list_page(&app, &caller, filter, page).await.map(Json)
}

/// Resend an ended delivery with the same body and event id.
///
/// A failed or cancelled delivery is retried. For a succeeded delivery, a new delivery is created
/// and returned.
#[utoipa::path(
    post, path = "/deliveries/{id}/resend", tag = "Endpoints", operation_id = "resendDelivery",
    params(("id" = String, Path, description = "The job id of the delivery, job_…")),
    responses((status = 200, description = "The delivery", body = JobBody), Problems)
)]
pub async fn resend(Writes { app, caller }: Writes, Id(id): Id<JobId>) -> Answer<JobBody> {
    let by = caller.actor(&app).await?;
    let job = resend_by(&app, &caller, id, by).await?;
    due_body(&app, &caller, job).await
}

/// Sends a delivery once more.
pub async fn resend_by(app: &App, caller: &Caller, id: JobId, by: Actor) -> Result<Job, Problem> {
    let job = caller.job(app.client.job(id).await?, id)?;
    if job.kind != Kind::webhook() {
        let detail = format!("{id} is not a webhook delivery; retry it as a job");
        return Err(Problem::invalid("id", detail));
    }
    Ok(app.client.resend_delivery(job, by).await?)
}

/// Delete an endpoint; its waiting deliveries are cancelled.
#[utoipa::path(
    delete, path = "/endpoints/{id}", tag = "Endpoints", operation_id = "deleteEndpoint",
    params(("id" = String, Path, description = "end_…")),
    responses((status = 204, description = "Deleted"), Problems)
)]
pub async fn delete(
    Writes { app, caller }: Writes,
    Id(id): Id<EndpointId>,
) -> Result<StatusCode, Problem> {
    let tenant = caller.tenant.as_ref();
    let client = caller.client(&app).await?;
    if client.delete_endpoint(id, tenant).await? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(Problem::not_found(id))
    }
}

/// Rotate the signing secret of an endpoint; deliveries are also signed with the old secret for a
/// while.
#[utoipa::path(
    post, path = "/endpoints/{id}/rotate", tag = "Endpoints", operation_id = "rotateEndpointSecret",
    params(("id" = String, Path, description = "end_…")),
    request_body(content = Option<RotateSecretRequest>, example = json!({"overlap": "1d"})),
    responses((status = 200, description = "The endpoint, with its new secret", body = EndpointWithSecret), Problems)
)]
pub async fn rotate(
    Writes { app, caller }: Writes,
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
    let client = caller.client(&app).await?;
    let tenant = caller.tenant.as_ref();
    let rotated = client.rotate_endpoint(id, tenant, &secret, overlap).await?;
    let endpoint = rotated.ok_or_else(|| Problem::not_found(id))?;
    let now = app.client.now();
    Ok(Json(EndpointWithSecret::new(&endpoint, &secret, now)))
}

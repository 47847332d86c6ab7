//! API keys.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode};
use steadfast_api::{CreateKeyRequest, KeyBody, KeyList, KeyWithToken, Scope};
use steadfast_core::KeyId;

use super::{Answer, query};
use crate::{
    access::{Caller, Writes},
    app::App,
    body::{Body, Id},
    json::Json,
    keys::{self, Key, KeyError, NewKey},
    limits,
    problem::{Problem, Problems},
};

/// Create a key. Its token is in this one response only.
///
/// From the first key on, every request needs one; so the first must be of scope `admin`, or no
/// caller could create another.
#[utoipa::path(
    post, path = "/keys", tag = "Keys", operation_id = "createKey",
    request_body(content = CreateKeyRequest, example = json!({"name": "operations", "scope": "admin"})),
    responses((status = 201, description = "The key, with its token", body = KeyWithToken), Problems)
)]
pub async fn create(
    State(app): State<Arc<App>>,
    Writes(caller): Writes,
    Body(body): Body<CreateKeyRequest>,
) -> Result<(StatusCode, Json<KeyWithToken>), Problem> {
    if caller.tenant.is_some() && body.scope == Scope::Admin {
        let detail = "a key of scope tenant cannot create one of scope admin";
        return Err(Problem::new(StatusCode::FORBIDDEN, "wrong_scope", detail).at("scope"));
    }
    let store = app.node.store();
    let known = keys::list(&*store).await?.len();
    if known >= limits::KEYS_MAX {
        let detail = format!("there are {known} keys already, which is the limit");
        return Err(Problem::new(StatusCode::CONFLICT, "too_many", detail));
    }
    let new = NewKey {
        name: body.name,
        scope: body.scope,
        tenant: query::tenant(body.tenant.as_deref(), &caller)?,
    };
    let (key, token) = keys::create(&*store, new)
        .await
        .map_err(|error| match error {
            KeyError::Invalid(invalid) => Problem::from(invalid),
            KeyError::Store(error) => error.into(),
        })?;
    app.keys.refresh().await?;
    let body = KeyWithToken {
        key: key_body(&key),
        token: token.reveal().to_owned(),
    };
    Ok((StatusCode::CREATED, Json(body)))
}

fn key_body(key: &Key) -> KeyBody {
    KeyBody {
        id: key.id,
        name: key.name.clone(),
        scope: key.scope,
        tenant: key.tenant.clone(),
        created_at: key.created_at,
    }
}

/// List keys, oldest first, without their tokens.
#[utoipa::path(
    get, path = "/keys", tag = "Keys", operation_id = "listKeys",
    responses((status = 200, description = "All keys", body = KeyList), Problems)
)]
pub async fn list(State(app): State<Arc<App>>, Writes(caller): Writes) -> Answer<KeyList> {
    let keys = keys::list(&*app.node.store()).await?;
    let visible = keys.iter().filter(|key| sees(&caller, key));
    Ok(Json(KeyList {
        keys: visible.map(key_body).collect(),
    }))
}

/// A tenant sees its own keys, and not those that see everything.
fn sees(caller: &Caller, key: &Key) -> bool {
    match (&caller.tenant, &key.tenant) {
        (None, _) => true,
        (Some(own), Some(tenant)) => own == tenant,
        (Some(_), None) => false,
    }
}

/// Revoke a key. All nodes refuse it within seconds.
#[utoipa::path(
    delete, path = "/keys/{id}", tag = "Keys", operation_id = "revokeKey", params(("id" = String, Path, description = "key_…")),
    responses((status = 204, description = "It is revoked"), Problems)
)]
pub async fn delete(
    State(app): State<Arc<App>>,
    Writes(caller): Writes,
    Id(id): Id<KeyId>,
) -> Result<StatusCode, Problem> {
    let store = app.node.store();
    let keys = keys::list(&*store).await?;
    let key = keys.iter().find(|key| key.id == id && sees(&caller, key));
    let key = key.ok_or_else(|| Problem::not_found(id))?;
    let is_admin = |key: &&Key| key.scope == Scope::Admin;
    if is_admin(&key) && keys.iter().filter(is_admin).count() == 1 {
        let detail = "this is the last admin key; create another one first";
        return Err(Problem::new(StatusCode::CONFLICT, "last_admin_key", detail));
    }
    keys::delete(&*store, id).await?;
    app.keys.refresh().await?;
    Ok(StatusCode::NO_CONTENT)
}

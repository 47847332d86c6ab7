//! API keys.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode};
use steadfast_core::{KeyId, Tenant};

use super::{
    Answer,
    wire::{Keys, MadeKey, NewKeyBody},
};
use crate::{
    App,
    access::{Caller, Writes},
    body::{Body, Id},
    json::Json,
    keys::{self, Key, KeyError, NewKey, Scope},
    limits,
    problem::{Problem, Problems},
};

/// Make a key. Its token is shown this once.
///
/// From the first key on, every request needs one; so the first must be of scope `admin`, or
/// nobody could make another.
#[utoipa::path(
    post, path = "/keys", tag = "keys", request_body = NewKeyBody,
    responses((status = 201, description = "The key, with its token", body = MadeKey), Problems)
)]
pub async fn create(
    State(app): State<Arc<App>>,
    Writes(caller): Writes,
    Body(body): Body<NewKeyBody>,
) -> Result<(StatusCode, Json<MadeKey>), Problem> {
    if caller.tenant.is_some() && body.scope == Scope::Admin {
        let detail = "a key of scope tenant cannot make one of scope admin";
        return Err(Problem::new(StatusCode::FORBIDDEN, "wrong_scope", detail).at("scope"));
    }
    let store = app.node.store();
    let known = keys::list(&*store).await?.len();
    if known >= limits::KEYS_MAX {
        let detail = format!("there are {known} keys already, and no more are taken");
        return Err(Problem::new(StatusCode::CONFLICT, "too_many", detail));
    }
    let asked = body.tenant.as_deref().map(Tenant::new).transpose()?;
    let new = NewKey {
        name: body.name,
        scope: body.scope,
        tenant: caller.choose(asked)?,
    };
    let (key, token) = keys::create(&*store, new)
        .await
        .map_err(|error| match error {
            KeyError::Invalid(invalid) => Problem::from(invalid),
            KeyError::Store(error) => error.into(),
        })?;
    app.keys.refresh().await?;
    let made = MadeKey {
        key: (&key).into(),
        token: token.reveal().to_owned(),
    };
    Ok((StatusCode::CREATED, Json(made)))
}

/// List keys, oldest first, without their tokens.
#[utoipa::path(
    get, path = "/keys", tag = "keys",
    responses((status = 200, description = "All keys", body = Keys), Problems)
)]
pub async fn list(State(app): State<Arc<App>>, Writes(caller): Writes) -> Answer<Keys> {
    let keys = keys::list(&*app.node.store()).await?;
    let theirs = keys.iter().filter(|key| sees(&caller, key));
    Ok(Json(Keys {
        keys: theirs.map(Into::into).collect(),
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

/// Take a key back. Nodes forget it within seconds.
#[utoipa::path(
    delete, path = "/keys/{id}", tag = "keys", params(("id" = String, Path, description = "key_…")),
    responses((status = 204, description = "It is gone"), Problems)
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
        let detail = "this is the last admin key; make another one first";
        return Err(Problem::new(StatusCode::CONFLICT, "last_admin_key", detail));
    }
    keys::delete(&*store, id).await?;
    app.keys.refresh().await?;
    Ok(StatusCode::NO_CONTENT)
}

//! API keys.

use axum::http::StatusCode;
use steadfast_api::{CreateKeyRequest, KeyBody, KeyList, KeyWithToken, PageQuery, Scope};
use steadfast_core::KeyId;

use crate::{
    api::{cursor, query},
    app::App,
    auth::keys::{self, Key, KeyError, NewKey, Revocation},
    extract::{Body, Caller, Id, Params, Writes},
    http::{Answer, Json, Problem, Problems},
};

/// Create a key. Its token is only in this response.
///
/// Once a key exists, every request requires one. The first key must have scope `admin`; otherwise
/// no caller could create another. A key that a person creates expires after at most 90 days.
#[utoipa::path(
    post, path = "/keys", tag = "Keys", operation_id = "createKey",
    request_body(content = CreateKeyRequest, example = json!({"name": "operations", "scope": "admin"})),
    responses((status = 201, description = "The key, with its token", body = KeyWithToken), Problems)
)]
pub async fn create(
    Writes { app, caller }: Writes,
    Body(body): Body<CreateKeyRequest>,
) -> Result<(StatusCode, Json<KeyWithToken>), Problem> {
    if caller.tenant.is_some() && body.scope == Scope::Admin {
        let detail = "a caller of one tenant cannot create a key of scope admin";
        return Err(Problem::new(StatusCode::FORBIDDEN, "wrong_scope", detail).at("scope"));
    }
    let keys = app.keys.get().await?;
    let creator = caller.key.and_then(|id| keys.get(id, app.client.now()));
    let new = NewKey {
        name: body.name,
        scope: body.scope,
        tenant: query::tenant(body.tenant.as_deref(), &caller)?,
        expires_at: body.expires_at,
        created_by: creator.map(|known| known.key.clone()),
        created_by_person: caller
            .person
            .as_ref()
            .map(|(person, _)| person.name.clone()),
        by: Some(caller.actor(&app).await?),
    };
    let (key, token) = keys::create(&*app.node.store(), new).await?;
    app.keys.follow_change().await;
    let body = KeyWithToken {
        key: KeyBody::from(&key),
        token: token.reveal().to_owned(),
    };
    Ok((StatusCode::CREATED, Json(body)))
}

impl From<KeyError> for Problem {
    fn from(error: KeyError) -> Self {
        match error {
            KeyError::Invalid(invalid) => invalid.into(),
            KeyError::Store(error) => error.into(),
            KeyError::TooManyOfTenant | KeyError::TooMany => {
                Self::new(StatusCode::CONFLICT, "too_many", error.to_string())
            }
            KeyError::Contended => Self::new(StatusCode::CONFLICT, "conflict", error.to_string()),
        }
    }
}

/// List keys, oldest first, without their tokens.
#[utoipa::path(
    get, path = "/keys", tag = "Keys", operation_id = "listKeys", params(PageQuery),
    responses((status = 200, description = "All keys", body = KeyList), Problems)
)]
pub async fn list(
    Writes { app, caller }: Writes,
    Params(page): Params<PageQuery>,
) -> Answer<KeyList> {
    let keys = visible(&app, &caller).await?;
    // Ids ascend with time.
    let id = |key: &Key| key.id.to_string();
    let (keys, next_cursor) = cursor::page_of_all(keys, page.limit, page.after.as_deref(), id)?;
    Ok(Json(KeyList {
        keys: keys.iter().map(KeyBody::from).collect(),
        next_cursor,
    }))
}

/// The keys that a caller sees.
pub async fn visible(app: &App, caller: &Caller) -> Result<Vec<Key>, Problem> {
    let mut keys = keys::list(&*app.node.store()).await?;
    keys.retain(|key| sees(caller, key));
    Ok(keys)
}

/// A tenant sees its own keys, and not those that see everything.
fn sees(caller: &Caller, key: &Key) -> bool {
    match (&caller.tenant, &key.tenant) {
        (None, _) => true,
        (Some(own), Some(tenant)) => own == tenant,
        (Some(_), None) => false,
    }
}

/// Revoke a key. All nodes reject it within seconds.
///
/// Keys created by a key with scope `tenant` are revoked with it; keys created by an admin key stay
/// valid.
#[utoipa::path(
    delete, path = "/keys/{id}", tag = "Keys", operation_id = "revokeKey", params(("id" = String, Path, description = "key_…")),
    responses((status = 204, description = "Revoked"), Problems)
)]
pub async fn delete(
    Writes { app, caller }: Writes,
    Id(id): Id<KeyId>,
) -> Result<StatusCode, Problem> {
    let store = app.node.store();
    let keys = keys::list(&*store).await?;
    let key = keys.iter().find(|key| key.id == id && sees(&caller, key));
    key.ok_or_else(|| Problem::not_found(id))?;
    let conflict = |code, detail| Err(Problem::new(StatusCode::CONFLICT, code, detail));
    let by = caller.actor(&app).await?;
    let oidc = app.settings.oidc.as_ref();
    let revocation = match oidc.is_some_and(|oidc| oidc.settings.has_admins()) {
        true => keys::revoke_even_last(&*store, id, by).await?,
        false => keys::revoke(&*store, id, Some(by)).await?,
    };
    match revocation {
        Revocation::Done => {
            app.keys.follow_change().await;
            Ok(StatusCode::NO_CONTENT)
        }
        Revocation::NotFound => Err(Problem::not_found(id)),
        Revocation::LastAdmin => {
            let detail = "this is the last admin key; create another one first";
            conflict("last_admin_key", detail)
        }
        Revocation::Contended => {
            let detail = "other admin keys are being revoked concurrently; try again";
            conflict("conflict", detail)
        }
    }
}

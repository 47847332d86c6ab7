//! Who asks, and what they may.
//!
//! A handler says in its signature what it needs ([`Reads`], [`Writes`], [`Works`]),
//! so that none can forget to ask.

use std::sync::Arc;

use axum::{
    extract::{FromRef, FromRequestParts},
    http::{StatusCode, header, request::Parts},
};
use steadfast_core::{Job, KeyId, Schedule, Tenant};

use crate::{
    App,
    keys::{Key, Scope},
    problem::Problem,
};

/// Who asks.
#[derive(Clone, Debug)]
pub struct Caller {
    pub scope: Scope,
    /// Whose things they see; all if `None`.
    pub tenant: Option<Tenant>,
    /// What they showed; `None` where no key is needed.
    pub key: Option<KeyId>,
}

impl Caller {
    /// Anybody, where no key is needed.
    const ANYBODY: Self = Self {
        scope: Scope::Admin,
        tenant: None,
        key: None,
    };

    pub fn of(key: &Key) -> Self {
        Self {
            scope: key.scope,
            tenant: key.tenant.clone(),
            key: Some(key.id),
        }
    }

    /// Whether they would still be let in: the key was not taken back, or none is needed yet.
    pub async fn is_welcome(&self, app: &App) -> Result<bool, Problem> {
        match self.key {
            Some(key) => Ok(app.keys.get().await?.get(key).is_some()),
            None => Ok(anybody(app).await?.is_some()),
        }
    }

    pub fn may(self, scopes: &[Scope]) -> Result<Self, Problem> {
        if scopes.contains(&self.scope) {
            return Ok(self);
        }
        let needed: Vec<&str> = scopes.iter().map(|scope| scope.as_str()).collect();
        Err(Problem::new(
            StatusCode::FORBIDDEN,
            "wrong_scope",
            format!(
                "a key of scope {} may not do this; it takes {}",
                self.scope,
                needed.join(" or ")
            ),
        ))
    }

    pub fn sees(&self, tenant: &Tenant) -> bool {
        self.tenant.as_ref().is_none_or(|own| own == tenant)
    }

    /// A job, if it is there for this caller.
    pub fn job(&self, job: Option<Job>, id: impl std::fmt::Display) -> Result<Job, Problem> {
        job.filter(|job| self.sees(&job.tenant))
            .ok_or_else(|| Problem::not_found(id))
    }

    pub fn schedule(
        &self,
        schedule: Option<Schedule>,
        id: impl std::fmt::Display,
    ) -> Result<Schedule, Problem> {
        schedule
            .filter(|schedule| self.sees(schedule.tenant()))
            .ok_or_else(|| Problem::not_found(id))
    }

    /// The tenant that is meant: the caller's own, unless the caller may choose.
    pub fn choose(&self, asked: Option<Tenant>) -> Result<Option<Tenant>, Problem> {
        match (&self.tenant, asked) {
            (None, asked) => Ok(asked),
            (Some(own), None) => Ok(Some(own.clone())),
            (Some(own), Some(asked)) if *own == asked => Ok(Some(asked)),
            (Some(own), Some(_)) => Err(Problem::new(
                StatusCode::FORBIDDEN,
                "wrong_scope",
                format!("this key is for tenant {own} only; leave tenant out"),
            )
            .at("tenant")),
        }
    }
}

/// Anybody, where no key is needed.
pub async fn anybody(app: &App) -> Result<Option<Caller>, Problem> {
    let keys = app.keys.get().await?;
    Ok((app.settings.open && keys.is_empty()).then_some(Caller::ANYBODY))
}

async fn caller(parts: &Parts, app: &App) -> Result<Caller, Problem> {
    if let Some(anybody) = anybody(app).await? {
        return Ok(anybody);
    }
    let keys = app.keys.get().await?;
    let refused = |code, detail: &str| Problem::new(StatusCode::UNAUTHORIZED, code, detail);
    let header = parts.headers.get(header::AUTHORIZATION);
    let header = header.ok_or_else(|| {
        let how =
            "send an API key as Authorization: Bearer sf_…; `steadfast keys create` makes one";
        refused("no_key", how)
    })?;
    let token = header.to_str().ok().and_then(|text| {
        let (scheme, token) = text.split_once(' ')?;
        scheme
            .eq_ignore_ascii_case("bearer")
            .then_some(token.trim())
    });
    let token = token.ok_or_else(|| refused("no_key", "the key must come as Bearer sf_…"))?;
    let key = keys.find(token);
    let key = key.ok_or_else(|| refused("unknown_key", "this API key is not known"))?;
    Ok(Caller::of(&key))
}

macro_rules! permissions {
    ($($(#[$doc:meta])* $name:ident: $($scope:ident)|+;)+) => {
        $(
            $(#[$doc])*
            pub struct $name(pub Caller);

            impl<S: Send + Sync> FromRequestParts<S> for $name
            where
                Arc<App>: FromRef<S>,
            {
                type Rejection = Problem;

                async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
                    let app = Arc::<App>::from_ref(state);
                    let caller = caller(parts, &app).await?;
                    caller.may(&[$(Scope::$scope),+]).map(Self)
                }
            }
        )+
    };
}

permissions! {
    /// May look.
    Reads: Admin | Tenant | Worker | Read;
    /// May change things.
    Writes: Admin | Tenant;
    /// May claim jobs and settle them.
    Works: Admin | Tenant | Worker;
}

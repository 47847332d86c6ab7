//! Callers, and what they may do.
//!
//! The signature of a handler names the permission it needs ([`Reads`], [`Writes`], [`Works`]), so
//! no handler can forget to check it.

use std::sync::Arc;

use axum::{
    extract::{FromRef, FromRequestParts},
    http::{StatusCode, header, request::Parts},
};
use steadfast_core::{Actor, Job, KeyId, Schedule, Tenant, limits::PAUSE_BY_BYTES_MAX};

use steadfast_api::{AGENT_HEADER, Scope};
use steadfast_engine::{Client, JobRequest};
use steadfast_store::{DamagedRow, QueueFull, StoreCaller, StoreError};

use crate::{
    app::App,
    auth::{
        keys::Key,
        oidc::Person,
        sessions::{self, SessionUser},
    },
    http::{Problem, connections::Connection},
    limits,
};

/// What a request does. A tenant has a part of its own for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestClass {
    Read,
    Write,
    /// Claims, renews or settles.
    Work,
}

/// The sender of a request.
#[derive(Clone, Debug)]
pub struct Caller {
    pub scope: Scope,
    /// The tenant it may see; all tenants if `None`.
    pub tenant: Option<Tenant>,
    /// Its key; `None` for a person and for an anonymous caller.
    pub key: Option<KeyId>,
    /// The person, if one has signed in, and the token of the session.
    pub person: Option<(Arc<Person>, Arc<str>)>,
    /// How its requests come: `api` or `dashboard`.
    pub way: &'static str,
    /// The agent that sends them for the caller, as it calls itself.
    pub agent: Option<Arc<str>>,
}

impl Caller {
    /// A caller without a key, of a server that needs none.
    const ANONYMOUS: Self = Self {
        scope: Scope::Admin,
        tenant: None,
        key: None,
        person: None,
        way: "api",
        agent: None,
    };

    pub fn of(key: &Key) -> Self {
        Self {
            scope: key.scope,
            tenant: key.tenant.clone(),
            key: Some(key.id),
            person: None,
            way: "api",
            agent: None,
        }
    }

    fn of_person(person: Arc<Person>, token: &str) -> Self {
        Self {
            scope: person.scope,
            tenant: person.tenant.clone(),
            key: None,
            person: Some((person, token.into())),
            way: "api",
            agent: None,
        }
    }

    /// The name of its key, or of the person.
    pub async fn name(&self, app: &App) -> Result<Option<String>, Problem> {
        if let Some((person, _)) = &self.person {
            return Ok(Some(person.name.clone()));
        }
        let Some(id) = self.key else {
            return Ok(None);
        };
        let keys = app.keys.get().await?;
        let name = keys
            .get(id, app.client.now())
            .map(|known| known.key.name.clone());
        let name = name.filter(|name| !name.is_empty() && name.len() <= PAUSE_BY_BYTES_MAX);
        Ok(Some(name.unwrap_or_else(|| id.to_string())))
    }

    /// Who it is, for audit records: its key, the person, or the way by which it came.
    pub async fn actor(&self, app: &App) -> Result<Actor, Problem> {
        let name = self.name(app).await?;
        let actor = match (self.key, name) {
            (Some(key), Some(name)) => Actor::of_key(key, name),
            (None, Some(name)) => Actor::named(name),
            _ => Actor::named(self.way),
        };
        Ok(match &self.agent {
            Some(agent) => actor.with_agent(&**agent),
            None => actor,
        })
    }

    /// A client whose commands leave audit records that name this caller.
    pub async fn client(&self, app: &App) -> Result<Client, Problem> {
        Ok(app.client.by(self.actor(app).await?))
    }

    /// The same for requests to create jobs. Only those that may change a stored job leave records.
    pub async fn creator(&self, app: &App, requests: &[JobRequest]) -> Result<Client, Problem> {
        match requests.iter().any(JobRequest::is_unique) {
            true => self.client(app).await,
            false => Ok(app.client.clone()),
        }
    }

    /// Whether a request would still be accepted: the key is not revoked, or none is needed yet.
    pub async fn is_authorized(&self, app: &App) -> Result<bool, Problem> {
        match (self.key, &self.person) {
            (Some(key), _) => {
                let keys = app.keys.get().await?;
                Ok(keys.get(key, app.client.now()).is_some())
            }
            (None, Some((_, token))) => app.sessions.has(token).await,
            (None, None) => Ok(anonymous(app).await?.is_some()),
        }
    }

    /// Waits until this node handles the request. From then on the store is asked for this caller.
    pub async fn enter(&self, app: &App, class: RequestClass) -> Result<(), Problem> {
        let caller = StoreCaller {
            tenant: self.tenant.clone(),
            works: class == RequestClass::Work,
            reads: class == RequestClass::Read,
        };
        if self.key.is_none() && self.person.is_none() {
            // No keys exist yet, so there are no others to wait for.
            caller.enter();
            return Ok(());
        }
        let weight = match class {
            RequestClass::Read => limits::READ_WEIGHT,
            RequestClass::Write | RequestClass::Work => 1,
        };
        let most = limits::REQUESTS_WAITING_PER_TENANT_MAX;
        let entered = caller.enter_through(&app.handling, weight, most);
        entered.await.map_err(|QueueFull| {
            let detail = format!(
                "limit of {most} requests per tenant that wait to be handled by this node reached; \
                 try again"
            );
            Problem::new(StatusCode::TOO_MANY_REQUESTS, "busy", detail)
        })
    }

    pub fn may(self, scopes: &[Scope]) -> Result<Self, Problem> {
        if scopes.contains(&self.scope) {
            return Ok(self);
        }
        let needed: Vec<&str> = scopes.iter().map(|scope| scope.as_str()).collect();
        let (scope, needed) = (self.scope, needed.join(" or "));
        let detail = match self.person {
            Some(_) => format!("your role has scope {scope}; this needs scope {needed}"),
            None => format!(
                "a key with scope {scope} is not allowed to do this; use a key with scope {needed}"
            ),
        };
        Err(Problem::new(StatusCode::FORBIDDEN, "wrong_scope", detail))
    }

    /// Refuses a caller of one tenant: what it asks for is of all tenants.
    pub fn require_all_tenants(&self) -> Result<(), Problem> {
        let Some(tenant) = &self.tenant else {
            return Ok(());
        };
        let detail = match self.person {
            Some(_) => {
                format!("your role is for tenant {tenant} only; this needs one for all tenants")
            }
            None => format!("this key is for tenant {tenant} only; use a key for all tenants"),
        };
        Err(Problem::new(StatusCode::FORBIDDEN, "wrong_scope", detail))
    }

    /// What gives it its rights.
    fn grant(&self) -> &'static str {
        match self.person {
            Some(_) => "your role",
            None => "this key",
        }
    }

    pub fn sees(&self, tenant: &Tenant) -> bool {
        self.tenant.as_ref().is_none_or(|own| own == tenant)
    }

    /// Whether it sees a record of a tenant; one of all tenants only if it sees all.
    pub fn sees_record(&self, tenant: Option<&Tenant>) -> bool {
        tenant.map_or(self.tenant.is_none(), |tenant| self.sees(tenant))
    }

    /// Refuses a caller that may not even read, such as one for metrics only.
    pub fn reads(self) -> Result<Self, Problem> {
        self.may(&[Scope::Admin, Scope::Tenant, Scope::Worker, Scope::Read])
    }

    pub fn may_write(&self) -> bool {
        matches!(self.scope, Scope::Admin | Scope::Tenant)
    }

    /// Whether this caller may report an attempt of a job. Nodes make calls themselves: a worker could
    /// report one that was never made.
    pub fn may_settle(&self, job: &Job) -> bool {
        self.sees(&job.tenant) && (self.may_write() || !job.kind.is_call())
    }

    /// A job, if it exists for this caller.
    pub fn job(&self, job: Option<Job>, id: impl std::fmt::Display) -> Result<Job, Problem> {
        job.filter(|job| self.sees(&job.tenant))
            .map(|job| self.redact_job(job))
            .ok_or_else(|| Problem::not_found(id))
    }

    /// The answer for a row that is stored and cannot be read, if it exists for this caller.
    pub fn damaged(&self, error: &StoreError, id: impl std::fmt::Display) -> Problem {
        let row = error.damaged_row();
        row.and_then(|row| self.damaged_row(row, &id))
            .unwrap_or_else(|| Problem::not_found(&id))
    }

    /// The same, of a row that is known; `None` if it does not exist for this caller.
    pub fn damaged_row(&self, row: &DamagedRow, id: impl std::fmt::Display) -> Option<Problem> {
        if !self.sees_record(row.tenant.as_ref()) {
            return None;
        }
        let detail = format!(
            "{id} is corrupt and cannot be read: {}; `steadfast doctor` lists all corrupt rows",
            row.reason
        );
        Some(Problem::new(StatusCode::CONFLICT, "damaged", detail))
    }

    /// A schedule, if it exists for this caller.
    pub fn schedule(
        &self,
        schedule: Option<Schedule>,
        id: impl std::fmt::Display,
    ) -> Result<Schedule, Problem> {
        schedule
            .filter(|schedule| self.sees(schedule.tenant()))
            .map(|schedule| self.redact_schedule(schedule))
            .ok_or_else(|| Problem::not_found(id))
    }

    /// The tenant of a request: the caller's own, or the one it names if it may see all.
    pub fn choose(&self, named: Option<Tenant>) -> Result<Option<Tenant>, Problem> {
        match (&self.tenant, named) {
            (None, named) => Ok(named),
            (Some(own), None) => Ok(Some(own.clone())),
            (Some(own), Some(named)) if *own == named => Ok(Some(named)),
            (Some(own), Some(_)) => Err(Problem::new(
                StatusCode::FORBIDDEN,
                "wrong_scope",
                format!("{} is for tenant {own} only; omit tenant", self.grant()),
            )
            .at("tenant")),
        }
    }
}

/// The anonymous caller, if no key is needed yet.
pub async fn anonymous(app: &App) -> Result<Option<Caller>, Problem> {
    app.keys.get().await?;
    Ok(app.needs_no_key().then_some(Caller::ANONYMOUS))
}

/// The caller of a session, and its token.
pub async fn session_caller(app: &App, parts: &Parts) -> Result<Option<(Caller, String)>, Problem> {
    let cookies = app.settings.cookies(&parts.extensions);
    let Some(token) = cookies.get(&parts.headers, sessions::COOKIE) else {
        return Ok(None);
    };
    let keys = app.keys.get().await?;
    let now = app.client.now();
    let caller = match app.sessions.find(&token, &keys).await? {
        Some(SessionUser::Key(key)) => keys.get(key, now).map(|known| {
            known.note_use(|| app.node.store(), now);
            Caller::of(&known.key)
        }),
        Some(SessionUser::Person(person)) => Some(Caller::of_person(person, &token)),
        None => None,
    };
    Ok(caller.map(|caller| (caller, token)))
}

async fn caller(parts: &Parts, app: &App) -> Result<Caller, Problem> {
    let caller = authenticate(parts, app).await?;
    let agent = parts.headers.get(AGENT_HEADER);
    let agent = agent.and_then(|agent| agent.to_str().ok());
    let agent = agent.filter(|agent| !agent.is_empty()).map(Arc::from);
    Ok(Caller { agent, ..caller })
}

async fn authenticate(parts: &Parts, app: &App) -> Result<Caller, Problem> {
    if let Some(caller) = anonymous(app).await? {
        return Ok(caller);
    }
    let keys = app.keys.get().await?;
    let refused = |code, detail: &str| Problem::new(StatusCode::UNAUTHORIZED, code, detail);
    let header = parts.headers.get(header::AUTHORIZATION);
    // A page of this server, such as that of the API, calls with the session of its reader.
    if header.is_none()
        && app.own_hosts.require_own_page(&parts.headers).is_ok()
        && let Some((caller, _)) = session_caller(app, parts).await?
    {
        return Ok(caller);
    }
    let header = header.ok_or_else(|| {
        let how =
            "send an API key as Authorization: Bearer sf_…; create one with `steadfast keys create`";
        refused("no_key", how)
    })?;
    let token = header.to_str().ok().and_then(|text| {
        let (scheme, token) = text.split_once(' ')?;
        scheme
            .eq_ignore_ascii_case("bearer")
            .then_some(token.trim())
    });
    let token =
        token.ok_or_else(|| refused("no_key", "the header must be Authorization: Bearer sf_…"))?;
    let refused_key = |code, detail: &str| {
        if let Some(connection) = parts.extensions.get::<Arc<Connection>>() {
            app.refused_keys.add(connection.address);
        }
        refused(code, detail)
    };
    let known = keys.find(token);
    let known = known
        .ok_or_else(|| refused_key("unknown_key", "this API key does not exist or was revoked"))?;
    let now = app.client.now();
    if let Some(at) = known.key.expires_at.filter(|_| known.key.has_expired(now)) {
        let detail = format!("this API key expired at {at}; create a new one");
        return Err(refused_key("expired_key", &detail));
    }
    known.note_use(|| app.node.store(), now);
    Ok(Caller::of(&known.key))
}

macro_rules! permissions {
    ($($(#[$doc:meta])* $name:ident: $($scope:ident)|+, $class:ident;)+) => {
        $(
            $(#[$doc])*
            pub struct $name {
                pub app: Arc<App>,
                pub caller: Caller,
            }

            impl<S: Send + Sync> FromRequestParts<S> for $name
            where
                Arc<App>: FromRef<S>,
            {
                type Rejection = Problem;

                async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
                    let app = Arc::<App>::from_ref(state);
                    let caller = caller(parts, &app).await?;
                    let caller = caller.may(&[$(Scope::$scope),+])?;
                    caller.enter(&app, RequestClass::$class).await?;
                    Ok(Self { app, caller })
                }
            }
        )+
    };
}

permissions! {
    /// May read metrics.
    Monitors: Admin | Tenant | Worker | Read | Metrics, Read;
    /// May read.
    Reads: Admin | Tenant | Worker | Read, Read;
    /// May change things.
    Writes: Admin | Tenant, Write;
    /// May claim jobs and settle them.
    Works: Admin | Tenant | Worker, Work;
}

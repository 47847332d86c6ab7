//! Gates: what is limited, by how much, and what is closed by hand.

use askama::Template;
use axum::extract::State;
use serde_json::{Map, Value, json};
use steadfast_api::{GateBody, TenantQuery};
use steadfast_core::{
    Gate, GateId, GateLimits, GatePatch, GateScope, HoldMode, Rate, Tenant, Timestamp, duration,
};

use crate::{
    api::{self, flow::gates::GatePath},
    dashboard::{
        actions::redirect_back,
        forms::fields::Fields,
        parts::confirm::Confirmation,
        viewer::{Editor, Viewer},
    },
    extract::body::{self, Body, Params},
    http::problem::Problem,
    limits,
    theme::{
        layout::{Layout, render},
        page_error::PageResult,
    },
};

#[derive(Template)]
#[template(path = "lists/gates.html")]
struct GatesPage {
    layout: Layout,
    rows: Vec<GateRow>,
    hidden: usize,
    form: GateForm,
    scopes: &'static [GateScope],
    modes: &'static [HoldMode],
    shows_tenants: bool,
}

struct GateRow {
    id: String,
    scope: GateScope,
    key: String,
    tenant: String,
    limits: String,
    /// How much of them is taken at present.
    used: String,
    pause: String,
    is_paused: bool,
    may_write: bool,
}

/// The limits of a gate as the form shows them.
#[derive(Default)]
struct GateForm {
    /// Whether there is such a gate already.
    is_known: bool,
    id: String,
    scope: String,
    key: String,
    tenant: String,
    max_running: String,
    rate: String,
    retry_share: String,
    weight: String,
    hold: String,
    ordered: bool,
    paused: bool,
    reason: String,
    until: String,
}

pub async fn page(viewer: Viewer) -> PageResult {
    let tenant = viewer.caller.tenant.as_ref();
    let gates = viewer.app.client.gates(tenant).await?;
    let layout = viewer.layout("/gates", "Gates");
    let edited = viewer.fields.get("edit");
    let edited = edited.and_then(|id| gates.iter().find(|gate| id_text(&gate.id) == id));
    let form = match edited {
        Some(gate) => GateForm::of(gate, layout.now),
        None => GateForm {
            scope: viewer.fields.value("scope").to_owned(),
            key: viewer.fields.value("key").to_owned(),
            tenant: viewer.fields.value("tenant").to_owned(),
            ..GateForm::default()
        },
    };
    let hidden = gates.len().saturating_sub(limits::PAGE_GATES_MAX);
    let shown = gates.into_iter().take(limits::PAGE_GATES_MAX);
    let rows = api::flow::gates::with_use(&viewer.app, shown.collect()).await?;
    let rows = rows.into_iter();
    render(&GatesPage {
        rows: rows.map(|gate| gate_row(gate, &viewer, &layout)).collect(),
        hidden,
        form,
        scopes: GateScope::ALL,
        modes: HoldMode::ALL,
        shows_tenants: viewer.caller.tenant.is_none(),
        layout,
    })
}

fn gate_row(body: GateBody, viewer: &Viewer, layout: &Layout) -> GateRow {
    let used = body.describe_use(layout.now);
    let Gate { id, limits } = body.gate;
    // What a tenant may use in all is for others to say.
    let is_own_bound = id.scope == GateScope::Tenant && viewer.caller.tenant.is_some();
    let pause = limits.paused.as_ref();
    GateRow {
        id: id_text(&id),
        limits: limits.describe(),
        used,
        pause: pause.map_or(String::new(), |pause| pause.describe(layout.now)),
        is_paused: pause.is_some_and(|pause| !pause.is_over(layout.now)),
        may_write: layout.may_write && !is_own_bound,
        scope: id.scope,
        tenant: id
            .tenant
            .as_ref()
            .map(Tenant::to_string)
            .unwrap_or_default(),
        key: id.key,
    }
}

impl GateForm {
    fn of(gate: &Gate, now: Timestamp) -> Self {
        fn text<T: ToString>(value: Option<T>) -> String {
            value.map(|value| value.to_string()).unwrap_or_default()
        }
        let Gate { id, limits } = gate;
        let GateLimits { paused, .. } = limits;
        // One that is over would be refused if it were sent back.
        let pause = paused.as_ref().filter(|pause| !pause.is_over(now));
        Self {
            is_known: true,
            id: id_text(id),
            scope: id.scope.to_string(),
            key: id.key.clone(),
            tenant: text(id.tenant.as_ref()),
            max_running: text(limits.max_running),
            rate: text(limits.rate.map(rate_text)),
            retry_share: text(limits.retry_share.map(|share| share.get())),
            weight: text(limits.weight.map(|weight| weight.get())),
            hold: text(limits.hold),
            ordered: limits.ordered,
            paused: pause.is_some(),
            reason: text(pause.and_then(|pause| pause.reason.as_ref())),
            until: text(pause.and_then(|pause| pause.until)),
        }
    }
}

/// As [`Rate`] reads it.
fn rate_text(rate: Rate) -> String {
    let burst = match rate.burst {
        0 => String::new(),
        burst => format!("+{burst}"),
    };
    format!("{}/{}{burst}", rate.limit, duration::format(rate.per))
}

/// A gate in an address or a form. Scopes and tenants have no spaces.
fn id_text(id: &GateId) -> String {
    let tenant = id.tenant.as_ref().map_or("", Tenant::as_str);
    format!("{} {tenant} {}", id.scope, id.key)
}

/// The gate that a form is about, by its id or by its parts.
fn gate_of(form: &Fields) -> Result<(GatePath, TenantQuery), Problem> {
    let (scope, tenant, key) = match form.get("id") {
        Some(id) => {
            let mut parts = id.splitn(3, ' ');
            let mut part = || parts.next().map(str::to_owned);
            match (part(), part(), part()) {
                (Some(scope), Some(tenant), Some(key)) => (scope, tenant, key),
                _ => return Err(Problem::not_found("such gate")),
            }
        }
        None => {
            let field = |name| form.value(name).to_owned();
            (field("scope"), field("tenant"), field("key"))
        }
    };
    let tenant = Some(tenant).filter(|tenant| !tenant.is_empty());
    Ok((GatePath { scope, key }, TenantQuery { tenant }))
}

/// The changes that the form means. In that of a gate that is edited, what is empty is removed and
/// what is not shown stays; in that of a new one, what is empty is not said, and stays if there is
/// such a gate already.
fn changes(form: &Fields) -> Result<GatePatch, Problem> {
    let number = |name: &str| match form.get(name) {
        None => Ok(Value::Null),
        Some(text) => text
            .parse::<serde_json::Number>()
            .map(Value::Number)
            .map_err(|_| Problem::invalid(name, format!("{name} must be a number"))),
    };
    let mut fields = Map::new();
    for name in ["maxRunning", "retryShare", "weight"] {
        fields.insert(name.to_owned(), number(name)?);
    }
    let rate = form.get("rate").map(str::parse::<Rate>).transpose()?;
    fields.insert("rate".to_owned(), json!(rate));
    fields.insert("hold".to_owned(), json!(form.get("hold")));
    let ordered = form.get("ordered").map(|_| true);
    fields.insert("ordered".to_owned(), json!(ordered));
    let paused = form.get("paused").map(|_| {
        let mut pause = Map::new();
        for name in ["reason", "until"] {
            if let Some(text) = form.get(name) {
                pause.insert(name.to_owned(), json!(text));
            }
        }
        pause
    });
    fields.insert("paused".to_owned(), json!(paused));
    if form.get("id").is_none() {
        fields.retain(|_, value| !value.is_null());
    }
    body::parse(Value::Object(fields).to_string().as_bytes())
}

fn confirm_deletion(viewer: &Viewer, form: &Fields) -> PageResult {
    let (path, query) = gate_of(form)?;
    let id = path.writable_id(&query, &viewer.caller)?;
    let confirmation = Confirmation {
        name: id.to_string(),
        consequence: "What it held back may start at once.",
        verb: "Delete gate",
        action: "delete",
        path: "/gates/act".to_owned(),
        id: id_text(&id),
        back: "/gates".to_owned(),
    };
    confirmation.page(viewer, "/gates")
}

/// Calls the API's own functions, so that the same rules hold.
pub async fn act(editor: Editor) -> PageResult {
    let writes = editor.writes();
    let Editor { viewer, form } = editor;
    let (path, query) = gate_of(&form)?;
    let (app, query) = (State(viewer.app.clone()), Params(query));
    let pause =
        |is_paused: bool| body::parse(json!({ "paused": is_paused }).to_string().as_bytes());
    let did = match form.get("action") {
        Some("set") => {
            let changes = changes(&form)?;
            if changes == GatePatch::default() {
                let detail = "a gate needs a limit, such as a number of attempts at once";
                return Err(Problem::invalid("maxRunning", detail).into());
            }
            api::flow::gates::edit(app, writes, path, query, Body(changes)).await?;
            "set"
        }
        Some("pause") => {
            api::flow::gates::edit(app, writes, path, query, Body(pause(true)?)).await?;
            "pause"
        }
        Some("resume") => {
            api::flow::gates::edit(app, writes, path, query, Body(pause(false)?)).await?;
            "resume"
        }
        Some("delete") if form.get("confirmed").is_none() => {
            return confirm_deletion(&viewer, &form);
        }
        Some("delete") => {
            api::flow::gates::delete(app, writes, path, query).await?;
            "delete"
        }
        _ => return Err(Problem::invalid("action", "there is no such action").into()),
    };
    Ok(redirect_back("/gates", did, None))
}

//! Gates: concurrency and rate limits, and manual pauses.

use askama::Template;
use axum::response::IntoResponse as _;
use serde_json::{Map, Value, json};
use steadfast_api::{GateBody, TenantQuery};
use steadfast_core::{
    Gate, GatePatch, GateScope, HoldMode, PaceMode, Rate, Tenant, Timestamp, UnitRate, duration,
};

use crate::{
    api::flow::gates::{self, GatePath},
    dashboard::{
        page::{Editor, Fields, Layout, List, PageResult, Viewer, done, no_such_action, render},
        parts::{Confirmation, cure::gate_text},
    },
    extract::{Body, Params, Writes, body::from_json},
    http::Problem,
    limits,
};

#[derive(Template)]
#[template(path = "lists/gates.html")]
struct GatesPage {
    layout: Layout,
    list: List<GateRow>,
    /// Has an id if it edits a gate. One that was refused holds what was entered.
    form: Fields,
    error: Option<String>,
    scopes: &'static [GateScope],
    modes: &'static [HoldMode],
    paces: &'static [PaceMode],
}

impl GatesPage {
    /// Whether the form has a field that gates of these scopes have. That of a new gate has all.
    fn has_field(&self, scopes: &str) -> bool {
        let edited = self.form.get("id").and_then(|id| id.split(' ').next());
        edited.is_none_or(|scope| scopes.split(' ').any(|it| it == scope))
    }
}

struct GateRow {
    id: String,
    scope: GateScope,
    key: String,
    tenant: String,
    limits: String,
    /// The current use of the limits.
    used: String,
    pause: String,
    is_paused: bool,
    may_write: bool,
}

pub async fn page(viewer: Viewer) -> PageResult {
    page_with(&viewer, None).await
}

/// The page; if a form was refused, with what was entered and why.
async fn page_with(viewer: &Viewer, refused: Option<(Fields, String)>) -> PageResult {
    let tenant = viewer.caller.tenant.as_ref();
    let mut gates = viewer.app.client.gates(tenant).await?;
    let layout = viewer.layout("/gates", "Gates");
    let edited = viewer.fields.get("edit");
    let edited = edited.and_then(|id| gates.iter().find(|gate| gate_text(&gate.id) == id));
    let (refused, error) = refused.unzip();
    let form = match (refused, edited) {
        (Some(refused), _) => refused,
        (None, Some(gate)) => form_of(gate, layout.now),
        (None, None) => {
            let names = ["scope", "key", "tenant"].into_iter();
            let given = names.map(|name| (name, viewer.fields.value(name).to_owned()));
            given.collect()
        }
    };
    let hidden = gates.len().saturating_sub(limits::PAGE_GATES_MAX);
    gates.truncate(limits::PAGE_GATES_MAX);
    let used = gates::with_use(&viewer.app, gates).await?;
    let row = |gate| gate_row(gate, viewer, &layout);
    render(&GatesPage {
        list: List {
            hidden,
            ..List::first(used, limits::PAGE_GATES_MAX, row)
        },
        form,
        error,
        scopes: GateScope::ALL,
        modes: HoldMode::ALL,
        paces: PaceMode::ALL,
        layout,
    })
}

fn gate_row(body: GateBody, viewer: &Viewer, layout: &Layout) -> GateRow {
    let used = body.describe_use(layout.now);
    let Gate { id, limits } = body.gate;
    // A tenant cannot change its own total limit.
    let is_own_bound = id.scope == GateScope::Tenant && viewer.caller.tenant.is_some();
    let pause = limits.paused.as_ref();
    GateRow {
        id: gate_text(&id),
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

/// The limits of a gate as the form shows them.
fn form_of(gate: &Gate, now: Timestamp) -> Fields {
    fn text<T: ToString>(value: Option<T>) -> String {
        value.map(|value| value.to_string()).unwrap_or_default()
    }
    let Gate { id, limits } = gate;
    // One that is over would be refused if it were sent back.
    let pause = limits.paused.as_ref().filter(|pause| !pause.is_over(now));
    Fields::from_iter([
        ("id", gate_text(id)),
        ("scope", id.scope.to_string()),
        ("key", id.key.clone()),
        ("maxRunning", text(limits.max_running)),
        ("maxWaiting", text(limits.max_waiting)),
        ("rate", text(limits.rate.map(rate_text))),
        ("rates", UnitRate::write_all(&limits.rates)),
        ("retryShare", text(limits.retry_share.map(|it| it.get()))),
        ("weight", text(limits.weight.map(|it| it.get()))),
        ("hold", text(limits.hold)),
        ("pace", text(limits.pace)),
        ("ordered", text(limits.ordered.then_some(1))),
        ("paused", text(pause.map(|_| 1))),
        ("reason", text(pause.and_then(|it| it.reason.as_ref()))),
        ("until", text(pause.and_then(|it| it.until))),
    ])
}

/// As [`Rate`] reads it.
fn rate_text(rate: Rate) -> String {
    let burst = match rate.burst {
        0 => String::new(),
        burst => format!("+{burst}"),
    };
    format!("{}/{}{burst}", rate.limit, duration::format(rate.per))
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

/// The changes of the form. When a gate is edited, empty fields remove their limit and fields that
/// the form does not show are kept. For a new gate, empty fields change nothing.
fn changes(form: &Fields) -> Result<GatePatch, Problem> {
    let number = |name: &str| match form.get(name) {
        None => Ok(Value::Null),
        Some(text) => text
            .parse::<serde_json::Number>()
            .map(Value::Number)
            .map_err(|_| Problem::invalid(name, format!("{name} must be a number"))),
    };
    let mut fields = Map::new();
    for name in ["maxRunning", "maxWaiting", "retryShare", "weight"] {
        fields.insert(name.to_owned(), number(name)?);
    }
    let rate = form.get("rate").map(str::parse::<Rate>).transpose()?;
    fields.insert("rate".to_owned(), json!(rate));
    let rates = form.get("rates").map(UnitRate::read_all).transpose()?;
    fields.insert("rates".to_owned(), json!(rates));
    for name in ["hold", "pace"] {
        fields.insert(name.to_owned(), json!(form.get(name)));
    }
    let ordered = form.get("ordered").map(|_| true);
    fields.insert("ordered".to_owned(), json!(ordered));
    let paused = form.get("paused").map(|_| form.json(&["reason", "until"]));
    fields.insert("paused".to_owned(), json!(paused));
    if form.get("id").is_none() {
        fields.retain(|_, value| !value.is_null());
    }
    from_json(&fields).map(|Body(changes)| changes)
}

async fn set(writes: Writes, form: &Fields) -> Result<(), Problem> {
    let (path, query) = gate_of(form)?;
    let changes = changes(form)?;
    if changes == GatePatch::default() {
        let detail = "a gate needs a limit, such as a maximum of concurrent attempts";
        return Err(Problem::invalid("maxRunning", detail));
    }
    gates::edit(writes, path, Params(query), Body(changes)).await?;
    Ok(())
}

/// Calls the API's own functions, so that the same rules hold.
pub async fn act(editor: Editor) -> PageResult {
    let writes = editor.writes();
    let Editor { viewer, form } = editor;
    if form.get("action") == Some("set") {
        return match set(writes, &form).await {
            Ok(()) => done("/gates", "set"),
            Err(problem) => {
                let status = problem.status;
                let page = page_with(&viewer, Some((form, problem.detail))).await?;
                Ok((status, page).into_response())
            }
        };
    }
    let (path, query) = gate_of(&form)?;
    let pause = |is_paused: bool| from_json(&json!({ "paused": is_paused }));
    let (changes, did) = match form.get("action") {
        Some("pause") => (pause(true)?, "pause"),
        Some("resume") => (pause(false)?, "resume"),
        Some("delete") if !form.is_confirmed() => {
            let id = path.writable_id(&query, &viewer.caller)?;
            return Confirmation::new("/gates", "Delete gate", id.to_string(), gate_text(&id))
                .page(&viewer, "Jobs that it held back may start at once.");
        }
        Some("delete") => {
            gates::delete(writes, path, Params(query)).await?;
            return done("/gates", "delete");
        }
        _ => return Err(no_such_action()),
    };
    gates::edit(writes, path, Params(query), changes).await?;
    done(form.get("back").unwrap_or("/gates"), did)
}

//! `steadfast keys`: over the API, or straight in the store for the first one, which nobody could
//! ask the API for.

use std::sync::Arc;

use clap::Subcommand;
use serde::Deserialize;
use serde_json::{Value, json};
use steadfast::{Tenant, Timestamp, store::Store};
use steadfast_server::keys::{self, NewKey, Scope};

use super::said;
use crate::{
    exit::{ExitError, Problem, usage},
    remote::{Remote, part},
    say::{self, say},
    settings::StoreAt,
    show::{age, lines_of, now, plain},
};

#[derive(clap::Args)]
#[command(
    after_help = "Scopes: admin (everything, of all tenants), tenant (everything of one tenant), worker\n(claiming jobs and saying how they went), read (looking).\n\nExamples:\n  steadfast keys create --store sqlite:steadfast.db --scope admin\n  steadfast keys create --scope tenant --tenant acme --name 'acme backend'\n  steadfast keys list"
)]
pub struct Args {
    #[command(flatten)]
    remote: Remote,
    /// Work on this store itself and not over the API; for the first key.
    #[arg(long, global = true, value_name = "STORE")]
    store: Option<StoreAt>,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Make a key. Its token is shown this once.
    #[command(
        after_help = "Examples:\n  steadfast keys create --store sqlite:steadfast.db --scope admin\n  steadfast keys create --scope worker --name 'image workers'"
    )]
    Create {
        /// admin, tenant, worker or read.
        #[arg(long)]
        scope: String,
        /// Whose things it sees; all where nobody says, of scope worker and read.
        #[arg(long)]
        tenant: Option<String>,
        /// For people.
        #[arg(long, default_value = "", hide_default_value = true)]
        name: String,
    },
    /// List keys, oldest first, without their tokens.
    #[command(after_help = "Example:\n  steadfast keys list --store sqlite:steadfast.db")]
    List,
    /// Take a key back. Nodes forget it within seconds.
    #[command(after_help = "Example:\n  steadfast keys delete key_…")]
    Delete { id: String },
}

const FIRST_KEY: &str = "This is the first key: from now on every request needs one, and jobs may connect to public\naddresses only, unless the settings say otherwise.";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct KeyView {
    id: String,
    name: String,
    scope: String,
    tenant: Option<String>,
    created_at: Timestamp,
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    let (remote, verb) = (&args.remote, args.verb);
    let answer = match &args.store {
        Some(store) => in_store(&*open(store).await?, &verb).await?,
        None => over_api(remote, &verb).await?,
    };
    if remote.json {
        return Ok(say::json(&answer)?);
    }
    match verb {
        Verb::Create { .. } => {
            made(&answer)?;
            let was_open = args.store.is_none() && remote.api_key.is_none();
            match was_open {
                true => Ok(say!("{FIRST_KEY}")?),
                false => Ok(()),
            }
        }
        Verb::List => list(&answer),
        Verb::Delete { id } => Ok(say!("{id} is gone")?),
    }
}

async fn open(store: &StoreAt) -> anyhow::Result<Arc<dyn Store>> {
    match store.is_durable() {
        // Sharing only matters where the file is ours for the first time.
        true => store.open(false).await,
        false => Err(usage(
            "keys in memory: would be gone at once; use --store sqlite:FILE",
        )),
    }
}

async fn over_api(remote: &Remote, verb: &Verb) -> anyhow::Result<Value> {
    match verb {
        Verb::Create {
            scope,
            tenant,
            name,
        } => {
            let body = said([
                ("scope", Some(scope.as_str().into())),
                ("tenant", tenant.as_deref().map(Value::from)),
                ("name", Some(name.as_str().into())),
            ]);
            remote.post("/keys", body).await
        }
        Verb::List => remote.get("/keys", &[]).await,
        Verb::Delete { id } => remote.delete(&format!("/keys/{}", part(id))).await,
    }
}

/// The same answers as the API's.
async fn in_store(store: &dyn Store, verb: &Verb) -> anyhow::Result<Value> {
    let shown = |key: &keys::Key| {
        json!({"id": key.id, "name": key.name, "scope": key.scope, "tenant": key.tenant,
            "createdAt": key.created_at})
    };
    match verb {
        Verb::Create {
            scope,
            tenant,
            name,
        } => {
            let invalid = |error: steadfast::Invalid| usage(error.to_string());
            let new = NewKey {
                name: name.clone(),
                scope: scope.parse::<Scope>().map_err(invalid)?,
                tenant: tenant
                    .as_deref()
                    .map(Tenant::new)
                    .transpose()
                    .map_err(invalid)?,
            };
            let (key, token) = keys::create(store, new).await?;
            let mut made = shown(&key);
            made["token"] = token.reveal().into();
            Ok(made)
        }
        Verb::List => {
            let keys: Vec<Value> = keys::list(store).await?.iter().map(shown).collect();
            Ok(json!({"keys": keys}))
        }
        Verb::Delete { id } => {
            let parsed = id.parse().ok();
            let gone = match parsed {
                Some(id) => keys::delete(store, id).await?,
                None => false,
            };
            match gone {
                true => Ok(json!({})),
                false => Err(ExitError::Refused(Problem {
                    status: 404,
                    code: "not_found".to_owned(),
                    detail: format!("there is no {id}"),
                    field: None,
                })
                .into()),
            }
        }
    }
}

fn made(answer: &Value) -> anyhow::Result<()> {
    let of = |name: &str| answer[name].as_str().unwrap_or_default();
    say!(
        "{} made, of scope {}; its token is shown this once:",
        of("id"),
        of("scope")
    )?;
    say!("{}", of("token"))?;
    Ok(say!(
        "use it as STEADFAST_API_KEY, or as Authorization: Bearer …"
    )?)
}

fn list(answer: &Value) -> anyhow::Result<()> {
    let keys: Vec<KeyView> = serde_json::from_value(answer["keys"].clone())?;
    if keys.is_empty() {
        return Ok(say!("no keys")?);
    }
    let now = now();
    let mut table = plain(["id", "scope", "tenant", "name", "age"]);
    for key in keys {
        let tenant = key.tenant.unwrap_or_else(|| "all".to_owned());
        table.add_row(vec![
            key.id,
            key.scope,
            tenant,
            key.name,
            age(key.created_at, now),
        ]);
    }
    Ok(say!("{}", lines_of(&table))?)
}

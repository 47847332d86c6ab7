//! `steadfast keys`: over the API, or in the store itself for the first key, which the API of a
//! server that needs one cannot create.

use std::sync::Arc;

use anyhow::{Context as _, bail};
use clap::Subcommand;
use steadfast::{Tenant, Timestamp, operation::Actor, store::Store};
use steadfast_api::{CreateKeyRequest, KeyBody, KeyList, KeyWithToken, PageQuery, Scope};
use steadfast_server::keys::{self, NewKey, Revocation};

use super::rotation;
use crate::verbs::the_only_one;
use crate::{
    exit::{ExitError, usage},
    output::{self, print_line},
    page::print_rows,
    server_args::{ConfirmArgs, Server, ServerArgs},
    settings::{DurationArg, EncryptionArgs, StoreUrl},
    show::{age, now},
};

#[derive(clap::Args)]
#[command(
    after_help = "Scopes: admin (full access to all tenants), tenant (full access to one tenant), worker\n(claim and settle jobs), read (read only), metrics (/metrics only).\n\nExamples:\n  steadfast keys create --store sqlite:steadfast.db --scope admin\n  steadfast keys create --scope tenant --tenant acme --name 'acme backend'\n  steadfast keys list"
)]
pub struct Args {
    #[command(flatten)]
    server: ServerArgs,
    /// Access this store directly instead of the API; required for the first key.
    #[arg(long, global = true, value_name = "STORE")]
    store: Option<StoreUrl>,
    #[command(flatten)]
    encryption: EncryptionArgs,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Create a key. Its token is shown once.
    #[command(
        after_help = "Examples:\n  steadfast keys create --store sqlite:steadfast.db --scope admin\n  steadfast keys create --scope worker --name 'image workers'"
    )]
    Create {
        /// Scope of the key: admin, tenant, worker, read or metrics.
        #[arg(long)]
        scope: Scope,
        /// Tenant of the key [default: all tenants, for scope worker, read and metrics].
        #[arg(long)]
        tenant: Option<String>,
        /// Name of the key.
        #[arg(long, default_value = "", hide_default_value = true)]
        name: String,
        /// Expire the key after this duration, e.g. 90d [default: never].
        #[arg(long, value_name = "DURATION")]
        expires: Option<DurationArg>,
    },
    /// Encrypt everything in the store with the first key of the key file, as an operation that any
    /// node can continue.
    #[command(
        after_help = "Afterwards the other keys can be removed from the file. Every node must have been started with\nthe new key first. With --store, this command works as well, and no node has to run.\n\nExamples:\n  steadfast keys rotate-encryption\n  steadfast keys rotate-encryption --store sqlite:steadfast.db --encryption-key-file encryption.keys"
    )]
    RotateEncryption,
    /// List keys, oldest first, without their tokens.
    #[command(after_help = "Example:\n  steadfast keys list --store sqlite:steadfast.db")]
    List,
    /// Revoke a key. Nodes reject it within seconds.
    #[command(
        after_help = "Examples:\n  steadfast keys delete key_…\n  steadfast keys delete 'image workers'"
    )]
    Delete {
        /// Id or name of the key.
        #[arg(value_name = "KEY")]
        id: String,
        #[command(flatten)]
        confirm: ConfirmArgs,
    },
}

const FIRST_KEY: &str = "This is the first key. From now on every request requires a key. After a restart, jobs may\nconnect only to public addresses unless the settings allow more.";

pub async fn run(args: Args) -> anyhow::Result<()> {
    let is_json = args.server.json;
    match args.store {
        Some(store) if matches!(args.verb, Verb::RotateEncryption) => {
            rotation::in_store(&store, &args.encryption, is_json).await
        }
        Some(store) => in_store(&*open(&store, &args.encryption).await?, args.verb, is_json).await,
        None => over_api(&args.server.connect()?, args.verb).await,
    }
}

async fn over_api(server: &Server, verb: Verb) -> anyhow::Result<()> {
    let client = &server.client;
    match verb {
        Verb::Create {
            scope,
            tenant,
            name,
            expires,
        } => {
            let request = CreateKeyRequest {
                name,
                scope,
                tenant,
                expires_at: expires.map(|after| now().plus(after.0)),
            };
            if let Some(created) = server.call(client.create_key(&request)).await? {
                print_token(&created)?;
                if !server.has_key {
                    print_line!("{FIRST_KEY}")?;
                }
            }
        }
        Verb::RotateEncryption => rotation::over_api(server).await?,
        Verb::List => {
            let list = all_keys(server).await?;
            server.print(&list, print_list)?;
        }
        Verb::Delete { id, confirm } => {
            let id = match id.starts_with("key_") {
                true => id,
                false => id_by_name(&all_keys(server).await?, &id)?,
            };
            server.confirm_in_production(&format!("revoke {id}?"), confirm.yes)?;
            if server.call(client.revoke_key(&id)).await?.is_some() {
                print_line!("{id} revoked")?;
            }
        }
    }
    Ok(())
}

async fn all_keys(server: &Server) -> anyhow::Result<KeyList> {
    let page = |after| PageQuery {
        after,
        ..PageQuery::default()
    };
    let list = server.fetch_pages(|after| server.client.list_keys(&page(after)));
    list.await
}

async fn stored_keys(store: &dyn Store) -> anyhow::Result<KeyList> {
    let keys = keys::list(store).await.context("cannot list keys")?;
    Ok(KeyList {
        keys: keys.iter().map(KeyBody::from).collect(),
        next_cursor: None,
    })
}

fn id_by_name(list: &KeyList, name: &str) -> anyhow::Result<String> {
    let named = list.keys.iter().filter(|key| key.name == name);
    the_only_one(named.map(|key| key.id), "key", name)
}

async fn open(store: &StoreUrl, encryption: &EncryptionArgs) -> anyhow::Result<Arc<dyn Store>> {
    if !store.is_durable() {
        return Err(usage(
            "a key in a memory: store would be lost immediately; use --store sqlite:FILE",
        ));
    }
    // Sharing only matters for a file that is new to Steadfast.
    store.open(encryption.options()?, None).await
}

async fn in_store(store: &dyn Store, verb: Verb, is_json: bool) -> anyhow::Result<()> {
    match verb {
        Verb::Create {
            scope,
            tenant,
            name,
            expires,
        } => {
            let tenant = tenant.as_deref().map(Tenant::new).transpose();
            let tenant = tenant.map_err(|error| usage(error.to_string()))?;
            let new = NewKey {
                name,
                scope,
                tenant,
                expires_at: expires.map(|after| store.now().plus(after.0)),
                created_by: None,
                created_by_person: None,
                by: Some(Actor::named("cli")),
            };
            let (key, token) = keys::create(store, new).await?;
            let created = KeyWithToken {
                key: KeyBody::from(&key),
                token: token.reveal().to_owned(),
            };
            if is_json {
                return output::print_json(&created);
            }
            print_token(&created)
        }
        Verb::RotateEncryption => Ok(()),
        Verb::List => {
            let list = stored_keys(store).await?;
            if is_json {
                return output::print_json(&list);
            }
            print_list(&list)
        }
        Verb::Delete { id, .. } => {
            let id = match id.starts_with("key_") {
                true => id,
                false => id_by_name(&stored_keys(store).await?, &id)?,
            };
            let revocation = match id.parse() {
                Ok(id) => keys::revoke(store, id, Some(Actor::named("cli"))).await?,
                Err(_) => Revocation::NotFound,
            };
            match revocation {
                Revocation::Done => {}
                Revocation::NotFound => {
                    let sentence = format!("there is no {id} (not_found)");
                    return Err(ExitError::NotFound(sentence).into());
                }
                Revocation::LastAdmin => {
                    bail!("this is the last admin key; create another one first")
                }
                Revocation::Contended => {
                    bail!("other admin keys are being revoked concurrently; try again")
                }
            }
            if is_json {
                return output::print_json(&serde_json::json!({}));
            }
            Ok(print_line!("{id} revoked")?)
        }
    }
}

fn print_token(created: &KeyWithToken) -> anyhow::Result<()> {
    print_line!(
        "{} created with scope {}; this token will not be shown again:",
        created.key.id,
        created.key.scope
    )?;
    print_line!("{}", created.token)?;
    Ok(print_line!(
        "pass it as STEADFAST_API_KEY, or as Authorization: Bearer …"
    )?)
}

fn print_list(list: &KeyList) -> anyhow::Result<()> {
    let now = now();
    print_rows(
        &list.keys,
        "no keys",
        [
            "id",
            "scope",
            "tenant",
            "name",
            "age",
            "last used",
            "expires",
        ],
        None,
        |key| {
            let tenant = key.tenant.as_ref();
            vec![
                key.id.to_string(),
                key.scope.to_string(),
                tenant.map_or("all".to_owned(), ToString::to_string),
                key.name.clone(),
                age(key.created_at, now),
                key.last_used_at
                    .map_or("never".to_owned(), |at| age(at, now)),
                expiry(key.expires_at, now),
            ]
        },
    )
}

fn expiry(at: Option<Timestamp>, now: Timestamp) -> String {
    match at {
        None => "never".to_owned(),
        Some(at) if at <= now => "expired".to_owned(),
        Some(at) => format!("in {}", age(now, at)),
    }
}

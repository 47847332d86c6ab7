//! Who may use the API, and what follows from it for the addresses that jobs may connect to.

use anyhow::{Context as _, bail};
use steadfast::{http::AddressPolicy, store::Store};
use steadfast_server::{admin_key, keys};

use crate::{
    exit::usage,
    output::print_line,
    settings::{LogFormat, Settings, StoreUrl},
};

const ADMIN_KEY: &str = "STEADFAST_ADMIN_KEY";

pub struct Access {
    /// Requests need no key, because no key exists yet.
    pub open: bool,
    pub outbound: AddressPolicy,
}

impl Access {
    /// Refuses an insecure listen address before the store is opened, so that no new store is
    /// created in vain.
    pub fn check_before_opening(settings: &Settings) -> anyhow::Result<()> {
        let has_no_keys = match &settings.store {
            StoreUrl::Sqlite(path) => !path.exists(),
            StoreUrl::Memory => true,
            StoreUrl::Postgres(_) => false,
        };
        let has_people = settings.oidc.issuer.is_some();
        let gets_one = settings.print_first_key || given_key()?.is_some() || has_people;
        if has_no_keys && !settings.is_loopback() && !gets_one {
            bail!(refusal(settings));
        }
        Ok(())
    }

    /// Without keys only this machine may connect. A caller on this machine can connect to any
    /// address anyway, so its jobs may, too.
    pub async fn decide(settings: &Settings, store: &dyn Store) -> anyhow::Result<Self> {
        if let Some(key) = given_key()? {
            admin_key::ensure(store, &key, ADMIN_KEY).await?;
        }
        let mut has_keys = keys::exist(store).await?;
        if !has_keys && settings.print_first_key {
            make_first_key(settings, store).await?;
            has_keys = true;
        }
        // People who sign in can create keys.
        has_keys |= settings.oidc.issuer.is_some();
        let is_loopback = settings.is_loopback();
        if !is_loopback && !has_keys {
            bail!(refusal(settings));
        }
        let open = is_loopback && !has_keys;
        let default = if open {
            AddressPolicy::Any
        } else {
            AddressPolicy::Public
        };
        Ok(Self {
            open,
            outbound: settings.outbound.policy.map_or(default, Into::into),
        })
    }
}

/// The admin key that the operator gives, for containers. It is no flag, because other users of a
/// machine can read those.
fn given_key() -> anyhow::Result<Option<String>> {
    let Some(key) = std::env::var_os(ADMIN_KEY).filter(|key| !key.is_empty()) else {
        return Ok(None);
    };
    let key = key.to_string_lossy().into_owned();
    admin_key::check(&key).map_err(|error| usage(error.to_string()))?;
    Ok(Some(key))
}

/// Prints a new admin key and then stores it: a key that could not be printed must not be the only
/// one. Nodes that start at the same time on an empty database each create and print one.
async fn make_first_key(settings: &Settings, store: &dyn Store) -> anyhow::Result<()> {
    let key = admin_key::generate();
    let printed = match settings.log.format {
        LogFormat::Text => print_line!("first API key, not shown again: {key}"),
        // A program reads these lines.
        LogFormat::Json => print_line!(
            "{}",
            serde_json::json!({"message": "first API key, not shown again", "key": key})
        ),
    };
    printed.context("cannot print the first API key")?;
    admin_key::ensure(store, &key, "first key").await?;
    Ok(())
}

fn refusal(settings: &Settings) -> String {
    let what_to_do = match settings.store {
        StoreUrl::Memory => {
            format!(
                "a memory: store has no keys at start; set {ADMIN_KEY}, or run `steadfast serve --store sqlite:FILE`"
            )
        }
        _ => format!(
            "create the first key:\n    steadfast keys create --store {} --scope admin\n  or set {ADMIN_KEY} to a random value, e.g. from `openssl rand -hex 32`",
            settings.store
        ),
    };
    let plain = settings
        .tls
        .plain_listen
        .filter(|it| !it.ip().is_loopback());
    let (address, flag) = match plain {
        Some(plain) if settings.listen.ip().is_loopback() => (plain, "--plain-listen"),
        _ => (settings.listen, "--listen"),
    };
    format!(
        "refusing to listen on {address}: other machines can connect there, and no API key exists yet\n  {what_to_do}\n  or listen on loopback only: {flag} 127.0.0.1:{}",
        address.port(),
    )
}

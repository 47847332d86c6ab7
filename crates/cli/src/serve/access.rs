//! Who may use the API, and what that means for where jobs may connect to.

use anyhow::bail;
use steadfast::{http::AddressPolicy, store::Store};

use crate::settings::{Settings, StoreAt};

pub struct Access {
    /// Until there is a key, none is needed.
    pub open: bool,
    pub outbound: AddressPolicy,
}

impl Access {
    /// Refuses what needs no look into the store, so that a store which is not there yet is not
    /// made only to be found empty.
    pub fn before_opening(settings: &Settings) -> anyhow::Result<()> {
        let has_no_keys = match &settings.store {
            StoreAt::Sqlite(path) => !path.exists(),
            StoreAt::Memory => true,
            StoreAt::Postgres(_) => false,
        };
        if has_no_keys && !settings.listen.ip().is_loopback() {
            bail!(refusal(settings));
        }
        Ok(())
    }

    /// Without keys only this machine may connect: whoever can is on it already, so that a job
    /// may connect to whatever its maker could.
    pub async fn decide(settings: &Settings, store: &dyn Store) -> anyhow::Result<Self> {
        let has_keys = !steadfast_server::keys::list(store).await?.is_empty();
        let is_loopback = settings.listen.ip().is_loopback();
        if !is_loopback && !has_keys {
            bail!(refusal(settings));
        }
        let open = is_loopback && !has_keys;
        let usual = match open {
            true => AddressPolicy::Any,
            false => AddressPolicy::Public,
        };
        Ok(Self {
            open,
            outbound: settings.outbound.policy.map_or(usual, Into::into),
        })
    }
}

fn refusal(settings: &Settings) -> String {
    let what_to_do = match settings.store {
        StoreAt::Memory => {
            "a store in memory has none when it starts; use --store sqlite:FILE".to_owned()
        }
        _ => format!(
            "make the first one:\n    steadfast keys create --store {} --scope admin",
            settings.store
        ),
    };
    format!(
        "will not listen on {}: others can connect there, and there is no API key yet\n  {what_to_do}\n  or listen where only this machine can connect: --listen 127.0.0.1:{}",
        settings.listen,
        settings.listen.port(),
    )
}

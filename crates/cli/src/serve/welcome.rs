//! The first thing a person sees: where everything is, and what to do next.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use super::Access;
use crate::{
    say::say,
    settings::{LogFormat, Settings, StoreAt},
};

/// A node that nobody listens to any more still runs, so nothing here can fail.
pub fn say(settings: &Settings, access: &Access, address: SocketAddr) {
    // A program that reads JSON must not find a poem before it.
    if settings.log.format == LogFormat::Json {
        tracing::info!(url = %format!("http://{address}"), store = %settings.store, "listening");
        return;
    }
    for line in lines(settings, access, address) {
        let _gone = say!("{line}");
    }
}

pub fn goodbye(settings: &Settings) {
    match settings.log.format {
        LogFormat::Json => tracing::info!("stopped"),
        LogFormat::Text => {
            let _gone = say!("stopped");
        }
    }
}

fn lines(settings: &Settings, access: &Access, address: SocketAddr) -> Vec<String> {
    let url = reachable(address);
    let store = match settings.store {
        StoreAt::Memory => "memory:, gone when this process ends".to_owned(),
        _ => format!("{}, durable", settings.store),
    };
    let keys = match access.open {
        true => "none needed on this machine until you make one: steadfast keys create",
        false => "needed: Authorization: Bearer sf_… (steadfast keys create)",
    };
    let outbound = match settings.outbound.allow.as_slice() {
        [] => access.outbound.to_string(),
        allow => format!("{}, and {}", access.outbound, allow.join(", ")),
    };
    let key = match access.open {
        true => "",
        false => " -H 'authorization: Bearer sf_…'",
    };
    let at = match address == Settings::default().listen {
        true => String::new(),
        false => format!(" --url {url}"),
    };
    vec![
        format!(
            "Steadfast {} on http://{address}",
            env!("CARGO_PKG_VERSION")
        ),
        format!("  store     {store}"),
        format!("  dashboard {url}/"),
        format!("  API       {url}/api/docs"),
        format!("  health    {url}/healthz, {url}/readyz"),
        format!("  metrics   {url}/metrics"),
        format!("  API keys  {keys}"),
        format!("  outbound  jobs may connect to {outbound} addresses"),
        "  next      make a job, and watch it:".to_owned(),
        format!("    curl {url}/api/v1/jobs{key} -H 'content-type: application/json' \\"),
        r#"      -d '{"api": "https://example.com/", "maxRetryCount": 3}'"#.to_owned(),
        format!("    steadfast jobs watch{at}"),
        "  stop      Ctrl-C".to_owned(),
    ]
}

/// Where a browser on this machine finds it: nobody can connect to "every address".
pub fn reachable(mut address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        address.set_ip(match address {
            SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    format!("http://{address}")
}

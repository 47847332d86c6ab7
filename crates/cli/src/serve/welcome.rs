//! The first lines a person sees: where everything is, and what to do next.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use steadfast::http::AddressPolicy;

use super::Access;
use crate::{
    output::print_line,
    settings::{LogFormat, Settings, StoreUrl},
};

/// Prints the start banner. A node whose output is closed still runs, so nothing here can fail.
pub fn print_welcome(settings: &Settings, access: &Access, address: SocketAddr) {
    // A program that reads JSON lines must not find text before them.
    if settings.log.format == LogFormat::Json {
        let scheme = scheme(settings.tls.cert.is_some());
        tracing::info!(url = %format!("{scheme}://{address}"), store = %settings.store, "listening");
        return;
    }
    for line in lines(settings, access, address) {
        let _closed = print_line!("{line}");
    }
}

pub fn print_goodbye(settings: &Settings) {
    match settings.log.format {
        LogFormat::Json => tracing::info!("stopped"),
        LogFormat::Text => {
            let _closed = print_line!("stopped");
        }
    }
}

fn lines(settings: &Settings, access: &Access, address: SocketAddr) -> Vec<String> {
    let is_tls = settings.tls.cert.is_some();
    let local = local_url(address, is_tls);
    let url = settings.public_url.clone().unwrap_or(local);
    let store = match settings.store {
        StoreUrl::Memory => "memory: (all data is lost when this process stops)".to_owned(),
        _ => format!("{} (durable)", settings.store),
    };
    let mut outbound = match access.outbound {
        AddressPolicy::Any => "any address".to_owned(),
        policy => format!("{policy} addresses"),
    };
    if !settings.outbound.allow.is_empty() {
        let allow = settings.outbound.allow.join(", ");
        outbound.push_str(&format!(", and {allow}"));
    }
    let (keys, header) = if access.open {
        (
            "not required until you create one: steadfast keys create",
            "",
        )
    } else {
        (
            "required: Authorization: Bearer sf_… (create one with steadfast keys create)",
            " -H 'authorization: Bearer sf_…'",
        )
    };
    let server = if url == local_url(Settings::default().listen, false) {
        String::new()
    } else {
        format!(" --url {url}")
    };
    vec![
        format!(
            "Steadfast {} on {}://{address}",
            env!("CARGO_PKG_VERSION"),
            scheme(is_tls)
        ),
        format!("  store     {store}"),
        format!("  dashboard {url}/"),
        format!("  book      {url}/docs/"),
        format!("  API       {url}/api/docs"),
        format!("  health    {url}/healthz, {url}/readyz"),
        format!("  metrics   {url}/metrics"),
        format!("  API keys  {keys}"),
        format!("  outbound  jobs may connect to {outbound}"),
        "  next      create a job and watch it:".to_owned(),
        format!("    curl {url}/api/v1/jobs{header} -H 'content-type: application/json' \\"),
        r#"      -d '{"api": "https://example.com/", "maxRetryCount": 3}'"#.to_owned(),
        format!("    steadfast jobs watch{server}"),
        "  stop      Ctrl-C".to_owned(),
    ]
}

/// The URL for a client on this machine: `0.0.0.0` accepts connections, but is no address to
/// connect to.
pub fn local_url(mut address: SocketAddr, is_tls: bool) -> String {
    if address.ip().is_unspecified() {
        address.set_ip(match address {
            SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    format!("{}://{address}", scheme(is_tls))
}

fn scheme(is_tls: bool) -> &'static str {
    if is_tls { "https" } else { "http" }
}

//! The requests that a browser may send on behalf of a page.
//!
//! A server that needs no key trusts every caller that can connect, and every page in every browser on this
//! machine can. Two checks keep pages of other sites out:
//!
//! * **The host.** A site can point its own name at 127.0.0.1, and the browser then takes the
//!   server for a part of that site. Only the `Host` header tells, so while no key is needed the
//!   server answers to loopback names and to allowed ones, and to no other.
//! * **The origin.** A browser says which site caused a request (`Sec-Fetch-Site`, or `Origin` in
//!   older ones), and a page cannot change that. What another site caused is refused, keys or not:
//!   bodies and cookies do not protect an address that needs neither. Only a link that a person
//!   follows may come from elsewhere. Programs send neither header.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, HeaderName, Method, StatusCode, Uri, Version, header, uri::Authority};

use crate::http::problem::Problem;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Refuses a request that names no host, or several: a proxy in front of this server may have
/// read another one out of it.
pub fn check_form(version: Version, headers: &HeaderMap) -> Result<(), Problem> {
    let hosts = headers.get_all(header::HOST).iter().count();
    let is_right = match version {
        Version::HTTP_11 => hosts == 1,
        _ => hosts <= 1,
    };
    if is_right {
        return Ok(());
    }
    let detail = format!("a request must have exactly one Host header; this one has {hosts}");
    Err(Problem::new(StatusCode::BAD_REQUEST, "bad_host", detail))
}

/// The hosts and origins that are this server's own.
#[derive(Clone, Debug)]
pub struct OwnHosts {
    addresses: Vec<ListenAddress>,
    /// Names from the settings, in lower case, each with a port or for every port.
    allowed: Vec<String>,
}

#[derive(Clone, Debug)]
struct ListenAddress {
    address: SocketAddr,
    is_tls: bool,
    /// The address as clients write it, which needs no closer look.
    usual: String,
}

impl OwnHosts {
    /// The addresses, each with whether it has TLS, and the names from the settings.
    pub fn new(addresses: &[(SocketAddr, bool)], allowed: &[String]) -> Self {
        let allowed = allowed.iter().map(|host| host.trim().to_ascii_lowercase());
        let addresses = addresses.iter().map(|&(address, is_tls)| ListenAddress {
            address,
            is_tls,
            usual: address.to_string(),
        });
        Self {
            addresses: addresses.collect(),
            allowed: allowed.collect(),
        }
    }

    /// Refuses a request for a host that is not this server, for use while no key is needed.
    pub fn check_host(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
        let host = headers.get(header::HOST);
        let host = host.and_then(|host| host.to_str().ok()).unwrap_or("");
        let is_named_in_uri = uri.authority().map(Authority::as_str);
        let mut named = [Some(host), is_named_in_uri].into_iter().flatten();
        if named.all(|host| self.is_own(host)) {
            return Ok(());
        }
        let own = self.addresses.first().map_or(String::new(), |it| {
            let scheme = if it.is_tls { "https" } else { "http" };
            format!("{scheme}://{}", it.address)
        });
        let detail = format!(
            "this server has no API key, so it does not accept requests for host {host:?}: \
             use {own}, allow the host with --allowed-hosts, or create a key with \
             `steadfast keys create`"
        );
        let status = StatusCode::MISDIRECTED_REQUEST;
        Err(Problem::new(status, "wrong_host", detail))
    }

    /// Refuses what a page of another site caused.
    pub fn check_origin(&self, method: &Method, headers: &HeaderMap) -> Result<(), Problem> {
        let is_allowed = match self.cause(headers) {
            Cause::OwnPage | Cause::Unknown => true,
            Cause::OtherSite if method.is_safe() => is_link(headers),
            Cause::OtherSite => false,
        };
        if is_allowed {
            return Ok(());
        }
        Err(cross_site())
    }

    /// Refuses what no page of this server is known to have caused.
    pub fn require_own_page(&self, headers: &HeaderMap) -> Result<(), Problem> {
        match self.cause(headers) {
            Cause::OwnPage => Ok(()),
            Cause::OtherSite | Cause::Unknown => Err(cross_site()),
        }
    }

    fn cause(&self, headers: &HeaderMap) -> Cause {
        let header = |name| headers.get(name).map(|value| value.to_str().unwrap_or(""));
        let is_own = match (header(&SEC_FETCH_SITE), header(&header::ORIGIN)) {
            // A proxy may have changed the host, and with it what the origin is compared with.
            // The browser has compared them before.
            (Some(site), _) => matches!(site, "same-origin" | "none"),
            (None, Some(origin)) => {
                let host = origin.split_once("://").map(|(_, host)| host);
                host.is_some()
                    && (host == header(&header::HOST) || host.is_some_and(|it| self.names(it)))
            }
            (None, None) => return Cause::Unknown,
        };
        if is_own {
            Cause::OwnPage
        } else {
            Cause::OtherSite
        }
    }

    fn is_own(&self, host: &str) -> bool {
        self.addresses.iter().any(|it| it.usual == host)
            || self.names(host)
            || self.addresses.iter().any(|it| it.is(host))
    }

    /// Whether the settings allow this host.
    fn names(&self, host: &str) -> bool {
        if self.allowed.is_empty() {
            return false;
        }
        let host = host.to_ascii_lowercase();
        let name = host.parse::<Authority>();
        let name = name.as_ref().map_or("", |authority| authority.host());
        let is_plain = !host.contains('@');
        is_plain && self.allowed.iter().any(|it| *it == host || it == name)
    }
}

impl ListenAddress {
    fn is(&self, host: &str) -> bool {
        let Ok(authority) = host.parse::<Authority>() else {
            return false;
        };
        let usual_port = if self.is_tls { 443 } else { 80 };
        let port = authority.port_u16().unwrap_or(usual_port);
        // In a router of another program, the port is not known.
        let is_own_port = self.address.port() == 0 || port == self.address.port();
        if !is_own_port || host.contains('@') {
            return false;
        }
        let name = authority.host();
        let name = name.strip_suffix('.').unwrap_or(name);
        let address = name.trim_start_matches('[').trim_end_matches(']');
        match address.parse::<IpAddr>() {
            Ok(ip) => ip.is_loopback() || ip == self.address.ip(),
            Err(_) => name.eq_ignore_ascii_case("localhost"),
        }
    }
}

/// The cause of a request according to the browser.
enum Cause {
    OwnPage,
    OtherSite,
    /// A program, or a browser from before 2020.
    Unknown,
}

/// A link that a person follows, and not an image, a frame or a script of another site.
fn is_link(headers: &HeaderMap) -> bool {
    let is = |name: &str, text: &str| headers.get(name).is_some_and(|value| value == text);
    is("sec-fetch-mode", "navigate") && is("sec-fetch-dest", "document")
}

fn cross_site() -> Problem {
    let detail = "this request came from another site, so nothing was changed; \
                  repeat the action on the dashboard, or allow the host with --allowed-hosts";
    Problem::new(StatusCode::FORBIDDEN, "cross_site", detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(address: &str, allowed: &[&str]) -> OwnHosts {
        let allowed: Vec<String> = allowed.iter().map(|&host| host.to_owned()).collect();
        OwnHosts::new(&[(address.parse().unwrap(), false)], &allowed)
    }

    type Pair = (&'static str, &'static str);

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()))
            .collect()
    }

    #[test]
    fn only_names_of_this_machine_and_allowed_ones_are_hosts_of_a_server_without_keys() {
        let local = own("127.0.0.1:7373", &["Jobs.example", "other.example:81"]);
        for (host, expected) in [
            ("127.0.0.1:7373", true),
            ("127.0.0.2:7373", true),
            ("localhost:7373", true),
            ("LocalHost.:7373", true),
            ("[::1]:7373", true),
            ("jobs.example", true),
            ("jobs.example:9", true),
            ("other.example:81", true),
            ("other.example", false),
            ("127.0.0.1", false),
            ("127.0.0.1:80", false),
            ("localhost.evil.example:7373", false),
            ("evil.example:7373", false),
            ("localhost@evil.example:7373", false),
            ("evil@127.0.0.1:7373", false),
            ("evil@jobs.example", false),
            ("0.0.0.0:7373", false),
            ("10.0.0.1:7373", false),
            ("", false),
            (":7373", false),
        ] {
            let headers = headers(&[("host", host)]);
            let answer = local.check_host(&Uri::from_static("/"), &headers);
            assert_eq!(answer.is_ok(), expected, "{host}");
        }
        let absolute = Uri::from_static("http://evil.example:7373/");
        let host = headers(&[("host", "127.0.0.1:7373")]);
        assert!(local.check_host(&absolute, &host).is_err());
        let mounted = own("127.0.0.1:0", &[]);
        for (host, expected) in [("localhost:3000", true), ("evil.example:3000", false)] {
            let headers = headers(&[("host", host)]);
            let answer = mounted.check_host(&Uri::from_static("/"), &headers);
            assert_eq!(answer.is_ok(), expected, "{host}");
        }
        let port_80 = own("127.0.0.1:80", &[]);
        let host = headers(&[("host", "localhost")]);
        assert!(port_80.check_host(&Uri::from_static("/"), &host).is_ok());
    }

    #[test]
    fn cross_site_requests_are_refused() {
        let own = own("127.0.0.1:1", &["front.example"]);
        let host = ("host", "a:1");
        // Whether it may read, whether it may write, and whether it may write with a form.
        let cases: [(&[Pair], [bool; 3]); 12] = [
            (&[("sec-fetch-site", "same-origin")], [true, true, true]),
            (&[("sec-fetch-site", "none")], [true, true, true]),
            (&[("sec-fetch-site", "cross-site")], [false, false, false]),
            (&[("sec-fetch-site", "same-site")], [false, false, false]),
            (
                &[
                    ("sec-fetch-site", "cross-site"),
                    ("sec-fetch-mode", "navigate"),
                    ("sec-fetch-dest", "document"),
                ],
                [true, false, false],
            ),
            (
                &[
                    ("sec-fetch-site", "cross-site"),
                    ("sec-fetch-mode", "navigate"),
                    ("sec-fetch-dest", "iframe"),
                ],
                [false, false, false],
            ),
            (
                &[("sec-fetch-site", "same-origin"), ("origin", "https://b")],
                [true, true, true],
            ),
            (&[("origin", "http://a:1"), host], [true, true, true]),
            (
                &[("origin", "https://front.example"), host],
                [true, true, true],
            ),
            (&[("origin", "http://b"), host], [false, false, false]),
            (&[("origin", "null"), host], [false, false, false]),
            (&[host], [true, true, false]),
        ];
        for (pairs, expected) in cases {
            let headers = headers(pairs);
            let answers = [
                own.check_origin(&Method::GET, &headers).is_ok(),
                own.check_origin(&Method::DELETE, &headers).is_ok(),
                own.require_own_page(&headers).is_ok(),
            ];
            assert_eq!(answers, expected, "{pairs:?}");
        }
    }

    #[test]
    fn a_request_has_one_host() {
        let mut two = headers(&[("host", "a")]);
        two.append("host", "a".parse().unwrap());
        let (one, none) = (headers(&[("host", "a")]), HeaderMap::new());
        for (version, headers, expected) in [
            (Version::HTTP_11, &one, true),
            (Version::HTTP_11, &none, false),
            (Version::HTTP_11, &two, false),
            (Version::HTTP_10, &one, true),
            (Version::HTTP_10, &none, true),
            (Version::HTTP_10, &two, false),
        ] {
            let answer = check_form(version, headers);
            assert_eq!(answer.is_ok(), expected, "{version:?} {headers:?}");
        }
    }
}

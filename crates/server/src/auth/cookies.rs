//! The cookies of a browser.
//!
//! Another host of the same domain can set cookies for this one. Browsers refuse that for a name
//! that begins with `__Host-`, and refuse one that came without HTTPS for `__Secure-`. So the name
//! depends on how the browser reaches this server.

use axum::http::{HeaderMap, HeaderValue, header};

/// How browsers protect the cookies of this server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CookieProtection {
    /// The server is reached without HTTPS.
    None,
    /// HTTPS only, for a server below a path.
    Https,
    /// HTTPS only, and set by this host only.
    HttpsAndHost,
}

impl CookieProtection {
    pub fn new(is_https: bool, is_at_root: bool) -> Self {
        match (is_https, is_at_root) {
            (false, _) => Self::None,
            (true, false) => Self::Https,
            (true, true) => Self::HttpsAndHost,
        }
    }

    fn prefix(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Https => "__Secure-",
            Self::HttpsAndHost => "__Host-",
        }
    }

    /// Adds a cookie to a response. It ends at once if `seconds` is 0.
    pub fn set(
        self,
        headers: &mut HeaderMap,
        name: &str,
        value: &str,
        same_site: &str,
        seconds: u64,
    ) {
        let prefix = self.prefix();
        let secure = match self {
            Self::None => "",
            Self::Https | Self::HttpsAndHost => "; Secure",
        };
        let cookie = format!(
            "{prefix}{name}={value}; Path=/; HttpOnly; SameSite={same_site}; \
             Max-Age={seconds}{secure}"
        );
        if let Ok(cookie) = HeaderValue::from_str(&cookie) {
            headers.append(header::SET_COOKIE, cookie);
        }
    }

    /// A cookie that the browser sends.
    pub fn get(self, headers: &HeaderMap, name: &str) -> Option<String> {
        let mut values = self
            .pairs(headers)
            .filter(|(found, _)| *found == name)
            .map(|(_, value)| value);
        let value = values.next().filter(|value| !value.is_empty())?;
        // Without HTTPS a server at `/` and one at `/jobs` share a host; the longer path is first.
        // With HTTPS their names differ, and a second cookie is from another host.
        let is_clear = self == Self::None || values.next().is_none();
        is_clear.then(|| value.to_owned())
    }

    /// The names of the cookies with this beginning, oldest first, as browsers send them.
    pub fn names(self, headers: &HeaderMap, beginning: &str) -> Vec<String> {
        let names = self.pairs(headers).map(|(name, _)| name);
        names
            .filter(|name| name.starts_with(beginning))
            .map(str::to_owned)
            .collect()
    }

    /// Names without the prefix, and values.
    fn pairs(self, headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
        let cookies = headers.get_all(header::COOKIE).iter();
        cookies
            .filter_map(|value| value.to_str().ok())
            .flat_map(|text| text.split(';'))
            .filter_map(move |pair| {
                let (name, value) = pair.trim().split_once('=')?;
                Some((name.strip_prefix(self.prefix())?, value))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_that_another_host_could_have_set_is_not_read() {
        let get = |protection: CookieProtection, cookies: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::COOKIE, HeaderValue::from_static(cookies));
            protection.get(&headers, "s")
        };
        use CookieProtection as P;
        for (protection, cookies, expected) in [
            (P::None, "a=1; s=2", Some("2")),
            (P::None, "s=1; s=2", Some("1")),
            (P::None, "__Host-s=1", None),
            (P::None, "s=", None),
            (P::HttpsAndHost, "s=1", None),
            (P::HttpsAndHost, "s=1; __Host-s=2", Some("2")),
            (P::HttpsAndHost, "__Secure-s=1", None),
            (P::Https, "s=1; __Secure-s=2", Some("2")),
            (P::Https, "__Secure-s=1; __Secure-s=2", None),
        ] {
            assert_eq!(get(protection, cookies).as_deref(), expected, "{cookies}");
        }
    }

    #[test]
    fn a_cookie_is_set_as_its_name_demands() {
        for (protection, expected) in [
            (
                CookieProtection::new(false, true),
                "s=v; Path=/; HttpOnly; SameSite=Lax; Max-Age=9",
            ),
            (
                CookieProtection::new(true, false),
                "__Secure-s=v; Path=/; HttpOnly; SameSite=Lax; Max-Age=9; Secure",
            ),
            (
                CookieProtection::new(true, true),
                "__Host-s=v; Path=/; HttpOnly; SameSite=Lax; Max-Age=9; Secure",
            ),
        ] {
            let mut headers = HeaderMap::new();
            protection.set(&mut headers, "s", "v", "Lax", 9);
            assert_eq!(headers[header::SET_COOKIE], expected);
        }
    }
}

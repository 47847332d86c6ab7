//! The signature of a message: a JSON Web Token (HS256) over its body and its address.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use steadfast_core::Timestamp;

use crate::limits::http::QSTASH_TOKEN_TIME;

/// What a token says.
pub(super) struct Claims<'a> {
    pub url: &'a str,
    pub body: &'a [u8],
    pub id: &'a str,
    pub now: Timestamp,
}

impl Claims<'_> {
    pub(super) fn sign(&self, key: &str) -> String {
        let seconds = self.now.as_micros() / 1_000_000;
        let expires = self.now.plus(QSTASH_TOKEN_TIME).as_micros() / 1_000_000;
        let body = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(self.body));
        let claims = json!({
            "iss": "Upstash",
            "sub": self.url,
            "exp": expires,
            "nbf": seconds,
            "iat": seconds,
            "jti": format!("{}.{}", self.id, self.now.as_micros()),
            "body": body,
        });
        let head = encode(r#"{"alg":"HS256","typ":"JWT"}"#);
        let signed = format!("{head}.{}", encode(&claims.to_string()));
        // An HMAC takes a key of any length, so there is always one.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key.as_bytes()) else {
            return String::new();
        };
        mac.update(signed.as_bytes());
        let code = BASE64_URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes());
        format!("{signed}.{code}")
    }
}

fn encode(text: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(text)
}

//! Signatures of webhooks, as Standard Webhooks 1.0 defines them.
//!
//! What is signed is the bytes that are sent, with the message's id and the time of this very
//! attempt, so that neither another body nor an old message passes for a new one.

use std::{fmt, str::FromStr};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use rand::RngExt as _;
use sha2::Sha256;
use steadfast_core::Invalid;

use crate::limits::http::{SECRET_BYTES_MAX, SECRET_BYTES_MIN};

const PREFIX: &str = "whsec_";

/// The secret that an endpoint and this server share. `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningKey(Vec<u8>);

impl SigningKey {
    /// A new key from the system's randomness.
    pub fn generate() -> Self {
        Self(rand::rng().random::<[u8; 32]>().to_vec())
    }

    /// A key from its raw bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Invalid> {
        if !(SECRET_BYTES_MIN..=SECRET_BYTES_MAX).contains(&bytes.len()) {
            let expected =
                format!("must be {SECRET_BYTES_MIN} to {SECRET_BYTES_MAX} bytes, in base64");
            return Err(Invalid::new(
                "secret",
                format!("{} bytes", bytes.len()),
                expected,
            ));
        }
        Ok(Self(bytes.to_vec()))
    }

    /// The key as `whsec_…`, to be shown once to its owner and to be stored.
    pub fn reveal(&self) -> String {
        format!("{PREFIX}{}", BASE64_STANDARD.encode(&self.0))
    }

    fn sign(&self, id: &str, timestamp_secs: i64, body: &[u8]) -> String {
        // An HMAC takes a key of any length, so there is always one.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else {
            return String::new();
        };
        mac.update(format!("{id}.{timestamp_secs}.").as_bytes());
        mac.update(body);
        let code = BASE64_STANDARD.encode(mac.finalize().into_bytes());
        format!("v1,{code}")
    }
}

/// The `webhook-signature` header: one signature per secret, so that during a rotation the
/// receiver may know either.
pub fn sign(id: &str, timestamp_secs: i64, body: &[u8], secrets: &[SigningKey]) -> String {
    let signed = secrets
        .iter()
        .map(|secret| secret.sign(id, timestamp_secs, body));
    signed.collect::<Vec<_>>().join(" ")
}

impl FromStr for SigningKey {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let invalid = |expected| Invalid::new("secret", "(hidden)", expected);
        let encoded = text
            .strip_prefix(PREFIX)
            .ok_or_else(|| invalid("must begin with whsec_"))?;
        let bytes = BASE64_STANDARD
            .decode(encoded)
            .map_err(|_| invalid("must be base64 after whsec_"))?;
        Self::from_bytes(&bytes)
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("whsec_(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue};
    use standardwebhooks::Webhook;
    use steadfast_store::{Clock as _, SystemClock};

    use super::*;

    #[test]
    fn the_published_examples_come_out() {
        for (secret, id, timestamp_secs, body, expected) in [
            (
                "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
                "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk",
                1_649_367_553,
                r#"{"email":"test@example.com","username":"test_user"}"#,
                "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=",
            ),
            (
                "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                "msg_p5jXN8AQM9LWM0D4loKWxJek",
                1_614_265_330,
                r#"{"test": 2432232314}"#,
                "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
            ),
        ] {
            let secret: SigningKey = secret.parse().unwrap();
            let signature = sign(id, timestamp_secs, body.as_bytes(), &[secret]);
            assert_eq!(signature, expected);
        }
    }

    #[test]
    fn the_reference_library_accepts_either_key_of_a_rotation_and_no_other() {
        let (old, new) = (SigningKey::generate(), SigningKey::generate());
        let now_secs = SystemClock.now().as_millis() / 1_000;
        let body = br#"{"type":"job.failed"}"#;
        let signature = sign("msg_1", now_secs, body, &[new.clone(), old.clone()]);

        let mut headers = HeaderMap::new();
        headers.insert("webhook-id", HeaderValue::from_static("msg_1"));
        headers.insert("webhook-timestamp", HeaderValue::from(now_secs));
        headers.insert("webhook-signature", signature.parse().unwrap());
        let verified = |secret: &SigningKey, body: &[u8]| {
            let receiver = Webhook::new(&secret.reveal()).unwrap();
            receiver.verify(body, &headers).is_ok()
        };
        assert!(verified(&old, body) && verified(&new, body));
        assert!(!verified(&SigningKey::generate(), body));
        assert!(!verified(&new, b"{}"));
    }

    /// Stands in docs/webhooks.md, too.
    fn verify(secret: &str, id: &str, timestamp: &str, signatures: &str, body: &[u8]) -> bool {
        use base64::{Engine as _, prelude::BASE64_STANDARD};
        use hmac::{Hmac, KeyInit as _, Mac as _};

        let Ok(now) = std::time::UNIX_EPOCH.elapsed() else {
            return false;
        };
        let is_recent = |sent: u64| now.as_secs().abs_diff(sent) <= 300;
        let key = secret.strip_prefix("whsec_").unwrap_or_default();
        let Ok(key) = BASE64_STANDARD.decode(key) else {
            return false;
        };
        let is_signed = |signature: &str| {
            let code = signature.strip_prefix("v1,").unwrap_or_default();
            let (Ok(code), Ok(mut mac)) = (
                BASE64_STANDARD.decode(code),
                Hmac::<sha2::Sha256>::new_from_slice(&key),
            ) else {
                return false;
            };
            mac.update(format!("{id}.{timestamp}.").as_bytes());
            mac.update(body);
            mac.verify_slice(&code).is_ok()
        };
        !key.is_empty()
            && timestamp.parse().is_ok_and(is_recent)
            && signatures.split(' ').any(is_signed)
    }

    #[test]
    fn what_the_book_shows_accepts_a_delivery_and_nothing_else() {
        let (old, new) = (SigningKey::generate(), SigningKey::generate());
        let now_secs = SystemClock.now().as_millis() / 1_000;
        let signature = sign("msg_1", now_secs, b"{}", &[new.clone(), old.clone()]);
        let now = now_secs.to_string();
        for secret in [&old, &new] {
            assert!(verify(&secret.reveal(), "msg_1", &now, &signature, b"{}"));
        }
        let secret = new.reveal();
        let late_secs = now_secs - 301;
        let late = sign("msg_1", late_secs, b"{}", &[new]);
        for (secret, id, timestamp, signature, body) in [
            (secret.as_str(), "msg_1", &now, &signature, b"[]"),
            (secret.as_str(), "msg_2", &now, &signature, b"{}"),
            (
                secret.as_str(),
                "msg_1",
                &late_secs.to_string(),
                &late,
                b"{}",
            ),
            (secret.as_str(), "msg_1", &now, &late, b"{}"),
            ("whsec_", "msg_1", &now, &signature, b"{}"),
        ] {
            assert!(!verify(secret, id, timestamp, signature, body));
        }
    }

    #[test]
    fn a_secret_is_read_as_it_was_revealed_and_never_shown() {
        let secret = SigningKey::generate();
        let text = secret.reveal();
        assert_eq!(text.parse::<SigningKey>().unwrap(), secret);
        assert_eq!(format!("{secret:?}"), "whsec_(hidden)");
    }

    #[test]
    fn an_invalid_secret_is_refused_without_showing_it() {
        for (text, expected) in [
            ("hunter2", "must begin with whsec_"),
            ("whsec_!!!", "must be base64"),
            ("whsec_aHVudGVyMg==", "must be 24 to 64 bytes"),
            ("whsec_", "must be 24 to 64 bytes"),
        ] {
            let error = text.parse::<SigningKey>().unwrap_err();
            assert!(error.expected.starts_with(expected), "{error}");
            assert!(!error.to_string().contains("hunter2"));
        }
    }
}

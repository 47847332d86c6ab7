//! Which token is believed: signed by the provider, for this application, for this sign-in, now.

use serde::Deserialize;
use serde_json::{Map, Value};
use steadfast_core::Timestamp;

use super::{
    SignInError,
    jwk::{JwkSet, decode},
};
use crate::limits::TOKEN_CLOCK_SKEW_MAX;

/// A token in its parts, not yet believed.
pub struct UnverifiedToken<'a> {
    header: TokenHeader,
    claims: Map<String, Value>,
    signed: &'a str,
    signature: Vec<u8>,
}

#[derive(Deserialize)]
struct TokenHeader {
    alg: String,
    #[serde(default)]
    kid: Option<String>,
}

/// What the token must say.
pub struct ExpectedToken<'a> {
    pub issuer: &'a str,
    pub client_id: &'a str,
    pub nonce: &'a str,
    pub now: Timestamp,
}

impl<'a> UnverifiedToken<'a> {
    pub fn parse(token: &'a str) -> Result<Self, SignInError> {
        let parse = || {
            let (signed, signature) = token.rsplit_once('.')?;
            let (header, claims) = signed.split_once('.')?;
            Some(Self {
                header: serde_json::from_slice(&decode(header)?).ok()?,
                claims: serde_json::from_slice(&decode(claims)?).ok()?,
                signed,
                signature: decode(signature)?,
            })
        };
        parse().ok_or_else(|| SignInError::Unexpected("its ID token cannot be read".to_owned()))
    }

    /// The claims, if everything is right.
    pub fn verify(
        self,
        keys: &JwkSet,
        expected: &ExpectedToken<'_>,
    ) -> Result<Map<String, Value>, SignInError> {
        if !self.is_signed_by(keys) {
            return Err(SignInError::WrongSignature);
        }
        let text = |name: &str| self.claims.get(name).and_then(Value::as_str);
        if text("iss") != Some(expected.issuer) {
            return Err(SignInError::WrongIssuer {
                expected: expected.issuer.to_owned(),
                actual: text("iss").unwrap_or("nothing").to_owned(),
            });
        }
        let wrong_audience = || SignInError::WrongAudience {
            client_id: expected.client_id.to_owned(),
        };
        let is_ours = |value: &Value| value.as_str() == Some(expected.client_id);
        let (is_for_us, is_shared) = match self.claims.get("aud") {
            Some(Value::Array(all)) => (all.iter().any(is_ours), all.len() > 1),
            Some(one) => (is_ours(one), false),
            None => (false, false),
        };
        // A token for several applications names the one it was made for.
        let party = self.claims.get("azp");
        let is_party = party.map_or(!is_shared, is_ours);
        if !is_for_us || !is_party {
            return Err(wrong_audience());
        }
        if text("nonce") != Some(expected.nonce) {
            return Err(SignInError::WrongNonce);
        }
        self.check_times(expected.now)?;
        Ok(self.claims)
    }

    /// Whether one of these keys has signed it.
    pub fn is_signed_by(&self, keys: &JwkSet) -> bool {
        let TokenHeader { alg, kid } = &self.header;
        let mut named = keys
            .keys
            .iter()
            .filter(|key| kid.is_none() || key.kid == *kid);
        named.any(|key| key.has_signed(alg, self.signed.as_bytes(), &self.signature))
    }

    fn check_times(&self, now: Timestamp) -> Result<(), SignInError> {
        let time = |name: &str| {
            let seconds = self.claims.get(name).and_then(Value::as_f64);
            #[expect(clippy::cast_possible_truncation, reason = "far beyond every date")]
            seconds.map(|seconds| Timestamp::from_millis((seconds * 1_000.0) as i64))
        };
        let has_ended = time("exp").is_none_or(|at| now > at.plus(TOKEN_CLOCK_SKEW_MAX));
        let is_early = |at: Timestamp| at > now.plus(TOKEN_CLOCK_SKEW_MAX);
        let is_of_future = time("iat").is_none_or(is_early) || time("nbf").is_some_and(is_early);
        match has_ended || is_of_future {
            true => Err(SignInError::Expired),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use ring::{
        rand::SystemRandom,
        signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _},
    };
    use serde_json::json;

    use super::*;
    use crate::auth::oidc::jwk::encode;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
    const ISSUER: &str = "https://login.example.com";

    /// A key of a provider, and the document that names it.
    fn provider_key() -> (EcdsaKeyPair, JwkSet) {
        let (random, algorithm) = (SystemRandom::new(), &ECDSA_P256_SHA256_FIXED_SIGNING);
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        let key = EcdsaKeyPair::from_pkcs8(algorithm, pkcs8.as_ref(), &random).unwrap();
        let point = key.public_key().as_ref();
        let keys = json!({"keys": [{"kty": "oct", "kid": "other"}, {
            "kty": "EC", "crv": "P-256", "kid": "one", "use": "sig",
            "x": encode(&point[1..33]), "y": encode(&point[33..]),
        }]});
        (key, serde_json::from_value(keys).unwrap())
    }

    fn token(key: &EcdsaKeyPair, header: &Value, claims: &Value) -> String {
        let signed = format!(
            "{}.{}",
            encode(header.to_string()),
            encode(claims.to_string())
        );
        let signature = key.sign(&SystemRandom::new(), signed.as_bytes()).unwrap();
        format!("{signed}.{}", encode(signature))
    }

    #[test]
    fn a_key_for_encryption_signs_nothing() {
        let (key, _) = provider_key();
        let point = key.public_key().as_ref();
        let header = json!({"alg": "ES256", "kid": "one"});
        let token = token(&key, &header, &json!({}));
        let token = UnverifiedToken::parse(&token).unwrap();
        for (usage, signs) in [
            (json!("sig"), true),
            (json!(null), true),
            (json!("enc"), false),
        ] {
            let keys = json!({"keys": [{
                "kty": "EC", "crv": "P-256", "kid": "one", "use": usage,
                "x": encode(&point[1..33]), "y": encode(&point[33..]),
            }]});
            let keys = serde_json::from_value(keys).unwrap();
            assert_eq!(token.is_signed_by(&keys), signs, "{usage}");
        }
    }

    #[test]
    fn only_a_token_of_the_provider_for_this_sign_in_is_believed() {
        let (key, keys) = provider_key();
        let (stranger, _) = provider_key();
        let header = json!({"alg": "ES256", "kid": "one"});
        let seconds = NOW.as_millis() / 1_000;
        let right = json!({
            "iss": ISSUER, "aud": "steadfast", "sub": "ann", "nonce": "n",
            "iat": seconds, "exp": seconds + 300,
        });
        let check = |token: &str| {
            let expected = ExpectedToken {
                issuer: ISSUER,
                client_id: "steadfast",
                nonce: "n",
                now: NOW,
            };
            UnverifiedToken::parse(token)?.verify(&keys, &expected)
        };
        assert_eq!(check(&token(&key, &header, &right)).unwrap()["sub"], "ann");
        let with = |field: &str, value: Value| {
            let mut claims = right.clone();
            claims[field] = value;
            check(&token(&key, &header, &claims))
        };
        assert!(with("aud", json!(["steadfast"])).is_ok());
        let wrong_audience = Err(SignInError::WrongAudience {
            client_id: "steadfast".to_owned(),
        });
        for audience in [
            json!("other"),
            json!(["other"]),
            json!(["steadfast", "other"]),
            json!(1),
        ] {
            assert_eq!(with("aud", audience), wrong_audience);
        }
        assert_eq!(with("azp", json!("other")), wrong_audience);
        assert_eq!(with("nonce", json!("m")), Err(SignInError::WrongNonce));
        assert_eq!(with("exp", json!(seconds - 61)), Err(SignInError::Expired));
        assert_eq!(with("exp", json!("never")), Err(SignInError::Expired));
        assert_eq!(with("iat", json!(seconds + 61)), Err(SignInError::Expired));
        let liar = with("iss", json!("https://evil.example"));
        assert!(matches!(liar, Err(SignInError::WrongIssuer { .. })));

        let unsigned = SignInError::WrongSignature;
        assert_eq!(
            check(&token(&stranger, &header, &right)),
            Err(unsigned.clone())
        );
        for header in [
            json!({"alg": "none"}),
            json!({"alg": "HS256", "kid": "one"}),
            json!({"alg": "RS256", "kid": "one"}),
            json!({"alg": "ES256", "kid": "two"}),
        ] {
            assert_eq!(
                check(&token(&key, &header, &right)),
                Err(unsigned.clone()),
                "{header}"
            );
        }
        for text in ["", "a.b", "a.b.c", "..", "eyJ9.e30."] {
            assert!(
                matches!(check(text), Err(SignInError::Unexpected(_))),
                "{text}"
            );
        }
    }
}

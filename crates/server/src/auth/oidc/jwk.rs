//! The keys of a provider, and the signatures they check.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use ring::signature::{
    self, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};
use serde::Deserialize;

/// The keys as the provider publishes them.
#[derive(Debug, Default, Deserialize)]
pub struct JwkSet {
    pub keys: Vec<Jwk>,
}

/// One key; those of unknown types are left alone.
#[derive(Debug, Deserialize)]
pub struct Jwk {
    kty: String,
    #[serde(default)]
    pub kid: Option<String>,
    #[serde(default)]
    alg: Option<String>,
    /// `sig` or `enc`; both if absent.
    #[serde(default, rename = "use")]
    usage: Option<String>,
    #[serde(default)]
    crv: Option<String>,
    #[serde(default)]
    n: Option<String>,
    #[serde(default)]
    e: Option<String>,
    #[serde(default)]
    x: Option<String>,
    #[serde(default)]
    y: Option<String>,
}

impl Jwk {
    /// Whether this key made the signature. Only algorithms with a public key count: with one that
    /// has a shared secret, or none, everybody could sign.
    pub fn has_signed(&self, algorithm: &str, message: &[u8], signature: &[u8]) -> bool {
        let is_other = |own: &String| own != algorithm;
        let signs = self.usage.as_ref().is_none_or(|usage| usage == "sig");
        if !signs || self.alg.as_ref().is_some_and(is_other) {
            return false;
        }
        self.check(algorithm, message, signature).is_some()
    }

    fn check(&self, algorithm: &str, message: &[u8], signature: &[u8]) -> Option<()> {
        let rsa = |parameters: &'static RsaParameters| {
            let (n, e) = (decode(self.n.as_ref()?)?, decode(self.e.as_ref()?)?);
            let n = n.iter().position(|byte| *byte != 0).map(|at| &n[at..])?;
            let key = RsaPublicKeyComponents { n, e: &e };
            key.verify(parameters, message, signature).ok()
        };
        let other = |parameters: &'static dyn VerificationAlgorithm, key: Vec<u8>| {
            UnparsedPublicKey::new(parameters, key)
                .verify(message, signature)
                .ok()
        };
        let point = || {
            let (x, y) = (decode(self.x.as_ref()?)?, decode(self.y.as_ref()?)?);
            Some([&[4][..], &x, &y].concat())
        };
        match (algorithm, self.kty.as_str(), self.crv.as_deref()) {
            ("RS256", "RSA", _) => rsa(&signature::RSA_PKCS1_2048_8192_SHA256),
            ("RS384", "RSA", _) => rsa(&signature::RSA_PKCS1_2048_8192_SHA384),
            ("RS512", "RSA", _) => rsa(&signature::RSA_PKCS1_2048_8192_SHA512),
            ("PS256", "RSA", _) => rsa(&signature::RSA_PSS_2048_8192_SHA256),
            ("PS384", "RSA", _) => rsa(&signature::RSA_PSS_2048_8192_SHA384),
            ("PS512", "RSA", _) => rsa(&signature::RSA_PSS_2048_8192_SHA512),
            ("ES256", "EC", Some("P-256")) => other(&signature::ECDSA_P256_SHA256_FIXED, point()?),
            ("ES384", "EC", Some("P-384")) => other(&signature::ECDSA_P384_SHA384_FIXED, point()?),
            ("EdDSA", "OKP", Some("Ed25519")) => {
                other(&signature::ED25519, decode(self.x.as_ref()?)?)
            }
            _ => None,
        }
    }
}

/// Bytes in the alphabet of tokens.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    BASE64_URL_SAFE_NO_PAD
        .decode(text.trim_end_matches('='))
        .ok()
}

pub fn encode(bytes: impl AsRef<[u8]>) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

//! A provider that signs what a test says. A code is the claims themselves, so nothing is stored.

use std::{sync::Arc, time::Duration};

use axum::{
    Json, Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    routing::{get, post},
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _},
};
use serde_json::{Value, json};
use steadfast_server::OidcSettings;
use steadfast_store::{Clock as _, SystemClock};
use tokio::net::TcpListener;

pub struct FakeProvider {
    pub issuer: String,
}

struct ProviderState {
    issuer: String,
    key: EcdsaKeyPair,
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

fn decode(text: &str) -> Option<Value> {
    serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(text).ok()?).ok()
}

/// The code for a person with these claims, and those of the userinfo endpoint; it refuses `null`.
pub fn code(claims: &Value, user_info: &Value) -> String {
    encode(json!({"claims": claims, "userInfo": user_info}).to_string())
}

impl FakeProvider {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let (random, algorithm) = (SystemRandom::new(), &ECDSA_P256_SHA256_FIXED_SIGNING);
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        let key = EcdsaKeyPair::from_pkcs8(algorithm, pkcs8.as_ref(), &random).unwrap();
        let state = Arc::new(ProviderState {
            issuer: issuer.clone(),
            key,
        });
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(metadata))
            .route("/keys", get(keys))
            .route("/token", post(token))
            .route("/me", get(user_info))
            .with_state(state);
        tokio::spawn(axum::serve(listener, router).into_future());
        Self { issuer }
    }

    pub fn settings(&self, roles: &[&str]) -> OidcSettings {
        OidcSettings {
            issuer: self.issuer.clone(),
            client_id: "steadfast".to_owned(),
            client_secret: None,
            scopes: vec!["openid".to_owned()],
            role_claim: "groups".to_owned(),
            name_claim: "email".to_owned(),
            roles: roles.iter().map(|rule| rule.parse().unwrap()).collect(),
            session_time: Duration::from_secs(8 * 60 * 60),
            trusted: None,
        }
    }
}

async fn metadata(State(provider): State<Arc<ProviderState>>) -> Json<Value> {
    let at = |path: &str| format!("{}/{path}", provider.issuer);
    Json(json!({
        "issuer": provider.issuer, "authorization_endpoint": at("auth"), "jwks_uri": at("keys"),
        "token_endpoint": at("token"), "userinfo_endpoint": at("me"),
    }))
}

async fn keys(State(provider): State<Arc<ProviderState>>) -> Json<Value> {
    let point = provider.key.public_key().as_ref();
    Json(json!({"keys": [{
        "kty": "EC", "crv": "P-256", "kid": "one", "use": "sig",
        "x": encode(&point[1..33]), "y": encode(&point[33..]),
    }]}))
}

/// The claims of the code win over those that a provider adds.
async fn token(
    State(provider): State<Arc<ProviderState>>,
    form: Bytes,
) -> Result<Json<Value>, StatusCode> {
    let mut fields = form_urlencoded::parse(&form);
    let code = fields.find(|(name, _)| name == "code");
    let code = code.and_then(|(_, code)| decode(&code));
    let code = code.ok_or(StatusCode::BAD_REQUEST)?;
    let now = SystemClock.now().as_millis() / 1_000;
    let mut claims = json!({
        "iss": provider.issuer, "aud": "steadfast", "iat": now, "exp": now + 300,
    });
    for (name, value) in code["claims"].as_object().unwrap() {
        claims[name] = value.clone();
    }
    let header = json!({"alg": "ES256", "kid": "one"}).to_string();
    let signed = format!("{}.{}", encode(header), encode(claims.to_string()));
    let signature = provider
        .key
        .sign(&SystemRandom::new(), signed.as_bytes())
        .unwrap();
    Ok(Json(json!({
        "id_token": format!("{signed}.{}", encode(signature)),
        "access_token": encode(code["userInfo"].to_string()),
    })))
}

async fn user_info(headers: HeaderMap) -> Result<Json<Value>, StatusCode> {
    let token = headers["authorization"].to_str().unwrap();
    let claims = token.strip_prefix("Bearer ").and_then(decode);
    let claims = claims.filter(|claims| !claims.is_null());
    claims.map(Json).ok_or(StatusCode::FORBIDDEN)
}

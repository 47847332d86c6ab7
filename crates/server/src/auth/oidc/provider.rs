//! The provider: its documents, kept for a while, and its endpoints.

use std::sync::Arc;

use axum::http::{HeaderValue, Request, StatusCode, header};
use bytes::Bytes;
use http_body_util::Full;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use steadfast_engine::http::Outbound;
use tokio::{
    sync::{Mutex, Semaphore},
    time::{Instant, timeout},
};

use super::{
    SignInError,
    jwk::JwkSet,
    settings::{ClientSecret, OidcSettings, is_safe_url},
};
use crate::limits::{
    PROVIDER_BYTES_MAX, PROVIDER_KEPT_MAX, PROVIDER_KEYS_READ_MIN, PROVIDER_TIME_MAX,
    REDEMPTIONS_MAX,
};

/// What the provider says of itself.
#[derive(Debug, Deserialize)]
pub struct ProviderMetadata {
    issuer: String,
    pub authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    #[serde(default)]
    pub userinfo_endpoint: Option<String>,
    #[serde(default)]
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
}

impl ProviderMetadata {
    /// Client secret, codes and tokens go to these addresses, and the keys come from one of them.
    /// A provider behind a proxy may say `http` by mistake.
    fn check(&self) -> Result<(), SignInError> {
        for (name, url) in [
            ("authorization_endpoint", Some(&self.authorization_endpoint)),
            ("token_endpoint", Some(&self.token_endpoint)),
            ("jwks_uri", Some(&self.jwks_uri)),
            ("userinfo_endpoint", self.userinfo_endpoint.as_ref()),
        ] {
            if !url.is_none_or(|url| is_safe_url(url, &self.issuer)) {
                return Err(SignInError::Unexpected(format!(
                    "its {name} is not an https URL"
                )));
            }
        }
        Ok(())
    }
}

/// The tokens for a code.
#[derive(Deserialize)]
pub struct Tokens {
    pub id_token: String,
    pub access_token: String,
}

type MetadataResult = Result<Arc<ProviderMetadata>, SignInError>;
type KeysResult = Result<Arc<JwkSet>, SignInError>;

pub struct Provider {
    settings: Arc<OidcSettings>,
    outbound: Outbound,
    metadata: Mutex<Option<(Instant, MetadataResult)>>,
    keys: Mutex<Option<(Instant, KeysResult)>>,
    /// One permit for each code that the provider is asked about.
    redemptions: Semaphore,
}

impl Provider {
    pub fn new(settings: Arc<OidcSettings>, outbound: Outbound) -> Self {
        Self {
            settings,
            outbound,
            metadata: Mutex::default(),
            keys: Mutex::default(),
            redemptions: Semaphore::new(REDEMPTIONS_MAX),
        }
    }

    /// What the provider says of itself, at most an hour ago. One that says it is another is not
    /// believed in anything. All who wait while it is asked share the answer, an error as well: a
    /// provider that is away keeps each of them for one timeout, and not for all of theirs.
    pub async fn metadata(&self) -> MetadataResult {
        let arrived = Instant::now();
        let mut kept = self.metadata.lock().await;
        match &*kept {
            Some((at, Ok(metadata))) if at.elapsed() < PROVIDER_KEPT_MAX => {
                return Ok(metadata.clone());
            }
            Some((at, Err(error))) if *at >= arrived => return Err(error.clone()),
            _ => {}
        }
        let metadata = self.read_metadata().await.map(Arc::new);
        *kept = Some((Instant::now(), metadata.clone()));
        metadata
    }

    async fn read_metadata(&self) -> Result<ProviderMetadata, SignInError> {
        let issuer = &self.settings.issuer;
        let url = format!(
            "{}/.well-known/openid-configuration",
            issuer.trim_end_matches('/')
        );
        let metadata: ProviderMetadata = self.get(&url, None).await?;
        if metadata.issuer != *issuer {
            return Err(SignInError::WrongIssuer {
                expected: issuer.clone(),
                actual: metadata.issuer,
            });
        }
        metadata.check()?;
        Ok(metadata)
    }

    /// The keys, read again if they have not signed the token, as after a rotation; but not for
    /// each token of a flood. As with the metadata, all who wait share the answer.
    pub async fn keys(&self, have_signed: impl Fn(&JwkSet) -> bool) -> KeysResult {
        let arrived = Instant::now();
        let url = self.metadata().await?.jwks_uri.clone();
        let mut kept = self.keys.lock().await;
        match &*kept {
            Some((at, Ok(keys))) => {
                let age = at.elapsed();
                let is_new = age < PROVIDER_KEYS_READ_MIN;
                if is_new || (age < PROVIDER_KEPT_MAX && have_signed(keys)) {
                    return Ok(keys.clone());
                }
            }
            Some((at, Err(error))) if *at >= arrived => return Err(error.clone()),
            _ => {}
        }
        let keys = self.get(&url, None).await.map(Arc::new);
        *kept = Some((Instant::now(), keys.clone()));
        keys
    }

    /// The tokens for a code.
    pub async fn redeem(
        &self,
        code: &str,
        verifier: &str,
        redirect_uri: &str,
    ) -> Result<Tokens, SignInError> {
        let metadata = self.metadata().await?;
        // Everybody can send codes; the provider must not have to refuse us all because of that.
        let permit = timeout(PROVIDER_TIME_MAX, self.redemptions.acquire()).await;
        let _permit = permit.map_err(|_| SignInError::ProviderAway {
            issuer: self.settings.issuer.clone(),
            reason: "too many people are signing in".to_owned(),
        })?;
        let client_id = self.settings.client_id.as_str();
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("code_verifier", verifier),
            ("redirect_uri", redirect_uri),
        ];
        let methods = metadata.token_endpoint_auth_methods_supported.as_ref();
        let takes_basic =
            methods.is_none_or(|methods| methods.iter().any(|it| it == "client_secret_basic"));
        let authorization = match &self.settings.client_secret {
            Some(ClientSecret(secret)) if takes_basic => Some(basic(client_id, secret)),
            Some(ClientSecret(secret)) => {
                fields.extend([("client_id", client_id), ("client_secret", secret.as_str())]);
                None
            }
            None => {
                fields.push(("client_id", client_id));
                None
            }
        };
        let request = Request::post(&metadata.token_endpoint)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        let form = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(fields)
            .finish();
        self.send(request, authorization, form).await
    }

    /// More claims of the person, if they are not in the token.
    pub async fn user_info(
        &self,
        url: &str,
        access_token: &str,
    ) -> Result<Map<String, Value>, SignInError> {
        self.get(url, Some(format!("Bearer {access_token}"))).await
    }

    async fn get<T: DeserializeOwned>(
        &self,
        url: &str,
        authorization: Option<String>,
    ) -> Result<T, SignInError> {
        self.send(Request::get(url), authorization, String::new())
            .await
    }

    async fn send<T: DeserializeOwned>(
        &self,
        request: axum::http::request::Builder,
        authorization: Option<String>,
        body: String,
    ) -> Result<T, SignInError> {
        let unexpected = |what: &str| SignInError::Unexpected(what.to_owned());
        let mut request = request
            .header(header::ACCEPT, "application/json")
            .body(Full::new(Bytes::from(body)))
            .map_err(|_| unexpected("one of its addresses is not a URL"))?;
        if let Some(value) = authorization {
            let value = HeaderValue::from_str(&value);
            let mut value = value.map_err(|_| unexpected("its token cannot be sent"))?;
            value.set_sensitive(true);
            request.headers_mut().insert(header::AUTHORIZATION, value);
        }
        let fetched = self
            .outbound
            .fetch(request, PROVIDER_TIME_MAX, PROVIDER_BYTES_MAX)
            .await;
        let response = fetched.map_err(|failure| SignInError::ProviderAway {
            issuer: self.settings.issuer.clone(),
            reason: failure.message,
        })?;
        match response.status() {
            StatusCode::OK => serde_json::from_slice(response.body())
                .map_err(|error| SignInError::Unexpected(error.to_string())),
            status if status.is_server_error() => Err(SignInError::ProviderAway {
                issuer: self.settings.issuer.clone(),
                reason: format!("it answered {status}"),
            }),
            status => {
                let error: RefusalBody =
                    serde_json::from_slice(response.body()).unwrap_or_default();
                let reason = error.error_description.or(error.error);
                let reason = reason.unwrap_or_else(|| format!("it answered {status}"));
                Err(SignInError::Refused(reason))
            }
        }
    }
}

#[derive(Default, Deserialize)]
struct RefusalBody {
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    error_description: Option<String>,
}

/// Name and secret as a header has them: each encoded as in a form first.
fn basic(client_id: &str, secret: &str) -> String {
    use base64::Engine as _;
    let encode = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let pair = format!("{}:{}", encode(client_id), encode(secret));
    format!("Basic {}", base64::prelude::BASE64_STANDARD.encode(pair))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_endpoint_of_a_provider_must_be_safe() {
        let check = |issuer: &str, field: &str, url: Value| {
            let at = |path: &str| format!("{issuer}/{path}");
            let mut metadata = json!({
                "issuer": issuer, "authorization_endpoint": at("auth"), "jwks_uri": at("keys"),
                "token_endpoint": at("token"), "userinfo_endpoint": at("me"),
            });
            metadata[field] = url;
            serde_json::from_value::<ProviderMetadata>(metadata)
                .map_err(|error| SignInError::Unexpected(error.to_string()))
                .and_then(|metadata| metadata.check())
        };
        let (remote, local) = ("https://login.example.com", "http://127.0.0.1:9000");
        for field in [
            "authorization_endpoint",
            "token_endpoint",
            "jwks_uri",
            "userinfo_endpoint",
        ] {
            for good in [
                "https://other.example.com/x",
                "https://login.example.com:8443/x?y=z",
            ] {
                assert_eq!(check(remote, field, json!(good)), Ok(()), "{field} {good}");
            }
            for bad in [
                "http://login.example.com/x",
                "http://127.0.0.1:9000/x",
                "/x",
                "login.example.com/x",
                "https://ann:secret@login.example.com/x",
                "https://login.example.com/x#y",
                "ftp://login.example.com/x",
                "https://",
                "",
            ] {
                let refused = check(remote, field, json!(bad));
                let expected = format!("its {field} is not an https URL");
                assert_eq!(refused, Err(SignInError::Unexpected(expected)), "{bad}");
            }
            assert_eq!(check(local, field, json!("http://localhost:1/x")), Ok(()));
            assert!(check(local, field, json!("http://login.example.com/x")).is_err());
            let absent = check(remote, field, json!(null));
            assert_eq!(absent.is_ok(), field == "userinfo_endpoint", "{field}");
        }
    }
}

//! One sign-in, from the first redirect to a person.

use std::{fmt, sync::Arc};

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use steadfast_core::{Invalid, Timestamp};
use steadfast_engine::http::{AddressPolicy, Outbound, OutboundRules};
use subtle::ConstantTimeEq as _;

use super::{
    PersonRecord, SignInError,
    id_token::{ExpectedToken, UnverifiedToken},
    jwk::{decode, encode},
    person::{find, is_email_verified, unique_name, values},
    provider::Provider,
    settings::OidcSettings,
};
use crate::limits::{SECRET_BYTES, SIGN_IN_NEXT_BYTES_MAX, STATE_NAME_BYTES};

/// The beginning of the cookies that carry a sign-in until the provider sends the browser back.
pub const STATE_COOKIE: &str = "steadfast_sign_in_";

/// The cookie of one sign-in, so that two tabs do not disturb each other.
pub fn state_cookie(state: &str) -> Option<String> {
    let name = state.get(..STATE_NAME_BYTES)?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    name.chars()
        .all(is_name)
        .then(|| format!("{STATE_COOKIE}{name}"))
}

/// Signing in with a provider.
pub struct Oidc {
    pub settings: Arc<OidcSettings>,
    provider: Provider,
}

impl fmt::Debug for Oidc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Oidc")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// Where the browser goes, and what it carries.
pub struct SignInStart {
    pub location: String,
    pub state: String,
    pub cookie: String,
}

/// What a browser carries while it is at the provider.
struct SignInState {
    state: String,
    nonce: String,
    verifier: String,
    next: String,
}

impl SignInState {
    fn new(next: &str) -> Self {
        let random = || encode(rand::random::<[u8; SECRET_BYTES]>());
        let next = if next.len() <= SIGN_IN_NEXT_BYTES_MAX {
            next
        } else {
            "/"
        };
        Self {
            state: random(),
            nonce: random(),
            verifier: random(),
            next: next.to_owned(),
        }
    }

    fn to_cookie(&self) -> String {
        let Self {
            state,
            nonce,
            verifier,
            next,
        } = self;
        format!("{state}.{nonce}.{verifier}.{}", encode(next))
    }

    fn of_cookie(text: &str) -> Option<Self> {
        let mut parts = text.split('.').map(str::to_owned);
        let mut part = || parts.next().filter(|part| !part.is_empty());
        Some(Self {
            state: part()?,
            nonce: part()?,
            verifier: part()?,
            next: part().and_then(|next| String::from_utf8(decode(&next)?).ok())?,
        })
    }
}

impl Oidc {
    /// Checks the certificates to trust. The provider is asked when a person signs in. It is the
    /// operator who names it, so it may have a private address.
    ///
    /// # Errors
    ///
    /// Certificates that cannot be read.
    pub fn new(settings: OidcSettings) -> Result<Self, Invalid> {
        let mut outbound = Outbound::builder(OutboundRules::new(AddressPolicy::Any));
        if let Some(pem) = &settings.trusted {
            outbound = outbound.trust(pem.clone());
        }
        let settings = Arc::new(settings);
        Ok(Self {
            provider: Provider::new(settings.clone(), outbound.build()?),
            settings,
        })
    }

    /// Begins a sign-in.
    pub async fn start(&self, next: &str, redirect_uri: &str) -> Result<SignInStart, SignInError> {
        let metadata = self.provider.metadata().await?;
        let carried = SignInState::new(next);
        let challenge = encode(Sha256::digest(carried.verifier.as_bytes()));
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.settings.client_id)
            .append_pair("redirect_uri", redirect_uri)
            .append_pair("scope", &self.settings.scopes.join(" "))
            .append_pair("state", &carried.state)
            .append_pair("nonce", &carried.nonce)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256")
            .finish();
        let endpoint = &metadata.authorization_endpoint;
        let mark = if endpoint.contains('?') { '&' } else { '?' };
        Ok(SignInStart {
            location: format!("{endpoint}{mark}{query}"),
            cookie: carried.to_cookie(),
            state: carried.state,
        })
    }

    /// Ends a sign-in: who it is, and the page that was asked for.
    pub async fn finish(
        &self,
        answer: &(dyn Fn(&str) -> Option<String> + Sync),
        cookie: Option<&str>,
        redirect_uri: &str,
        now: Timestamp,
    ) -> Result<(PersonRecord, String), SignInError> {
        let carried = cookie.and_then(SignInState::of_cookie);
        let carried = carried.ok_or(SignInError::WrongState)?;
        let state = answer("state").unwrap_or_default();
        if !bool::from(state.as_bytes().ct_eq(carried.state.as_bytes())) {
            return Err(SignInError::WrongState);
        }
        if let Some(error) = answer("error") {
            return Err(SignInError::Refused(
                answer("error_description").unwrap_or(error),
            ));
        }
        let issuer = &self.settings.issuer;
        if let Some(actual) = answer("iss").filter(|actual| actual != issuer) {
            let expected = issuer.clone();
            return Err(SignInError::WrongIssuer { expected, actual });
        }
        let code =
            answer("code").ok_or_else(|| SignInError::Unexpected("it has no code".to_owned()))?;
        let tokens = self
            .provider
            .redeem(&code, &carried.verifier, redirect_uri)
            .await?;
        let token = UnverifiedToken::parse(&tokens.id_token)?;
        let keys = self.provider.keys(|keys| token.is_signed_by(keys)).await?;
        let expected = ExpectedToken {
            issuer,
            client_id: &self.settings.client_id,
            nonce: &carried.nonce,
            now,
        };
        let mut claims = token.verify(&keys, &expected)?;
        self.add_user_info(&mut claims, &tokens.access_token)
            .await?;
        Ok((self.person(claims)?, carried.next))
    }

    /// Many providers keep groups out of the token. What the token says stays.
    async fn add_user_info(
        &self,
        claims: &mut Map<String, Value>,
        access_token: &str,
    ) -> Result<(), SignInError> {
        let has = |path: &str| find(claims, path).is_some();
        let has_role = has(&self.settings.role_claim);
        let is_complete = has_role && has(&self.settings.name_claim);
        let metadata = self.provider.metadata().await?;
        let url = metadata.userinfo_endpoint.as_ref().filter(|_| !is_complete);
        let Some(url) = url else {
            return Ok(());
        };
        let more = match self.provider.user_info(url, access_token).await {
            Ok(more) => more,
            // Only the name is missing, and there are others.
            Err(error) if has_role => {
                tracing::debug!("userinfo is not used: {error}");
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        if more.get("sub") != claims.get("sub") {
            return Err(SignInError::Unexpected(
                "it describes another person".to_owned(),
            ));
        }
        merge(claims, more);
        Ok(())
    }

    fn person(&self, mut claims: Map<String, Value>) -> Result<PersonRecord, SignInError> {
        let settings = &self.settings;
        // A person may have entered any address, and with it the name or role of another.
        if is_email_verified(&claims) == Some(false) {
            claims.remove("email");
        }
        let subject = claims.get("sub").and_then(Value::as_str);
        let subject = subject
            .filter(|subject| !subject.is_empty())
            .ok_or_else(|| SignInError::Unexpected("its token names no person".to_owned()))?;
        let name = unique_name(&claims, &settings.name_claim, subject);
        let values = values(find(&claims, &settings.role_claim));
        let record = PersonRecord::new(settings, subject, name, &values);
        match record.person(settings) {
            Some(_) => Ok(record),
            None => Err(SignInError::NoRole {
                name: record.name,
                claim: settings.role_claim.clone(),
            }),
        }
    }
}

/// Adds claims; those that are there stay.
fn merge(claims: &mut Map<String, Value>, more: Map<String, Value>) {
    for (name, value) in more {
        match (claims.get_mut(&name), value) {
            (Some(Value::Object(inner)), Value::Object(more)) => merge(inner, more),
            (Some(_), _) => {}
            (None, value) => {
                claims.insert(name, value);
            }
        }
    }
}

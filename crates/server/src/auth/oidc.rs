//! People sign in with an OpenID Connect provider: authorization code with PKCE.
//!
//! The browser carries the state of a sign-in in a cookie, so that any node can end what another
//! began, and nothing is held for sign-ins that never end. The provider is asked when a person
//! signs in, and never before: a node starts and runs jobs without it.
//!
//! * `settings`: the provider, and the roles. `provider`: its documents and endpoints.
//! * `id_token`: which token is believed. `jwk`: the keys that sign it.
//! * `sign_in`: one sign-in, from the first redirect to a person. `person`: names and roles.

mod id_token;
mod jwk;
mod person;
mod provider;
mod settings;
mod sign_in;

pub use person::{Person, PersonRecord};
pub use settings::{ClientSecret, OidcSettings, RoleRule};
pub use sign_in::{Oidc, STATE_COOKIE, state_cookie};

/// Why a person was not signed in, as the page says it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignInError {
    #[error("the sign-in provider {issuer} cannot be reached: {reason}; try again later")]
    ProviderAway { issuer: String, reason: String },
    #[error(
        "the sign-in provider at {expected} calls itself {actual}; an administrator must check the \
         setting oidc.issuer"
    )]
    WrongIssuer { expected: String, actual: String },
    #[error("the sign-in provider sent an unexpected response: {0}")]
    Unexpected(String),
    #[error("the sign-in provider refused the sign-in: {0}")]
    Refused(String),
    #[error("this sign-in was not started in this browser, or took too long; start again")]
    WrongState,
    #[error("the token of the provider was made for another sign-in (nonce); start again")]
    WrongNonce,
    #[error("the token of the provider is for another application, and not for {client_id}")]
    WrongAudience { client_id: String },
    #[error("the token of the provider is not signed with one of its keys")]
    WrongSignature,
    #[error("the token of the provider has expired; start again, and check the clocks if it stays")]
    Expired,
    #[error(
        "{name} has signed in, but has no role here: no value of the claim {claim} is listed in \
         the setting oidc.roles; ask an administrator"
    )]
    NoRole { name: String, claim: String },
}

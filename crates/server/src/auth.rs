//! Who may do what: API keys, people, the sessions of browsers, and the admin key of the
//! configuration.

pub mod admin_key;
pub mod cookies;
pub mod failed_sign_ins;
pub mod keys;
pub mod oidc;
pub mod refused_keys;
pub mod sessions;

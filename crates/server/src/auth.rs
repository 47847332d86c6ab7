//! Who may do what: API keys, the sessions of browsers, and the admin key of the configuration.

pub mod admin_key;
pub mod keys;
pub mod sessions;

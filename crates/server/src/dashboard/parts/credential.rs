//! The secret of an endpoint or the token of a key, for the one page that shows it.

use steadfast_api::{EndpointWithSecret, KeyWithToken};

pub struct NewCredential {
    pub title: &'static str,
    pub advice: &'static str,
    pub value: String,
    /// Of the endpoint or key.
    pub id: String,
}

impl NewCredential {
    pub fn secret(created: EndpointWithSecret) -> Self {
        Self {
            title: "New signing secret",
            advice: "Copy it now to the webhook receiver; it is not shown again. \
                     Steadfast keeps it to sign deliveries.",
            value: created.secret,
            id: created.endpoint.id.to_string(),
        }
    }

    pub fn token(created: KeyWithToken) -> Self {
        Self {
            title: "New API key",
            advice: "Copy the token now; it is not shown again. Steadfast keeps only its hash.",
            value: created.token,
            id: created.key.id.to_string(),
        }
    }
}

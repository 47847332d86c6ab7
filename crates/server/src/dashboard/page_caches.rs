//! Clears the counts that a form may have changed, so that the next page shows the change.

use std::sync::{Arc, OnceLock};

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use steadfast_core::Tenant;

use crate::app::App;

/// The tenant of a caller who may change things, or `None` for all, as the handler has found out.
#[derive(Clone, Default)]
pub struct EditorSlot(Arc<OnceLock<Option<Tenant>>>);

impl EditorSlot {
    /// Called where such a caller is known.
    pub fn set(&self, tenant: Option<&Tenant>) {
        self.0.get_or_init(|| tenant.cloned());
    }
}

/// Clears what is kept for the tenant of a form, unless the form was refused.
pub async fn clear(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let slot = EditorSlot::default();
    request.extensions_mut().insert(slot.clone());
    let response = next.run(request).await;
    let status = response.status();
    if let Some(tenant) = slot.0.get().map(Option::as_ref)
        && (status.is_success() || status.is_redirection())
    {
        app.dashboard.clear(tenant);
    }
    response
}

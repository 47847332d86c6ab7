//! Gates, which limit what runs.

use http::Method;
use steadfast_api::{GateBody, GateList, GateScope, SetGateRequest, TenantPageQuery, TenantQuery};

use crate::{
    client::Client,
    request::{Request, path_segment},
};

impl Client {
    /// A page of the gates, with their limits.
    pub fn list_gates(&self, query: &TenantPageQuery) -> Request<GateList> {
        self.get("listGates", "/gates").query(query)
    }

    /// One gate.
    pub fn get_gate(&self, scope: GateScope, key: &str, query: &TenantQuery) -> Request<GateBody> {
        self.get("getGate", &gate_path(scope, key)).query(query)
    }

    /// Sets a gate to these limits and no others.
    pub fn set_gate(
        &self,
        scope: GateScope,
        key: &str,
        query: &TenantQuery,
        limits: &SetGateRequest,
    ) -> Request<GateBody> {
        self.operation("setGate", Method::PUT, &gate_path(scope, key))
            .query(query)
            .json(limits)
    }

    /// Changes the limits of a gate that are named.
    pub fn edit_gate(
        &self,
        scope: GateScope,
        key: &str,
        query: &TenantQuery,
        changes: &SetGateRequest,
    ) -> Request<GateBody> {
        self.operation("editGate", Method::PATCH, &gate_path(scope, key))
            .query(query)
            .json(changes)
    }

    /// Deletes a gate: what it held back may start.
    pub fn delete_gate(&self, scope: GateScope, key: &str, query: &TenantQuery) -> Request<()> {
        self.operation("deleteGate", Method::DELETE, &gate_path(scope, key))
            .query(query)
    }
}

fn gate_path(scope: GateScope, key: &str) -> String {
    format!("/gates/{scope}/{}", path_segment(key))
}

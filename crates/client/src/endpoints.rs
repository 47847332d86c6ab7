//! Endpoints, which receive webhooks and alerts, and API keys.

use std::fmt::Display;

use http::Method;
use steadfast_api::{
    CreateEndpointRequest, CreateKeyRequest, EndpointList, EndpointWithSecret, KeyList,
    KeyWithToken, PageQuery, RotateSecretRequest, TenantPageQuery,
};

use crate::{
    client::Client,
    request::{Request, path_segment},
};

impl Client {
    /// Creates an endpoint. Its secret is in this response only.
    pub fn create_endpoint(&self, endpoint: &CreateEndpointRequest) -> Request<EndpointWithSecret> {
        self.post_json("createEndpoint", "/endpoints", endpoint)
    }

    /// All endpoints, oldest first, without their secrets.
    pub fn list_endpoints(&self, query: &TenantPageQuery) -> Request<EndpointList> {
        self.get("listEndpoints", "/endpoints").query(query)
    }

    /// Deletes an endpoint and cancels its deliveries.
    pub fn delete_endpoint(&self, id: impl Display) -> Request<()> {
        let path = format!("/endpoints/{}", path_segment(id));
        self.operation("deleteEndpoint", Method::DELETE, &path)
    }

    /// Gives an endpoint a new secret; the old one signs beside it for a while.
    pub fn rotate_endpoint_secret(
        &self,
        id: impl Display,
        rotation: &RotateSecretRequest,
    ) -> Request<EndpointWithSecret> {
        let path = format!("/endpoints/{}/rotate", path_segment(id));
        self.post_json("rotateEndpointSecret", &path, rotation)
    }

    /// Creates an API key. Its token is in this response only.
    pub fn create_key(&self, key: &CreateKeyRequest) -> Request<KeyWithToken> {
        self.post_json("createKey", "/keys", key)
    }

    /// All API keys, oldest first, without their tokens.
    pub fn list_keys(&self, page: &PageQuery) -> Request<KeyList> {
        self.get("listKeys", "/keys").query(page)
    }

    /// Revokes an API key.
    pub fn revoke_key(&self, id: impl Display) -> Request<()> {
        let path = format!("/keys/{}", path_segment(id));
        self.operation("revokeKey", Method::DELETE, &path)
    }
}

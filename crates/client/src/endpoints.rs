//! Endpoints, which receive webhooks and alerts, API keys, and secrets.

use std::fmt::Display;

use http::Method;
use steadfast_api::{
    CreateEndpointRequest, CreateKeyRequest, EditEndpointRequest, EndpointBody, EndpointList,
    EndpointWithSecret, JobBody, JobList, KeyList, KeyWithToken, PageQuery, RotateSecretRequest,
    SecretBody, SecretList, SetSecretRequest, TenantPageQuery, TenantQuery,
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

    /// One endpoint, without its secrets.
    pub fn get_endpoint(&self, id: impl Display) -> Request<EndpointBody> {
        self.get("getEndpoint", &endpoint_path(id, ""))
    }

    /// Changes an endpoint; what the request leaves out stays as it is.
    pub fn edit_endpoint(
        &self,
        id: impl Display,
        edit: &EditEndpointRequest,
    ) -> Request<EndpointBody> {
        self.operation("editEndpoint", Method::PATCH, &endpoint_path(id, ""))
            .json(edit)
    }

    /// Enables an endpoint, and sends the deliveries that wait for it.
    pub fn enable_endpoint(&self, id: impl Display) -> Request<EndpointBody> {
        self.post("enableEndpoint", &endpoint_path(id, "/enable"))
    }

    /// Disables an endpoint; its deliveries wait.
    pub fn disable_endpoint(&self, id: impl Display) -> Request<EndpointBody> {
        self.post("disableEndpoint", &endpoint_path(id, "/disable"))
    }

    /// Sends a test event to an endpoint, and returns the delivery.
    pub fn test_endpoint(&self, id: impl Display) -> Request<JobBody> {
        self.post("testEndpoint", &endpoint_path(id, "/test"))
    }

    /// A page of the deliveries to an endpoint, newest first.
    pub fn list_deliveries(&self, id: impl Display, page: &PageQuery) -> Request<JobList> {
        self.get("listDeliveries", &endpoint_path(id, "/deliveries"))
            .query(page)
    }

    /// Sends a delivery that has ended once more.
    pub fn resend_delivery(&self, id: impl Display) -> Request<JobBody> {
        let path = format!("/deliveries/{}/resend", path_segment(id));
        self.post("resendDelivery", &path)
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

    /// Sets a secret, new or existing.
    pub fn set_secret(
        &self,
        name: &str,
        query: &TenantQuery,
        secret: &SetSecretRequest,
    ) -> Request<SecretBody> {
        self.operation("setSecret", Method::PUT, &secret_path(name))
            .query(query)
            .json(secret)
    }

    /// A page of the secrets, without their values.
    pub fn list_secrets(&self, query: &TenantPageQuery) -> Request<SecretList> {
        self.get("listSecrets", "/secrets").query(query)
    }

    /// Deletes a secret: requests that name it fail until it is set again.
    pub fn delete_secret(&self, name: &str, query: &TenantQuery) -> Request<()> {
        self.operation("deleteSecret", Method::DELETE, &secret_path(name))
            .query(query)
    }
}

fn endpoint_path(id: impl Display, verb: &str) -> String {
    format!("/endpoints/{}{verb}", path_segment(id))
}

fn secret_path(name: &str) -> String {
    format!("/secrets/{}", path_segment(name))
}

//! Destinations, the systems that jobs call.

use http::Method;
use steadfast_api::{
    DestinationBody, DestinationList, DestinationQuery, HoldDestinationRequest,
    SetDestinationRequest, SetGateRequest, TenantQuery,
};

use crate::{
    client::Client,
    request::{Request, path_segment},
};

impl Client {
    /// A page of the destinations of which something is known.
    pub fn list_destinations(&self, query: &DestinationQuery) -> Request<DestinationList> {
        self.get("listDestinations", "/destinations").query(query)
    }

    /// One destination: its health, its incidents and its settings.
    pub fn get_destination(&self, origin: &str, query: &TenantQuery) -> Request<DestinationBody> {
        self.get("getDestination", &path(origin)).query(query)
    }

    /// Sets what follows if a destination is found unhealthy, and when it is. What is left out is as
    /// by default.
    pub fn set_destination(
        &self,
        origin: &str,
        query: &TenantQuery,
        settings: &SetDestinationRequest,
    ) -> Request<DestinationBody> {
        self.operation("setDestination", Method::PUT, &path(origin))
            .query(query)
            .json(settings)
    }

    /// Changes the settings of a destination that are named: `hold`, `share_retry_after` and
    /// `health`.
    pub fn edit_destination(
        &self,
        origin: &str,
        query: &TenantQuery,
        changes: &SetGateRequest,
    ) -> Request<DestinationBody> {
        self.operation("editDestination", Method::PATCH, &path(origin))
            .query(query)
            .json(changes)
    }

    /// Holds a destination: no job starts for it until it is released.
    pub fn hold_destination(
        &self,
        origin: &str,
        why: &HoldDestinationRequest,
    ) -> Request<DestinationBody> {
        let path = format!("{}/hold", path(origin));
        self.post_json("holdDestination", &path, why)
    }

    /// Releases a destination: jobs start again.
    pub fn release_destination(&self, origin: &str) -> Request<DestinationBody> {
        self.post("releaseDestination", &format!("{}/release", path(origin)))
    }
}

fn path(origin: &str) -> String {
    format!("/destinations/{}", path_segment(origin))
}

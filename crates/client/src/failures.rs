//! Groups of failures.

use http::Method;
use steadfast_api::{FailureGroupBody, FailureList, FailureQuery, MarkFailureRequest, TenantQuery};
use steadfast_core::FailureMark;

use crate::{
    client::Client,
    request::{Request, path_segment},
};

impl Client {
    /// A page of groups of failures, those with the most failures first.
    pub fn list_failures(&self, query: &FailureQuery) -> Request<FailureList> {
        self.get("listFailures", "/failures").query(query)
    }

    /// One group of failures.
    pub fn get_failure(&self, fingerprint: &str, query: &TenantQuery) -> Request<FailureGroupBody> {
        self.get("getFailure", &path(fingerprint)).query(query)
    }

    /// Says that a failure is known, or that its cause is fixed.
    pub fn mark_failure(
        &self,
        fingerprint: &str,
        query: &TenantQuery,
        state: FailureMark,
    ) -> Request<FailureGroupBody> {
        self.operation("markFailure", Method::PATCH, &path(fingerprint))
            .query(query)
            .json(&MarkFailureRequest { state })
    }
}

fn path(fingerprint: &str) -> String {
    format!("/failures/{}", path_segment(fingerprint))
}

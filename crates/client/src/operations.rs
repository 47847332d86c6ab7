//! Work on many jobs, and who did what.

use std::fmt::Display;

use steadfast_api::{
    AuditList, AuditQuery, BulkResult, CreateOperationRequest, OperationBody, OperationJobList,
    OperationJobQuery, OperationList, OperationQuery,
};

use crate::{
    client::Client,
    request::{Request, path_segment},
};

impl Client {
    /// Creates an operation, which nodes then carry out.
    pub fn create_operation(&self, request: &CreateOperationRequest) -> Request<OperationBody> {
        self.post_json("createOperation", "/operations", request)
    }

    /// How many jobs an operation would look at; nothing is changed.
    pub fn count_operation(&self, request: &CreateOperationRequest) -> Request<BulkResult> {
        let request = CreateOperationRequest {
            dry_run: true,
            ..request.clone()
        };
        self.post_json("createOperation", "/operations", &request)
    }

    /// A page of the operations, newest first.
    pub fn list_operations(&self, query: &OperationQuery) -> Request<OperationList> {
        self.get("listOperations", "/operations").query(query)
    }

    /// One operation.
    pub fn get_operation(&self, id: impl Display) -> Request<OperationBody> {
        self.get("getOperation", &operation_path(id, ""))
    }

    /// A page of the jobs of an operation, with what was done to each.
    pub fn list_operation_jobs(
        &self,
        id: impl Display,
        query: &OperationJobQuery,
    ) -> Request<OperationJobList> {
        self.get("listOperationJobs", &operation_path(id, "/jobs"))
            .query(query)
    }

    /// Halts an operation until it is resumed.
    pub fn pause_operation(&self, id: impl Display) -> Request<OperationBody> {
        self.post("pauseOperation", &operation_path(id, "/pause"))
    }

    /// Lets a paused operation go on.
    pub fn resume_operation(&self, id: impl Display) -> Request<OperationBody> {
        self.post("resumeOperation", &operation_path(id, "/resume"))
    }

    /// Ends an operation; the rest of its jobs is left alone.
    pub fn cancel_operation(&self, id: impl Display) -> Request<OperationBody> {
        self.post("cancelOperation", &operation_path(id, "/cancel"))
    }

    /// A page of what was done, and by whom, newest first.
    pub fn list_audit(&self, query: &AuditQuery) -> Request<AuditList> {
        self.get("listAudit", "/audit").query(query)
    }
}

fn operation_path(id: impl Display, verb: &str) -> String {
    format!("/operations/{}{verb}", path_segment(id))
}

//! Jobs that are counted together.

use std::fmt::Display;

use serde::Serialize;
use steadfast_api::{BatchBody, BatchJobQuery, BatchList, BatchQuery, CreateJobsRequest, JobList};

use crate::{
    client::Client,
    request::{Request, path_segment},
};

impl Client {
    /// Creates a batch and its jobs in one transaction. The status is 201 for a new batch, and 200 if
    /// the idempotency key has a batch already. The request is a
    /// [`CreateBatchRequest`](steadfast_api::CreateBatchRequest), or JSON that the caller has.
    pub fn create_batch(&self, request: &impl Serialize) -> Request<BatchBody> {
        self.post_json("createBatch", "/batches", request)
    }

    /// A page of the batches, newest first.
    pub fn list_batches(&self, query: &BatchQuery) -> Request<BatchList> {
        self.get("listBatches", "/batches").query(query)
    }

    /// One batch.
    pub fn get_batch(&self, id: impl Display) -> Request<BatchBody> {
        self.get("getBatch", &batch_path(id, ""))
    }

    /// A page of the jobs of a batch that are still stored, newest first.
    pub fn list_batch_jobs(&self, id: impl Display, query: &BatchJobQuery) -> Request<JobList> {
        self.get("listBatchJobs", &batch_path(id, "/jobs"))
            .query(query)
    }

    /// Adds jobs to an open batch, all of them or none.
    pub fn add_batch_jobs(&self, id: impl Display, jobs: &CreateJobsRequest) -> Request<JobList> {
        self.post_json("addBatchJobs", &batch_path(id, "/jobs"), jobs)
    }

    /// Lets no more jobs be added to a batch, so that it can end.
    pub fn close_batch(&self, id: impl Display) -> Request<BatchBody> {
        self.post("closeBatch", &batch_path(id, "/close"))
    }
}

fn batch_path(id: impl Display, verb: &str) -> String {
    format!("/batches/{}{verb}", path_segment(id))
}

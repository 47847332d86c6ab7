//! Pages of jobs, for the API and the dashboard. The store limits the work of one query, so a filter
//! that matches few jobs may need several. The caller then gets the jobs found so far and a cursor.

use std::time::Duration;

use steadfast_core::{Job, JobId};
use steadfast_engine::{Client, ClientError};
use steadfast_store::{JobFilter, JobPageRequest, Page};
use tokio::time::Instant;

use crate::limits;

/// Searches for a page of jobs, at most for `time_max`.
pub async fn find_page(
    client: &Client,
    filter: JobFilter,
    mut page: JobPageRequest,
    time_max: Duration,
) -> Result<Page<Job, JobId>, ClientError> {
    let (limit, deadline) = (page.limit, Instant::now() + time_max);
    let mut items: Vec<Job> = Vec::new();
    let mut looks = 0;
    loop {
        page.limit = limit - items.len();
        let found = client.jobs(filter.clone(), page).await?;
        items.extend(found.items);
        looks += 1;
        let is_enough =
            items.len() >= limit || looks >= limits::LIST_LOOKS_MAX || Instant::now() >= deadline;
        match found.next {
            Some(next) if !is_enough => page.after = Some(next),
            next => return Ok(Page { items, next }),
        }
    }
}

//! Dead letters: the failures that made them, and the newest of them.

use askama::Template;
use steadfast_core::{EndReason, JobId};
use steadfast_store::{FailureFilter, JobFilter, PageRequest};

use crate::{
    api::query,
    dashboard::{
        forms::fields::Fields,
        parts::{
            failure_row::FailureRow,
            job_list_header::{JobListHeader, answer_search},
            job_row::{JobRow, list_jobs},
            operation_row::{OperationRow, open_operations},
        },
        viewer::Viewer,
    },
    limits,
    theme::{
        layout::{Layout, render},
        page_error::PageResult,
    },
};

#[derive(Template)]
#[template(path = "lists/dead_letters.html")]
struct DeadLettersPage {
    layout: Layout,
    fields: Fields,
    header: JobListHeader,
    filters: Vec<(&'static str, String)>,
    reasons: &'static [EndReason],
    groups: Vec<FailureRow>,
    has_more_groups: bool,
    rows: Vec<JobRow>,
    next: Option<String>,
    first: Option<String>,
    back: String,
    bulk: Vec<OperationRow>,
    shows_tenants: bool,
}

pub async fn page(viewer: Viewer) -> PageResult {
    if let Some(answer) = answer_search(&viewer, "/dead-letters").await? {
        return Ok(answer);
    }
    let filter = JobFilter {
        dead_letters: true,
        ..query::job_filter(&viewer.fields.job_query()?, &viewer.caller)?
    };
    let layout = viewer.layout("/dead-letters", "Dead letters");
    let client = &viewer.app.client;
    let groups = PageRequest::first(limits::PAGE_FAILURES_MAX);
    let groups = client.failures(failure_filter(&filter), groups).await?;
    let page = viewer.fields.page::<JobId>()?;
    let (jobs, next) = list_jobs(&viewer.app, filter.clone(), page).await?;
    let here = |changes: &[(&str, &str)]| viewer.fields.here("/dead-letters", changes);
    let row = |group| FailureRow::of(group, &layout);
    render(&DeadLettersPage {
        header: JobListHeader::of(&viewer, "/dead-letters", &filter, &jobs).await?,
        filters: viewer.fields.filters(),
        reasons: EndReason::ALL,
        has_more_groups: groups.next.is_some(),
        groups: groups.items.into_iter().map(row).collect(),
        rows: jobs.iter().map(|job| JobRow::of(job, &layout)).collect(),
        next: next.map(|next| here(&[("after", &next.to_string())])),
        first: page.after.map(|_| here(&[("after", "")])),
        back: here(&[]),
        bulk: open_operations(&viewer.app, viewer.caller.tenant.as_ref(), &layout).await?,
        shows_tenants: viewer.caller.tenant.is_none(),
        fields: viewer.fields,
        layout,
    })
}

/// The failures of dead letters that match, as far as groups can tell.
fn failure_filter(filter: &JobFilter) -> FailureFilter {
    FailureFilter {
        tenant: filter.tenant.clone(),
        queue: filter.queue.clone(),
        kind: filter.kind.clone(),
        destination: filter.destination.clone(),
        class: filter.failure_class.clone(),
        text: filter.failure_text.clone(),
        fingerprint: filter.fingerprint,
        has_dead_letters: true,
        ..FailureFilter::default()
    }
}

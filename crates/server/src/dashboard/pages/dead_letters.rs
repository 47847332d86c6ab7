//! Dead letters: by failure, and the newest.

use std::cmp::Reverse;

use askama::Template;
use steadfast_core::{EndReason, JobId};
use steadfast_store::{FailureFilter, JobFilter, PageRequest};

use crate::{
    api::query,
    dashboard::{
        page::{Fields, Layout, List, PageResult, Viewer, render},
        parts::{
            FailureRow, JobListHeader, JobRow, OperationRow, job_list_header::answer_search,
            list_jobs, open_operations,
        },
    },
    limits,
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
    list: List<JobRow>,
    back: String,
    bulk: Vec<OperationRow>,
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
    let groups = PageRequest::first(limits::FAILURES_SORTED_MAX);
    let groups = viewer
        .caller
        .failures(&viewer.app, failure_filter(&filter), groups)
        .await?;
    let (mut by_dead_letters, has_more) = (groups.items, groups.next.is_some());
    by_dead_letters.sort_by_key(|group| Reverse(group.tally.dead_letters));
    let groups = List::first(by_dead_letters, limits::PAGE_FAILURES_MAX, |group| {
        FailureRow::of(group, &layout)
    });
    let page = viewer.fields.page::<JobId>();
    let found = list_jobs(&viewer.app, &viewer.caller, filter.clone(), page).await?;
    render(&DeadLettersPage {
        header: JobListHeader::of(&viewer, "/dead-letters", &filter, &found.items).await?,
        filters: viewer.fields.filters(),
        reasons: EndReason::ALL,
        has_more_groups: has_more || groups.hidden > 0,
        groups: groups.rows,
        list: List::page(("/dead-letters", &viewer.fields), &page, found, |job| {
            JobRow::of(&job, &layout)
        }),
        back: viewer.fields.here("/dead-letters", &[]),
        bulk: open_operations(&viewer.app, viewer.caller.tenant.as_ref()).await?,
        fields: viewer.fields,
        layout,
    })
}

/// The failure groups of matching dead letters, by the conditions that groups have.
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

//! The list of jobs.

use askama::Template;
use steadfast_core::{JobId, JobLabel};

use crate::{
    api::query,
    dashboard::{
        page::{Fields, Layout, List, PageResult, Viewer, render},
        parts::{
            JobListHeader, JobRow, OperationRow, job_list_header::answer_search, list_jobs,
            open_operations,
        },
    },
};

#[derive(Template)]
#[template(path = "lists/jobs.html")]
struct JobListPage {
    layout: Layout,
    fields: Fields,
    header: JobListHeader,
    filters: Vec<(&'static str, String)>,
    labels: &'static [JobLabel],
    list: List<JobRow>,
    back: String,
    bulk: Vec<OperationRow>,
}

pub async fn page(viewer: Viewer) -> PageResult {
    if let Some(answer) = answer_search(&viewer, "/jobs").await? {
        return Ok(answer);
    }
    let filter = query::job_filter(&viewer.fields.job_query()?, &viewer.caller)?;
    let page = viewer.fields.page::<JobId>();
    let layout = viewer.layout("/jobs", "Jobs");
    let found = list_jobs(&viewer.app, &viewer.caller, filter.clone(), page).await?;
    render(&JobListPage {
        header: JobListHeader::of(&viewer, "/jobs", &filter, &found.items).await?,
        list: List::page(("/jobs", &viewer.fields), &page, found, |job| {
            JobRow::of(&job, &layout)
        }),
        filters: viewer.fields.filters(),
        labels: JobLabel::ALL,
        back: viewer.fields.here("/jobs", &[]),
        bulk: open_operations(&viewer.app, viewer.caller.tenant.as_ref()).await?,
        fields: viewer.fields,
        layout,
    })
}

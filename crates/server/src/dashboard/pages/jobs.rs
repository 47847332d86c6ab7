//! The list of jobs.

use askama::Template;
use steadfast_core::{JobId, JobLabel};

use crate::{
    api::query,
    dashboard::{
        forms::fields::Fields,
        parts::{
            job_list_header::{JobListHeader, answer_search},
            job_row::{JobRow, list_jobs},
            operation_row::{OperationRow, open_operations},
        },
        viewer::Viewer,
    },
    theme::{
        layout::{Layout, render},
        page_error::PageResult,
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
    rows: Vec<JobRow>,
    next: Option<String>,
    first: Option<String>,
    back: String,
    bulk: Vec<OperationRow>,
    shows_tenants: bool,
}

pub async fn page(viewer: Viewer) -> PageResult {
    if let Some(answer) = answer_search(&viewer, "/jobs").await? {
        return Ok(answer);
    }
    let filter = query::job_filter(&viewer.fields.job_query()?, &viewer.caller)?;
    let page = viewer.fields.page::<JobId>()?;
    let layout = viewer.layout("/jobs", "Jobs");
    let (jobs, next) = list_jobs(&viewer.app, filter.clone(), page).await?;
    let here = |changes: &[(&str, &str)]| viewer.fields.here("/jobs", changes);
    let next = next.map(|next| here(&[("after", &next.to_string())]));
    render(&JobListPage {
        header: JobListHeader::of(&viewer, "/jobs", &filter, &jobs).await?,
        rows: jobs.iter().map(|job| JobRow::of(job, &layout)).collect(),
        filters: viewer.fields.filters(),
        labels: JobLabel::ALL,
        next,
        first: page.after.map(|_| here(&[("after", "")])),
        back: here(&[]),
        bulk: open_operations(&viewer.app, viewer.caller.tenant.as_ref(), &layout).await?,
        shows_tenants: viewer.caller.tenant.is_none(),
        fields: viewer.fields,
        layout,
    })
}

//! Dead letters, grouped by kind and failure.

use std::collections::HashMap;

use askama::Template;
use steadfast_core::{EndReason, Job, explain};
use steadfast_engine::Stats;
use steadfast_store::{JobFilter, JobPageRequest};

use super::{
    bulk_tracker::BulkProgress,
    fields::Fields,
    fingerprint,
    format::{PageTime, thousands},
    frame::{Frame, render},
    jobs::{JobRow, list_jobs},
    page_error::PageResult,
    viewer::Viewer,
};
use crate::{api::query, limits};

#[derive(Template)]
#[template(path = "dead_letters.html")]
struct DeadLettersPage {
    frame: Frame,
    fields: Fields,
    filters: Vec<(&'static str, String)>,
    reasons: &'static [EndReason],
    groups: Vec<FailureGroup>,
    total: String,
    /// How many were grouped, if there are more.
    grouped: Option<String>,
    /// The one group that is shown.
    chosen: Option<String>,
    back: String,
    bulk: Vec<BulkProgress>,
    shows_tenants: bool,
}

struct FailureGroup {
    id: String,
    kind: String,
    pattern: String,
    reason: &'static str,
    count: usize,
    newest: PageTime,
    oldest: PageTime,
    rows: Vec<JobRow>,
    hidden: usize,
}

pub async fn page(viewer: Viewer) -> PageResult {
    let filter = JobFilter {
        dead_letters: true,
        ..query::job_filter(&viewer.fields.job_query()?, &viewer.caller)?
    };
    let tenant = filter.tenant.clone();
    let frame = Frame::of(&viewer, "/dead-letters", "Dead letters");
    let page = JobPageRequest::first(limits::DEAD_LETTERS_GROUPED_MAX);
    let (jobs, next) = list_jobs(&viewer.app, filter, page).await?;
    let lanes = viewer
        .app
        .lane_stats
        .get(&viewer.app.client, tenant.as_ref())
        .await?;
    let stats: Stats = lanes.into_iter().collect();
    let chosen = viewer.fields.get("group").map(str::to_owned);
    let rows_max = if chosen.is_some() {
        jobs.len()
    } else {
        limits::GROUP_ROWS_MAX
    };
    let mut groups = groups(&jobs, &frame, rows_max);
    if let Some(chosen) = &chosen {
        groups.retain(|group| group.id == *chosen);
    }
    let query = viewer.fields.query_with(&[("did", ""), ("n", "")]);
    render(&DeadLettersPage {
        filters: viewer.fields.filters(),
        reasons: EndReason::ALL,
        groups,
        total: thousands(stats.dead_letters),
        grouped: next.map(|_| thousands(jobs.len() as u64)),
        chosen,
        back: format!("/dead-letters?{query}"),
        bulk: viewer.app.bulk.progress(viewer.caller.tenant.as_ref()),
        shows_tenants: viewer.caller.tenant.is_none(),
        fields: viewer.fields,
        frame,
    })
}

/// In order of their newest dead letter, with at most `rows_max` rows each.
fn groups(jobs: &[Job], frame: &Frame, rows_max: usize) -> Vec<FailureGroup> {
    let mut indexes: HashMap<String, usize> = HashMap::new();
    let mut groups: Vec<FailureGroup> = Vec::new();
    for job in jobs {
        let id = fingerprint::group_id(job);
        let ended = frame.time(job.progress.finished_at.unwrap_or(job.created_at));
        let index = *indexes.entry(id.clone()).or_insert_with(|| {
            groups.push(FailureGroup {
                id,
                kind: job.kind.to_string(),
                pattern: fingerprint::pattern(job),
                reason: job.progress.reason.map_or("", explain::reason),
                count: 0,
                newest: ended,
                oldest: ended,
                rows: Vec::new(),
                hidden: 0,
            });
            groups.len() - 1
        });
        let Some(group) = groups.get_mut(index) else {
            continue;
        };
        group.count += 1;
        group.newest.at = group.newest.at.max(ended.at);
        group.oldest.at = group.oldest.at.min(ended.at);
        if group.rows.len() < rows_max {
            group.rows.push(JobRow::of(job, frame));
        } else {
            group.hidden += 1;
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.newest.at));
    groups
}

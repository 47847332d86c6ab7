//! Dead letters, gathered into groups of like failures.

use std::collections::HashMap;

use askama::Template;
use steadfast_core::{EndReason, Job};
use steadfast_engine::Stats;
use steadfast_store::{JobFilter, JobPageRequest};

use super::{
    bulk::Working,
    explain,
    fields::Fields,
    fingerprint,
    frame::{Frame, HtmlPage, render},
    jobs::{Row, listed},
    shown::{When, count, line},
    viewer::Viewer,
};

use crate::api::query;

/// How many of the newest dead letters are grouped.
const SAMPLE: usize = 500;
const SHOWN_MAX: usize = 10;
const PATTERN_CHARS_MAX: usize = 220;

#[derive(Template)]
#[template(path = "dead_letters.html")]
struct DeadPage {
    frame: Frame,
    fields: Fields,
    filters: Vec<(&'static str, String)>,
    reasons: &'static [EndReason],
    groups: Vec<Group>,
    total: String,
    sampled: String,
    has_more: bool,
    /// The one group that is looked at.
    chosen: Option<String>,
    back: String,
    working: Vec<Working>,
    shows_tenants: bool,
}

struct Group {
    id: String,
    kind: String,
    pattern: String,
    reason: &'static str,
    count: usize,
    newest: When,
    oldest: When,
    rows: Vec<Row>,
    hidden: usize,
}

pub async fn page(viewer: Viewer) -> HtmlPage {
    let filter = JobFilter {
        dead_letters: true,
        ..query::job_filter(&viewer.fields.job_query()?, &viewer.caller)?
    };
    let tenant = filter.tenant.clone();
    let frame = Frame::of(&viewer, "/dead-letters", "Dead letters");
    let (jobs, next) = listed(&viewer.app, filter, JobPageRequest::first(SAMPLE)).await?;
    let lanes = viewer.app.lanes.of(&viewer.app, tenant.as_ref()).await?;
    let stats: Stats = lanes.into_iter().collect();
    let chosen = viewer.fields.get("group").map(str::to_owned);
    let most = if chosen.is_some() { SAMPLE } else { SHOWN_MAX };
    let mut groups = groups(&jobs, &frame, most);
    if let Some(chosen) = &chosen {
        groups.retain(|group| group.id == *chosen);
    }
    let query = viewer.fields.with(&[("did", ""), ("n", "")]);
    render(&DeadPage {
        filters: viewer.fields.filters(),
        reasons: EndReason::ALL,
        groups,
        total: count(stats.dead_letters),
        sampled: count(jobs.len() as u64),
        has_more: next.is_some(),
        chosen,
        back: format!("/dead-letters?{query}"),
        working: viewer.app.bulk.shown(&viewer.caller),
        shows_tenants: viewer.caller.tenant.is_none(),
        fields: viewer.fields,
        frame,
    })
}

/// In order of their newest letter; each list is shown as far as `most`.
fn groups(jobs: &[Job], frame: &Frame, most: usize) -> Vec<Group> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut groups: Vec<Group> = Vec::new();
    for job in jobs {
        let id = fingerprint::group(job);
        let ended = frame.when(job.progress.finished_at.unwrap_or(job.created_at));
        let place = *places.entry(id.clone()).or_insert_with(|| {
            groups.push(Group {
                id,
                kind: job.kind.to_string(),
                pattern: line(&fingerprint::pattern(job), PATTERN_CHARS_MAX),
                reason: job.progress.reason.map_or("", explain::reason),
                count: 0,
                newest: ended,
                oldest: ended,
                rows: Vec::new(),
                hidden: 0,
            });
            groups.len() - 1
        });
        let Some(group) = groups.get_mut(place) else {
            continue;
        };
        group.count += 1;
        group.newest.at = group.newest.at.max(ended.at);
        group.oldest.at = group.oldest.at.min(ended.at);
        match group.rows.len() < most {
            true => group.rows.push(Row::of(job, frame)),
            false => group.hidden += 1,
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.newest.at));
    groups
}

//! The header of a list of jobs: the search box with its completions, the active conditions, and the
//! labels with their counts.

use std::collections::BTreeSet;

use axum::response::Response;
use steadfast_core::{FailureState, Job, JobLabel};
use steadfast_engine::Stats;
use steadfast_store::{FailureFilter, JobFilter, JobPageRequest, LaneStats, PageRequest};

use crate::{
    dashboard::{
        fields::Fields,
        parts::{
            format::thousands,
            job_row::SHORT_ID_CHARS,
            search::{FAILURE_CONDITIONS, JOB_CONDITIONS, KnownNames, Search, line_of, parse},
        },
        viewer::Viewer,
    },
    limits,
    theme::{PageError, redirect_to},
};

pub struct JobListHeader {
    /// The address of the list.
    pub path: &'static str,
    /// The conditions as the search box has them.
    pub line: String,
    pub conditions: Vec<Condition>,
    pub completions: Vec<String>,
    pub labels: Vec<LabelChip>,
    /// How many match, if the counters of the lanes give it.
    pub total: Option<String>,
}

/// A condition that holds.
pub struct Condition {
    pub text: String,
    /// The list without it.
    pub address: String,
}

/// A label, with the list of the jobs that have it.
pub struct LabelChip {
    pub name: &'static str,
    pub count: Option<String>,
    pub is_zero: bool,
    pub is_current: bool,
    pub address: String,
}

/// The answer to a line from the search box: the list, or the page of one thing.
pub async fn answer_search(viewer: &Viewer, path: &str) -> Result<Option<Response>, PageError> {
    answer(viewer, path, JOB_CONDITIONS).await
}

async fn answer(
    viewer: &Viewer,
    path: &str,
    names: &[&'static str],
) -> Result<Option<Response>, PageError> {
    let has_line = viewer.fields.has("q");
    if !has_line {
        return Ok(None);
    }
    let lanes = lanes(viewer).await?;
    let line = viewer.fields.value("q");
    Ok(Some(match parse(line, &KnownNames::of(&lanes), names) {
        Search::Page(path) => redirect_to(&path),
        Search::Conditions(found) => {
            if let Some(page) = page_of_short_id(viewer, &found).await? {
                return Ok(Some(redirect_to(&page)));
            }
            let query = query_of(&found);
            let mark = if query.is_empty() { "" } else { "?" };
            redirect_to(&format!("{path}{mark}{query}"))
        }
    }))
}

/// The page of a new job, if all that is searched for is the end of its id, as lists show it.
async fn page_of_short_id(
    viewer: &Viewer,
    conditions: &[(&'static str, String)],
) -> Result<Option<String>, PageError> {
    let [("text", word)] = conditions else {
        return Ok(None);
    };
    let is_short_id =
        word.len() == SHORT_ID_CHARS && word.chars().all(|it| it.is_ascii_alphanumeric());
    if !is_short_id {
        return Ok(None);
    }
    let filter = JobFilter {
        tenant: viewer.caller.tenant.clone(),
        ..JobFilter::default()
    };
    let page = JobPageRequest::first(limits::SHORT_ID_JOBS_MAX);
    let newest = viewer.app.client.jobs(filter, page).await?.items;
    let end = word.to_lowercase();
    let mut ids = newest.iter().map(|job| job.id.to_string());
    let found = ids.find(|id| id.to_lowercase().ends_with(&end));
    Ok(found.map(|id| format!("/jobs/{id}")))
}

async fn lanes(viewer: &Viewer) -> Result<Vec<LaneStats>, PageError> {
    let Viewer { app, caller, .. } = viewer;
    let lanes = app.dashboard.lanes(&app.client, caller.tenant.as_ref());
    Ok(lanes.await?)
}

fn query_of(conditions: &[(&'static str, String)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(conditions);
    query.finish()
}

impl JobListHeader {
    pub async fn of(
        viewer: &Viewer,
        path: &'static str,
        filter: &JobFilter,
        jobs: &[Job],
    ) -> Result<Self, PageError> {
        let lanes = lanes(viewer).await?;
        let conditions = viewer.fields.filters();
        let stats = stats_of(&lanes, filter);
        let has_labels = !filter.dead_letters;
        let shows_tenants = viewer.caller.tenant.is_none();
        let names = KnownNames::of(&lanes).completions(has_labels, shows_tenants);
        Ok(Self {
            path,
            line: line_of(&conditions),
            conditions: without_each(path, &conditions),
            completions: completions(words_of(jobs), names),
            labels: match has_labels {
                true => label_chips(path, &viewer.fields, filter, stats.as_ref()),
                false => Vec::new(),
            },
            total: stats.map(|stats| thousands(total(&stats, filter))),
        })
    }
}

/// The answer to a line from the search box over the failures.
pub async fn answer_failure_search(viewer: &Viewer) -> Result<Option<Response>, PageError> {
    answer(viewer, "/failures", FAILURE_CONDITIONS).await
}

impl JobListHeader {
    /// The head of the list of failures, which are found by their states in place of labels. The
    /// states are counted unless there are too many groups.
    pub async fn of_failures(
        viewer: &Viewer,
        conditions: &[(&'static str, String)],
        filter: FailureFilter,
        destinations: impl Iterator<Item = String>,
    ) -> Result<Self, PageError> {
        let path = "/failures";
        let lanes = lanes(viewer).await?;
        let shows_tenants = viewer.caller.tenant.is_none();
        let names = KnownNames::of(&lanes).completions(false, shows_tenants);
        let found = destinations.map(|it| line_of(&[("destination", it)]));
        let found: BTreeSet<String> = found.collect();
        let chosen = viewer.fields.get("state");
        let states = states_of(viewer, filter).await?;
        let chip = |name: &'static str, state: &str| {
            let count = states.as_ref().map(|states| {
                let of_chip = states.iter().filter(|it| state.is_empty() || **it == state);
                u64::try_from(of_chip.count()).unwrap_or(u64::MAX)
            });
            LabelChip {
                name,
                count: count.map(thousands),
                is_zero: count == Some(0) && !state.is_empty(),
                is_current: chosen.unwrap_or_default() == state,
                address: viewer.fields.here(path, &[("state", state), ("after", "")]),
            }
        };
        let states = FailureState::ALL.iter().map(|it| it.as_str());
        let states = states.map(|name| chip(name, name));
        Ok(Self {
            path,
            line: line_of(conditions),
            conditions: without_each(path, conditions),
            completions: completions(found, names),
            labels: [chip("all", "")].into_iter().chain(states).collect(),
            total: None,
        })
    }
}

/// The states of the groups that match except for their state; `None` if there are too many to count
/// with each refresh.
async fn states_of(
    viewer: &Viewer,
    filter: FailureFilter,
) -> Result<Option<Vec<&'static str>>, PageError> {
    let filter = FailureFilter {
        state: None,
        ..filter
    };
    let page = PageRequest::first(limits::FAILURES_SORTED_MAX);
    let client = &viewer.app.client;
    let (groups, now) = (client.failures(filter, page).await?, client.now());
    let is_all = groups.next.is_none();
    let states = groups.items.iter().map(|group| group.state(now).as_str());
    Ok(is_all.then(|| states.collect()))
}

pub fn count_jobs(stats: &Stats) -> u64 {
    JobLabel::ALL
        .iter()
        .map(|label| count_of_label(stats, *label))
        .sum()
}

pub fn count_of_label(stats: &Stats, label: JobLabel) -> u64 {
    match label {
        JobLabel::Scheduled => stats.scheduled,
        JobLabel::Ready => stats.ready,
        JobLabel::Running => stats.running,
        JobLabel::Retrying => stats.retrying,
        JobLabel::Succeeded => stats.succeeded,
        JobLabel::Failed => stats.failed,
        JobLabel::Cancelled => stats.cancelled,
    }
}

/// The counts of all jobs that match except for their label, if the filter has only conditions that
/// lanes are counted by.
fn stats_of(lanes: &[LaneStats], filter: &JobFilter) -> Option<Stats> {
    let by_lanes = JobFilter {
        tenant: filter.tenant.clone(),
        queue: filter.queue.clone(),
        kind: filter.kind.clone(),
        not_kind: filter.not_kind.clone(),
        label: filter.label,
        dead_letters: filter.dead_letters,
        ..JobFilter::default()
    };
    if by_lanes != *filter {
        return None;
    }
    let matching = lanes
        .iter()
        .filter(|lane| filter.matches_lane(&lane.tenant, &lane.queue, &lane.kind));
    Some(matching.cloned().collect())
}

fn total(stats: &Stats, filter: &JobFilter) -> u64 {
    if filter.dead_letters {
        return stats.dead_letters;
    }
    match filter.label {
        Some(label) => count_of_label(stats, label),
        None => count_jobs(stats),
    }
}

fn label_chips(
    path: &str,
    fields: &Fields,
    filter: &JobFilter,
    stats: Option<&Stats>,
) -> Vec<LabelChip> {
    let address = |label: &str| fields.here(path, &[("label", label), ("after", "")]);
    let all = LabelChip {
        name: "all",
        count: stats.map(|stats| thousands(count_jobs(stats))),
        is_zero: false,
        is_current: filter.label.is_none(),
        address: address(""),
    };
    let labels = JobLabel::ALL.iter().map(|label| {
        let count = stats.map(|stats| count_of_label(stats, *label));
        LabelChip {
            name: label.as_str(),
            count: count.map(thousands),
            is_zero: count == Some(0),
            is_current: filter.label == Some(*label),
            address: address(label.as_str()),
        }
    });
    [all].into_iter().chain(labels).collect()
}

fn without_each(path: &str, conditions: &[(&'static str, String)]) -> Vec<Condition> {
    let removable = conditions.iter().enumerate();
    // Labels and states have chips of their own.
    let removable = removable.filter(|(_, (name, _))| *name != "label" && *name != "state");
    let without = removable.map(|(index, condition)| {
        let mut rest = conditions.to_vec();
        rest.remove(index);
        Condition {
            text: line_of(std::slice::from_ref(condition)),
            address: format!("{path}?{}", query_of(&rest)),
        }
    });
    without.collect()
}

/// The completions of the search box: words of the page, and existing names. Both have their share.
fn completions(of_page: BTreeSet<String>, names: Vec<String>) -> Vec<String> {
    let of_page = of_page.into_iter().take(limits::COMPLETIONS_OF_PAGE_MAX);
    let all = of_page.chain(names);
    all.take(limits::COMPLETIONS_MAX).collect()
}

/// The tags and destinations of the jobs that are listed.
fn words_of(jobs: &[Job]) -> BTreeSet<String> {
    let tags = jobs.iter().flat_map(|job| job.tags.iter());
    let tags = tags.map(|(name, value)| line_of(&[("tag", format!("{name}:{value}"))]));
    let destinations = jobs.iter().filter_map(|job| job.destination.as_ref());
    let destinations = destinations.map(|it| line_of(&[("destination", it.to_string())]));
    destinations.chain(tags).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completions_share_room_between_page_words_and_names() {
        let words = |name: &str, number: usize| -> Vec<String> {
            (0..number).map(|it| format!("{name}:{it}")).collect()
        };
        let of_page = words("order", 1_000).into_iter().collect();
        let shown = completions(of_page, words("kind", 1_000));
        assert_eq!(shown.len(), limits::COMPLETIONS_MAX);
        let orders = shown.iter().filter(|it| it.starts_with("order:")).count();
        assert_eq!(orders, limits::COMPLETIONS_OF_PAGE_MAX);
        let few = completions(BTreeSet::from(["order:1".to_owned()]), words("kind", 1));
        assert_eq!(few, ["order:1", "kind:0"]);
    }
}

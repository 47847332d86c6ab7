//! One action on many jobs: the selected ones, or all matching.
//!
//! A million jobs take minutes, and a browser does not wait that long. So the action is an
//! operation, which any node carries on; a small one has ended before the browser has its answer.
//! What takes jobs away asks first, and so does everything that is done to all that match.

use std::sync::Arc;

use steadfast_api::FailureGroupBody;
use steadfast_core::{CanaryRule, JobId, OperationKind, PolicyPatch, limits as core_limits};
use steadfast_engine::OperationRequest;
use steadfast_store::{JobCount, JobFilter};

use crate::{
    api::{query, work::operations::create_and_wait},
    app::App,
    dashboard::{
        page::{
            Editor, Fields, PageError, PageResult, Viewer, no_such_action, redirect_back,
            redirect_to,
        },
        parts::{Confirmation, thousands},
    },
    http::Problem,
    limits,
};

/// The operation for the name of an action.
fn kind_of(action: &str, dead_letters: bool) -> Result<OperationKind, PageError> {
    Ok(match action {
        "cancel" => OperationKind::Cancel,
        "retry" if dead_letters => OperationKind::Requeue,
        "retry" => OperationKind::Retry,
        "discard" => OperationKind::Discard,
        "erase" => OperationKind::Erase,
        "edit-policy" => OperationKind::EditPolicy,
        _ => return Err(no_such_action()),
    })
}

pub async fn act(editor: Editor) -> PageResult {
    let Editor { viewer, form } = editor;
    let action = form.value("action");
    let back = form.get("back").unwrap_or("/jobs");
    let dead_letters = form.get("deadLetters").is_some();
    let is_confirmed = form.is_confirmed();
    let by = viewer.caller.actor(&viewer.app).await?;
    let mut request = OperationRequest::new(kind_of(action, dead_letters)?, by);
    request.retry = form.get("retry").map(policy).transpose()?;
    if form.get("scope") == Some("selected") {
        let ids = form.all("id").take(core_limits::BULK_JOBS_MAX);
        let ids: Vec<JobId> = ids.filter_map(|id| id.parse().ok()).collect();
        if ids.is_empty() {
            return Ok(redirect_back(back, "nothing", None));
        }
        // The other actions take jobs away, which selecting them alone does not mean.
        if action != "retry" && !is_confirmed {
            let matches = JobCount {
                count: ids.len() as u64,
                at_least: false,
            };
            return confirm(&viewer, &form, matches, &ids).await;
        }
        request.tenant.clone_from(&viewer.caller.tenant);
        request.ids = Some(ids);
    } else {
        request.filter = JobFilter {
            dead_letters,
            ..query::job_filter(&form.job_query()?, &viewer.caller)?
        };
        request.all = true;
        if !is_confirmed {
            let matches = viewer.app.client.count_operation(&request).await?;
            return confirm(&viewer, &form, matches, &[]).await;
        }
    }
    request.pace = Some(pace(&viewer.app, &form)?);
    request.canary = form.get("canary").map(|_| CanaryRule::default());
    let wait = match request.canary {
        // It waits for outcomes, which are looked at on its page.
        Some(_) => std::time::Duration::ZERO,
        None => limits::BULK_WAIT_MAX,
    };
    let record = create_and_wait(&viewer.app, request, wait).await?;
    if record.is_open() {
        return Ok(redirect_to(&format!("/operations/{}", record.id)));
    }
    let changed = record.operation.progress.changed;
    Ok(redirect_back(back, action, Some(changed)))
}

/// Asks for confirmation with the number of jobs: the selected ones, or all matching.
async fn confirm(viewer: &Viewer, form: &Fields, matches: JobCount, ids: &[JobId]) -> PageResult {
    let dead_letters = form.get("deadLetters").is_some();
    let (section, noun) = match (dead_letters, matches.count) {
        (true, 1) => ("/dead-letters", "dead letter"),
        (true, _) => ("/dead-letters", "dead letters"),
        (false, 1) => ("/jobs", "job"),
        (false, _) => ("/jobs", "jobs"),
    };
    let at_least = if matches.at_least { "at least " } else { "" };
    let name = format!("{at_least}{} {noun}", thousands(matches.count));
    let action = form.value("action");
    let (verb, class, effect) = describe(action, dead_letters);
    let is_all = ids.is_empty();
    let mut hidden = vec![("scope", if is_all { "all" } else { "selected" }.to_owned())];
    hidden.extend(ids.iter().map(|id| ("id", id.to_string())));
    hidden.extend(dead_letters.then(|| ("deadLetters", "1".to_owned())));
    let failure = match is_all {
        true => failure_name(viewer, form).await?,
        false => None,
    };
    let title = format!("{verb} {name}");
    let subject = failure.clone().unwrap_or_else(|| name.clone());
    let mut confirmation = Confirmation::new("/jobs", &title, subject, String::new())
        .in_section(section)
        .action(action, form.get("back").unwrap_or("/jobs"));
    confirmation.button = (title, class);
    let conditions = if is_all { form.filters() } else { Vec::new() };
    // The failure says more than its fingerprint.
    let is_named = |name: &str| name == "fingerprint" && failure.is_some();
    let (named, shown) = conditions.into_iter().partition(|(name, _)| is_named(name));
    hidden.extend::<Vec<_>>(named);
    confirmation.conditions = shown;
    let policy = form.get("retry").map(|policy| ("retry", policy.to_owned()));
    confirmation.conditions.extend(policy);
    confirmation.hidden = hidden;
    confirmation.has_canary = action == "retry";
    confirmation.pace = is_all.then(|| viewer.app.bulk_pace());
    let chosen = match ids.len() {
        0 => "",
        1 => "This job is selected. ",
        _ => "These jobs are selected. ",
    };
    confirmation.page(
        viewer,
        format!("{chosen}{effect} Other jobs are not changed."),
    )
}

/// The verb of an action, the class of its button, and its effect.
fn describe(action: &str, dead_letters: bool) -> (&'static str, &'static str, &'static str) {
    match action {
        "cancel" => (
            "Cancel",
            "danger",
            "Waiting jobs are cancelled; running jobs are asked to stop.",
        ),
        "retry" => (
            if dead_letters { "Requeue" } else { "Retry" },
            "main",
            "Each failed or cancelled job runs again with a new retry budget.",
        ),
        "erase" => (
            "Erase",
            "danger",
            "Jobs that have ended are deleted for good, with payload, result, history and \
             deliveries. The audit keeps their ids.",
        ),
        "edit-policy" => (
            "Change the policy of",
            "main",
            "Waiting jobs get this policy in place of their own; running jobs keep theirs.",
        ),
        _ => (
            "Discard",
            "danger",
            "They are not retried and leave the list of dead letters.",
        ),
    }
}

/// A retry policy, as the simulator writes it.
fn policy(json: &str) -> Result<Arc<PolicyPatch>, Problem> {
    let policy = serde_json::from_str::<PolicyPatch>(json);
    let policy = policy.map_err(|error| Problem::invalid("retry", format!("retry: {error}")));
    policy.map(Arc::new)
}

/// The failure whose jobs the form is about, if it is about one.
async fn failure_name(viewer: &Viewer, form: &Fields) -> Result<Option<String>, PageError> {
    let Some(fingerprint) = form.get("fingerprint").and_then(|it| it.parse().ok()) else {
        return Ok(None);
    };
    let tenant = query::tenant(form.get("tenant"), &viewer.caller)?;
    let found = viewer
        .app
        .client
        .failures_of(fingerprint, tenant.as_ref(), 1);
    let now = viewer.app.client.now();
    let group = found.await?.pop();
    Ok(group.map(|group| FailureGroupBody::new(group, now).sentence()))
}

/// How many jobs a second, as the form says or as the settings do.
fn pace(app: &App, form: &Fields) -> Result<u32, Problem> {
    match form.get("pace").map(str::parse) {
        None => Ok(app.bulk_pace()),
        Some(Ok(pace)) => Ok(pace),
        Some(Err(_)) => {
            let most = core_limits::OPERATION_PACE_MAX;
            let detail = format!("pace must be a number from 1 to {most}");
            Err(Problem::invalid("pace", detail))
        }
    }
}

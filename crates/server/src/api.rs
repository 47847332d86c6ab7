//! The API, under `/api/v1`, and its description, which is generated from the code.
//!
//! The types of its JSON are those of `steadfast-api`. What is public here the dashboard uses, too,
//! so that its actions follow the same rules.

mod alerts;
mod claims;
mod create;
mod create_jobs;
pub mod cursor;
mod dead_letters;
pub mod endpoints;
mod events;
pub mod jobs;
pub mod keys;
mod nodes;
mod policies;
pub mod query;
mod queues;
mod schedules;
mod stats;

use std::sync::Arc;

use axum::Router;
use steadfast_api::ProblemBody;
use utoipa::OpenApi;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{app::App, json::Json, problem::Problem};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Steadfast",
        description = "A durable job scheduler and job queue whose speciality is retry.\n\nDurations are text (`30s`, `5m`) or milliseconds; times are RFC 3339 in UTC. Lists have cursors. Errors are application/problem+json with a stable `code` and, if one field is at fault, its `field`.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0")
    ),
    components(schemas(ProblemBody)),
    modifiers(&Security),
    security((), ("key" = [])),
    tags(
        (name = "Jobs", description = "Create jobs, read them, change them, and see why they were retried"),
        (name = "Schedules", description = "Jobs that recur"),
        (name = "Workers", description = "Claim jobs and report how they ended"),
        (name = "Dead letters", description = "Jobs that were given up"),
        (name = "Queues", description = "Counts by queue; pause and resume"),
        (name = "Stats", description = "Counts and rates"),
        (name = "Alerts", description = "What is wrong, and since when"),
        (name = "Endpoints", description = "Addresses that events and alerts are sent to"),
        (name = "Policies", description = "What a retry policy would do"),
        (name = "Keys", description = "API keys"),
        (name = "Events", description = "Events as they happen"),
        (name = "Nodes", description = "The processes that serve this store"),
    )
)]
struct Description;

struct Security;

impl utoipa::Modify for Security {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
        let bearer = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("An API key, from `steadfast keys create`"))
            .build();
        let components = openapi.components.get_or_insert_default();
        components.add_security_scheme("key", SecurityScheme::Http(bearer));
    }
}

/// The routes of the API, and their description.
pub fn routes() -> (Router<Arc<App>>, utoipa::openapi::OpenApi) {
    let api = OpenApiRouter::new()
        .routes(routes!(create_jobs::create, jobs::list))
        .routes(routes!(jobs::read, jobs::edit))
        .routes(routes!(jobs::history))
        .routes(routes!(jobs::cancel))
        .routes(routes!(jobs::retry))
        .routes(routes!(jobs::run_now))
        .routes(routes!(schedules::create, schedules::list))
        .routes(routes!(schedules::read, schedules::edit, schedules::delete))
        .routes(routes!(schedules::pause))
        .routes(routes!(schedules::resume))
        .routes(routes!(schedules::run_now))
        .routes(routes!(schedules::ticks))
        .routes(routes!(claims::claim))
        .routes(routes!(claims::settle))
        .routes(routes!(claims::heartbeat))
        .routes(routes!(claims::succeed))
        .routes(routes!(claims::fail))
        .routes(routes!(claims::snooze))
        .routes(routes!(dead_letters::list))
        .routes(routes!(dead_letters::requeue))
        .routes(routes!(dead_letters::discard))
        .routes(routes!(queues::list))
        .routes(routes!(queues::pause))
        .routes(routes!(queues::resume))
        .routes(routes!(stats::read))
        .routes(routes!(stats::minutes))
        .routes(routes!(alerts::list))
        .routes(routes!(endpoints::create, endpoints::list))
        .routes(routes!(endpoints::delete))
        .routes(routes!(endpoints::rotate))
        .routes(routes!(policies::preview))
        .routes(routes!(keys::create, keys::list))
        .routes(routes!(keys::delete))
        .routes(routes!(events::events))
        .routes(routes!(nodes::list));
    OpenApiRouter::with_openapi(Description::openapi())
        .nest("/api/v1", api)
        .split_for_parts()
}

/// The description of the API as it is checked in.
pub fn openapi_json() -> String {
    let (_, description) = routes();
    let mut text = description.to_pretty_json().unwrap_or_default();
    text.push('\n');
    text
}

/// A response in JSON.
type Answer<T> = Result<Json<T>, Problem>;

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use steadfast_core::{duration, limits as core_limits};

    use super::*;
    use crate::limits;

    fn parameter<'a>(document: &'a Value, path: &str, name: &str) -> &'a Value {
        let parameters = document["paths"][path]["get"]["parameters"].as_array();
        let named = |it: &&Value| it["name"] == name;
        parameters.unwrap().iter().find(named).unwrap()
    }

    #[test]
    fn the_document_states_the_limits_that_hold() {
        let document: Value = serde_json::from_str(&openapi_json()).unwrap();
        let field = |schema: &str, name: &str| {
            document["components"]["schemas"][schema]["properties"][name].clone()
        };
        let statuses = limits::HTTP_STATUSES;
        for (schema, name, word, limit) in [
            (
                "CreateJobRequest",
                "priority",
                "maximum",
                json!(core_limits::PRIORITY_MAX),
            ),
            (
                "EditJobRequest",
                "priority",
                "maximum",
                json!(core_limits::PRIORITY_MAX),
            ),
            (
                "CreateJobRequest",
                "maxRetries",
                "maximum",
                json!(core_limits::MAX_RETRIES),
            ),
            (
                "CreateJobRequest",
                "maxRetryCount",
                "maximum",
                json!(core_limits::MAX_RETRIES),
            ),
            (
                "CreateJobRequest",
                "maxAttempts",
                "maximum",
                json!(core_limits::MAX_RETRIES + 1),
            ),
            (
                "CreateJobsRequest",
                "jobs",
                "maxItems",
                json!(core_limits::BULK_JOBS_MAX),
            ),
            (
                "ClaimJobsRequest",
                "max",
                "maximum",
                json!(limits::CLAIMS_MAX),
            ),
            (
                "SettleRequest",
                "settlements",
                "maxItems",
                json!(limits::SETTLE_MAX),
            ),
            (
                "FailureRequest",
                "httpStatus",
                "minimum",
                json!(statuses.start()),
            ),
            (
                "FailureRequest",
                "httpStatus",
                "maximum",
                json!(statuses.end()),
            ),
        ] {
            assert_eq!(field(schema, name)[word], limit, "{schema}.{name}");
        }
        let kib = |bytes: usize| format!("{} KiB", bytes / 1024);
        for (schema, name, text) in [
            (
                "CreateJobRequest",
                "priority",
                format!("{} by default", core_limits::PRIORITY_DEFAULT),
            ),
            (
                "CreateJobRequest",
                "payload",
                kib(core_limits::PAYLOAD_BYTES_MAX),
            ),
            (
                "SucceedRequest",
                "result",
                kib(core_limits::OUTPUT_BYTES_MAX),
            ),
            (
                "ClaimJobsRequest",
                "max",
                format!("{} by default", limits::CLAIMS_DEFAULT),
            ),
            (
                "ClaimJobsRequest",
                "wait",
                duration::format(limits::CLAIM_WAIT_MAX),
            ),
            ("RotateSecretRequest", "overlap", "1d by default".to_owned()),
            ("DeadLettersRequest", "ids", "up to 1,000".to_owned()),
        ] {
            let field = field(schema, name).to_string();
            assert!(
                field.contains(&text),
                "{schema}.{name} lacks {text}: {field}"
            );
        }
        assert_eq!(duration::format(limits::SECRET_OVERLAP_DEFAULT), "1d");
        assert_eq!(core_limits::BULK_JOBS_MAX, 1_000);
        for (path, name, most, default) in [
            (
                "/api/v1/jobs",
                "limit",
                limits::PAGE_MAX,
                limits::PAGE_DEFAULT,
            ),
            (
                "/api/v1/dlq",
                "limit",
                limits::PAGE_MAX,
                limits::PAGE_DEFAULT,
            ),
            (
                "/api/v1/schedules",
                "limit",
                limits::PAGE_MAX,
                limits::PAGE_DEFAULT,
            ),
            ("/api/v1/stats/minutes", "minutes", 10_080, 60),
        ] {
            let parameter = parameter(&document, path, name);
            assert_eq!(parameter["schema"]["maximum"], most, "{path}");
            let text = format!("{default} by default");
            assert!(
                parameter["description"].as_str().unwrap().contains(&text),
                "{path}"
            );
        }
        assert_eq!((limits::MINUTES_MAX, limits::MINUTES_DEFAULT), (10_080, 60));
        let recent = field("Counts", "recent").to_string();
        assert!(recent.contains("the last five minutes"), "{recent}");
        assert_eq!(duration::format(limits::RECENT_WINDOW), "5m");
    }
}

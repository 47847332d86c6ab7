//! The API, under `/api/v1`, and its description, which is generated from the code.
//!
//! The types of its JSON are those of `steadfast-api`. What is public here the dashboard uses, too,
//! so that its actions follow the same rules.

pub mod cursor;
mod description;
pub mod flow;
pub mod query;
pub mod settings;
pub mod status;
mod testing;
pub mod work;
mod worker;

use std::sync::Arc;

use axum::Router;
use utoipa_axum::{
    router::{OpenApiRouter, UtoipaMethodRouter},
    routes,
};

use self::{
    flow::{destinations, gates, nodes, queues, workers},
    settings::{audit, certificates, endpoints, keys, policies, secrets},
    status::{alerts, events, forecast, stats},
    work::{
        batches, cloud_events, create_jobs, dead_letters, explain, failures, jobs, logs,
        operations, schedules,
    },
    worker::{claims, heartbeats, prerequisites, settlements, steps},
};
use crate::app::App;

/// The routes of the API.
pub fn router() -> Router<Arc<App>> {
    let (api, _) = Routes::all(false).split_for_parts();
    Router::new().nest("/api/v1", api)
}

/// Routes, with their descriptions if they are asked for. Those of all routes are megabytes, so a node
/// makes none until they are read.
struct Routes {
    router: OpenApiRouter<Arc<App>>,
    is_described: bool,
}

impl Routes {
    fn routes(self, added: UtoipaMethodRouter<Arc<App>>) -> Self {
        let router = match self.is_described {
            true => self.router.routes(added),
            false => {
                let (_, paths, methods) = added;
                let paths = paths.paths.keys();
                paths.fold(self.router, |router, path| {
                    router.route(path, methods.clone())
                })
            }
        };
        Self { router, ..self }
    }

    fn with(self, more: fn(Self) -> Self) -> Self {
        more(self)
    }

    fn all(is_described: bool) -> OpenApiRouter<Arc<App>> {
        let none = Self {
            router: OpenApiRouter::new(),
            is_described,
        };
        none.routes(routes!(create_jobs::create, jobs::list))
            .routes(routes!(cloud_events::receive))
            .routes(routes!(jobs::read, jobs::edit))
            .routes(routes!(jobs::history))
            .routes(routes!(jobs::cancel))
            .routes(routes!(jobs::retry))
            .routes(routes!(jobs::run_now))
            .routes(routes!(explain::job))
            .routes(routes!(explain::queue))
            .with(schedule_routes)
            .routes(routes!(claims::claim))
            .routes(routes!(heartbeats::heartbeats))
            .routes(routes!(heartbeats::heartbeat))
            .routes(routes!(steps::read, steps::save))
            .routes(routes!(prerequisites::list))
            .routes(routes!(settlements::settle))
            .routes(routes!(settlements::succeed))
            .routes(routes!(settlements::fail))
            .routes(routes!(settlements::snooze))
            .routes(routes!(settlements::release))
            .routes(routes!(dead_letters::list))
            .routes(routes!(dead_letters::requeue))
            .routes(routes!(dead_letters::discard))
            .routes(routes!(failures::list))
            .routes(routes!(failures::read, failures::mark))
            .with(batch_routes)
            .routes(routes!(operations::create, operations::list))
            .routes(routes!(operations::read))
            .routes(routes!(operations::jobs))
            .routes(routes!(operations::pause))
            .routes(routes!(operations::resume))
            .routes(routes!(operations::cancel))
            .routes(routes!(audit::list))
            .routes(routes!(queues::list))
            .routes(routes!(queues::pause))
            .routes(routes!(queues::resume))
            .routes(routes!(gates::list))
            .routes(routes!(gates::read, gates::set, gates::edit, gates::delete))
            .routes(routes!(destinations::list))
            .routes(routes!(
                destinations::read,
                destinations::set,
                destinations::edit
            ))
            .routes(routes!(destinations::hold))
            .routes(routes!(destinations::release))
            .routes(routes!(stats::read))
            .routes(routes!(stats::minutes))
            .routes(routes!(forecast::read))
            .routes(routes!(alerts::list))
            .routes(routes!(alerts::acknowledge))
            .routes(routes!(alerts::silence))
            .with(endpoint_routes)
            .with(policy_routes)
            .with(access_routes)
            .routes(routes!(logs::read))
            .routes(routes!(events::events))
            .routes(routes!(nodes::list))
            .routes(routes!(workers::list))
            .routes(routes!(testing::advance))
            .routes(routes!(testing::run_until_idle))
            .router
    }
}

fn schedule_routes(routes: Routes) -> Routes {
    routes
        .routes(routes!(schedules::create, schedules::list))
        .routes(routes!(schedules::read, schedules::edit, schedules::delete))
        .routes(routes!(schedules::pause))
        .routes(routes!(schedules::resume))
        .routes(routes!(schedules::run_now))
        .routes(routes!(schedules::ticks))
}

fn batch_routes(routes: Routes) -> Routes {
    routes
        .routes(routes!(batches::create, batches::list))
        .routes(routes!(batches::read))
        .routes(routes!(batches::jobs, batches::add))
        .routes(routes!(batches::close))
}

fn policy_routes(routes: Routes) -> Routes {
    routes
        .routes(routes!(policies::preview))
        .routes(routes!(policies::replay))
        .routes(routes!(policies::certify))
        .routes(routes!(certificates::list))
        .routes(routes!(certificates::keep, certificates::delete))
}

fn access_routes(routes: Routes) -> Routes {
    routes
        .routes(routes!(keys::create, keys::list))
        .routes(routes!(keys::delete))
        .routes(routes!(secrets::list))
        .routes(routes!(secrets::set, secrets::delete))
}

fn endpoint_routes(routes: Routes) -> Routes {
    routes
        .routes(routes!(endpoints::create, endpoints::list))
        .routes(routes!(endpoints::read, endpoints::edit, endpoints::delete))
        .routes(routes!(endpoints::enable))
        .routes(routes!(endpoints::disable))
        .routes(routes!(endpoints::test))
        .routes(routes!(endpoints::deliveries))
        .routes(routes!(endpoints::resend))
        .routes(routes!(endpoints::rotate))
}

/// The address in the description that is checked in: `steadfast serve` on the reader's machine.
pub use description::EXAMPLE_SERVER;

/// The description of the API as it is checked in.
pub fn openapi_json() -> String {
    let (_, mut document) = OpenApiRouter::with_openapi(description::head())
        .nest("/api/v1", Routes::all(true))
        .split_for_parts();
    description::complete(&mut document);
    let mut text = document.to_pretty_json().unwrap_or_default();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use steadfast_core::{duration, limits as core};

    use super::*;
    use crate::limits;

    fn document() -> Value {
        serde_json::from_str(&openapi_json()).unwrap()
    }

    /// The description of a field in the document: `schema.field`.
    fn field(document: &Value, path: &str) -> Value {
        let (schema, field) = path.split_once('.').unwrap();
        document["components"]["schemas"][schema]["properties"][field].clone()
    }

    // long: a table
    #[test]
    fn the_document_states_the_limits_of_fields() {
        let document = document();
        for (path, word, limit) in [
            (
                "CreateJobRequest.priority",
                "maximum",
                json!(core::PRIORITY_MAX),
            ),
            (
                "EditJobRequest.priority",
                "maximum",
                json!(core::PRIORITY_MAX),
            ),
            (
                "CreateJobRequest.maxRetries",
                "maximum",
                json!(core::MAX_RETRIES),
            ),
            (
                "CreateJobRequest.maxRetryCount",
                "maximum",
                json!(core::MAX_RETRIES),
            ),
            (
                "CreateJobRequest.maxAttempts",
                "maximum",
                json!(core::MAX_RETRIES + 1),
            ),
            (
                "CreateJobsRequest.jobs",
                "maxItems",
                json!(core::BULK_JOBS_MAX),
            ),
            ("ClaimJobsRequest.max", "maximum", json!(limits::CLAIMS_MAX)),
            (
                "SucceedRequest.onSuccess",
                "maxItems",
                json!(limits::ON_SUCCESS_MAX),
            ),
            (
                "SettlementRequest.onSuccess",
                "maxItems",
                json!(limits::ON_SUCCESS_MAX),
            ),
            (
                "SettleRequest.settlements",
                "maxItems",
                json!(limits::SETTLE_MAX),
            ),
            (
                "HeartbeatsRequest.claims",
                "maxItems",
                json!(limits::HEARTBEATS_MAX),
            ),
            (
                "HeartbeatEntry.progress",
                "maximum",
                json!(core::PERCENT_MAX),
            ),
            (
                "FailureRequest.httpStatus",
                "minimum",
                json!(limits::HTTP_STATUSES.start()),
            ),
            (
                "FailureRequest.httpStatus",
                "maximum",
                json!(limits::HTTP_STATUSES.end()),
            ),
        ] {
            assert_eq!(field(&document, path)[word], limit, "{path}");
        }
    }

    #[test]
    fn the_document_states_the_limits_of_texts() {
        let document = document();
        for field_of_worker in ["version", "host", "library"] {
            let described = field(&document, &format!("WorkerInfo.{field_of_worker}"));
            assert_eq!(described["maxLength"], json!(limits::WORKER_TEXT_BYTES_MAX));
        }
    }

    #[test]
    fn the_document_states_sizes_and_defaults() {
        let document = document();
        let by_default = |default: &dyn std::fmt::Display| format!("{default} by default");
        let kib = |bytes: usize| format!("{} KiB", bytes / 1024);
        let overlap = duration::format(limits::SECRET_OVERLAP_DEFAULT);
        assert_eq!(core::BULK_JOBS_MAX, 1_000);
        assert_eq!(duration::format(limits::RECENT_WINDOW), "5m");
        for (path, text) in [
            (
                "CreateJobRequest.priority",
                by_default(&core::PRIORITY_DEFAULT),
            ),
            (
                "CreateJobRequest.payload",
                format!("{} by default", kib(core::PAYLOAD_BYTES_DEFAULT)),
            ),
            ("SucceedRequest.result", kib(core::OUTPUT_BYTES_MAX)),
            ("SaveStepRequest.result", kib(core::ONCE_BYTES_MAX)),
            ("FailureRequest.trace", kib(core::TRACE_BYTES_MAX)),
            ("ClaimJobsRequest.max", by_default(&limits::CLAIMS_DEFAULT)),
            (
                "ClaimJobsRequest.wait",
                duration::format(limits::CLAIM_WAIT_MAX),
            ),
            (
                "RunUntilIdleRequest.timeout",
                by_default(&duration::format(limits::TEST_IDLE_WAIT_DEFAULT)),
            ),
            ("RotateSecretRequest.overlap", by_default(&overlap)),
            ("DeadLettersRequest.ids", "up to 1,000".to_owned()),
            ("Counts.recent", "the last five minutes".to_owned()),
        ] {
            let field = field(&document, path).to_string();
            assert!(field.contains(&text), "{path} lacks {text}: {field}");
        }
    }

    #[test]
    fn the_document_states_the_sizes_of_pages() {
        let document = document();
        let page = json!([limits::PAGE_MAX, limits::PAGE_DEFAULT]);
        let minutes = json!([limits::MINUTES_MAX, limits::MINUTES_DEFAULT]);
        for (path, name, most_and_default) in [
            ("/api/v1/jobs", "limit", &page),
            ("/api/v1/dlq", "limit", &page),
            ("/api/v1/schedules", "limit", &page),
            ("/api/v1/stats/minutes", "minutes", &minutes),
        ] {
            let parameters = document["paths"][path]["get"]["parameters"].as_array();
            let mut named = parameters.unwrap().iter().filter(|it| it["name"] == name);
            let parameter = named.next().unwrap();
            assert_eq!(
                parameter["schema"]["maximum"], most_and_default[0],
                "{path}"
            );
            let text = format!("{} by default", most_and_default[1]);
            assert!(
                parameter["description"].as_str().unwrap().contains(&text),
                "{path}"
            );
        }
    }
}

//! The description of the API: its head, and what is the same for all of its operations.
//!
//! Examples of responses are recorded (`responses.json`): the test that runs every command of
//! `/api/docs` writes them with `UPDATE_EXAMPLES=1`.

use std::collections::BTreeMap;

use serde_json::Value;
use steadfast_api::ProblemBody;
use utoipa::{
    OpenApi,
    openapi::{
        self, PathItem, RefOr, Schema,
        path::Operation,
        schema::{AdditionalProperties, ArrayItems},
        security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
        server::ServerBuilder,
    },
};

/// The server that the description names, until a server replaces it with its own address.
pub const EXAMPLE_SERVER: &str = "http://127.0.0.1:7373";

/// The bodies of the successful responses to the examples of each operation: by its id, then by status.
const RESPONSES: &str = include_str!("responses.json");

/// By status.
type Examples = BTreeMap<String, Value>;

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
        (name = "Jobs", description = "Create, read and change jobs, and see why they were retried"),
        (name = "Schedules", description = "Recurring jobs"),
        (name = "Workers", description = "Claim jobs and report their outcomes"),
        (name = "Dead letters", description = "Jobs that failed permanently"),
        (name = "Failures", description = "Failures grouped by cause"),
        (name = "Batches", description = "Groups of jobs with shared progress and callbacks"),
        (name = "Operations", description = "Bulk operations on jobs, and the audit log"),
        (name = "Queues", description = "Queue counts; pause and resume"),
        (name = "Flow control", description = "Limits of a queue, kind, tenant, destination or key"),
        (name = "Stats", description = "Counts and rates"),
        (name = "Alerts", description = "Alerts and their states"),
        (name = "Endpoints", description = "URLs that receive events and alerts"),
        (name = "Policies", description = "Preview and replay retry policies"),
        (name = "Keys", description = "API keys"),
        (name = "Secrets", description = "Values that headers of HTTP jobs and endpoints name"),
        (name = "Events", description = "Live events"),
        (name = "Nodes", description = "The processes that serve this store"),
        (name = "Testing", description = "Manual clock for tests"),
    )
)]
struct Description;

/// The description without its operations.
pub fn head() -> openapi::OpenApi {
    Description::openapi()
}

struct Security;

impl utoipa::Modify for Security {
    fn modify(&self, openapi: &mut openapi::OpenApi) {
        let bearer = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("An API key, from `steadfast keys create`"))
            .build();
        let components = openapi.components.get_or_insert_default();
        components.add_security_scheme("key", SecurityScheme::Http(bearer));
    }
}

/// Completes the description of all operations.
pub fn complete(document: &mut openapi::OpenApi) {
    let server = ServerBuilder::new()
        .url(EXAMPLE_SERVER)
        .description(Some("This server"));
    document.servers = Some(vec![server.build()]);
    let schemas = document.components.iter_mut();
    for schema in schemas.flat_map(|it| it.schemas.values_mut()) {
        remove_defaults(schema);
    }
    let examples: BTreeMap<String, Examples> = serde_json::from_str(RESPONSES).unwrap_or_default();
    for operation in document.paths.paths.values_mut().flat_map(operations) {
        let id = operation.operation_id.as_deref().unwrap_or_default();
        if let Some(examples) = examples.get(id) {
            add_examples(operation, examples);
        }
    }
}

/// Generators take a field with a default as one that is always there, and make it required in
/// requests. So the description of a field says its default in words.
fn remove_defaults(schema: &mut RefOr<Schema>) {
    let schema = match schema {
        RefOr::Ref(reference) => return reference.default = None,
        RefOr::T(schema) => schema,
    };
    match schema {
        Schema::Object(object) => {
            object.default = None;
            object.properties.values_mut().for_each(remove_defaults);
            if let Some(AdditionalProperties::RefOr(inner)) =
                object.additional_properties.as_deref_mut()
            {
                remove_defaults(inner);
            }
        }
        Schema::Array(array) => {
            array.default = None;
            if let ArrayItems::RefOrSchema(items) = &mut array.items {
                remove_defaults(items);
            }
        }
        Schema::OneOf(choice) => {
            choice.default = None;
            choice.items.iter_mut().for_each(remove_defaults);
        }
        Schema::AnyOf(choice) => {
            choice.default = None;
            choice.items.iter_mut().for_each(remove_defaults);
        }
        Schema::AllOf(parts) => {
            parts.default = None;
            parts.items.iter_mut().for_each(remove_defaults);
        }
        _ => {}
    }
}

fn operations(path: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem {
        get,
        put,
        post,
        delete,
        patch,
        ..
    } = path;
    [get, put, post, delete, patch].into_iter().flatten()
}

/// Adds its example to each successful response. A repeated create returns what the first one did.
fn add_examples(operation: &mut Operation, examples: &Examples) {
    let responses = operation.responses.responses.iter_mut();
    for (status, response) in responses.filter(|(status, _)| status.starts_with('2')) {
        let example = examples.get(status).or(examples.values().next());
        if let RefOr::T(response) = response {
            for content in response.content.values_mut() {
                if let RefOr::T(content) = content {
                    content.example = example.cloned();
                }
            }
        }
    }
}

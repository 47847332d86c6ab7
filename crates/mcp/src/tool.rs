//! A tool: a description for a model, and the call of the API behind it.
//!
//! Tools are data. The arguments carry the names that the API gives them, so an error of the server
//! names the argument to change.

use std::sync::Arc;

use http::Method;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use rmcp::{
    handler::server::common::schema_for_input,
    model::{JsonObject, Tool, ToolAnnotations},
};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use crate::{
    api::{ApiCall, ApiError},
    limits::ITEMS_DEFAULT,
};

/// A tool that the server has.
pub struct ToolSpec {
    pub tool: Tool,
    pub effect: Effect,
    method: Method,
    /// After `/api/v1`; `{name}` stands for the argument of that name.
    path: &'static str,
    /// Arguments of the query string, if others are in the body.
    query: &'static [&'static str],
    is_paged: bool,
    read: ReadArguments,
}

/// Checks arguments against their type.
type ReadArguments = fn(Map<String, Value>) -> Result<Map<String, Value>, ApiError>;

/// What a tool does to the server.
pub enum Effect {
    /// Nothing.
    Reads,
    /// It changes what this sentence says; before that, the dry run shows what it would change.
    Writes(&'static str, DryRun),
}

/// How to find out what a command would change.
pub enum DryRun {
    /// Read its subject, at this path.
    Subject(&'static str),
    /// Send it with `dryRun`, which counts jobs.
    Count,
}

impl ToolSpec {
    /// A tool that reads: a GET with its arguments as a query string.
    pub fn read<A: JsonSchema + DeserializeOwned + Serialize + 'static>(
        name: &'static str,
        title: &'static str,
        path: &'static str,
        description: &'static str,
    ) -> Self {
        let hints = ToolAnnotations::with_title(title)
            .read_only(true)
            .open_world(false);
        let schema = schema_for_input::<A>().unwrap_or_default();
        let is_paged = schema
            .get("properties")
            .is_some_and(|it| it.get("limit").is_some());
        Self {
            tool: Tool::new(name, description, schema)
                .with_title(title)
                .with_annotations(hints),
            effect: Effect::Reads,
            method: Method::GET,
            path,
            query: &[],
            is_paged,
            read: read_arguments::<A>,
        }
    }

    /// The same, as a POST with its arguments as the body.
    pub fn with_body(self) -> Self {
        Self {
            method: Method::POST,
            is_paged: false,
            ..self
        }
    }

    /// A tool that changes something, with its dry run.
    pub fn write<A: JsonSchema + DeserializeOwned + Serialize + 'static>(
        name: &'static str,
        title: &'static str,
        path: &'static str,
        description: &'static str,
        effect: &'static str,
        dry_run: DryRun,
    ) -> Self {
        let mut spec = Self::read::<A>(name, title, path, description).with_body();
        let mut schema = JsonObject::clone(&spec.tool.input_schema);
        add_confirm(&mut schema);
        spec.tool.input_schema = Arc::new(schema);
        let hints = ToolAnnotations::with_title(title)
            .read_only(false)
            .destructive(true)
            .open_world(false);
        spec.tool.annotations = Some(hints);
        spec.effect = Effect::Writes(effect, dry_run);
        spec
    }

    /// Sends these arguments in the query string.
    pub fn with_query(self, query: &'static [&'static str]) -> Self {
        Self { query, ..self }
    }

    /// The arguments if they are right, and otherwise a sentence that names the wrong one.
    pub fn arguments(&self, arguments: Map<String, Value>) -> Result<Map<String, Value>, ApiError> {
        (self.read)(arguments)
    }

    /// The call of the tool with these arguments.
    pub fn call(&self, mut arguments: Map<String, Value>) -> ApiCall {
        let path = fill(self.path, &mut arguments, true);
        let mut call = ApiCall {
            method: self.method.clone(),
            path,
            query: Vec::new(),
            body: None,
        };
        if self.method == Method::GET {
            if self.is_paged {
                let limit = arguments.entry("limit");
                limit.or_insert_with(|| ITEMS_DEFAULT.into());
            }
            call.query = pairs(&arguments);
            return call;
        }
        for name in self.query {
            if let Some(value) = arguments.remove(*name) {
                call.query.push(((*name).to_owned(), word(&value)));
            }
        }
        call.body = (!arguments.is_empty()).then_some(Value::Object(arguments));
        call
    }

    /// The call that shows what this command would change; `None` if the tool only reads.
    pub fn dry_run(&self, arguments: &Map<String, Value>) -> Option<ApiCall> {
        let Effect::Writes(_, dry_run) = &self.effect else {
            return None;
        };
        Some(match dry_run {
            DryRun::Count => {
                let mut arguments = arguments.clone();
                arguments.insert("dryRun".to_owned(), Value::Bool(true));
                self.call(arguments)
            }
            DryRun::Subject(path) => {
                let mut arguments = arguments.clone();
                let path = fill(path, &mut arguments, false);
                let query = self.query.iter();
                let query = query.filter_map(|name| {
                    let value = arguments.get(*name)?;
                    Some(((*name).to_owned(), word(value)))
                });
                ApiCall {
                    method: Method::GET,
                    path,
                    query: query.collect(),
                    body: None,
                }
            }
        })
    }
}

/// Checks arguments against their type. What is left out stays out.
fn read_arguments<A: DeserializeOwned + Serialize>(
    arguments: Map<String, Value>,
) -> Result<Map<String, Value>, ApiError> {
    let read = serde_path_to_error::deserialize::<_, A>(Value::Object(arguments));
    let read = read.map_err(|error| {
        let field = error.path().to_string();
        let sentence = error.into_inner();
        ApiError(match field.as_str() {
            "." => format!("invalid arguments: {sentence}"),
            field => format!("invalid argument {field}: {sentence}"),
        })
    })?;
    match serde_json::to_value(read) {
        Ok(Value::Object(mut fields)) => {
            fields.retain(|_, value| !value.is_null());
            Ok(fields)
        }
        _ => Ok(Map::new()),
    }
}

/// Puts arguments into a path, as one segment each.
fn fill(path: &str, arguments: &mut Map<String, Value>, takes: bool) -> String {
    let mut filled = String::new();
    for (index, segment) in path.split('/').enumerate() {
        if index > 0 {
            filled.push('/');
        }
        let name = segment
            .strip_prefix('{')
            .and_then(|it| it.strip_suffix('}'));
        match name {
            None => filled.push_str(segment),
            Some(name) => {
                let value = arguments.get(name).map(word).unwrap_or_default();
                filled.extend(utf8_percent_encode(&value, NON_ALPHANUMERIC));
                if takes {
                    arguments.remove(name);
                }
            }
        }
    }
    filled
}

fn pairs(arguments: &Map<String, Value>) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    for (name, value) in arguments {
        match value {
            Value::Array(items) => {
                pairs.extend(items.iter().map(|item| (name.clone(), word(item))));
            }
            value => pairs.push((name.clone(), word(value))),
        }
    }
    pairs
}

fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn add_confirm(schema: &mut JsonObject) {
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    if let Some(properties) = properties.as_object_mut() {
        let confirm = json!({
            "type": "string",
            "description": "Leave out at first: nothing is changed, and the answer shows what would be, with a token. Call again with the same arguments and this token to do it.",
        });
        properties.insert("confirm".to_owned(), confirm);
    }
}

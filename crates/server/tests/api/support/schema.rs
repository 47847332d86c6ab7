//! Holds answers against the OpenAPI document.
//!
//! The document allows fields that it does not name, as documents do; here they are forbidden,
//! so that a field without a description is found.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex},
};

use jsonschema::Validator;
use serde_json::{Map, Value, json};

use crate::client::Reply;

static DOCUMENT: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(&steadfast_server::openapi_json()).unwrap());
static COMPONENTS: LazyLock<Value> = LazyLock::new(|| {
    let mut components = DOCUMENT["components"].clone();
    for schema in components["schemas"].as_object_mut().unwrap().values_mut() {
        close_children(schema);
    }
    components
});
static VALIDATORS: LazyLock<Mutex<HashMap<String, Arc<Validator>>>> = LazyLock::new(Mutex::default);

/// Panics if an answer is not as documented.
pub fn check(method: &str, path: &str, reply: &Reply) {
    let path = path.split('?').next().unwrap();
    let Some((template, operation)) = operation(method, path) else {
        return;
    };
    let place = format!("{method} {template} {}", reply.status);
    let documented = &operation["responses"][reply.status.to_string()];
    assert!(documented.is_object(), "{place} is not documented");
    let Some(content) = documented["content"].as_object() else {
        assert_eq!(reply.body, "", "{place} is documented to be empty");
        return;
    };
    let media = reply.headers.get("content-type").map_or("", String::as_str);
    let described = content
        .get(media)
        .unwrap_or_else(|| panic!("{place} is {media:?}: documented is {content:?}"));
    let body = serde_json::from_str(&reply.body)
        .unwrap_or_else(|error| panic!("{place} is no JSON: {error}: {}", reply.body));
    let validator = validator(&place, &described["schema"]);
    let errors: Vec<String> = validator
        .iter_errors(&body)
        .map(|error| format!("{} at {}", error, error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{place}: {errors:#?}\n{body:#}");
}

/// Panics if an example of a request is not as documented.
pub fn check_request(operation: &Value, example: &Value) {
    let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
    let place = format!("the request of {}", operation["operationId"]);
    check_example(&place, schema, example);
}

/// Panics if an example does not fit its schema.
pub fn check_example(place: &str, schema: &Value, example: &Value) {
    let validator = validator(place, schema);
    let errors: Vec<String> = validator
        .iter_errors(example)
        .map(|error| format!("{} at {}", error, error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{place}: {errors:#?}\n{example:#}");
}

/// The documented operation of a path, if there is one.
fn operation(method: &str, path: &str) -> Option<(&'static str, &'static Value)> {
    let paths = DOCUMENT["paths"].as_object().unwrap();
    let fits = |template: &str| {
        let (ours, theirs) = (template.split('/'), path.split('/'));
        template.split('/').count() == path.split('/').count()
            && ours
                .zip(theirs)
                .all(|(ours, theirs)| ours == theirs || ours.starts_with('{'))
    };
    let exact = paths.get_key_value(path);
    let found = exact.or_else(|| paths.iter().find(|(template, _)| fits(template)));
    let (template, operations) = found?;
    let operation = operations.get(method.to_ascii_lowercase())?;
    Some((template, operation))
}

fn validator(place: &str, schema: &Value) -> Arc<Validator> {
    let mut validators = VALIDATORS.lock().unwrap();
    let known = validators.entry(place.to_owned()).or_insert_with(|| {
        let mut closed = schema.clone();
        close(&mut closed);
        let whole = json!({"allOf": [closed], "components": *COMPONENTS});
        let options = jsonschema::options().should_validate_formats(true);
        Arc::new(options.build(&whole).unwrap())
    });
    known.clone()
}

/// Forbids unnamed fields here and below.
fn close(schema: &mut Value) {
    close_children(schema);
    let is_object = ["properties", "allOf", "$ref"]
        .iter()
        .any(|word| schema.get(word).is_some());
    if is_object && schema.get("additionalProperties").is_none() {
        schema["unevaluatedProperties"] = json!(false);
    }
}

/// Forbids unnamed fields below. The parts of an `allOf` cannot know each other's fields, so
/// only the whole of them is closed.
fn close_children(schema: &mut Value) {
    let Some(words) = schema.as_object_mut() else {
        return;
    };
    let is_reference = |words: &Map<String, Value>| words.contains_key("$ref");
    for (word, value) in words.iter_mut() {
        match (word.as_str(), value) {
            ("properties", Value::Object(fields)) => fields.values_mut().for_each(close),
            ("items" | "additionalProperties", inner @ Value::Object(_)) => close(inner),
            ("oneOf" | "anyOf", Value::Array(choices)) => choices.iter_mut().for_each(close),
            ("allOf", Value::Array(parts)) => {
                for part in parts {
                    if !part.as_object().is_some_and(is_reference) {
                        close_children(part);
                    }
                }
            }
            _ => {}
        }
    }
}

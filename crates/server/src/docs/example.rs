//! An example of each operation, as a command that runs.

use serde_json::Value;

/// Bodies that are longer get lines of their own.
const LINE_CHARS: usize = 84; // not a limit: a layout

/// The commands of an operation, each with its name, if there are several.
pub fn commands(method: &str, path: &str, operation: &Value) -> Vec<(Option<String>, String)> {
    let bodies = bodies(operation);
    if bodies.is_empty() {
        return vec![(None, command(method, path, operation, None))];
    }
    let bodies = bodies.into_iter();
    let commands = bodies.map(|(name, body)| {
        let command = command(method, path, operation, Some(body));
        (name.cloned(), command)
    });
    commands.collect()
}

pub fn bodies(operation: &Value) -> Vec<(Option<&String>, &Value)> {
    let content = &operation["requestBody"]["content"]["application/json"];
    match (&content["example"], &content["examples"]) {
        (Value::Null, Value::Object(examples)) => {
            let examples = examples.iter();
            let examples = examples.map(|(name, example)| (Some(name), &example["value"]));
            examples.collect()
        }
        (Value::Null, _) => Vec::new(),
        (example, _) => vec![(None, example)],
    }
}

fn command(method: &str, path: &str, operation: &Value, body: Option<&Value>) -> String {
    let method = match method {
        "get" if operation["operationId"] == "streamEvents" => "-N ".to_owned(),
        "get" => String::new(),
        method => format!("-X {} ", method.to_uppercase()),
    };
    let url = format!("$STEADFAST_URL{}{}", place(path), query(operation));
    let head = format!("curl {method}\"{url}\"");
    let Some(body) = body else {
        return head;
    };
    let line = one_line(body);
    let text = if line.chars().count() > LINE_CHARS {
        serde_json::to_string_pretty(body).unwrap_or(line)
    } else {
        line
    };
    let text = text.replace('\'', "'\\''");
    format!("{head} \\\n  -H 'content-type: application/json' \\\n  -d '{text}'")
}

/// JSON as people write it, with a space behind `:` and `,`.
fn one_line(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter();
            let fields = fields.map(|(name, value)| {
                format!("{}: {}", Value::from(name.as_str()), one_line(value))
            });
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(one_line).collect();
            format!("[{}]", items.join(", "))
        }
        value => value.to_string(),
    }
}

/// The path with a value, or the name of a variable, for each of its parameters.
fn place(path: &str) -> String {
    let mut parts: Vec<String> = Vec::new();
    for part in path.split('/') {
        let before = parts.last().map_or("", String::as_str);
        let value = match (part, before) {
            ("{id}", "claims") => "$JOB".to_owned(),
            ("{id}", before) => format!("${}", singular(before).to_uppercase()),
            ("{fingerprint}", _) => "$FINGERPRINT".to_owned(),
            ("{attempt}", _) => "1".to_owned(),
            ("{scope}", _) => "queue".to_owned(),
            ("{key}", "destinations") => "https%3A%2F%2Fapi.example.com".to_owned(),
            ("{name}", "steps") => "charge".to_owned(),
            ("{key}" | "{name}", _) => "mail".to_owned(),
            (part, _) => part.to_owned(),
        };
        parts.push(value);
    }
    parts.join("/")
}

fn singular(word: &str) -> String {
    if let Some(stem) = word.strip_suffix("ies") {
        return format!("{stem}y");
    }
    let stem = word.strip_suffix("es").filter(|stem| stem.ends_with("ch"));
    let stem = stem.or_else(|| word.strip_suffix('s'));
    stem.unwrap_or(word).to_owned()
}

/// Only what must be there.
fn query(operation: &Value) -> String {
    let parameters = operation["parameters"].as_array();
    let required = parameters
        .into_iter()
        .flatten()
        .filter(|parameter| parameter["in"] == "query" && parameter["required"] == true);
    let names = required.filter_map(|parameter| parameter["name"].as_str());
    let pairs: Vec<String> = names.map(|name| format!("{name}=1")).collect();
    match pairs.as_slice() {
        [] => String::new(),
        pairs => format!("?{}", pairs.join("&")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_command_names_what_it_needs_and_quotes_its_body() {
        let operation = json!({
            "operationId": "failAttempt",
            "parameters": [{"name": "fence", "in": "query", "required": true}],
            "requestBody": {"content": {"application/json": {"example": {"why": "it's"}}}},
        });
        let commands = commands("post", "/api/v1/claims/{id}/fail", &operation);
        let expected = "curl -X POST \"$STEADFAST_URL/api/v1/claims/$JOB/fail?fence=1\" \\\n  \
                        -H 'content-type: application/json' \\\n  -d '{\"why\": \"it'\\''s\"}'";
        assert_eq!(commands, [(None, expected.to_owned())]);
        assert_eq!(
            place("/deliveries/{id}/resend"),
            "/deliveries/$DELIVERY/resend"
        );
        assert_eq!(place("/batches/{id}"), "/batches/$BATCH");
    }
}

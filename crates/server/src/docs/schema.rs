//! The JSON of requests and responses, as tables of fields.

use serde_json::{Map, Value};
use steadfast_book::{html::escape, markdown};

const SCHEMAS: &str = "#/components/schemas/";

/// A type in a few words; types with fields of their own are links.
pub fn type_of(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str() {
        return link(name.trim_start_matches(SCHEMAS));
    }
    if let Some(words) = schema["enum"].as_array() {
        let words = words.iter().filter(|word| !word.is_null());
        let words: Vec<String> = words.map(literal).collect();
        return words.join(" or ");
    }
    for (name, between) in [("oneOf", " or "), ("anyOf", " or "), ("allOf", " with ")] {
        if let Some(parts) = schema[name].as_array() {
            let parts = parts.iter().filter(|part| part["type"] != "null");
            let parts: Vec<String> = parts.map(type_of).collect();
            return parts.join(between);
        }
    }
    if let Some(value) = schema
        .get("additionalProperties")
        .filter(|it| it.is_object())
    {
        return format!("object of {}", type_of(value));
    }
    let names = match &schema["type"] {
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        name => name.as_str().into_iter().collect::<Vec<_>>(),
    };
    let names = names.into_iter().filter(|name| *name != "null");
    let names: Vec<String> = names.map(|name| plain_type(name, schema)).collect();
    match names.as_slice() {
        [] => "any JSON".to_owned(),
        names => names.join(" or "),
    }
}

fn plain_type(name: &str, schema: &Value) -> String {
    match (name, schema["format"].as_str()) {
        ("array", _) => format!("list of {}", type_of(&schema["items"])),
        ("string", Some("date-time")) => "time".to_owned(),
        ("string", _) => "text".to_owned(),
        ("integer" | "number", _) => "number".to_owned(),
        ("boolean", _) => "true or false".to_owned(),
        (name, _) => name.to_owned(),
    }
}

fn link(name: &str) -> String {
    let name = escape(name);
    format!("<a href=\"types#type-{name}\">{name}</a>")
}

fn literal(value: &Value) -> String {
    let text = value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned);
    format!("<code>{}</code>", escape(&text))
}

/// The allowed values of a field.
fn bounds(schema: &Value) -> String {
    let bounds = [
        ("minimum", "at least "),
        ("maximum", "at most "),
        ("maxLength", "characters at most "),
        ("minItems", "items at least "),
        ("maxItems", "items at most "),
        ("default", "default "),
    ];
    let given = bounds.iter().filter_map(|(name, words)| {
        let value = schema.get(*name)?;
        // All counts are at least 0.
        let is_news = !(*name == "minimum" && value == 0);
        is_news.then(|| format!("{words}{}", literal(value)))
    });
    given.collect::<Vec<_>>().join(", ")
}

/// The description of a field or type.
pub fn description(schema: &Value) -> String {
    let own = schema["description"].as_str();
    // An optional field has its description beside the reference.
    let inner = schema["oneOf"].as_array();
    let inner = inner.and_then(|parts| parts.iter().find_map(|part| part["description"].as_str()));
    own.or(inner).map_or(String::new(), text)
}

/// A text of the description, which may have marks.
pub fn text(text: &str) -> String {
    let document = markdown::parse(text);
    let html = steadfast_book::html::page(&document, &|target| Some(target.to_owned()));
    let html = html.trim();
    let only = html
        .strip_prefix("<p>")
        .and_then(|it| it.strip_suffix("</p>"));
    only.filter(|it| !it.contains("<p>"))
        .unwrap_or(html)
        .to_owned()
}

/// A row for each field; those that must be there come first.
pub fn fields(schema: &Value, all: &Map<String, Value>) -> String {
    let mut rows = Vec::new();
    collect(schema, all, &mut rows);
    rows.sort_by_key(|(is_required, _)| !is_required);
    if rows.is_empty() {
        return String::new();
    }
    let rows: String = rows.into_iter().map(|(_, row)| row).collect();
    format!("<div class=\"table\" tabindex=\"0\"><table>{rows}</table></div>\n")
}

fn collect(schema: &Value, all: &Map<String, Value>, rows: &mut Vec<(bool, String)>) {
    if let Some(name) = schema["$ref"].as_str()
        && let Some(schema) = all.get(name.trim_start_matches(SCHEMAS))
    {
        return collect(schema, all, rows);
    }
    for part in schema["allOf"].as_array().into_iter().flatten() {
        collect(part, all, rows);
    }
    let required = schema["required"].as_array();
    let is_required = |name: &String| required.is_some_and(|list| list.iter().any(|it| it == name));
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let is_required = is_required(name);
        rows.push((is_required, row(name, is_required, field)));
    }
}

/// A field or a parameter.
pub fn row(name: &str, is_required: bool, schema: &Value) -> String {
    let required = if is_required {
        " <em>required</em>"
    } else {
        ""
    };
    let bounds = match bounds(schema) {
        bounds if bounds.is_empty() => bounds,
        bounds => format!("<br><small>{bounds}</small>"),
    };
    format!(
        "<tr><td><code>{}</code>{required}</td><td>{}{bounds}</td><td>{}</td></tr>\n",
        escape(name),
        type_of(schema),
        description(schema)
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn types_are_named_in_words() {
        for (schema, words) in [
            (
                json!({"type": ["integer", "null"], "format": "int64"}),
                "number",
            ),
            (json!({"type": "string", "format": "date-time"}), "time"),
            (
                json!({"enum": ["a", "b"]}),
                "<code>a</code> or <code>b</code>",
            ),
            (
                json!({"type": "array", "items": {"$ref": "#/components/schemas/Job"}}),
                "list of <a href=\"types#type-Job\">Job</a>",
            ),
            (
                json!({"oneOf": [{"type": "null"}, {"$ref": "#/components/schemas/Job"}]}),
                "<a href=\"types#type-Job\">Job</a>",
            ),
            (
                json!({"type": "object", "additionalProperties": {"type": "string"}}),
                "object of text",
            ),
            (json!({}), "any JSON"),
        ] {
            assert_eq!(type_of(&schema), words, "{schema}");
        }
    }

    #[test]
    fn fields_that_must_be_there_come_first_and_all_parts_are_shown() {
        let all = json!({"A": {"properties": {"z": {"type": "string"}}, "required": ["z"]}});
        let schema = json!({"allOf": [
            {"properties": {"a": {"type": "boolean", "default": false}}},
            {"$ref": "#/components/schemas/A"},
        ]});
        let table = fields(&schema, all.as_object().unwrap());
        let (first, second) = (
            table.find("<code>z</code> <em>required"),
            table.find("<code>a<"),
        );
        assert!(first < second && first.is_some(), "{table}");
        assert!(table.contains("default <code>false</code>"), "{table}");
    }
}

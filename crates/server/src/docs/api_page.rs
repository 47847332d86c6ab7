//! The description of the API as one page: groups of operations, jobs first, each with a command
//! that runs, its fields and its answers, and the types that they name.
//!
//! It is our own, 500 lines, because Redoc is a bundle of 2,290 KB and Scalar of 4,353 KB: both show
//! nothing without scripts and need styles that our content policy forbids.

use serde_json::{Map, Value};
use steadfast_book::html::escape;

use crate::docs::{example, schema};

const PAGE: &str = include_str!("api.html");
pub const STYLE: &str = include_str!("api.css");
pub const SCRIPT: &str = include_str!("api.js");

/// Stands for the address under which the reader sees the server.
const URL: &str = "{url}";
const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

pub fn with_url(page: &str, url: &str) -> String {
    page.replace(URL, &escape(url))
}

/// The page of an OpenAPI document.
pub fn make(document: &str) -> Result<String, String> {
    let document: Value = serde_json::from_str(document).map_err(|error| error.to_string())?;
    let no_types = Map::new();
    let types = document["components"]["schemas"].as_object();
    let types = types.unwrap_or(&no_types);
    let operations = operations(&document);
    let (mut navigation, mut groups) = (String::new(), String::new());
    for tag in document["tags"].as_array().into_iter().flatten() {
        let name = tag["name"].as_str().unwrap_or_default();
        let of_tag: Vec<_> = operations.iter().filter(|it| it.tag == name).collect();
        if of_tag.is_empty() {
            continue;
        }
        let links: String = of_tag.iter().map(|it| it.link()).collect();
        let shown: String = of_tag.iter().map(|it| it.show(types)).collect();
        // The first group is that of jobs.
        let open = if navigation.is_empty() { " open" } else { "" };
        let (anchor, name) = (anchor(name), escape(name));
        navigation.push_str(&format!(
            "<details{open}><summary>{name}</summary>\n{links}</details>\n"
        ));
        let about = schema::description(tag);
        groups.push_str(&format!(
            "<section class=\"group\">\n<h2 id=\"{anchor}\">{name}</h2>\n<p>{about}.</p>\n{shown}</section>\n"
        ));
    }
    let introduction = document["info"]["description"].as_str().unwrap_or_default();
    Ok(PAGE
        .replace("{navigation}", &navigation)
        .replace("{introduction}", &schema::text(introduction))
        .replace("{groups}", &groups)
        .replace(
            "{types}",
            &types
                .iter()
                .map(|it| show_type(it, types))
                .collect::<String>(),
        ))
}

struct Operation<'a> {
    tag: &'a str,
    method: &'static str,
    /// As in the document.
    path: &'a str,
    id: &'a str,
    value: &'a Value,
}

/// In the order of their paths; what is created comes after what is listed.
fn operations(document: &Value) -> Vec<Operation<'_>> {
    let mut found = Vec::new();
    for (path, methods) in document["paths"].as_object().into_iter().flatten() {
        for method in METHODS {
            let Some(value) = methods.get(method) else {
                continue;
            };
            found.push(Operation {
                tag: value["tags"][0].as_str().unwrap_or_default(),
                id: value["operationId"].as_str().unwrap_or_default(),
                method,
                path,
                value,
            });
        }
    }
    // A newcomer looks for this one.
    found.sort_by_key(|operation| operation.id != "createJob");
    found
}

impl Operation<'_> {
    /// Without what all paths begin with.
    fn short_path(&self) -> String {
        escape(self.path.trim_start_matches("/api/v1"))
    }

    fn link(&self) -> String {
        format!(
            "<a href=\"#{}\"><span class=\"method {method}\">{}</span> {}</a>\n",
            escape(self.id),
            self.method.to_uppercase(),
            self.short_path(),
            method = self.method
        )
    }

    fn show(&self, types: &Map<String, Value>) -> String {
        let (id, method) = (escape(self.id), self.method);
        let about = self.value["description"].as_str().unwrap_or_default();
        let about = match about {
            "" => String::new(),
            about => format!("<div>{}</div>\n", schema::text(about)),
        };
        format!(
            "<article class=\"operation\" id=\"{id}\">\n\
             <h3><span class=\"method {method}\">{}</span> <a class=\"anchor\" href=\"#{id}\">{}</a></h3>\n\
             <p class=\"summary\">{}</p>\n{about}{}{}{}{}</article>\n",
            method.to_uppercase(),
            escape(self.path),
            schema::text(self.value["summary"].as_str().unwrap_or_default()),
            self.examples(),
            self.parameters(),
            self.request(types),
            self.answers(types),
        )
    }

    fn examples(&self) -> String {
        let commands = example::commands(self.method, self.path, self.value);
        let commands = commands.iter().map(|(name, command)| {
            let name = name.as_deref().map(escape);
            let name = name.map_or(String::new(), |name| {
                format!("<p class=\"example\">{name}</p>\n")
            });
            let command = escape(command);
            format!("{name}<pre class=\"command\" tabindex=\"0\"><code>{command}</code></pre>\n")
        });
        commands.collect()
    }

    fn parameters(&self) -> String {
        let parameters = self.value["parameters"].as_array().into_iter().flatten();
        let rows: String = parameters
            .map(|parameter| {
                let mut described = parameter["schema"].clone();
                if let Some(about) = parameter.get("description") {
                    described["description"] = about.clone();
                }
                let name = parameter["name"].as_str().unwrap_or_default();
                let name = match parameter["in"].as_str() {
                    Some("header") => format!("{name}:"),
                    Some("query") => format!("?{name}="),
                    _ => format!("{{{name}}}"),
                };
                schema::row(&name, parameter["required"] == true, &described)
            })
            .collect();
        fold("Parameters", &table(&rows))
    }

    fn request(&self, types: &Map<String, Value>) -> String {
        let content = &self.value["requestBody"]["content"]["application/json"]["schema"];
        if content.is_null() {
            return String::new();
        }
        // The name leads to its type; a link inside of what unfolds could not be pressed apart from it.
        let name = schema::type_of(content);
        let fields = schema::fields(content, types);
        match fields.is_empty() {
            true => String::new(),
            false => fold("Body", &format!("<p>{name}</p>\n{fields}")),
        }
    }

    fn answers(&self, types: &Map<String, Value>) -> String {
        let answers = self.value["responses"].as_object().into_iter().flatten();
        let mut fields = String::new();
        let mut rows = String::new();
        for (status, answer) in answers {
            let content = answer["content"].as_object();
            let content = content.and_then(|content| content.values().next());
            let content = content.map(|content| &content["schema"]);
            let name = content.map_or(String::new(), schema::type_of);
            let about = schema::description(answer);
            rows.push_str(&format!(
                "<tr><td><code>{}</code></td><td>{name}</td><td>{about}</td></tr>\n",
                escape(status)
            ));
            if let Some(content) = content.filter(|_| fields.is_empty() && status.starts_with('2'))
            {
                fields = schema::fields(content, types);
            }
        }
        fold("Answers", &format!("{}{fields}", table(&rows)))
    }
}

fn show_type((name, value): (&String, &Value), types: &Map<String, Value>) -> String {
    let name = escape(name);
    let about = schema::description(value);
    let is_plain = value["properties"].is_null() && value["allOf"].is_null();
    let what = match is_plain {
        true => format!("<p>{}</p>\n", schema::type_of(value)),
        false => schema::fields(value, types),
    };
    format!(
        "<div class=\"type\" id=\"type-{name}\"><h3>{name}</h3>\n<p>{about}</p>\n{what}</div>\n"
    )
}

fn table(rows: &str) -> String {
    match rows {
        "" => String::new(),
        rows => format!("<div class=\"table\" tabindex=\"0\"><table>{rows}</table></div>\n"),
    }
}

/// Details that few people read.
fn fold(name: &str, content: &str) -> String {
    match content {
        "" => String::new(),
        content => format!("<details><summary>{name}</summary>\n{content}</details>\n"),
    }
}

fn anchor(name: &str) -> String {
    name.to_lowercase().replace(' ', "-")
}

//! One operation on its page: a command that runs, a form that sends it, its fields and its responses.

use serde_json::{Map, Value};
use steadfast_book::html::escape;

use crate::docs::{example, schema};

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// It does not end by itself, so it cannot be tried on a page.
const STREAM: &str = "streamEvents";

pub struct Operation<'a> {
    method: &'static str,
    /// As in the document.
    path: &'a str,
    id: &'a str,
    value: &'a Value,
}

/// Those of a tag, in the order of their paths; what is created comes after what is listed.
pub fn operations<'a>(document: &'a Value, tag: &str) -> Vec<Operation<'a>> {
    let mut found = Vec::new();
    for (path, methods) in document["paths"].as_object().into_iter().flatten() {
        for method in METHODS {
            let Some(value) = methods.get(method).filter(|it| it["tags"][0] == tag) else {
                continue;
            };
            found.push(Operation {
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
    fn summary(&self) -> String {
        schema::text(self.value["summary"].as_str().unwrap_or_default())
    }

    /// Its method and path, without what all paths begin with.
    fn name(&self) -> String {
        format!(
            "<span class=\"method {method}\">{}</span> {}",
            self.method.to_uppercase(),
            escape(self.path.trim_start_matches("/api/v1")),
            method = self.method
        )
    }

    /// Its entry in the navigation. The filter also searches its title.
    pub fn link(&self, page: &str) -> String {
        let (id, summary) = (escape(self.id), self.value["summary"].as_str());
        let title = escape(&format!("{} {}", self.id, summary.unwrap_or_default()));
        format!(
            "<a href=\"{page}#{id}\" title=\"{title}\">{}</a>\n",
            self.name()
        )
    }

    /// Its row on the first page.
    pub fn row(&self, page: &str) -> String {
        let id = escape(self.id);
        format!(
            "<tr id=\"{id}\"><td><a href=\"{page}#{id}\">{}</a></td><td>{}</td></tr>\n",
            self.name(),
            self.summary()
        )
    }

    pub fn show(&self, types: &Map<String, Value>) -> String {
        let (id, method) = (escape(self.id), self.method);
        let about = match self.value["description"].as_str() {
            None | Some("") => String::new(),
            Some(about) => format!("<div>{}</div>\n", schema::text(about)),
        };
        format!(
            "<article class=\"operation\" id=\"{id}\">\n\
             <h2><span class=\"method {method}\">{}</span> <a class=\"anchor\" href=\"#{id}\">{}</a></h2>\n\
             <p class=\"summary\">{}</p>\n{about}{}{}{}{}{}{}</article>\n",
            method.to_uppercase(),
            escape(self.path),
            self.summary(),
            self.commands(),
            self.response(),
            self.parameters(),
            self.request(types),
            self.responses(types),
            self.form(),
        )
    }

    fn commands(&self) -> String {
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

    /// The example of its successful response.
    fn response(&self) -> String {
        let responses = self.value["responses"].as_object().into_iter().flatten();
        let mut examples = responses.filter_map(|(status, response)| {
            let content = response["content"].as_object()?.values().next()?;
            Some((status, content.get("example")?))
        });
        // A create returns 201, and 200 if there was nothing to create.
        let example = examples.rfind(|(status, _)| status.starts_with('2'));
        example.map_or(String::new(), |(status, example)| {
            let text = match example {
                Value::String(text) => text.clone(),
                example => serde_json::to_string_pretty(example).unwrap_or_default(),
            };
            let (status, text) = (escape(status), escape(&text));
            format!(
                "<p class=\"example\">Response {status}</p>\n\
                 <pre class=\"response\" tabindex=\"0\"><code>{text}</code></pre>\n"
            )
        })
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

    fn responses(&self, types: &Map<String, Value>) -> String {
        let responses = self.value["responses"].as_object().into_iter().flatten();
        let mut fields = String::new();
        let mut rows = String::new();
        for (status, response) in responses {
            let content = response["content"].as_object();
            let content = content.and_then(|content| content.values().next());
            let content = content.map(|content| &content["schema"]);
            let name = content.map_or(String::new(), schema::type_of);
            let about = schema::description(response);
            rows.push_str(&format!(
                "<tr><td><code>{}</code></td><td>{name}</td><td>{about}</td></tr>\n",
                escape(status)
            ));
            if let Some(content) = content.filter(|_| fields.is_empty() && status.starts_with('2'))
            {
                fields = schema::fields(content, types);
            }
        }
        fold("Responses", &format!("{}{fields}", table(&rows)))
    }

    /// A form that the script of the page sends to this server; it stays hidden without one.
    fn form(&self) -> String {
        if self.id == STREAM {
            return String::new();
        }
        let parameters = self.value["parameters"].as_array().into_iter().flatten();
        let inputs: String = parameters.map(input).collect();
        let body = match example::bodies(self.value).first() {
            Some((_, body)) => {
                let text = serde_json::to_string_pretty(body).unwrap_or_default();
                let (rows, text) = (text.lines().count().clamp(3, 16), escape(&text));
                format!(
                    "<label class=\"body\">Body <textarea name=\"body\" rows=\"{rows}\" spellcheck=\"false\">{text}</textarea></label>\n"
                )
            }
            None => String::new(),
        };
        let (method, path) = (self.method.to_uppercase(), escape(self.path));
        format!(
            "<details class=\"try\" hidden><summary>Try it</summary>\n\
             <form data-method=\"{method}\" data-path=\"{path}\">\n{inputs}{body}\
             <button>Send {method}</button> <output></output>\n\
             <pre class=\"result\" tabindex=\"0\" hidden><code></code></pre>\n</form></details>\n"
        )
    }
}

/// The field of a parameter. Its place is part of its name.
fn input(parameter: &Value) -> String {
    let text = |field: &str| escape(parameter[field].as_str().unwrap_or_default());
    let (place, name) = (text("in"), text("name"));
    let required = match parameter["required"] == true {
        true => " required",
        false => "",
    };
    format!(
        "<label>{name} <input name=\"{place}:{name}\" autocomplete=\"off\"{required}></label>\n"
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

//! The description of the API as pages: one per group of operations, jobs first, one with all types, and
//! a first page that lists the operations.
//!
//! They are our own because Redoc is a bundle of 2,290 KB and Scalar of 4,353 KB: both show nothing
//! without scripts and need styles that our content policy forbids.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use steadfast_book::html::escape;

use crate::docs::{
    operation::{Operation, operations},
    schema,
};

const PAGE: &str = include_str!("api.html");
const INDEX: &str = include_str!("api_index.html");
pub const STYLE: &str = include_str!("api.css");
pub const SCRIPT: &str = include_str!("api.js");

/// The page that lists all operations.
pub const FIRST: &str = "";
/// The page of all types.
const TYPES: &str = "types";

/// Stands for the address under which the reader sees the server.
const URL: &str = "{url}";

pub fn with_url(page: &str, url: &str) -> String {
    page.replace(URL, &escape(url))
}

/// The operations of one tag, on a page of their own.
struct Group<'a> {
    /// Of its page.
    page: String,
    name: &'a str,
    about: String,
    operations: Vec<Operation<'a>>,
}

/// The pages of an OpenAPI document, by name.
pub fn make(document: &str) -> Result<BTreeMap<String, String>, String> {
    let document: Value = serde_json::from_str(document).map_err(|error| error.to_string())?;
    let no_types = Map::new();
    let types = document["components"]["schemas"].as_object();
    let types = types.unwrap_or(&no_types);
    let groups = groups(&document);
    let mut pages = BTreeMap::new();
    for group in &groups {
        pages.insert(
            group.page.clone(),
            page(&groups, &group.page, group.name, &group.show(types)),
        );
    }
    let all: String = types.iter().map(|it| show_type(it, types)).collect();
    pages.insert(TYPES.to_owned(), page(&groups, TYPES, "Types", &all));
    let introduction = document["info"]["description"].as_str().unwrap_or_default();
    let listed: String = groups.iter().map(Group::list).collect();
    let index = INDEX
        .replace("{introduction}", &schema::text(introduction))
        .replace("{groups}", &listed);
    pages.insert(FIRST.to_owned(), page(&groups, FIRST, "HTTP API", &index));
    Ok(pages)
}

fn groups(document: &Value) -> Vec<Group<'_>> {
    let tags = document["tags"].as_array().into_iter().flatten();
    let groups = tags.map(|tag| {
        let name = tag["name"].as_str().unwrap_or_default();
        Group {
            page: name.to_lowercase().replace(' ', "-"),
            name,
            about: schema::description(tag),
            operations: operations(document, name),
        }
    });
    groups
        .filter(|group| !group.operations.is_empty())
        .collect()
}

impl Group<'_> {
    /// The operations in full.
    fn show(&self, types: &Map<String, Value>) -> String {
        let shown: String = self.operations.iter().map(|it| it.show(types)).collect();
        format!("<p>{}.</p>\n{shown}", self.about)
    }

    /// A table of the operations, for the first page.
    fn list(&self) -> String {
        let (page, name) = (&self.page, escape(self.name));
        let rows: String = self.operations.iter().map(|it| it.row(page)).collect();
        format!(
            "<section class=\"group\">\n<h2 id=\"{page}\"><a href=\"{page}\">{name}</a></h2>\n\
             <p>{}.</p>\n<div class=\"table\" tabindex=\"0\"><table>{rows}</table></div>\n</section>\n",
            self.about
        )
    }

    /// Its part of the navigation.
    fn links(&self, is_current: bool) -> String {
        let open = if is_current { " open" } else { "" };
        let links: String = self
            .operations
            .iter()
            .map(|it| it.link(&self.page))
            .collect();
        let name = escape(self.name);
        format!("<details{open}><summary>{name}</summary>\n{links}</details>\n")
    }
}

fn page(groups: &[Group], current: &str, title: &str, content: &str) -> String {
    let links: String = groups
        .iter()
        .map(|group| group.links(group.page == current))
        .collect();
    let link = |page: &str, name: &str| {
        let mark = match page == current {
            true => " aria-current=\"page\"",
            false => "",
        };
        format!("<a href=\"./{page}\"{mark}>{name}</a>\n")
    };
    let navigation = format!(
        "{}{links}{}",
        link(FIRST, "All operations"),
        link(TYPES, "Types")
    );
    PAGE.replace("{title}", &escape(title))
        .replace("{navigation}", &navigation)
        .replace("{content}", content)
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
        "<div class=\"type\" id=\"type-{name}\"><h2>{name}</h2>\n<p>{about}</p>\n{what}</div>\n"
    )
}

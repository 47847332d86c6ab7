//! The operations of the HTTP API in `docs/api.md`, made of `docs/openapi.json`.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::site::Findings;

const PAGE: &str = "docs/api.md";
const DOCUMENT: &str = "docs/openapi.json";
const HEADING: &str = "## Operations\n";

/// In the order of the page.
const METHODS: &[&str] = &["get", "put", "post", "delete", "patch"];

struct Operation {
    tag: String,
    method: &'static str,
    path: String,
    summary: String,
}

/// The page as it is written, and with the operations as they are.
fn page(root: &Path) -> Result<(String, String), String> {
    let read = |path: &str| {
        fs::read_to_string(root.join(path)).map_err(|error| format!("{path}: {error}"))
    };
    let written = read(PAGE)?;
    let (head, _) = written
        .split_once(HEADING)
        .ok_or_else(|| format!("{PAGE} has no heading Operations"))?;
    let document = read(DOCUMENT)?;
    let document =
        serde_json::from_str(&document).map_err(|error| format!("{DOCUMENT}: {error}"))?;
    let page = format!("{head}{HEADING}{}", tables(&document));
    Ok((written, page))
}

pub fn update(root: &Path) -> Result<(), String> {
    let (_, page) = page(root)?;
    fs::write(root.join(PAGE), page).map_err(|error| format!("{PAGE}: {error}"))
}

pub fn check(root: &Path) -> Result<Findings, String> {
    let (written, page) = page(root)?;
    let sentence = format!("{PAGE}: {DOCUMENT} says otherwise; run: cargo xtask docs --update");
    Ok((written != page).then_some(sentence).into_iter().collect())
}

/// A table for each tag, in the order in which the document lists them.
fn tables(document: &Value) -> String {
    let operations = operations(document);
    let mut tables = String::new();
    for tag in document["tags"].as_array().into_iter().flatten() {
        let rows = operations
            .iter()
            .filter(|operation| tag["name"] == operation.tag);
        let rows: String = rows.map(Operation::row).collect();
        if !rows.is_empty() {
            let name = text(&tag["name"]);
            tables.push_str(&format!(
                "\n### {name}\n\n| request | what it does |\n|---|---|\n{rows}"
            ));
        }
    }
    tables
}

impl Operation {
    fn row(&self) -> String {
        let path = self.path.trim_start_matches("/api/v1");
        let summary = self.summary.replace('|', "\\|");
        format!("| `{} {path}` | {summary} |\n", self.method.to_uppercase())
    }
}

fn operations(document: &Value) -> Vec<Operation> {
    let mut operations = Vec::new();
    for (path, methods) in document["paths"].as_object().into_iter().flatten() {
        let known = METHODS.iter().map(|method| (*method, &methods[*method]));
        for (method, operation) in known.filter(|(_, operation)| operation.is_object()) {
            operations.push(Operation {
                tag: text(&operation["tags"][0]),
                method,
                path: path.clone(),
                summary: text(&operation["summary"]),
            });
        }
    }
    operations
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root;

    #[test]
    fn every_operation_of_the_document_has_a_row() {
        let text = fs::read_to_string(root().join(DOCUMENT)).unwrap();
        let document = serde_json::from_str(&text).unwrap();
        let operations = operations(&document);
        assert_eq!(operations.len(), text.matches("\"operationId\"").count());
        for operation in &operations {
            let fields = [&operation.tag, &operation.summary];
            assert!(
                fields.iter().all(|field| !field.is_empty()),
                "{}",
                operation.path
            );
        }
        let rows = tables(&document).matches("\n| `").count();
        assert_eq!(rows, operations.len(), "a tag is not listed");
    }

    #[test]
    fn the_page_has_the_operations_of_the_document() {
        assert_eq!(check(&root()).unwrap(), Vec::<String>::new());
    }
}

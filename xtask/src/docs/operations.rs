//! The operations of the HTTP API in `docs/api.md`, made of `docs/openapi.json`.
//!
//! That document is written by a test with one key on each line, so it is read by its lines.

use std::fs;
use std::path::Path;

use super::site::Findings;

const PAGE: &str = "docs/api.md";
const DOCUMENT: &str = "docs/openapi.json";
const HEADING: &str = "## Operations\n";

#[derive(Default)]
struct Operation {
    tag: String,
    method: String,
    path: String,
    summary: String,
}

/// The page with the operations as they are.
fn page(root: &Path) -> Result<(String, String), String> {
    let read = |path: &str| {
        fs::read_to_string(root.join(path)).map_err(|error| format!("{path}: {error}"))
    };
    let written = read(PAGE)?;
    let (head, _) = written
        .split_once(HEADING)
        .ok_or_else(|| format!("{PAGE} has no heading Operations"))?;
    let page = format!("{head}{HEADING}{}", tables(&read(DOCUMENT)?));
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

fn tables(document: &str) -> String {
    let operations = operations(document);
    let mut tags: Vec<&str> = tags(document);
    for operation in &operations {
        if !tags.contains(&operation.tag.as_str()) {
            tags.push(&operation.tag);
        }
    }
    let mut tables = String::new();
    for tag in tags {
        let rows = operations.iter().filter(|operation| operation.tag == tag);
        let rows: String = rows.map(Operation::row).collect();
        if !rows.is_empty() {
            tables.push_str(&format!(
                "\n### {tag}\n\n| request | what it does |\n|---|---|\n{rows}"
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

fn operations(document: &str) -> Vec<Operation> {
    let mut operations: Vec<Operation> = Vec::new();
    let mut path = String::new();
    let mut lines = document.lines();
    while let Some(line) = lines.next() {
        let text = line.trim_start();
        match line.len() - text.len() {
            2 if text.starts_with("\"components\"") => break,
            4 if text.starts_with("\"/") => path = string(text),
            6 if text.ends_with('{') => operations.push(Operation {
                method: string(text),
                path: path.clone(),
                ..Operation::default()
            }),
            8 => {
                let Some(operation) = operations.last_mut() else {
                    continue;
                };
                if text.starts_with("\"tags\"") {
                    operation.tag = lines
                        .next()
                        .map(|line| string(line.trim()))
                        .unwrap_or_default();
                } else if let Some(value) = text.strip_prefix("\"summary\": ") {
                    operation.summary = string(value);
                }
            }
            _ => {}
        }
    }
    operations
}

/// Tags in the order of the document.
fn tags(document: &str) -> Vec<&str> {
    let Some((_, list)) = document.split_once("\n  \"tags\": [") else {
        return Vec::new();
    };
    let list = list.split("\n  ]").next().unwrap_or_default();
    let names = list
        .lines()
        .filter_map(|line| line.trim().strip_prefix("\"name\": \""));
    names.filter_map(|name| name.split('"').next()).collect()
}

/// The string at the beginning, on one line.
fn string(text: &str) -> String {
    let mut value = String::new();
    let mut characters = text.chars().skip(1);
    while let Some(c) = characters.next() {
        match c {
            '"' => break,
            '\\' => match characters.next() {
                Some('n') | None => value.push(' '),
                Some(c) => value.push(c),
            },
            c => value.push(c),
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root;

    #[test]
    fn every_operation_of_the_document_has_a_row() {
        let document = fs::read_to_string(root().join(DOCUMENT)).unwrap();
        let operations = operations(&document);
        assert_eq!(
            operations.len(),
            document.matches("\"operationId\"").count()
        );
        for operation in &operations {
            let fields = [&operation.tag, &operation.method, &operation.summary];
            assert!(
                fields.iter().all(|field| !field.is_empty()),
                "{}",
                operation.path
            );
        }
        assert!(tags(&document).contains(&"Jobs"));
    }

    #[test]
    fn the_page_has_the_operations_of_the_document() {
        assert_eq!(check(&root()).unwrap(), Vec::<String>::new());
    }
}

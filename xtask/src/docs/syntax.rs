//! Code that a page shows in other languages than `console`: whether it can be parsed at all, and
//! for settings whether the program accepts them.

use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs, process};

use steadfast_book::Page;
use steadfast_book::markdown::Code;

use super::site::Findings;

/// What is shown and cannot be wrong by itself.
const PLAIN: &[&str] = &["", "text", "console"];

enum Verdict {
    Fine,
    Wrong(String),
    /// There is no way to check it here.
    Unknown,
}

pub fn check_page(
    root: &Path,
    binary: &Path,
    page: &Page,
    notes: &mut Vec<String>,
) -> Result<Findings, String> {
    let mut findings = Vec::new();
    for code in &page.document.codes {
        let is_run = code.language == "sql" && code.option("as").is_some();
        if is_run || PLAIN.contains(&code.language.as_str()) {
            continue;
        }
        let verdict = match code.option("from") {
            Some(file) => stands_in(root, file, &code.text),
            None => check(binary, code)?,
        };
        let place = format!("{}:{}", page.path, code.line);
        match verdict {
            Verdict::Fine => {}
            Verdict::Wrong(said) => findings.push(format!("{place}: {}: {said}", code.language)),
            Verdict::Unknown => notes.push(format!("{place}: {} is not checked", code.language)),
        }
    }
    Ok(findings)
}

/// Code that is part of a file which is compiled and tested: `from=crates/…`.
fn stands_in(root: &Path, file: &str, text: &str) -> Verdict {
    let flat = |text: &str| {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.collect::<Vec<_>>().join("\n")
    };
    match fs::read_to_string(root.join(file)) {
        Ok(source) if flat(&source).contains(&flat(text)) => Verdict::Fine,
        Ok(_) => Verdict::Wrong(format!("it is no longer in {file}")),
        Err(error) => Verdict::Wrong(format!("{file}: {error}")),
    }
}

fn check(binary: &Path, code: &Code) -> Result<Verdict, String> {
    const JSON: &str = "import json, sys; json.load(open(sys.argv[1]))";
    const YAML: &str = "import sys, yaml; list(yaml.safe_load_all(open(sys.argv[1])))";
    const PYTHON: &str = "import sys; compile(open(sys.argv[1]).read(), 'block', 'exec')";
    let file = |ending: &str, text: &str| -> Result<String, String> {
        let name = format!("steadfast-docs-{}.{ending}", process::id());
        let path = env::temp_dir().join(name);
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path.to_string_lossy().into_owned())
    };
    let text = code.text.as_str();
    Ok(match code.language.as_str() {
        "sh" | "bash" => run("bash", &["-n", &file("sh", text)?]),
        "json" => run("python3", &["-c", JSON, &file("json", text)?]),
        "yaml" if run_is_fine("python3", &["-c", "import yaml"]) => {
            run("python3", &["-c", YAML, &file("yaml", text)?])
        }
        "python" => run("python3", &["-c", PYTHON, &file("py", text)?]),
        "js" | "javascript" => run("node", &["--check", &file("mjs", text)?]),
        "go" => {
            let whole = if text.contains("package ") {
                text.to_owned()
            } else {
                format!("package page\nfunc _() {{\n{text}\n}}\n")
            };
            run("gofmt", &["-e", "-l", &file("go", &whole)?])
        }
        "rust" => {
            let whole = format!("async fn page() {{\n{text}\n}}\n");
            let args = ["--edition", "2024", "--emit", "stdout", "--quiet"];
            let file = file("rs", &whole)?;
            let mut all = args.to_vec();
            all.push(&file);
            run("rustfmt", &all)
        }
        // Of a manifest; all others are settings of the program.
        "toml" if code.options.iter().any(|option| option == "cargo") => {
            const TOML: &str = "import sys, tomllib; tomllib.load(open(sys.argv[1], 'rb'))";
            if !run_is_fine("python3", &["-c", "import tomllib"]) {
                return Ok(Verdict::Unknown);
            }
            run("python3", &["-c", TOML, &file("toml", text)?])
        }
        "toml" => {
            let file = file("toml", text)?;
            let args = ["serve", "--config", &file, "--print-config"];
            run(&binary.to_string_lossy(), &args)
        }
        _ => Verdict::Unknown,
    })
}

fn run_is_fine(program: &str, args: &[&str]) -> bool {
    matches!(run(program, args), Verdict::Fine)
}

/// A program that is not there can say nothing.
fn run(program: &str, args: &[&str]) -> Verdict {
    let output = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .output();
    match output {
        Err(_) => Verdict::Unknown,
        Ok(output) if output.status.success() => Verdict::Fine,
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            Verdict::Wrong(said.trim().replace('\n', " / "))
        }
    }
}

//! `cargo xtask docs`: the book in `docs`, made into a site and put to the test.
//!
//! Everything that a page shows is checked: links and anchors lead somewhere, commands of `console`
//! blocks print what stands below them, settings are accepted by the program, options exist, and
//! the reference of the command line is what `--help` says.

mod animation;
mod database;
mod operations;
mod reference;
mod session;
mod site;
mod syntax;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::process::{self, CommandOutput};
use crate::{VerbResult, root, workspace};

const USAGE: &str =
    "usage: cargo xtask docs [--check] [--update] [--animate] [--bin FILE] [page …]";

#[derive(Default)]
struct Options {
    /// Run what the pages show.
    check: bool,
    /// Write the generated pages first.
    update: bool,
    /// Make the picture of the README from a run of the demo.
    animate: bool,
    binary: Option<PathBuf>,
    /// Only pages whose path contains one of these.
    pages: Vec<String>,
}

pub fn run(args: &[String]) -> VerbResult {
    let options = Options::parse(args)?;
    let root = root();
    if options.update || options.check || options.animate {
        let binary = match &options.binary {
            Some(binary) => binary.clone(),
            None => workspace::server(&root)?,
        };
        if options.update {
            reference::update(&root, &binary)?;
            operations::update(&root)?;
        }
        if options.animate {
            animation::update(&root, &binary)?;
        }
        if options.check {
            let report = check_pages(&root, &binary, &options.pages)?;
            process::show(&report.output);
            println!("{}", report.note);
            if !report.output.success {
                return Err("the book is not true".to_owned());
            }
        }
    }
    let (book, findings) = site::load(&root)?;
    for finding in &findings {
        println!("{finding}");
    }
    if !findings.is_empty() {
        return Err(format!("{} findings", findings.len()));
    }
    let to = process::target_directory(&root).join("book");
    site::write(&book, &root, &to)?;
    println!(
        "{} pages: {}",
        book.pages.len(),
        to.join("index.html").display()
    );
    Ok(())
}

/// The result of checking the book.
pub struct Report {
    pub output: CommandOutput,
    /// What was run, and the needs of commands that were not.
    pub note: String,
}

/// All that can be checked, with the program that the tests built.
pub fn check(root: &Path) -> Result<Report, String> {
    let binary = process::target_directory(root).join("debug/steadfast");
    if !binary.exists() {
        return Err(format!("{} is not built", binary.display()));
    }
    check_pages(root, &binary, &[])
}

fn check_pages(root: &Path, binary: &Path, only: &[String]) -> Result<Report, String> {
    let (book, mut findings) = site::load(root)?;
    let mut notes = Vec::new();
    let (mut run, mut read_only) = (0, BTreeSet::new());
    let commands = reference::Commands::read(binary)?;
    findings.extend(reference::check(root, &commands)?);
    findings.extend(operations::check(root)?);
    let mut sessions = Vec::new();
    for page in &book.pages {
        if !only.is_empty() && !only.iter().any(|part| page.path.contains(part.as_str())) {
            continue;
        }
        if page.path.starts_with("sdk/") || page.path.starts_with("crates/") {
            // Each library has a test that runs what its page shows.
            findings.extend(commands.check_page(page));
            continue;
        }
        if page
            .document
            .codes
            .iter()
            .any(|code| code.language == "console")
        {
            run += 1;
        }
        let unrun = page
            .document
            .codes
            .iter()
            .filter(|code| code.language == "sh");
        read_only.extend(unrun.filter_map(|code| code.option("needs")));
        findings.extend(commands.check_page(page));
        findings.extend(syntax::check_page(root, binary, page, &mut notes)?);
        sessions.push(page);
    }
    for report in session::check_pages(root, binary, &sessions) {
        let (found, said) = report?;
        findings.extend(found);
        notes.extend(said);
    }
    let success = findings.is_empty();
    notes.append(&mut findings);
    let note = format!(
        "{run} pages run; only read is what needs: {}",
        Vec::from_iter(read_only).join(", ")
    );
    let output = CommandOutput {
        success,
        lines: notes,
    };
    Ok(Report { output, note })
}

impl Options {
    fn parse(args: &[String]) -> Result<Options, String> {
        let mut options = Options::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--check" => options.check = true,
                "--update" => options.update = true,
                "--animate" => options.animate = true,
                "--bin" => {
                    let file = args.next().ok_or(USAGE)?;
                    options.binary = Some(PathBuf::from(file));
                }
                page if !page.starts_with('-') => options.pages.push(page.to_owned()),
                _ => return Err(USAGE.to_owned()),
            }
        }
        Ok(options)
    }
}

//! The reference of the command line: `docs/cli.md`, made of what `--help` prints, and the options
//! that other pages name held against it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

use steadfast_book::Page;

use super::site::Findings;

const PAGE: &str = "docs/cli.md";

const HEAD: &str = "# The command line

What `--help` prints, for every command. `cargo xtask docs --update` makes this page, and a test compares the two.

Commands that talk to a server also take these options; they stand in the help of each and are left out below:

";

/// What `--help` says, by command: `jobs create`. The program itself is the empty one.
pub struct Commands {
    help: BTreeMap<String, String>,
    /// In the order of the help.
    order: Vec<String>,
}

impl Commands {
    pub fn read(binary: &Path) -> Result<Commands, String> {
        let mut commands = Commands {
            help: BTreeMap::new(),
            order: Vec::new(),
        };
        commands.add(binary, "")?;
        Ok(commands)
    }

    fn add(&mut self, binary: &Path, command: &str) -> Result<(), String> {
        let mut program = Command::new(binary);
        program.args(command.split_whitespace()).arg("--help");
        for (name, _) in env::vars().filter(|(name, _)| name.starts_with("STEADFAST_")) {
            program.env_remove(name);
        }
        let output = program.env("COLUMNS", "100").output();
        let output = output.map_err(|error| format!("{}: {error}", binary.display()))?;
        if !output.status.success() {
            return Err(format!("`steadfast {command} --help` failed"));
        }
        let help = String::from_utf8_lossy(&output.stdout).into_owned();
        let below = subcommands(&help);
        self.help.insert(command.to_owned(), help);
        self.order.push(command.to_owned());
        for name in below {
            self.add(binary, format!("{command} {name}").trim_start())?;
        }
        Ok(())
    }

    /// The whole page.
    fn page(&self) -> String {
        let mut page = HEAD.to_owned();
        let first = self
            .order
            .iter()
            .find_map(|name| self.help.get(name)?.split_once(SERVER));
        let server = first.map_or("", |(_, options)| until_empty_line(options));
        page.push_str(&format!("```text\n{}\n```\n", server.trim_end()));
        for name in &self.order {
            let help = without_server(&self.help[name]);
            let title = format!("steadfast {name}");
            page.push_str(&format!(
                "\n## {}\n\n```text\n{help}\n```\n",
                title.trim_end()
            ));
        }
        page
    }

    /// Commands of a page that do not exist, and options that they do not have.
    pub fn check_page(&self, page: &Page) -> Findings {
        let mut findings = Vec::new();
        if page.path == PAGE {
            return findings;
        }
        let shown = page.document.codes.iter();
        let shown = shown.filter(|code| matches!(code.language.as_str(), "sh" | "console"));
        let shown = shown
            .map(|code| &code.text)
            .chain(&page.document.code_spans);
        for call in shown.flat_map(|text| calls(text)) {
            findings.extend(self.check_call(&call, &page.path));
        }
        findings
    }

    fn check_call(&self, words: &[String], path: &str) -> Option<String> {
        let mut command = String::new();
        let mut rest = words;
        while let Some((word, others)) = rest.split_first() {
            let longer = format!("{command} {word}").trim_start().to_owned();
            if !self.help.contains_key(&longer) {
                break;
            }
            (command, rest) = (longer, others);
        }
        let help = &self.help[&command];
        let call = words.join(" ");
        let is_name = |word: &String| word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        if let Some(word) = rest.first()
            && is_name(word)
            && !word.starts_with('-')
            && !subcommands(help).is_empty()
        {
            return Some(format!(
                "{path}: `steadfast {call}`: there is no command `{word}`"
            ));
        }
        rest.iter()
            .filter(|word| word.starts_with("--"))
            .find_map(|word| {
                let option = word.split('=').next().unwrap_or(word);
                let has = help
                    .split([' ', ',', '\n', '='])
                    .any(|known| known == option);
                let is_known = has || matches!(option, "--help" | "--version" | "--");
                (!is_known)
                    .then(|| format!("{path}: `steadfast {call}`: there is no option {option}"))
            })
    }
}

const SERVER: &str = "\nServer:\n";

fn until_empty_line(text: &str) -> &str {
    text.split("\n\n").next().unwrap_or(text)
}

fn without_server(help: &str) -> String {
    let Some((before, after)) = help.split_once(SERVER) else {
        return trimmed(help);
    };
    let rest = &after[until_empty_line(after).len()..];
    trimmed(&format!(
        "{}\n{}",
        before.trim_end(),
        rest.trim_end_matches('\n')
    ))
}

fn trimmed(text: &str) -> String {
    let lines: Vec<&str> = text.trim_end().lines().map(str::trim_end).collect();
    lines.join("\n")
}

/// Names under "Commands:", without `help` itself.
fn subcommands(help: &str) -> Vec<String> {
    let Some((_, list)) = help.split_once("\nCommands:\n") else {
        return Vec::new();
    };
    let lines = until_empty_line(list).lines();
    let names = lines.filter_map(|line| {
        let text = line
            .strip_prefix("  ")
            .filter(|text| !text.starts_with(' '))?;
        text.split_whitespace().next()
    });
    names
        .filter(|&name| name != "help")
        .map(str::to_owned)
        .collect()
}

/// The words behind `steadfast` of every call in a piece of shell.
fn calls(text: &str) -> Vec<Vec<String>> {
    let text = text.replace("\\\n", " ");
    let mut calls = Vec::new();
    for line in text.lines() {
        let line = line.strip_prefix("$ ").unwrap_or(line);
        for part in line.split(['|', ';', '&', '(', '`']) {
            let mut words = words(part);
            while words
                .first()
                .is_some_and(|word| word.contains('=') && !word.starts_with('-'))
            {
                words.remove(0);
            }
            if words.first().is_some_and(|word| word == "steadfast") {
                calls.push(words.split_off(1));
            }
        }
    }
    calls
}

/// Words until a comment; what stands in quotes is one.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    for c in text.chars() {
        match (c, quote) {
            ('"' | '\'', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            (c, None) if c.is_whitespace() => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            ('#' | ')' | '>', None) if word.is_empty() => return words,
            (c, _) => word.push(c),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

pub fn update(root: &Path, binary: &Path) -> Result<(), String> {
    let page = Commands::read(binary)?.page();
    fs::write(root.join(PAGE), page).map_err(|error| format!("{PAGE}: {error}"))
}

pub fn check(root: &Path, commands: &Commands) -> Result<Findings, String> {
    let written =
        fs::read_to_string(root.join(PAGE)).map_err(|error| format!("{PAGE}: {error}"))?;
    let page = commands.page();
    let mut pairs = written.lines().zip(page.lines());
    let differs = pairs.position(|(is, should)| is != should);
    let line = match differs {
        None if written.len() == page.len() => return Ok(Vec::new()),
        None => written.lines().count().min(page.lines().count()),
        Some(line) => line,
    };
    Ok(vec![format!(
        "{PAGE}:{}: --help says otherwise; run: cargo xtask docs --update",
        line + 1
    )])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands() -> Commands {
        let help = [
            (
                "",
                "Usage\n\nCommands:\n  jobs  Jobs\n  help  Print\n\nOptions:\n",
            ),
            (
                "jobs",
                "Usage\n\nCommands:\n  list  List\n\nServer:\n      --url <URL>  x\n\nExamples:\n",
            ),
            (
                "jobs list",
                "Usage\n\nOptions:\n      --tag <TAG>  x\n\nServer:\n      --url <URL>  x\n",
            ),
        ];
        let order = help.iter().map(|(name, _)| (*name).to_owned()).collect();
        let help = help.map(|(name, text)| (name.to_owned(), text.to_owned()));
        Commands {
            help: BTreeMap::from(help),
            order,
        }
    }

    #[test]
    fn commands_and_options_that_do_not_exist_are_found() {
        let commands = commands();
        let findings = |text: &str| {
            calls(text)
                .iter()
                .filter_map(|call| commands.check_call(call, "a.md"))
                .count()
        };
        for fine in [
            "steadfast jobs list --tag a:b # --nope",
            "X=1 steadfast jobs list --url=http://x | jq '.--nope'",
            "id=$(steadfast jobs list --tag 'a --nope')",
            "steadfast --version",
            "see steadfast --nope",
        ] {
            assert_eq!(findings(fine), 0, "{fine}");
        }
        for wrong in [
            "steadfast jobs lsit",
            "$ steadfast jobs list \\\n  --tga a:b",
            "steadfast jbos",
        ] {
            assert_eq!(findings(wrong), 1, "{wrong}");
        }
    }

    #[test]
    fn options_of_the_server_are_shown_once() {
        let page = commands().page();
        assert_eq!(page.matches("--url").count(), 1);
        assert!(page.contains("\n## steadfast jobs list\n") && page.contains("Examples:"));
    }
}

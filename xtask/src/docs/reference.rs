//! The reference of the command line, made of what `--help` prints: a page per verb in `docs/cli`, and
//! the list of the verbs in `docs/cli.md`. The options that other pages name are held against it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

use steadfast_book::Page;

use super::site::Findings;

/// What stands above its heading [`VERBS`] is written by hand.
const INDEX: &str = "docs/cli.md";
const FOLDER: &str = "docs/cli";
const VERBS: &str = "## Verbs\n";

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

    /// The verbs, each with its sentence in the help of the program.
    fn verbs(&self) -> Vec<(String, String)> {
        let help = &self.help[""];
        let verbs = self.order.iter();
        let verbs = verbs.filter(|name| !name.is_empty() && !name.contains(' '));
        verbs
            .map(|name| (name.clone(), sentence_of(name, help)))
            .collect()
    }

    /// The list of the verbs, and the options that most of them have.
    fn index(&self) -> String {
        let verbs = self.verbs().into_iter();
        let rows: String = verbs
            .map(|(name, sentence)| format!("| [`{name}`](cli/{name}.md) | {sentence} |\n"))
            .collect();
        let first = self
            .order
            .iter()
            .find_map(|name| self.help.get(name)?.split_once(SERVER));
        let server = first.map_or("", |(_, options)| until_empty_line(options));
        format!(
            "\n| verb | what it does |\n|---|---|\n{rows}\n## Options for the server\n\n\
             Commands that talk to a server have these options, which their pages omit:\n\n\
             ```text\n{}\n```\n",
            server.trim_end()
        )
    }

    /// The page of a verb: its help and that of its subcommands.
    fn page(&self, verb: &str) -> String {
        let mut page = format!("# steadfast {verb}\n");
        let below = format!("{verb} ");
        let commands = self.order.iter();
        let commands: Vec<&String> = commands
            .filter(|name| *name == verb || name.starts_with(&below))
            .collect();
        for name in &commands {
            if *name != verb {
                page.push_str(&format!("\n## steadfast {name}\n"));
            }
            let help = without_server(&self.help[*name]);
            page.push_str(&format!("\n```text\n{help}\n```\n"));
        }
        if commands
            .iter()
            .any(|name| self.help[*name].contains(SERVER))
        {
            page.push_str("\n[Options for the server](../cli.md#options-for-the-server)\n");
        }
        page
    }

    /// All pages, by their path; that of the verbs with what was written by hand.
    fn pages(&self, root: &Path) -> Result<BTreeMap<String, String>, String> {
        let written = read(root, INDEX)?;
        let (head, _) = written
            .split_once(VERBS)
            .ok_or_else(|| format!("{INDEX} has no heading Verbs"))?;
        let index = format!("{head}{VERBS}{}", self.index());
        let pages = self.verbs().into_iter();
        let pages = pages.map(|(verb, _)| (format!("{FOLDER}/{verb}.md"), self.page(&verb)));
        Ok(pages.chain([(INDEX.to_owned(), index)]).collect())
    }

    /// Commands of a page that do not exist, and options that they do not have.
    pub fn check_page(&self, page: &Page) -> Findings {
        let mut findings = Vec::new();
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
    let rest = after[until_empty_line(after).len()..].trim();
    trimmed(&format!("{}\n\n{rest}", before.trim_end()))
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

/// The sentence beside a name under "Commands:", on one line.
fn sentence_of(name: &str, help: &str) -> String {
    let list = help
        .split_once("\nCommands:\n")
        .map_or("", |(_, list)| list);
    let lines = until_empty_line(list).lines();
    let mut own = lines.skip_while(|line| line.split_whitespace().next() != Some(name));
    let first = own.next().unwrap_or_default().trim();
    let first = first.trim_start_matches(name).trim();
    let rest = own
        .take_while(|line| line.starts_with("   "))
        .map(str::trim);
    let words: Vec<&str> = [first].into_iter().chain(rest).collect();
    words.join(" ").replace('|', "\\|")
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
    let pages = Commands::read(binary)?.pages(root)?;
    let folder = root.join(FOLDER);
    fs::create_dir_all(&folder).map_err(|error| format!("{FOLDER}: {error}"))?;
    for path in written_pages(root)? {
        if !pages.contains_key(&path) {
            fs::remove_file(root.join(&path)).map_err(|error| format!("{path}: {error}"))?;
        }
    }
    for (path, page) in pages {
        fs::write(root.join(&path), page).map_err(|error| format!("{path}: {error}"))?;
    }
    Ok(())
}

pub fn check(root: &Path, commands: &Commands) -> Result<Findings, String> {
    let mut findings = Vec::new();
    let pages = commands.pages(root)?;
    for path in written_pages(root)? {
        if !pages.contains_key(&path) {
            findings.push(format!("{path}: there is no such verb; {UPDATE}"));
        }
    }
    for (path, page) in &pages {
        let written = read(root, path).unwrap_or_default();
        if written != *page {
            let mut pairs = written.lines().zip(page.lines());
            let differs = pairs.position(|(is, should)| is != should);
            let line = differs.unwrap_or(written.lines().count()) + 1;
            findings.push(format!("{path}:{line}: --help says otherwise; {UPDATE}"));
        }
    }
    Ok(findings)
}

const UPDATE: &str = "run: cargo xtask docs --update";

/// The pages of verbs that are there.
fn written_pages(root: &Path) -> Result<Vec<String>, String> {
    let entries = fs::read_dir(root.join(FOLDER)).map_err(|error| format!("{FOLDER}: {error}"))?;
    let names = entries.flatten().map(|entry| entry.file_name());
    Ok(names
        .map(|name| format!("{FOLDER}/{}", name.to_string_lossy()))
        .collect())
}

fn read(root: &Path, path: &str) -> Result<String, String> {
    fs::read_to_string(root.join(path)).map_err(|error| format!("{path}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands() -> Commands {
        let help = [
            (
                "",
                "Usage\n\nCommands:\n  jobs  Jobs of\n        all kinds\n  help  Print\n\nOptions:\n",
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
    fn each_verb_has_a_page_with_its_subcommands_and_without_the_options_of_the_server() {
        let commands = commands();
        let page = commands.page("jobs");
        assert!(page.starts_with("# steadfast jobs\n") && page.contains("Examples:"));
        assert!(page.contains("\n## steadfast jobs list\n") && page.contains("--tag"));
        assert!(!page.contains("--url") && page.contains("../cli.md#options-for-the-server"));
        let index = commands.index();
        assert_eq!(index.matches("--url").count(), 1);
        assert!(
            index.contains("| [`jobs`](cli/jobs.md) | Jobs of all kinds |"),
            "{index}"
        );
    }
}

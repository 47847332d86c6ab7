//! Pages that are followed to the letter: every `$ command` of their `console` blocks is run, in one
//! shell from top to bottom, beside a server with an empty store, and prints what stands below it.
//!
//! `…` stands for any text within a line, and alone on a line for any lines; the number of spaces
//! between words is not compared. A command without output below it only has to succeed. "```console exit=1" says how the last command of a block
//! ends, "```console needs=go" leaves a block out where that program is missing, and "```python
//! file=a.py" writes a file that the commands after it find. Port 7373 is that
//! of the server, and every other port of this machine stands for one that is free.
//!
//! "```sql as=ROLE" is run in between by that role, in the database `jobs` of a PostgreSQL on port
//! 5432. Commands that no check can run are in `sh` blocks, which say what they need:
//! "```sh needs=docker".

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use std::{env, fs, process, thread};

use steadfast_book::Page;
use steadfast_book::markdown::Code;

use super::database::{self, Database};
use super::site::Findings;
use crate::at_once;

/// Separates what commands print in the transcript.
const MARK: char = '\u{1e}';
/// Longer than any page takes on a busy machine: a page that takes longer hangs.
const PAGE_SECONDS_MAX: &str = "300";
const PAGES_AT_ONCE: usize = 4;
const PORT_FIRST: usize = 20_000;
const PORTS: usize = 10_000;

struct Line {
    /// In the page.
    line: usize,
    command: String,
    expected: Vec<String>,
    exit: i32,
}

/// The findings and notes of a page.
type PageReport = Result<(Findings, Vec<String>), String>;

/// Checks some pages at the same time: most of their time they wait for a retry.
pub fn check_pages(root: &Path, binary: &Path, pages: &[&Page]) -> Vec<PageReport> {
    at_once::map(PAGES_AT_ONCE, pages, |page| {
        let mut notes = Vec::new();
        let found = check_page(root, binary, page, &mut notes);
        found.map(|found| (found, notes))
    })
}

fn check_page(
    root: &Path,
    binary: &Path,
    page: &Page,
    notes: &mut Vec<String>,
) -> Result<Findings, String> {
    let mut findings = Vec::new();
    for code in &page.document.codes {
        let place = format!("{}:{}", page.path, code.line);
        if let Some(program) = missing(code) {
            notes.push(format!("{place}: left out, {program} is missing"));
        }
        if code.language == "sh" && code.option("file").is_none() {
            match code.option("needs") {
                Some(what) => notes.push(format!("{place}: read and not run, it needs: {what}")),
                None => findings.push(format!(
                    "{place}: `sh` is not run; make it `console`, or say what it needs: needs=docker"
                )),
            }
        }
    }
    if !page
        .document
        .codes
        .iter()
        .any(|code| !lines_of(code).is_empty())
    {
        return Ok(findings);
    }
    let started = Instant::now();
    let server = Server::start(binary, &page.path)?;
    let mut ports = Ports::new(server.port.clone());
    let _database = if page
        .document
        .codes
        .iter()
        .any(|code| role_of(code).is_some())
    {
        let port = free_port()?;
        let database = Database::start(&server.directory, &port)?;
        ports.0.insert("5432".to_owned(), port);
        Some(database)
    } else {
        None
    };
    let lines: Vec<Line> = page.document.codes.iter().flat_map(lines_of).collect();
    let script = ports.replace(&script(page))?;
    let transcript = server.run(root, &script)?;
    let transcript = ports.restore(&transcript);
    let took = started.elapsed().as_secs_f64();
    notes.push(format!(
        "{}: {} commands run in {took:.1} s",
        page.path,
        lines.len()
    ));
    findings.extend(compare(&page.path, &lines, &transcript));
    Ok(findings)
}

/// All commands and files of the page, in their order.
fn script(page: &Page) -> String {
    let mut script = String::from("trap 'kill $(jobs -p) 2>/dev/null' EXIT\n");
    for code in &page.document.codes {
        if let Some(file) = code.option("file") {
            let _ = write!(
                script,
                "cat > {file} <<'END OF FILE'\n{}\nEND OF FILE\n",
                code.text
            );
        }
        for line in lines_of(code) {
            let _ = write!(script, "{}\nprintf '\\036%s\\n' \"$?\"\n", line.command);
        }
    }
    script
}

/// The program that "needs=go" asks for, if it is not on this machine.
fn missing(code: &Code) -> Option<&str> {
    let program = code
        .option("needs")
        .filter(|_| code.language == "console")?;
    let path = env::var_os("PATH").unwrap_or_default();
    let is_there = env::split_paths(&path).any(|directory| directory.join(program).exists());
    (!is_there).then_some(program)
}

/// The role that runs a block of SQL.
fn role_of(code: &Code) -> Option<&str> {
    code.option("as").filter(|_| code.language == "sql")
}

/// The command of a block; most languages have none.
fn lines_of(code: &Code) -> Vec<Line> {
    if let Some(role) = role_of(code) {
        let address = format!("postgres://{role}@127.0.0.1:5432/{}", database::NAME);
        let psql = "psql --no-psqlrc --quiet --output=/dev/null --set=ON_ERROR_STOP=1";
        return vec![Line {
            line: code.line,
            command: format!("{psql} {address} <<'END OF SQL'\n{}\nEND OF SQL", code.text),
            expected: Vec::new(),
            exit: 0,
        }];
    }
    if code.language != "console" || missing(code).is_some() {
        return Vec::new();
    }
    let mut lines: Vec<Line> = Vec::new();
    let mut goes_on = false;
    for (index, text) in code.text.lines().enumerate() {
        match (text.strip_prefix("$ "), lines.last_mut()) {
            (Some(command), _) => lines.push(Line {
                line: code.line + index,
                command: command.to_owned(),
                expected: Vec::new(),
                exit: 0,
            }),
            (None, Some(line)) if goes_on => {
                line.command.push('\n');
                line.command.push_str(text);
            }
            (None, Some(line)) => line.expected.push(flat(text)),
            (None, None) => {}
        }
        // It goes on behind a `\`, and until a quote is closed.
        let command = lines.last().map_or("", |line| line.command.as_str());
        goes_on = text.ends_with('\\') || command.matches('\'').count() % 2 == 1;
    }
    if let (Some(exit), Some(last)) = (code.option("exit"), lines.last_mut()) {
        last.exit = exit.parse().unwrap_or(-1);
    }
    lines
}

fn compare(path: &str, lines: &[Line], transcript: &str) -> Findings {
    let mut findings = Vec::new();
    let mut parts = transcript.split(MARK);
    let mut printed = parts.next().unwrap_or_default().to_owned();
    for line in lines {
        let place = format!("{path}:{}: `{}`", line.line, line.command);
        let Some(part) = parts.next() else {
            findings.push(format!(
                "{place} did not end; it printed:\n{}",
                printed.trim_end()
            ));
            break;
        };
        let (exit, rest) = part.split_once('\n').unwrap_or((part, ""));
        if exit.parse() != Ok(line.exit) {
            findings.push(format!(
                "{place} ended with {exit}:\n{}",
                printed.trim_end()
            ));
        } else if !line.expected.is_empty() {
            let actual: Vec<String> = printed.trim_end().lines().map(flat).collect();
            let actual: Vec<&str> = actual.iter().map(String::as_str).collect();
            let expected: Vec<&str> = line.expected.iter().map(String::as_str).collect();
            if !matches(trim_end(&expected), &actual) {
                findings.push(format!("{place} printed:\n{}", printed.trim_end()));
            }
        }
        printed = rest.to_owned();
    }
    findings
}

/// A line without the width of its columns, which depends on what stands in others.
fn flat(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn trim_end<'a, 'b>(lines: &'b [&'a str]) -> &'b [&'a str] {
    let last = lines.iter().rposition(|line| !line.is_empty());
    &lines[..last.map_or(0, |last| last + 1)]
}

fn matches(expected: &[&str], actual: &[&str]) -> bool {
    match expected.split_first() {
        None => actual.is_empty(),
        Some((&"…", rest)) => (0..=actual.len()).any(|skip| matches(rest, &actual[skip..])),
        Some((first, rest)) => actual
            .split_first()
            .is_some_and(|(line, others)| matches_line(first, line) && matches(rest, others)),
    }
}

fn matches_line(expected: &str, actual: &str) -> bool {
    let mut pieces = expected.split('…');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = actual.strip_prefix(first) else {
        return false;
    };
    let Some(last) = pieces.next_back() else {
        return rest.is_empty();
    };
    for piece in pieces {
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Ports as a page shows them, and those that stand for them here.
struct Ports(BTreeMap<String, String>);

impl Ports {
    fn new(server: String) -> Ports {
        // On port 9 no server listens, which is what pages use it for.
        Ports(BTreeMap::from([
            ("7373".to_owned(), server),
            ("9".to_owned(), "9".to_owned()),
        ]))
    }

    fn replace(&mut self, text: &str) -> Result<String, String> {
        let mut replaced = String::new();
        for (index, piece) in text.split("127.0.0.1").enumerate() {
            if index > 0 {
                replaced.push_str("127.0.0.1");
            }
            // As in an address, or as in `--bind 127.0.0.1 8000`.
            let behind = piece.strip_prefix([':', ' ']).unwrap_or_default();
            let digits = behind.chars().take_while(char::is_ascii_digit).count();
            if index == 0 || digits == 0 {
                replaced.push_str(piece);
                continue;
            }
            let (port, rest) = behind.split_at(digits);
            let port = match self.0.get(port) {
                Some(port) => port.clone(),
                None => {
                    let free = free_port()?;
                    self.0.insert(port.to_owned(), free.clone());
                    free
                }
            };
            let _ = write!(replaced, "{}{port}{rest}", &piece[..1]);
        }
        Ok(replaced)
    }

    fn restore(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (shown, here)| {
            text.replace(&format!("127.0.0.1:{here}"), &format!("127.0.0.1:{shown}"))
        })
    }
}

/// A port that is free, and stays so until the page uses it: systems give out ports from 32768 on
/// to programs that ask for any.
fn free_port() -> Result<String, String> {
    static TAKEN: AtomicUsize = AtomicUsize::new(0);
    let first = process::id() as usize * 100;
    for _ in 0..PORTS {
        let place = first + TAKEN.fetch_add(1, Ordering::Relaxed);
        let port = PORT_FIRST + place % PORTS;
        if TcpListener::bind(format!("127.0.0.1:{port}")).is_ok() {
            return Ok(port.to_string());
        }
    }
    Err("no free port between 20000 and 30000".to_owned())
}

/// A server of one page, with its directory. Both are gone at the end.
struct Server {
    child: Child,
    port: String,
    directory: PathBuf,
}

impl Server {
    fn start(binary: &Path, page: &str) -> Result<Server, String> {
        let page = page.replace(['/', '.'], "-");
        let name = format!("steadfast-docs-{}-{page}", process::id());
        let directory = env::temp_dir().join(name);
        let in_directory = |error| format!("{}: {error}", directory.display());
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(directory.join("bin")).map_err(in_directory)?;
        let binary = fs::canonicalize(binary).map_err(|error| format!("no program: {error}"))?;
        let link = directory.join("bin/steadfast");
        std::os::unix::fs::symlink(&binary, &link).map_err(in_directory)?;
        let mut child = Command::new(&link)
            .args(["serve", "--store", "memory:", "--listen", "127.0.0.1:0"])
            .current_dir(&directory)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("{}: {error}", binary.display()))?;
        let mut reader = BufReader::new(child.stdout.take().ok_or("no output")?);
        let mut first = String::new();
        let read = reader.read_line(&mut first);
        let port = first
            .trim()
            .rsplit(':')
            .next()
            .unwrap_or_default()
            .to_owned();
        let server = Server {
            child,
            port,
            directory,
        };
        if read.is_err() || !server.port.chars().all(|c| c.is_ascii_digit()) {
            return Err(format!("the server did not start: {first}"));
        }
        // It would stop at a full pipe.
        thread::spawn(move || reader.lines().for_each(drop));
        Ok(server)
    }

    fn run(&self, root: &Path, script: &str) -> Result<String, String> {
        let path = self.directory.join("page.bash");
        let transcript = self.directory.join("transcript");
        let at = |error| format!("{}: {error}", self.directory.display());
        fs::write(&path, script).map_err(at)?;
        let output = fs::File::create(&transcript).map_err(at)?;
        let programs = self.directory.join("bin");
        let search = format!(
            "{}:{}",
            programs.display(),
            env::var("PATH").unwrap_or_default()
        );
        let mut command = Command::new("timeout");
        command.args([PAGE_SECONDS_MAX, "bash"]).arg(&path);
        for (name, _) in env::vars().filter(|(name, _)| name.starts_with("STEADFAST_")) {
            command.env_remove(name);
        }
        command
            .current_dir(&self.directory)
            .env("PATH", search)
            .env("REPOSITORY", root)
            .env("XDG_CONFIG_HOME", self.directory.join("config"))
            .env("STEADFAST_URL", format!("http://127.0.0.1:{}", self.port))
            .stdin(Stdio::null())
            .stdout(output.try_clone().map_err(at)?)
            .stderr(output)
            .status()
            .map_err(|error| format!("cannot start bash: {error}"))?;
        let printed = fs::read(&transcript).map_err(at)?;
        Ok(String::from_utf8_lossy(&printed).into_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> Code {
        Code {
            line: 10,
            language: "console".to_owned(),
            options: vec!["exit=1".to_owned()],
            text: text.to_owned(),
        }
    }

    #[test]
    fn commands_are_separated_from_their_output() {
        let lines = lines_of(&code("$ a \\\n  b\nout\n$ c"));
        assert_eq!(lines[0].command, "a \\\n  b");
        assert_eq!(lines_of(&code("$ a '{\n}'\nout"))[0].command, "a '{\n}'");
        assert_eq!(lines[0].expected, ["out"]);
        assert_eq!((lines[1].line, lines[1].exit), (13, 1));
    }

    #[test]
    fn what_is_printed_is_compared() {
        let lines = lines_of(&code("$ a\njob_… created\n…\nend\n$ b"));
        let findings = |transcript: &str| compare("a.md", &lines, transcript).len();
        assert_eq!(findings("job_1 created\nx\ny\nend\n\u{1e}0\n\u{1e}1\n"), 0);
        assert_eq!(findings("job_1 deleted\nend\n\u{1e}0\n\u{1e}1\n"), 1);
        assert_eq!(findings("job_1 created\nend\n\u{1e}1\n\u{1e}1\n"), 1);
        assert_eq!(findings("job_1 created\nend\n\u{1e}0\n\u{1e}0\n"), 1);
        assert_eq!(findings("job_1 created\nend\n\u{1e}0\n"), 1);
    }

    #[test]
    fn ports_of_a_page_stand_for_free_ones() {
        let mut ports = Ports::new("4000".to_owned());
        let text = "127.0.0.1:7373/a 127.0.0.1:9/ 127.0.0.1:8000 on 127.0.0.1";
        let replaced = ports.replace(text).unwrap();
        assert!(replaced.starts_with("127.0.0.1:4000/a 127.0.0.1:9/ "));
        assert!(!replaced.contains(":8000"));
        assert_eq!(ports.restore(&replaced), text);
    }
}

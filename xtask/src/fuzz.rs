//! Throws made-up requests at the API: none may be answered with an error of ours, and none in a
//! way that the OpenAPI document does not describe.
//!
//! Schemathesis makes them from the document itself, so a new route is covered when it exists.

use std::env;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use crate::process::{self, CommandOutput};
use crate::workspace;

/// It can be a stream, whose events are not checked by a schema.
const LOGS: &str = "/api/v1/jobs/{id}/attempts/{attempt}/logs";

const VERSION: &str = "4.32.5";
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance";

/// A change must stand the same requests as the one before; `cargo xtask prove` makes others.
pub const SEED: u64 = 1;
/// How many requests of each kind a change must stand.
pub const EXAMPLES: u64 = 10;

pub fn run(root: &Path, seed: u64, examples: u64) -> Result<CommandOutput, String> {
    let tool = tool(&target(root))?;
    let built = workspace::build_programs(root)?;
    if !built.success {
        return Ok(built);
    }
    let server = Server::start(&target(root).join("debug/steadfast"))?;
    let token = server.key()?;
    let mut command = Command::new(tool);
    command
        // It keeps a cache of crashes where it is started, and that is no part of the tree.
        .current_dir(place(&target(root)))
        .arg("run")
        .arg(format!("http://{}/api/v1/openapi.json", server.address))
        .args(["--header", &format!("Authorization: Bearer {token}")])
        .args(["--checks", CHECKS])
        // A stream does not end, and the key that all this is done with must not be deleted.
        .args(["--exclude-path", "/api/v1/events"])
        .args(["--exclude-path", LOGS])
        .args(["--exclude-name", "DELETE /api/v1/keys/{id}"])
        // A claim may wait for 30 s.
        .args(["--request-timeout", "40"])
        .args(["--max-examples", &examples.to_string()])
        .args(["--seed", &seed.to_string()])
        .args(["--continue-on-failure", "--no-color", "--warnings", "off"]);
    process::run_quietly(command).map_err(|error| format!("cannot start schemathesis: {error}"))
}

/// How many requests there were: `Test cases: 5004 generated, 5004 passed`.
pub fn cases(lines: &[String]) -> u64 {
    let told = lines.iter().find_map(|line| {
        let (before, _) = line.split_once(" generated")?;
        before.split_whitespace().last()?.parse().ok()
    });
    told.unwrap_or(0)
}

/// Where cargo builds, which is started in the root.
pub fn target(root: &Path) -> PathBuf {
    root.join(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// Where the tool is installed and keeps its cache.
fn place(target: &Path) -> PathBuf {
    target.join(format!("schemathesis-{VERSION}"))
}

/// The tool, in an environment of its own that is made once.
fn tool(target: &Path) -> Result<PathBuf, String> {
    let place = place(target);
    let tool = place.join("bin/schemathesis");
    let works = || process::succeeds(&tool.to_string_lossy(), &["--version"]);
    if works() {
        return Ok(tool);
    }
    let pip = place.join("bin/pip");
    let wanted = format!("schemathesis=={VERSION}");
    println!("   installing {wanted} into {}", place.display());
    let place_text = place.to_string_lossy().into_owned();
    let is_made = process::succeeds("python3", &["-m", "venv", "--clear", &place_text])
        && process::succeeds(&pip.to_string_lossy(), &["install", "--quiet", &wanted]);
    match is_made && works() {
        true => Ok(tool),
        false => Err(format!(
            "cannot install schemathesis; see why with: python3 -m venv --clear {place_text} && {} install {wanted}",
            pip.display()
        )),
    }
}

/// A node with its jobs in memory, on a port of its own.
struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start(binary: &Path) -> Result<Self, String> {
        let mut process = Command::new(binary)
            .args(["serve", "--listen", "127.0.0.1:0", "--store", "memory:"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("cannot start {}: {error}", binary.display()))?;
        let mut lines = BufReader::new(process.stdout.take().ok_or("no output")?).lines();
        let address = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| address(&line))
            .ok_or("the node did not say where it listens")?;
        // A full pipe would hold up the node.
        thread::spawn(move || lines.for_each(drop));
        Ok(Self { process, address })
    }

    /// Makes the first key. Without one, the first that the fuzzing makes would lock it out.
    fn key(&self) -> Result<String, String> {
        let body = r#"{"scope":"admin"}"#;
        let mut answer = String::new();
        let asked = TcpStream::connect(&self.address).and_then(|mut stream| {
            write!(
                stream,
                "POST /api/v1/keys HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\
                 content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                self.address,
                body.len()
            )?;
            stream.read_to_string(&mut answer)
        });
        asked.map_err(|error| format!("the node does not answer: {error}"))?;
        token(&answer).ok_or_else(|| format!("the node made no key: {answer}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _gone = self.process.kill();
        let _reaped = self.process.wait();
    }
}

fn address(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("http://")?;
    rest.split(['/', ' ']).next().map(str::to_owned)
}

fn token(answer: &str) -> Option<String> {
    let (_, rest) = answer.split_once(r#""token":""#)?;
    rest.split('"').next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_and_token_are_found_in_the_start_text() {
        let said = address("  health   http://127.0.0.1:41/healthz");
        assert_eq!(said.as_deref(), Some("127.0.0.1:41"));
        assert_eq!(address("Steadfast 0.1.0"), None);
        let said = token(r#"HTTP/1.1 201 Created {"id":"key_1","token":"sf_1_2"}"#);
        assert_eq!(said.as_deref(), Some("sf_1_2"));
    }

    #[test]
    fn requests_are_counted() {
        let lines = [
            "Summary:",
            "  Test cases:",
            "    5004 generated, 5004 passed",
        ];
        assert_eq!(cases(&lines.map(str::to_owned)), 5_004);
        assert_eq!(cases(&[]), 0);
    }

    #[test]
    fn a_tool_that_cannot_be_installed_is_an_error_that_says_how_to_see_why() {
        let nowhere = Path::new("/dev/null/nowhere");
        let said = tool(nowhere).unwrap_err();
        assert!(said.contains("python3 -m venv"), "{said}");
    }
}

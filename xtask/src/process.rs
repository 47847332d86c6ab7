//! Running other programs without drowning the reader.
//!
//! A full build prints hundreds of lines that matter only if it fails. Output is therefore kept
//! back and shown on failure; meanwhile a line now and then says that something still happens,
//! because a log without a terminal has no progress bar.

use std::io::{self, BufRead, BufReader, IsTerminal, PipeReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};
use std::{env, fs};

const SIGN_OF_LIFE_EVERY: Duration = Duration::from_secs(20);
/// A program that prints nothing for so long hangs.
const SILENCE_MAX: Duration = Duration::from_secs(15 * 60);
/// Cargo prints nothing while the whole program is optimised at its end.
const BUILD_SILENCE_MAX: Duration = Duration::from_secs(60 * 60);
const LOOK_AT_CHILD_EVERY: Duration = Duration::from_secs(1);

pub struct CommandOutput {
    pub success: bool,
    pub lines: Vec<String>,
}

/// The cargo that runs us, in the repository's root. It builds as if it were called by hand: some
/// dependencies are compiled again when the variables change that cargo sets for what it runs.
pub fn cargo(root: &Path) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// Where cargo puts what it builds.
pub fn target_directory(root: &Path) -> PathBuf {
    let named = env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let path = root.join(named.unwrap_or_else(|| PathBuf::from("target")));
    fs::canonicalize(&path).unwrap_or(path)
}

/// True if cargo has the subcommand. A toolchain may lack it although a proxy of its name exists.
pub fn cargo_has(subcommand: &str) -> bool {
    let program = env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    succeeds(&program, &[subcommand, "--version"])
}

/// True if the program starts and says that all is well. Its output is thrown away.
pub fn succeeds(program: &str, args: &[&str]) -> bool {
    Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Runs to the end and keeps both streams, in the order they were written. A line now and then says
/// how far it has come.
pub fn run_quietly(command: Command) -> io::Result<CommandOutput> {
    run(command, Some(SIGN_OF_LIFE_EVERY), SILENCE_MAX)
}

/// The same for a program as it is shipped.
pub fn run_build(command: Command) -> io::Result<CommandOutput> {
    run(command, Some(SIGN_OF_LIFE_EVERY), BUILD_SILENCE_MAX)
}

/// The same beside something that gives signs of life.
pub fn run_silently(command: Command) -> io::Result<CommandOutput> {
    run(command, None, SILENCE_MAX)
}

fn run(
    mut command: Command,
    signs: Option<Duration>,
    silence_max: Duration,
) -> io::Result<CommandOutput> {
    let (reader, writer) = io::pipe()?;
    if io::stdout().is_terminal() {
        command.env("CARGO_TERM_COLOR", "always");
    } else {
        // rustfmt asks the terminal's name, not whether there is one.
        command.env("TERM", "dumb");
    }
    let child = command
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .spawn()?;
    // The command owns our ends of the pipe; while they are open the reader never sees the end.
    drop(command);

    let mut lines = Vec::new();
    let status = follow(child, &lines_of(reader), &mut lines, (signs, silence_max))?;
    Ok(CommandOutput {
        success: status.success(),
        lines,
    })
}

fn lines_of(reader: PipeReader) -> Receiver<String> {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(reader).split(b'\n') {
            let Ok(line) = line else { return };
            let line = String::from_utf8_lossy(&line).trim_end().to_owned();
            if send.send(line).is_err() {
                return;
            }
        }
    });
    receive
}

/// Collects lines until the child is gone.
///
/// The end of the pipe is not enough: a server that a broken test leaves behind inherits it and
/// would keep us waiting for ever.
fn follow(
    mut child: Child,
    incoming: &Receiver<String>,
    lines: &mut Vec<String>,
    (signs, silence_max): (Option<Duration>, Duration),
) -> io::Result<ExitStatus> {
    let started = Instant::now();
    let (mut last_sign, mut last_line) = (started, started);
    loop {
        match incoming.recv_timeout(LOOK_AT_CHILD_EVERY) {
            Ok(line) => {
                last_line = Instant::now();
                lines.push(line);
            }
            Err(RecvTimeoutError::Disconnected) => return child.wait(),
            Err(RecvTimeoutError::Timeout) => {
                if let Some(status) = child.try_wait()? {
                    return Ok(status);
                }
            }
        }
        if last_line.elapsed() >= silence_max {
            lines.push(format!(
                "stopped: it printed nothing for {} s",
                silence_max.as_secs()
            ));
            child.kill()?;
            return child.wait();
        }
        if signs.is_some_and(|every| last_sign.elapsed() >= every) {
            last_sign = Instant::now();
            let last = lines.last().map_or("", |line| line.trim());
            println!("   … {} s: {last}", started.elapsed().as_secs());
        }
    }
}

/// Prints what a command said, but for its progress.
pub fn show(ran: &CommandOutput) {
    for line in ran.lines.iter().filter(|line| !is_noise(line)) {
        println!("{line}");
    }
}

/// A line that says nothing once the command has failed.
fn is_noise(line: &str) -> bool {
    const PROGRESS: &[&str] = &[
        "Compiling",
        "Checking",
        "Finished",
        "Downloading",
        "Downloaded",
        "Updating",
        "Locking",
        "Adding",
        "Blocking",
    ];
    let plain = without_colours(line);
    let is_passed_test = plain.starts_with("test ") && plain.ends_with(" ... ok");
    // Cargo's own lines are known by their first column, which is twelve characters wide; a test
    // that prints such a word starts further left.
    let column = plain.get(..12).unwrap_or_default();
    is_passed_test || (column.starts_with(' ') && PROGRESS.contains(&column.trim()))
}

pub fn without_colours(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut in_escape = false;
    for c in line.chars() {
        match c {
            '\u{1b}' => in_escape = true,
            'm' if in_escape => in_escape = false,
            _ if in_escape => {}
            _ => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_and_passed_tests_are_noise_and_failures_are_not() {
        assert!(is_noise(
            "\u{1b}[1m\u{1b}[92m   Compiling\u{1b}[0m serde v1.0.0"
        ));
        assert!(is_noise("test claims::by_priority ... ok"));
        assert!(!is_noise("test claims::by_priority ... FAILED"));
        assert!(!is_noise("error: unused variable"));
        assert!(!is_noise("Adding two numbers failed"));
    }

    #[cfg(unix)]
    #[test]
    fn both_streams_are_kept_in_order_with_the_verdict() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo one; echo two >&2; echo three; exit 3"]);
        let ran = run_quietly(command).unwrap();
        assert!(!ran.success);
        assert_eq!(ran.lines, ["one", "two", "three"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_program_that_hangs_is_stopped() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo begun; exec sleep 600"]);
        let ran = run(command, None, Duration::from_secs(1)).unwrap();
        assert!(!ran.success);
        assert_eq!(ran.lines, ["begun", "stopped: it printed nothing for 1 s"]);
    }
}

//! A node under strace: its system calls in their order, and calls that are made to fail.

use std::{collections::HashMap, fs, path::Path, process::Command};

use crate::{
    node::{FILE as STORE, Node, serve, until},
    process::wrapped,
};

const FILE: &str = "trace";
/// Everything that reaches a file or a client, with whole pages and whole answers.
const WATCHED: &str = "trace=pwrite64,write,writev,sendto,fsync,fdatasync";

impl Node {
    /// Under strace, which makes calls fail as `inject` says.
    pub fn start_traced(dir: &Path, inject: Option<&str>) -> Self {
        let mut strace = Command::new("strace");
        // As a grandchild, so that the node itself is what the test has started.
        strace.args(["-D", "-f", "-y", "-s", "8192", "-o", FILE, "-e", WATCHED]);
        if let Some(inject) = inject {
            strace.args(["-e", inject]);
        }
        strace.arg(env!("CARGO_BIN_EXE_steadfast"));
        Self::run(wrapped(strace, &serve(STORE), dir))
    }
}

/// Whether this machine lets one process trace another; says so loudly where it does not.
pub fn is_allowed() -> bool {
    let trial = Command::new("strace")
        .args(["-o", "/dev/null", "true"])
        .status();
    let is_allowed = trial.is_ok_and(|status| status.success());
    if !is_allowed {
        eprintln!(
            "SYNCING WAS NOT TRACED: strace may not trace here. Allow ptrace (a container needs \
             the capability SYS_PTRACE) and run the tests again."
        );
    }
    is_allowed
}

/// All that was written down of a node that has ended.
pub fn read(dir: &Path) -> String {
    let path = dir.join(FILE);
    until("the end of the trace", || {
        let trace = fs::read_to_string(&path).ok()?;
        let last = trace.lines().last()?;
        // Threads end first, the process last.
        let process = trace.split(' ').next()?;
        let has_ended = last.starts_with(process) && last.ends_with("+++");
        has_ended.then_some(trace)
    })
}

/// How one job was acknowledged, by the lines of a trace.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Acknowledgement {
    /// After the log that holds it had been synced.
    Synced,
    /// Before, or without.
    Unsynced,
    /// It was not acknowledged.
    Never,
}

pub struct Calls<'t> {
    calls: Vec<Call<'t>>,
    /// Where the last answer was found; those after it are further on.
    from: usize,
}

impl<'t> Calls<'t> {
    /// Whether the job that carries this mark was acknowledged only when it was on the disk: there
    /// is a sync of the log that began after the mark was last written and had ended well before
    /// the answer began. Marks are asked for in the order of their answers.
    pub fn answered(&mut self, mark: &str) -> Acknowledgement {
        let rest = &self.calls[self.from..];
        let is_answer =
            |call: &Call| call.file == "socket" && call.has("HTTP/1.1 20") && call.has(mark);
        let Some(count) = rest.iter().position(is_answer) else {
            return Acknowledgement::Never;
        };
        self.from += count;
        let (before, answer) = (&rest[..count], &rest[count]);
        let log = || before.iter().filter(|call| call.file.ends_with("-wal"));
        let written = log().rfind(|call| call.name == "pwrite64" && call.has(mark));
        let is_synced = written.is_some_and(|written| {
            log().any(|call| {
                matches!(call.name, "fsync" | "fdatasync")
                    && call.is_done
                    && call.begun > written.ended
                    && call.ended < answer.begun
            })
        });
        match is_synced {
            true => Acknowledgement::Synced,
            false => Acknowledgement::Unsynced,
        }
    }

    pub fn of(trace: &'t str) -> Self {
        let mut calls: Vec<Call> = Vec::new();
        // Those that others interrupt, by their thread.
        let mut open: HashMap<&str, usize> = HashMap::new();
        for (line, text) in trace.lines().enumerate() {
            let Some((thread, rest)) = text.split_once(' ') else {
                continue;
            };
            let rest = rest.trim_start();
            if rest.starts_with("<... ") {
                if let Some(place) = open.remove(thread) {
                    let call = &mut calls[place];
                    (call.ended, call.is_done) = (line, is_done(rest));
                }
            } else if let Some(call) = Call::begun(line, rest) {
                if call.ended == usize::MAX {
                    open.insert(thread, calls.len());
                }
                calls.push(call);
            }
        }
        Self { calls, from: 0 }
    }
}

/// One call, from the line on which it began to the one on which it ended.
struct Call<'t> {
    name: &'t str,
    /// The file, as strace names it behind its number.
    file: &'t str,
    text: &'t str,
    begun: usize,
    ended: usize,
    /// It returned, and without an error.
    is_done: bool,
}

impl<'t> Call<'t> {
    fn begun(line: usize, text: &'t str) -> Option<Self> {
        let (name, arguments) = text.split_once('(')?;
        let file = arguments.split_once('<').map_or("", |(_, file)| file);
        let is_open = text.ends_with("<unfinished ...>");
        Some(Self {
            name,
            file: file.split(['>', ':']).next().unwrap_or_default(),
            text,
            begun: line,
            ended: if is_open { usize::MAX } else { line },
            is_done: !is_open && is_done(text),
        })
    }

    fn has(&self, text: &str) -> bool {
        self.text.contains(text)
    }
}

fn is_done(text: &str) -> bool {
    let result = text.rsplit_once(" = ");
    result.is_some_and(|(_, result)| !result.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITE: &str = r#"7  pwrite64(11</d/jobs.db-wal>, "\r\0mark-1\0", 4096, 56) = 4096"#;
    const SYNC: &str = "7  fdatasync(11</d/jobs.db-wal>) = 0";
    const ANSWER: &str = r#"8  writev(22<socket:[5]>, [{iov_base="HTTP/1.1 201 Created"..., iov_len=1}, {iov_base="{mark-1}", iov_len=8}], 2) = 9"#;

    fn check(lines: &[&str], expected: &Acknowledgement) {
        assert_eq!(
            Calls::of(&lines.join("\n")).answered("mark-1"),
            *expected,
            "{lines:#?}"
        );
    }

    #[test]
    fn only_a_sync_of_the_log_between_the_write_and_the_answer_counts() {
        check(&[WRITE, SYNC, ANSWER], &Acknowledgement::Synced);
        check(&[WRITE, ANSWER], &Acknowledgement::Unsynced);
        check(&[SYNC, WRITE, ANSWER], &Acknowledgement::Unsynced);
        check(&[WRITE, ANSWER, SYNC], &Acknowledgement::Unsynced);
        check(&[SYNC, ANSWER], &Acknowledgement::Unsynced);
        check(&[WRITE, SYNC], &Acknowledgement::Never);
        let other_file = "7  fsync(9</d/jobs.db>) = 0";
        check(&[WRITE, other_file, ANSWER], &Acknowledgement::Unsynced);
        let failed = "7  fsync(11</d/jobs.db-wal>) = -1 EIO (Input/output error) (INJECTED)";
        check(&[WRITE, failed, ANSWER], &Acknowledgement::Unsynced);
        let other_job = WRITE.replace("mark-1", "mark-2");
        check(&[&other_job, SYNC, ANSWER], &Acknowledgement::Unsynced);
        check(
            &[WRITE, failed, WRITE, SYNC, ANSWER],
            &Acknowledgement::Synced,
        );
        check(&[WRITE, SYNC, WRITE, ANSWER], &Acknowledgement::Unsynced);
    }

    #[test]
    fn a_sync_that_others_interrupt_counts_from_its_begin_to_its_end() {
        let begun = "7  fsync(11</d/jobs.db-wal> <unfinished ...>";
        let ended = "7  <... fsync resumed>) = 0";
        let failed = "7  <... fsync resumed>) = -1 EIO (Input/output error) (INJECTED)";
        check(&[WRITE, begun, ended, ANSWER], &Acknowledgement::Synced);
        check(&[WRITE, begun, ANSWER, ended], &Acknowledgement::Unsynced);
        check(&[begun, WRITE, ended, ANSWER], &Acknowledgement::Unsynced);
        check(&[WRITE, begun, failed, ANSWER], &Acknowledgement::Unsynced);
        check(&[WRITE, begun, ANSWER], &Acknowledgement::Unsynced);
    }
}

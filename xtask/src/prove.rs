//! The long proofs: tests of the short pass again and again, with new seeds, for as long as one
//! likes.
//!
//! A round of a proof is one run of its test. What it came to is written down before the next
//! begins, so a run that was stopped goes on where it was, with the seeds that come next. Whose
//! rounds have taken least time so far is next.

mod ledger;
mod report;
mod soak;
mod suite;

use std::fs;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::process::{self, CommandOutput, succeeds};
use crate::{VerbResult, fuzz, needs, root, workspace};

use ledger::{Ledger, Round};
use suite::Server;

const MINUTES: u64 = 60;
/// It needs more than the others, and is asked for as `ha`.
const FAILOVER: &str = "failover (ha)";
/// Builds and runs the proofs that measure.
#[rustfmt::skip]
const MEASURED_TEST: [&str; 7] =
    ["test", "--release", "--package", "steadfast-cli", "--all-features", "--test", "proof"];
const BAR_WIDTH: usize = 30;

/// Something that can be shown for as long as one likes.
#[derive(Debug)]
struct Proof {
    name: &'static str,
    by: Method,
    /// The size of one round, chosen so that it takes about a minute.
    times: u64,
}

#[derive(Debug)]
enum Method {
    /// A test, in a test target.
    Test(&'static str, &'static str),
    /// A test of the program that measures it, as it is built for release.
    Measured(&'static str),
    /// All tests of a target, on a server that differs from that of the system.
    Suite(&'static str, Server),
    /// The tests of a target that begin like this.
    Tests(&'static str, &'static str),
    /// A script in `sdk` that runs programs of others, and the program that it needs besides.
    Clients(&'static str, Option<&'static str>),
    /// Made-up requests.
    Fuzzing,
}

const fn by_test(
    name: &'static str,
    times: u64,
    target: &'static str,
    test: &'static str,
) -> Proof {
    let by = Method::Test(target, test);
    Proof { name, by, times }
}

const fn measured(name: &'static str, times: u64, test: &'static str) -> Proof {
    let by = Method::Measured(test);
    Proof { name, by, times }
}

/// The conformance suite of the PostgreSQL driver.
const fn by_suite(name: &'static str, server: Server) -> Proof {
    let by = Method::Suite("postgres", server);
    let times = 1;
    Proof { name, by, times }
}

/// In one line each, however long it is: they are read as a table.
#[rustfmt::skip]
const PROOFS: &[Proof] = &[
    by_test("simulation in memory", 1_000, "sim", "simulation::every_seed_holds_in_memory"),
    by_test("simulation in SQLite", 50, "sim", "simulation::every_seed_holds_in_sqlite"),
    by_test("planted bugs", 60, "sim", "planted::every_planted_bug_is_found_by_the_invariant_it_breaks"),
    by_test("certificates", 20, "sim", "certificate::what_a_certificate_promises_happens_with_the_real_engine"),
    by_test("confirm", 100_000, "sim", "confirm::a_job_that_asks_takes_effect_once_and_a_plain_retry_does_not"),
    by_test("learned pace", 40, "sim", "pace::a_halved_capacity_is_used_within_ten_seconds_with_few_refusals"),
    by_test("power loss", 400, "sim", "power::a_power_failure_loses_nothing_that_was_acknowledged"),
    by_test("power loss while a file is made", 400, "sim", "power::a_power_failure_while_a_file_is_made_leaves_one_that_opens"),
    by_test("power loss while the log is folded", 300, "sim", "power::a_power_failure_while_the_log_is_folded_loses_nothing"),
    by_test("disk errors", 60, "sim", "disk_errors::a_disk_error_reaches_the_caller_and_nothing_acknowledged_is_lost"),
    by_test("kill cycles", 60, "proof", "kill_cycles::what_was_acknowledged_outlives_every_kill"),
    by_test("fsync before the answer", 500, "proof", "synced::the_log_is_synced_before_the_answer_leaves"),
    by_test("no sync, no answer", 10, "proof", "synced::while_the_log_cannot_be_synced_nothing_is_acknowledged"),
    by_test("no write, no answer", 10, "proof", "synced::while_the_log_cannot_be_written_nothing_is_acknowledged"),
    by_test("disk full", 10, "proof", "disk_full::a_full_disk_refuses_new_jobs_keeps_the_old_and_is_forgotten_when_there_is_room"),
    by_test("frozen node", 5, "proof", "frozen::a_node_that_stood_still_settles_nothing_that_was_given_to_another"),
    by_test("gates", 20, "proof", "gates::limits_hold_while_nodes_are_killed_and_connections_are_cut"),
    by_test("operations", 20, "proof", "kill_operations::an_operation_outlives_its_nodes_and_comes_to_each_job_once"),
    by_test("batches", 20, "proof", "batches::batches_count_every_end_and_call_back_once_while_nodes_are_killed"),
    by_test("PostgreSQL faults", 20, "proof", "postgres_faults::what_was_acknowledged_outlives_lost_answers_and_cut_connections"),
    by_test(FAILOVER, 9, "proof", "failover::what_was_acknowledged_outlives_every_fault_of_the_primary"),
    by_test("slow resolver", 3, "proof", "slow::names::a_resolver_that_does_not_answer_delays_no_other_caller"),
    by_test("slow disk", 1, "proof", "slow::store::creates_are_refused_while_the_disk_is_slow"),
    by_test("standby away", 1, "proof", "slow::store::creates_are_refused_while_a_synchronous_standby_is_away"),
    by_test("broken polls", 20, "proof", "broken_polls::a_worker_that_hangs_up_in_the_middle_of_a_claim_loses_no_job"),
    by_test("locked rows", 5, "proof", "locked_rows::due_rows_that_another_session_has_locked_hold_up_no_other_job_and_are_not_asked_for_all_the_time"),
    by_test("foreign pages", 100, "proof", "hostile::a_page_of_another_site_can_neither_read_nor_change_anything_through_a_browser"),
    by_test("hostile crowd", 10, "proof", "hostile::many_silent_or_half_finished_requests_do_not_delay_other_clients"),
    measured("hostile tenant on SQLite", 200, "tenants::a_tenant_with_all_its_might_does_not_stop_another_on_sqlite"),
    measured("hostile tenant on PostgreSQL", 200, "tenants::a_tenant_with_all_its_might_does_not_stop_another_on_postgres"),
    by_test("inputs: api", 30_000, "targets", "api"),
    by_test("inputs: cron", 100_000, "targets", "cron"),
    by_test("inputs: cursor", 1_000_000, "targets", "cursor"),
    by_test("inputs: duration", 1_000_000, "targets", "duration"),
    by_test("inputs: policy", 200_000, "targets", "policy"),
    by_test("inputs: settings", 50_000, "targets", "settings"),
    by_test("inputs: wire", 300_000, "targets", "wire"),
    by_suite("pooler without LISTEN", Server::Pooled("polling")),
    by_suite("pooler with LISTEN", Server::Pooled("listening")),
    by_test("pooler: kill cycles", 60, "proof", "kill_cycles::what_was_acknowledged_outlives_every_kill_behind_a_pooler"),
    Proof { name: "pooler: three nodes without LISTEN", by: Method::Suite("postgres_nodes", Server::Pooled("polling")), times: 1 },
    Proof { name: "pooler: three nodes with LISTEN", by: Method::Suite("postgres_nodes", Server::Pooled("listening")), times: 1 },
    by_suite("plain statements", Server::Logged),
    by_suite("versions: PostgreSQL 13", Server::Version("13.23.0-beta.16")),
    by_suite("versions: PostgreSQL 14", Server::Version("14.23.0-beta.17")),
    by_suite("versions: PostgreSQL 15", Server::Version("15.18.0-beta.17")),
    by_suite("versions: PostgreSQL 16", Server::Version("16.14.0-beta.17")),
    by_suite("versions: PostgreSQL 17", Server::Version("17.10.0-beta.17")),
    by_suite("versions: PostgreSQL 18", Server::Version("18.4.0-beta.17")),
    Proof { name: "doors: agents and CloudEvents", by: Method::Tests("cli", "foreign::"), times: 1 },
    Proof { name: "doors: clients of QStash", by: Method::Clients("sdk/qstash/check.sh", None), times: 3 },
    Proof { name: "doors: Celery's own tests", by: Method::Clients("sdk/python/scripts/celery_suite.py", Some("redis-server")), times: 1 },
    by_test("doors: QStash on SQLite", 6, "proof", "qstash::callbacks_of_messages_are_made_once_while_a_node_is_killed"),
    by_test("doors: QStash on PostgreSQL", 6, "proof", "qstash::callbacks_of_messages_are_made_once_while_one_of_two_nodes_is_killed"),
    Proof { name: "made-up requests", by: Method::Fuzzing, times: 10 },
];

/// `cargo xtask prove [minutes] [words of names]`, or `cargo xtask prove soak [minutes]`.
pub fn run(args: &[String]) -> VerbResult {
    if let Some(("soak", rest)) = args.split_first().map(|(word, rest)| (word.as_str(), rest)) {
        return soak::run(rest);
    }
    let (minutes, words) = asked(args);
    let chosen: Vec<&Proof> = PROOFS
        .iter()
        .filter(|proof| proof.is_meant(words))
        .collect();
    if chosen.is_empty() {
        let names: Vec<&str> = PROOFS.iter().map(|proof| proof.name).collect();
        return Err(format!(
            "no proof is called that; there are: {}",
            names.join("; ")
        ));
    }
    needs::ensure()?;
    if chosen.iter().any(|proof| proof.name == FAILOVER) {
        needs::ensure_cluster()?;
    }
    let place = fuzz::target(&root()).join("prove");
    fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
    let mut ledger = Ledger::open(&place.join("ledger.tsv"))?;
    println!(
        "{} proofs for {minutes} min; {} rounds were run before (to begin anew, delete {})",
        chosen.len(),
        ledger.rounds().len(),
        place.display()
    );
    build(&chosen)?;
    let outcome = go_on(
        &chosen,
        &mut ledger,
        &place,
        Duration::from_secs(60 * minutes),
    );
    let text = report::of(&ledger);
    let path = place.join("report.md");
    fs::write(&path, &text).map_err(|error| format!("{}: {error}", path.display()))?;
    println!("\n{text}\nThis is also in {}.", path.display());
    outcome
}

fn asked(args: &[String]) -> (u64, &[String]) {
    match args
        .split_first()
        .map(|(first, rest)| (first.parse(), rest))
    {
        Some((Ok(minutes), rest)) => (minutes, rest),
        _ => (MINUTES, args),
    }
}

/// All tests at once, so that the first round does not pay for it.
fn build(chosen: &[&Proof]) -> VerbResult {
    let is_measured = |proof: &&&Proof| matches!(proof.by, Method::Measured(_));
    let measured = chosen.iter().filter(is_measured).count();
    let debug = ["test", "--workspace", "--all-features"];
    let builds = [
        (measured > 0, &MEASURED_TEST[..]),
        (measured < chosen.len(), &debug[..]),
    ];
    for (_, args) in builds.into_iter().filter(|(is_needed, _)| *is_needed) {
        let mut command = cargo(args == debug);
        command.args(args).arg("--no-run");
        let ran = process::run_build(command);
        let ran = ran.map_err(|error| format!("cannot start cargo: {error}"))?;
        if !ran.success {
            process::show(&ran);
            return Err("the tests do not build".to_owned());
        }
    }
    Ok(())
}

/// What is measured is built as it is shipped, all else as `cargo xtask test` builds it.
fn cargo(is_debug: bool) -> Command {
    match is_debug {
        true => workspace::cargo(&root()),
        false => process::cargo(&root()),
    }
}

fn go_on(chosen: &[&Proof], ledger: &mut Ledger, place: &Path, time: Duration) -> VerbResult {
    let started = Instant::now();
    while started.elapsed() < time {
        let next = chosen.iter().min_by_key(|proof| ledger.time_of(proof.name));
        let Some(proof) = next else { break };
        let seed = ledger.next_seed(proof.name);
        show_progress(started.elapsed(), time, proof.name, seed);
        let began = Instant::now();
        let (ran, figures) = proof.run(seed, &place.join("round.tsv"))?;
        if !ran.success {
            println!();
            process::show(&ran);
            return Err(format!(
                "{} failed; rerun: {}",
                proof.name,
                proof.command(seed)
            ));
        }
        ledger.add(Round {
            proof: proof.name.to_owned(),
            seed,
            times: proof.times,
            took: began.elapsed(),
            figures,
        })?;
    }
    Ok(())
}

impl Proof {
    fn is_meant(&self, words: &[String]) -> bool {
        words.is_empty() || words.iter().any(|word| self.name.contains(word.as_str()))
    }

    /// Runs a round; says what it told.
    fn run(
        &self,
        seed: u64,
        told: &PathBuf,
    ) -> Result<(CommandOutput, Vec<ledger::Figure>), String> {
        if told.exists() {
            fs::remove_file(told).map_err(|error| format!("{}: {error}", told.display()))?;
        }
        let figure = |what: &str, count| vec![(self.name.to_owned(), what.to_owned(), count)];
        match self.by {
            Method::Test(..) | Method::Tests(..) | Method::Measured(_) | Method::Suite(..) => {}
            Method::Fuzzing => {
                let ran = fuzz::run(&root(), seed, self.times)?;
                let cases = fuzz::cases(&ran.lines);
                return Ok((ran, figure("requests", cases)));
            }
            Method::Clients(script, program) => {
                let ran = self.run_clients(script, program, told)?;
                let figures = match ran.success {
                    true => ledger::figures(told)?,
                    false => Vec::new(),
                };
                return Ok((ran, figures));
            }
        }
        let mut command = cargo(!matches!(self.by, Method::Measured(_)));
        let place = told.parent().unwrap_or(told.as_path());
        if let Method::Suite(_, server) = self.by {
            command.envs(server.variables(place)?);
        }
        command
            .args(self.cargo_args())
            .env("STEADFAST_PROVE_SEED", seed.to_string())
            .env("STEADFAST_PROVE_TIMES", self.times.to_string())
            .env("STEADFAST_PROVE_REPORT", told);
        let ran = process::run_quietly(command);
        let ran = ran.map_err(|error| format!("cannot start cargo: {error}"))?;
        let figures = match (&self.by, ran.success) {
            (Method::Tests(..), true) => figure("tests passed", passed_tests(&ran.lines)),
            (Method::Suite(_, server), true) => {
                let mut figures = figure("tests passed", passed_tests(&ran.lines));
                let sent = server.check(place)?;
                figures.extend(sent.into_iter().flat_map(|sent| figure("statements", sent)));
                figures
            }
            (_, true) => ledger::figures(told)?,
            (_, false) => Vec::new(),
        };
        Ok((ran, figures))
    }

    /// Programs of others with the server that the tests built.
    fn run_clients(
        &self,
        script: &str,
        program: Option<&'static str>,
        told: &Path,
    ) -> Result<CommandOutput, String> {
        if let Some(program) = program
            && !succeeds(program, &["--version"])
            && !needs::install_packages(program)
        {
            return Err(format!(
                "{program} is needed for {script}; install it and run again"
            ));
        }
        let root = root();
        let binary = process::target_directory(&root).join("debug/steadfast");
        let mut command = Command::new(root.join(script));
        command
            .current_dir(&root)
            .env("STEADFAST_BIN", binary)
            .env("STEADFAST_PROVE_REPORT", told)
            .env("ROUNDS", self.times.to_string());
        process::run_quietly(command).map_err(|error| format!("cannot start {script}: {error}"))
    }

    fn cargo_args(&self) -> Vec<&'static str> {
        match self.by {
            Method::Test(target, test) => vec![
                "test",
                "--workspace",
                "--all-features",
                "--test",
                target,
                "--",
                "--exact",
                test,
                "--nocapture",
            ],
            Method::Tests(target, beginning) => {
                vec![
                    "test",
                    "--workspace",
                    "--all-features",
                    "--test",
                    target,
                    "--",
                    beginning,
                ]
            }
            Method::Measured(test) => {
                [&MEASURED_TEST[..], &["--", "--exact", test, "--nocapture"]].concat()
            }
            Method::Suite(target, _) => {
                vec!["test", "--workspace", "--all-features", "--test", target]
            }
            Method::Fuzzing => vec!["xtask", "fuzz"],
            Method::Clients(..) => Vec::new(),
        }
    }

    fn command(&self, seed: u64) -> String {
        match self.by {
            Method::Suite(..) => return format!("cargo xtask prove 1 '{}'", self.name),
            Method::Clients(script, _) => {
                return format!("STEADFAST_BIN=target/debug/steadfast {script}");
            }
            _ => {}
        }
        format!(
            "STEADFAST_PROVE_SEED={seed} STEADFAST_PROVE_TIMES={} cargo {}",
            self.times,
            self.cargo_args().join(" ")
        )
    }
}

/// How many tests the lines of a test run say have passed.
fn passed_tests(lines: &[String]) -> u64 {
    let results = lines
        .iter()
        .filter_map(|it| it.trim().strip_prefix("test result: ok. "));
    let counts = results.filter_map(|it| it.split(' ').next()?.parse::<u64>().ok());
    counts.sum()
}

/// A bar on a terminal, a line in a log.
fn show_progress(elapsed: Duration, time: Duration, name: &str, seed: u64) {
    let line = format!("{} {name}, seed {seed}", bar(elapsed, time));
    if std::io::stdout().is_terminal() {
        print!("\r\x1b[K{line}");
        let _unseen = std::io::stdout().flush();
    } else {
        println!("{line}");
    }
}

fn bar(elapsed: Duration, time: Duration) -> String {
    let part = elapsed.as_secs_f64() / time.as_secs_f64().max(1.0);
    let full = (0..BAR_WIDTH)
        .filter(|mark| (*mark as f64) < part * BAR_WIDTH as f64)
        .count();
    format!(
        "[{}{}] {}/{} min",
        "#".repeat(full),
        ".".repeat(BAR_WIDTH - full),
        elapsed.as_secs() / 60,
        time.as_secs() / 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minutes_come_first_and_words_choose() {
        let args = ["5".to_owned(), "memory".to_owned()];
        let (minutes, words) = asked(&args);
        assert_eq!(minutes, 5);
        let chosen = PROOFS.iter().filter(|proof| proof.is_meant(words));
        let names: Vec<&str> = chosen.map(|proof| proof.name).collect();
        assert_eq!(names, ["simulation in memory"]);
        assert_eq!(asked(&[]), (MINUTES, &[][..]));
        assert_eq!(asked(&args[1..]), (MINUTES, &args[1..]));
    }

    #[test]
    fn passed_tests_are_counted_over_all_programs_of_a_run() {
        let lines = [
            "running 7 tests",
            "test result: ok. 7 passed; 0 failed; 0 ignored",
            "test result: ok. 2 passed; 0 failed; 1 ignored",
        ];
        assert_eq!(passed_tests(&lines.map(str::to_owned)), 9);
    }

    #[test]
    fn the_bar_is_empty_at_the_start_and_full_at_the_end() {
        let hour = Duration::from_secs(3_600);
        assert_eq!(
            bar(Duration::ZERO, hour),
            format!("[{}] 0/60 min", ".".repeat(BAR_WIDTH))
        );
        assert_eq!(
            bar(hour, hour),
            format!("[{}] 60/60 min", "#".repeat(BAR_WIDTH))
        );
    }

    #[test]
    fn every_proof_has_a_name_of_its_own_and_a_test_that_exists() {
        let mut texts = String::new();
        let mut places = vec![root().join("crates")];
        while let Some(place) = places.pop() {
            for entry in fs::read_dir(place).unwrap() {
                let path = entry.unwrap().path();
                let is_test = path.components().any(|part| part.as_os_str() == "tests");
                if path.is_dir() {
                    places.push(path);
                } else if is_test && path.extension().is_some_and(|kind| kind == "rs") {
                    texts.push_str(&fs::read_to_string(path).unwrap());
                }
            }
        }
        for proof in PROOFS {
            let namesakes = PROOFS.iter().filter(|other| other.name == proof.name);
            assert_eq!(namesakes.count(), 1, "{}", proof.name);
            if let Method::Clients(script, _) = proof.by {
                assert!(root().join(script).exists(), "there is no {script}");
            }
            if let Method::Test(_, test) | Method::Measured(test) = proof.by {
                let name = test.rsplit("::").next().unwrap();
                assert!(texts.contains(name), "there is no test {test}");
            }
        }
    }
}

//! `steadfast completions` and `steadfast man`: files that packages install with the program, generated from
//! the commands themselves.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use clap::{ValueHint, builder::PossibleValuesParser};
use clap_complete::Shell;
use steadfast_core::{AlertRule, EndReason, JobLabel, Preset};

use crate::{exit::usage, output::print_line, show::quantity};

const NAME: &str = "steadfast";

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  steadfast completions bash > ~/.local/share/bash-completion/completions/steadfast\n  steadfast completions zsh > ~/.zfunc/_steadfast\n  steadfast completions fish > ~/.config/fish/completions/steadfast.fish"
)]
pub struct CompletionArgs {
    /// Shell.
    shell: Shell,
}

#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  steadfast man ~/.local/share/man/man1 && man steadfast-jobs-create"
)]
pub struct ManArgs {
    /// Existing directory to write to.
    directory: PathBuf,
}

pub fn print_completions(args: CompletionArgs, command: &mut clap::Command) -> anyhow::Result<()> {
    // The generator panics where its output is closed, so it writes into memory.
    let mut script = Vec::new();
    let mut command = with_values(command.clone());
    clap_complete::generate(args.shell, &mut command, NAME, &mut script);
    Ok(std::io::stdout().lock().write_all(&script)?)
}

/// The commands with the values that their options take, if they are known. Names of files are
/// offered only where a file is meant.
fn with_values(command: clap::Command) -> clap::Command {
    let is_hinted = |arg: &clap::Arg| {
        let names = arg.get_value_names().unwrap_or_default();
        let is_file = |name: &clap::builder::Str| {
            ["FILE", "PATH", "DIRECTORY"]
                .iter()
                .any(|it| name.contains(it))
        };
        names.iter().any(is_file) || arg.get_value_hint() != ValueHint::Unknown
    };
    let command = command.mut_args(|arg| match arg.get_id().as_str() {
        "label" => arg.value_parser(words(JobLabel::ALL.iter().map(|it| it.as_str()))),
        "reason" => arg.value_parser(words(EndReason::ALL.iter().map(|it| it.as_str()))),
        "retry" | "policy" => arg.value_parser(words(Preset::ALL.map(Preset::name))),
        "rule" => arg.value_parser(words(AlertRule::ALL.iter().map(|it| it.as_str()))),
        _ if is_hinted(&arg) || !arg.get_action().takes_values() => arg,
        _ => arg.value_hint(ValueHint::Other),
    });
    command.mut_subcommands(with_values)
}

fn words(words: impl IntoIterator<Item = &'static str>) -> PossibleValuesParser {
    PossibleValuesParser::new(words)
}

pub fn write_pages(args: &ManArgs, command: clap::Command) -> anyhow::Result<()> {
    let directory = &args.directory;
    if !directory.is_dir() {
        return Err(usage(format!(
            "{} is not a directory: create it first",
            directory.display()
        )));
    }
    let written = write_all(command, directory);
    let pages = written.with_context(|| format!("cannot write to {}", directory.display()))?;
    Ok(print_line!(
        "{} written: {}",
        quantity(pages, "page", "pages"),
        directory.join(format!("{NAME}.1")).display()
    )?)
}

fn write_all(mut command: clap::Command, directory: &Path) -> io::Result<u64> {
    command = command.disable_help_subcommand(true);
    command.build();
    let mut waiting = vec![command];
    let mut pages = 0;
    while let Some(command) = waiting.pop() {
        let subcommands = command.get_subcommands().filter(|it| !it.is_hide_set());
        waiting.extend(subcommands.cloned());
        let man = clap_mangen::Man::new(command)
            .source(concat!("Steadfast ", env!("CARGO_PKG_VERSION")))
            .manual("Steadfast");
        let mut page = Vec::new();
        man.render(&mut page)?;
        let page = with_examples(&with_empty_date(&String::from_utf8_lossy(&page)));
        fs::write(directory.join(man.get_filename()), page)?;
        pages += 1;
    }
    Ok(pages)
}

/// The library leaves an empty date out, and `man` takes the next argument of the title for it.
fn with_empty_date(page: &str) -> String {
    page.replacen(" 1  \"", " 1 \"\" \"", 1)
}

/// The text after the options is mostly examples, whose lines must stay as they are.
fn with_examples(page: &str) -> String {
    let Some((before, extra)) = page.split_once(".SH EXTRA\n") else {
        return page.to_owned();
    };
    let (extra, after) = extra.split_at(extra.find("\n.SH ").map_or(extra.len(), |at| at + 1));
    format!("{before}.SH EXAMPLES\n.nf\n{extra}.fi\n{after}")
}

//! `--help` of every command.

use tempfile::TempDir;

use crate::node::{dir, run};

#[test]
fn every_command_has_help_with_an_example() {
    let dir = dir();
    let mut commands = subcommands(&dir, "");
    let mut looked_at = 0;
    while let Some(command) = commands.pop() {
        let help = help_of(&dir, &command);
        assert!(help.contains(&format!("steadfast {command}")), "{help}");
        assert!(help.contains("Example"), "{command}: {help}");
        commands.extend(subcommands(&dir, &command));
        looked_at += 1;
    }
    assert!(looked_at > 50, "{looked_at} commands");
}

fn help_of(dir: &TempDir, command: &str) -> String {
    let args: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
    let help = run(&args, dir);
    assert_eq!(help.code, 0, "{command}: {help:?}");
    help.out
}

/// The commands that a command's help lists, each with the command before it.
fn subcommands(dir: &TempDir, command: &str) -> Vec<String> {
    let help = help_of(dir, command);
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines.take_while(|line| !line.trim().is_empty());
    // A description may go on in lines that begin further to the right.
    let lines = lines.filter(|line| !line.starts_with("   "));
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next());
    let names = names.filter(|name| *name != "help");
    names
        .map(|name| format!("{command} {name}").trim().to_owned())
        .collect()
}

//! Holds the help of every command, and the completions of a shell, by snapshots.

use super::CommandLine;
use super::help::{GROUPS, group_commands};
use clap::{Command, CommandFactory};
use clap_complete::{Shell, generate};
use recado_machine::help_text::wrap_help;
use std::collections::BTreeSet;

/// Renders the help of a command and of those below it. The variables of this machine are left out.
fn render_help(command: &Command, told: &mut String) {
    let mut shown = command
        .clone()
        .mut_args(|argument| argument.hide_env_values(true));
    let help = wrap_help(&shown.render_long_help().to_string());
    // A name or a value may be longer than the line.
    let is_wide = |line: &&str| line.chars().count() > 80 && line.trim().contains(' ');
    let wide: Vec<&str> = help.lines().filter(is_wide).collect();
    assert!(wide.is_empty(), "{wide:?}");
    told.push_str(&help);
    told.push('\n');
    for below in command
        .get_subcommands()
        .filter(|below| below.get_name() != "help")
    {
        told.push_str("\n--------\n\n");
        render_help(below, told);
    }
}

#[test]
fn the_help_of_every_command_is_as_kept() {
    let mut program = group_commands(CommandLine::command()).version("VERSION");
    program.build();
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("tests/snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        let mut alone = program
            .clone()
            .mut_args(|argument| argument.hide_env_values(true));
        insta::assert_snapshot!("help", wrap_help(&alone.render_long_help().to_string()));
        for command in program
            .get_subcommands()
            .filter(|command| command.get_name() != "help")
        {
            let mut told = String::new();
            render_help(command, &mut told);
            insta::assert_snapshot!(format!("help-{}", command.get_name()), told);
        }
    });
}

#[test]
fn every_command_stands_in_one_group_of_the_help() {
    let mut program = CommandLine::command();
    program.build();
    let shown = program.get_subcommands().filter(|command| !command.is_hide_set());
    let shown: BTreeSet<&str> = shown.map(Command::get_name).collect();
    let grouped: Vec<&str> = GROUPS
        .iter()
        .flat_map(|(_, names)| names.iter().copied())
        .collect();
    assert_eq!(grouped.len(), shown.len(), "each stands there once");
    assert_eq!(grouped.into_iter().collect::<BTreeSet<_>>(), shown);
}

#[test]
fn the_completions_of_a_shell_are_as_kept() {
    let mut script = Vec::new();
    generate(Shell::Fish, &mut CommandLine::command(), "recado", &mut script);
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("tests/snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("completions-fish", String::from_utf8_lossy(&script)));
}

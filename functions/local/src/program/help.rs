//! The help of the program: its commands in groups, and lines that fit a terminal.

use clap::error::ErrorKind;
use clap::{Command, CommandFactory, FromArgMatches};
use recado_machine::help_text::wrap_help;
use std::process::ExitCode;

/// The commands in groups, by what a person is about to do.
pub(super) const GROUPS: [(&str, &[&str]); 7] = [
    (
        "Set up and run",
        &["init", "serve", "apply", "connect", "connect-calendar", "doctor"],
    ),
    (
        "See what happens",
        &["status", "tail", "find", "trends", "usage", "alerts", "audit"],
    ),
    (
        "Talk, answer and mend",
        &[
            "say",
            "try",
            "conversations",
            "contact",
            "dlq",
            "effects",
            "catch-up",
        ],
    ),
    ("Teach the agent", &["agent", "knowledge", "eval"]),
    (
        "Invite, and join other systems",
        &["deliver", "guests", "webhooks", "api", "mcp"],
    ),
    (
        "Keep, move and protect",
        &[
            "backup", "restore", "export", "import", "tenant", "token", "secret",
        ],
    ),
    (
        "Record, and this program",
        &["record", "replay", "completions", "help"],
    ),
];

/// Parses the arguments of the program. Where it is to end at once, prints the help or what is wrong, and returns the exit status.
pub(super) fn parse_arguments<T: CommandFactory + FromArgMatches>() -> Result<T, ExitCode> {
    let parsed = group_commands(T::command()).try_get_matches();
    parsed
        .and_then(|matches| T::from_arg_matches(&matches))
        .map_err(|error| print_parse_error(&error))
}

fn print_parse_error(error: &clap::Error) -> ExitCode {
    let is_help = matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    let text = error.render().ansi().to_string();
    let text = if is_help { wrap_help(&text) } else { text };
    if error.use_stderr() {
        eprint!("{text}");
    } else {
        print!("{text}");
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// Lists the commands in groups in the help of the program itself, each with the first sentence about it.
pub(super) fn group_commands(command: Command) -> Command {
    let line = |name: &str| {
        let about = command.find_subcommand(name).and_then(Command::get_about);
        let about = about.map_or_else(
            || "Prints the help of a command".to_owned(),
            |about| first_sentence(&about.to_string()).to_owned(),
        );
        format!("  {name:<17} {about}\n")
    };
    let group = |(title, names): (&str, &[&str])| {
        let lines: Vec<String> = names.iter().map(|name| line(name)).collect();
        format!("{title}\n{}", lines.concat())
    };
    let listed: Vec<String> = GROUPS.into_iter().map(group).collect();
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\nCommands:\n{}\nOptions:\n{{options}}{{after-help}}\n",
        listed.concat()
    );
    command.help_template(template)
}

fn first_sentence(text: &str) -> &str {
    text.split(". ").next().unwrap_or(text).trim_end_matches('.')
}

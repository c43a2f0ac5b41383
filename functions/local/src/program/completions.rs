//! `recado completions`: prints a script by which a shell completes the command line.

use clap::{Args, Command};
use clap_complete::{Shell, generate};
use recado_machine::output;

/// The commands by which shells take the script.
const INSTALLATION: &str = "bash: recado completions bash > ~/.local/share/bash-completion/completions/recado\n\
    zsh:  recado completions zsh > \"${fpath[1]}/_recado\"\n\
    fish: recado completions fish > ~/.config/fish/completions/recado.fish";

/// Prints a script by which a shell completes commands and options.
#[derive(Debug, Args)]
#[command(after_help = INSTALLATION)]
pub(crate) struct CompletionArguments {
    /// The shell.
    shell: Shell,
}

/// Prints the script for the shell.
pub(crate) fn print_completions(arguments: &CompletionArguments, mut command: Command) {
    let mut script = Vec::new();
    generate(arguments.shell, &mut command, "recado", &mut script);
    output::write_raw_bytes(&script);
}

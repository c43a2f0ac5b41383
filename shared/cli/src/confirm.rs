//! Asks a person at the terminal before something that cannot be undone.

use anyhow::{Result, bail};
use std::io::{BufRead, IsTerminal, stderr, stdin};

/// Succeeds if the person at the terminal answers `question` with yes, or if `yes` was given. Without a terminal, where
/// nobody can answer, it fails and says how a script agrees.
pub fn confirm_action(question: &str, yes: bool) -> Result<()> {
    if yes {
        return Ok(());
    }
    match ask_person(question)? {
        Some(true) => Ok(()),
        Some(false) => bail!("nothing was done"),
        None => bail!("nothing was done: {question} In a script, answer with --yes."),
    }
}

/// Asks the person at the terminal. `None`: there is no terminal.
pub(crate) fn ask_person(question: &str) -> Result<Option<bool>> {
    if !stdin().is_terminal() || !stderr().is_terminal() {
        return Ok(None);
    }
    eprint!("{question} [y/N] ");
    let mut answer = String::new();
    stdin().lock().read_line(&mut answer)?;
    Ok(Some(matches!(answer.trim(), "y" | "Y" | "yes")))
}

//! Asks before a secret of this machine is sent to a host that the installation named.

use anyhow::{Result, bail};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::{BufRead, IsTerminal, Write, stderr, stdin};

/// The consents that were given in this run, and the answer of `--yes`.
#[derive(Debug, Default)]
pub(crate) struct Consent {
    yes: bool,
    given: RefCell<BTreeSet<(String, String)>>,
}

impl Consent {
    /// Creates a memory without consents. With `yes`, every question is answered with yes.
    pub(crate) fn new(yes: bool) -> Self {
        Self {
            yes,
            ..Self::default()
        }
    }

    /// Succeeds if `secret` may be sent to `host`, which the installation named. Asks the person at the terminal, once
    /// for each secret and host. Without a terminal the answer is no.
    pub(crate) fn confirm_sending(&self, secret: &str, host: &str) -> Result<()> {
        let question = (secret.to_owned(), host.to_owned());
        if self.yes || self.given.borrow().contains(&question) {
            return Ok(());
        }
        if !stdin().is_terminal() || !stderr().is_terminal() {
            bail!(
                "the installation asks to send {secret} of this machine to {host}, which is not configured here: look at \
                 that host, and give --yes"
            );
        }
        eprint!("The installation names {host}. Send it {secret} of this machine? [y/N] ");
        stderr().flush()?;
        let mut answer = String::new();
        stdin().lock().read_line(&mut answer)?;
        if !matches!(answer.trim(), "y" | "Y" | "yes") {
            bail!("{secret} was not sent to {host}");
        }
        self.given.borrow_mut().insert(question);
        Ok(())
    }
}

/// Succeeds if the person at the terminal answers `question` with yes, or `yes` was given. Without a terminal the answer
/// is no.
pub(crate) fn confirm_change(yes: bool, question: &str) -> Result<()> {
    if yes {
        return Ok(());
    }
    if !stdin().is_terminal() || !stderr().is_terminal() {
        bail!("nothing was changed: give --yes where nobody can be asked");
    }
    eprint!("{question} [y/N] ");
    stderr().flush()?;
    let mut answer = String::new();
    stdin().lock().read_line(&mut answer)?;
    if !matches!(answer.trim(), "y" | "Y" | "yes") {
        bail!("nothing was changed");
    }
    Ok(())
}

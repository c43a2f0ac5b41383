//! Asks before a secret of this machine is sent to a host that the installation named.

use crate::confirm::ask_person;
use anyhow::{Result, bail};
use std::cell::RefCell;
use std::collections::BTreeSet;

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
        let asked = format!("The installation names {host}. Send it {secret} of this machine?");
        match ask_person(&asked)? {
            Some(true) => {}
            Some(false) => bail!("{secret} was not sent to {host}"),
            None => bail!(
                "the installation asks to send {secret} of this machine to {host}, which is not configured here: look at \
                 that host, and give --yes"
            ),
        }
        self.given.borrow_mut().insert(question);
        Ok(())
    }
}

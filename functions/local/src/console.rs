//! The console of this machine: its pages, and the link with which the person at the terminal signs in.

use anyhow::{Context, Result};
use axum::Router;
use recado_console::{ConsoleOptions, OneTimeLink, console_routes};
use recado_local::keyring::Keyring;
use std::io::IsTerminal;
use std::net::SocketAddr;
use std::time::Duration;

/// The time within which the link of a start signs in.
const LINK_LASTS: Duration = Duration::from_secs(30 * 60);

/// The pages of the console, and the path at which a start says that they are.
pub(crate) struct LocalConsole {
    pub(crate) routes: Router,
    path: String,
}

impl LocalConsole {
    /// Makes the pages from what `api` answers. On a terminal the path signs in once; a log must hold no way in.
    /// `has_simulator`: something is simulated, so that a person can write as a customer.
    pub(crate) fn create(api: Router, keyring: &Keyring, has_simulator: bool) -> Result<Self> {
        let token = keyring.token.expose_secret().to_owned();
        let link = std::io::stdout()
            .is_terminal()
            .then(|| OneTimeLink::generate(token, LINK_LASTS))
            .flatten();
        let (one_time_link, path) =
            link.map_or((None, "/console".to_owned()), |(link, path)| (Some(link), path));
        let options = ConsoleOptions {
            has_event_stream: true,
            push_url: None,
            has_simulator,
            has_text_search: true,
            file_origin: None,
            one_time_link,
        };
        let routes = console_routes(api, options).context("the console could not be made")?;
        Ok(Self { routes, path })
    }

    /// Prints where the console is.
    pub(crate) fn print_link(&self, address: SocketAddr) {
        println!("Console at http://{address}{}", self.path);
    }
}

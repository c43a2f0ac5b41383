//! A stand-in: what it plays, where it is, what it saw.

use super::host::Host;
use super::journal::Journal;
use super::{anthropic, dialog360, evolution, meta};
use serde::Deserialize;
use std::io;
use std::ops::Deref;
use std::sync::Arc;

/// Whom a stand-in plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Evolution API, versions 1 and 2.
    Evolution,
    /// Meta's Graph API.
    Meta,
    /// 360dialog's API for Cloud numbers.
    Dialog360,
    /// Anthropic's Messages API.
    Anthropic,
}

/// A running stand-in; stopped when dropped. What it saw and what it shall do is its [`Journal`], to which it
/// dereferences.
#[derive(Debug)]
pub struct StandIn {
    host: Host,
    journal: Arc<Journal>,
}

impl StandIn {
    /// Starts one on this port of 127.0.0.1; on any free one for 0.
    pub fn start(kind: Kind, port: u16) -> io::Result<Self> {
        Self::with_journal(kind, port, Arc::default())
    }

    /// Starts one that goes on with the journal of an earlier one: a server that was down for a while.
    pub fn with_journal(kind: Kind, port: u16, journal: Arc<Journal>) -> io::Result<Self> {
        let router = match kind {
            Kind::Evolution => evolution::router(journal.clone()),
            Kind::Meta => meta::router(journal.clone()),
            Kind::Dialog360 => dialog360::router(journal.clone()),
            Kind::Anthropic => anthropic::router(journal.clone()),
        };
        let host = Host::start(port, router)?;
        Ok(Self { host, journal })
    }

    /// Evolution, on any free port.
    ///
    /// # Panics
    /// When there is none.
    pub fn evolution() -> Self {
        Self::anywhere(Kind::Evolution)
    }

    /// Meta, on any free port.
    ///
    /// # Panics
    /// When there is none.
    pub fn meta() -> Self {
        Self::anywhere(Kind::Meta)
    }

    /// 360dialog, on any free port.
    ///
    /// # Panics
    /// When there is none.
    pub fn dialog360() -> Self {
        Self::anywhere(Kind::Dialog360)
    }

    /// Anthropic, on any free port.
    ///
    /// # Panics
    /// When there is none.
    pub fn anthropic() -> Self {
        Self::anywhere(Kind::Anthropic)
    }

    #[expect(
        clippy::expect_used,
        reason = "a test on a machine without a free port cannot go on"
    )]
    fn anywhere(kind: Kind) -> Self {
        Self::start(kind, 0).expect("a free port of 127.0.0.1")
    }

    /// Where it listens, such as `http://127.0.0.1:40001`; to be used as the base URL.
    pub fn url(&self) -> String {
        self.host.url()
    }

    /// What it saw and shall do, which may outlive it.
    pub fn journal(&self) -> &Arc<Journal> {
        &self.journal
    }
}

impl Deref for StandIn {
    type Target = Journal;

    fn deref(&self) -> &Journal {
        &self.journal
    }
}

/// One of each.
#[derive(Debug)]
pub struct StandIns {
    /// Evolution.
    pub evolution: StandIn,
    /// Meta.
    pub meta: StandIn,
    /// 360dialog.
    pub dialog360: StandIn,
    /// Anthropic.
    pub anthropic: StandIn,
}

impl StandIns {
    /// Starts one of each, on any free ports.
    ///
    /// # Panics
    /// When there are none.
    pub fn start() -> Self {
        Self {
            evolution: StandIn::evolution(),
            meta: StandIn::meta(),
            dialog360: StandIn::dialog360(),
            anthropic: StandIn::anthropic(),
        }
    }

    /// The one that plays `kind`.
    pub fn get(&self, kind: Kind) -> &StandIn {
        match kind {
            Kind::Evolution => &self.evolution,
            Kind::Meta => &self.meta,
            Kind::Dialog360 => &self.dialog360,
            Kind::Anthropic => &self.anthropic,
        }
    }

    /// All of them.
    pub fn all(&self) -> [&StandIn; 4] {
        [&self.evolution, &self.meta, &self.dialog360, &self.anthropic]
    }

    /// All wrong requests to any of them.
    pub fn violations(&self) -> Vec<super::Violation> {
        self.all()
            .into_iter()
            .flat_map(|stand_in| stand_in.violations())
            .collect()
    }
}

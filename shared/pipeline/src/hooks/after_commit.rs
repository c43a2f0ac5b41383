//! The hook for what follows from the end of an attempt.

use async_trait::async_trait;
use recado_domain::backoff::Backoff;
use recado_domain::config::InstanceConfig;
use recado_domain::contact::ContactAddress;
use recado_domain::message::Outgoing;
use recado_domain::retention::RetentionPeriod;
use recado_ports::Deps;
use recado_ports::ports::PortResult;

/// How an attempt ended.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SendEnd<'a> {
    /// The message was sent, and its record is committed next. It is completed now: nobody comes back to it after that.
    Accepted,
    /// The message is stored as sent. The attempt was made for this address.
    Stored(&'a ContactAddress),
    /// The provider refused to begin a chat. The message is given up next.
    NewChatRefused,
}

/// What holds for a message after an attempt. The default is that of all messages.
#[derive(Debug)]
pub(crate) struct SendTerms<'a> {
    /// Waits between attempts.
    pub(crate) backoff: &'a Backoff,
    /// Time for which the link to the delivery is kept.
    pub(crate) link_kept: RetentionPeriod,
    /// Why it is given up where it is not known how its attempt ended; `None`: it is sent again.
    pub(crate) made_once: Option<&'static str>,
}

/// Does what follows once it is known how an attempt ended.
#[async_trait]
pub(crate) trait AfterCommit: Send + Sync {
    /// Does what follows from `end`.
    async fn follow_end(
        &self,
        _deps: &Deps,
        _bound: &InstanceConfig,
        _message: &mut Outgoing,
        _end: SendEnd<'_>,
    ) -> PortResult<()> {
        Ok(())
    }

    /// Changes the terms of a message that has its own.
    fn set_terms<'a>(
        &self,
        _deps: &'a Deps,
        _bound: &InstanceConfig,
        _message: &Outgoing,
        _terms: &mut SendTerms<'a>,
    ) {
    }
}

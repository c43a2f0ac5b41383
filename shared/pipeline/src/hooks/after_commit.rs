//! The hook for what follows from the end of an attempt.

use crate::Deps;
use crate::steps::sending::SendContext;
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::backoff::Backoff;
use recado_domain::config::InstanceConfig;
use recado_domain::contact::ContactAddress;
use recado_domain::conversation::Conversation;
use recado_domain::message::Outgoing;
use recado_domain::retention::RetentionPeriod;
use recado_ports::ports::{PortResult, WriteOutcome};

/// Rules for a message after an attempt. The default is that of all messages.
#[derive(Debug)]
pub struct SendTerms<'a> {
    /// Waits between attempts.
    pub backoff: &'a Backoff,
    /// Time for which the link to the delivery is kept.
    pub link_kept: RetentionPeriod,
    /// Why it is given up where it is not known how its attempt ended; `None`: it is sent again.
    pub made_once: Option<&'static str>,
}

/// Does what follows once it is known how an attempt ended.
#[async_trait]
pub trait AfterCommit: Send + Sync {
    /// Completes the record of a message that was sent, before it is committed. Nobody comes back to the message after that.
    async fn complete_sent_message(&self, _deps: &Deps, _message: &mut Outgoing) -> PortResult<()> {
        Ok(())
    }

    /// Does what follows once a message is stored as sent. `sent_to` is the address of the attempt.
    async fn message_was_sent(
        &self,
        _deps: &Deps,
        _bound: &InstanceConfig,
        _message: &Outgoing,
        _sent_to: &ContactAddress,
    ) -> PortResult<()> {
        Ok(())
    }

    /// Does what follows once an attempt is stored that the provider accepted. `began_at` is the time of its claim.
    async fn attempt_was_accepted(
        &self,
        _deps: &Deps,
        _context: SendContext<'_>,
        _message: &Outgoing,
        _began_at: Timestamp,
    ) -> PortResult<()> {
        Ok(())
    }

    /// Ends a message that is not to leave any more, in the feature's own way. `None`: it is given up or cancelled.
    async fn end_unsent_message(
        &self,
        _deps: &Deps,
        _message: &Outgoing,
        _why: &str,
    ) -> PortResult<Option<WriteOutcome>> {
        Ok(None)
    }

    /// Changes the conversation whose queued reply is cancelled with the next write, because people have the conversation.
    async fn reply_was_cancelled(
        &self,
        _deps: &Deps,
        _conversation: &mut Conversation,
        _reply: &Outgoing,
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

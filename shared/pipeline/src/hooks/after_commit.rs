//! The hook around the commit that stores how a send ended.

use async_trait::async_trait;
use recado_domain::config::InstanceConfig;
use recado_domain::contact::ContactAddress;
use recado_domain::message::Outgoing;
use recado_ports::Deps;
use recado_ports::ports::PortResult;

/// Does what follows once it is known how a send ended.
#[async_trait]
pub(crate) trait AfterCommit: Send + Sync {
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

    /// Does what follows where the provider refused to begin a chat, before the message is given up.
    async fn new_chat_was_refused(
        &self,
        _deps: &Deps,
        _bound: &InstanceConfig,
        _message: &Outgoing,
    ) -> PortResult<()> {
        Ok(())
    }
}

//! Records a reaction, an edit or a deletion that is sent with the message that it is about.

use crate::hooks::after_commit::AfterCommit;
use crate::steps::message_changes::record_change;
use async_trait::async_trait;
use recado_domain::message::Outgoing;
use recado_ports::Deps;
use recado_ports::ports::PortResult;

/// Promise: a change that the business sends is shown with its message.
///
/// Test: `tests/kit/tests/use_cases/reactions.rs#a_reaction_of_the_business_is_shown_whether_it_was_ordered_or_made_on_the_phone`.
pub(crate) struct SentChange;

#[async_trait]
impl AfterCommit for SentChange {
    async fn complete_sent_message(&self, deps: &Deps, message: &mut Outgoing) -> PortResult<()> {
        if message.content.changes_target() {
            Box::pin(record_change(deps, &message.to_record())).await?;
        }
        Ok(())
    }
}

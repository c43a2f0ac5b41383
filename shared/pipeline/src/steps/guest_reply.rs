//! Applies a contact's answer to the invitation that its conversation notes. A conversation that notes none costs nothing.

use crate::Deps;
use crate::steps::guests::mark_pages_changed;
use jiff::Timestamp;
use recado_domain::conversation::Conversation;
use recado_domain::ids::Ordinal;
use recado_domain::invitations::{GuestReply, InvitedGuest, recognize_answer};
use recado_ports::ports::{GuestOutcome, InvitationRecords, PortError, PortResult};
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};

/// Applies the text of a contact's message, written at `at`, to the guest as whom the contact was invited. To be called before
/// the message is stored: after a crash in between, the message is applied again, and the guest stays as it is.
pub(crate) async fn apply_guest_reply(
    deps: &impl Deps,
    conversation: &Conversation,
    ordinal: Ordinal,
    (text, at): (&str, Timestamp),
) -> PortResult<()> {
    let Some(invited) = &conversation.invited else {
        return Ok(());
    };
    let is_first = invited.ordinal.next_ordinal() == ordinal;
    let Some(answer) = recognize_answer(text, is_first) else {
        return Ok(());
    };
    let session = conversation.newest_session().map(|session| session.id);
    let reply = GuestReply { answer, at, session };
    store_reply(deps, conversation, invited, &reply).await
}

async fn store_reply(
    deps: &impl Deps,
    conversation: &Conversation,
    invited: &InvitedGuest,
    reply: &GuestReply,
) -> PortResult<()> {
    retry_lost_write(PortError::contended("guest"), (), |()| async {
        let found = deps
            .store()
            .find_guest(&conversation.tenant, &invited.occasion, &invited.guest)
            .await?;
        let Some(mut guest) = found else {
            return Ok(WriteAttempt::Done(()));
        };
        if !guest.apply_reply(reply.clone()) {
            // A crash may have come between the guest and the mark.
            if guest.reply.as_ref() == Some(reply) {
                mark_pages_changed(deps, &guest).await?;
            }
            return Ok(WriteAttempt::Done(()));
        }
        match deps.store().save_guest(&guest).await? {
            GuestOutcome::Written => {
                tracing::info!(occasion = %guest.occasion, status = guest.status.as_str(), "a guest answered");
                mark_pages_changed(deps, &guest).await.map(WriteAttempt::Done)
            }
            GuestOutcome::Conflict => Ok(WriteAttempt::Lost(())),
            // The number of a stored guest never changes.
            GuestOutcome::PhoneTaken(_) => Ok(WriteAttempt::Done(())),
        }
    })
    .await
}

//! Applies a contact's answer to the invitation that its conversation notes. Where it notes none, a clear answer is that of the guest
//! with the contact's number, who may be invited by e-mail or in person. A message that answers nothing costs nothing. A guest or an
//! occasion that cannot be read is passed over: the contact is answered all the same.

use crate::guests::{find_guests, mark_pages_changed};
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::config::Tenant;
use recado_domain::contact::{ChatKind, ContactAddress};
use recado_domain::content::Content;
use recado_domain::conversation::Conversation;
use recado_domain::ids::{GuestId, OccasionId, Ordinal};
use recado_domain::invitations::{Guest, GuestReply, GuestStatus, recognize_answer};
use recado_domain::message::Message;
use recado_pipeline::Deps;
use recado_pipeline::hooks::inbound_rule::InboundRule;
use recado_pipeline::steps::inbound_arrival::InboundArrival;
use recado_pipeline::steps::unreadable::pass_over_unreadable;
use recado_ports::ports::{PortError, PortResult};
use recado_ports::records::guests::{GuestOutcome, find_guest, save_guest};
use recado_ports::records::occasions::find_occasion;
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};

/// Confirms or declines the guest as whom the contact was invited, if the contact's message answers the invitation.
///
/// Test: `tests/kit/tests/use_cases/invitations.rs#an_answer_confirms_the_guest_with_the_session_and_a_later_one_declines`.
#[derive(Debug)]
pub struct GuestReplyRule;

#[async_trait]
impl InboundRule for GuestReplyRule {
    async fn apply_message(
        &self,
        deps: &Deps,
        arrival: &InboundArrival<'_>,
        conversation: &mut Conversation,
        message: &mut Message,
    ) -> PortResult<()> {
        let Some(text) = answer_text(&message.content).filter(|_| arrival.is_of_contact()) else {
            return Ok(());
        };
        let people = (&arrival.bound.tenant, &*conversation);
        apply_guest_reply(deps, people, message.ordinal, (text, message.written_at)).await
    }
}

/// Returns the words by which a message may answer an invitation: its text, or the button that was chosen.
fn answer_text(content: &Content) -> Option<&str> {
    match content {
        Content::Text { text } => Some(text),
        Content::Choice { title, .. } => Some(title),
        _ => None,
    }
}

/// Applies the text of a contact's message, written at `at`, to the guest as whom the contact was invited. To be called before
/// the message is stored: after a crash in between, the message is applied again, and the guest stays as it is.
async fn apply_guest_reply(
    deps: &Deps,
    (tenant, conversation): (&Tenant, &Conversation),
    ordinal: Ordinal,
    (text, at): (&str, Timestamp),
) -> PortResult<()> {
    let noted = conversation.features.invited.as_ref();
    let is_first = noted.is_some_and(|invited| invited.ordinal.next_ordinal() == ordinal);
    let Some(answer) = recognize_answer(text, is_first) else {
        return Ok(());
    };
    let session = conversation.newest_session().map(|session| session.id);
    let reply = GuestReply { answer, at, session };
    if let Some(invited) = noted {
        return store_reply(deps, conversation, (&invited.occasion, &invited.guest), &reply).await;
    }
    match find_only_guest(deps, tenant, conversation).await? {
        Some(guest) => store_reply(deps, conversation, (&guest.occasion, &guest.id), &reply).await,
        None => Ok(()),
    }
}

/// Returns the guest with the contact's number whom an answer can mean: of the only occasion to come, or the only pending one of
/// several. `None`: there is none, or more than one.
async fn find_only_guest(
    deps: &Deps,
    tenant: &Tenant,
    conversation: &Conversation,
) -> PortResult<Option<Guest>> {
    if conversation.address.chat_kind() != ChatKind::Direct {
        return Ok(None);
    }
    let number = conversation
        .contact
        .phone
        .as_deref()
        .and_then(ContactAddress::parse);
    let addresses = number.into_iter().chain([conversation.address.clone()]).collect();
    let mut coming = Vec::new();
    for guest in find_guests(deps, &conversation.tenant, &addresses).await? {
        // One that nobody configured has no date.
        let found = find_occasion(deps.store(), &guest.tenant, &guest.occasion).await;
        let found = pass_over_unreadable(found)?;
        let is_over = found.is_some_and(|occasion| {
            let begins_at = occasion.begins_at(tenant.resolve_time_zone());
            occasion.cancelled || begins_at.is_some_and(|at| at <= deps.system().now())
        });
        if !is_over {
            coming.push(guest);
        }
    }
    if coming.len() > 1 {
        coming.retain(|guest| guest.status == GuestStatus::Pending);
    }
    Ok(coming.pop().filter(|_| coming.is_empty()))
}

async fn store_reply(
    deps: &Deps,
    conversation: &Conversation,
    (occasion, guest): (&OccasionId, &GuestId),
    reply: &GuestReply,
) -> PortResult<()> {
    retry_lost_write(PortError::contended("guest"), (), |()| async {
        let found = find_guest(deps.store(), &conversation.tenant, occasion, guest).await;
        let Some(mut found) = pass_over_unreadable(found)? else {
            return Ok(WriteAttempt::Done(()));
        };
        if !found.record.apply_reply(reply.clone()) {
            // A crash may have come between the guest and the mark.
            if found.record.reply.as_ref() == Some(reply) {
                mark_pages_changed(deps, &found.record).await?;
            }
            return Ok(WriteAttempt::Done(()));
        }
        match save_guest(deps.store(), &mut found).await? {
            GuestOutcome::Written => {
                let guest = &found.record;
                tracing::info!(occasion = %guest.occasion, status = guest.status.as_str(), "a guest answered");
                mark_pages_changed(deps, guest).await.map(WriteAttempt::Done)
            }
            GuestOutcome::Conflict => Ok(WriteAttempt::Lost(())),
            // The number of a stored guest never changes.
            GuestOutcome::PhoneTaken(_) => Ok(WriteAttempt::Done(())),
        }
    })
    .await
}

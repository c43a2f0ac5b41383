//! What is stored of a person beside its messages: a guest with invitations and a place in a batch, an opt-out, what a tool
//! booked, notes of the agent and of a person for people, a label.

use crate::builders::{Fixture, correlation};
use crate::ports::succeed;
use crate::stored_batch::store_batch;
use crate::stored_effect::store_booking;
use crate::stored_guest::{GivenGuest, store_invited_guest, store_opt_out};
use jiff::Timestamp;
use recado_domain::conversation::{Conversation, ConversationLabel, HandOverNote};
use recado_domain::effects::EntryEnd;
use recado_domain::email::{Email, EmailAddress, EmailOutbox, Mailbox};
use recado_domain::ids::{ConversationId, EmailSenderId, TokenName};
use recado_domain::invitations::{
    Invitation, InvitationChannel, InvitationState, write_batch_id, write_invitation_id,
};
use recado_ports::ports::{Store, WriteOutcome};
use recado_ports::records::invitations::{InvitationOutcome, begin_invitation};
use recado_ports::table::Versioned;

/// A person of whom something is stored beside its messages.
#[derive(Debug, Clone, Copy)]
pub struct PersonBeside<'a> {
    /// The digits of the number.
    pub phone: &'a str,
    /// The name.
    pub name: &'a str,
    /// The e-mail address.
    pub email: &'a str,
    /// The end of every text that is made for the person.
    pub mark: &'a str,
    /// The calendar in which something is booked.
    pub calendar: &'a str,
}

/// Stores what there is of a person beside its messages, the newest of which are in `conversation`.
pub async fn store_beside<S: Store + Clone + 'static>(
    store: &S,
    fixture: &Fixture,
    conversation: &ConversationId,
    person: PersonBeside<'_>,
    now: Timestamp,
) {
    let PersonBeside { phone, mark, .. } = person;
    let id = format!("hospede-{mark}");
    let given = GivenGuest {
        id: Some(&id),
        occasion: "party",
        phone: Some(phone),
        name: person.name,
        email: person.email,
    };
    let (guest, invitation) = store_invited_guest(store, fixture, given, now).await;
    let mut email = Versioned::new(invite_by_email(&invitation, person, now));
    let begun = succeed(begin_invitation(store, &mut email, &[], now)).await;
    assert_eq!(begun, InvitationOutcome::Begun);
    let of = (&guest.tenant, &guest.occasion);
    let batch = write_batch_id(now, getrandom::u64().unwrap());
    store_batch(store, batch, of, std::slice::from_ref(&guest.id), "lote", now).await;
    store_opt_out(store, fixture, phone, now).await;
    let stored = succeed(store.find_conversation(conversation)).await.unwrap();
    leave_note(store, stored.clone(), mark, now).await;
    let booked = format!("reserva-{mark}");
    let place = (person.calendar, booked.as_str());
    store_booking(store, &stored, place, Some(EntryEnd::Done), now).await;
}

/// Makes an invitation by e-mail that waits to be sent.
fn invite_by_email(by_message: &Invitation, person: PersonBeside<'_>, now: Timestamp) -> Invitation {
    let id = write_invitation_id(now, getrandom::u64().unwrap());
    let email = Email {
        id: id.to_string(),
        to: EmailAddress::parse(person.email).unwrap(),
        from: Mailbox::parse("festa@clinica.example").unwrap(),
        reply_to: None,
        subject: format!("assunto-{}", person.mark),
        text: "Venha".to_owned(),
        html: None,
        unsubscribe_url: None,
    };
    let sender = EmailSenderId::parse("mail").unwrap();
    let outbox = EmailOutbox::queue_email(sender, email, correlation(), now);
    Invitation {
        id,
        channel: InvitationChannel::Email,
        state: InvitationState::Email {
            outbox: Box::new(outbox),
        },
        ..by_message.clone()
    }
}

/// The agent handed the conversation over with a note, and has a journal. A person wrote a note and gave a label.
async fn leave_note<S: Store + Clone + 'static>(
    store: &S,
    mut conversation: Conversation,
    mark: &str,
    now: Timestamp,
) {
    conversation.people.hand_over_note = Some(HandOverNote {
        text: format!("nota-{mark}"),
        at: now,
    });
    conversation.features.has_journal = true;
    let desk = TokenName::parse("desk").unwrap();
    let note = conversation.add_person_note(&desk, &format!("anotado-{mark}"), now);
    note.unwrap();
    let label = ConversationLabel::parse("cliente").unwrap();
    conversation.change_labels(&[label].into(), &[].into()).unwrap();
    conversation.rev += 1;
    let written = succeed(store.update_conversation(&conversation, &[])).await;
    assert_eq!(written, WriteOutcome::Written);
}

//! The records that may tell of a person.

use super::SampledPerson;
use crate::builders::{correlation, far_ahead, fresh, identity_key, nonce};
use crate::stored_effect::make_booking;
use crate::stored_guest::{GivenGuest, make_guest, make_invitation, make_opt_out};
use recado_domain::contact::ContactAddress;
use recado_domain::content::Content;
use recado_domain::dead_letter::{DeadLetter, DeadLetterContent};
use recado_domain::effects::{EntryEnd, Journal, JournalChange};
use recado_domain::ids::{IdempotencyKey, MessageId, TokenName};
use recado_domain::invitations::{
    BatchChunk, Guest, Invitation, InvitationState, PlannedMessage, split_recipients,
};
use recado_domain::moving::{HeldKey, MovedAlias, MovedCell};
use recado_domain::opt_out::OptOut;
use recado_domain::options::SendOptions;
use recado_domain::scheduled::{ScheduledId, ScheduledMessage, ScheduledState};
use recado_domain::turn_places::TurnPlaces;
use std::num::NonZeroU32;

impl SampledPerson {
    fn address(&self) -> ContactAddress {
        ContactAddress::parse(&format!("{}@s.whatsapp.net", self.phone)).unwrap()
    }

    pub(super) fn make_turn_places(&self) -> TurnPlaces {
        let mut places = TurnPlaces::new(self.tenant().clone());
        let turn = (&self.conversation, &nonce());
        places.ask_for_place(NonZeroU32::MAX, turn, self.now, far_ahead());
        places
    }

    /// The number of the person who is known by the identity.
    pub(super) fn make_alias(&self) -> MovedAlias {
        MovedAlias {
            thread: self.fixture.thread(),
            address: self.address(),
        }
    }

    pub(super) fn make_client_key(&self) -> HeldKey {
        let key = IdempotencyKey::parse(self.client_key).unwrap();
        HeldKey {
            tenant: Some(self.tenant().clone()),
            scope: self.fixture.instance().to_string(),
            key: identity_key().hash_client_key(&key),
            request_hash: "0".repeat(64),
            message: MessageId::parse(&format!("{}.1", self.conversation)).unwrap(),
            expires: far_ahead(),
        }
    }

    /// Makes the journal of the identity's thread with a booking, and the cells that it takes.
    pub(super) fn make_journal(&self) -> (Journal, JournalChange) {
        let calendar = format!("agenda-{}", self.mark);
        let place = (calendar.as_str(), self.mark);
        make_booking(
            &self.fixture.conversation(1),
            place,
            Some(EntryEnd::Done),
            self.now,
        )
    }

    pub(super) fn make_cell(&self) -> MovedCell {
        let held = self.make_journal().1.takes.remove(0);
        MovedCell::new(self.tenant().clone(), held)
    }

    /// Makes an invitation that is to be sent later.
    pub(super) fn make_scheduled(&self) -> ScheduledMessage {
        let (digits, invitation) = (fresh(""), self.make_invitation());
        ScheduledMessage {
            id: ScheduledId::parse(&format!("s_{0}{0}", &digits[1..])).unwrap(),
            tenant: self.tenant().clone(),
            instance: self.fixture.instance().clone(),
            to: self.address(),
            content: Content::from_text(self.mark),
            options: SendOptions::default(),
            metadata: invitation.metadata.clone(),
            send_at: far_ahead(),
            created_at: self.now,
            correlation: correlation(),
            by: Some(TokenName::installation()),
            idempotency_key: None,
            invitation: Some(invitation.describe_sent(Some(self.make_batch().id), None, None)),
            reminds_of: None,
            restored_from: None,
            state: ScheduledState::Pending,
        }
    }

    pub(super) fn make_guest(&self) -> Guest {
        let (id, email) = (
            format!("convidado-{}", self.mark),
            format!("{}@correio.example", self.mark),
        );
        let given = GivenGuest {
            id: Some(&id),
            occasion: self.own,
            phone: Some(self.phone),
            name: self.mark,
            email: &email,
        };
        make_guest(&self.fixture, given, self.now)
    }

    pub(super) fn make_invitation(&self) -> Invitation {
        let planned = PlannedMessage {
            instance: self.fixture.instance().clone(),
            to: self.phone.to_owned(),
            content: Content::from_text(self.mark),
            send_at: None,
            batch: Some(self.make_batch().id),
            useful_until: None,
            by: TokenName::installation(),
            correlation: correlation(),
            restored_from: None,
        };
        Invitation {
            state: InvitationState::Taken {
                planned: Some(Box::new(planned)),
            },
            ..make_invitation(&self.make_guest(), self.now)
        }
    }

    pub(super) fn make_chunk(&self) -> BatchChunk {
        split_recipients(&self.make_batch(), &[self.make_guest().id]).remove(0)
    }

    /// Makes the dead letter of a queue message that nobody can read.
    pub(super) fn make_dead_letter(&self) -> DeadLetter {
        DeadLetter {
            id: fresh("letter"),
            what: DeadLetterContent::Unreadable {
                body: format!("{} {}", self.phone, self.mark),
            },
            ..self.fixture.dead_letter()
        }
    }

    pub(super) fn make_opt_out(&self) -> OptOut {
        make_opt_out(&self.fixture, self.phone, self.now)
    }
}

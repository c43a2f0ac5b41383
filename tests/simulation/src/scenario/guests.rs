//! Stories of guests who are invited by WhatsApp and by e-mail: carriers that hang, clients that repeat and race, guests who want no more,
//! quiet hours and a cap.

use super::batches::STOP_WORD;
use super::story::Story;
use super::teller::Teller;
use crate::fake_world::{MailBehaviour, SendBehaviour};
use crate::plan::address;
use crate::plan::deliveries::{capped_rules, quiet_rules};
use crate::queue::WorkQueues;
use crate::simulator::{InvitationOrder, ToldInvitation, email_sender};
use recado_domain::config::InstanceConfig;
use recado_domain::invitations::InvitationChannel;
use recado_pipeline::ports::Store;
use std::fmt::Debug;

/// Number of guests of each story.
const GUESTS: usize = 3;

/// Number of requests of a client that does not give up.
const TRIES: usize = 20;

/// By WhatsApp, and by e-mail.
const WHATSAPP: InvitationChannel = InvitationChannel::Whatsapp;
const EMAIL: InvitationChannel = InvitationChannel::Email;

impl Story {
    /// Returns `true` for a story of guests who are invited.
    pub(super) fn invites(self) -> bool {
        matches!(
            self,
            Self::Mailed
                | Self::MailedOnce
                | Self::MailedStops
                | Self::InvitedAgain
                | Self::InvitedRaced
                | Self::InvitedQuiet
                | Self::InvitedCapped
        )
    }

    /// Gives the tenant its sender of e-mails and its rules for deliveries.
    pub(super) fn equip_tenant(self, bound: &mut InstanceConfig) {
        if !self.invites() {
            return;
        }
        bound.tenant.email_senders = vec![email_sender(bound, self != Self::MailedOnce)];
        match self {
            Self::InvitedQuiet => bound.tenant.deliveries = quiet_rules(1, 6),
            Self::InvitedCapped => bound.tenant.deliveries = capped_rules(1),
            _ => {}
        }
    }
}

impl<S, Q> Teller<S, Q>
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    /// Clients invite guests, and what comes between is the story's.
    pub(super) fn invites(&self, story: Story) {
        let numbers: Vec<_> = (0..GUESTS).map(|number| address(0, number)).collect();
        self.sim.prepare_guests(0, &numbers);
        match story {
            Story::Mailed => self.mailed(),
            Story::MailedOnce => self.mailed_once(),
            Story::MailedStops => self.mailed_stops(),
            Story::InvitedAgain => self.invited_again(),
            Story::InvitedRaced => self.invited_raced(),
            Story::InvitedQuiet => self.invited_quiet(),
            _ => self.invited_capped(),
        }
    }

    /// A client invites a guest at a time, in milliseconds since the start.
    fn invites_at(&self, at_ms: i64, order: InvitationOrder, tries: usize) {
        let tell = self.clone();
        self.happens(async move {
            tell.sim.simulation().sleep(at_ms).await;
            tell.sim.invite_guest(order, tries).await;
        });
    }

    /// The carrier puts an e-mail off and refuses one for good; its answer to another comes too late, and it knows the repeat again.
    fn mailed(&self) {
        use MailBehaviour::{Accepted, Late, PutOff, Refused, Throttled, Unheard};
        self.sim
            .fake_world
            .let_mails_end(&[PutOff, Unheard, Accepted, Throttled, Refused, Late]);
        for guest in 0..GUESTS {
            let at_ms = if guest == 0 { 0 } else { 60_000 };
            self.invites_at(at_ms, order(guest, EMAIL, "v", "mail"), TRIES);
        }
    }

    /// The answer of a mail server is lost, twice: the e-mail of one guest had arrived. The client invites both again, by each channel.
    fn mailed_once(&self) {
        use MailBehaviour::{Lost, Unheard};
        self.sim.fake_world.let_mails_end(&[Unheard, Lost]);
        for guest in 0..2 {
            self.invites_at(0, order(guest, EMAIL, "v", "first"), TRIES);
            let again = order(guest, EMAIL, "again", "second");
            self.invites_at(180_000, again, TRIES);
            let other_way = order(guest, WHATSAPP, "again", "third");
            self.invites_at(240_000, other_way, TRIES);
        }
    }

    /// Two guests want no more before the second attempt: one follows the link of the e-mail, whose answer was lost, and one writes so by
    /// WhatsApp.
    fn mailed_stops(&self) {
        use MailBehaviour::{PutOff, Unheard};
        self.sim
            .fake_world
            .let_mails_end(&[Unheard, PutOff, PutOff, PutOff, PutOff]);
        self.invites_at(0, order(0, EMAIL, "v", "mail"), TRIES);
        self.invites_at(20_000, order(1, EMAIL, "v", "mail"), TRIES);
        self.says_to(&address(0, 1), STOP_WORD, false, 27_000, 27_000);
        let tell = self.clone();
        self.happens(async move {
            tell.sim.simulation().sleep(8_000).await;
            tell.sim.follow_link(0).await;
        });
    }

    /// Nobody explains any attempt, and the last one arrives; the client invites again, by each channel, when the first invitation was
    /// given up.
    fn invited_again(&self) {
        self.on_line(|line| {
            line.remembers = false;
            line.script.extend([SendBehaviour::Unexplained; 4]);
            line.script.push_back(SendBehaviour::AcceptedThenFailed);
        });
        self.invites_at(0, order(0, WHATSAPP, "v", "first"), TRIES);
        self.invites_at(900_000, order(0, WHATSAPP, "again", "second"), TRIES);
        self.invites_at(920_000, order(0, EMAIL, "again", "third"), TRIES);
    }

    /// Three clients invite a guest at once, with other facts and with the same ones by e-mail. A client gives up, and another one
    /// invites its guest with other facts.
    fn invited_raced(&self) {
        self.invites_at(0, order(0, WHATSAPP, "here", "first"), TRIES);
        self.invites_at(0, order(0, WHATSAPP, "there", "second"), TRIES);
        self.invites_at(0, order(0, EMAIL, "here", "third"), TRIES);
        self.invites_at(20_000, order(1, WHATSAPP, "here", "fourth"), 1);
        self.invites_at(60_000, order(1, WHATSAPP, "there", "fifth"), TRIES);
        let tell = self.clone();
        self.happens(async move {
            let told = tell
                .sim
                .invite_guest(order(2, WHATSAPP, "v", "sixth"), TRIES)
                .await;
            tell.sim.simulation().sleep(30_000).await;
            let again = tell
                .sim
                .invite_guest(order(2, WHATSAPP, "v", "sixth"), TRIES)
                .await;
            let is_same = matches!(told, Some(ToldInvitation::Taken(_))) && told == again;
            if !is_same && told.is_some() && again.is_some() {
                let what = format!("one request was answered {told:?} and {again:?}");
                tell.sim.common.broken(what);
            }
        });
    }

    /// Providers fail until quiet hours have begun.
    fn invited_quiet(&self) {
        self.on_line(|line| line.script.extend([SendBehaviour::Failed; 3]));
        self.sim.fake_world.let_mails_end(&[MailBehaviour::PutOff; 3]);
        self.invites_at(55_000, order(0, WHATSAPP, "v", "first"), TRIES);
        self.invites_at(55_000, order(1, EMAIL, "v", "first"), TRIES);
    }

    /// Two guests are invited by two templates, one of them by two channels.
    fn invited_capped(&self) {
        self.invites_at(0, order(0, WHATSAPP, "v", "first"), TRIES);
        self.invites_at(0, order(1, EMAIL, "v", "first"), TRIES);
        for guest in 0..2 {
            let other = InvitationOrder {
                template: "two",
                ..order(guest, WHATSAPP, "v", "second")
            };
            self.invites_at(20_000, other, TRIES);
        }
    }
}

/// An order of the first template. The key is the guest's own.
fn order(guest: usize, channel: InvitationChannel, note: &str, key: &str) -> InvitationOrder {
    InvitationOrder {
        guest,
        template: "one",
        channel,
        note: note.to_owned(),
        key: format!("{key}-{guest}"),
    }
}

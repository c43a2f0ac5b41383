//! Guests who are invited by WhatsApp and by e-mail: clients repeat themselves, race and give up, and guests end their invitations by a
//! word or by a link.

use super::Simulator;
use super::people::REQUEST_PATIENCE_MS;
use crate::fault_injector::FaultInjector;
use crate::plan::identity_key;
use crate::queue::WorkQueues;
use futures::executor::block_on;
use recado_domain::access::Caller;
use recado_domain::config::{EmailSender, EmailSenderKind, InstanceConfig};
use recado_domain::contact::ContactAddress;
use recado_domain::email::{EmailAddress, Mailbox};
use recado_domain::ids::{
    EmailSenderId, GuestId, IdempotencyKey, InstanceId, InvitationId, InvitationTemplateName, OccasionId,
};
use recado_domain::invitations::{
    GuestRow, InvitationChannel, InvitationState, InvitationTemplate, Occasion, TemplateValues,
};
use recado_domain::opt_out::{RecipientAddress, UnsubscribeToken};
use recado_invitations::{InvitationError, InvitationRequest, NamedGuest};
use recado_pipeline::ports::Store;
use recado_pipeline::random_id;
use recado_pipeline::steps::invited_tenant::TenantChoiceError;
use recado_pipeline::table::put_record;
use recado_sends::DeliverError;
use std::fmt::Debug;
use std::sync::Arc;

/// A template that differs from another by its name alone.
pub const TEMPLATES: [&str; 2] = ["one", "two"];

/// A guest of an instance's occasion, whom clients invite by WhatsApp and by e-mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FakeGuest {
    /// By which instance.
    pub instance: InstanceId,
    /// The occasion.
    pub occasion: OccasionId,
    /// Address of the guest's phone.
    pub to: ContactAddress,
    /// The guest's mailbox.
    pub mailbox: EmailAddress,
    /// The name, which no other guest has.
    pub name: String,
}

impl FakeGuest {
    /// The words by which each invitation with this template begins: its meaning.
    pub fn meaning(&self, template: &str) -> String {
        format!("invite {template} {}", self.name)
    }
}

/// A client's request to invite a guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvitationOrder {
    /// Place of the guest in the ledger.
    pub guest: usize,
    /// The template.
    pub template: &'static str,
    /// The channel.
    pub channel: InvitationChannel,
    /// The facts that the request gives: the last word of the invitation.
    pub note: String,
    /// The client's idempotency key.
    pub key: String,
}

/// The answer to a client who invites a guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToldInvitation {
    /// The invitation was taken.
    Taken(InvitationId),
    /// Another one of the same meaning went before.
    Duplicate,
    /// The invitation cannot be sent.
    Refused,
}

/// A request to invite a guest, as its client knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientInvitation {
    /// The request.
    pub order: InvitationOrder,
    /// The words of the invitation.
    pub words: String,
    /// Time of the first request, in milliseconds since the start.
    pub begun_ms: i64,
    /// The answer, if one came.
    pub told: Option<ToldInvitation>,
}

/// A guest who followed the link that ends invitations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FollowedLink {
    /// Place of the guest in the ledger.
    pub guest: usize,
    /// Time at which it was followed first, in milliseconds since the start.
    pub begun_ms: i64,
    /// Time at which the guest was told that no more are sent, in milliseconds since the start.
    pub told_ms: Option<i64>,
}

/// All that concerns the guests.
#[derive(Debug, Default)]
pub struct GuestLedger {
    /// The guests.
    pub guests: Vec<FakeGuest>,
    /// The requests of clients, in the order in which they began.
    pub orders: Vec<ClientInvitation>,
    /// The links that were followed.
    pub links: Vec<FollowedLink>,
}

/// A tenant's sender of e-mails of a carrier that recognizes repeats, or of a mail server, which does not.
pub fn email_sender(bound: &InstanceConfig, knows_again: bool) -> EmailSender {
    let tenant = &bound.tenant.id;
    let credential = format!("ssm:/recado/instances/{tenant}/mail");
    EmailSender {
        id: EmailSenderId::parse("mail").expect("a name"),
        kind: if knows_again {
            EmailSenderKind::Resend
        } else {
            EmailSenderKind::Smtp
        },
        from: Mailbox::parse("Party <party@host.example>").expect("a mailbox"),
        reply_to: None,
        credential: knows_again.then(|| credential.try_into().expect("a reference")),
        server: (!knows_again).then(|| "smtps://mail.host.example".to_owned()),
        user: None,
    }
}

fn guest_id(name: &str) -> GuestId {
    GuestId::parse(name).expect("an id")
}

fn template_of(bound: &InstanceConfig, name: &str, channel: InvitationChannel) -> InvitationTemplate {
    let is_mail = channel == InvitationChannel::Email;
    InvitationTemplate {
        name: InvitationTemplateName::parse(name).expect("a name"),
        tenant: bound.tenant.id.clone(),
        channel,
        language: None,
        subject: is_mail.then(|| "{{occasion_name}}".to_owned()),
        html: None,
        text: Some(format!("invite {name} {{{{guest_name}}}} {{{{note}}}}")),
        approved: None,
    }
}

impl<S, Q> Simulator<S, Q>
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    /// Stores an occasion of an instance with guests who have these numbers, and its templates.
    pub fn prepare_guests(&self, line: usize, numbers: &[ContactAddress]) {
        let bound = &self.bounds[line];
        let occasion = Occasion {
            id: OccasionId::parse(&format!("feast-{line}")).expect("an id"),
            tenant: bound.tenant.id.clone(),
            name: Some("feast".to_owned()),
            instance: bound.instance.id.clone(),
            starts_at: None,
            time_zone: None,
            language: None,
            cancelled: false,
            reminders: Vec::new(),
        };
        block_on(put_record(&self.store, &occasion)).expect("the occasion is kept");
        for name in TEMPLATES {
            for channel in [InvitationChannel::Whatsapp, InvitationChannel::Email] {
                let template = template_of(bound, name, channel);
                block_on(put_record(&self.store, &template)).expect("the template is kept");
            }
        }
        let known = self.ledger().guests.guests.len();
        let guests = numbers.iter().enumerate().map(|(place, to)| {
            let name = format!("h{}", known + place);
            FakeGuest {
                instance: bound.instance.id.clone(),
                occasion: occasion.id.clone(),
                to: to.clone(),
                mailbox: EmailAddress::parse(&format!("{name}@guests.example")).expect("an address"),
                name,
            }
        });
        let guests: Vec<FakeGuest> = guests.collect();
        let row = |guest: &FakeGuest| GuestRow {
            id: Some(guest_id(&guest.name)),
            name: Some(guest.name.clone()),
            phone: guest.to.phone_number(),
            email: Some(guest.mailbox.as_str().to_owned()),
            ..GuestRow::default()
        };
        let rows = guests.iter().enumerate();
        let rows = rows.map(|(place, guest)| (place + 1, Ok(row(guest)))).collect();
        let (deps, caller) = (self.calm_deps(), Caller::installation());
        let tenant = Some(&bound.tenant.id);
        let added = block_on(recado_occasions::add_guests(
            &deps,
            &caller,
            tenant,
            &occasion.id,
            rows,
        ));
        assert_eq!(added.expect("the guests are kept").added, guests.len());
        self.ledger().guests.guests.extend(guests);
    }

    /// A client invites a guest, again until that is answered or it has asked `tries` times. Returns the answer.
    pub async fn invite_guest(
        self: &Arc<Self>,
        order: InvitationOrder,
        tries: usize,
    ) -> Option<ToldInvitation> {
        let guest = self.ledger().guests.guests.get(order.guest).cloned()?;
        let invitation = ClientInvitation {
            words: format!("{} {}", guest.meaning(order.template), order.note),
            order: order.clone(),
            begun_ms: self.simulation().elapsed_ms(),
            told: None,
        };
        let place = {
            let mut ledger = self.ledger();
            ledger.guests.orders.push(invitation);
            ledger.guests.orders.len() - 1
        };
        for nth in 0..tries {
            if nth > 0 {
                self.simulation().sleep(8_000).await;
            }
            if let Some(told) = self.invite_guest_once(&guest, &order).await {
                self.common.note(|| format!("a client is told {told:?}"));
                self.ledger().guests.orders[place].told = Some(told.clone());
                return Some(told);
            }
        }
        None
    }

    async fn invite_guest_once(
        self: &Arc<Self>,
        guest: &FakeGuest,
        order: &InvitationOrder,
    ) -> Option<ToldInvitation> {
        let injector = FaultInjector::new(&self.common, "api");
        let (world, caller) = (self.world(&injector), injector.clone());
        let mut bounds = self.bounds.iter();
        let bound = bounds.find(|bound| bound.instance.id == guest.instance)?;
        let request = InvitationRequest {
            tenant: Some(bound.tenant.id.clone()),
            occasion: guest.occasion.clone(),
            guest: NamedGuest::Id(guest_id(&guest.name)),
            channel: order.channel,
            template: InvitationTemplateName::parse(order.template).expect("a name"),
            variables: TemplateValues::from([("note".to_owned(), order.note.clone())]),
            metadata: None,
            send_at: None,
            key: IdempotencyKey::parse(&order.key).ok(),
            correlation: random_id::generate_correlation_id(&caller),
        };
        let request = async move {
            match Box::pin(recado_invitations::send_invitation(
                &world,
                &Caller::installation(),
                request,
            ))
            .await
            {
                Ok(accepted) => Some(match accepted.invitation.state {
                    InvitationState::Duplicate { .. } => ToldInvitation::Duplicate,
                    InvitationState::Refused { .. } => ToldInvitation::Refused,
                    _ => ToldInvitation::Taken(accepted.invitation.id),
                }),
                Err(
                    InvitationError::Port(_)
                    | InvitationError::Tenant(TenantChoiceError::Port(_))
                    | InvitationError::Deliver(DeliverError::Port(_) | DeliverError::Busy),
                ) => None,
                Err(_) => Some(ToldInvitation::Refused),
            }
        };
        self.answered_in(injector, REQUEST_PATIENCE_MS, request)
            .await
            .flatten()
    }

    /// A guest follows the link that ends invitations, again until that is answered.
    pub async fn follow_link(self: &Arc<Self>, place: usize) {
        let Some(guest) = self.ledger().guests.guests.get(place).cloned() else {
            return;
        };
        let link = FollowedLink {
            guest: place,
            begun_ms: self.simulation().elapsed_ms(),
            told_ms: None,
        };
        let followed = {
            let mut ledger = self.ledger();
            ledger.guests.links.push(link);
            ledger.guests.links.len() - 1
        };
        for _ in 0..20 {
            if self.follow_link_once(&guest).await == Some(true) {
                let now = self.simulation().elapsed_ms();
                self.ledger().guests.links[followed].told_ms = Some(now);
                return;
            }
            self.simulation().sleep(8_000).await;
        }
    }

    async fn follow_link_once(self: &Arc<Self>, guest: &FakeGuest) -> Option<bool> {
        let mut bounds = self.bounds.iter();
        let bound = bounds.find(|bound| bound.instance.id == guest.instance)?;
        let (tenant, key) = (bound.tenant.id.clone(), identity_key());
        let recipient = key.derive_recipient_key(&tenant, RecipientAddress::Email(&guest.mailbox));
        let token = UnsubscribeToken { tenant, recipient }.seal_token(&key);
        let injector = FaultInjector::new(&self.common, "api");
        let world = self.world(&injector);
        let request = async move { recado_opt_outs::unsubscribe_by_link(&world, &token).await.is_ok() };
        self.answered_in(injector, REQUEST_PATIENCE_MS, request).await
    }
}

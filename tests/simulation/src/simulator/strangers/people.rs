//! What tells of people beside conversations: guests with their invitations, batches of these, sessions, opt-outs, effects, and sums of use.

use super::messages::{KnownRecords, line_number};
use super::{Stranger, Way, page, shown, told};
use crate::plan::{address, identity_key};
use crate::queue::WorkQueues;
use crate::simulator::{FunctionWorld, Simulator};
use futures::executor::block_on;
use jiff::SignedDuration;
use jiff::civil::date;
use recado_access as tokens;
use recado_access::NewToken;
use recado_domain::access::{Caller, TokenRole};
use recado_domain::config::InstanceConfig;
use recado_domain::ids::{BatchId, GuestId, InvitationTemplateName, OccasionId, TenantId, TokenName};
use recado_domain::invitations::{
    BatchOrder, Guest, GuestRow, GuestStatus, Invitation, InvitationChannel, InvitationState, Occasion,
    write_invitation_id,
};
use recado_domain::millis::add_duration;
use recado_domain::opt_out::{OptOut, OptOutSource, RecipientAddress};
use recado_domain::published_event::EventCursor;
use recado_endpoints::published_events::{EventQuery, list_events};
use recado_invitations::LogFilter;
use recado_pipeline::ports::{LogPlace, Store, System};
use recado_pipeline::records::batches::find_batch;
use recado_pipeline::records::guests::save_guest;
use recado_pipeline::records::invitations::{begin_invitation, find_invitation};
use recado_pipeline::records::opt_outs::apply_opt_out;
use recado_pipeline::table::{Versioned, put_record};
use recado_usage::{UsageGroup, UsageRequest, read_usage};

use recado_testkit::stored_batch::store_batch;
use std::fmt::Debug;

/// Time for which the guests are kept.
const KEPT: SignedDuration = SignedDuration::from_hours(24);

/// The batch of each tenant, by which its guest was invited.
fn batch_id() -> BatchId {
    BatchId::parse("batch_1").expect("an id")
}

/// The occasion of each tenant with a guest.
fn occasion_id() -> OccasionId {
    OccasionId::parse("party").expect("an id")
}

fn guest_id() -> GuestId {
    GuestId::parse("guest-1").expect("an id")
}

impl Stranger {
    /// Asks for published events, of all and of the other tenant.
    pub(super) async fn ask_for_events<S, Q>(&self, world: &FunctionWorld<S, Q>) -> String
    where
        S: Store + Clone + Debug + 'static,
        Q: WorkQueues,
    {
        let mut answers = String::new();
        for tenant in [None, Some(self.other.tenant.id.clone())] {
            let query = EventQuery {
                tenant,
                start: LogPlace::After(EventCursor::START),
                kinds: Vec::new(),
                limit: 200,
            };
            answers += &shown(list_events(world, &self.caller, &query).await);
        }
        answers
    }

    /// Asks for what tells of the other tenant's people by `way`, by every name that leads to it.
    pub(super) async fn ask_for_people<S, Q>(
        &self,
        way: Way,
        world: &FunctionWorld<S, Q>,
        known: &KnownRecords,
    ) -> String
    where
        S: Store + Clone + Debug + 'static,
        Q: WorkQueues,
    {
        let (caller, theirs) = (&self.caller, &self.other.tenant.id);
        let mut answers = String::new();
        match way {
            Way::Guests => {
                let occasion = occasion_id();
                for named in [None, Some(theirs)] {
                    answers += &[
                        shown(recado_occasions::list_occasions(world, caller, named, &page()).await),
                        shown(recado_occasions::list_guests(world, caller, named, &occasion, &page()).await),
                        shown(
                            recado_invitations::list_invitations(world, caller, named, &occasion, &page())
                                .await,
                        ),
                    ]
                    .concat();
                }
            }
            Way::Sessions => {
                for contact in self.contacts() {
                    let number = contact.split('@').next().unwrap_or_default();
                    for named in [None, Some(theirs)] {
                        answers += &shown(
                            recado_invitations::find_session(world, caller, named, number, None).await,
                        );
                    }
                }
            }
            Way::OptOuts => {
                let listed = recado_opt_outs::list_opt_outs(world, caller, theirs, &page()).await;
                answers += &shown(listed.ok().flatten().ok_or(()));
            }
            Way::Usage => {
                let conversations = known.conversations.iter().map(|id| (None, Some(id.clone())));
                let all = [(None, None), (Some(theirs.clone()), None)];
                for (tenant, conversation) in all.into_iter().chain(conversations) {
                    let request = UsageRequest {
                        tenant,
                        conversation,
                        from: date(1970, 1, 1),
                        to: date(2200, 1, 1),
                        by: UsageGroup::Agent,
                    };
                    let used = read_usage(world, caller, &request).await;
                    answers += &shown(used.ok().flatten().ok_or(()));
                }
            }
            _ => {
                for id in &known.conversations {
                    let listed = recado_operators::list_effects(world, caller, id).await;
                    answers += &told("a list of effects", listed);
                }
            }
        }
        answers
    }

    /// Asks for the other tenant's batches, and for the log of what it delivered.
    pub(super) async fn ask_for_batches<S, Q>(&self, world: &FunctionWorld<S, Q>) -> String
    where
        S: Store + Clone + Debug + 'static,
        Q: WorkQueues,
    {
        let (caller, all) = (&self.caller, LogFilter::default());
        let mut answers = String::new();
        for named in [None, Some(&self.other.tenant.id)] {
            answers += &[
                shown(recado_batches::list_batches(world, caller, named, &page()).await),
                shown(recado_batches::find_batch(world, caller, named, &batch_id()).await),
                shown(recado_invitations::export_invitations(world, caller, named, &all, &page()).await),
            ]
            .concat();
        }
        answers
    }

    /// Gives every order about the other tenant's batch.
    pub(super) async fn order_batch<S, Q>(&self, world: &FunctionWorld<S, Q>) -> String
    where
        S: Store + Clone + Debug + 'static,
        Q: WorkQueues,
    {
        let (caller, theirs) = (&self.caller, Some(&self.other.tenant.id));
        let mut answers = String::new();
        for order in [BatchOrder::Pause, BatchOrder::Resume, BatchOrder::Cancel] {
            let ordered = recado_batches::order_batch(world, caller, theirs, &batch_id(), order).await;
            answers += &told("an order about a batch", ordered);
        }
        answers
    }

    /// Adds a guest to the other tenant's occasion, and deletes the one that it has.
    pub(super) async fn change_guests<S, Q>(&self, world: &FunctionWorld<S, Q>) -> String
    where
        S: Store + Clone + Debug + 'static,
        Q: WorkQueues,
    {
        let (caller, theirs, occasion) = (&self.caller, Some(&self.other.tenant.id), occasion_id());
        let row = GuestRow {
            id: GuestId::parse("intruder").ok(),
            ..GuestRow::default()
        };
        let rows = vec![(1, Ok(row))];
        [
            told(
                "an added guest",
                recado_occasions::add_guests(world, caller, theirs, &occasion, rows).await,
            ),
            told(
                "a deleted guest",
                recado_occasions::delete_guest(world, caller, theirs, (&occasion, &guest_id())).await,
            ),
        ]
        .concat()
    }
}

impl<S, Q> Simulator<S, Q>
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    /// The tenant has a token, of which nobody else is to hear.
    pub(super) fn give_token(&self, tenant: &TenantId) {
        let new = NewToken {
            name: TokenName::parse("desk").expect("a name"),
            tenant: Some(tenant.clone()),
            role: TokenRole::Operator,
            expires_at: None,
        };
        // Another line of the tenant may have given it the same.
        let _exists = block_on(tokens::create_token(
            &self.calm_deps(),
            &Caller::installation(),
            new,
        ));
    }

    /// Has a contact of the line as a guest of its tenant with an invitation, in a batch, and opted out.
    pub(super) fn add_invited_guest(&self, bound: &InstanceConfig) {
        let deps = self.calm_deps();
        let (tenant, now) = (bound.tenant.id.clone(), deps.system.now());
        let contact = address(line_number(&bound.instance), 0);
        let number = contact.as_str().split('@').next().unwrap_or_default().to_owned();
        let keep_until = add_duration(now, KEPT);
        let occasion = make_occasion(bound);
        let guest = Guest {
            tenant: tenant.clone(),
            occasion: occasion_id(),
            id: guest_id(),
            name: Some(number.clone()),
            phone: None,
            phone_key: None,
            email: None,
            language: None,
            time_zone: None,
            status: GuestStatus::Pending,
            reply: None,
            created_at: now,
            keep_until,
        };
        let invitation = make_invitation(&guest);
        block_on(async {
            let store = &self.store;
            put_record(store, &occasion).await.expect("it is stored");
            // Another line of the tenant may have stored the same.
            let mut new = Versioned::new(guest.clone());
            let _written = save_guest(store, &mut new).await.expect("it is stored");
            let known = find_invitation(store, &tenant, &invitation.id).await;
            if known.expect("it is read").is_none() {
                let mut invitation = Versioned::new(invitation);
                let _begun = begin_invitation(store, &mut invitation, &[], now)
                    .await
                    .expect("it is stored");
            }
            let batch = find_batch(store, &tenant, &batch_id()).await;
            if batch.expect("it is read").is_none() {
                let of = (&tenant, &guest.occasion);
                store_batch(
                    store,
                    batch_id(),
                    of,
                    std::slice::from_ref(&guest.id),
                    "batch",
                    now,
                )
                .await;
            }
            let key = store.keep_identity_key(&identity_key).await.expect("it is read");
            let preference = OptOut {
                recipient: key.derive_recipient_key(&tenant, RecipientAddress::WhatsApp(&number)),
                tenant,
                address: Some(number),
                is_stopped: true,
                at: now,
                source: OptOutSource::Message,
            };
            let stored = apply_opt_out(store, &preference).await;
            stored.expect("it is stored");
        });
    }
}

fn make_occasion(bound: &InstanceConfig) -> Occasion {
    Occasion {
        id: occasion_id(),
        tenant: bound.tenant.id.clone(),
        name: None,
        instance: bound.instance.id.clone(),
        starts_at: None,
        time_zone: None,
        language: None,
        cancelled: false,
        reminders: Vec::new(),
    }
}

fn make_invitation(guest: &Guest) -> Invitation {
    Invitation {
        tenant: guest.tenant.clone(),
        id: write_invitation_id(guest.created_at, 1),
        occasion: guest.occasion.clone(),
        guest: guest.id.clone(),
        channel: InvitationChannel::Whatsapp,
        template: InvitationTemplateName::parse("invite").expect("a name"),
        language: None,
        state: InvitationState::Taken { planned: None },
        is_free: false,
        session: None,
        not_before: None,
        metadata: None,
        request_hash: "0".repeat(64),
        created_at: guest.created_at,
        keep_until: guest.keep_until,
        rev: 1,
    }
}

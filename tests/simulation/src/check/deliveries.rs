//! The API tells of invitations, batches and opt-outs what phones and mailboxes got and what guests did.

use super::Told;
use super::unwanted::list_stopped_spans;
use crate::queue::WorkQueues;
use crate::simulator::{ClientBatch, ClientInvitation, Simulator, ToldInvitation};
use futures::executor::block_on;
use recado_domain::access::Caller;
use recado_domain::ids::{InvitationId, MessageId, TenantId};
use recado_domain::invitations::InvitationStatus;
use recado_domain::opt_out::RecipientAddress;
use recado_invitations::InvitationView;

use recado_pipeline::ports::{PageRequest, Store};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

/// The arrivals: numbers by message and by e-mail, and all words.
struct Arrivals {
    messages: BTreeMap<MessageId, usize>,
    mails: BTreeMap<String, usize>,
    words: BTreeSet<String>,
}

impl Arrivals {
    fn of<S, Q>(sim: &Simulator<S, Q>) -> Self {
        let mut messages: BTreeMap<MessageId, usize> = BTreeMap::new();
        let mut mails: BTreeMap<String, usize> = BTreeMap::new();
        let mut words = BTreeSet::new();
        for one in sim.fake_world.phones().into_values().flatten() {
            *messages.entry(one.message).or_default() += 1;
            words.insert(one.text);
        }
        for one in sim.fake_world.mails() {
            *mails.entry(one.id).or_default() += 1;
            words.insert(one.text);
        }
        Self {
            messages,
            mails,
            words,
        }
    }

    /// Returns the number of arrivals of the message or e-mail that the view tells of.
    fn count(&self, view: &InvitationView) -> usize {
        let counted = match &view.message {
            Some(message) => self.messages.get(&message.message.message_id()),
            None => self.mails.get(view.invitation.id.as_str()),
        };
        counted.copied().unwrap_or_default()
    }
}

pub(super) fn check<S, Q>(sim: &Simulator<S, Q>, told: &[Told])
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let (orders, batches) = {
        let ledger = sim.ledger();
        (ledger.guests.orders.clone(), ledger.batches.clone())
    };
    let arrivals = Arrivals::of(sim);
    for one in &orders {
        match &one.told {
            Some(ToldInvitation::Taken(id)) => taken(sim, one, id, &arrivals),
            Some(ToldInvitation::Duplicate | ToldInvitation::Refused) => {
                not_taken(sim, one, &orders, &arrivals);
            }
            None => {}
        }
    }
    for batch in batches.iter().filter(|_| sim.reconciles) {
        counts_what_arrived(sim, batch, told, &arrivals);
    }
    tells_opt_outs(sim);
}

fn tenant_of<S, Q>(sim: &Simulator<S, Q>, guest: usize) -> &TenantId {
    let instance = sim.ledger().guests.guests[guest].instance.clone();
    let mut bounds = sim.bounds.iter();
    let bound = bounds.find(|bound| bound.instance.id == instance);
    bound.map_or(&sim.bounds[0].tenant.id, |bound| &bound.tenant.id)
}

/// An invitation that was taken has ended, and its status is true.
fn taken<S, Q>(sim: &Simulator<S, Q>, one: &ClientInvitation, id: &InvitationId, arrivals: &Arrivals)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let tenant = tenant_of(sim, one.order.guest);
    let caller = Caller::installation();
    let found = block_on(recado_invitations::find_invitation(
        &sim.calm_deps(),
        &caller,
        Some(tenant),
        id.as_str(),
    ));
    let view = match found {
        Ok(view) => view,
        Err(error) => {
            sim.common
                .broken(format!("{id} was taken, and cannot be read: {error}"));
            return;
        }
    };
    let (status, arrived) = (view.status, arrivals.count(&view));
    let may_have_failed = view.message.as_ref().is_some_and(|message| {
        let id = message.message.message_id();
        !sim.fake_world.failures(&id).is_empty()
    });
    let holds = match status {
        InvitationStatus::Sent | InvitationStatus::Delivered | InvitationStatus::Read => {
            arrived > 0 || may_have_failed
        }
        InvitationStatus::Failed | InvitationStatus::Cancelled => arrived == 0 || view.may_have_arrived,
        InvitationStatus::Queued | InvitationStatus::Processing => !sim.reconciles,
        InvitationStatus::Duplicate => false,
    };
    if !holds {
        sim.common
            .broken(format!("{id} is told as {status:?}, and arrived {arrived} times"));
    }
}

/// An invitation that its client was told not to be sent did not arrive, unless another client was told that equal words are.
fn not_taken<S, Q>(
    sim: &Simulator<S, Q>,
    one: &ClientInvitation,
    orders: &[ClientInvitation],
    arrivals: &Arrivals,
) {
    let may_be_sent = |other: &ClientInvitation| {
        let is_told_otherwise = other.told.as_ref().is_some_and(|told| !is_taken(told));
        other.words == one.words && !is_told_otherwise
    };
    if arrivals.words.contains(&one.words) && !orders.iter().any(may_be_sent) {
        let (words, told) = (&one.words, &one.told);
        sim.common
            .broken(format!("{words:?} arrived, and its client was told {told:?}"));
    }
}

fn is_taken(told: &ToldInvitation) -> bool {
    matches!(told, ToldInvitation::Taken(_))
}

/// A batch tells as many of its invitations sent as arrived, where nothing is in doubt.
fn counts_what_arrived<S, Q>(sim: &Simulator<S, Q>, batch: &ClientBatch, told: &[Told], arrivals: &Arrivals)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let tenant = &sim.bounds[0].instance.tenant;
    let (deps, caller) = (sim.calm_deps(), Caller::installation());
    let found = block_on(recado_batches::find_batch(
        &deps,
        &caller,
        Some(tenant),
        &batch.id,
    ));
    let Ok(progress) = found else {
        sim.common.broken(format!("{} cannot be read", batch.id));
        return;
    };
    let of_batch = told.iter().flat_map(|(_, messages)| messages).filter(|message| {
        let mut out = message.out.iter();
        out.any(|out| out.batch.as_ref() == Some(&batch.id))
    });
    let (mut arrived, mut is_in_doubt) = (0, false);
    for message in of_batch {
        let id = message.message_id();
        let may_have_failed = !sim.fake_world.failures(&id).is_empty();
        is_in_doubt |= may_have_failed || message.out.as_ref().is_some_and(|out| out.maybe_sent);
        arrived += usize::from(arrivals.messages.contains_key(&id));
    }
    let counts = &progress.counts;
    let sent = counts.sent + counts.delivered + counts.read;
    if sent != arrived && !is_in_doubt {
        sim.common.broken(format!(
            "{} tells of {sent} that were sent, and {arrived} arrived",
            batch.id
        ));
    }
}

/// Who wants no invitations, and did not take that back, is told so.
fn tells_opt_outs<S, Q>(sim: &Simulator<S, Q>)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let guests = sim.ledger().guests.guests.clone();
    let key = crate::plan::identity_key();
    for (place, guest) in guests.iter().enumerate() {
        let stopped = list_stopped_spans(sim, &guest.to, Some(place));
        if !stopped.iter().any(|(_, until)| *until == i64::MAX) {
            continue;
        }
        let tenant = tenant_of(sim, place);
        let number = guest.to.phone_number().unwrap_or_default();
        let addresses = [
            RecipientAddress::WhatsApp(&number),
            RecipientAddress::Email(&guest.mailbox),
        ];
        let keys = addresses.map(|address| key.derive_recipient_key(tenant, address));
        let (deps, caller) = (sim.calm_deps(), Caller::installation());
        let mut page = PageRequest::first(3);
        let is_told = loop {
            let listed = block_on(recado_opt_outs::list_opt_outs(&deps, &caller, tenant, &page));
            let listed = listed.expect("opt-outs are read").expect("the tenant is known");
            let mut items = listed.items.iter();
            if items.any(|one| one.is_stopped && keys.contains(&one.recipient)) {
                break true;
            }
            match listed.next_cursor {
                Some(cursor) => page.cursor = Some(cursor),
                None => break false,
            }
        };
        if !is_told {
            let name = &guest.name;
            sim.common
                .broken(format!("{name} wants no invitations, and no list says so"));
        }
    }
}

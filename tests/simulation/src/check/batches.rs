//! Each guest gets the invitation once, a batch that was stopped sends nothing from when its client was told, and in the end
//! each is finished or cancelled. The batches of all numbers of a portfolio write to no more people than are for batches.

use super::{Told, unwanted};
use crate::executor::START_MS;
use crate::queue::WorkQueues;
use crate::scenario::STOP_WORD;
use crate::simulator::{ClientBatch, InvitedContact, Simulator};
use futures::executor::block_on;
use recado_domain::ids::{BatchId, MessageId};
use recado_domain::instance::CAMPAIGN_SHARE;
use recado_domain::invitations::{BatchState, InvitationState};
use recado_domain::outbox::{Outbox, OutboxState};
use recado_pipeline::ports::Store;
use recado_pipeline::records::batches::find_batch;
use recado_pipeline::records::invitations::find_invitation;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

pub(super) fn check<S, Q>(sim: &Simulator<S, Q>, told: &[Told])
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let (invited, batches) = {
        let ledger = sim.ledger();
        (ledger.invited.clone(), ledger.batches.clone())
    };
    let phones = sim.fake_world.phones();
    for one in &invited {
        let arrived = phones.get(&(one.instance.clone(), one.to.clone()));
        let invitations: BTreeSet<&MessageId> = arrived
            .into_iter()
            .flatten()
            .filter(|arrived| arrived.text == one.words)
            .map(|arrived| &arrived.message)
            .collect();
        let count = invitations.len();
        let stopped_at = find_stop(sim, one);
        let is_owed = sim.reconciles && stopped_at.is_none() && !is_in_doubt(sim, told, &one.words);
        let is_missing = count == 0 && is_owed;
        if count > 1 || is_missing {
            sim.common
                .broken(format!("{:?} arrived as {count} messages", one.words));
        }
    }
    keep_limits(sim, &invited);
    sends_nothing_unwanted(sim, &invited);
    names_itself(sim, told);
    let of_batches: BTreeMap<MessageId, BatchId> = told
        .iter()
        .flat_map(|(_, messages)| messages)
        .filter_map(|message| Some((message.message_id(), message.out.as_ref()?.batch.clone()?)))
        .collect();
    for batch in &batches {
        has_ended(sim, batch);
        stays_stopped(sim, batch, &of_batches);
    }
}

/// Returns when a guest wrote that it wants no more invitations, in milliseconds since the start.
fn find_stop<S, Q>(sim: &Simulator<S, Q>, guest: &InvitedContact) -> Option<i64> {
    let ledger = sim.ledger();
    let mut said = ledger.said.values();
    let stop = said.find(|said| said.text == STOP_WORD && said.address == guest.to.as_str());
    Some(stop?.sent_at? - START_MS)
}

/// Nobody is sent an invitation who said that none is wanted: an attempt that ran then may end.
fn sends_nothing_unwanted<S, Q>(sim: &Simulator<S, Q>, invited: &[InvitedContact]) {
    let attempts = sim.common.observations().attempts.clone();
    for guest in invited {
        let stopped = unwanted::list_stopped_spans(sim, &guest.to, None);
        let of_guest = attempts.iter().filter(|one| one.text == guest.words);
        let mut requests = of_guest.filter_map(|one| one.requested_ms);
        if let Some(at) = requests.find(|at| unwanted::is_stopped_at(sim, &stopped, *at)) {
            let words = &guest.words;
            sim.common
                .broken(format!("{words:?} left at {at} ms, and its guest wanted none"));
        }
    }
}

/// Each message of an invitation is the one that the invitation names.
fn names_itself<S, Q>(sim: &Simulator<S, Q>, told: &[Told])
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    for message in told.iter().flat_map(|(_, messages)| messages) {
        let Some(named) = message.out.as_ref().and_then(|out| out.invitation.as_ref()) else {
            continue;
        };
        let found = block_on(find_invitation(&sim.store, &message.tenant, &named.id));
        let state = found
            .expect("invitations are read")
            .map(|found| found.record.state);
        let id = message.message_id();
        let is_named = match &state {
            // Its request was never answered.
            Some(InvitationState::Taken { .. }) => true,
            // It names the scheduled message that became this one, too.
            Some(InvitationState::Message { message: named }) => {
                let scheduled = message.out.as_ref().and_then(|out| out.scheduled.as_ref());
                *named == id || scheduled.is_some_and(|scheduled| scheduled.as_message_id() == named)
            }
            _ => false,
        };
        if !is_named {
            let named = &named.id;
            sim.common
                .broken(format!("{id} is said to be {named}, which is {state:?}"));
        }
    }
}

/// Returns `true` if a message with these words was given up, failed at its provider, or was cancelled and may have been sent.
fn is_in_doubt<S, Q>(sim: &Simulator<S, Q>, told: &[Told], words: &str) -> bool {
    let mut all = told.iter().flat_map(|(_, messages)| messages);
    all.any(|message| {
        let in_doubt = |out: &Outbox| match out.state {
            OutboxState::Dead { .. } => true,
            OutboxState::Cancelled { .. } => out.maybe_sent,
            // The provider said later that it failed. Its event may have been given up, which other checks judge.
            _ => !sim.fake_world.failures(&message.message_id()).is_empty(),
        };
        message.out.as_ref().is_some_and(in_doubt) && message.content.render_text() == words
    })
}

/// Until a limit is raised, no more people got an invitation than the share of it that is for batches.
fn keep_limits<S, Q>(sim: &Simulator<S, Q>, invited: &[InvitedContact]) {
    let (limits, phones) = (sim.ledger().limits.clone(), sim.fake_world.phones());
    for (told, raised) in limits.iter().zip(limits.iter().skip(1)) {
        let is_before = |one: &&InvitedContact| {
            let arrived = phones.get(&(one.instance.clone(), one.to.clone()));
            let mut arrived = arrived.into_iter().flatten();
            arrived.any(|arrived| arrived.text == one.words && arrived.at_ms < raised.from_ms)
        };
        let (people, share) = (
            invited.iter().filter(is_before).count(),
            u64::from(told.people) * CAMPAIGN_SHARE / 100,
        );
        if people as u64 > share {
            let of = told.people;
            sim.common.broken(format!(
                "batches wrote to {people} people, where {share} of {of} are for batches"
            ));
        }
    }
}

fn has_ended<S, Q>(sim: &Simulator<S, Q>, batch: &ClientBatch)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let tenant = &sim.bounds[0].instance.tenant;
    let found = block_on(find_batch(&sim.store, tenant, &batch.id)).expect("batches are read");
    let state = found.map(|found| found.record.state);
    let is_ended = matches!(state, Some(BatchState::Finished | BatchState::Cancelled));
    if !is_ended && sim.reconciles {
        sim.common.broken(format!("{} is {state:?} in the end", batch.id));
    }
}

fn stays_stopped<S, Q>(
    sim: &Simulator<S, Q>,
    batch: &ClientBatch,
    of_batches: &BTreeMap<MessageId, BatchId>,
) {
    let requested: Vec<(MessageId, i64)> = {
        let observations = sim.common.observations();
        let attempts = observations.attempts.iter();
        attempts
            .filter(|attempt| of_batches.get(&attempt.message) == Some(&batch.id))
            .filter_map(|attempt| Some((attempt.message.clone(), attempt.requested_ms?)))
            .collect()
    };
    let skew = sim.common.faults.skew_ms;
    for (message, at) in requested {
        let is_within =
            |from: i64, until: Option<i64>| at > from + skew && until.is_none_or(|until| at < until);
        let mut stops = batch.stops.iter();
        if stops.any(|stop| is_within(stop.told_ms, stop.until_ms)) {
            sim.common
                .broken(format!("{message} left at {at} ms, and its batch was stopped"));
        }
    }
}

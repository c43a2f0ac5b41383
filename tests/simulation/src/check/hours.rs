//! No turn begins while its instance is closed, turns that wait for an opening begin one behind the other, and nobody is told
//! twice in one closure that the instance is closed.

use super::Told;
use super::waits::is_undisturbed;
use crate::fake_world::REMINDER_WORDS;
use crate::queue::WorkQueues;
use crate::simulator::Simulator;
use jiff::Timestamp;
use recado_domain::config::InstanceConfig;
use recado_domain::hours::OpeningState;
use recado_domain::ids::{ConversationId, InstanceId, ThreadId};
use recado_domain::message::Message;
use recado_domain::millis::add_millis;
use recado_pipeline::ports::Store;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

/// Whether the message tells that the instance is closed.
pub(super) fn is_notice(message: &Message) -> bool {
    find_closure_end(message).is_some()
}

/// The end of the closure of which the message tells. A reminder is of no use after a time, too.
fn find_closure_end(message: &Message) -> Option<Timestamp> {
    let is_reminder = message.content.render_text().starts_with(REMINDER_WORDS);
    message.out.as_ref()?.expires_at.filter(|_| !is_reminder)
}

pub(super) fn check<S, Q>(sim: &Simulator<S, Q>, told: &[Told])
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let mut notices: BTreeSet<(ThreadId, i64)> = BTreeSet::new();
    let mut turns: BTreeMap<(InstanceId, i64), ConversationId> = BTreeMap::new();
    for (conversation, messages) in told {
        let configured = sim.ledger().configured.contains(&conversation.instance);
        let mut bounds = sim.bounds.iter();
        let bound = bounds.find(|bound| bound.instance.id == conversation.instance && !configured);
        let Some(bound) = bound else { continue };
        for message in messages {
            let Some(out) = &message.out else { continue };
            if let Some(expires) = find_closure_end(message) {
                let closure = (conversation.id.thread_id().clone(), expires.as_millisecond());
                if !notices.insert(closure) {
                    sim.common
                        .broken(format!("{} tells again that it is closed", message.message_id()));
                }
            }
            let turn = out.turn.as_ref();
            let waited = turn.and_then(|turn| turn.opening.filter(|at| *at < turn.began_at));
            if let Some(at) = waited {
                let turn = (conversation.instance.clone(), at.as_millisecond());
                let first = turns.entry(turn).or_insert_with(|| conversation.id.clone());
                if *first != conversation.id {
                    sim.common
                        .broken(format!("{} and {first} waited for one instant", conversation.id));
                }
            }
            if is_undisturbed(sim) && !begins_in_hours(sim, bound, message) {
                sim.common
                    .broken(format!("{} was begun out of hours", message.message_id()));
            }
        }
    }
}

/// Whether the turn of the message began while the instance was open, by some clock.
fn begins_in_hours<S, Q>(sim: &Simulator<S, Q>, bound: &InstanceConfig, message: &Message) -> bool {
    let turn = message.out.as_ref().and_then(|out| out.turn.as_ref());
    let Some(turn) = turn else { return true };
    let off = 2 * sim.common.faults.skew_ms + 2_000;
    [-off, 0, off]
        .into_iter()
        .any(|by| bound.opening_state_at(add_millis(turn.began_at, by)) == OpeningState::Open)
}

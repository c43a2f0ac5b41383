//! Whether what is known of the instance is fresh enough to send on, and what a send says of it.

use super::attempt::is_too_late;
use super::{Context, LOST, Step, parking, waiting};
use crate::World;
use crate::connection::closed;
use crate::ports::{Ambient, ConnectionAnswer, Instances, PortResult, Providers};
use crate::verdict::Verdict;
use crate::world::traits;
use jiff::Timestamp;
use recado_domain::instance::{Connection, InstanceState};
use recado_domain::message::Message;
use recado_domain::millis::shift;
use recado_domain::rate::missed;
use std::time::Duration;

/// How soon a worker comes back that found another one asking.
const WHILE_ANOTHER_ASKS: Duration = Duration::from_secs(2);

/// After a time-out, an answer that is older does not confirm that the instance is open.
const SUSPECT_MS: i64 = 60_000;

/// A reply of the model that is older says nothing of its key.
const KEY_WAS_GOOD_MS: i64 = 60_000;

/// How long a state is good for; `None` where it does not grow old. Meta's numbers have no connection that could be lost
/// unseen: a refused token says so at once.
fn good_for<W: World>(world: &W, context: Context<'_>) -> Option<i64> {
    let after = world.settings().connection_stale.as_millis();
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    let linked = traits(world, context.bound).linked;
    (linked && after > 0).then_some(after)
}

/// Whether the message's own time-out is the last that is known of the instance. It may hang at this message only.
fn is_suspect(known: &InstanceState, message: &Message) -> bool {
    known.timed_out.as_ref() == Some(&message.id())
}

/// Asks the provider, if nothing has confirmed for long that the instance is open, or if the message is about to be sent
/// again after a time-out; one worker at a time. What to do instead of sending, if anything.
pub(super) async fn look<W: World>(
    world: &W,
    context: Context<'_>,
    message: &Message,
    slot: Timestamp,
) -> PortResult<Option<Step>> {
    let Some(known) = context.known else {
        return Ok(None);
    };
    let suspect = is_suspect(known, message).then_some(SUSPECT_MS);
    let Some(after) = [suspect, good_for(world, context)].into_iter().flatten().min() else {
        return Ok(None);
    };
    let now = world.ambient().now();
    if !known.is_stale(now, after) {
        return Ok(None);
    }
    if is_too_late(world, context, now) {
        return Ok(Some(LOST));
    }
    let instance = &context.bound.instance.id;
    if !world
        .store()
        .claim_question(instance, now, shift(now, -after))
        .await?
    {
        let after = WHILE_ANOTHER_ASKS;
        return waiting::wait(world, message, Verdict::ComeBack { after })
            .await
            .map(Some);
    }
    let (connection, asked_at) = match world.providers().connection(context.bound).await {
        // After a time-out no answer is a second one.
        ConnectionAnswer::Unclear if suspect.is_some() => (Connection::Closed, None),
        // That it was asked for is noted; an answer that says nothing leaves what was believed.
        ConnectionAnswer::Open | ConnectionAnswer::Unclear => {
            // The question may have taken longer than the slot is good for.
            return Ok(missed(slot, world.ambient().now()).then_some(LOST));
        }
        ConnectionAnswer::Closed => (Connection::Closed, Some(now)),
        ConnectionAnswer::NeedsCredentials => (Connection::NeedsCredentials, Some(now)),
    };
    closed(world, instance, connection, asked_at).await?;
    parking::park(world, message, None).await.map(Some)
}

/// What an accepted send tells: time-outs before it were not in a row, the instance is open, the model's key is good.
/// Each is written only where the record says otherwise, which came with the slot: nothing in the ordinary course.
/// `since`: when the attempt began; what happened after that, it says nothing of.
pub(super) async fn accepted<W: World>(
    world: &W,
    context: Context<'_>,
    message: &Message,
    since: Timestamp,
) -> PortResult<()> {
    let Some(known) = context.known else { return Ok(()) };
    let (instance, now) = (&context.bound.instance.id, world.ambient().now());
    if known.timeouts > 0 {
        world.store().forget_timeouts(instance).await?;
    }
    if good_for(world, context).is_some_and(|after| known.is_stale(now, after / 2)) {
        world.store().confirm(instance, since).await?;
    }
    let fresh = message.model.is_some() && shift(message.stored_at, KEY_WAS_GOOD_MS) > now;
    if known.llm_needs_credentials && fresh {
        world.store().set_llm_needs_credentials(instance, false).await?;
    }
    Ok(())
}

//! Whether what is known of the instance is fresh enough to send on, and what a send says of it.

use super::attempt::deadline_is_too_near;
use super::{RETRY_SOON, SendContext, SendStep, parking, waiting};
use crate::Deps;
use crate::connection::record_closed;
use crate::deps::capabilities;
use crate::ports::{ConnectionAnswer, InstanceStates, PortResult, Providers, System};
use crate::verdict::Verdict;
use jiff::Timestamp;
use recado_domain::instance::{ConnectionStatus, InstanceState};
use recado_domain::message::Message;
use recado_domain::millis::add_millis;
use recado_domain::rate::is_slot_missed;
use std::time::Duration;

/// How soon a worker comes back that found another one asking.
const OTHER_CHECK_WAIT: Duration = Duration::from_secs(2);

/// After a time-out, an answer that is older does not confirm that the instance is open.
const SUSPECT_AFTER_MS: i64 = 60_000;

/// A reply of the model that is older says nothing of its key.
const KEY_PROVEN_WITHIN_MS: i64 = 60_000;

/// How long a state is good for; `None` where it does not grow old. Meta's numbers have no connection that could be lost
/// unseen: a refused token says so at once.
fn staleness_limit_ms<W: Deps>(deps: &W, context: SendContext<'_>) -> Option<i64> {
    let after = deps.settings().connection_stale.as_millis();
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    let linked = capabilities(deps, context.bound).is_linked_device;
    (linked && after > 0).then_some(after)
}

/// Whether the message's own time-out is the last that is known of the instance. It may hang at this message only.
fn is_suspect_after_timeout(known: &InstanceState, message: &Message) -> bool {
    known.timed_out.as_ref() == Some(&message.message_id())
}

/// Asks the provider, if nothing has confirmed for long that the instance is open, or if the message is about to be sent
/// again after a time-out; one worker at a time. What to do instead of sending, if anything.
pub(super) async fn check_connection<W: Deps>(
    deps: &W,
    context: SendContext<'_>,
    message: &Message,
    slot: Timestamp,
) -> PortResult<Option<SendStep>> {
    let Some(known) = context.known else {
        return Ok(None);
    };
    let suspect = is_suspect_after_timeout(known, message).then_some(SUSPECT_AFTER_MS);
    let Some(after) = [suspect, staleness_limit_ms(deps, context)]
        .into_iter()
        .flatten()
        .min()
    else {
        return Ok(None);
    };
    let now = deps.system().now();
    if !known.is_stale(now, after) {
        return Ok(None);
    }
    if deadline_is_too_near(deps, context, now) {
        return Ok(Some(RETRY_SOON));
    }
    let instance = &context.bound.instance.id;
    if !deps
        .store()
        .claim_connection_check(instance, now, add_millis(now, -after))
        .await?
    {
        let after = OTHER_CHECK_WAIT;
        return waiting::wait_unless_void(deps, message, Verdict::Retry { after })
            .await
            .map(Some);
    }
    let (connection, asked_at) = match deps.providers().query_connection(context.bound).await {
        // After a time-out no answer is a second one.
        ConnectionAnswer::Unclear if suspect.is_some() => (ConnectionStatus::Closed, None),
        // That it was asked for is noted; an answer that says nothing leaves what was believed.
        ConnectionAnswer::Open | ConnectionAnswer::Unclear => {
            // The question may have taken longer than the slot is good for.
            return Ok(is_slot_missed(slot, deps.system().now()).then_some(RETRY_SOON));
        }
        ConnectionAnswer::Closed => (ConnectionStatus::Closed, Some(now)),
        ConnectionAnswer::NeedsCredentials => (ConnectionStatus::NeedsCredentials, Some(now)),
    };
    record_closed(deps, instance, connection, asked_at).await?;
    parking::park_conversation(deps, message, None).await.map(Some)
}

/// What an accepted send tells: time-outs before it were not in a row, the instance is open, the model's key is good.
/// Each is written only where the record says otherwise, which came with the slot: nothing in the ordinary course.
/// `since`: when the attempt began; what happened after that, it says nothing of.
pub(super) async fn record_accepted_send<W: Deps>(
    deps: &W,
    context: SendContext<'_>,
    message: &Message,
    since: Timestamp,
) -> PortResult<()> {
    let Some(known) = context.known else { return Ok(()) };
    let (instance, now) = (&context.bound.instance.id, deps.system().now());
    if known.timeouts > 0 {
        deps.store().reset_timeouts(instance).await?;
    }
    if staleness_limit_ms(deps, context).is_some_and(|after| known.is_stale(now, after / 2)) {
        deps.store().confirm_connection(instance, since).await?;
    }
    let fresh = message.model.is_some() && add_millis(message.stored_at, KEY_PROVEN_WITHIN_MS) > now;
    if known.llm_needs_credentials && fresh {
        deps.store().set_llm_needs_credentials(instance, false).await?;
    }
    Ok(())
}

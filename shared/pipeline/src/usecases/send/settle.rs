//! Stores the outcome of an attempt by a conditional write: nothing is stored if the message was changed meanwhile.

use super::attempt::PARK_BEYOND_MS;
use super::{RETRY_SOON, SendContext, SendStep, connection_check, parking, waiting};
use crate::Deps;
use crate::deps::capabilities;
use crate::ports::{
    DeliveryLink, InstanceStates, OutboxStore, PortResult, SendOutcome, System, WriteOutcome,
};
use crate::steps::connection::record_closed;
use crate::steps::give_up::give_up_message;
use crate::steps::verdict::Verdict;
use recado_domain::config::InstanceConfig;
use recado_domain::delivery::DeliveryKey;
use recado_domain::instance::{ConnectionStatus, InFlightSend, UnansweredAttempt};
use recado_domain::message::Message;
use recado_domain::millis::add_millis;
use recado_domain::reason::Reason;
use std::time::Duration;

/// Time until evidence for an unknown outcome is looked for first. Most statuses have arrived by then.
const FIRST_EVIDENCE_CHECK: Duration = Duration::from_secs(5);

/// Number of attempts in a row without an answer that close an instance, so that its messages are parked. An attempt
/// counts if it timed out or did not reach the provider. A message that times out several times in a row counts once,
/// and the provider is asked before the message is sent again ([`connection_check::check_connection`]).
const TIMEOUTS_MAX: u32 = 2;

pub(super) async fn settle_outcome<W: Deps>(
    deps: &W,
    context: SendContext<'_>,
    message: Message,
    flight: &InFlightSend,
    outcome: SendOutcome,
) -> PortResult<SendStep> {
    let instance = &context.bound.instance.id;
    match outcome {
        SendOutcome::Accepted {
            provider_message_id,
            simulated,
        } => settle_accepted(deps, context, message, flight, provider_message_id, simulated).await,
        SendOutcome::Disconnected { why } => {
            let step = requeue_uncounted(deps, message, flight, &why).await?;
            record_closed(deps, instance, ConnectionStatus::Closed, None).await?;
            Ok(step)
        }
        SendOutcome::Credentials { why } => {
            let step = requeue_uncounted(deps, message, flight, &why).await?;
            record_closed(deps, instance, ConnectionStatus::NeedsCredentials, None).await?;
            Ok(step)
        }
        SendOutcome::Unreached { why } => {
            let step = requeue_uncounted(deps, message, flight, &why).await?;
            if deps
                .store()
                .record_timeout(instance, &UnansweredAttempt::Unreached)
                .await?
                >= TIMEOUTS_MAX
            {
                record_closed(deps, instance, ConnectionStatus::Unreachable, None).await?;
            }
            Ok(step)
        }
        SendOutcome::Retryable { why, after } => retry_or_give_up(deps, message, flight, why, after).await,
        SendOutcome::Unknown { why, timed_out } => {
            let found = UnansweredAttempt::TimedOut(message.message_id());
            let step = mark_outcome_unknown(deps, message, &why).await?;
            if timed_out && deps.store().record_timeout(instance, &found).await? >= TIMEOUTS_MAX {
                record_closed(deps, instance, ConnectionStatus::Closed, None).await?;
            }
            Ok(step)
        }
        SendOutcome::Permanent { reason, why } => {
            let buried = give_up_message(deps, message, reason, Some(why)).await?;
            Ok(if buried { SendStep::Next } else { RETRY_SOON })
        }
    }
}

/// Builds the link to the delivery under which a message's statuses will arrive. The key is our own message id if the
/// provider echoes it, else the provider's id. Returns `None` if the instance's external id or the provider's id is not
/// known.
pub(super) fn make_delivery_link<W: Deps>(
    deps: &W,
    bound: &InstanceConfig,
    message: &Message,
    provider_message_id: Option<&String>,
) -> Option<DeliveryLink> {
    let (provider, instance) = (bound.instance.provider, bound.instance.resolve_external_id()?);
    let key = if capabilities(deps, bound).echoes_our_id {
        DeliveryKey::from_own_id(provider, &instance, &message.message_id())
    } else {
        DeliveryKey::from_provider_id(provider, &instance, provider_message_id?)
    };
    Some(DeliveryLink {
        key,
        provider_message_id: provider_message_id.cloned(),
    })
}

async fn settle_accepted<W: Deps>(
    deps: &W,
    context: SendContext<'_>,
    mut message: Message,
    flight: &InFlightSend,
    provider_message_id: Option<String>,
    simulated: bool,
) -> PortResult<SendStep> {
    let link = make_delivery_link(deps, context.bound, &message, provider_message_id.as_ref());
    message.provider_message_id = provider_message_id;
    let Some(out) = message.out.as_mut() else {
        return Ok(SendStep::Next);
    };
    out.simulated = simulated;
    let attempt = out.attempts;
    if out.mark_sent(deps.system().now(), None).is_err()
        || deps
            .store()
            .settle_message(&message, Some(flight), link.as_ref(), None)
            .await?
            == WriteOutcome::Conflict
    {
        return Ok(RETRY_SOON);
    }
    tracing::info!(ordinal = message.ordinal.0, attempt, simulated, "sent");
    connection_check::record_accepted_send(deps, context, &message, flight.claimed_at).await?;
    Ok(SendStep::Next)
}

/// Moves a message back to `queued` after an attempt in which nothing was sent. The attempt is not counted, and the
/// send job is retried soon.
pub(super) async fn requeue_uncounted<W: Deps>(
    deps: &W,
    mut message: Message,
    flight: &InFlightSend,
    why: &str,
) -> PortResult<SendStep> {
    let Some(out) = message.out.as_mut() else {
        return Ok(SendStep::Next);
    };
    if out.return_to_queue(deps.system().now(), false, why).is_ok() {
        // The result of the write does not matter: the retried send job reads what is stored.
        let _ = deps.store().save_open_message(&message, Some(flight)).await?;
    }
    Ok(RETRY_SOON)
}

async fn retry_or_give_up<W: Deps>(
    deps: &W,
    mut message: Message,
    flight: &InFlightSend,
    why: String,
    after: Option<Duration>,
) -> PortResult<SendStep> {
    let settings = deps.settings();
    let now = deps.system().now();
    let Some(out) = message.out.as_mut() else {
        return Ok(SendStep::Next);
    };
    let attempts = out.attempts;
    if attempts >= settings.attempts.outbound {
        let reason = Reason::MaxRetriesExceeded;
        let buried = give_up_message(deps, message, reason, Some(why)).await?;
        return Ok(if buried { SendStep::Next } else { RETRY_SOON });
    }
    let backoff = settings
        .outbound_backoff
        .delay_for_attempt(attempts, deps.system().random_u64());
    let after = after.map_or(backoff, |asked| asked.max(backoff));
    let milliseconds = i64::try_from(after.as_millis()).unwrap_or(i64::MAX);
    if out.return_to_queue(now, true, &why).is_err() {
        return Ok(RETRY_SOON);
    }
    // Stored in the record, so that no other send job of this conversation attempts the message earlier.
    out.delay_until(add_millis(now, milliseconds));
    if deps.store().save_open_message(&message, Some(flight)).await? == WriteOutcome::Conflict {
        return Ok(RETRY_SOON);
    }
    tracing::warn!(
        ordinal = message.ordinal.0,
        attempt = attempts,
        error = why,
        ?after,
        "attempt failed"
    );
    if milliseconds > PARK_BEYOND_MS {
        return parking::park_conversation(deps, &message, Some(add_millis(now, milliseconds))).await;
    }
    waiting::wait_unless_void(deps, &message, Verdict::Retry { after }).await
}

async fn mark_outcome_unknown<W: Deps>(deps: &W, mut message: Message, why: &str) -> PortResult<SendStep> {
    let Some(out) = message.out.as_mut() else {
        return Ok(SendStep::Next);
    };
    if out.mark_unknown(deps.system().now(), why).is_err()
        || deps.store().save_open_message(&message, None).await? == WriteOutcome::Conflict
    {
        return Ok(RETRY_SOON);
    }
    tracing::warn!(
        ordinal = message.ordinal.0,
        error = why,
        "outcome unknown: looking for evidence before a repeat"
    );
    let after = FIRST_EVIDENCE_CHECK.min(deps.settings().unknown_wait);
    Ok(SendStep::Stop(Verdict::Retry { after }))
}

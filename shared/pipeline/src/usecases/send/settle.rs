//! Stores the outcome of an attempt by a conditional write: nothing is stored if the message was changed meanwhile.

use crate::Deps;
use crate::hooks::after_commit::SendTerms;
use crate::measure::{count_provider_error, count_retry, record_sent_message};
use crate::steps::connection::{record_closed, record_refusal};
use crate::steps::first_contact::stop_first_contacts;
use crate::steps::sending::{PARK_BEYOND, RETRY_SOON, SendContext, StepResult, Stop};
use crate::steps::verdict::Verdict;
use crate::usecases::send::Handled;
use jiff::SignedDuration;
use recado_domain::config::InstanceConfig;
use recado_domain::dead_letter::QueueName;
use recado_domain::delivery::{AwaitedAcknowledgement, DeliveryKey};
use recado_domain::instance::{ConnectionStatus, InFlightSend, InstanceChange, UnansweredAttempt};
use recado_domain::message::Outgoing;
use recado_domain::millis::add_duration;
use recado_domain::reason::Reason;
use recado_ports::ports::{DeliveryLink, PortResult, SendOutcome, WriteOutcome};
use recado_ports::step_commit::{SettlementWrite, StepCommit, StepOutcome, StepRecords};
use std::time::Duration;

/// Time until evidence for an unknown outcome is looked for first. Most statuses have arrived by then.
const FIRST_EVIDENCE_CHECK: SignedDuration = SignedDuration::from_secs(5);

/// Number of attempts in a row without an answer that close an instance, so that its messages are parked. An attempt
/// counts if it timed out or did not reach the provider. A message that times out several times in a row counts once,
/// and the provider is asked before the message is sent again ([`crate::gates::instance_state::ConnectionGate`]).
const TIMEOUTS_MAX: u32 = 2;

/// Stores what the provider's answer tells of the attempt.
pub(super) async fn settle_outcome(
    deps: &Deps,
    context: SendContext<'_>,
    message: &mut Outgoing,
    flight: &InFlightSend,
    outcome: SendOutcome,
) -> StepResult<Handled> {
    let instance = &context.bound.instance.id;
    count_provider_error(instance, &outcome);
    match outcome {
        SendOutcome::Accepted {
            provider_message_id,
            simulated,
            held,
        } => {
            message.out.simulated = simulated;
            message.out.held = held;
            Ok(settle_accepted(deps, context, message, flight, provider_message_id).await?)
        }
        SendOutcome::Disconnected { why } => {
            Box::pin(requeue_uncounted(deps, message, flight, &why)).await?;
            record_closed(deps, instance, ConnectionStatus::Closed, None).await?;
            Err(RETRY_SOON)
        }
        SendOutcome::Credentials { why } => {
            Box::pin(requeue_uncounted(deps, message, flight, &why)).await?;
            record_closed(deps, instance, ConnectionStatus::NeedsCredentials, None).await?;
            Err(RETRY_SOON)
        }
        SendOutcome::Unreached { why } => {
            Box::pin(requeue_uncounted(deps, message, flight, &why)).await?;
            let (attempt, status) = (UnansweredAttempt::Unreached, ConnectionStatus::Unreachable);
            Box::pin(count_timeout(deps, context, attempt, status)).await?;
            Err(RETRY_SOON)
        }
        SendOutcome::Retryable { why, after } => {
            Err(Box::pin(retry_or_give_up(deps, context, message, flight, (why, after))).await?)
        }
        SendOutcome::Unknown { why, timed_out } => {
            let timeout = UnansweredAttempt::TimedOut(message.message_id());
            let stop = Box::pin(store_unknown(deps, message, &why)).await?;
            if timed_out {
                Box::pin(count_timeout(deps, context, timeout, ConnectionStatus::Closed)).await?;
            }
            Err(stop)
        }
        SendOutcome::Refused { why, everything } => {
            let refusal = (why, everything);
            Err(Box::pin(settle_refused(deps, context, message, flight, refusal)).await?)
        }
        SendOutcome::NewChatRefused { why } => {
            Box::pin(stop_first_contacts(deps, instance, message)).await?;
            Err(Stop::GiveUp(Reason::WhatsappPermanentError, Some(why)))
        }
        SendOutcome::Permanent { reason, why } => Err(Stop::GiveUp(reason, Some(why))),
    }
}

/// Collects the terms of a message, which features may change.
pub(super) fn collect_terms<'a>(deps: &'a Deps, bound: &InstanceConfig, message: &Outgoing) -> SendTerms<'a> {
    let mut terms = SendTerms {
        backoff: &deps.settings().outbound_backoff,
        link_kept: bound.tenant.retention.deliveries,
        made_once: None,
    };
    for feature in deps.features().after_commit {
        feature.set_terms(deps, bound, message, &mut terms);
    }
    terms
}

/// Counts a refusal that may be one of the whole instance. Where it is, the message waits with all others; else it is given up.
async fn settle_refused(
    deps: &Deps,
    context: SendContext<'_>,
    message: &mut Outgoing,
    flight: &InFlightSend,
    (why, everything): (String, bool),
) -> PortResult<Stop> {
    let refusal = (why.clone(), everything);
    let instance = &context.bound.instance.id;
    if everything {
        requeue_uncounted(deps, message, flight, &why).await?;
        record_refusal(deps, instance, Some(&message.conversation), refusal).await?;
        return Ok(RETRY_SOON);
    }
    if !record_refusal(deps, instance, Some(&message.conversation), refusal).await? {
        return Ok(Stop::GiveUp(Reason::WhatsappPermanentError, Some(why)));
    }
    requeue_uncounted(deps, message, flight, &why).await?;
    Ok(RETRY_SOON)
}

/// Counts an attempt that got no answer. After [`TIMEOUTS_MAX`] such attempts in a row, the instance becomes `closed`.
async fn count_timeout(
    deps: &Deps,
    context: SendContext<'_>,
    timeout: UnansweredAttempt,
    closed: ConnectionStatus,
) -> PortResult<()> {
    let instance = &context.bound.instance.id;
    let seen = context.known.cloned().unwrap_or_default();
    let timeout = InstanceChange::Unanswered(timeout);
    let changed = deps
        .store()
        .change_instance_state(instance, &seen, &timeout)
        .await?;
    if changed.state.timeouts >= TIMEOUTS_MAX {
        record_closed(deps, instance, closed, None).await?;
    }
    Ok(())
}

/// Builds the link to the delivery under which a message's statuses will arrive. The key is our own message id if the
/// provider echoes it, else the provider's id. Returns `None` if the instance's external id or the provider's id is not
/// known.
fn make_delivery_link(deps: &Deps, context: SendContext<'_>, message: &Outgoing) -> Option<DeliveryLink> {
    let bound = context.bound;
    let provider_message_id = message.provider_message_id.clone();
    let (provider, instance) = (bound.instance.provider, bound.instance.resolve_external_id()?);
    let provider_key = provider_message_id
        .as_ref()
        .map(|id| DeliveryKey::from_provider_id(provider, &instance, id));
    let (key, provider_key) = if context.capabilities.echoes_our_id {
        let own = DeliveryKey::from_own_id(provider, &instance, &message.message_id());
        (own, provider_key)
    } else {
        (provider_key?, None)
    };
    let acknowledgement = await_acknowledgement(deps, context, message);
    let kept = collect_terms(deps, bound, message).link_kept;
    Some(DeliveryLink {
        key,
        provider_key,
        provider_message_id,
        expires: add_duration(deps.system().now(), kept.to_duration()),
        acknowledgement,
    })
}

/// Returns the acknowledgement that a message waits for once the provider has accepted it; `None` if it waits for none: the
/// provider's word suffices, or the wait is switched off. Reactions, edits and deletions are not waited for.
fn await_acknowledgement(
    deps: &Deps,
    context: SendContext<'_>,
    message: &Outgoing,
) -> Option<AwaitedAcknowledgement> {
    let wait = deps.settings().acknowledgement_wait;
    let is_awaited = context.capabilities.acceptance_is_local
        && wait.is_positive()
        && !message.out.simulated
        && !message.content.changes_target();
    let accepted_at = deps.system().now();
    is_awaited.then(|| AwaitedAcknowledgement {
        tenant: message.tenant.clone(),
        instance: message.instance.clone(),
        accepted_at,
        due: add_duration(accepted_at, wait),
    })
}

/// Marks a message as sent under the provider's id of it. `finished_send` is the attempt whose answer tells this; `why` is the
/// evidence if it was not told by an answer. What features store beside the record is stored before it: afterwards nobody would come
/// back.
pub(super) async fn store_sent(
    deps: &Deps,
    context: SendContext<'_>,
    message: &mut Outgoing,
    provider_message_id: Option<String>,
    finished_send: Option<&InFlightSend>,
    why: Option<&str>,
) -> PortResult<WriteOutcome> {
    let sent_to = message.out.attempt_address().clone();
    message.provider_message_id = provider_message_id;
    let link = make_delivery_link(deps, context, message);
    for feature in deps.features().after_commit {
        feature.complete_sent_message(deps, message).await?;
    }
    let why = why.map(str::to_owned);
    if message.out.mark_sent(deps.system().now(), why).is_err() {
        return Ok(WriteOutcome::Conflict);
    }
    let record = Box::new(message.to_record());
    let step = StepCommit {
        records: StepRecords::Settlement(SettlementWrite {
            message: &record,
            finished_send,
            link: link.as_ref(),
        }),
        jobs: Vec::new(),
        acknowledges: context.ends_job,
        takes_jobs: false,
    };
    if deps.commit_step(&step).await? != StepOutcome::Committed {
        return Ok(WriteOutcome::Conflict);
    }
    for feature in deps.features().after_commit {
        let sent = feature.message_was_sent(deps, context.bound, message, &sent_to);
        sent.await?;
    }
    record_sent_message(message, deps.system().now());
    Ok(WriteOutcome::Written)
}

async fn settle_accepted(
    deps: &Deps,
    context: SendContext<'_>,
    message: &mut Outgoing,
    flight: &InFlightSend,
    provider_message_id: Option<String>,
) -> PortResult<Handled> {
    let stored = store_sent(deps, context, message, provider_message_id, Some(flight), None);
    if stored.await? == WriteOutcome::Conflict {
        return Ok(Handled::RETRY_SOON);
    }
    let (attempt, simulated) = (message.out.attempts, message.out.simulated);
    tracing::info!(ordinal = message.ordinal.0, attempt, simulated, "sent");
    if let Some(held) = message.out.held {
        tracing::warn!(
            ordinal = message.ordinal.0,
            held = held.as_str(),
            "the provider holds the message back"
        );
    }
    for feature in deps.features().after_commit {
        let accepted = feature.attempt_was_accepted(deps, context, message, flight.claimed_at);
        accepted.await?;
    }
    Ok(Handled::Finished)
}

/// Moves a message back to `queued` after an attempt in which nothing was sent. The attempt is not counted. The caller
/// retries the send job soon.
pub(super) async fn requeue_uncounted(
    deps: &Deps,
    message: &mut Outgoing,
    flight: &InFlightSend,
    why: &str,
) -> PortResult<()> {
    let now = deps.system().now();
    if message.out.return_to_queue(now, false, why).is_ok() {
        // The result of the write does not matter: the retried send job reads what is stored.
        let _ = deps
            .store()
            .save_open_message(&message.to_record(), Some(flight))
            .await?;
    }
    Ok(())
}

/// Queues a message again after an attempt that failed and may succeed later. When its attempts are used up, it is given up instead.
/// Returns the stop of the message.
async fn retry_or_give_up(
    deps: &Deps,
    context: SendContext<'_>,
    message: &mut Outgoing,
    flight: &InFlightSend,
    (why, after): (String, Option<Duration>),
) -> PortResult<Stop> {
    let settings = deps.settings();
    let now = deps.system().now();
    let attempts = message.out.attempts;
    if attempts >= settings.attempts.outbound {
        return Ok(Stop::GiveUp(Reason::MaxRetriesExceeded, Some(why)));
    }
    let backoff = collect_terms(deps, context.bound, message).backoff;
    let backoff = backoff.delay_for_attempt(attempts, deps.system().random_u64());
    let asked = after.map(|after| SignedDuration::try_from(after).unwrap_or(SignedDuration::MAX));
    let after = asked.map_or(backoff, |asked| asked.max(backoff));
    let retry_at = add_duration(now, after);
    if message.out.return_to_queue(now, true, &why).is_err() {
        return Ok(RETRY_SOON);
    }
    // Stored in the record, so that no other send job of this conversation attempts the message earlier.
    message.out.delay_until(retry_at);
    let record = message.to_record();
    let saved = deps.store().save_open_message(&record, Some(flight)).await?;
    if saved == WriteOutcome::Conflict {
        return Ok(RETRY_SOON);
    }
    count_retry(&message.instance, QueueName::Outbound);
    tracing::warn!(
        ordinal = message.ordinal.0,
        attempt = attempts,
        error = why,
        ?after,
        "attempt failed"
    );
    if after > PARK_BEYOND {
        return Ok(Stop::Park(Some(retry_at)));
    }
    Ok(Stop::Wait(Verdict::Retry { after }))
}

/// Stores that the outcome of the attempt is unknown. Returns the stop with which the send job ends.
async fn store_unknown(deps: &Deps, message: &mut Outgoing, why: &str) -> PortResult<Stop> {
    let now = deps.system().now();
    if message.out.mark_unknown(now, why).is_err()
        || deps.store().save_open_message(&message.to_record(), None).await? == WriteOutcome::Conflict
    {
        return Ok(RETRY_SOON);
    }
    tracing::warn!(
        ordinal = message.ordinal.0,
        error = why,
        "outcome unknown: looking for evidence before a repeat"
    );
    let after = FIRST_EVIDENCE_CHECK.min(deps.settings().unknown_wait);
    Ok(Stop::Later(Verdict::Retry { after }))
}

//! Looks for evidence of a send with unknown outcome before the message is repeated or given up.

use crate::Deps;
use crate::measure::count_retry;
use crate::steps::linked_threads::{find_latest_conversation, other_name};
use crate::steps::outgoing::to_outgoing_message;
use crate::steps::sending::{RETRY_SOON, SendContext, StepResult, Stop};
use crate::steps::verdict::Verdict;
use crate::usecases::send::Handled;
use crate::usecases::send::settle::{collect_terms, store_sent};
use jiff::SignedDuration;
use recado_domain::config::InstanceConfig;
use recado_domain::contact::ContactAddress;
use recado_domain::dead_letter::QueueName;
use recado_domain::delivery::{Delivery, DeliveryKey, DeliveryStatus};
use recado_domain::ids::Nonce;
use recado_domain::instance::{ConnectionStatus, InFlightSend};
use recado_domain::message::Outgoing;
use recado_domain::millis::add_duration;
use recado_domain::outbox::OutboxState;
use recado_domain::reason::Reason;
use recado_ports::ports::{PortResult, SendEvidence, WriteOutcome};

/// Interval between two checks for evidence.
const EVIDENCE_CHECK_INTERVAL: SignedDuration = SignedDuration::from_secs(30);

/// Finds out how the last attempt at a message ended. Without evidence the message waits, is repeated or is given up.
pub(super) async fn reconcile_outcome(
    deps: &Deps,
    context: SendContext<'_>,
    message: &mut Outgoing,
) -> StepResult<Handled> {
    let now = deps.system().now();
    let OutboxState::Unknown { nonce, claimed_at } = message.out.state.clone() else {
        return Err(RETRY_SOON);
    };
    // Of a first attempt every failure counts.
    let counts_from = message.out.repeated_at().and(Some(claimed_at));
    if let Some(delivery) = find_own_delivery(deps, context.bound, message).await?
        && let Some(status) = delivery.status_since_claim(counts_from)
    {
        if status == DeliveryStatus::Failed {
            return Err(FAILED_LATER);
        }
        let id = delivery.provider_message_id;
        return Ok(settle_as_sent(deps, context, message, id, FOUND_AT_PROVIDER).await?);
    }
    match find_echo_evidence(deps, context.bound, message, Some(&nonce)).await? {
        EchoEvidence::Nothing => {}
        EchoEvidence::Failed => return Err(FAILED_LATER),
        EchoEvidence::Echo(id) => {
            return Ok(settle_as_sent(deps, context, message, Some(id), TOLD_BY_ECHO_OR_STATUS).await?);
        }
    }
    let asked = to_outgoing_message(message);
    let also = other_names(deps, message, &asked.to).await?;
    let evidence = deps
        .providers()
        .find_send_evidence(context.bound, &asked, &also, claimed_at)
        .await;
    match evidence {
        SendEvidence::Sent { provider_message_id } => {
            let found = provider_message_id.as_ref();
            match match_evidence(deps, context, message, found, counts_from).await? {
                EvidenceMatch::Another => {}
                EvidenceMatch::Unclear { until } => {
                    return Err(Stop::Later(Verdict::retry_at(until, now)));
                }
                EvidenceMatch::Failed => return Err(FAILED_LATER),
                EvidenceMatch::Ours => {
                    let id = provider_message_id;
                    return Ok(settle_as_sent(deps, context, message, id, FOUND_AT_PROVIDER).await?);
                }
            }
        }
        // The provider could not be asked, which is no evidence that the message was not sent.
        SendEvidence::Unclear => return Err(wait_for_provider(deps, message, claimed_at).await?),
        SendEvidence::None => {}
    }
    Err(wait_then_repeat(deps, context, message, claimed_at, now).await?)
}

/// The stop of a message that failed after the provider had accepted it.
const FAILED_LATER: Stop = Stop::GiveUp(Reason::WhatsappPermanentError, None);

/// Looks for evidence again until the setting `unknown_wait` has passed since the claim. Then the message is repeated
/// or given up.
async fn wait_then_repeat(
    deps: &Deps,
    context: SendContext<'_>,
    message: &mut Outgoing,
    claimed_at: jiff::Timestamp,
    now: jiff::Timestamp,
) -> PortResult<Stop> {
    let over = add_duration(claimed_at, deps.settings().unknown_wait);
    if now < over {
        let left = over.duration_since(now);
        return Ok(Stop::Later(Verdict::Retry {
            after: left.min(EVIDENCE_CHECK_INTERVAL),
        }));
    }
    repeat_or_give_up(deps, context, message).await
}

/// Returns the recipient's other addresses, under which the provider may keep the chat. For a phone number these are
/// the identities without a number; for an identity without a number, the phone numbers.
async fn other_names(
    deps: &Deps,
    message: &Outgoing,
    to: &ContactAddress,
) -> PortResult<Vec<ContactAddress>> {
    let (_, newest) = find_latest_conversation(deps, message.conversation.thread_id().clone()).await?;
    let Some(newest) = newest else {
        return Ok(Vec::new());
    };
    let learnt = other_name(deps, &newest).await?;
    let mut names: Vec<ContactAddress> = learnt.into_iter().chain([newest.address]).collect();
    names.retain(|name| name.is_numberless() != to.is_numberless());
    Ok(names)
}

/// Queues a message again, marked `maybe_sent`, because there is no evidence that it was sent. When its attempts are
/// used up, the message is given up instead.
async fn repeat_or_give_up(
    deps: &Deps,
    context: SendContext<'_>,
    message: &mut Outgoing,
) -> PortResult<Stop> {
    if let Some(why) = collect_terms(deps, context.bound, message).made_once {
        return Ok(Stop::GiveUp(Reason::UnknownOutcome, Some(why.to_owned())));
    }
    if message.out.restored && !context.capabilities.has_history {
        let why = "restored from a backup, and the provider cannot be asked what was sent since".to_owned();
        return Ok(Stop::GiveUp(Reason::UnknownOutcome, Some(why)));
    }
    if message.out.attempts >= deps.settings().attempts.outbound {
        let why = "no evidence that the last attempt was sent".to_owned();
        return Ok(Stop::GiveUp(Reason::UnknownOutcome, Some(why)));
    }
    if message.out.requeue_unknown(deps.system().now()).is_ok() {
        // If another worker was faster, the retried send job reads what it stored. The in-flight note stays: a hung
        // request may go out late, and its echo must not count as typed on the phone.
        if deps.store().save_open_message(&message.to_record(), None).await? == WriteOutcome::Written {
            count_retry(&message.instance, QueueName::Outbound);
        }
        tracing::warn!(
            ordinal = message.ordinal.0,
            "no evidence that it was sent: it is sent again, and marked"
        );
    }
    Ok(RETRY_SOON)
}

/// Returns the delivery that the instance's statuses reported under our own message id. Returns `None` if there is no
/// delivery, or if the instance has no external id.
async fn find_own_delivery(
    deps: &Deps,
    bound: &InstanceConfig,
    message: &Outgoing,
) -> PortResult<Option<Delivery>> {
    let Some(external) = bound.instance.resolve_external_id() else {
        return Ok(None);
    };
    let key = DeliveryKey::from_own_id(bound.instance.provider, &external, &message.message_id());
    deps.store().find_delivery(&key).await
}

/// Waits because the provider could not be asked for evidence. While the instance is closed, the conversation is
/// parked; while it is open, the send job is retried. Once the claim is as old as the setting `parked_max`, the message
/// is given up.
async fn wait_for_provider(deps: &Deps, message: &Outgoing, claimed_at: jiff::Timestamp) -> PortResult<Stop> {
    if deps.system().now() >= add_duration(claimed_at, deps.settings().parked_max) {
        let why = "the provider could not be asked".to_owned();
        return Ok(Stop::GiveUp(Reason::UnknownOutcome, Some(why)));
    }
    let state = deps.store().read_instance_state(&message.instance).await?;
    if state.connection != ConnectionStatus::Open {
        return Ok(Stop::Park(None));
    }
    Ok(Stop::Later(Verdict::Retry {
        after: EVIDENCE_CHECK_INTERVAL,
    }))
}

/// The result of comparing evidence from the provider with the known deliveries.
enum EvidenceMatch {
    /// The evidence is known to belong to another message of equal text, or to an earlier attempt that failed.
    Another,
    /// The evidence may belong to a message of equal text whose attempt runs until this time.
    Unclear { until: jiff::Timestamp },
    /// The evidence belongs to our message, which failed after the provider had accepted it.
    Failed,
    /// The evidence belongs to our message.
    Ours,
}

async fn match_evidence(
    deps: &Deps,
    context: SendContext<'_>,
    message: &Outgoing,
    found: Option<&String>,
    counts_from: Option<jiff::Timestamp>,
) -> PortResult<EvidenceMatch> {
    let instance = &context.bound.instance;
    let (Some(id), Some(external)) = (found, instance.resolve_external_id()) else {
        return Ok(EvidenceMatch::Ours);
    };
    let key = DeliveryKey::from_provider_id(instance.provider, &external, id);
    // The notes are read before the delivery: an attempt whose note is gone by then has linked its delivery.
    let flights = deps.store().list_in_flight(&message.instance).await?;
    let delivery = deps.store().find_delivery(&key).await?;
    let linked = delivery.as_ref().and_then(|delivery| delivery.message.as_ref());
    if linked.is_some_and(|known| *known != message.message_id()) {
        return Ok(EvidenceMatch::Another);
    }
    // A status can arrive before the provider's answer: then the delivery is stored, and linked to no message yet.
    if linked.is_none()
        && let Some(until) = find_running_equal(&flights, message, deps.system().now())
    {
        return Ok(EvidenceMatch::Unclear { until });
    }
    let Some(delivery) = delivery else {
        return Ok(EvidenceMatch::Ours);
    };
    // When this status arrived, the delivery was linked to no message, so a failure was not applied yet.
    Ok(match delivery.status_since_claim(counts_from) {
        Some(DeliveryStatus::Failed) => EvidenceMatch::Failed,
        // It failed before this attempt was claimed, so an earlier attempt brought it.
        None if delivery.status == Some(DeliveryStatus::Failed) => EvidenceMatch::Another,
        _ => EvidenceMatch::Ours,
    })
}

/// Returns until when another attempt runs that sends the same text to what may be the same contact. The provider may
/// have accepted that one, while its id is not linked yet. A person's two conversations may send side by side.
fn find_running_equal(
    flights: &[InFlightSend],
    message: &Outgoing,
    now: jiff::Timestamp,
) -> Option<jiff::Timestamp> {
    let id = message.message_id();
    let own = flights.iter().find(|flight| flight.message == id)?;
    let others = flights.iter().filter(|flight| flight.message != id);
    let equal = others.filter(|other| {
        other.text_hash == own.text_hash && other.until > now && other.may_be_addressed_to(&own.to, None)
    });
    equal.map(|other| other.until).max()
}

/// The evidence that echoes give about a message's attempts.
enum EchoEvidence {
    /// No echo shows that an attempt was sent.
    Nothing,
    /// The attempt with the unknown outcome was sent and failed later.
    Failed,
    /// An attempt was sent; the provider gave it this id.
    Echo(String),
}

/// Looks for evidence in the echoes that were matched to attempts at `message`. `attempt` is the attempt whose outcome
/// is unknown; `None` if a failure is of no interest.
async fn find_echo_evidence(
    deps: &Deps,
    bound: &InstanceConfig,
    message: &Outgoing,
    attempt: Option<&Nonce>,
) -> PortResult<EchoEvidence> {
    let (Some(external), id) = (bound.instance.resolve_external_id(), message.message_id()) else {
        return Ok(EchoEvidence::Nothing);
    };
    for flight in deps.store().list_in_flight(&message.instance).await? {
        let Some(echo) = flight.echo.filter(|_| flight.message == id) else {
            continue;
        };
        let key = DeliveryKey::from_provider_id(bound.instance.provider, &external, &echo);
        // The failure stands under the provider's id, or under our own with the provider's beside it.
        let own = find_own_delivery(deps, bound, message).await?;
        let own = own.filter(|own| own.provider_message_id.as_ref() == Some(&echo));
        let told = deps.store().find_delivery(&key).await?.into_iter().chain(own);
        let mut statuses = told.filter_map(|delivery| delivery.status);
        if !statuses.any(|status| status == DeliveryStatus::Failed) {
            return Ok(EchoEvidence::Echo(echo));
        }
        if attempt == Some(&flight.nonce) {
            return Ok(EchoEvidence::Failed);
        }
    }
    Ok(EchoEvidence::Nothing)
}

/// Marks a message as sent if evidence of an earlier attempt appeared after it was queued again. `None`: there is none. Called
/// for what is marked `maybe_sent`, before it is sent again or cancelled.
pub(super) async fn settle_if_already_sent(
    deps: &Deps,
    context: SendContext<'_>,
    message: &Outgoing,
) -> PortResult<Option<Handled>> {
    let id = match find_echo_evidence(deps, context.bound, message, None).await? {
        EchoEvidence::Echo(id) => Some(id),
        EchoEvidence::Nothing | EchoEvidence::Failed => {
            let delivery = find_own_delivery(deps, context.bound, message).await?;
            let is_good = |status: DeliveryStatus| status != DeliveryStatus::Failed;
            let reached = |delivery: &Delivery| delivery.status.is_some_and(is_good);
            let Some(delivery) = delivery.filter(reached) else {
                return Ok(None);
            };
            delivery.provider_message_id
        }
    };
    let mut sent = message.clone();
    let settles = settle_as_sent(deps, context, &mut sent, id, TOLD_BY_ECHO_OR_STATUS);
    Box::pin(settles).await.map(Some)
}

/// Texts in the history of a message that turned out to have been sent.
const FOUND_AT_PROVIDER: &str = "found at the provider";
const TOLD_BY_ECHO_OR_STATUS: &str = "told by its echo or its status";

/// Marks a message as sent because evidence was found. The in-flight note of the attempt stays: the evidence may belong
/// to another attempt, and the request of this attempt may still go out.
async fn settle_as_sent(
    deps: &Deps,
    context: SendContext<'_>,
    message: &mut Outgoing,
    provider_message_id: Option<String>,
    why: &str,
) -> PortResult<Handled> {
    let stored = store_sent(deps, context, message, provider_message_id, None, Some(why));
    if stored.await? == WriteOutcome::Conflict {
        return Ok(Handled::RETRY_SOON);
    }
    tracing::info!(ordinal = message.ordinal.0, "it had been sent");
    Ok(Handled::Finished)
}

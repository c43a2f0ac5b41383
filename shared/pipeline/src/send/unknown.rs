//! An unknown outcome is reconciled with the provider's evidence before anything is repeated.

use super::attempt::outgoing;
use super::parking::park;
use super::settle::link;
use super::{Context, LOST, Step};
use crate::World;
use crate::dead::give_up_message;
use crate::person::{latest, other_name};
use crate::ports::{Ambient, Deliveries, Evidence, Instances, OutboxStore, PortResult, Providers, Written};
use crate::verdict::Verdict;
use crate::world::traits;
use recado_domain::config::Bound;
use recado_domain::contact::ContactAddress;
use recado_domain::delivery::{Delivery, DeliveryKey, DeliveryStatus};
use recado_domain::ids::Nonce;
use recado_domain::instance::Connection;
use recado_domain::message::Message;
use recado_domain::millis::shift;
use recado_domain::outbox::{Outbox, OutboxState};
use recado_domain::reason::Reason;
use std::time::Duration;

/// How long to wait between two looks.
const BETWEEN_LOOKS: Duration = Duration::from_secs(30);

pub(super) async fn reconcile<W: World>(
    world: &W,
    context: Context<'_>,
    message: Message,
) -> PortResult<Step> {
    let now = world.ambient().now();
    let Some(OutboxState::Unknown { nonce, claimed_at }) = message.out.as_ref().map(|out| out.state.clone())
    else {
        return Ok(LOST);
    };
    if let Some(delivery) = told(world, context.bound, &message).await?
        && let Some(status) = delivery.status_since(Some(claimed_at))
    {
        if status == DeliveryStatus::Failed {
            return failed(world, message).await;
        }
        return sent(world, context, message, delivery.provider_message_id, FOUND).await;
    }
    match heard(world, context.bound, &message, Some(&nonce)).await? {
        Heard::Nothing => {}
        Heard::Failed => return failed(world, message).await,
        Heard::Echo(id) => return sent(world, context, message, Some(id), ECHO).await,
    }
    let Some(asked) = outgoing(&message) else {
        return Ok(Step::Next);
    };
    let also = other_names(world, &message, &asked.to).await?;
    let evidence = world
        .providers()
        .evidence(context.bound, &asked, &also, claimed_at)
        .await;
    match evidence {
        Evidence::Sent { provider_message_id } => {
            let found = provider_message_id.as_ref();
            match what_is(world, context, &message, found, claimed_at).await? {
                Found::Another => {}
                Found::Failed => return failed(world, message).await,
                Found::Ours => return sent(world, context, message, provider_message_id, FOUND).await,
            }
        }
        // Nobody could be asked: that is no evidence that it was not sent.
        Evidence::Unclear => return not_answered(world, message, claimed_at).await,
        Evidence::None => {}
    }
    let wait = i64::try_from(world.settings().unknown_wait.as_millis()).unwrap_or(i64::MAX);
    let over = shift(claimed_at, wait);
    if now < over {
        let left = Duration::from_millis((over.as_millisecond() - now.as_millisecond()).unsigned_abs());
        return Ok(Step::Stop(Verdict::ComeBack {
            after: left.min(BETWEEN_LOOKS),
        }));
    }
    repeat(world, message).await
}

/// What else the recipient is known as: under a number the identity without one, under such an identity the number. A
/// provider may keep the chat under either.
async fn other_names<W: World>(
    world: &W,
    message: &Message,
    to: &ContactAddress,
) -> PortResult<Vec<ContactAddress>> {
    let (_, newest) = latest(world, message.conversation.thread().clone()).await?;
    let Some(newest) = newest else {
        return Ok(Vec::new());
    };
    let learnt = other_name(world, &newest).await?;
    let mut names: Vec<ContactAddress> = learnt.into_iter().chain([newest.address]).collect();
    names.retain(|name| name.is_numberless() != to.is_numberless());
    Ok(names)
}

/// Nothing tells that it was sent: it is queued again, and marked, or given up when its attempts are used up.
async fn repeat<W: World>(world: &W, mut message: Message) -> PortResult<Step> {
    let limit = world.settings().attempts.outbound;
    if message.out.as_ref().is_some_and(|out| out.attempts >= limit) {
        let why = Some("no evidence that the last attempt was sent".to_owned());
        let buried = give_up_message(world, message, Reason::UnknownOutcome, why).await?;
        return Ok(if buried { Step::Next } else { LOST });
    }
    let Some(out) = message.out.as_mut() else {
        return Ok(Step::Next);
    };
    if out.repeat(world.ambient().now()).is_ok() {
        // Won or lost, the kick comes back and looks at what is stored. The note of the attempt stays: a hung request
        // may go out late, and its echo must not count as typed on the phone.
        let _ = world.store().save_open(&message, None).await?;
        tracing::warn!(
            ordinal = message.ordinal.0,
            "no evidence that it was sent: it is sent again, and marked"
        );
    }
    Ok(LOST)
}

/// What statuses of this very instance said of the message, under our own id.
async fn told<W: World>(world: &W, bound: &Bound, message: &Message) -> PortResult<Option<Delivery>> {
    let Some(external) = bound.instance.external() else {
        return Ok(None);
    };
    let key = DeliveryKey::own(bound.instance.provider, &external, &message.id());
    world.store().delivery(&key).await
}

/// The provider could not be asked: wait beside the queue while its instance is closed, in it while it is open, and give
/// up after as long as messages wait for an instance.
async fn not_answered<W: World>(
    world: &W,
    message: Message,
    claimed_at: jiff::Timestamp,
) -> PortResult<Step> {
    let limit = world.settings().patience_ms();
    if world.ambient().now() >= shift(claimed_at, limit) {
        let why = Some("the provider could not be asked".to_owned());
        let buried = give_up_message(world, message, Reason::UnknownOutcome, why).await?;
        return Ok(if buried { Step::Next } else { LOST });
    }
    let state = world.store().instance_state(&message.instance).await?;
    if state.connection != Connection::Open {
        return park(world, &message, None).await;
    }
    Ok(Step::Stop(Verdict::ComeBack { after: BETWEEN_LOOKS }))
}

/// What was found at the provider.
enum Found {
    /// It is known to be another message of equal text.
    Another,
    /// It is ours, and failed after it was accepted.
    Failed,
    /// It is ours.
    Ours,
}

async fn what_is<W: World>(
    world: &W,
    context: Context<'_>,
    message: &Message,
    found: Option<&String>,
    claimed_at: jiff::Timestamp,
) -> PortResult<Found> {
    let instance = &context.bound.instance;
    let (Some(id), Some(external)) = (found, instance.external()) else {
        return Ok(Found::Ours);
    };
    let key = DeliveryKey::provider(instance.provider, &external, id);
    let Some(delivery) = world.store().delivery(&key).await? else {
        return Ok(Found::Ours);
    };
    if delivery
        .message
        .as_ref()
        .is_some_and(|known| *known != message.id())
    {
        return Ok(Found::Another);
    }
    // The event that said so found nothing that it could be about.
    Ok(match delivery.status_since(Some(claimed_at)) {
        Some(DeliveryStatus::Failed) => Found::Failed,
        _ => Found::Ours,
    })
}

async fn failed<W: World>(world: &W, message: Message) -> PortResult<Step> {
    let reason = Reason::WhatsappPermanentError;
    let buried = give_up_message(world, message, reason, None).await?;
    Ok(if buried { Step::Next } else { LOST })
}

/// What echoes say of a message's attempts.
enum Heard {
    /// Nothing.
    Nothing,
    /// The attempt that is asked about was sent and failed.
    Failed,
    /// One was sent, under this id.
    Echo(String),
}

/// What the echoes that were taken for attempts at `message` say; `attempt` is the one whose outcome is asked for.
async fn heard<W: World>(
    world: &W,
    bound: &Bound,
    message: &Message,
    attempt: Option<&Nonce>,
) -> PortResult<Heard> {
    let (Some(external), id) = (bound.instance.external(), message.id()) else {
        return Ok(Heard::Nothing);
    };
    if traits(world, bound).echoes_our_id {
        return Ok(Heard::Nothing);
    }
    for flight in world.store().in_flight(&message.instance).await? {
        let Some(echo) = flight.echo.filter(|_| flight.message == id) else {
            continue;
        };
        let key = DeliveryKey::provider(bound.instance.provider, &external, &echo);
        let delivery = world.store().delivery(&key).await?;
        if delivery.and_then(|delivery| delivery.status) != Some(DeliveryStatus::Failed) {
            return Ok(Heard::Echo(echo));
        }
        if attempt == Some(&flight.nonce) {
            return Ok(Heard::Failed);
        }
    }
    Ok(Heard::Nothing)
}

/// Before a message that may have been sent is sent again: whether it turned out meanwhile that it was.
pub(super) async fn arrived<W: World>(
    world: &W,
    context: Context<'_>,
    message: &Message,
) -> PortResult<Option<Step>> {
    let claimed_at = message.out.as_ref().and_then(Outbox::claimed_at);
    let found = match heard(world, context.bound, message, None).await? {
        Heard::Echo(id) => Some(Some(id)),
        Heard::Nothing | Heard::Failed => {
            let delivery = told(world, context.bound, message).await?;
            let reached = |delivery: &Delivery| {
                delivery
                    .status_since(claimed_at)
                    .is_some_and(|status| status != DeliveryStatus::Failed)
            };
            delivery
                .filter(reached)
                .map(|delivery| delivery.provider_message_id)
        }
    };
    match found {
        None => Ok(None),
        Some(id) => sent(world, context, message.clone(), id, ECHO).await.map(Some),
    }
}

/// How it is known that a message was sent.
const FOUND: &str = "found at the provider";
const ECHO: &str = "told by its echo or its status";

/// It was sent after all. The note of the attempt stays: what was found may be another attempt's, and this one's request may
/// still go out.
async fn sent<W: World>(
    world: &W,
    context: Context<'_>,
    mut message: Message,
    provider_message_id: Option<String>,
    why: &str,
) -> PortResult<Step> {
    let link = link(world, context.bound, &message, provider_message_id.as_ref());
    message.provider_message_id = provider_message_id;
    let Some(out) = message.out.as_mut() else {
        return Ok(Step::Next);
    };
    if out.accept(world.ambient().now(), Some(why.to_owned())).is_err()
        || world.store().settle(&message, None, link.as_ref(), None).await? == Written::Conflict
    {
        return Ok(LOST);
    }
    tracing::info!(ordinal = message.ordinal.0, "it had been sent");
    Ok(Step::Next)
}

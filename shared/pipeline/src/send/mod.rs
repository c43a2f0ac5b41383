//! sender: the only code that sends. A kick names a conversation and an ordinal; every open message of the contact up to it
//! is taken in order, and the first that cannot be finished now stops the kick.

mod attempt;
mod beside;
mod cancel;
mod file;
mod fresh;
mod parking;
mod settle;
mod unknown;
mod waiting;
mod window;

use crate::World;
use crate::dead::bury;
use crate::kick;
use crate::ports::{
    Ambient, Conversations, DeadLetters, Directory, OutboxStore, PortError, PortResult, Written,
};
use crate::queued::{self, RECEIVES_HALF};
use crate::verdict::Verdict;
use cancel::Epochs;
use jiff::Timestamp;
use recado_domain::config::Bound;
use recado_domain::dead_letter::QueueName;
use recado_domain::instance::InstanceState;
use recado_domain::kick::{Redrive, SendKick};
use recado_domain::message::Message;
use recado_domain::outbox::OutboxState;
use tracing::Instrument;

/// What became of one message.
#[derive(Debug)]
enum Step {
    /// It is finished: the next one.
    Next,
    /// It was void and is cancelled: the next one, and what else of the agent's is as old is void too.
    Void,
    /// It is not: the kick ends so.
    Stop(Verdict),
}

/// A failed condition means stop and come back: whoever goes on sends reply 2 before reply 1.
const LOST: Step = Step::Stop(Verdict::SOON);

/// What the history says of an attempt whose function ended before its outcome was known.
pub(crate) const LEASE_ENDED: &str = "the attempt's lease ended without an outcome";

/// What a kick is handled with.
#[derive(Debug, Clone, Copy)]
struct Context<'a> {
    bound: &'a Bound,
    /// When the function's time runs out.
    deadline: Option<Timestamp>,
    /// What the instance's state was when the message got its slot.
    known: Option<&'a InstanceState>,
}

/// Handles one message of `outbound`, received for the `receives`th time. No attempt is begun that may not end before
/// `deadline`.
pub async fn send<W: World>(world: &W, body: &str, receives: u32, deadline: Option<Timestamp>) -> Verdict {
    let kick: SendKick = match queued::read(world, QueueName::Outbound, body).await {
        Ok(kick) => kick,
        Err(verdict) => return verdict,
    };
    let span = tracing::info_span!(
        "send", conversation_id = %kick.conversation, correlation_id = %kick.correlation, receives
    );
    async {
        // In a box: thousands of these may wait side by side.
        let worked = Box::pin(all(world, &kick, receives, deadline)).await;
        queued::verdict(world, worked, &world.settings().outbound_backoff, receives)
    }
    .instrument(span)
    .await
}

async fn all<W: World>(
    world: &W,
    kick: &SendKick,
    receives: u32,
    deadline: Option<Timestamp>,
) -> PortResult<Verdict> {
    if receives >= RECEIVES_HALF {
        tracing::warn!("a kick that came back often is sent anew");
        kick::anew(world, kick).await?;
        return Ok(Verdict::Done);
    }
    if let Some(redrive) = &kick.redrive {
        revive(world, redrive).await?;
    }
    let open = world.store().open(kick.thread()).await?;
    let Some(instance) = open.first().map(|message| message.instance.clone()) else {
        return Ok(Verdict::Done);
    };
    let Some(bound) = world.store().bound_by_id(&instance).await? else {
        tracing::error!(instance_id = %instance, "message of an instance that is no longer configured");
        return Ok(Verdict::ComeBack {
            after: recado_domain::backoff::WAIT_MAX,
        });
    };
    let context = Context {
        bound: &bound,
        deadline,
        known: None,
    };
    let mut epochs = Epochs::of(&open);
    for message in open.iter().filter(|message| kick.takes(message)) {
        let step = if epochs.is_void(message) {
            void(world, context, message).await?
        } else if message.reply() == kick.reply {
            match beside::first(world, context, message).await? {
                waits @ Step::Stop(_) => waits,
                Step::Next | Step::Void => one(world, context, message.clone()).await?,
            }
        } else {
            elsewhere(world, context, kick, message).await?
        };
        match step {
            Step::Next => {}
            Step::Void => epochs.note_void(message),
            Step::Stop(verdict) => return Ok(verdict),
        }
    }
    Ok(Verdict::Done)
}

/// A void reply is cancelled before its time and its slot are looked at: what comes behind it must not wait for them.
async fn void<W: World>(world: &W, context: Context<'_>, message: &Message) -> PortResult<Step> {
    if let Some(step) = arrived(world, context, message).await? {
        return Ok(step);
    }
    cancel::cancel(world, message).await
}

/// A message that is worked on in another group than the kick's, as is what comes behind it: the kick moves there. So no two
/// workers are at one message, and nothing waits in a group for a message of another.
async fn elsewhere<W: World>(
    world: &W,
    context: Context<'_>,
    kick: &SendKick,
    message: &Message,
) -> PortResult<Step> {
    if cancel::is_void(world, message).await? {
        return void(world, context, message).await;
    }
    let moved = SendKick {
        redrive: None,
        ..kick.clone().beside(message)
    };
    kick::anew(world, &moved).await?;
    Ok(Step::Stop(Verdict::Done))
}

/// Before a message that may have been sent is sent again, or cancelled: whether it turned out that it was.
async fn arrived<W: World>(world: &W, context: Context<'_>, message: &Message) -> PortResult<Option<Step>> {
    if message.out.as_ref().is_some_and(|out| out.maybe_sent) {
        unknown::arrived(world, context, message).await
    } else {
        Ok(None)
    }
}

async fn one<W: World>(world: &W, context: Context<'_>, mut message: Message) -> PortResult<Step> {
    let now = world.ambient().now();
    let Some(out) = message.out.as_mut() else {
        return Ok(Step::Next);
    };
    match out.state.clone() {
        OutboxState::Queued => {
            if let Some(step) = arrived(world, context, &message).await? {
                return Ok(step);
            }
            attempt::attempt(world, context, message).await
        }
        OutboxState::Sending { lease_until, .. } if lease_until > now => {
            Ok(Step::Stop(Verdict::at(lease_until, now)))
        }
        OutboxState::Sending { .. } => {
            if out.lose_track(now, LEASE_ENDED).is_err()
                || world.store().save_open(&message, None).await? == Written::Conflict
            {
                return Ok(LOST);
            }
            unknown::reconcile(world, context, message).await
        }
        OutboxState::Unknown { .. } => unknown::reconcile(world, context, message).await,
        // Dead without its copy: a crash came between.
        OutboxState::Dead { .. } => Ok(if bury(world, message).await? {
            Step::Next
        } else {
            LOST
        }),
        OutboxState::Sent { .. } | OutboxState::Cancelled { .. } => Ok(Step::Next),
    }
}

/// `dead → queued`, if it is dead of the death that the redrive names: a second one, or one from long ago, finds it alive
/// or dead of another, and changes nothing.
pub(crate) async fn revive<W: World>(world: &W, redrive: &Redrive) -> PortResult<bool> {
    let Redrive { message: id, died } = redrive;
    let revived = match world.store().message(id).await? {
        None => false,
        Some(mut message) => {
            let now = world.ambient().now();
            let copied = message.out.as_ref().is_some_and(|out| out.copied);
            let revived = message
                .out
                .as_mut()
                .is_some_and(|out| out.revive(now, *died).is_ok());
            // Until its copies are all made, a dead message lies among the open ones.
            let written = match (revived, copied) {
                (false, _) => Written::Yes,
                (true, true) => world.store().amend(&message).await?,
                (true, false) => world.store().save_open(&message, None).await?,
            };
            if written == Written::Conflict {
                return Err(PortError::unavailable("message", "others kept writing it"));
            }
            revived
        }
    };
    if revived {
        tracing::info!(message_id = %id, "redriven");
    }
    // Also when it was revived before: a crash may have come in between.
    world.store().remove_dead_letter(id.as_str(), *died).await?;
    Ok(revived)
}

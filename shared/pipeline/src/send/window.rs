//! Whether a message may leave as it is: a day after the contact's last words Meta takes nothing but templates. Judged when
//! the message is about to be claimed, and not when it was made: the queue may have been slow, or the instance closed.

use super::{Context, LOST, Step, cancel};
use crate::World;
use crate::dead::give_up_message;
use crate::ports::{Ambient, Conversations, PortResult};
use crate::world::traits;
use recado_domain::content::Content;
use recado_domain::conversation::{Conversation, Mode};
use recado_domain::message::Message;
use recado_domain::outbox::Author;
use recado_domain::reason::Reason;
use recado_domain::window::{is_open, needs_none};

/// What the history says of an attempt in which the instance's template went out.
pub(super) const TEMPLATE_INSTEAD: &str =
    "24 hours have passed since the contact wrote: the instance's re-engagement template goes out instead";

const CLOSED: &str =
    "24 hours have passed since the contact wrote, and the instance has no re-engagement template";

const NEVER_WROTE: &str = "the contact has never written: only a template may be the first message";

/// What goes out in the message's place, if anything must; or what was done instead of sending. What was known at the
/// commit is enough while that window is open: only then is the conversation read again, for the contact may have written
/// since.
pub(super) async fn look<W: World>(
    world: &W,
    context: Context<'_>,
    message: &Message,
) -> PortResult<Result<Option<Content>, Step>> {
    let instance = &context.bound.instance;
    let known = message.out.as_ref().and_then(|out| out.heard_at);
    let has_window = traits(world, context.bound).window;
    if !has_window || needs_none(&message.content) || is_open(known, world.ambient().now()) {
        return Ok(Ok(None));
    }
    let latest = world.store().latest(message.conversation.thread()).await?;
    let heard_at = latest
        .as_ref()
        .and_then(|latest| latest.last_inbound_at)
        .max(known);
    if is_open(heard_at, world.ambient().now()) {
        return Ok(Ok(None));
    }
    match &instance.reengagement_template {
        Some(template) if heard_at.is_some() => Ok(Ok(Some(Content::Template(template.clone())))),
        _ => {
            let why = if heard_at.is_some() { CLOSED } else { NEVER_WROTE };
            give_up(world, message, latest, why).await.map(Err)
        }
    }
}

/// Gives the message up, or cancels it if its conversation is no longer the agent's, as its claim would have.
async fn give_up<W: World>(
    world: &W,
    message: &Message,
    latest: Option<Conversation>,
    why: &str,
) -> PortResult<Step> {
    if is_stopped(world, message, latest).await? {
        return cancel::cancel(world, message.clone()).await;
    }
    let reason = Reason::WindowClosed;
    let buried = give_up_message(world, message.clone(), reason, Some(why.to_owned())).await?;
    Ok(if buried { Step::Next } else { LOST })
}

async fn is_stopped<W: World>(
    world: &W,
    message: &Message,
    latest: Option<Conversation>,
) -> PortResult<bool> {
    let Some(out) = message.out.as_ref().filter(|out| out.author == Author::Ai) else {
        return Ok(false);
    };
    let own = match latest.filter(|latest| latest.id == message.conversation) {
        Some(own) => Some(own),
        None => world.store().conversation(&message.conversation).await?,
    };
    Ok(own.is_some_and(|own| own.mode != Mode::Ai || own.epoch != out.epoch))
}

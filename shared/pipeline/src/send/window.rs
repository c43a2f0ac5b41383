//! Whether a message may leave as it is: a day after the contact's last words Meta takes nothing but templates. Judged when
//! the message is about to be claimed, and not when it was made: the queue may have been slow, or the instance closed.

use super::{Context, LOST, Step, cancel, waiting};
use crate::World;
use crate::dead::give_up_message;
use crate::person::latest;
use crate::ports::{Ambient, Conversations, PortResult, Written};
use crate::verdict::Verdict;
use crate::world::traits;
use jiff::Timestamp;
use recado_domain::content::Content;
use recado_domain::conversation::{Conversation, Mode, Reengagement};
use recado_domain::ids::MessageId;
use recado_domain::message::Message;
use recado_domain::outbox::{Author, OutboxState};
use recado_domain::reason::Reason;
use recado_domain::window::{is_open, needs_none};
use std::time::Duration;

/// What the history says of an attempt in which the instance's template went out.
pub(super) const TEMPLATE_INSTEAD: &str =
    "24 hours have passed since the contact wrote: the instance's re-engagement template goes out instead";

const CLOSED: &str =
    "24 hours have passed since the contact wrote, and the instance has no re-engagement template";

const ALREADY: &str = "24 hours have passed since the contact wrote, and the instance's re-engagement template went out for another message";

/// How soon a message comes back that waits for what becomes of another of the same contact.
const UNTIL_DECIDED: Duration = Duration::from_secs(60);

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
    let (_, latest) = latest(world, message.conversation.thread().clone()).await?;
    let heard_at = latest
        .as_ref()
        .and_then(|latest| latest.last_inbound_at)
        .max(known);
    if is_open(heard_at, world.ambient().now()) {
        return Ok(Ok(None));
    }
    if is_stopped(world, message, latest.as_ref()).await? {
        // As its claim would have.
        return cancel::cancel(world, message).await.map(Err);
    }
    let (Some(latest), Some(_)) = (latest, heard_at) else {
        return give_up(world, message, NEVER_WROTE).await.map(Err);
    };
    let Some(template) = &instance.reengagement_template else {
        return give_up(world, message, CLOSED).await.map(Err);
    };
    Ok(match note(world, message, latest, heard_at).await? {
        Noted::Ours => Ok(Some(Content::Template(template.clone()))),
        Noted::Another => Err(give_up(world, message, ALREADY).await?),
        Noted::Waits => {
            let after = UNTIL_DECIDED;
            Err(waiting::wait(world, message, Verdict::ComeBack { after }).await?)
        }
        Noted::Lost => Err(LOST),
    })
}

/// Whose place the template takes.
enum Noted {
    Ours,
    Another,
    /// That of a message which has not left and may yet be cancelled.
    Waits,
    Lost,
}

/// Notes, before the claim, that the template goes out in this message's place: what else waits for the contact finds that,
/// and this message finds it again after a crash or a failed attempt.
async fn note<W: World>(
    world: &W,
    message: &Message,
    mut latest: Conversation,
    heard_at: Option<Timestamp>,
) -> PortResult<Noted> {
    let (id, now) = (message.id(), world.ambient().now());
    match latest.reengage(&id, heard_at, now) {
        Reengagement::Ours => return Ok(Noted::Ours),
        Reengagement::Another(other) => match fate(world, message, &other).await? {
            Fate::MayHaveLeft => return Ok(Noted::Another),
            Fate::Waits => return Ok(Noted::Waits),
            Fate::NeverLeft | Fate::Behind => latest.reengage_instead(&id, now),
        },
        Reengagement::Noted => {}
    }
    latest.rev += 1;
    Ok(match world.store().update(&latest).await? {
        Written::Yes => Noted::Ours,
        Written::Conflict => Noted::Lost,
    })
}

/// What became of a message for which the template was noted.
enum Fate {
    MayHaveLeft,
    Waits,
    /// It waits itself for the message that asks.
    Behind,
    NeverLeft,
}

/// What became of message `id`, for which the template was noted, as `message` sees it.
async fn fate<W: World>(world: &W, message: &Message, id: &MessageId) -> PortResult<Fate> {
    let Some(noted) = world.store().message(id).await? else {
        return Ok(Fate::MayHaveLeft);
    };
    let is_behind = message.leaves_before(&noted);
    let Some(out) = noted.out else {
        return Ok(Fate::MayHaveLeft);
    };
    Ok(match out.state {
        _ if out.maybe_sent => Fate::MayHaveLeft,
        OutboxState::Cancelled { .. } | OutboxState::Dead { .. } => Fate::NeverLeft,
        OutboxState::Queued if is_behind => Fate::Behind,
        OutboxState::Queued => Fate::Waits,
        _ => Fate::MayHaveLeft,
    })
}

async fn give_up<W: World>(world: &W, message: &Message, why: &str) -> PortResult<Step> {
    let reason = Reason::WindowClosed;
    let buried = give_up_message(world, message.clone(), reason, Some(why.to_owned())).await?;
    Ok(if buried { Step::Next } else { LOST })
}

/// Whether its conversation is no longer the agent's, whose message it is.
async fn is_stopped<W: World>(
    world: &W,
    message: &Message,
    latest: Option<&Conversation>,
) -> PortResult<bool> {
    let Some(out) = message.out.as_ref().filter(|out| out.author == Author::Ai) else {
        return Ok(false);
    };
    let own = match latest.filter(|latest| latest.id == message.conversation) {
        Some(own) => Some(own.clone()),
        None => world.store().conversation(&message.conversation).await?,
    };
    Ok(own.is_some_and(|own| own.mode != Mode::Ai || own.epoch != out.epoch))
}

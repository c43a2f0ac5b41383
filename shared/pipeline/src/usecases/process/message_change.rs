//! Messages about earlier messages: edits, deletions, reactions, votes. Of an edit or deletion, the stored original
//! message tells who wrote it and in which chat. The provider's data about that may be written from the author's view,
//! with the two sides exchanged.

use super::operator_message::wait_for_running_sends;
use crate::Deps;
use crate::steps::message_target::find_target_message;
use crate::steps::verdict::Verdict;
use jiff::SignedDuration;
use recado_domain::config::InstanceConfig;
use recado_domain::content::Content;
use recado_domain::event::InboundJob;
use recado_domain::inbound::{InboundEvent, InboundMessage};
use recado_domain::message::{Message, Role};
use recado_domain::millis::add_duration;
use recado_ports::ports::PortResult;

/// Time that the original message may take to arrive. Webhooks come in no order, and the provider's id
/// of a sent message is stored last.
const WAIT: SignedDuration = SignedDuration::from_mins(1);

/// Time until the original message is looked for again.
const RECHECK: SignedDuration = SignedDuration::from_secs(5);

/// The result of resolving an event.
pub(super) enum ResolvedChange {
    /// Event that is to be applied.
    Apply(InboundEvent),
    /// The original message is not known yet: the event must wait.
    Later(Verdict),
}

/// Finds the message that an event's message is about. An edit or deletion is assigned to the conversation of that
/// message. Any other event is returned unchanged.
pub(super) async fn resolve_change(
    deps: &Deps,
    job: &InboundJob,
    bound: &InstanceConfig,
    inbound: InboundEvent,
) -> PortResult<ResolvedChange> {
    let mut change = match inbound {
        InboundEvent::Change(change) => change,
        InboundEvent::Message(said) => return resolve_target(deps, job, bound, said).await,
        other => return Ok(ResolvedChange::Apply(other)),
    };
    let Some(message) = find_target(deps, job, bound, &change).await? else {
        return Ok(wait_for_target(deps, job)
            .unwrap_or_else(|| ResolvedChange::Apply(convert_orphan_change(change))));
    };
    if message.instance != bound.instance.id {
        return Ok(ResolvedChange::Apply(convert_orphan_change(change)));
    }
    let Some(conversation) = deps.store().find_conversation(&message.conversation).await? else {
        return Ok(ResolvedChange::Apply(convert_orphan_change(change)));
    };
    if message.is_open()
        && let Some(later) = wait_for_target(deps, job)
    {
        return Ok(later);
    }
    if change.content.is_unreadable() {
        Box::pin(look_up_edited_content(deps, bound, &message, &mut change)).await;
    }
    change.address = conversation.address;
    change.phone = conversation.phone;
    change.from_me = message.role != Role::User;
    change.context.refers_to = Some(message.message_id());
    name_target(&mut change.content, &message);
    Ok(ResolvedChange::Apply(InboundEvent::Message(change)))
}

/// Replaces the unknown content of an edit by what the provider has stored of the message, if that is new.
async fn look_up_edited_content(
    deps: &Deps,
    bound: &InstanceConfig,
    message: &Message,
    change: &mut InboundMessage,
) {
    let Content::Edit {
        target: Some(target),
        content,
    } = &mut change.content
    else {
        return;
    };
    let Some(stored) = deps.providers().fetch_stored_content(bound, target).await else {
        return;
    };
    let told = stored.render_echo_text();
    let versions = message.earlier_versions();
    let known = versions.iter().map(|version| version.content);
    // The provider may have stored the message as it was first.
    if known
        .chain([message.present_content()])
        .all(|known| known.render_echo_text().trim() != told.trim())
    {
        **content = stored;
    }
}

/// Finds the message that a reaction or a vote is about. A reaction to a message whose send still runs waits for it; one
/// to a message that is not known does not wait.
async fn resolve_target(
    deps: &Deps,
    job: &InboundJob,
    bound: &InstanceConfig,
    mut said: Box<InboundMessage>,
) -> PortResult<ResolvedChange> {
    let target = find_target(deps, job, bound, &said).await?;
    let is_running = match &target {
        Some(target) => target.is_open(),
        // The provider's id of a sent message is stored last.
        None if said.content.target_id().is_some() && !said.from_me => {
            wait_for_running_sends(deps, job, bound, &said).await?.is_some()
        }
        None => false,
    };
    if is_running && let Some(later) = wait_for_target(deps, job) {
        return Ok(later);
    }
    if let Some(target) = target.filter(|target| target.instance == bound.instance.id) {
        said.context.refers_to = Some(target.message_id());
        name_target(&mut said.content, &target);
    }
    Ok(ResolvedChange::Apply(InboundEvent::Message(said)))
}

/// Names the message that `content` is about as that message itself is named, so that later comparisons find it: one message may
/// have several ids at the provider.
fn name_target(content: &mut Content, message: &Message) {
    if let Some(id) = &message.provider_message_id {
        content.rename_target(id);
    }
}

/// Returns the result to wait for the message that the event is about; `None` if the event waited long enough.
fn wait_for_target(deps: &Deps, job: &InboundJob) -> Option<ResolvedChange> {
    let now = deps.system().now();
    let later = || ResolvedChange::Later(Verdict::retry_at(add_duration(now, RECHECK), now));
    (add_duration(job.received_at, WAIT) > now).then(later)
}

async fn find_target(
    deps: &Deps,
    job: &InboundJob,
    bound: &InstanceConfig,
    said: &InboundMessage,
) -> PortResult<Option<Message>> {
    let Some(target) = said.content.target_id() else {
        return Ok(None);
    };
    let finds = find_target_message(deps, bound, &job.external, Some(&said.address), target);
    Box::pin(finds).await
}

/// Converts an edit or deletion whose original message is not known. An edit by the contact becomes a message, because
/// its text is new. All others are ignored: the body's data about a message of the business cannot be relied on, and a
/// deletion of an unknown message changes nothing.
fn convert_orphan_change(change: Box<InboundMessage>) -> InboundEvent {
    if !change.from_me && matches!(change.content, Content::Edit { .. }) {
        return InboundEvent::Message(change);
    }
    InboundEvent::Ignored {
        what: "change of a message that is not known".to_owned(),
    }
}

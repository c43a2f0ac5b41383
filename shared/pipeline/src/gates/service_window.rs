//! Checks what Meta lets a number send. 24 hours after the contact's last message only templates are accepted, which is looked at just
//! before the claim: the queue may have been slow, or the instance closed. The provider is asked about a template; its answers are kept
//! for a while, so that few sends ask. The contact's thread may be with another program, for example with Meta's own agent: the provider
//! gives it to whoever sends a message that is no template.

use crate::hooks::send_form::{MessageForm, Replacement, SendForm};
use crate::hooks::send_gate::{GateAnswer, SendGate};
use crate::steps::linked_threads::find_latest_conversation;
use crate::steps::outgoing::find_outgoing;
use crate::steps::save_conversation::save_conversation;
use crate::steps::sending::{RETRY_SOON, SendContext, StepResult, Stop};
use crate::steps::verdict::Verdict;
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use recado_domain::content::{Content, MessageTemplate};
use recado_domain::conversation::{Conversation, ConversationMode, ReengagementDecision};
use recado_domain::ids::MessageId;
use recado_domain::message::Outgoing;
use recado_domain::outbox::OutboxState;
use recado_domain::reason::Reason;
use recado_domain::service_window::{bypasses_window, is_window_open};
use recado_ports::Deps;
use recado_ports::ports::{PortResult, TemplateAnswer, WriteOutcome};

/// Text in a message's history for an attempt in which the instance's template was sent instead.
const TEMPLATE_INSTEAD: &str =
    "24 hours have passed since the contact wrote: the instance's re-engagement template goes out instead";

const NO_TEMPLATE: &str =
    "24 hours have passed since the contact wrote, and the instance has no re-engagement template";

const TEMPLATE_ALREADY_SENT: &str = "24 hours have passed since the contact wrote, and the instance's re-engagement template went out for another message";

/// Time until a message is retried that waits for the outcome of the contact's other message.
const OTHER_MESSAGE_WAIT: SignedDuration = SignedDuration::from_secs(60);

const NEVER_WROTE: &str = "the contact has never written: only a template may be the first message";

/// Promise: outside of Meta's service window a message leaves as the instance's template, once a day, or not at all.
///
/// Tests: `tests/kit/tests/use_cases/window.rs#or_the_instances_template_goes_out_and_the_record_keeps_its_words`,
/// `tests/kit/tests/use_cases/window.rs#later_it_is_given_up_and_its_dead_letter_says_why`.
pub(crate) struct ServiceWindowForm;

#[async_trait]
impl SendForm for ServiceWindowForm {
    async fn shape(
        &self,
        deps: &Deps,
        context: SendContext<'_>,
        message: &mut Outgoing,
        form: &mut MessageForm,
    ) -> StepResult {
        let instead = check_service_window(deps, context, message).await?;
        form.instead = instead.map(|content| Replacement {
            content,
            why: TEMPLATE_INSTEAD,
        });
        Ok(())
    }
}

/// Returns the content that must be sent in place of the message. `None`: the message may be sent as it is. Stops if nothing
/// may be sent. The contact's last message known at the commit is enough while its window is open. Otherwise the conversation
/// is read again, because the contact may have written since.
async fn check_service_window(
    deps: &Deps,
    context: SendContext<'_>,
    message: &Outgoing,
) -> StepResult<Option<Content>> {
    let known = message.out.last_inbound_at;
    let has_window = context.capabilities.has_service_window;
    if !has_window || bypasses_window(&message.content) || is_window_open(known, deps.system().now()) {
        return Ok(None);
    }
    let (_, latest) = find_latest_conversation(deps, message.conversation.thread_id().clone()).await?;
    let last_inbound_at = latest
        .as_ref()
        .and_then(|latest| latest.contact.last_inbound_at)
        .max(known);
    if is_window_open(last_inbound_at, deps.system().now()) {
        return Ok(None);
    }
    if is_taken_over(deps, message, latest.as_ref()).await? {
        // A claim of this message would have been refused, and the reply cancelled, in the same way.
        return Err(Stop::Void);
    }
    if message.out.expires_at.is_some() {
        return Err(Stop::Cancel(Reason::WindowClosed));
    }
    let (Some(latest), Some(_)) = (latest, last_inbound_at) else {
        return Err(give_up_closed_window(NEVER_WROTE));
    };
    let Some(template) = &context.bound.instance.reengagement_template else {
        return Err(give_up_closed_window(NO_TEMPLATE));
    };
    if let Some(why) = explain_unusable(deps, context, template).await {
        let why = format!("the re-engagement template cannot be sent: {why}");
        return Err(give_up_closed_window(&why));
    }
    match Box::pin(claim_template(deps, message, latest, last_inbound_at)).await? {
        TemplateClaim::Ours => Ok(Some(Content::Template(template.clone()))),
        TemplateClaim::Another => Err(give_up_closed_window(TEMPLATE_ALREADY_SENT)),
        TemplateClaim::Waits => Err(Stop::Wait(Verdict::Retry {
            after: OTHER_MESSAGE_WAIT,
        })),
        TemplateClaim::Lost => Err(RETRY_SOON),
    }
}

/// The result of claiming the re-engagement template for a message.
enum TemplateClaim {
    Ours,
    Another,
    /// The template was recorded for another message that has not left and may still be cancelled.
    Waits,
    Lost,
}

/// Records, before the claim, that the template is sent in this message's place. Other messages that wait for the
/// contact read the record, and this message finds it again after a crash or a failed attempt.
async fn claim_template(
    deps: &Deps,
    message: &Outgoing,
    mut latest: Conversation,
    last_inbound_at: Option<Timestamp>,
) -> PortResult<TemplateClaim> {
    let (id, now) = (message.message_id(), deps.system().now());
    match latest.request_reengagement(&id, last_inbound_at, now) {
        ReengagementDecision::AlreadyRecorded => return Ok(TemplateClaim::Ours),
        ReengagementDecision::RecordedForOther(other) => match find_noted_state(deps, message, &other).await?
        {
            NotedMessageState::MayHaveLeft => return Ok(TemplateClaim::Another),
            NotedMessageState::Waits => return Ok(TemplateClaim::Waits),
            NotedMessageState::NeverLeft | NotedMessageState::Behind => latest.record_reengagement(&id, now),
        },
        ReengagementDecision::Recorded => {}
    }
    Ok(match save_conversation(deps, &mut latest).await? {
        WriteOutcome::Written => TemplateClaim::Ours,
        WriteOutcome::Conflict => TemplateClaim::Lost,
    })
}

/// The state of the message for which the template was recorded.
enum NotedMessageState {
    MayHaveLeft,
    Waits,
    /// The recorded message is sent after the message that asks, so it waits for that message.
    Behind,
    NeverLeft,
}

/// Returns the state of message `id`, for which the template was recorded, as seen from `message`.
async fn find_noted_state(deps: &Deps, message: &Outgoing, id: &MessageId) -> PortResult<NotedMessageState> {
    let Some(noted) = find_outgoing(deps, id).await? else {
        return Ok(NotedMessageState::MayHaveLeft);
    };
    let is_behind = message.is_sent_before(&noted);
    Ok(match noted.out.state {
        _ if noted.out.maybe_sent => NotedMessageState::MayHaveLeft,
        OutboxState::Cancelled { .. } | OutboxState::Dead { .. } => NotedMessageState::NeverLeft,
        OutboxState::Queued if is_behind => NotedMessageState::Behind,
        OutboxState::Queued => NotedMessageState::Waits,
        _ => NotedMessageState::MayHaveLeft,
    })
}

/// Gives up a message that the closed window does not allow.
fn give_up_closed_window(why: &str) -> Stop {
    Stop::GiveUp(Reason::WindowClosed, Some(why.to_owned()))
}

/// Returns `true` if the message is the agent's, but its conversation is no longer the agent's or has another epoch.
async fn is_taken_over(deps: &Deps, message: &Outgoing, latest: Option<&Conversation>) -> PortResult<bool> {
    let out = &message.out;
    if !out.yields_to_takeover() {
        return Ok(false);
    }
    let own = match latest.filter(|latest| latest.id == message.conversation) {
        Some(own) => Some(own.clone()),
        None => deps.store().find_conversation(&message.conversation).await?,
    };
    Ok(own.is_some_and(|own| own.mode != ConversationMode::Ai || own.epoch != out.epoch))
}

/// Greatest age of an answer with which a template is sent.
const ANSWER_AGE_MAX: SignedDuration = SignedDuration::from_mins(15);

/// Promise: a template that the provider would refuse is given up before an attempt.
///
/// Test: `tests/kit/tests/use_cases/window.rs#a_clients_template_that_cannot_be_sent_is_given_up_before_an_attempt`.
pub(crate) struct TemplateGate;

#[async_trait]
impl SendGate for TemplateGate {
    /// Gives up a message that is a template which the provider would refuse.
    async fn check(&self, deps: &Deps, context: SendContext<'_>, message: &Outgoing) -> GateAnswer {
        let Content::Template(template) = &message.content else {
            return Ok(None);
        };
        let Some(why) = explain_unusable(deps, context, template).await else {
            return Ok(None);
        };
        Err(Stop::GiveUp(Reason::WhatsappPermanentError, Some(why)))
    }
}

/// Returns why the provider would refuse the template; `None` if it would take it, or does not tell.
async fn explain_unusable(
    deps: &Deps,
    context: SendContext<'_>,
    template: &MessageTemplate,
) -> Option<String> {
    let asked = deps
        .providers()
        .check_template(context.bound, template, ANSWER_AGE_MAX);
    match asked.await {
        TemplateAnswer::NotApproved(why) | TemplateAnswer::Unfit(why) => Some(why),
        TemplateAnswer::Usable | TemplateAnswer::Unclear => None,
    }
}

/// Promise: a message takes a contact's thread from another program only if a person or the setting `takes_threads` says so.
///
/// Test: `tests/kit/tests/use_cases/other_agents.rs#only_a_person_or_the_setting_takes_the_thread`.
pub(crate) struct ThreadHoldGate;

#[async_trait]
impl SendGate for ThreadHoldGate {
    /// Gives the message up if it would take the thread from another program, and no person said that it should. A person's answer says so,
    /// the redrive of a dead letter, and `takes_threads` of the instance. A reply of the agent is void then, and is not looked at here. The
    /// conversation is read only for a number of which another program was ever seen.
    async fn check(&self, deps: &Deps, context: SendContext<'_>, message: &Outgoing) -> GateAnswer {
        let was_seen = context.known.is_some_and(|known| known.other_agent_at.is_some());
        let is_free = context.bound.instance.takes_threads || bypasses_window(&message.content);
        let has_routing = context.capabilities.has_service_window;
        if !was_seen
            || is_free
            || !has_routing
            || message.out.yields_to_takeover()
            || message.is_persons_word()
        {
            return Ok(None);
        }
        let thread = message.conversation.thread_id().clone();
        let (_, latest) = find_latest_conversation(deps, thread).await?;
        let now = deps.system().now();
        let Some(holder) = latest.as_ref().and_then(|latest| latest.thread_holder(now)) else {
            return Ok(None);
        };
        let why = format!("the thread is held by {holder}, and this message would take it");
        Err(Stop::GiveUp(Reason::HeldElsewhere, Some(why)))
    }
}

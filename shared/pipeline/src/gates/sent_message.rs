//! In which form a message leaves, and what is kept and shown of it. 24 hours after the contact's last message Meta accepts only templates,
//! which is looked at just before the claim: the queue may have been slow, or the instance closed. The provider is asked about a template;
//! its answers are kept for a while, so that few sends ask. The bytes of an upload leave in place of its id, and are stored as the file of
//! the message, too. A reaction, an edit or a deletion is recorded with the message that it is about.

use crate::Deps;
use crate::hooks::after_commit::AfterCommit;
use crate::hooks::beside_send::BesideSend;
use crate::hooks::send_form::{MessageForm, Replacement, SendForm};
use crate::hooks::send_gate::{GateAnswer, SendGate};
use crate::steps::linked_threads::find_latest_conversation;
use crate::steps::message_changes::record_change;
use crate::steps::outgoing::find_outgoing;
use crate::steps::save_conversation::save_conversation;
use crate::steps::sending::{RETRY_SOON, SendContext, StepResult, Stop};
use crate::steps::upload::{self, FoundUpload, StoredUpload};
use crate::steps::verdict::Verdict;
use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use recado_domain::config::InstanceConfig;
use recado_domain::contact::ContactAddress;
use recado_domain::content::{Content, MessageTemplate};
use recado_domain::conversation::{Conversation, ConversationMode, ReengagementDecision};
use recado_domain::ids::{ConversationId, MessageId, Ordinal};
use recado_domain::media_type::MediaType;
use recado_domain::message::{FileState, Message, MessageFile, Outgoing, Role, StoredFile};
use recado_domain::outbox::{Author, OutboxState};
use recado_domain::reason::Reason;
use recado_domain::service_window::{bypasses_window, is_window_open};
use recado_ports::ports::{FileBytes, FileError, PortResult, TemplateAnswer, WriteOutcome};
use sha2::{Digest, Sha256};
use std::error::Error;

/// Texts in the history of a message in whose place the instance's template was sent, or could not be.
const TEMPLATE_INSTEAD: &str =
    "24 hours have passed since the contact wrote: the instance's re-engagement template goes out instead";
const NO_TEMPLATE: &str =
    "24 hours have passed since the contact wrote, and the instance has no re-engagement template";
const NEVER_WROTE: &str = "the contact has never written: only a template may be the first message";
const TEMPLATE_ALREADY_SENT: &str = "24 hours have passed since the contact wrote, and the instance's re-engagement template went out for another message";

/// Time until a message is retried that waits for the outcome of the contact's other message.
const OTHER_MESSAGE_WAIT: SignedDuration = SignedDuration::from_secs(60);

/// Promise: outside of Meta's service window a message leaves as the instance's template, once a day, or not at all.
///
/// Tests: `tests/kit/tests/use_cases/window.rs#or_the_instances_template_goes_out_and_the_record_keeps_its_words`,
/// `tests/kit/tests/use_cases/window.rs#later_it_is_given_up_and_its_dead_letter_says_why`.
#[derive(Debug)]
pub struct ServiceWindowForm;

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
        ReengagementDecision::RecordedForOther(other) => match find_other_claim(deps, message, &other).await?
        {
            Some(claim) => return Ok(claim),
            None => latest.record_reengagement(&id, now),
        },
        ReengagementDecision::Recorded => {}
    }
    Ok(match save_conversation(deps, &mut latest).await? {
        WriteOutcome::Written => TemplateClaim::Ours,
        WriteOutcome::Conflict => TemplateClaim::Lost,
    })
}

/// Returns the claim of `message` to the template that was recorded for message `id`. `None`: that one never left, or is sent after
/// `message` and waits for it, so `message` takes the template.
async fn find_other_claim(
    deps: &Deps,
    message: &Outgoing,
    id: &MessageId,
) -> PortResult<Option<TemplateClaim>> {
    let Some(noted) = find_outgoing(deps, id).await? else {
        return Ok(Some(TemplateClaim::Another));
    };
    let is_behind = message.is_sent_before(&noted);
    Ok(match noted.out.state {
        _ if noted.out.maybe_sent => Some(TemplateClaim::Another),
        OutboxState::Cancelled { .. } | OutboxState::Dead { .. } => None,
        OutboxState::Queued if is_behind => None,
        OutboxState::Queued => Some(TemplateClaim::Waits),
        _ => Some(TemplateClaim::Another),
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
#[derive(Debug)]
pub struct TemplateGate;

#[async_trait]
impl SendGate for TemplateGate {
    /// Gives up a message that is a template which the provider would refuse.
    async fn check(&self, deps: &Deps, context: SendContext<'_>, message: &Outgoing) -> GateAnswer {
        let Content::Template(template) = &message.content else {
            return Ok(None);
        };
        match explain_unusable(deps, context, template).await {
            Some(why) => Err(Stop::GiveUp(Reason::WhatsappPermanentError, Some(why))),
            None => Ok(None),
        }
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

/// Promise: what is sent from an upload reaches the provider with its bytes, and is shown, exported and erased as any other file.
///
/// Tests: `tests/kit/tests/use_cases/uploads.rs#the_bytes_are_given_to_the_provider_and_are_the_file_of_the_message`,
/// `tests/kit/tests/use_cases/uploads.rs#what_was_sent_by_its_url_is_fetched_once_it_was_sent_and_goes_with_its_contact`.
#[derive(Debug)]
pub struct SentFile;

#[async_trait]
impl SendForm for SentFile {
    async fn shape(
        &self,
        deps: &Deps,
        context: SendContext<'_>,
        message: &mut Outgoing,
        form: &mut MessageForm,
    ) -> StepResult {
        if message.content.media_file().is_none() {
            return Ok(());
        }
        // Read before the attempt begins: a failure of the store costs no attempt. If the upload is gone, the provider's adapter gives
        // the message up.
        let found = upload::find_upload(deps, &message.instance, &message.content).await?;
        let FoundUpload::Stored(upload) = found else {
            return Ok(());
        };
        if form.instead.is_none() {
            let kept_until = context.bound.tenant.retention.file_end(message.stored_at);
            keep_sent_file(deps, kept_until, message, &upload).await;
            let own = message.content_as_sent().into_owned();
            form.with_bytes = Some(upload::inline_upload(own, upload));
        }
        Ok(())
    }
}

#[async_trait]
impl AfterCommit for SentFile {
    /// Has the file that a message was sent with by its https URL fetched from there later. So it is shown as any other. Nobody got the
    /// messages of a simulation.
    async fn complete_sent_message(&self, deps: &Deps, message: &mut Outgoing) -> PortResult<()> {
        if message.file.is_none() && !message.out.simulated {
            let now = deps.system().now();
            message.file = MessageFile::expect_from_url(&message.content_as_sent(), now);
        }
        Ok(())
    }
}

/// Promise: a change that the business sends is shown with its message.
///
/// Test: `tests/kit/tests/use_cases/reactions.rs#a_reaction_of_the_business_is_shown_whether_it_was_ordered_or_made_on_the_phone`.
#[derive(Debug)]
pub struct SentChange;

#[async_trait]
impl AfterCommit for SentChange {
    async fn complete_sent_message(&self, deps: &Deps, message: &mut Outgoing) -> PortResult<()> {
        if message.content.changes_target() {
            Box::pin(record_change(deps, &message.to_record())).await?;
        }
        Ok(())
    }
}

/// Stores the upload that the message sends as the file of the message, which the claim then writes. It is done once; a failure
/// leaves the message without a file to show, and the next attempt tries again.
async fn keep_sent_file(
    deps: &Deps,
    kept_until: Option<Timestamp>,
    message: &mut Outgoing,
    upload: &StoredUpload,
) {
    let (None, Some(key)) = (&message.file, message.file_key()) else {
        return;
    };
    match store_sent_file(deps, &key, upload).await {
        Ok(stored) => {
            message.file = stored.map(|stored| MessageFile {
                kept_until,
                ..MessageFile::in_state(FileState::Stored(stored))
            });
        }
        Err(error) => {
            let (id, error): (_, &dyn Error) = (message.message_id(), &error);
            tracing::warn!(message_id = %id, error, "the file of a message that is sent was not stored");
        }
    }
}

/// Stores the bytes of an upload under `key`. `None`: it holds no bytes.
async fn store_sent_file(
    deps: &Deps,
    key: &str,
    upload: &StoredUpload,
) -> Result<Option<StoredFile>, FileError> {
    let Ok(bytes) = STANDARD.decode(&upload.base64) else {
        return Ok(None);
    };
    let found = MediaType::from_file(&bytes, upload.file_name.as_deref());
    let told = upload.mime_type.split(';').next().unwrap_or_default().trim();
    let stored = StoredFile {
        mime_type: found.map_or(told, |found| found.mime_type()).to_owned(),
        bytes: bytes.len() as u64,
        sha256: hex::encode(Sha256::digest(&bytes)),
        refused: None,
    };
    let bytes = FileBytes::from_bytes(bytes);
    deps.queues().put_file(key, &stored.mime_type, bytes).await?;
    Ok(Some(stored))
}

/// Promise: what a person answers by the API is marked as read, beside the answer's first attempt.
///
/// Test: `tests/kit/tests/use_cases/signatures.rs#what_a_person_answers_by_the_api_is_marked_as_read_and_what_was_before_is_not`.
#[derive(Debug)]
pub struct ReadMarks;

impl BesideSend for ReadMarks {
    /// Marks nothing unless the message is a person's answer, and the instance is configured so.
    fn begin<'a>(
        &self,
        deps: &'a Deps,
        bound: &'a InstanceConfig,
        message: &Outgoing,
    ) -> Option<BoxFuture<'a, ()>> {
        let out = &message.out;
        let is_answer = out.author == Author::Person && out.covers > Ordinal(0) && out.attempts <= 1;
        if !bound.instance.mark_read || !is_answer {
            return None;
        }
        let (answer, to) = ((message.conversation.clone(), message.ordinal), out.to.clone());
        Some(Box::pin(mark_answered_messages(deps, bound, answer, to)))
    }
}

/// Number of messages before an answer among which those that it answers are looked for.
const LOOKED_AT: usize = 100;

/// Marks the contact's messages between the answer before `answer` and `answer`. Failures have no effect.
async fn mark_answered_messages(
    deps: &Deps,
    bound: &InstanceConfig,
    (conversation, answer): (ConversationId, Ordinal),
    to: ContactAddress,
) {
    let read = deps.store().find_with_history(&conversation, LOOKED_AT);
    let Ok(Some((_, known))) = read.await else {
        return;
    };
    let ids = list_unread_ids(&known, answer);
    if !ids.is_empty() {
        deps.providers().mark_messages_read(bound, &to, &ids).await;
    }
}

/// Lists the provider's ids of the contact's messages between the answer before `answer` and `answer`, the oldest first. What
/// answers nothing, such as a client's message or a note that the instance is closed, is no answer.
fn list_unread_ids(known: &[Message], answer: Ordinal) -> Vec<String> {
    let before = known.iter().rev().filter(|message| message.ordinal < answer);
    let answers = |message: &Message| {
        message.role != Role::User && message.out.as_ref().is_none_or(|out| out.covers > Ordinal(0))
    };
    let unread = before.take_while(|message| !answers(message));
    let mut ids: Vec<String> = unread
        .filter(|message| message.role == Role::User)
        .filter_map(|message| message.provider_message_id.clone())
        .collect();
    ids.reverse();
    ids
}

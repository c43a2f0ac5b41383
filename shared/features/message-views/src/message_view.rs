//! The JSON shapes of messages and conversations. They are a contract: fields are added, never renamed.

mod conversation;
mod message_parts;
mod sends;

use crate::message_view::message_parts::{
    AnswerView, ChosenView, CostView, DeliveryView, FileTextView, ReactionView, ReferralView, ReplyToView,
    VersionView, describe_missing_file, list_reactions, list_versions, media_url,
};
use crate::trace::TimelineResult;
use recado_domain::Timestamp;
use recado_domain::ids::{ConversationId, CorrelationId, InstanceId, MessageId, Ordinal, TokenName};
use recado_domain::message::{MessageStatus, Role};
use recado_domain::metadata::Metadata;
use recado_domain::outbox::{HeldStatus, OutboxHistoryEntry, OutboxState};
use recado_domain::reason::Reason;
use recado_pipeline::settings::TraceLinks;
use recado_pipeline::steps::message_view::MessageView;
use serde::Serialize;
use serde_json::{Map, Value};

pub use crate::message_view::conversation::ConversationView;
pub use crate::message_view::sends::{EventView, ScheduledView, TimelineEntryView};

/// A message in a list.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct MessageItem {
    id: MessageId,
    #[cfg_attr(feature = "schema", schema(value_type = u64))]
    ordinal: Ordinal,
    role: Role,
    /// Name of the token with which the message was ordered; `phone` if somebody typed it on the phone. Absent for messages
    /// of the contact and of the agent.
    by: Option<TokenName>,
    r#type: String,
    /// The message as its newest edit left it.
    content: String,
    /// Where the message's file is: a URL that works for some minutes, a path of this API, or as yet the provider's own URL.
    media_url: Option<String>,
    /// Text of the message's file. Absent if it was not read, or if the file is looked at, not read.
    file_text: Option<FileTextView>,
    /// Words that say why the file or its text is not here; absent if nothing is missing.
    file_note: Option<String>,
    provider_message_id: Option<String>,
    /// The option of the question before it that the message names by its number or words. Absent if it names none.
    chosen: Option<ChosenView>,
    /// The message that this one replies to; absent if it replies to none. `content` begins with its words.
    reply_to: Option<ReplyToView>,
    /// The message that this one reacts to, edits, deletes, votes on or chooses from.
    refers_to: Option<MessageId>,
    /// Reactions to the message that were not taken back.
    reactions: Vec<ReactionView>,
    /// Time of the newest edit; absent if the message was never edited.
    edited_at: Option<Timestamp>,
    /// Versions of the message before its newest edit, the oldest first.
    versions: Vec<VersionView>,
    /// Time at which the author deleted the message for everyone.
    deleted_at: Option<Timestamp>,
    status: MessageStatus,
    /// The answer to a contact's message, or the reason why it has none; absent for other messages.
    answer: Option<AnswerView>,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    /// Cost of the message. Absent if no model worked for it and the provider charged nothing, and in answers that list no
    /// conversation and show no single message.
    cost: Option<CostView>,
    created_at: Timestamp,
}

impl From<MessageView> for MessageItem {
    fn from(view: MessageView) -> Self {
        let message = view.message;
        Self {
            id: message.message_id(),
            ordinal: message.ordinal,
            role: message.role,
            by: message.ordered_by(),
            r#type: message.present_content().kind_name().to_owned(),
            content: message.render_present_text(),
            media_url: media_url(&message, view.file_url),
            file_text: FileTextView::from_message(&message),
            file_note: describe_missing_file(&message),
            chosen: message.present_choice().map(ChosenView::from),
            reply_to: message.context.reply_to.as_ref().map(ReplyToView::from),
            refers_to: message.context.refers_to.clone(),
            reactions: list_reactions(&message),
            edited_at: message.changes.edited_at(),
            versions: list_versions(&message),
            deleted_at: message.changes.deleted_at(),
            provider_message_id: message.provider_message_id,
            status: view.status,
            answer: view.answer.map(AnswerView::from),
            input_tokens: message.usage.map(|usage| usage.input_tokens),
            output_tokens: message.usage.map(|usage| usage.output_tokens),
            cost: view.cost.map(CostView::from),
            created_at: message.written_at,
        }
    }
}

/// A message with its delivery and its timeline.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct MessageDetail {
    #[serde(flatten)]
    item: MessageItem,
    conversation_id: ConversationId,
    instance_id: InstanceId,
    correlation_id: CorrelationId,
    /// Id of the message's trace, if traces are exported.
    trace_id: Option<String>,
    /// URL of the page that shows the trace, if `RECADO_TRACE_URL` is set.
    trace_url: Option<String>,
    stored_at: Timestamp,
    model: Option<String>,
    cache_read_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
    /// The reason why no answer is owed to the message, or why the message was dead-lettered or cancelled.
    reason: Option<Reason>,
    attempts: u32,
    /// `true` if the contact may have received the message twice: the outcome of an attempt was never learnt, or a second one went to the linked identity.
    maybe_sent: bool,
    simulated: bool,
    /// Present while the provider holds the accepted message back: `held_for_quality_assessment` or `paused`.
    held: Option<&'static str>,
    delivery: Option<DeliveryView>,
    history: Vec<HistoryStepView>,
    /// The id that a scheduled message had before it fell due.
    scheduled_id: Option<MessageId>,
    /// The advertisement or post that led the person to write.
    referral: Option<ReferralView>,
    metadata: Option<Map<String, Value>>,
    /// The timeline, in and out. For a contact's message it ends with the reply that covers it; for a reply it begins
    /// with the message that it covers.
    way: Vec<TimelineEntryView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct HistoryStepView {
    at: Timestamp,
    what: String,
    why: Option<String>,
    /// Name of the token with which somebody made the step; absent if Recado made it by itself.
    by: Option<TokenName>,
}

impl From<OutboxHistoryEntry> for HistoryStepView {
    fn from(step: OutboxHistoryEntry) -> Self {
        Self {
            at: step.at,
            what: step.what,
            why: step.why,
            by: step.by,
        }
    }
}

impl From<TimelineResult> for MessageDetail {
    fn from(TimelineResult { view, timeline: way }: TimelineResult) -> Self {
        let message = view.message.clone();
        let delivery = view.delivery.as_ref().map(DeliveryView::from);
        let out = message.out;
        let given_up = out.as_ref().and_then(|out| match out.state {
            OutboxState::Dead { reason, .. } | OutboxState::Cancelled { reason, .. } => Some(reason),
            _ => None,
        });
        Self {
            item: view.into(),
            conversation_id: message.conversation,
            instance_id: message.instance,
            correlation_id: message.correlation,
            trace_id: None,
            trace_url: None,
            stored_at: message.stored_at,
            model: message.model,
            cache_read_tokens: message.usage.map(|usage| usage.cache_read_tokens),
            cache_write_tokens: message.usage.map(|usage| usage.cache_write_tokens),
            reason: message.unanswered.or(given_up),
            attempts: out.as_ref().map_or(0, |out| out.attempts),
            maybe_sent: out.as_ref().is_some_and(|out| out.maybe_sent),
            simulated: out.as_ref().is_some_and(|out| out.simulated),
            held: out
                .as_ref()
                .and_then(|out| out.held)
                .filter(|_| delivery.as_ref().is_none_or(DeliveryView::has_no_status))
                .map(HeldStatus::as_str),
            delivery,
            scheduled_id: out
                .as_ref()
                .and_then(|out| out.scheduled.as_ref())
                .map(|id| id.as_message_id().clone()),
            referral: message.context.referral.map(ReferralView::from),
            metadata: out
                .as_ref()
                .and_then(|out| out.metadata.as_ref())
                .map(Metadata::to_object),
            way: way.into_iter().map(TimelineEntryView::from).collect(),
            history: out
                .map(|out| out.history.into_iter().map(HistoryStepView::from).collect())
                .unwrap_or_default(),
        }
    }
}

impl MessageDetail {
    /// Adds the message's trace, where traces are exported.
    #[must_use]
    pub fn with_trace(self, links: &TraceLinks) -> Self {
        let trace = links.find_trace(&self.correlation_id);
        Self {
            trace_id: trace.map(|id| id.to_string()),
            trace_url: trace.and_then(|id| links.build_url(id)),
            ..self
        }
    }
}

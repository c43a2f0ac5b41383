//! The parts of a message, as the API shows them.

use recado_domain::Timestamp;
use recado_domain::answer::{AnswerReason, AnswerState, ExplainedAnswer};
use recado_domain::choice::ChosenOption;
use recado_domain::context::{QuotedMessage, Referral};
use recado_domain::delivery::{Delivery, DeliveryStatus, Pricing, StatusError};
use recado_domain::ids::{MessageId, TokenName};
use recado_domain::message::{FileLoss, FileState, Message, Role};
use recado_domain::price::Cost;
use recado_domain::reason::Reason;
use recado_usage::usage_routes::{CostItem, list_costs};
use serde::Serialize;

/// The answer to a contact's message, or the one reason why it has none (yet).
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(super) struct AnswerView {
    /// `answered`; `in_work`: Recado works on it; `waiting`: for a person, a time or a setting; `not_owed`: nobody owes an
    /// answer; `failed`: the answer is a dead letter.
    state: AnswerState,
    /// The reason for the state; see `docs/http-api.md`.
    reason: AnswerReason,
    /// The message that answers, is on its way or failed.
    message_id: Option<MessageId>,
    /// Time since which this is so, if it is known.
    since: Option<Timestamp>,
    /// Time until which the answer waits or is worked on, if it is known.
    until: Option<Timestamp>,
    /// Name of the token with which somebody took over, answered or resolved; `phone` for the phone of the number.
    by: Option<TokenName>,
    /// The cause of a dead letter, of a cancelled reply or of what waits for a person.
    cause: Option<Reason>,
}

impl From<ExplainedAnswer> for AnswerView {
    fn from(answer: ExplainedAnswer) -> Self {
        Self {
            state: answer.reason.state(),
            reason: answer.reason,
            message_id: answer.reply,
            since: answer.since,
            until: answer.until,
            by: answer.by,
            cause: answer.cause,
        }
    }
}

/// A reaction to a message.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(super) struct ReactionView {
    emoji: String,
    /// The side that reacted.
    role: Role,
    /// Name of the token with which the reaction was ordered; `phone` if somebody reacted on the phone. Absent for a
    /// reaction of the contact.
    by: Option<TokenName>,
    at: Timestamp,
}

/// An earlier version of a message.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(super) struct VersionView {
    r#type: String,
    content: String,
    /// Time at which this version was written.
    at: Timestamp,
}

pub(super) fn list_reactions(message: &Message) -> Vec<ReactionView> {
    let reactions = message.changes.present_reactions();
    reactions
        .map(|(reaction, emoji)| ReactionView {
            emoji: emoji.to_owned(),
            role: reaction.role,
            by: reaction.by.clone(),
            at: reaction.at(),
        })
        .collect()
}

pub(super) fn list_versions(message: &Message) -> Vec<VersionView> {
    let versions = message.earlier_versions();
    versions
        .iter()
        .map(|version| VersionView {
            r#type: version.content.kind_name().to_owned(),
            content: version.content.render_text(),
            at: version.at,
        })
        .collect()
}

/// An option of a question.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(super) struct ChosenView {
    /// The id that the sender of the question gave to the option; absent for an option of a poll.
    id: Option<String>,
    title: String,
}

impl From<&ChosenOption> for ChosenView {
    fn from(option: &ChosenOption) -> Self {
        Self {
            id: option.id.clone(),
            title: option.title.clone(),
        }
    }
}

/// The cost of a message by the configured prices, as `GET /v1/usage` counts it: of the turn that wrote it, of its recording, and
/// of its charge by the provider.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = MessageCost))]
pub(super) struct CostView {
    /// The cost in each currency. Empty if nothing that was used has a price.
    costs: Vec<CostItem>,
    /// Number of tokens of models that have no price: the costs lack them.
    unpriced_tokens: u64,
    /// Length of a recording whose model has no price for it: the costs lack it.
    unpriced_audio_millis: u64,
    /// Number of charged messages that have no price: the costs lack them.
    unpriced_messages: u64,
}

impl From<Cost> for CostView {
    fn from(cost: Cost) -> Self {
        Self {
            costs: list_costs(&cost),
            unpriced_tokens: cost.unpriced_tokens,
            unpriced_audio_millis: cost.unpriced_audio_millis,
            unpriced_messages: cost.unpriced_messages,
        }
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(super) struct DeliveryView {
    status: Option<DeliveryStatus>,
    at: Option<Timestamp>,
    sent_at: Option<Timestamp>,
    delivered_at: Option<Timestamp>,
    read_at: Option<Timestamp>,
    failed_at: Option<Timestamp>,
    /// The price of the message, in the provider's words.
    pricing: Option<Pricing>,
    conversation: Option<ChargedView>,
    errors: Vec<StatusError>,
}

/// The provider's conversation that the message was charged with.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct ChargedView {
    id: Option<String>,
    origin: Option<String>,
    expires_at: Option<Timestamp>,
}

impl DeliveryView {
    /// Returns `true` if the provider has reported no status yet.
    pub(super) fn has_no_status(&self) -> bool {
        self.status.is_none()
    }
}

impl From<&Delivery> for DeliveryView {
    fn from(delivery: &Delivery) -> Self {
        let (times, detail) = (&delivery.times, delivery.detail.clone());
        Self {
            status: delivery.status,
            at: delivery.at,
            sent_at: times.at_sent,
            delivered_at: times.at_delivered,
            read_at: times.at_read.or(times.at_played),
            failed_at: times.at_failed,
            pricing: detail.pricing,
            conversation: detail.conversation.map(|conversation| ChargedView {
                id: conversation.id,
                origin: conversation.origin,
                expires_at: conversation.expires,
            }),
            errors: detail.errors,
        }
    }
}

/// The text of a message's file.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(super) struct FileTextView {
    /// `transcript`: what is said in a recording; `document`: what a document says.
    source: &'static str,
    /// The text, at most 20,000 characters. Empty if nobody speaks, or if the document has no text.
    text: String,
    /// `true` if the file has more text than this.
    is_cut: bool,
    /// Name of the model that transcribed; absent for a document.
    model: Option<String>,
}

impl FileTextView {
    /// Returns the text of the message's file; `None` if it is not here.
    pub(super) fn from_message(message: &Message) -> Option<Self> {
        let found = message.file.as_ref()?.found_text()?;
        Some(Self {
            source: found.source.as_str(),
            text: found.text.clone(),
            is_cut: found.is_cut,
            model: found.model.clone(),
        })
    }
}

/// Returns the words that say why a message's file or its text is not here; `None` if nothing is missing. What the business sent
/// by a URL is shown by that until it is here.
pub(super) fn describe_missing_file(message: &Message) -> Option<String> {
    if message.out.is_some() {
        return None;
    }
    let gap = message.file.as_ref()?.describe_gap()?;
    Some(gap.to_owned())
}

/// Returns the URL of a message's file: of the stored bytes, or else the provider's. `None` if the bytes are not here and the
/// provider named the file by an id, or if the tenant keeps the file no longer.
pub(super) fn media_url(message: &Message, file_url: Option<String>) -> Option<String> {
    if message.file.as_ref().is_some_and(|file| file.stored().is_some()) {
        return file_url.or_else(|| Some(format!("/v1/messages/{}/media", message.message_id())));
    }
    let expired = FileState::Lost {
        reason: FileLoss::Expired,
    };
    if message.file.as_ref().is_some_and(|file| file.state == expired) {
        return None;
    }
    let content = message.present_content();
    let source = content.media_file()?.source.as_ref()?;
    (source.starts_with("https://") || source.starts_with("http://")).then(|| source.clone())
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(super) struct ReferralView {
    /// `ad` or `post`.
    kind: Option<String>,
    id: Option<String>,
    url: Option<String>,
    headline: Option<String>,
    body: Option<String>,
    /// Meta's id of the click.
    click: Option<String>,
    /// `image` or `video`.
    media_type: Option<String>,
    media_url: Option<String>,
    /// The greeting that the advertisement showed in the chat before the person wrote.
    welcome_message: Option<String>,
}

impl From<Referral> for ReferralView {
    fn from(referral: Referral) -> Self {
        Self {
            kind: referral.kind,
            id: referral.id,
            url: referral.url,
            headline: referral.headline,
            body: referral.body,
            click: referral.click,
            media_type: referral.media_type,
            media_url: referral.media_url,
            welcome_message: referral.welcome_message,
        }
    }
}

/// The message that another one replies to.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(super) struct ReplyToView {
    /// Id of the message; absent if it is not stored here. Then only the author's side tells its text.
    id: Option<MessageId>,
    /// The begin of the message's text; absent if it is not known.
    text: Option<String>,
}

impl From<&QuotedMessage> for ReplyToView {
    fn from(quoted: &QuotedMessage) -> Self {
        Self {
            id: quoted.message.clone(),
            text: quoted.text.clone(),
        }
    }
}

//! A conversation, as the API shows it.

use crate::message_view::message_parts::AnswerView;
use recado_domain::Timestamp;
use recado_domain::answer::ExplainedAnswer;
use recado_domain::conversation::{
    Conversation, ConversationLabel, ConversationMode, ConversationStatus, HandOverNote, Handover,
};
use recado_domain::ids::{ConversationId, InstanceId, Ordinal, StepId, TokenName};
use recado_domain::reason::Reason;
use recado_http::api::view::ContactView;
use serde::Serialize;
use std::collections::BTreeSet;

/// A conversation, as the API shows it.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ConversationView {
    id: ConversationId,
    instance_id: InstanceId,
    contact: ContactView,
    mode: ConversationMode,
    status: ConversationStatus,
    last_message_at: Timestamp,
    /// The ordinal of the newest message. An answer or a resolve gives this number as `seen`.
    #[cfg_attr(feature = "schema", schema(value_type = u64))]
    last_ordinal: Ordinal,
    /// Time of the contact's last message. With Meta, only templates can be sent from 24 hours after it.
    last_inbound_at: Option<Timestamp>,
    /// Time at which the contact stopped marketing messages.
    marketing_stopped_at: Option<Timestamp>,
    /// The reason why the owed answer waits for a person although the agent has the conversation.
    needs_person: Option<Reason>,
    /// The answer that is owed, with what it waits for; absent if none is owed.
    owed_answer: Option<AnswerView>,
    /// Time since which the contact waits for a person: people owe an answer, or the agent handed the conversation over
    /// and nobody has taken it. Absent if no person is waited for.
    waiting_since: Option<Timestamp>,
    /// `true` if a person is waited for and nobody who may answer looked at the newest message.
    unseen: bool,
    /// The agent's note of its last hand-over, until the agent has the conversation again.
    hand_over_note: Option<HandOverNoteView>,
    /// The labels that people gave it, in alphabetical order.
    #[cfg_attr(feature = "schema", schema(value_type = Vec<String>))]
    labels: BTreeSet<ConversationLabel>,
    /// Number of the notes that people wrote beside it.
    note_count: usize,
    /// The step of the agent's script at which the conversation is. Absent before the first reply, and if the agent has
    /// no steps.
    step: Option<StepId>,
    /// Time at which the agent answers again unless a person writes before it. Absent if it does not by itself.
    agent_returns_at: Option<Timestamp>,
    /// The last takeover, give-back or resolve; absent if there was none.
    handover: Option<HandoverView>,
    /// Token of the person who has the conversation. That is who took it over, or answered last; `phone` if it was on the
    /// phone of the number. Absent while the agent has the conversation, and if nobody took it yet.
    taken_by: Option<TokenName>,
    /// Time since which it is this person's.
    taken_at: Option<Timestamp>,
    /// The role of the other program that holds the contact's thread at the provider. For Meta's own agent it is `ai_agent`, and
    /// `another_program` if the provider tells none. Absent if no other program holds it. Meanwhile the agent is silent. 24 hours after the contact's
    /// last message nobody holds a thread any more.
    held_by: Option<String>,
    /// Time since which that is known.
    held_since: Option<Timestamp>,
    /// The conversation of the same person under another identity, in which the messages continue.
    moved_to: Option<ConversationId>,
    /// The same person's conversations under other identities that this one replaced, whose messages are read with these.
    joined: Vec<ConversationId>,
}

/// A takeover, a give-back or a resolve. The conversation's mode and status say which one it was.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct HandoverView {
    /// Name of the token with which it was done. `phone`: somebody typed on the phone of the number; `agent`: the agent
    /// resolved the conversation; `installation`: the agent came back by itself;
    /// `other_agent`: another program got or left the contact's thread.
    by: TokenName,
    at: Timestamp,
}

/// The agent's explanation of a hand-over, for the person who takes the conversation.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct HandOverNoteView {
    /// Text of the agent.
    text: String,
    /// Time of the hand-over.
    at: Timestamp,
}

impl From<(Conversation, Option<ExplainedAnswer>)> for ConversationView {
    fn from((conversation, owed): (Conversation, Option<ExplainedAnswer>)) -> Self {
        let status = conversation.listed_status().unwrap_or(conversation.status);
        let (waiting_since, agent_returns_at) =
            (conversation.person_owed_since(), conversation.return_due_at());
        let unseen = conversation.is_unseen();
        let contact = ContactView::from(&conversation);
        let hold = conversation.features.thread_hold.filter(|hold| hold.by.is_some());
        let (held_by, held_since) = hold.map(|hold| (hold.by, hold.at)).unzip();
        let (taken_by, taken_at) = conversation
            .people
            .taken
            .map(|taken| (taken.by, taken.at))
            .unzip();
        Self {
            id: conversation.id,
            instance_id: conversation.instance,
            contact,
            mode: conversation.mode,
            status,
            last_message_at: conversation.last_message_at,
            last_ordinal: conversation.last,
            last_inbound_at: conversation.contact.last_inbound_at,
            marketing_stopped_at: conversation.contact.marketing_stopped_at,
            waiting_since,
            unseen,
            agent_returns_at,
            needs_person: conversation.needs_person,
            owed_answer: owed.map(AnswerView::from),
            hand_over_note: conversation
                .people
                .hand_over_note
                .map(|HandOverNote { text, at }| HandOverNoteView { text, at }),
            labels: conversation.people.annotations.labels,
            note_count: conversation.people.annotations.notes.len(),
            step: conversation.features.step,
            handover: conversation
                .people
                .handover
                .map(|Handover { by, at }| HandoverView { by, at }),
            taken_by,
            taken_at,
            held_by: held_by.flatten(),
            held_since,
            moved_to: conversation.linked.moved_to,
            joined: conversation.linked.joined,
        }
    }
}

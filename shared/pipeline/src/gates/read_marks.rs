//! Marks as read what a person answers by the API, where the instance is configured so.

use crate::hooks::beside_send::BesideSend;
use futures::future::BoxFuture;
use recado_domain::config::InstanceConfig;
use recado_domain::contact::ContactAddress;
use recado_domain::ids::{ConversationId, Ordinal};
use recado_domain::message::{Message, Outgoing, Role};
use recado_domain::outbox::Author;
use recado_ports::Deps;

/// Number of messages before an answer among which those that it answers are looked for.
const LOOKED_AT: usize = 100;

/// Promise: what a person answers by the API is marked as read, beside the answer's first attempt.
///
/// Test: `tests/kit/tests/use_cases/signatures.rs#what_a_person_answers_by_the_api_is_marked_as_read_and_what_was_before_is_not`.
pub(crate) struct ReadMarks;

impl BesideSend for ReadMarks {
    fn begin<'a>(
        &self,
        deps: &'a Deps,
        bound: &'a InstanceConfig,
        message: &Outgoing,
    ) -> Option<BoxFuture<'a, ()>> {
        let answered = AnsweredMessages::from_person_answer(bound, message)?;
        Some(Box::pin(async move {
            answered.mark_answered_messages(deps, bound).await;
        }))
    }
}

/// The place of a person's answer, before which messages are marked as read.
#[derive(Debug)]
struct AnsweredMessages {
    conversation: ConversationId,
    answer: Ordinal,
    address: ContactAddress,
}

impl AnsweredMessages {
    /// Returns what the first attempt at `message` marks. `None`: the message is no person's answer, or nothing is marked on
    /// this instance.
    fn from_person_answer(bound: &InstanceConfig, message: &Outgoing) -> Option<Self> {
        let out = &message.out;
        let is_answer = out.author == Author::Person && out.covers > Ordinal(0) && out.attempts <= 1;
        (bound.instance.mark_read && is_answer).then(|| Self {
            conversation: message.conversation.clone(),
            answer: message.ordinal,
            address: out.to.clone(),
        })
    }

    /// Marks the contact's messages since the answer before. Failures have no effect.
    async fn mark_answered_messages(&self, deps: &Deps, bound: &InstanceConfig) {
        let Ok(Some((_, known))) = deps
            .store()
            .find_with_history(&self.conversation, LOOKED_AT)
            .await
        else {
            return;
        };
        let ids = list_unread_ids(&known, self.answer);
        if !ids.is_empty() {
            deps.providers()
                .mark_messages_read(bound, &self.address, &ids)
                .await;
        }
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

//! Follows the messages of an installation by its published events: returns each one when it came, or when it left.

use crate::event_follower::EventFollower;
use crate::installation::InstallationClient;
use crate::json_fields::{find_text, text_at};
use anyhow::Result;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// The kinds of events that tell of messages, and of changed conversations.
const KINDS: &str = "message.created,message.status,conversation.updated";

/// The greatest number of conversations that are kept in memory.
const CONVERSATIONS_MAX: usize = 1000;

/// The status of a message that is to leave.
const PENDING: &str = "pending";

/// A message that is new, with its conversation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FollowedMessage {
    pub(crate) conversation: Value,
    pub(crate) message: Value,
}

/// Returns each message once: a contact's when it came, one that goes out when it left, or when it is known that it will not.
pub(crate) struct MessageFollower {
    there: InstallationClient,
    instance: Option<String>,
    follower: EventFollower,
    /// Events whose messages were not asked for yet.
    unread: VecDeque<Value>,
    /// Messages that are to leave.
    leaving: BTreeSet<String>,
    /// Conversations as they were when they changed last.
    conversations: BTreeMap<String, Value>,
}

impl MessageFollower {
    /// Begins to follow: what is there now is not returned any more. `pause` is the time between two looks where the
    /// installation has no stream of events.
    pub(crate) async fn start_following(
        there: InstallationClient,
        instance: Option<String>,
        pause: Duration,
    ) -> Result<Self> {
        Ok(Self {
            follower: EventFollower::start_following(there.clone(), KINDS, pause).await?,
            there,
            instance,
            unread: VecDeque::new(),
            leaving: BTreeSet::new(),
            conversations: BTreeMap::new(),
        })
    }

    /// Waits for messages that came or left, and returns them in their order. It may return none. After an error the next call
    /// goes on where this one stopped.
    pub(crate) async fn wait_for_messages(&mut self) -> Result<Vec<FollowedMessage>> {
        if self.unread.is_empty() {
            let wanted = self.instance.as_deref();
            let mut events = self.follower.wait_for_events().await?;
            events
                .retain(|event| wanted.is_none_or(|wanted| find_text(event, "instance_id") == Some(wanted)));
            self.unread.extend(events);
        }
        let mut found = Vec::new();
        while let Some(event) = self.unread.pop_front() {
            if shows_message(&event, &self.leaving) {
                match self.find_message(&event).await {
                    Ok(message) => found.extend(message),
                    Err(error) => {
                        self.unread.push_front(event);
                        // What was found until here is not lost: the next call meets the error again.
                        return if found.is_empty() { Err(error) } else { Ok(found) };
                    }
                }
            }
            self.note_event(&event);
        }
        Ok(found)
    }

    /// Reads the message of an event with its conversation. `None`: it was erased.
    async fn find_message(&mut self, event: &Value) -> Result<Option<FollowedMessage>> {
        let (Some(id), Some(message)) = (
            find_text(event, "conversation_id"),
            find_text(event, "message_id"),
        ) else {
            return Ok(None);
        };
        let Some(message) = self.there.find_json(&["v1", "messages", message], &[]).await? else {
            return Ok(None);
        };
        if !self.conversations.contains_key(id) {
            let read = self.there.find_json(&["v1", "conversations", id], &[]).await?;
            if self.conversations.len() >= CONVERSATIONS_MAX {
                self.conversations.clear();
            }
            self.conversations
                .extend(read.map(|conversation| (id.to_owned(), conversation)));
        }
        let conversation = self.conversations.get(id).cloned();
        Ok(conversation.map(|conversation| FollowedMessage {
            conversation,
            message,
        }))
    }

    /// Keeps in memory what an event tells.
    fn note_event(&mut self, event: &Value) {
        if let Some(message) = find_text(event, "message_id") {
            if find_status(event) == Some(PENDING) {
                self.leaving.insert(message.to_owned());
            } else {
                self.leaving.remove(message);
            }
        } else if let Some(conversation) = find_text(event, "conversation_id") {
            self.conversations.remove(conversation);
        }
    }
}

/// Returns `true` if an event says that a message came, or that one of `leaving` left or will not leave.
fn shows_message(event: &Value, leaving: &BTreeSet<String>) -> bool {
    if find_status(event) == Some(PENDING) {
        return false;
    }
    match find_text(event, "kind") {
        Some("message.created") => true,
        Some("message.status") => find_text(event, "message_id").is_some_and(|id| leaving.contains(id)),
        _ => false,
    }
}

/// Returns the status of the outgoing message that an event is about.
fn find_status(event: &Value) -> Option<&str> {
    text_at(event, "/data/status")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_message_is_shown_once_when_it_came_or_left() {
        let created =
            |id: &str, data: Value| json!({"kind": "message.created", "message_id": id, "data": data});
        let status = |id: &str, status: &str| json!({"kind": "message.status", "message_id": id, "data": {"status": status}});
        let none = BTreeSet::new();
        let leaving = BTreeSet::from(["m2".to_owned()]);
        assert!(shows_message(&created("m1", json!({"role": "user"})), &none));
        assert!(
            shows_message(
                &created("m1", json!({"role": "operator", "status": "sent"})),
                &none
            ),
            "written on the phone"
        );
        assert!(!shows_message(
            &created("m2", json!({"role": "assistant", "status": "pending"})),
            &none
        ));
        for known in ["sent", "failed", "cancelled"] {
            assert!(shows_message(&status("m2", known), &leaving), "{known}");
        }
        assert!(!shows_message(&status("m2", "pending"), &leaving));
        assert!(
            !shows_message(&status("m3", "read"), &leaving),
            "it was shown, or left before"
        );
        assert!(!shows_message(
            &json!({"kind": "conversation.updated", "conversation_id": "c", "data": {}}),
            &leaving
        ));
    }
}

//! Finds new messages by looking at the newest conversations, where an installation publishes no events.

use super::FollowedMessage;
use crate::installation::InstallationClient;
use crate::json_fields::{find_text, list_items, number_or_zero};
use anyhow::Result;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use std::collections::BTreeMap;

/// Number of conversations that are looked at: those that were active last.
const CONVERSATIONS_MAX: usize = 200;

/// Number of messages of a page.
const PAGE: usize = 50;

/// The greatest difference between the clocks of this machine and of the installation.
const CLOCK_TOLERANCE: SignedDuration = SignedDuration::from_mins(1);

/// Returns each message once, from the moment on at which it was made.
#[derive(Debug)]
pub(super) struct ListedMessages {
    there: InstallationClient,
    instance: Option<String>,
    /// The newest message that is known of each conversation.
    known: BTreeMap<String, u64>,
    since: Timestamp,
}

impl ListedMessages {
    /// Begins to look: what is there now is not returned any more.
    pub(super) async fn start_looking(there: InstallationClient, instance: Option<String>) -> Result<Self> {
        let mut follower = Self {
            there,
            instance,
            known: BTreeMap::new(),
            since: Timestamp::now(),
        };
        let conversations = follower.list_conversations().await?;
        follower.known = conversations.iter().filter_map(describe_newest).collect();
        Ok(follower)
    }

    /// Returns the messages that came or went out since the last call, by time.
    ///
    /// It asks for the newest conversations, and for the messages of those that changed.
    pub(super) async fn read_new_messages(&mut self) -> Result<Vec<FollowedMessage>> {
        let mut found = Vec::new();
        for conversation in self.list_conversations().await? {
            let Some((id, newest)) = describe_newest(&conversation) else {
                continue;
            };
            let known = self.known.get(&id).copied();
            if known.is_some_and(|known| newest <= known) {
                continue;
            }
            let mut messages = self.list_messages_after(&id, known.unwrap_or_default()).await?;
            if known.is_none() {
                // It was not among the newest before, so it may have messages from before the beginning.
                messages.retain(|message| self.is_recent(message));
            }
            let newest = messages
                .iter()
                .map(|message| number_or_zero(message, "ordinal"))
                .max();
            self.known
                .insert(id, newest.unwrap_or_default().max(known.unwrap_or_default()));
            found.extend(messages.into_iter().map(|message| FollowedMessage {
                conversation: conversation.clone(),
                message,
            }));
        }
        found.sort_by_cached_key(|one| {
            let at = find_text(&one.message, "created_at").and_then(|at| at.parse::<Timestamp>().ok());
            (at, number_or_zero(&one.message, "ordinal"))
        });
        Ok(found)
    }

    async fn list_conversations(&self) -> Result<Vec<Value>> {
        let mut query = vec![("limit", CONVERSATIONS_MAX.to_string())];
        query.extend(self.instance.clone().map(|instance| ("instance", instance)));
        let page = self.there.get_json(&["v1", "conversations"], &query).await?;
        Ok(list_items(&page, "items").to_vec())
    }

    /// Lists the messages of a conversation after an ordinal, page by page.
    async fn list_messages_after(&self, id: &str, known: u64) -> Result<Vec<Value>> {
        let (mut messages, mut cursor) = (Vec::new(), None);
        loop {
            let mut query = vec![("limit", PAGE.to_string())];
            query.extend(cursor.take().map(|cursor| ("cursor", cursor)));
            let page = self
                .there
                .get_json(&["v1", "conversations", id, "messages"], &query)
                .await?;
            let items = list_items(&page, "items");
            let new = items
                .iter()
                .filter(|message| number_or_zero(message, "ordinal") > known);
            let before = messages.len();
            messages.extend(new.cloned());
            cursor = find_text(&page, "next_cursor").map(str::to_owned);
            let is_whole_page_new = messages.len() - before == items.len();
            // Of a conversation that was not known, the newest page is enough.
            if cursor.is_none() || !is_whole_page_new || known == 0 {
                return Ok(messages);
            }
        }
    }

    fn is_recent(&self, message: &Value) -> bool {
        let at = find_text(message, "created_at").and_then(|at| at.parse::<Timestamp>().ok());
        at.is_some_and(|at| at.duration_until(self.since) <= CLOCK_TOLERANCE)
    }
}

/// Returns the id of a conversation and the ordinal of its newest message.
fn describe_newest(conversation: &Value) -> Option<(String, u64)> {
    let id = find_text(conversation, "id")?.to_owned();
    Some((id, number_or_zero(conversation, "last_ordinal")))
}

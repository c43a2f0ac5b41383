//! Looks for what a text may name, by the routes that there are.

use crate::conversation_thread::read_thread;
use crate::installation::InstallationClient;
use crate::json_fields::{find_text, list_items, text_at};
use anyhow::{Result, bail};
use futures::stream::{self, StreamExt, TryStreamExt};
use recado_domain::ids::{ConversationId, CorrelationId, EventId, MessageId};
use recado_domain::scheduled::ScheduledId;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

/// The most tenants whose contacts are looked through.
const TENANTS_MAX: usize = 50;

/// Number of tenants that are asked at the same time.
const ASKED_AT_ONCE: usize = 8;

/// The most conversations that are shown of a person.
const THREADS_MAX: usize = 5;

/// The most messages that are shown of a trace.
const TRACED_MAX: usize = 20;

/// The most pages of the newest conversations that are looked through for a name, with 200 on each.
const PAGES_MAX: usize = 5;

/// The fewest digits of a text that is taken for a phone number.
const PHONE_DIGITS_MIN: usize = 8;

/// Looks for records of an installation.
pub(crate) struct RecordLookup {
    pub(crate) there: InstallationClient,
    pub(crate) tenant: Option<String>,
    pub(crate) instance: Option<String>,
    pub(crate) limit: u16,
}

impl RecordLookup {
    /// Finds what a text names. `None`: it names nothing that is known.
    pub(crate) async fn find_text(&self, text: &str) -> Result<Option<Value>> {
        if ConversationId::parse(text).is_ok() {
            return self.read_found_threads(&[text.to_owned()]).await;
        }
        if is_message_id(text) {
            return self.find_message_trace(text).await;
        }
        if is_id_of_event(text) {
            return self.find_related_records("event", text).await;
        }
        if is_contact_address(text)
            && let Some(found) = self.find_contact_threads(text).await?
        {
            return Ok(Some(found));
        }
        if let Some(found) = self.find_related_records("provider_message", text).await? {
            return Ok(Some(found));
        }
        if CorrelationId::parse(text).is_ok()
            && let Some(found) = self.find_related_records("correlation", text).await?
        {
            return Ok(Some(found));
        }
        if let Some(found) = self.search_conversations("contact", text).await? {
            return Ok(Some(found));
        }
        match self.find_among_newest(text).await? {
            Some(found) => Ok(Some(found)),
            None => self.search_conversations("text", text).await,
        }
    }

    /// Reads conversations with their messages.
    async fn read_found_threads(&self, ids: &[String]) -> Result<Option<Value>> {
        let mut threads = Vec::new();
        for id in ids {
            threads.push(read_thread(&self.there, id, self.limit).await?);
        }
        Ok((!threads.is_empty()).then(|| json!({ "threads": threads })))
    }

    /// Reads a message with its way, and what belongs to it.
    async fn find_message_trace(&self, id: &str) -> Result<Option<Value>> {
        let Some(message) = self.there.find_json(&["v1", "messages", id], &[]).await? else {
            return Ok(None);
        };
        if message.get("send_at").is_some() {
            return Ok(Some(json!({"scheduled": message, "way": message["way"]})));
        }
        let id = find_text(&message, "id").unwrap_or(id);
        self.find_related_records("message", id).await
    }

    /// Reads the events and messages that belong to an id. The first message tells its way.
    async fn find_related_records(&self, field: &'static str, id: &str) -> Result<Option<Value>> {
        let mut query = vec![(field, id.to_owned())];
        if field == "provider_message" {
            query.extend(self.instance.clone().map(|instance| ("instance", instance)));
        }
        let request = self.there.build_request(Method::GET, &["v1", "trace"])?;
        // A text that is no id is refused, too.
        let absent = [StatusCode::NOT_FOUND, StatusCode::BAD_REQUEST];
        let Some(trace) = self.there.request_unless(request.query(&query), &absent).await? else {
            return Ok(None);
        };
        let mut messages = Vec::new();
        for id in list_ids(list_items(&trace, "messages"))
            .into_iter()
            .take(TRACED_MAX)
        {
            messages.extend(self.there.find_json(&["v1", "messages", &id], &[]).await?);
        }
        let events = list_items(&trace, "events");
        if messages.is_empty() {
            return Ok((!events.is_empty()).then(|| json!({ "events": events })));
        }
        let conversation = match find_text(&messages[0], "conversation_id") {
            Some(id) => self.there.find_json(&["v1", "conversations", id], &[]).await?,
            None => None,
        };
        let way = messages[0].get("way").cloned();
        Ok(Some(json!({
            "conversation": conversation, "messages": messages, "way": way, "events": events
        })))
    }

    /// Finds the conversations of a person by number or address. `None`: nothing is stored of the person, or this token
    /// may not look for contacts.
    async fn find_contact_threads(&self, contact: &str) -> Result<Option<Value>> {
        let tenants = self.list_tenants().await?;
        let answers: Vec<Vec<Value>> = stream::iter(tenants)
            .map(|tenant| self.find_contact_of(tenant, contact))
            .buffered(ASKED_AT_ONCE)
            .try_collect()
            .await?;
        let mut known: Vec<Value> = answers.into_iter().flatten().collect();
        known.sort_by_key(|one| find_text(one, "last_message_at").map(str::to_owned));
        let is_erased = |one: &&Value| find_text(one, "erased_at").is_some();
        let erased: Vec<Value> = known.iter().filter(is_erased).cloned().collect();
        let alive = known.iter().rev().filter(|one| !is_erased(one));
        let ids = list_ids(alive.take(THREADS_MAX));
        let found = self.read_found_threads(&ids).await?;
        if found.is_none() && erased.is_empty() {
            return Ok(None);
        }
        let mut found = found.unwrap_or_else(|| json!({ "threads": [] }));
        found["erased"] = Value::Array(erased);
        Ok(Some(found))
    }

    /// Lists the conversations of a person with a tenant.
    async fn find_contact_of(&self, tenant: String, contact: &str) -> Result<Vec<Value>> {
        let body = json!({"tenant": tenant, "contact": contact, "instance": self.instance});
        let path = ["v1", "contacts", "find"];
        let request = self.there.build_request(Method::POST, &path)?;
        // No such tenant or instance, no address after all, or a token that only reads.
        let absent = [
            StatusCode::NOT_FOUND,
            StatusCode::UNPROCESSABLE_ENTITY,
            StatusCode::FORBIDDEN,
        ];
        let answer = self.there.request_unless(request.json(&body), &absent).await?;
        let answer = answer.unwrap_or_default();
        let people = list_items(&answer, "items").iter();
        let told = people.flat_map(|person| list_items(person, "conversations"));
        Ok(told.cloned().collect())
    }

    async fn list_tenants(&self) -> Result<Vec<String>> {
        if let Some(tenant) = &self.tenant {
            return Ok(vec![tenant.clone()]);
        }
        let query = [("limit", (TENANTS_MAX + 1).to_string())];
        let page = self.there.get_json(&["v1", "tenants"], &query).await?;
        let ids = list_ids(list_items(&page, "items"));
        if ids.len() > TENANTS_MAX {
            bail!("there are more than {TENANTS_MAX} tenants: name one with --tenant");
        }
        Ok(ids)
    }

    /// Looks through the newest conversations for a part of a contact's name or number.
    async fn find_among_newest(&self, text: &str) -> Result<Option<Value>> {
        let (mut ids, mut cursor) = (Vec::new(), None);
        for _ in 0..PAGES_MAX {
            let mut query = vec![("limit", "200".to_owned())];
            query.extend(self.instance.clone().map(|instance| ("instance", instance)));
            query.extend(cursor.take().map(|cursor| ("cursor", cursor)));
            let page = self.there.get_json(&["v1", "conversations"], &query).await?;
            let all = list_items(&page, "items").iter();
            ids.extend(list_ids(all.filter(|one| matches_contact(one, text))));
            cursor = find_text(&page, "next_cursor").map(str::to_owned);
            if cursor.is_none() || ids.len() >= THREADS_MAX {
                break;
            }
        }
        ids.truncate(THREADS_MAX);
        self.read_found_threads(&ids).await
    }

    /// Searches the conversations by words of one message (`text`), or of the contact (`contact`). Reads the newest. `None`: there is
    /// none, or the installation searches no words.
    async fn search_conversations(&self, field: &'static str, text: &str) -> Result<Option<Value>> {
        let mut query = vec![(field, text.to_owned()), ("limit", THREADS_MAX.to_string())];
        query.extend(self.instance.clone().map(|instance| ("instance", instance)));
        let request = self.there.build_request(Method::GET, &["v1", "conversations"])?;
        // The text holds no word, or texts are not searched.
        let absent = [StatusCode::BAD_REQUEST, StatusCode::NOT_IMPLEMENTED];
        let Some(page) = self.there.request_unless(request.query(&query), &absent).await? else {
            return Ok(None);
        };
        let ids = list_ids(list_items(&page, "items"));
        self.read_found_threads(&ids).await
    }
}

/// Lists the ids of records.
fn list_ids<'a>(records: impl IntoIterator<Item = &'a Value>) -> Vec<String> {
    let ids = records.into_iter().filter_map(|one| find_text(one, "id"));
    ids.map(str::to_owned).collect()
}

/// Returns `true` if a text is the id of a message, or of one that is to be sent later.
fn is_message_id(text: &str) -> bool {
    let named = MessageId::parse(text).is_ok_and(|id| id.conversation_and_ordinal().is_ok());
    named || ScheduledId::parse(text).is_ok()
}

fn is_id_of_event(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) && EventId::parse(text).is_ok()
}

/// Returns `true` if a text looks like a phone number, or like an address at WhatsApp.
fn is_contact_address(text: &str) -> bool {
    let is_phone = text
        .chars()
        .all(|character| character.is_ascii_digit() || " +()-.".contains(character));
    (is_phone && keep_only_digits(text).len() >= PHONE_DIGITS_MIN) || text.contains('@')
}

/// Returns `true` if the contact of a conversation has this part in its name, or these digits in its number.
fn matches_contact(conversation: &Value, text: &str) -> bool {
    let at = |pointer: &str| text_at(conversation, pointer).unwrap_or_default();
    let digits = keep_only_digits(text);
    let has_digits = digits.len() >= 4 && keep_only_digits(at("/contact/phone")).contains(&digits);
    has_digits || at("/contact/name").to_lowercase().contains(&text.to_lowercase())
}

fn keep_only_digits(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_recognized_by_its_form() {
        let thread = "c_9c2b68278bc5d12270dad71f1da5c3f1-1";
        assert!(is_message_id(&format!("{thread}.4")) && !is_message_id(thread));
        assert!(is_message_id("s_9c2b68278bc5d12270dad71f1da5c3f1"));
        assert!(is_id_of_event(&"a1".repeat(32)) && !is_id_of_event("a1"));
        for address in ["+55 (11) 98660-0033", "5511986600033", "123@lid"] {
            assert!(is_contact_address(address), "{address}");
        }
        for other in ["0033", "3EB0A1B2C3", "Maria", "wamid.HBgN"] {
            assert!(!is_contact_address(other), "{other}");
        }
    }

    #[test]
    fn a_contact_is_matched_by_a_part_of_name_or_number() {
        let one = json!({"contact": {"name": "Maria Exemplo", "phone": "+5511986600033"}});
        for text in ["maria", "Exemplo", "0033", "98660-0033"] {
            assert!(matches_contact(&one, text), "{text}");
        }
        for text in ["Ana", "33", "0034"] {
            assert!(!matches_contact(&one, text), "{text}");
        }
        assert!(!matches_contact(&json!({"contact": {"name": null}}), "maria"));
    }
}

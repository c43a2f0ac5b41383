//! The index of the words of messages. It is written in batches after the messages, so that a message writes no page for it.

use super::contact_words::{index_contact_words, make_tenant_word};
use crate::Embedded;
use crate::db_error::DbResult;
use crate::installation_values::{read_number, write_value};
use crate::sql_records::{decode_column, execute_sql, query_one, run_sql_statement, to_sql_limit};
use jiff::Timestamp;
use recado_domain::ids::TenantId;
use recado_domain::message::Message;
use recado_ports::ports::{PortResult, SearchWords};
use rusqlite::{Connection, params};
use std::collections::BTreeSet;

/// Number of messages that are indexed in one transaction. Other writers wait meanwhile.
pub const INDEX_BATCH: usize = 100;

/// The most characters of a message that are indexed: a document may be long.
const CHARACTERS_MAX: usize = 10_000;

/// The fewest letters that find the words beginning with them: fewer begin too many.
const BEGINNING_MIN: usize = 3;

/// The name under which the installation keeps the `seq` up to which messages are indexed.
const WORDS_INDEXED: &str = "words-indexed";

/// The condition that one of the newest 2,000 matching messages is in a conversation.
pub(super) const WORDS_MATCH: &str =
    "id IN (SELECT conversation FROM messages WHERE seq IN (SELECT rowid FROM message_words
    WHERE message_words MATCH ? ORDER BY rowid DESC LIMIT 2000))";

/// Returns the text of a message that is searched: what it says, and what its recording or document says.
pub(super) fn render_searched_text(message: &Message) -> String {
    let mut text = message.render_present_text();
    if let Some(of_file) = find_file_text(message) {
        text.push('\n');
        text.push_str(of_file);
    }
    match text.char_indices().nth(CHARACTERS_MAX) {
        Some((end, _)) => text[..end].to_owned(),
        None => text,
    }
}

fn find_file_text(message: &Message) -> Option<&str> {
    Some(&message.file.as_ref()?.found_text()?.text)
}

/// Writes the query for messages in which each of the words begins one, of a tenant or of all. A short word must be a whole one. Each
/// is quoted, so that nothing in it is an operator.
pub(super) fn write_match_query(words: &SearchWords, tenant: Option<&TenantId>) -> String {
    let quote = |word: &String| {
        let begins = word.chars().count() >= BEGINNING_MIN;
        format!("\"{word}\"{}", if begins { " *" } else { "" })
    };
    let quoted = words.words().iter().map(quote);
    let quoted = quoted.collect::<Vec<_>>().join(" AND ");
    match tenant {
        Some(tenant) => format!("words : ({quoted}) AND tenant : {}", make_tenant_word(tenant)),
        None => format!("words : ({quoted})"),
    }
}

/// Writes the new words of a message whose text changed. A message that is not indexed yet is indexed later.
pub(super) fn replace_indexed_words(
    db: &Connection,
    (conversation, ordinal): (&str, i64),
    words: &str,
) -> DbResult<()> {
    let sql = "UPDATE message_words SET words = ?3
        WHERE rowid = (SELECT seq FROM messages WHERE conversation = ?1 AND ordinal = ?2)";
    run_sql_statement(db, sql, params![conversation, ordinal, words])
}

/// Returns the `seq` up to which messages are indexed.
fn select_indexed_upto(db: &Connection) -> DbResult<i64> {
    Ok(read_number(db, WORDS_INDEXED)?.unwrap_or(0))
}

/// Indexes the next messages, and the contacts of their conversations. Returns the number of the messages.
fn index_next_messages(db: &Connection, limit: usize) -> DbResult<usize> {
    let upto = select_indexed_upto(db)?;
    let mut statement =
        db.prepare_cached("SELECT seq, body FROM messages WHERE seq > ?1 ORDER BY seq LIMIT ?2")?;
    let mut rows = statement.query(params![upto, to_sql_limit(limit)])?;
    let (mut last, mut count, mut conversations) = (upto, 0, BTreeSet::new());
    while let Some(row) = rows.next()? {
        last = row.get(0)?;
        count += 1;
        let message: Message = decode_column(row, 1)?;
        let sql = "INSERT INTO message_words (rowid, words, tenant) VALUES (?1, ?2, ?3)";
        let (words, tenant) = (render_searched_text(&message), make_tenant_word(&message.tenant));
        execute_sql(db, sql, params![last, words, tenant])?;
        conversations.insert(message.conversation);
    }
    for conversation in &conversations {
        index_contact_words(db, conversation)?;
    }
    if count > 0 {
        write_value(db, WORDS_INDEXED, &last.to_string())?;
    }
    Ok(count)
}

/// Returns the first message that is not indexed.
fn select_first_unindexed(db: &Connection) -> DbResult<Option<Message>> {
    let upto = select_indexed_upto(db)?;
    let sql = "SELECT body FROM messages WHERE seq > ?1 ORDER BY seq LIMIT 1";
    query_one(db, sql, [upto])
}

/// Returns the time up to which messages are indexed: that of the first one that is not, or `now`.
pub(super) fn select_covered_time(db: &Connection, now: Timestamp) -> DbResult<Timestamp> {
    let next = select_first_unindexed(db)?;
    Ok(next.map_or(now, |message| message.stored_at))
}

impl Embedded {
    /// Indexes the words of messages that are not indexed yet, at most [`INDEX_BATCH`]. Returns how many. To be called from time to
    /// time.
    pub async fn index_message_words(&self) -> PortResult<usize> {
        // A write wakes the readers of events, and mostly there is nothing to index.
        let is_behind = self.run_read("unindexed_words", |db| Ok(select_first_unindexed(db)?.is_some()));
        if !is_behind.await? {
            return Ok(0);
        }
        self.run_write("index_words", |db| index_next_messages(db, INDEX_BATCH))
            .await
    }
}

#[cfg(test)]
mod tests;

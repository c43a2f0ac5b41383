//! The index of contacts' names and numbers. A conversation comes into it with the words of its next message.

use crate::db_error::DbResult;
use crate::sql_records::{decode_column, execute_sql, query_one_value};
use recado_domain::conversation::Conversation;
use recado_domain::ids::{ConversationId, TenantId};
use rusqlite::{Connection, params};

/// The condition that a conversation is one of the newest 2,000 whose contact matches.
pub(super) const CONTACT_MATCHES: &str =
    "id IN (SELECT id FROM conversations WHERE seq IN (SELECT rowid FROM contact_words
    WHERE contact_words MATCH ? ORDER BY rowid DESC LIMIT 2000))";

/// The lengths of the ends of a number that find it: without the country's code, without that of the area, and the last four digits.
const NUMBER_ENDS: [usize; 5] = [11, 10, 9, 8, 4];

/// Returns what finds a contact: its name, its number and the ends of its number.
pub(super) fn render_contact_words(conversation: &Conversation) -> String {
    let mut words = conversation.contact.name.clone().unwrap_or_default();
    let number: String = conversation
        .contact
        .phone
        .iter()
        .flat_map(|phone| phone.chars())
        .collect();
    let digits: Vec<char> = number.chars().filter(char::is_ascii_digit).collect();
    let ends = NUMBER_ENDS.iter().filter(|length| **length < digits.len());
    for length in std::iter::once(&digits.len()).chain(ends) {
        words.push(' ');
        words.extend(digits.iter().skip(digits.len() - length));
    }
    words.trim().to_owned()
}

/// Returns the word that stands for a tenant. Its id may consist of several.
pub(super) fn make_tenant_word(tenant: &TenantId) -> String {
    let digits = tenant.as_str().bytes().map(|byte| format!("{byte:02x}"));
    std::iter::once("t".to_owned()).chain(digits).collect()
}

/// Writes the words of the contact of a stored conversation in place of those that the index has.
pub(super) fn replace_contact_words(
    db: &Connection,
    (id, tenant): (&str, &TenantId),
    words: &str,
) -> DbResult<()> {
    match query_one_value(db, "SELECT seq FROM conversations WHERE id = ?1", [id])? {
        Some(seq) => write_words(db, seq, tenant, words),
        None => Ok(()),
    }
}

/// Writes the words of the contact of a conversation, unless the index has them.
pub(super) fn index_contact_words(db: &Connection, id: &ConversationId) -> DbResult<()> {
    let mut statement = db.prepare_cached("SELECT seq, body FROM conversations WHERE id = ?1")?;
    let mut rows = statement.query([id.to_string()])?;
    let Some(row) = rows.next()? else {
        return Ok(());
    };
    let conversation: Conversation = decode_column(row, 1)?;
    let words = render_contact_words(&conversation);
    write_words(db, row.get(0)?, &conversation.tenant, &words)
}

/// Writes the words of the contact of the conversation `seq`, unless the index has them.
///
/// Each statement is as simple as it can be: of one that needs a savepoint, such as an `INSERT` that selects, SQLite writes the
/// whole index out before it.
fn write_words(db: &Connection, seq: i64, tenant: &TenantId, words: &str) -> DbResult<()> {
    let known: Option<String> =
        query_one_value(db, "SELECT words FROM contact_words WHERE rowid = ?1", [seq])?;
    if known.as_deref().unwrap_or_default() == words {
        return Ok(());
    }
    if known.is_some() {
        execute_sql(db, "DELETE FROM contact_words WHERE rowid = ?1", [seq])?;
    }
    if !words.is_empty() {
        let sql = "INSERT INTO contact_words (rowid, words, tenant) VALUES (?1, ?2, ?3)";
        execute_sql(db, sql, params![seq, words, make_tenant_word(tenant)])?;
    }
    Ok(())
}

//! Finds the person whom a message's chat is with.

use crate::wire::json::get_text;
use recado_domain::contact::{ChatKind, ContactAddress};
use serde_json::Value;

/// Server part of phone JIDs.
const PHONE_SERVER: &str = "s.whatsapp.net";
/// Suffix of linked identities.
const LID_SUFFIX: &str = "@lid";

/// The other side of a chat.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ChatPeer {
    /// Chat with one person.
    Person(ContactAddress),
    /// Group, broadcast, newsletter or bot of WhatsApp's; the text names the kind for the log.
    NotDirect(&'static str),
    /// Unknown: the key names no chat.
    Unknown,
}

impl ChatPeer {
    /// Returns the person; otherwise why the message is ignored: `unknown` if its key names no chat.
    pub(super) fn into_person(self, unknown: &'static str) -> Result<ContactAddress, &'static str> {
        match self {
            Self::Person(address) => Ok(address),
            Self::NotDirect(what) => Err(what),
            Self::Unknown => Err(unknown),
        }
    }
}

/// Chooses the address of a message by its `key`: the phone JID if any field has one, else the linked identity.
///
/// Versions write one person's chat in different ways: as the phone, as the lid with the phone in another field
/// (`senderPn` in 2.3.0 to 2.3.4, `remoteJidAlt` from 2.3.3), as the phone with the lid in another field, or as the lid
/// alone. Using the phone wherever it is known keeps one person in one conversation. A lid that never comes with a phone
/// stays a separate contact.
///
/// `own` is the instance's own JID: in a message that the business typed itself, the fields about the sender name the
/// business.
pub(super) fn choose_chat_peer(key: &Value, own: Option<&str>) -> ChatPeer {
    let remote = get_text(key, "remoteJid").and_then(parse_jid);
    if get_text(key, "remoteJid").is_some_and(|jid| jid.ends_with("@bot")) {
        return ChatPeer::NotDirect("chat with a bot");
    }
    match remote.as_ref().map(ContactAddress::chat_kind) {
        Some(ChatKind::Group) => return ChatPeer::NotDirect("group message"),
        Some(ChatKind::Broadcast) => return ChatPeer::NotDirect("broadcast"),
        Some(ChatKind::Newsletter) => return ChatPeer::NotDirect("newsletter"),
        Some(ChatKind::Direct) | None => {}
    }
    let known = collect_addresses(key, own);
    match known
        .iter()
        .find(|known| !known.is_numberless())
        .or(known.first())
    {
        Some(best) => ChatPeer::Person(best.clone()),
        None => ChatPeer::Unknown,
    }
}

/// Returns the linked identity of the person whose number [`choose_chat_peer`] chooses; `None` unless the `key` has
/// both.
pub(super) fn find_linked_identity(key: &Value, own: Option<&str>) -> Option<ContactAddress> {
    // In a message of the business the additional addresses may be the business's own. Without its number this is unknown.
    if is_from_me(key) && own.is_none() {
        return None;
    }
    let (lids, numbers): (Vec<_>, Vec<_>) = collect_addresses(key, own)
        .into_iter()
        .partition(ContactAddress::is_numberless);
    lids.into_iter()
        .find(|other| other.as_str().ends_with(LID_SUFFIX))
        .filter(|_| !numbers.is_empty())
}

fn is_from_me(key: &Value) -> bool {
    key.get("fromMe").and_then(Value::as_bool).unwrap_or(false)
}

/// Collects all addresses that a `key` gives for the person in the chat.
fn collect_addresses(key: &Value, own: Option<&str>) -> Vec<ContactAddress> {
    let from_me = is_from_me(key);
    // If the envelope does not name the instance's own JID, the sender's phone does.
    let sender = || get_text(key, "senderPn").filter(|_| from_me);
    let own = own.or_else(sender).and_then(parse_jid);
    let remote = get_text(key, "remoteJid").and_then(parse_jid);
    let besides: &[&str] = if from_me {
        &["remoteJidAlt"]
    } else {
        &["remoteJidAlt", "senderPn", "senderLid", "participantAlt"]
    };
    let others = besides
        .iter()
        .filter_map(|field| get_text(key, field).and_then(parse_jid));
    // A chat with the own number is a real chat. So only the additional addresses are compared with the own number.
    let others = others.filter(|other| !from_me || own.as_ref() != Some(other));
    remote
        .into_iter()
        .chain(others)
        .filter(|known| known.chat_kind() == ChatKind::Direct)
        .collect()
}

/// Parses a JID; bare digits count as a phone number.
pub(super) fn parse_jid(raw: &str) -> Option<ContactAddress> {
    let address = ContactAddress::parse(raw)?;
    let bare = address.as_str().strip_prefix('+').unwrap_or(address.as_str());
    if !bare.is_empty() && bare.bytes().all(|b| b.is_ascii_digit()) {
        return ContactAddress::parse(&format!("{bare}@{PHONE_SERVER}"));
    }
    Some(address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const PHONE: &str = "5511900000001@s.whatsapp.net";
    const LID: &str = "100000000000001@lid";

    fn person(raw: &str) -> ChatPeer {
        ChatPeer::Person(ContactAddress::parse(raw).unwrap())
    }

    #[test]
    fn one_person_is_one_address_however_the_key_is_written() {
        for key in [
            json!({"remoteJid": PHONE}),
            json!({"remoteJid": "5511900000001:12@s.whatsapp.net"}),
            json!({"remoteJid": "5511900000001"}),
            json!({"remoteJid": LID, "senderPn": PHONE}),
            json!({"remoteJid": LID, "remoteJidAlt": PHONE, "addressingMode": "lid"}),
            json!({"remoteJid": PHONE, "remoteJidAlt": LID}),
            json!({"remoteJid": PHONE, "remoteJidAlt": PHONE, "addressingMode": "lid", "participant": ""}),
            json!({"remoteJid": "@s.whatsapp.net", "remoteJidAlt": PHONE}),
        ] {
            assert_eq!(choose_chat_peer(&key, None), person(PHONE), "{key}");
        }
    }

    #[test]
    fn a_lid_alone_is_the_address_and_nothing_at_all_is_nobody() {
        assert_eq!(choose_chat_peer(&json!({"remoteJid": LID}), None), person(LID));
        assert_eq!(
            choose_chat_peer(
                &json!({"remoteJid": "@s.whatsapp.net", "remoteJidAlt": "@s.whatsapp.net"}),
                None
            ),
            ChatPeer::Unknown
        );
        assert_eq!(choose_chat_peer(&json!({}), None), ChatPeer::Unknown);
        assert_eq!(choose_chat_peer(&json!("x"), None), ChatPeer::Unknown);
    }

    #[test]
    fn what_the_business_typed_is_never_filed_under_its_own_number() {
        let own = Some("5511900000099:3@s.whatsapp.net");
        let key = json!({"remoteJid": LID, "fromMe": true, "senderPn": "5511900000099@s.whatsapp.net",
            "remoteJidAlt": "5511900000099@s.whatsapp.net"});
        assert_eq!(choose_chat_peer(&key, own), person(LID));
        assert_eq!(choose_chat_peer(&key, None), person(LID));
        let key = json!({"remoteJid": LID, "fromMe": true, "remoteJidAlt": PHONE});
        assert_eq!(choose_chat_peer(&key, own), person(PHONE));
    }

    #[test]
    fn a_key_that_shows_both_names_of_a_person_tells_the_lid_beside_the_number() {
        let lid = ContactAddress::parse(LID);
        for key in [
            json!({"remoteJid": LID, "remoteJidAlt": PHONE}),
            json!({"remoteJid": PHONE, "remoteJidAlt": LID}),
            json!({"remoteJid": LID, "senderPn": PHONE}),
            json!({"remoteJid": PHONE, "senderLid": LID}),
        ] {
            assert_eq!(find_linked_identity(&key, None), lid, "{key}");
        }
        for key in [
            json!({"remoteJid": LID}),
            json!({"remoteJid": PHONE}),
            json!({"remoteJid": PHONE, "remoteJidAlt": PHONE}),
            json!({"remoteJid": LID, "remoteJidAlt": LID}),
        ] {
            assert_eq!(find_linked_identity(&key, None), None, "{key}");
        }
    }

    #[test]
    fn the_lid_of_a_contact_is_never_taken_for_the_business() {
        let own = "5511900000099:3@s.whatsapp.net";
        let both = json!({"remoteJid": LID, "fromMe": true, "remoteJidAlt": PHONE});
        assert_eq!(find_linked_identity(&both, Some(own)), ContactAddress::parse(LID));
        assert_eq!(find_linked_identity(&both, None), None);
        let us = json!({"remoteJid": LID, "fromMe": true, "remoteJidAlt": "5511900000099@s.whatsapp.net"});
        assert_eq!(find_linked_identity(&us, Some(own)), None);
    }

    #[test]
    fn groups_broadcasts_and_newsletters_are_no_persons() {
        let key = json!({"remoteJid": "120363000000000001@g.us", "participant": PHONE});
        assert_eq!(choose_chat_peer(&key, None), ChatPeer::NotDirect("group message"));
        assert_eq!(
            choose_chat_peer(&json!({"remoteJid": "status@broadcast"}), None),
            ChatPeer::NotDirect("broadcast")
        );
        assert_eq!(
            choose_chat_peer(&json!({"remoteJid": "120363@newsletter"}), None),
            ChatPeer::NotDirect("newsletter")
        );
        assert_eq!(
            choose_chat_peer(&json!({"remoteJid": "13135550002@bot"}), None),
            ChatPeer::NotDirect("chat with a bot")
        );
    }
}

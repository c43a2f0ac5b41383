//! With whom a message's chat is.

use crate::json::text;
use recado_domain::contact::{ChatKind, ContactAddress};
use serde_json::Value;

/// The server of phone JIDs.
const PHONES: &str = "s.whatsapp.net";
/// What linked identities end with.
const LIDS: &str = "@lid";

/// With whom a chat is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Chat {
    /// With one person.
    Person(ContactAddress),
    /// A group, broadcast, newsletter or bot of WhatsApp's: in a word.
    Many(&'static str),
    /// It does not say.
    Nobody,
}

/// Chooses the address of a message by its `key`: the phone JID if any field knows one, else the linked identity.
///
/// Versions write one person's chat in different ways: as the phone, as the lid with the phone beside it (`senderPn` in
/// 2.3.0 to 2.3.4, `remoteJidAlt` from 2.3.3), as the phone with the lid beside it, or as the lid alone. Taking the phone
/// wherever it is known keeps one person in one conversation. A lid that never comes with a phone stays a contact of its
/// own.
///
/// `own` is the instance's own JID: on what the business typed itself, the fields about the sender name the business.
pub(super) fn chat_of(key: &Value, own: Option<&str>) -> Chat {
    let remote = text(key, "remoteJid").and_then(address);
    if text(key, "remoteJid").is_some_and(|jid| jid.ends_with("@bot")) {
        return Chat::Many("chat with a bot");
    }
    match remote.as_ref().map(ContactAddress::chat) {
        Some(ChatKind::Group) => return Chat::Many("group message"),
        Some(ChatKind::Broadcast) => return Chat::Many("broadcast"),
        Some(ChatKind::Newsletter) => return Chat::Many("newsletter"),
        Some(ChatKind::Direct) | None => {}
    }
    let known = named(key, own);
    match known
        .iter()
        .find(|known| !known.is_numberless())
        .or(known.first())
    {
        Some(best) => Chat::Person(best.clone()),
        None => Chat::Nobody,
    }
}

/// The linked identity of the person whose number [`chat_of`] chooses, where the `key` shows both.
pub(super) fn also_of(key: &Value, own: Option<&str>) -> Option<ContactAddress> {
    // Without the own number, what stands beside a chat that the business wrote in may be the business.
    if is_from_me(key) && own.is_none() {
        return None;
    }
    let (lids, numbers): (Vec<_>, Vec<_>) = named(key, own)
        .into_iter()
        .partition(ContactAddress::is_numberless);
    lids.into_iter()
        .find(|other| other.as_str().ends_with(LIDS))
        .filter(|_| !numbers.is_empty())
}

fn is_from_me(key: &Value) -> bool {
    key.get("fromMe").and_then(Value::as_bool).unwrap_or(false)
}

/// All that a `key` calls the person whose chat it is in.
fn named(key: &Value, own: Option<&str>) -> Vec<ContactAddress> {
    let from_me = is_from_me(key);
    // Where the envelope does not say, the sender's phone does.
    let sender = || text(key, "senderPn").filter(|_| from_me);
    let own = own.or_else(sender).and_then(address);
    let remote = text(key, "remoteJid").and_then(address);
    let besides: &[&str] = if from_me {
        &["remoteJidAlt"]
    } else {
        &["remoteJidAlt", "senderPn", "senderLid", "participantAlt"]
    };
    let others = besides
        .iter()
        .filter_map(|field| text(key, field).and_then(address));
    // A chat with oneself is one: so only what stands beside `remoteJid` is compared with the own number.
    let others = others.filter(|other| !from_me || own.as_ref() != Some(other));
    remote
        .into_iter()
        .chain(others)
        .filter(|known| known.chat() == ChatKind::Direct)
        .collect()
}

/// A JID; bare digits are a phone's.
pub(super) fn address(raw: &str) -> Option<ContactAddress> {
    let address = ContactAddress::parse(raw)?;
    let bare = address.as_str().strip_prefix('+').unwrap_or(address.as_str());
    if !bare.is_empty() && bare.bytes().all(|b| b.is_ascii_digit()) {
        return ContactAddress::parse(&format!("{bare}@{PHONES}"));
    }
    Some(address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const PHONE: &str = "5511900000001@s.whatsapp.net";
    const LID: &str = "100000000000001@lid";

    fn person(raw: &str) -> Chat {
        Chat::Person(ContactAddress::parse(raw).unwrap())
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
            assert_eq!(chat_of(&key, None), person(PHONE), "{key}");
        }
    }

    #[test]
    fn a_lid_alone_is_the_address_and_nothing_at_all_is_nobody() {
        assert_eq!(chat_of(&json!({"remoteJid": LID}), None), person(LID));
        assert_eq!(
            chat_of(
                &json!({"remoteJid": "@s.whatsapp.net", "remoteJidAlt": "@s.whatsapp.net"}),
                None
            ),
            Chat::Nobody
        );
        assert_eq!(chat_of(&json!({}), None), Chat::Nobody);
        assert_eq!(chat_of(&json!("x"), None), Chat::Nobody);
    }

    #[test]
    fn what_the_business_typed_is_never_filed_under_its_own_number() {
        let own = Some("5511900000099:3@s.whatsapp.net");
        let key = json!({"remoteJid": LID, "fromMe": true, "senderPn": "5511900000099@s.whatsapp.net",
            "remoteJidAlt": "5511900000099@s.whatsapp.net"});
        assert_eq!(chat_of(&key, own), person(LID));
        assert_eq!(chat_of(&key, None), person(LID));
        let key = json!({"remoteJid": LID, "fromMe": true, "remoteJidAlt": PHONE});
        assert_eq!(chat_of(&key, own), person(PHONE));
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
            assert_eq!(also_of(&key, None), lid, "{key}");
        }
        for key in [
            json!({"remoteJid": LID}),
            json!({"remoteJid": PHONE}),
            json!({"remoteJid": PHONE, "remoteJidAlt": PHONE}),
            json!({"remoteJid": LID, "remoteJidAlt": LID}),
        ] {
            assert_eq!(also_of(&key, None), None, "{key}");
        }
    }

    #[test]
    fn the_lid_of_a_contact_is_never_taken_for_the_business() {
        let own = "5511900000099:3@s.whatsapp.net";
        let both = json!({"remoteJid": LID, "fromMe": true, "remoteJidAlt": PHONE});
        assert_eq!(also_of(&both, Some(own)), ContactAddress::parse(LID));
        assert_eq!(also_of(&both, None), None);
        let us = json!({"remoteJid": LID, "fromMe": true, "remoteJidAlt": "5511900000099@s.whatsapp.net"});
        assert_eq!(also_of(&us, Some(own)), None);
    }

    #[test]
    fn groups_broadcasts_and_newsletters_are_no_persons() {
        let key = json!({"remoteJid": "120363000000000001@g.us", "participant": PHONE});
        assert_eq!(chat_of(&key, None), Chat::Many("group message"));
        assert_eq!(
            chat_of(&json!({"remoteJid": "status@broadcast"}), None),
            Chat::Many("broadcast")
        );
        assert_eq!(
            chat_of(&json!({"remoteJid": "120363@newsletter"}), None),
            Chat::Many("newsletter")
        );
        assert_eq!(
            chat_of(&json!({"remoteJid": "13135550002@bot"}), None),
            Chat::Many("chat with a bot")
        );
    }
}

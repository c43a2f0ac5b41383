//! Finds the contact that a message or preference is about, and the contact's address and name.

use crate::wire::json::{get_text, list_members, parse_timestamp};
use recado_domain::contact::ContactAddress;
use recado_domain::content::Content;
use recado_domain::context::MessageContext;
use recado_domain::inbound::{InboundEvent, InboundMessage};
use serde_json::Value;

/// Finds the entry of `contacts[]` that `about` names in one of `keys`. If no entry is named, a single entry is
/// returned, unless it certainly is another person.
pub(super) fn find_contact<'a>(value: &'a Value, about: &Value, keys: [&str; 2]) -> Option<&'a Value> {
    let contacts = list_members(value.get("contacts"));
    let named = contacts
        .iter()
        .find(|contact| is_named_contact(contact, about, keys));
    named.or(match contacts {
        [only] => Some(only).filter(|contact| !is_different_contact(contact, about, keys)),
        _ => None,
    })
}

/// Returns `true` if a contact certainly is not the person that `about` names in one of `keys`: both have a user id, or
/// both a phone, and these differ. Only a phone's last eight digits are compared, because Brazilian and Mexican numbers
/// may be written differently as `wa_id`.
fn is_different_contact(contact: &Value, about: &Value, keys: [&str; 2]) -> bool {
    const SUBSCRIBER: usize = 8;
    let (told, known) = (
        keys.map(|key| get_text(about, key)),
        [get_text(contact, "wa_id"), get_text(contact, "user_id")],
    );
    let user = |names: [Option<&str>; 2]| {
        names
            .into_iter()
            .flatten()
            .find(|name| is_user_id(name))
            .map(str::to_owned)
    };
    let end = |names: [Option<&str>; 2]| {
        let phone = names.into_iter().flatten().find_map(parse_phone_digits)?;
        Some(phone[phone.len().saturating_sub(SUBSCRIBER)..].to_owned())
    };
    let differ =
        |one: Option<String>, other: Option<String>| one.is_some() && other.is_some() && one != other;
    differ(user(told), user(known)) || differ(end(told), end(known))
}

/// Returns `true` if `about` names this contact in one of `keys`.
pub(super) fn is_named_contact(contact: &Value, about: &Value, keys: [&str; 2]) -> bool {
    let names = keys.map(|key| get_text(about, key));
    let ids = [get_text(contact, "wa_id"), get_text(contact, "user_id")];
    ids.iter().any(|id| id.is_some() && names.contains(id))
}

/// Chooses the address: the phone if any field has one, else the business-scoped user id. The message's own phone comes
/// first, because every message that shows the number has it; this field and `wa_id` may hold a user id, too.
pub(super) fn choose_address(
    [phone, user]: [Option<&str>; 2],
    contact: Option<&Value>,
) -> Option<ContactAddress> {
    let wa_id = contact.and_then(|contact| get_text(contact, "wa_id"));
    let contact_user = contact.and_then(|contact| get_text(contact, "user_id"));
    let number = [phone, wa_id].into_iter().flatten().find_map(parse_phone_digits);
    let id = || {
        [user, phone, wa_id, contact_user]
            .into_iter()
            .flatten()
            .next()
            .map(str::to_owned)
    };
    ContactAddress::parse(&number.or_else(id)?)
}

/// Returns the digits of a phone number; `None` for any other text. The number may contain `+`, spaces, dashes and
/// brackets.
pub(super) fn parse_phone_digits(raw: &str) -> Option<String> {
    let digits: String = raw.chars().filter(char::is_ascii_digit).collect();
    let plain = raw.chars().all(|c| c.is_ascii_digit() || "+ -()".contains(c));
    (plain && !digits.is_empty()).then_some(digits)
}

/// Returns `true` if `raw` is a business-scoped user id: two letters of a country, a dot, letters and digits (with
/// `ENT.` before them in the id of a parent account).
pub(crate) fn is_user_id(raw: &str) -> bool {
    let Some((country, rest)) = raw.split_once('.') else {
        return false;
    };
    let id = rest.strip_prefix("ENT.").unwrap_or(rest);
    country.len() == 2
        && country.bytes().all(|b| b.is_ascii_uppercase())
        && (1..=128).contains(&id.len())
        && id.bytes().all(|b| b.is_ascii_alphanumeric())
}

/// Returns the contact's profile name, or else the user name without `@`.
pub(super) fn read_display_name(contact: &Value) -> Option<String> {
    let profile = contact.get("profile")?;
    let username = || get_text(profile, "username").map(|name| name.trim_start_matches('@'));
    get_text(profile, "name")
        .or_else(username)
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
}

/// Builds the message of a note about a contact, which the contact did not write. `about` has the time.
pub(super) fn build_note_event(
    address: ContactAddress,
    contact: Option<&Value>,
    about: &Value,
    content: Content,
) -> InboundEvent {
    InboundEvent::Message(Box::new(InboundMessage {
        phone: address.phone_number(),
        address,
        numberless_identity: None,
        name: contact.and_then(read_display_name),
        provider_message_id: None,
        from_me: false,
        sent_at: parse_timestamp(about.get("timestamp")),
        content,
        context: MessageContext::default(),
        not_owed: None,
        thread: None,
    }))
}

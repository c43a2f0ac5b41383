//! Contacts: the address as the provider gives it, and the phone number behind the address, where there is one.
//!
//! An address may be a phone number (`5511999998888@s.whatsapp.net`, `5511999998888`), a linked identity without any
//! number (`123456789@lid`) or a business-scoped user id of Meta (`US.13491208655302741918`). All are contacts.

mod spelling;

use serde::{Deserialize, Serialize};
pub(crate) use spelling::canonical_spelling;
use std::borrow::Cow;
use std::fmt;

/// An address of a contact, as received, without a device part (`:75`) and surrounding space. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ContactAddress(String);

/// The kinds of chats that an address may belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChatKind {
    /// A chat with one person.
    Direct,
    /// A group (`@g.us`).
    Group,
    /// `status@broadcast` or a broadcast list.
    Broadcast,
    /// A newsletter (channel).
    Newsletter,
}

impl ContactAddress {
    /// Parses an address as a provider writes it. `None` if no user part is left.
    pub fn parse(raw: &str) -> Option<Self> {
        let raw = raw.trim();
        let (user, server) = raw.split_once('@').unwrap_or((raw, ""));
        let user = user.split_once(':').map_or(user, |(user, _device)| user);
        if user.is_empty() {
            return None;
        }
        // Older libraries write `@c.us` for today's `@s.whatsapp.net`; both mean the same person.
        let server = if server == "c.us" {
            "s.whatsapp.net"
        } else {
            server
        };
        Some(Self(if server.is_empty() {
            user.to_owned()
        } else {
            format!("{user}@{server}")
        }))
    }

    /// Returns the word that stands where an address was removed.
    pub fn removed() -> Self {
        Self("removed".to_owned())
    }

    /// Returns `true` if the address was removed.
    pub fn is_removed(&self) -> bool {
        *self == Self::removed()
    }

    /// Returns the address as text. The text is personal data: never log it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the kind of chat that the address belongs to.
    pub fn chat_kind(&self) -> ChatKind {
        match self.0.rsplit_once('@').map(|(_, server)| server) {
            Some("g.us") => ChatKind::Group,
            Some("broadcast") => ChatKind::Broadcast,
            Some("newsletter") => ChatKind::Newsletter,
            _ => ChatKind::Direct,
        }
    }

    /// Returns the phone number as `+` and digits; `None` if the address is not a phone number.
    pub fn phone_number(&self) -> Option<String> {
        let digits = match self.0.split_once('@') {
            Some((user, "s.whatsapp.net")) => user,
            Some(_) => return None,
            None => self.0.strip_prefix('+').unwrap_or(&self.0),
        };
        let fine = (6..=17).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
        fine.then(|| format!("+{digits}"))
    }

    /// Returns a text that is the same for all spellings of one number, with any server: the digits. For an identity
    /// without a number it is the identity. The text is for comparing only.
    pub(crate) fn person_key(&self) -> Cow<'_, str> {
        match self.phone_number() {
            Some(number) => Cow::Owned(canonical_spelling(number.trim_start_matches('+')).into_owned()),
            None => Cow::Borrowed(&self.0),
        }
    }

    /// Returns `true` if the address holds no phone number: a linked identity or a business-scoped user id. The same
    /// person may also be known by a number.
    pub fn is_numberless(&self) -> bool {
        self.phone_number().is_none()
    }

    /// Returns `true` if both addresses may belong to one person. That is so for one number in either of its spellings
    /// and for one identity. A number and an identity without a number always may, since the identity could be
    /// anybody's.
    pub fn may_be_same_person(&self, other: &Self) -> bool {
        match (self.phone_number(), other.phone_number()) {
            (Some(one), Some(other)) => {
                canonical_spelling(one.trim_start_matches('+'))
                    == canonical_spelling(other.trim_start_matches('+'))
            }
            (None, None) => self == other,
            _ => true,
        }
    }

    /// Returns `true` if both addresses are the same phone number, in either of its spellings (Brazil's ninth digit).
    pub fn is_same_number(&self, other: &Self) -> bool {
        !self.is_numberless() && canonical_spelling(&self.0) == canonical_spelling(&other.0)
    }
}

impl fmt::Debug for ContactAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ContactAddress(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(raw: &str) -> ContactAddress {
        ContactAddress::parse(raw).unwrap()
    }

    #[test]
    fn device_parts_and_old_servers_do_not_make_another_contact() {
        assert_eq!(
            address("5511999998888:75@s.whatsapp.net"),
            address("5511999998888@s.whatsapp.net")
        );
        assert_eq!(
            address("5511999998888@c.us"),
            address("5511999998888@s.whatsapp.net")
        );
    }

    #[test]
    fn only_phone_addresses_have_a_phone() {
        assert_eq!(
            address("5511999998888@s.whatsapp.net").phone_number().as_deref(),
            Some("+5511999998888")
        );
        assert_eq!(
            address("16505551234").phone_number().as_deref(),
            Some("+16505551234")
        );
        assert_eq!(address("123456789012345@lid").phone_number(), None);
        assert_eq!(address("US.13491208655302741918").phone_number(), None);
    }

    #[test]
    fn what_has_no_phone_is_numberless_and_one_number_has_two_spellings() {
        assert!(address("123456789012345@lid").is_numberless());
        assert!(address("US.13491208655302741918").is_numberless());
        assert!(!address("5531980000001").is_numberless());
        assert!(address("5531980000001").is_same_number(&address("553180000001")));
        assert!(!address("5531980000001").is_same_number(&address("5531980000002")));
        assert!(!address("1@lid").is_same_number(&address("1@lid")));
    }

    #[test]
    fn two_numbers_or_two_identities_are_told_apart_and_a_number_may_be_any_identity() {
        let number = address("5531980000001@s.whatsapp.net");
        for same in ["553180000001@s.whatsapp.net", "+5531980000001", "1@lid", "US.1"] {
            assert!(
                number.may_be_same_person(&address(same)) && address(same).may_be_same_person(&number),
                "{same}"
            );
        }
        assert!(!number.may_be_same_person(&address("5531980000002@s.whatsapp.net")));
        assert!(
            address("1@lid").may_be_same_person(&address("1@lid"))
                && !address("1@lid").may_be_same_person(&address("2@lid"))
        );
    }

    #[test]
    fn groups_and_broadcasts_are_told_apart() {
        assert_eq!(address("120363041@g.us").chat_kind(), ChatKind::Group);
        assert_eq!(address("status@broadcast").chat_kind(), ChatKind::Broadcast);
        assert_eq!(address("1203@newsletter").chat_kind(), ChatKind::Newsletter);
        assert_eq!(address("123@lid").chat_kind(), ChatKind::Direct);
    }

    #[test]
    fn nothing_is_not_an_address_and_debug_hides_the_number() {
        assert_eq!(ContactAddress::parse("@s.whatsapp.net"), None);
        assert_eq!(ContactAddress::parse("  "), None);
        assert!(!format!("{:?}", address("5511999998888")).contains("5511"));
    }
}

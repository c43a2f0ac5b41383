//! Access lists: the contacts who may begin a conversation on an instance.

use crate::contact::ContactAddress;
use crate::recipient::{RecipientError, parse_person};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// Largest number of entries of an access list, blocked and allowed ones together.
pub const ACCESS_ENTRIES_MAX: usize = 10_000;

/// Largest length of an access list's entries together, in bytes. A record of DynamoDB holds 400 KB.
pub const ACCESS_BYTES_MAX: usize = 250_000;

/// Largest length of the entries of all access lists that one document changes, in bytes. An instance is stored three
/// times, and one transaction of DynamoDB holds 4 MB.
pub const DOCUMENT_ACCESS_BYTES_MAX: usize = 1_000_000;

/// The contacts whom the instance lets begin a conversation: at most 10,000 entries together. Conversations that exist go on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct AccessList {
    /// The contacts who begin no conversation: numbers with their country code, or identities without a number.
    #[cfg_attr(feature = "schema", schema(value_type = Vec<String>, example = json!(["+5511988880000", "123456789012345@lid"])))]
    #[serde(default, skip_serializing_if = "ContactList::is_empty")]
    pub block: ContactList,
    /// The only contacts who begin a conversation. If empty, everybody may who is not blocked.
    #[cfg_attr(feature = "schema", schema(value_type = Vec<String>))]
    #[serde(default, skip_serializing_if = "ContactList::is_empty")]
    pub allow: ContactList,
}

impl AccessList {
    /// Returns `true` if nobody is listed.
    pub fn is_empty(&self) -> bool {
        self.block.is_empty() && self.allow.is_empty()
    }

    /// Returns `true` if a person may not begin a conversation. The person is blocked under any of the `names`, or none of
    /// them is allowed although some are.
    pub fn refuses_person(&self, names: &[&ContactAddress]) -> bool {
        self.blocks_person(names) || !(self.allow.is_empty() || self.allow.lists_any_name(names))
    }

    /// Returns `true` if a person is on the block list under any of the `names`.
    pub fn blocks_person(&self, names: &[&ContactAddress]) -> bool {
        self.block.lists_any_name(names)
    }

    /// Returns the number of entries, blocked and allowed ones together.
    pub fn count_entries(&self) -> usize {
        self.block.0.len() + self.allow.0.len()
    }

    /// Returns the length of the entries together, in bytes.
    pub fn count_bytes(&self) -> usize {
        let entries = self.block.0.iter().chain(self.allow.0.iter());
        entries.map(|entry| entry.as_str().len()).sum()
    }
}

/// A set of people, sorted by [`ContactAddress::person_key`], so that a look-up takes a few comparisons. Clones share
/// the entries. `Debug` shows only their number.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct ContactList(Arc<[ContactAddress]>);

/// The reason why a list of contacts is not valid. The entry is not repeated, because it is personal data.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("entry {position} of the list: {why}")]
pub struct ContactListError {
    /// The entry's place in the list, from 1.
    pub position: usize,
    /// The problem.
    pub why: RecipientError,
}

impl ContactList {
    /// Returns `true` if the list has no entry.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn lists_any_name(&self, names: &[&ContactAddress]) -> bool {
        names.iter().any(|name| {
            let key = name.person_key();
            self.0
                .binary_search_by(|entry| entry.person_key().cmp(&key))
                .is_ok()
        })
    }
}

impl TryFrom<Vec<String>> for ContactList {
    type Error = ContactListError;

    fn try_from(texts: Vec<String>) -> Result<Self, ContactListError> {
        let parse = |(place, text): (usize, &String)| {
            parse_person(text).map_err(|why| ContactListError {
                position: place + 1,
                why,
            })
        };
        let mut entries = texts
            .iter()
            .enumerate()
            .map(parse)
            .collect::<Result<Vec<ContactAddress>, _>>()?;
        entries.sort_by(|a, b| (a.person_key(), a).cmp(&(b.person_key(), b)));
        entries.dedup_by(|a, b| a.person_key() == b.person_key());
        Ok(Self(entries.into()))
    }
}

impl From<ContactList> for Vec<String> {
    fn from(list: ContactList) -> Self {
        list.0.iter().map(|entry| entry.as_str().to_owned()).collect()
    }
}

impl fmt::Debug for ContactList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ContactList({} entries)", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn list(entries: &[&str]) -> ContactList {
        let texts: Vec<String> = entries.iter().map(|text| (*text).to_owned()).collect();
        ContactList::try_from(texts).unwrap()
    }

    fn refuses(block: &[&str], allow: &[&str], names: &[&str]) -> bool {
        let lists = AccessList {
            block: list(block),
            allow: list(allow),
        };
        let names: Vec<ContactAddress> = names
            .iter()
            .map(|text| ContactAddress::parse(text).unwrap())
            .collect();
        lists.refuses_person(&names.iter().collect::<Vec<_>>())
    }

    #[test]
    fn an_empty_list_lets_everybody_in() {
        assert!(!refuses(&[], &[], &["5511999998888@s.whatsapp.net"]));
        assert!(!refuses(&[], &[], &["1@lid"]));
        assert!(AccessList::default().is_empty());
    }

    #[test]
    fn the_block_list_counts_before_the_allow_list() {
        let ana = "+55 11 99999-8888";
        let jid = "5511999998888@s.whatsapp.net";
        assert!(refuses(&[ana], &[], &[jid]));
        assert!(refuses(&[ana], &[ana], &[jid]));
        assert!(!refuses(&["+55 11 98888-0000"], &[ana], &[jid]));
        assert!(!refuses(&["+55 11 98888-0000"], &[], &[jid]));
        assert!(refuses(&[], &["+55 11 98888-0000"], &[jid]));
    }

    /// Each row: an entry, and a name of the same person.
    #[test]
    fn a_number_is_recognized_in_any_writing_and_spelling() {
        for (entry, name) in [
            ("+55 (11) 99999-8888", "5511999998888"),
            ("5511999998888", "5511999998888@s.whatsapp.net"),
            ("5511999998888:12@c.us", "5511999998888"),
            ("+55 11 9999-8888", "5511999998888@s.whatsapp.net"),
            ("+55 11 99999-8888", "551199998888@s.whatsapp.net"),
            ("+52 55 1234 5678", "5215512345678@s.whatsapp.net"),
            ("+52 1 55 1234 5678", "525512345678"),
            ("+54 11 1234-5678", "5491112345678@s.whatsapp.net"),
            ("+54 9 11 1234-5678", "541112345678"),
            ("123456789012345@lid", "123456789012345@lid"),
            ("US.13491208655302741918", "US.13491208655302741918"),
        ] {
            assert!(refuses(&[entry], &[], &[name]), "{entry} as {name}");
            assert!(!refuses(&[], &[entry], &[name]), "{entry} as {name}");
        }
        assert!(!refuses(&["+55 11 3333-4444"], &[], &["5511933334444"]));
    }

    #[test]
    fn a_person_with_two_names_is_listed_by_either() {
        let names = ["5511999998888@s.whatsapp.net", "123456789012345@lid"];
        assert!(refuses(&["123456789012345@lid"], &[], &names));
        assert!(refuses(&["+5511999998888"], &[], &names));
        assert!(!refuses(&[], &["123456789012345@lid"], &names));
    }

    #[test]
    fn what_names_nobody_is_refused_with_its_place_and_without_its_text() {
        for bad in [
            "",
            "12",
            "ana@example.org",
            "120363041@g.us",
            "11 99999-8888",
            "x@lid",
        ] {
            let texts = vec!["+5511999998888".to_owned(), bad.to_owned()];
            let told = ContactList::try_from(texts).unwrap_err().to_string();
            assert!(told.starts_with("entry 2 of the list: "), "{told}");
            assert!(bad.is_empty() || !told.contains(bad), "{told}");
        }
    }

    #[test]
    fn a_list_is_written_as_it_is_read_sorted_and_each_person_once() {
        let once = list(&["5521980000002", "+55 11 99999-8888", "551199998888", "1@lid"]);
        let written: Vec<String> = once.clone().into();
        assert_eq!(written, ["1@lid", "+551199998888", "+5521980000002"]);
        assert_eq!(ContactList::try_from(written).unwrap(), once);
        assert_eq!(format!("{once:?}"), "ContactList(3 entries)");
    }

    #[test]
    fn ten_thousand_entries_are_looked_up() {
        let texts: Vec<String> = (0..ACCESS_ENTRIES_MAX)
            .map(|n| format!("+5511900{n:06}"))
            .collect();
        let lists = AccessList {
            block: ContactList::try_from(texts).unwrap(),
            allow: ContactList::default(),
        };
        assert_eq!(lists.count_entries(), ACCESS_ENTRIES_MAX);
        for n in [0, 1, 4_999, 9_999] {
            let name = ContactAddress::parse(&format!("5511900{n:06}@s.whatsapp.net")).unwrap();
            assert!(lists.refuses_person(&[&name]));
        }
        let other = ContactAddress::parse("5511901000000").unwrap();
        assert!(!lists.refuses_person(&[&other]));
    }

    proptest! {
        #[test]
        fn a_list_finds_exactly_whom_it_names(numbers in prop::collection::vec(10_000_000_000u64..10_000_000_200, 0..40), asked in 10_000_000_000u64..10_000_000_200) {
            let texts: Vec<String> = numbers.iter().map(|number| format!("+44{number}")).collect();
            let listed = ContactList::try_from(texts).unwrap();
            let name = ContactAddress::parse(&format!("44{asked}@s.whatsapp.net")).unwrap();
            prop_assert_eq!(listed.lists_any_name(&[&name]), numbers.contains(&asked));
        }
    }
}

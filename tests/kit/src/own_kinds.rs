//! Kinds of records that the tests declare beside the shipped ones: [`Note`], to which others lead, and [`Slip`], whose changes are
//! published.

use jiff::Timestamp;
use recado_domain::ids::TenantId;
use recado_domain::published_event::PublishedEvent;
use recado_ports::records::KINDS;
use recado_ports::table::{Condition, IndexEntry, Key, Kind, NewItem, Record, Write};
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// Lists the shipped kinds and those of the tests. A store that runs the contract has all of them.
pub fn list_all_kinds() -> &'static [Kind] {
    static ALL: LazyLock<Vec<Kind>> = LazyLock::new(|| {
        let own = [Kind::of::<Note>(), Kind::of::<Slip>()];
        KINDS.iter().copied().chain(own).collect()
    });
    &ALL
}

/// What is left of a note once its tenant is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Remains {
    /// Nothing.
    Nothing,
    /// The note as it is.
    All,
    /// The note without its text.
    AllButText,
}

/// A note. Its fields say when it expires and is due, what leads to it, and what is left of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// The tenant; `None` for the installation.
    pub tenant: Option<TenantId>,
    /// The place among the notes of the tenant.
    pub name: String,
    /// The text.
    pub text: String,
    /// The number, which no other note may have.
    pub number: Option<String>,
    /// The code, by which one read finds the note.
    pub code: Option<String>,
    /// Time of expiry.
    pub expires: Option<Timestamp>,
    /// Time from which the note is due.
    pub due: Option<Timestamp>,
    /// What is left of the note once its tenant is removed.
    pub remains: Remains,
}

impl Note {
    /// The partition in which all notes are listed, by tenant and name.
    pub const ALL: &'static str = "test-notes.all";
    /// The partition in which a note is found by its number.
    pub const BY_NUMBER: &'static str = "test-notes.by-number";
    /// The partition in which a note is found by its code.
    pub const BY_CODE: &'static str = "test-notes.by-code";
    /// The places of the number and of the code among the index entries of a note that has both.
    pub const NUMBER_PLACE: usize = 1;
    /// See [`Self::NUMBER_PLACE`].
    pub const CODE_PLACE: usize = 2;

    /// Makes a note that its name alone leads to.
    pub fn new(tenant: Option<&TenantId>, name: &str) -> Self {
        Self {
            tenant: tenant.cloned(),
            name: name.to_owned(),
            text: "first".to_owned(),
            number: None,
            code: None,
            expires: None,
            due: None,
            remains: Remains::Nothing,
        }
    }

    /// Returns the beginning of the places in [`Self::ALL`] of a tenant's notes.
    pub fn list_prefix(tenant: Option<&TenantId>) -> String {
        format!("{}#", tenant.map_or("", TenantId::as_str))
    }

    /// Returns the key under which a note with this number is found.
    pub fn number_key(number: &str) -> Key {
        Key::new(Self::BY_NUMBER, None, number)
    }

    /// Returns the key under which a note with this code is found.
    pub fn code_key(code: &str) -> Key {
        Key::new(Self::BY_CODE, None, code)
    }
}

impl Record for Note {
    const KIND: &'static str = "test-notes";
    const INDEXES: &'static [&'static str] = &[Self::ALL, Self::BY_NUMBER, Self::BY_CODE];

    fn owner(&self) -> Option<&TenantId> {
        self.tenant.as_ref()
    }

    fn build_sort_key(&self) -> String {
        self.name.clone()
    }

    fn compute_expiry(&self) -> Option<Timestamp> {
        self.expires
    }

    fn compute_due_time(&self) -> Option<Timestamp> {
        self.due
    }

    fn list_index_entries(&self) -> Vec<IndexEntry> {
        let listed = format!("{}{}", Self::list_prefix(self.tenant.as_ref()), self.name);
        let listed = IndexEntry::new(Key::new(Self::ALL, None, listed));
        let number = self.number.as_deref().map(Self::number_key).map(IndexEntry::new);
        let code = self
            .code
            .as_deref()
            .map(Self::code_key)
            .map(IndexEntry::with_copy);
        std::iter::once(listed).chain(number).chain(code).collect()
    }

    fn without_tenant(mut self) -> Option<Self> {
        match self.remains {
            Remains::Nothing => return None,
            Remains::All => {}
            Remains::AllButText => self.text.clear(),
        }
        Some(self)
    }
}

/// A slip: nothing leads to it. The name of its kind begins as that of [`Note`] does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slip {
    /// The tenant; `None` for the installation.
    pub tenant: Option<TenantId>,
    /// The place among the slips of the tenant.
    pub name: String,
    /// The text. A change to one that begins with [`Self::TOLD`] is published.
    pub text: String,
    /// Time of expiry.
    pub expires: Option<Timestamp>,
    /// Time from which the slip is due.
    pub due: Option<Timestamp>,
}

impl Slip {
    /// The beginning of texts that are published.
    pub const TOLD: &'static str = "told: ";

    /// Makes a slip that does not expire.
    pub fn new(tenant: Option<&TenantId>, name: &str, text: &str) -> Self {
        Self {
            tenant: tenant.cloned(),
            name: name.to_owned(),
            text: text.to_owned(),
            expires: None,
            due: None,
        }
    }

    /// Makes the write that stores the slip.
    ///
    /// # Panics
    ///
    /// If the slip is too large.
    pub fn put(&self, condition: Condition) -> Write {
        let item = NewItem {
            key: self.key(),
            body: self.to_body().unwrap(),
            expires: self.expires,
            due: self.due,
        };
        Write::Put(item, condition)
    }
}

impl Record for Slip {
    const KIND: &'static str = "test-notes-slips";
    const IS_PUBLISHED: bool = true;

    fn owner(&self) -> Option<&TenantId> {
        self.tenant.as_ref()
    }

    fn build_sort_key(&self) -> String {
        self.name.clone()
    }

    fn compute_expiry(&self) -> Option<Timestamp> {
        self.expires
    }

    fn compute_due_time(&self) -> Option<Timestamp> {
        self.due
    }

    fn derive_published_events(old: Option<&Self>, new: &Self, at: Timestamp) -> Vec<PublishedEvent> {
        let is_changed = old.is_none_or(|old| old.text != new.text);
        let is_told = is_changed && new.text.starts_with(Self::TOLD);
        let tenant = new.tenant.as_ref().filter(|_| is_told);
        let tell = |tenant| PublishedEvent::for_test(tenant, &format!("{} {}", new.name, new.text), at);
        tenant.map(tell).into_iter().collect()
    }
}

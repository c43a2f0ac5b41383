//! The files of numbers: where they are, for how long, and who asked too often for what is not there.

use super::super::call::digits;
use jiff::SignedDuration;
use recado_domain::Timestamp;
use recado_domain::millis::{add_duration, add_millis};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long the URL of a file is good for.
const URL_LASTS: SignedDuration = SignedDuration::from_mins(5);

/// So many errors …
const ERRORS: usize = 20;

/// … within this time …
const WITHIN: SignedDuration = SignedDuration::from_mins(60);

/// … block downloads for this time.
const BLOCKED: SignedDuration = SignedDuration::from_mins(30);

/// See the module.
#[derive(Debug, Default)]
pub struct Files {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    files: BTreeMap<String, File>,
    /// By key, the errors that count, oldest first.
    errors: BTreeMap<String, Vec<Timestamp>>,
    blocked_until: BTreeMap<String, Timestamp>,
    ahead: Duration,
    is_down: bool,
}

/// A file and what it is.
#[derive(Debug, Clone)]
pub(in super::super) struct File {
    pub(in super::super) mime_type: String,
    pub(in super::super) bytes: Vec<u8>,
}

/// A place from which a file is fetched.
#[derive(Debug, serde::Deserialize)]
pub(super) struct Place {
    mid: String,
    ext: i64,
    hash: String,
}

impl Files {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A contact sent a file, or one was uploaded.
    pub fn put(&self, id: &str, mime_type: &str, bytes: &[u8]) {
        let file = File {
            mime_type: mime_type.to_owned(),
            bytes: bytes.to_vec(),
        };
        self.kept().files.insert(id.to_owned(), file);
    }

    /// The ids of all files.
    pub fn ids(&self) -> Vec<String> {
        self.kept().files.keys().cloned().collect()
    }

    /// Puts this server's clock forward, by which URLs go out of date and blocks end.
    pub fn later(&self, by: Duration) {
        self.kept().ahead += by;
    }

    /// Files are given no more, or again; everything else goes on.
    pub fn set_down(&self, is_down: bool) {
        self.kept().is_down = is_down;
    }

    pub(in super::super) fn is_down(&self) -> bool {
        self.kept().is_down
    }

    pub(in super::super) fn get(&self, id: &str) -> Option<File> {
        self.kept().files.get(id).cloned()
    }

    pub(super) fn remove(&self, id: &str) -> bool {
        self.kept().files.remove(id).is_some()
    }

    /// The URL of a file, on Meta's host, good from now on for a while.
    pub(super) fn url(&self, id: &str) -> String {
        let until = add_duration(self.kept().now(), URL_LASTS).as_millisecond();
        let hash = digits(&format!("{id} {until}"));
        format!("https://lookaside.fbsbx.com/whatsapp_business/attachments/?mid={id}&ext={until}&hash={hash}")
    }

    /// The file there, if the URL was given out and is still good.
    pub(super) fn at(&self, place: &Place) -> Option<File> {
        let fine = place.hash == digits(&format!("{} {}", place.mid, place.ext))
            && self.kept().now().as_millisecond() < place.ext;
        if fine { self.get(&place.mid) } else { None }
    }

    /// Whether downloads with this key are blocked.
    pub(super) fn blocked(&self, key: &str) -> bool {
        let kept = self.kept();
        kept.blocked_until
            .get(key)
            .is_some_and(|until| kept.now() < *until)
    }

    /// A download with this key was answered with an error.
    pub(super) fn failed(&self, key: &str) {
        let mut kept = self.kept();
        let now = kept.now();
        let since = add_duration(now, -WITHIN);
        let errors = kept.errors.entry(key.to_owned()).or_default();
        errors.retain(|at| *at > since);
        errors.push(now);
        if errors.len() >= ERRORS {
            errors.clear();
            kept.blocked_until
                .insert(key.to_owned(), add_duration(now, BLOCKED));
        }
    }

    pub(in super::super) fn forget(&self) {
        *self.kept() = Kept::default();
    }
}

impl Kept {
    fn now(&self) -> Timestamp {
        let ahead = i64::try_from(self.ahead.as_millis()).unwrap_or(i64::MAX);
        add_millis(Timestamp::now(), ahead)
    }
}

//! A filter of the events that the database may know: most new events need no look-up before they are acknowledged.
//!
//! It says "certainly not" or "perhaps" (a Bloom filter). A "certainly not" that is wrong would do no harm: the mover looks at each
//! event again, and a repeat would only be counted as new.

use crate::db_error::DbResult;
use crate::folder::OpenError;
use crate::threads::{spawn_thread, yield_to_acknowledgements};
use rusqlite::Connection;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

/// The number of words of 64 bits: 1 MiB. With a million events, one new event of fifty is looked up.
const WORDS: usize = 1 << 17;

/// The events that are read between two looks whether the log is closed.
const READ_AT_ONCE: usize = 4_096;

/// The filter. Until the events of an older database are read, it says of every event that it may be known.
pub(super) struct KnownEvents {
    words: Box<[AtomicU64]>,
    is_complete: AtomicBool,
    is_closed: AtomicBool,
}

impl fmt::Debug for KnownEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KnownEvents")
            .field("is_complete", &self.is_complete)
            .finish_non_exhaustive()
    }
}

/// Returns the places of an id: which words, and which bit of each. An id is a hash in hexadecimal digits.
fn find_places(id: &str) -> impl Iterator<Item = (usize, u64)> + '_ {
    (0..4).map_while(|part| {
        let digits = id.get(part * 8..part * 8 + 8)?;
        let number = usize::try_from(u32::from_str_radix(digits, 16).ok()?).ok()?;
        Some(((number / 64) % WORDS, 1 << (number % 64)))
    })
}

impl KnownEvents {
    /// Starts a thread that reads the ids of the events of a database over `connection`.
    pub(super) fn read_in_background(
        connection: Connection,
    ) -> Result<(Arc<Self>, JoinHandle<()>), OpenError> {
        let known = Arc::new(Self {
            words: (0..WORDS).map(|_| AtomicU64::new(0)).collect(),
            is_complete: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
        });
        let filled = Arc::clone(&known);
        let read = move || {
            yield_to_acknowledgements();
            // Without the filter each event is looked up.
            if let Err(error) = filled.note_stored_events(&connection) {
                tracing::warn!(%error, "the ids of known events could not be read");
            }
        };
        Ok((known, spawn_thread("recado-known", read)?))
    }

    fn note_stored_events(&self, connection: &Connection) -> DbResult<()> {
        let mut statement = connection.prepare("SELECT id FROM events")?;
        let mut rows = statement.query([])?;
        let mut count = 0;
        while let Some(row) = rows.next()? {
            self.note_event(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?);
            count += 1;
            if count % READ_AT_ONCE == 0 && self.is_closed.load(Ordering::Relaxed) {
                return Ok(());
            }
        }
        self.is_complete.store(true, Ordering::Release);
        Ok(())
    }

    /// Ends the reading early.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }

    /// Notes that the event may be known from now on.
    pub(super) fn note_event(&self, id: &str) {
        for (word, bit) in find_places(id) {
            if let Some(word) = self.words.get(word) {
                word.fetch_or(bit, Ordering::Relaxed);
            }
        }
    }

    /// Returns `false` if the database certainly does not know the event.
    pub(super) fn may_know(&self, id: &str) -> bool {
        let is_noted = |(word, bit): (usize, u64)| {
            let word = self.words.get(word);
            word.is_none_or(|word| word.load(Ordering::Relaxed) & bit != 0)
        };
        !self.is_complete.load(Ordering::Acquire) || find_places(id).all(is_noted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_domain::ids::hash_parts;

    fn id(number: usize) -> String {
        hash_parts(&["event", &number.to_string()], 32)
    }

    #[test]
    fn stored_and_noted_events_may_be_known_and_hardly_any_other() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE events (id TEXT)").unwrap();
        for number in 0..100 {
            connection
                .execute("INSERT INTO events VALUES (?1)", [id(number)])
                .unwrap();
        }
        let (known, reading) = KnownEvents::read_in_background(connection).unwrap();
        reading.join().unwrap();
        (100..2_000).for_each(|number| known.note_event(&id(number)));
        assert!((0..2_000).all(|number| known.may_know(&id(number))));
        let wrong = (2_000..12_000)
            .filter(|number| known.may_know(&id(*number)))
            .count();
        assert!(wrong < 10, "{wrong} of 10,000 were looked up in vain");
    }

    #[test]
    fn every_event_may_be_known_while_the_stored_ones_are_not_read() {
        let connection = Connection::open_in_memory().unwrap();
        let (known, reading) = KnownEvents::read_in_background(connection).unwrap();
        reading.join().unwrap();
        assert!(known.may_know(&id(1)), "there is no table of events to read");
    }
}

//! What a mutation takes out of the records of the table.

use super::FaultyPort;
use crate::mutation::Mutation;
use recado_domain::effects::Journal;
use recado_domain::invitations::{Batch, Invitation};
use recado_domain::knowledge::AgentKnowledge;
use recado_domain::moving::RemovedInstance;
use recado_domain::turn_places::TurnPlaces;
use recado_pipeline::table::{Key, NewItem, Record, StoredItem, Write};
use serde_json::Value;

impl<P> FaultyPort<P> {
    /// Returns what a function finds under a key where `found` is stored.
    pub(super) fn spoil_found(&self, key: &Key, found: Option<StoredItem>) -> Option<StoredItem> {
        let mut found = found?;
        let name = key.partition.name;
        if name == RemovedInstance::KIND && self.injector.lacks(Mutation::RemovedForgotten) {
            return None;
        }
        if name == AgentKnowledge::KIND && self.injector.lacks(Mutation::KnowledgeOfOthers) {
            let mut known: Value = serde_json::from_str(&found.body).expect("the knowledge is read");
            known["born"] = Value::Null;
            found.body = known.to_string();
        }
        if name == Journal::KIND {
            self.spoil_journal(&mut found);
        }
        if name == Batch::KIND {
            found.body = self.spoil_batch(found.body);
        } else if name == Invitation::KIND {
            found.body = self.spoil_invitation(found.body);
        }
        Some(found)
    }

    /// Returns the writes that are made where a function makes these. `None`: none, and the function does not hear of it.
    pub(super) fn spoil_writes(&self, writes: &[Write]) -> Option<Vec<Write>> {
        let is_of_places = |write: &Write| write.key().partition.name == TurnPlaces::KIND;
        if !writes.iter().any(is_of_places) {
            return Some(writes.to_vec());
        }
        if self.injector.lacks(Mutation::PlacesUnwritten) {
            return None;
        }
        if self.injector.lacks(Mutation::PlacesOutlastCrashes) {
            return Some(writes.iter().map(without_ends).collect());
        }
        Some(writes.to_vec())
    }
}

/// The same write of places, which end in a year.
fn without_ends(write: &Write) -> Write {
    let Write::Put(item, condition) = write else {
        return write.clone();
    };
    let mut places: Value = serde_json::from_str(&item.body).expect("the places are read");
    for place in places["taken"].as_array_mut().into_iter().flatten() {
        let until = place["until"].as_i64().unwrap_or_default();
        place["until"] = (until + 365 * 86_400_000).into();
    }
    let item = NewItem {
        body: places.to_string(),
        ..item.clone()
    };
    Write::Put(item, *condition)
}

//! What is asked for the contact and the tenant, and how what is stored is parted.

use super::{CANARY_BESIDE, ErasureSite, NUMBER, OTHER_BESIDE};
use crate::builders::identity_key;
use crate::stored_effect::{count_held_cells, half_hour};
use recado_contacts::{ContactQuery, EraseReport, erase_contact, export_contact, find_contact};
use recado_domain::access::Caller;
use recado_ports::ports::{QueuePorts, Store, System};
use recado_tenant_removal::{RemovalError, RemovalOptions, remove_tenant};
use serde_json::Value;
use std::collections::BTreeSet;
use std::time::Duration;

impl<S: Store + Clone + 'static, Q: QueuePorts + Clone + 'static> ErasureSite<S, Q> {
    fn query(&self) -> ContactQuery {
        ContactQuery {
            tenant: self.fixture.bound.tenant.id.clone(),
            instance: None,
            contact: NUMBER.to_owned(),
        }
    }

    /// Exports the contact: the first part of the export, as JSON.
    pub async fn export(&self) -> Value {
        let exported = export_contact(&self.deps, &Caller::installation(), &self.query(), None)
            .await
            .unwrap();
        serde_json::to_value(&exported).unwrap()
    }

    /// Erases the contact, by one request.
    pub async fn erase(&self) -> EraseReport {
        let (caller, query) = (Caller::installation(), self.query());
        Box::pin(erase_contact(&self.deps, &caller, &query))
            .await
            .unwrap()
    }

    /// Asserts that tombstones alone are found of the contact.
    pub async fn assert_only_tombstones(&self) {
        let found = find_contact(&self.deps, &Caller::installation(), &self.query())
            .await
            .unwrap();
        let contacts = &found.contacts;
        let conversations: Vec<_> = contacts
            .iter()
            .flat_map(|contact| &contact.conversations)
            .collect();
        assert!(!conversations.is_empty(), "the tombstone stays");
        assert!(conversations.iter().all(|found| found.erased_at.is_some()));
        assert!(contacts.iter().all(|contact| contact.names.is_empty()));
        // The preferences stay under their keys.
        assert_eq!((found.events, found.scheduled, found.guests), (0, 0, 0));
        assert!(found.opt_outs > 0);
        // The times of its booking are free again, and those of the other contact's are held.
        let (store, tenant) = (&self.deps.store, &self.fixture.bound.tenant.id);
        for (calendar, cells) in [(CANARY_BESIDE.calendar, 0), (OTHER_BESIDE.calendar, 2)] {
            let held = count_held_cells(store, tenant, &half_hour(calendar)).await;
            assert_eq!(held, cells, "{calendar}");
        }
    }

    /// Removes the tenant, by as many requests as it takes. A tenant that is removed already is the end.
    pub async fn remove_tenant(&self) {
        let options = RemovalOptions {
            force: true,
            dry_run: false,
        };
        let (caller, tenant) = (Caller::installation(), &self.fixture.bound.tenant.id);
        for _ in 0..100 {
            let report = match Box::pin(remove_tenant(&self.deps, &caller, tenant, options)).await {
                Err(RemovalError::NotFound) => return,
                report => report.unwrap(),
            };
            if report.done {
                return;
            }
            if let Some(until) = report.waits_until {
                let wait = until.duration_since(self.deps.system.now()).unsigned_abs();
                self.deps.system.sleep(wait).await;
            }
        }
        panic!("the removal does not end");
    }

    /// Lets the time pass for which a dead-letter queue hides a message from everybody but its receiver.
    pub async fn pass_hiding_time(&self) {
        self.deps.system.sleep(Duration::from_secs(10)).await;
    }

    /// Returns the id of the tenant.
    pub fn tenant(&self) -> &str {
        self.fixture.bound.tenant.id.as_str()
    }

    /// Returns `true` if a stored line belongs to the other tenant.
    pub fn is_neighbours(&self, line: &str) -> bool {
        let thread = identity_key().derive_thread_id(self.neighbour.instance(), NUMBER);
        let external = self.neighbour.external();
        let names = [
            self.neighbour.bound.tenant.id.as_str(),
            self.neighbour.instance().as_str(),
            external.as_str(),
            thread.as_str(),
        ];
        names.iter().any(|name| line.contains(name))
    }

    /// Parts what is stored into the other tenant's lines and the rest.
    pub fn part_lines(&self, stored: Vec<String>) -> (BTreeSet<String>, Vec<String>) {
        let (theirs, rest): (Vec<_>, Vec<_>) = stored.into_iter().partition(|line| self.is_neighbours(line));
        (theirs.into_iter().collect(), rest)
    }
}

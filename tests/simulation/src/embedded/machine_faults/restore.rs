//! The machine is lost, and goes on from a backup of some time before. Phones have what they have, providers repeat what they told, and
//! clients repeat what was accepted before the backup.

use super::clock::Owed;
use super::rows::without_tables;
use super::{Machine, Missing, at_marks, go_on, locked, meaning, outcome, set_up};
use crate::executor::Life;
use crate::history::Outcome;
use crate::scenario::Story;
use futures::executor::block_on;
use jiff::Timestamp;
use recado_domain::config::ConfigDocument;
use recado_domain::inbound::WebhookItem;
use recado_embedded::StoreCopy;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// The time for which the machine is down, in milliseconds.
const DOWN_MS: i64 = 20_000;

/// A backup and a loss.
#[derive(Debug, Clone, Copy)]
pub struct Loss {
    /// The step at which the backup is taken.
    pub backup: u64,
    /// The step at which the machine is lost.
    pub loss: u64,
    /// What is taken out.
    pub missing: Missing,
}

/// What happened so far.
#[derive(Debug, Default)]
struct Progress {
    copy: Option<StoreCopy>,
    /// How many orders, batches and invitations had been accepted at the backup.
    accepted: Accepted,
    /// The texts of the messages that the backup has.
    texts: BTreeSet<String>,
    restored_ms: Option<i64>,
}

/// How much clients had been told was accepted, of what they asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Accepted {
    orders: usize,
    batches: usize,
}

impl Accepted {
    pub(super) fn count(sim: &Machine) -> Self {
        let ledger = sim.ledger();
        Self {
            orders: ledger
                .orders
                .iter()
                .filter(|order| order.accepted.is_some())
                .count(),
            batches: ledger.batches.len(),
        }
    }
}

/// Puts the copy in the place of what the machine had, and starts again.
pub(super) fn restore(sim: &Machine, copy: &StoreCopy, missing: Missing) {
    sim.common
        .note(|| format!("restored from a backup of {}", copy.taken_at()));
    sim.store.restore_for_test(copy).expect("the copy is put back");
    let undoubted = match missing {
        Missing::Doubt(table) => vec![table],
        _ => Vec::new(),
    };
    without_tables(&sim.store, &undoubted, || {
        let resumed = block_on(sim.store.resume_from_backup()).expect("the records are doubted");
        assert!(resumed.is_some(), "the copy says that it is a backup");
    });
    let restored_at = block_on(sim.store.find_restore_time()).expect("the time is read");
    if missing != Missing::RestoreTime {
        *locked(&sim.restored_at) = restored_at;
    }
    sim.cut_power();
}

/// Providers post again the messages that were acknowledged before.
pub(super) fn repeat_webhooks(sim: &Machine) {
    let acknowledged = sim.ledger().acknowledged.clone();
    for bound in &sim.bounds {
        let mut received = sim.fake_world.list_received(&bound.instance.id, Timestamp::MAX);
        received.retain(|event| acknowledged.contains(&event.id));
        for event in received {
            let after = sim.simulation().between(1_000, 60_000);
            sim.post_again(WebhookItem::Event(event), after);
        }
    }
}

/// Clients repeat the requests that were answered before the backup.
pub(super) fn repeat_orders(sim: &Machine, accepted: Accepted) {
    let orders = sim.ledger().orders.clone();
    for order in orders
        .into_iter()
        .filter(|order| order.accepted.is_some())
        .take(accepted.orders)
    {
        let on = Arc::clone(sim);
        sim.simulation().spawn(Life::default(), async move {
            on.simulation().sleep(DOWN_MS).await;
            on.order_again(&order).await;
        });
    }
}

/// Operators apply each number's configuration again: the backup may hold hours at which nobody answers, and not the change that ended them.
pub(super) fn repeat_configuration(sim: &Machine) {
    let on = Arc::clone(sim);
    sim.simulation().spawn(Life::default(), async move {
        on.simulation().sleep(DOWN_MS).await;
        for bound in &on.bounds {
            let document = ConfigDocument {
                tenants: vec![bound.tenant.clone()],
                tools: bound.tools.clone(),
                agents: vec![bound.agent.clone()],
                instances: vec![bound.instance.clone()],
                ..ConfigDocument::default()
            };
            on.configure(document).await;
        }
    });
}

/// Plays a story whose machine is lost. Nothing of one meaning may come twice without a mark; what contacts wrote is stored once, and
/// answered or left to a person.
pub fn play(story: Story, seed: u64, loss: Loss, owed: &Owed, traced: bool) -> Outcome {
    let sim = set_up(story, seed, &[loss.backup, loss.loss], traced);
    let progress = Arc::new(Mutex::new(Progress::default()));
    let noted = Arc::clone(&progress);
    at_marks(&sim, move |sim, step| {
        let mut progress = locked(&noted);
        if step == loss.backup {
            let copy = sim.store.copy_for_test().expect("a backup is taken");
            *progress = Progress {
                copy,
                accepted: Accepted::count(sim),
                texts: meaning::list_texts(sim),
                restored_ms: None,
            };
        }
        if step == loss.loss
            && let Some(copy) = &progress.copy
        {
            restore(sim, copy, loss.missing);
            repeat_webhooks(sim);
            repeat_orders(sim, progress.accepted);
            progress.restored_ms = Some(sim.simulation().elapsed_ms());
        }
    });
    go_on(&sim);
    let progress = locked(&progress);
    let mut excused = owed.twice.clone();
    if Accepted::count(&sim) != progress.accepted {
        // A client that repeats what the backup does not know orders it anew.
        let by_clients = owed.came.keys().filter(|(_, what)| !what.starts_with("re "));
        excused.extend(by_clients.cloned());
    }
    if sim.ledger().batches.is_empty() {
        // So does one that invites a guest of whose invitation the backup has no message.
        let invited = owed.came.keys().filter(|(_, what)| what.starts_with("invite "));
        excused.extend(
            invited
                .filter(|(_, what)| !progress.texts.contains(what))
                .cloned(),
        );
    }
    if let Some(restored_ms) = progress.restored_ms {
        meaning::check_repeats(&sim, restored_ms, &excused);
        meaning::check_questions(&sim);
    }
    outcome(&sim)
}

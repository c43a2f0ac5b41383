//! A row of the store becomes unreadable at a random time of a busy day. Everything else goes on, and somebody is told.

use super::meaning::{first_arrivals, list_questions};
use super::rows::{Damage, damage_row};
use super::{Machine, Missing, locked, outcome};
use crate::embedded::{recover, store};
use crate::executor::{Life, Simulation};
use crate::fake_world::{Said, SendBehaviours, calendar_tool};
use crate::fault_injector::{Common, FaultInjector, Faults};
use crate::history::{Outcome, sim};
use crate::mutation::Mutation;
use crate::plan::{address, bound, identity_key};
use crate::queue::EitherQueues;
use crate::simulator::{StoreExtras, Style};
use futures::executor::block_on;
use recado_domain::config::InstanceConfig;
use recado_domain::contact::ContactAddress;
use recado_domain::inbound::WebhookItem;
use recado_domain::provider::Provider;
use recado_pipeline::reconcile;
use recado_pipeline::records::dead_letters::count_dead_letters;
use std::num::NonZeroU32;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

/// Number of contacts of each line.
const CONTACTS: usize = 4;

/// When each contact writes, in milliseconds since the start.
const WRITES_MS: [i64; 4] = [0, 90_000, 400_000, 1_500_000];

/// When the machine loses its power, and when the day is over, in milliseconds since the start.
const CUT_MS: i64 = 700_000;
const DAY_MS: i64 = 3_600_000;

/// Within this time, in milliseconds, a contact is answered whose rows can be read.
pub const ANSWERED_MS: i64 = 240_000;

/// Who may be left without an answer while a row of a kind cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Concerns {
    /// The contacts that the row names, if it names any.
    Named,
    /// The whole tenant that the row names: it is its configuration.
    Tenant,
    /// All: the row is about the installation.
    All,
}

/// The kinds of records that a day has, and whom a damaged row of each may concern.
pub const KINDS: &[(&str, Concerns)] = &[
    ("conversations", Concerns::Named),
    ("deliveries", Concerns::Named),
    ("events", Concerns::Named),
    ("in_flight", Concerns::Named),
    ("instance_states", Concerns::Tenant),
    ("messages", Concerns::Named),
    ("published_events", Concerns::Named),
    ("queue_messages", Concerns::Named),
    ("records", Concerns::Tenant),
];

/// A damaged row.
#[derive(Debug, Clone, Copy)]
pub struct Damaged {
    /// Of which table.
    pub kind: &'static str,
    /// Whom it concerns.
    pub concerns: Concerns,
    /// How.
    pub damage: Damage,
    /// What is taken out.
    pub missing: Missing,
}

/// What came of a day.
#[derive(Debug)]
pub struct Day {
    /// What was noted.
    pub outcome: Outcome,
    /// The row that was damaged; `None`: there was none when its time came.
    pub row: Option<String>,
    /// Whether somebody whom the row concerns had to wait.
    pub hurts: bool,
    /// Number of dead letters.
    pub letters: u64,
}

fn bounds() -> Vec<InstanceConfig> {
    let mut bounds = vec![
        bound(0, 0, Provider::Evolution, None),
        bound(1, 1, Provider::Evolution, None),
    ];
    bounds[0].tenant.turns_at_once = NonZeroU32::new(2);
    bounds[0].tools = vec![calendar_tool(&bounds[0].instance.tenant)];
    bounds[0].agent.tools = bounds[0].tools.iter().map(|tool| tool.id.clone()).collect();
    bounds
}

fn make(seed: u64, missing: Missing, traced: bool) -> Machine {
    let simulation = Simulation::new(seed);
    let faults = Faults {
        calm_from_ms: DAY_MS,
        ..Faults::default()
    };
    let mutation = (missing == Missing::PassingOver).then_some(Mutation::UnreadableFailsAll);
    let common = Arc::new(Common::new(simulation.clone(), faults, mutation, traced));
    let store = store(&simulation);
    let again = recover(&store);
    let mut sim = sim(&common, store.clone(), EitherQueues::Embedded(store), bounds());
    sim.style = Style::Machine;
    sim.extras = StoreExtras::from(Some(again));
    sim.fake_world.let_model_be_plain();
    for bound in &sim.bounds {
        let instance = &bound.instance;
        sim.fake_world
            .connect(&instance.id, instance.provider, SendBehaviours::calm());
    }
    Arc::new(sim)
}

/// Contacts write, book, and send a picture; a client orders messages and sends invitations.
fn fill(sim: &Machine) {
    let mut number = 0;
    for line in 0..sim.bounds.len() {
        for contact in 0..CONTACTS {
            for at in WRITES_MS {
                number += 1;
                let is_picture = contact == 1 && at == WRITES_MS[1];
                let ending = if is_picture { "-photo" } else { "" };
                write(sim, line, contact, (&format!("m{number}{ending}"), at));
            }
        }
    }
    let guests: Vec<ContactAddress> = (10..14).map(|guest| address(0, guest)).collect();
    sim.prepare_occasion(0, &guests);
    let instance = sim.bounds[0].instance.id.clone();
    for (nth, ahead) in [None, Some(300_000), Some(2_000_000)].into_iter().enumerate() {
        let order = sim.order_of(&instance, &address(0, 20 + nth), format!("client-{nth}"), ahead);
        sim.order(order, None);
    }
    let on = Arc::clone(sim);
    sim.simulation().spawn(Life::default(), async move {
        let _ = on.send_batch(0, guests.len(), "batch").await;
    });
}

fn write(sim: &Machine, line: usize, contact: usize, (words, at): (&str, i64)) {
    let instance = &sim.bounds[line].instance;
    let external = instance.resolve_external_id().expect("a name");
    let id = format!("in-{line}-{words}");
    let said = Said {
        id: &id,
        text: words,
        from_me: false,
        sent_at: Some(recado_domain::millis::add_millis(sim.simulation().now(), at)),
    };
    let event = said.event(instance.provider, &external, &address(line, contact));
    sim.post(WebhookItem::Event(event), at);
}

/// Whether a row is about a contact of a line.
fn is_named(sim: &Machine, row: &str, phone: &str) -> bool {
    let thread = |bound: &InstanceConfig| {
        let id = &bound.instance.id;
        identity_key().derive_thread_id(id, phone).as_str().to_owned()
    };
    let digits = phone.split('@').next().unwrap_or(phone);
    row.contains(digits) || sim.bounds.iter().any(|bound| row.contains(&thread(bound)))
}

/// Whether a row concerns the contact who has this phone.
fn is_concerned(sim: &Machine, row: &str, phone: &str, concerns: Concerns) -> bool {
    let of_line = |bound: &&InstanceConfig| {
        let number: String = bound
            .instance
            .id
            .as_str()
            .chars()
            .filter(char::is_ascii_digit)
            .collect();
        phone.starts_with(&format!("5500{number:0>3}"))
    };
    match concerns {
        Concerns::Named => is_named(sim, row, phone),
        Concerns::All => true,
        Concerns::Tenant => sim.bounds.iter().find(of_line).is_some_and(|bound| {
            let names = [bound.instance.tenant.as_str(), bound.instance.id.as_str()];
            is_named(sim, row, phone) || names.iter().any(|name| row.contains(name))
        }),
    }
}

/// Plays a day in which a row is damaged.
pub fn play(seed: u64, damaged: Damaged, traced: bool) -> Day {
    let sim = make(seed, damaged.missing, traced);
    fill(&sim);
    let row = Arc::new(Mutex::new(None));
    let (on, found) = (Arc::clone(&sim), Arc::clone(&row));
    sim.simulation().spawn(Life::default(), async move {
        on.simulation().sleep(on.simulation().between(200, 600_000)).await;
        // What is there only for seconds is waited for.
        for _ in 0..2_000 {
            let place = on.simulation().random();
            let told = damage_row(&on.store, damaged.kind, place, damaged.damage);
            if told.is_some() {
                on.common.note(|| format!("damaged: {told:?}"));
                on.common.machine.note_damage();
                *locked(&found) = told;
                return;
            }
            on.simulation().sleep(on.simulation().between(1, 900)).await;
        }
    });
    let on = Arc::clone(&sim);
    sim.simulation().spawn(Life::default(), async move {
        on.simulation().sleep(CUT_MS).await;
        on.common.cut.store(true, Ordering::Relaxed);
    });
    look_after(&sim);
    sim.go_on_until(DAY_MS, false);
    let row = locked(&row).take();
    let hurts = check_answers(&sim, row.as_deref().unwrap_or_default(), damaged.concerns);
    let letters = block_on(count_dead_letters(&sim.store, None)).map(|counts| counts.count_of(None));
    Day {
        outcome: outcome(&sim),
        row,
        hurts,
        letters: letters.expect("the letters are counted"),
    }
}

/// A pass of reconcile near the end of the day must end without an error. Its minute is one in which entries of the configuration are
/// read, as in every fifth.
fn look_after(sim: &Machine) {
    let on = Arc::clone(sim);
    sim.simulation().spawn(Life::default(), async move {
        on.simulation().sleep(DAY_MS - 240_000).await;
        let injector = FaultInjector::new(&on.common, "reconcile");
        if let Err(error) = reconcile::reconcile(&on.world(&injector)).await {
            on.common.broken(format!("reconcile ends with {error}"));
        }
    });
}

/// Notes each contact who had to wait and whom the row does not concern. Returns whether one had to whom it concerns.
fn check_answers(sim: &Machine, row: &str, concerns: Concerns) -> bool {
    let (came, mut hurts) = (first_arrivals(sim), false);
    let questions = list_questions(sim);
    if questions.len() != sim.bounds.len() * CONTACTS * WRITES_MS.len() {
        sim.common
            .broken(format!("only {} webhooks were acknowledged", questions.len()));
    }
    let acknowledged: Vec<_> = questions
        .into_iter()
        .map(|(event, meaning)| {
            let at = sim
                .common
                .observations()
                .received
                .get(&event)
                .map_or(0, |(first, _)| *first);
            (at, meaning)
        })
        .collect();
    for (asked_ms, meaning) in acknowledged {
        let late = came.get(&meaning).map(|at| at - asked_ms);
        if late.is_some_and(|late| late <= ANSWERED_MS) {
            continue;
        }
        if !row.is_empty() && is_concerned(sim, row, &meaning.0, concerns) {
            hurts = true;
        } else {
            sim.common.broken(format!(
                "{meaning:?} waited for {late:?} ms, and {row} does not concern it"
            ));
        }
    }
    hurts
}

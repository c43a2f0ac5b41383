//! The calls of stores and queues for an answered message, one by one: none may be added unseen.

#![expect(clippy::unwrap_used, reason = "whatever is not as it should be ends the test")]

use recado_domain::inbound::WebhookItem;
use recado_domain::provider::Provider;
use recado_embedded::Embedded;
use recado_simulation::embedded::store;
use recado_simulation::executor::Simulation;
use recado_simulation::fake_world::{Fates, Said};
use recado_simulation::fault_injector::{Common, Faults};
use recado_simulation::history::{finish, sim};
use recado_simulation::plan::{address, bound};
use recado_simulation::queue::{Sqs, WorkQueues};
use recado_simulation::simulator::Style;
use std::sync::Arc;

/// What the functions call for one message that is answered, without the reads of configuration and the delivery statuses.
fn calls_for_a_message<Q: WorkQueues>(
    style: Style,
    make: impl FnOnce(&Simulation, &Embedded) -> Q,
) -> Vec<String> {
    let simulation = Simulation::new(1);
    let faults = Faults {
        calm_from_ms: 0,
        ..Faults::default()
    };
    let common = Arc::new(Common::new(simulation.clone(), faults, None, true));
    let store = store(&simulation);
    let queues = make(&simulation, &store);
    let mut sim = sim(
        &common,
        store,
        queues,
        vec![bound(0, 0, Provider::Evolution, None)],
    );
    (sim.style, sim.reconciles) = (style, false);
    let instance = sim.bounds[0].instance.clone();
    sim.fake_world
        .connect(&instance.id, instance.provider, Fates::calm());
    let said = Said {
        id: "in",
        text: "m",
        from_me: false,
        sent_at: None,
    };
    let external = instance.resolve_external_id().unwrap();
    let event = said.event(instance.provider, &external, &address(0, 0));
    let sim = Arc::new(sim);
    sim.post(WebhookItem::Event(event), 0);
    let outcome = finish(&sim);
    assert!(outcome.violations.is_empty(), "{:?}", outcome.violations);
    assert_eq!(outcome.counters.model_calls, 1);
    outcome.trace.iter().filter_map(|line| call_of(line)).collect()
}

/// The call that a line of the trace tells: `0.012 processor store_inbound`.
fn call_of(line: &str) -> Option<String> {
    let mut words = line.split_whitespace().skip(1);
    let (function, call) = (words.next()?, words.next()?);
    let is_function = ["webhook", "processor", "deferred-reply", "sender"].contains(&function);
    let is_beside = ["bound_by_id", "find_instance_config", "record_status"].contains(&call);
    (is_function && !is_beside && words.next().is_none()).then(|| format!("{function} {call}"))
}

#[test]
fn one_machine_joins_what_follows_with_the_last_write_of_each_step() {
    let calls = calls_for_a_message(Style::Machine, |_, store| store.clone());
    let expected = [
        "webhook record_and_enqueue",
        "processor latest",
        "processor store_and_finish",
        "deferred-reply with_history",
        "deferred-reply update",
        "deferred-reply commit_and_enqueue",
        "sender open",
        "sender reserve",
        "sender claim",
        "sender settle_and_acknowledge",
    ];
    assert_eq!(calls, expected);
}

#[test]
fn where_records_and_queues_lie_apart_each_step_is_a_call() {
    let calls = calls_for_a_message(Style::Lambda, |simulation, _| Sqs::new(simulation.clone(), 0.0));
    let expected = [
        "webhook record_event",
        "webhook send_inbound",
        "processor latest",
        "processor store_inbound",
        "processor send_turn",
        "deferred-reply with_history",
        "deferred-reply update",
        "deferred-reply commit",
        "deferred-reply enqueue_send_job",
        "sender open",
        "sender reserve",
        "sender claim",
        "sender settle",
    ];
    assert_eq!(calls, expected);
}

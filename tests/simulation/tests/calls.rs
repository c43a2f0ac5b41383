//! The calls of stores and queues for an answered message, one by one: none may be added unseen.

#![expect(clippy::unwrap_used, reason = "whatever is not as it should be ends the test")]

use futures::executor::block_on;
use recado_domain::access::Caller;
use recado_domain::config::InstanceConfig;
use recado_domain::ids::TenantId;
use recado_domain::inbound::WebhookItem;
use recado_domain::provider::Provider;
use recado_domain::tools::Tool;
use recado_embedded::Embedded;
use recado_knowledge::{NewDocument, add_source};
use recado_simulation::embedded::store;
use recado_simulation::executor::{Life, Simulation};
use recado_simulation::fake_world::{Said, SendBehaviours, calendar_tool, reading_tool, reminding_tool};
use recado_simulation::fault_injector::{Common, Faults};
use recado_simulation::history::{finish, sim};
use recado_simulation::plan::{address, bound};
use recado_simulation::queue::EitherQueues;
use recado_simulation::simulator::Style;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the functions call for one message that is answered, without the reads of configuration and the delivery statuses.
///
/// `document`: the text of a document of the agent, if it has one.
fn calls_for_a_message(
    style: Style,
    document: Option<&str>,
    make: impl FnOnce(&Simulation, &Embedded) -> EitherQueues,
) -> Vec<String> {
    calls_for_agent(bound(0, 0, Provider::Evolution, None), document, 1, style, make)
}

/// The same on AWS, where the model calls a tool before it replies.
fn calls_for_a_message_with(tool: fn(&TenantId) -> Tool) -> Vec<String> {
    let mut bound = bound(0, 0, Provider::Evolution, None);
    let tool = tool(&bound.tenant.id);
    bound.agent.tools.insert(tool.id.clone());
    bound.tools.push(tool);
    calls_for_agent(bound, None, 2, Style::Lambda, |simulation, _| {
        EitherQueues::on_sqs(simulation.clone(), 0.0)
    })
}

fn calls_for_agent(
    bound: InstanceConfig,
    document: Option<&str>,
    model_calls: u64,
    style: Style,
    make: impl FnOnce(&Simulation, &Embedded) -> EitherQueues,
) -> Vec<String> {
    let simulation = Simulation::new(1);
    let faults = Faults {
        calm_from_ms: 0,
        ..Faults::default()
    };
    let common = Arc::new(Common::new(simulation.clone(), faults, None, true));
    let store = store(&simulation);
    let queues = make(&simulation, &store);
    let mut sim = sim(&common, store, queues, vec![bound]);
    (sim.style, sim.reconciles) = (style, false);
    let instance = sim.bounds[0].instance.clone();
    sim.fake_world
        .connect(&instance.id, instance.provider, SendBehaviours::calm());
    let said = Said {
        id: "in",
        text: "m1",
        from_me: false,
        sent_at: None,
    };
    let external = instance.resolve_external_id().unwrap();
    let event = said.event(instance.provider, &external, &address(0, 0));
    let sim = Arc::new(sim);
    if let Some(text) = document {
        let document = NewDocument {
            title: "d.md".to_owned(),
            content_type: None,
            bytes: text.as_bytes().to_vec(),
        };
        let agent = &sim.bounds[0].agent.id;
        block_on(add_source(
            &sim.calm_deps(),
            &Caller::installation(),
            agent,
            document,
        ))
        .unwrap();
    }
    sim.post(WebhookItem::Event(event), 0);
    let outcome = finish(&sim);
    assert!(outcome.violations.is_empty(), "{:?}", outcome.violations);
    assert_eq!(outcome.counters.model_calls, model_calls);
    let calls = outcome.trace.iter().filter_map(|line| call_of(line));
    // A second webhook is the echo of the reply, which comes by chance.
    let mut webhooks = 0;
    let of_message = calls.filter(|call| {
        webhooks += usize::from(call.starts_with("webhook record"));
        let may_be_of_echo = call.starts_with("webhook ") || call.starts_with("processor ");
        webhooks < 2 || !may_be_of_echo
    });
    of_message.collect()
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
    let calls = calls_for_a_message(Style::Machine, None, |_, store| {
        EitherQueues::Embedded(store.clone())
    });
    let expected = [
        "webhook commit_events",
        "processor latest",
        "processor commit_inbound",
        "deferred-reply with_history",
        "deferred-reply update",
        "deferred-reply commit_reply",
        "sender open",
        "sender reserve",
        "sender claim",
        "sender commit_settlement",
    ];
    assert_eq!(calls, expected);
}

/// The calls of an ordinary message on AWS.
const ON_AWS: [&str; 11] = [
    "webhook record_event",
    "webhook send_inbound",
    "processor latest",
    "processor store_inbound",
    "processor send_turn",
    "deferred-reply with_history",
    "deferred-reply update",
    "deferred-reply open",
    "deferred-reply reserve",
    "deferred-reply commit",
    "deferred-reply settle",
];

/// The places among [`ON_AWS`] of the calls that take the turn's lease and that begin the commit of the reply, with its first attempt.
const LEASE: usize = 6;
const COMMIT: usize = 7;

/// The calls of a message of an agent with a tool that acts, on AWS: the journal is read beside the conversation, and `more` is called
/// before the reply is committed.
fn list_calls_beside_journal<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let (read, lease, commit) = (&ON_AWS[..LEASE], &ON_AWS[LEASE..COMMIT], &ON_AWS[COMMIT..]);
    [read, &["deferred-reply find_item"], lease, more, commit].concat()
}

#[test]
fn where_records_and_queues_lie_apart_each_step_is_a_call() {
    let calls = calls_for_a_message(Style::Lambda, None, |simulation, _| {
        EitherQueues::on_sqs(simulation.clone(), 0.0)
    });
    assert_eq!(calls, ON_AWS);
}

#[test]
fn a_message_of_meta_takes_the_same_calls() {
    let bound = bound(0, 0, Provider::Meta, None);
    let calls = calls_for_agent(bound, None, 1, Style::Lambda, |simulation, _| {
        EitherQueues::on_sqs(simulation.clone(), 0.0)
    });
    assert_eq!(calls, ON_AWS);
}

#[test]
fn a_tool_that_reads_costs_no_call_and_one_that_acts_what_its_page_says() {
    assert_eq!(calls_for_a_message_with(reading_tool), ON_AWS);
    let (find, save) = ("deferred-reply find_item", "deferred-reply write_items");
    let booking = ["deferred-reply write_guarded", find, save];
    assert_eq!(
        calls_for_a_message_with(calendar_tool),
        list_calls_beside_journal(&booking)
    );
    let planned = [&booking[..], &[find, save]].concat();
    assert_eq!(
        calls_for_a_message_with(reminding_tool),
        list_calls_beside_journal(&planned)
    );
}

/// The calls of `more` that `fewer` lacks, of the turn and without those of models. The others follow from echoes that come by chance.
fn list_further_calls(fewer: &[String], mut more: Vec<String>) -> Vec<String> {
    let is_of_turn = |call: &String| call.starts_with("deferred-reply ");
    more.retain(|call| {
        is_of_turn(call) && !["deferred-reply embedding", "deferred-reply search"].contains(&call.as_str())
    });
    for call in fewer.iter().filter(|call| is_of_turn(call)) {
        let place = more.iter().position(|other| other == call);
        more.remove(place.unwrap_or_else(|| panic!("{call} is missing: {more:?}")));
    }
    more
}

#[test]
fn knowledge_costs_one_read_more_in_a_process_that_does_not_know_it_yet() {
    // Each turn of a simulation is a process of its own.
    let document = Some("m1 costs 9.");
    let on_aws = |document| {
        calls_for_a_message(Style::Lambda, document, |simulation, _| {
            EitherQueues::on_sqs(simulation.clone(), 0.0)
        })
    };
    let on_one_machine = |document| {
        calls_for_a_message(Style::Machine, document, |_, store| {
            EitherQueues::Embedded(store.clone())
        })
    };
    let read = ["deferred-reply open_file"];
    assert_eq!(list_further_calls(&on_aws(None), on_aws(document)), read);
    assert_eq!(
        list_further_calls(&on_one_machine(None), on_one_machine(document)),
        read
    );
}

/// Number of guests of the batch whose calls are counted: those of one piece.
const GUESTS: usize = 20;

#[test]
fn the_expansion_of_a_batch_costs_at_most_three_requests_a_recipient() {
    let simulation = Simulation::new(1);
    let faults = Faults {
        calm_from_ms: 0,
        ..Faults::default()
    };
    let common = Arc::new(Common::new(simulation.clone(), faults, None, true));
    let store = store(&simulation);
    let mut sim = sim(
        &common,
        store,
        EitherQueues::on_sqs(simulation.clone(), 0.0),
        vec![bound(0, 0, Provider::Evolution, None)],
    );
    (sim.style, sim.reconciles) = (Style::Lambda, false);
    let instance = sim.bounds[0].instance.clone();
    sim.fake_world
        .connect(&instance.id, instance.provider, SendBehaviours::calm());
    let sim = Arc::new(sim);
    let guests: Vec<_> = (0..GUESTS).map(|number| address(0, number)).collect();
    sim.prepare_occasion(0, &guests);
    sim.ledger().pending += 1;
    let client = Arc::clone(&sim);
    simulation.spawn(Life::default(), async move {
        client.send_batch(0, GUESTS, "batch").await;
        client.ledger().pending -= 1;
    });
    let outcome = finish(&sim);
    assert!(outcome.violations.is_empty(), "{:?}", outcome.violations);
    let all = outcome.trace.iter().filter_map(|line| call_of(line));
    let mut of_batch: Vec<String> = all
        .filter_map(|call| Some(call.strip_prefix("deferred-reply ")?.to_owned()))
        .collect();
    // Behind the expansion, a job of its own looks for the end.
    let last = of_batch
        .iter()
        .rposition(|call| call == "commit")
        .unwrap_or_default();
    let behind = of_batch[last..].iter().position(|call| call == "list_items");
    of_batch.truncate(behind.map_or(of_batch.len(), |behind| last + behind));
    let mut calls: BTreeMap<&str, usize> = BTreeMap::new();
    for call in &of_batch {
        *calls.entry(call).or_default() += 1;
    }
    assert_eq!(calls.get("commit"), Some(&GUESTS), "{calls:?}");
    // A request to the queue holds ten jobs, and one to the table a hundred keys.
    let batched = GUESTS.div_ceil(10) - 1;
    let requests = calls.values().sum::<usize>() + batched;
    assert!(requests <= 3 * GUESTS, "{requests} requests: {calls:?}");
}

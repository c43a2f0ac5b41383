//! What is promised in numbers.

#![expect(clippy::unwrap_used, reason = "whatever is not as it should be ends the test")]

use futures::executor::block_on;
use recado_domain::config::InstanceConfig;
use recado_domain::dead_letter::QueueName;
use recado_domain::inbound::WebhookItem;
use recado_domain::message::Message;
use recado_domain::millis::{add_millis, to_millis};
use recado_domain::outbox::OutboxState;
use recado_domain::provider::Provider;
use recado_domain::rate::Rate;
use recado_domain::reason::Reason;
use recado_domain::service_window::{WINDOW, WINDOW_MARGIN};
use recado_embedded::Embedded;
use recado_pipeline::ports::{ConversationFilter, Conversations, PageRequest};
use recado_simulation::embedded::store;
use recado_simulation::executor::{Life, Simulation};
use recado_simulation::fake_world::{Said, SendBehaviour, SendBehaviours, connection_event};
use recado_simulation::fault_injector::{Common, Faults, Slow};
use recado_simulation::history::{finish, sim};
use recado_simulation::plan::{address, bound, template};
use recado_simulation::queue::EitherQueues;
use recado_simulation::simulator::Simulator;
use std::sync::Arc;

type Small = Arc<Simulator<Embedded, EitherQueues>>;

/// Makes the queues of a history, beside its records.
type MakeQueues = fn(&Simulation, &Embedded) -> EitherQueues;

/// A simulator without faults, calm from `calm` milliseconds on.
fn quiet(bounds: Vec<InstanceConfig>, calm: i64, queues: MakeQueues) -> Small {
    let faults = Faults {
        calm_from_ms: calm,
        ..Faults::default()
    };
    Arc::new(troubled(faults, bounds, queues))
}

/// A simulator with these faults.
fn troubled(
    faults: Faults,
    bounds: Vec<InstanceConfig>,
    queues: MakeQueues,
) -> Simulator<Embedded, EitherQueues> {
    let simulation = Simulation::new(1);
    let common = Arc::new(Common::new(simulation.clone(), faults, None, false));
    let store = store(&simulation);
    let queues = queues(&simulation, &store);
    let sim = sim(&common, store, queues, bounds);
    for bound in &sim.bounds {
        sim.fake_world.connect(
            &bound.instance.id,
            bound.instance.provider,
            SendBehaviours::calm(),
        );
    }
    sim
}

fn sqs(simulation: &Simulation, _: &Embedded) -> EitherQueues {
    EitherQueues::on_sqs(simulation.clone(), 0.0)
}

/// The queues of one machine: there a reply waits in `outbound`.
fn joint(_: &Simulation, store: &Embedded) -> EitherQueues {
    EitherQueues::Embedded(store.clone())
}

/// Each contact of a line writes one message, `gap` milliseconds after the one before.
fn all_write(sim: &Small, line: usize, contacts: usize, gap: i64) {
    let instance = sim.bounds[line].instance.clone();
    let external = instance.resolve_external_id().unwrap();
    for contact in 0..contacts {
        let (id, text) = (format!("in-{line}-{contact}"), format!("m{contact}"));
        let said = Said {
            id: &id,
            text: &text,
            from_me: false,
            sent_at: None,
        };
        let event = said.event(instance.provider, &external, &address(line, contact));
        sim.post(WebhookItem::Event(event), gap * i64::try_from(contact).unwrap());
    }
}

fn replies(sim: &Small) -> Vec<Message> {
    let everything = |cursor| PageRequest { limit: 100, cursor };
    let (mut replies, mut cursor) = (Vec::new(), None);
    loop {
        let page = block_on(
            sim.store
                .search_conversations(&ConversationFilter::default(), &everything(cursor)),
        )
        .unwrap();
        for conversation in page.items {
            let messages = block_on(sim.store.list_messages(&conversation.id, &everything(None))).unwrap();
            replies.extend(messages.items.into_iter().filter(|message| message.out.is_some()));
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            return replies;
        }
    }
}

fn dead(sim: &Small) -> usize {
    let is_dead = |message: &&Message| {
        let out = message.out.as_ref().unwrap();
        matches!(out.state, OutboxState::Dead { .. })
    };
    replies(sim).iter().filter(is_dead).count()
}

#[test]
fn two_hundred_replies_queued_in_a_ten_minute_disconnection_all_arrive_in_order() {
    let sim = quiet(vec![bound(0, 0, Provider::Evolution, None)], 1_500_000, sqs);
    all_write(&sim, 0, 200, 1_000);
    let (on, instance) = (Arc::clone(&sim), sim.bounds[0].instance.clone());
    sim.fake_world.line(&instance.id, |line| line.connected = false);
    sim.simulation().spawn(Life::default(), async move {
        on.simulation().sleep(600_000).await;
        let waiting = replies(&on);
        assert_eq!(waiting.len(), 200);
        for message in &waiting {
            let out = message.out.as_ref().unwrap();
            assert_eq!(
                (out.attempts, out.state.as_str()),
                (0, "queued"),
                "waiting is no attempt"
            );
        }
        on.fake_world.line(&instance.id, |line| line.connected = true);
        let event = connection_event(
            Provider::Evolution,
            &instance.resolve_external_id().unwrap(),
            1,
            true,
        );
        on.post(WebhookItem::Event(event), 0);
    });
    let outcome = finish(&sim);
    assert!(outcome.violations.is_empty(), "{:?}", outcome.violations);
    let arrived: usize = sim.fake_world.phones().values().map(Vec::len).sum();
    assert_eq!((arrived, dead(&sim)), (200, 0));
}

#[test]
fn sixty_four_copies_of_a_webhook_are_one_message_and_one_reply() {
    let sim = quiet(vec![bound(0, 0, Provider::Evolution, None)], 60_000, sqs);
    for _ in 0..64 {
        all_write(&sim, 0, 1, 0);
    }
    let outcome = finish(&sim);
    assert!(outcome.violations.is_empty(), "{:?}", outcome.violations);
    let arrived: usize = sim.fake_world.phones().values().map(Vec::len).sum();
    assert_eq!(
        (arrived, replies(&sim).len(), outcome.counters.model_calls),
        (1, 1, 1)
    );
}

/// How often the sender is started for each of `conversations` that wait for their slots at the same time.
fn receives_each(conversations: usize, per_second: f64) -> f64 {
    let rate = Some(Rate { per_second, burst: 5 });
    let sim = quiet(vec![bound(0, 0, Provider::Evolution, rate)], 60_000, sqs);
    all_write(&sim, 0, conversations, 0);
    let outcome = finish(&sim);
    assert!(outcome.violations.is_empty(), "{:?}", outcome.violations);
    assert_eq!(replies(&sim).len(), conversations);
    let each = |number: u64| f64::from(u32::try_from(number).unwrap());
    each(outcome.counters.sender_receives) / each(conversations as u64)
}

#[test]
fn conversations_that_wait_for_their_slot_cost_two_receives_each_and_no_herd() {
    let near = receives_each(600, 2.0);
    assert!(near < 2.2, "{near:.2} receives each within 15 minutes");
    let far = receives_each(2_000, 1.0);
    assert!(far < 4.2, "{far:.2} receives each beyond 15 minutes");
    println!("{near:.2} receives each within 15 minutes, {far:.2} beyond");
}

/// The times from a contact's message to its reply, in milliseconds, for the contacts of line 0.
fn reply_times(troubled: bool) -> Vec<i64> {
    let fast = Some(Rate {
        per_second: 50.0,
        burst: 50,
    });
    let bounds = vec![
        bound(0, 0, Provider::Evolution, fast),
        bound(1, 1, Provider::Evolution, None),
        bound(2, 2, Provider::Evolution, None),
    ];
    let sim = quiet(bounds, 300_000, sqs);
    // Else what is compared is for how long chance lets it think.
    sim.fake_world.let_model_think(3_000);
    all_write(&sim, 0, 40, 1_000);
    if troubled {
        let (hung, flooded) = (sim.bounds[1].instance.id.clone(), 2);
        sim.fake_world
            .line(&hung, |line| line.script.extend([SendBehaviour::Hangs; 500]));
        all_write(&sim, 1, 60, 200);
        all_write(&sim, flooded, 300, 10);
    }
    let outcome = finish(&sim);
    assert!(outcome.violations.is_empty(), "{:?}", outcome.violations);
    let phones = sim.fake_world.phones();
    let of_line = phones
        .iter()
        .filter(|((instance, _), _)| *instance == sim.bounds[0].instance.id);
    let mut times: Vec<i64> = of_line
        .map(|((_, contact), arrived)| {
            let number: usize = (0..40).find(|number| address(0, *number) == *contact).unwrap();
            arrived[0].at_ms - 1_000 * i64::try_from(number).unwrap()
        })
        .collect();
    times.sort_unstable();
    assert_eq!(times.len(), 40);
    times
}

#[test]
fn a_hung_provider_and_a_flood_move_others_reply_time_by_less_than_a_tenth() {
    let mean = |times: &[i64]| times.iter().sum::<i64>() / 40;
    let (alone, beside) = (mean(&reply_times(false)), mean(&reply_times(true)));
    println!("{alone} ms alone, {beside} ms beside a hung provider and a flood");
    assert!(
        beside * 10 < alone * 11,
        "{alone} ms alone, {beside} ms beside others' trouble"
    );
}

/// Ten contacts of a number of Meta's, whose clock is `clock_ms` ahead, write in one minute; `queue` stands still until
/// `end_ms` from the end of the first one's day.
fn a_day_late(queue: QueueName, end_ms: i64, clock_ms: i64, with_template: bool) -> Small {
    let sim = late(queue, end_ms, clock_ms, with_template, 0.0);
    assert_eq!(replies(&sim).len(), 10, "{queue:?} {end_ms} {clock_ms}");
    sim
}

/// The same, with a model that says more than one message holds in so many cases of one.
fn late(queue: QueueName, end_ms: i64, clock_ms: i64, with_template: bool, goes_on: f64) -> Small {
    let mut line = bound(0, 0, Provider::Meta, None);
    line.instance.reengagement_template = with_template.then(template);
    let until_ms = to_millis(WINDOW) + end_ms;
    let faults = Faults {
        calm_from_ms: until_ms,
        skew_ms: 1_000,
        slow: Some(Slow {
            queue,
            from_ms: 0,
            until_ms,
        }),
        ..Faults::default()
    };
    let queues: MakeQueues = if queue == QueueName::Outbound { joint } else { sqs };
    let mut sim = troubled(faults, vec![line], queues);
    // Else it asks all day for what the queue holds.
    sim.reconciles = false;
    let sim = Arc::new(sim);
    sim.fake_world.let_model_go_on(goes_on);
    let instance = sim.bounds[0].instance.clone();
    sim.fake_world.line(&instance.id, |line| line.clock_ms = clock_ms);
    for contact in 0..10 {
        let written = i64::try_from(contact).unwrap() * 6_000;
        let said = Said {
            id: &format!("in-{contact}"),
            text: &format!("m{contact}"),
            from_me: false,
            sent_at: Some(add_millis(sim.simulation().now(), written)),
        };
        let event = said.event(
            instance.provider,
            &instance.resolve_external_id().unwrap(),
            &address(0, contact),
        );
        sim.post(WebhookItem::Event(event), written);
    }
    let outcome = finish(&sim);
    let told = format!("{queue:?} {end_ms} {clock_ms}");
    assert!(outcome.violations.is_empty(), "{told}: {:?}", outcome.violations);
    assert!(sim.fake_world.refused().is_empty(), "{told}");
    sim
}

/// How many left as they were, as a template, and were given up.
fn ways(sim: &Small) -> (usize, usize, usize) {
    let phones = sim.fake_world.phones();
    let template = |text: &str| text.starts_with("[template");
    let arrived = phones.values().flatten();
    let (templates, words): (Vec<_>, Vec<_>) = arrived.partition(|arrived| template(&arrived.text));
    let closed = replies(sim).into_iter().filter(|message| {
        let out = message.out.as_ref().unwrap();
        let reason = Reason::WindowClosed;
        matches!(out.state, OutboxState::Dead { reason: found, .. } if found == reason)
    });
    (words.len(), templates.len(), closed.count())
}

#[test]
fn no_send_is_refused_for_the_window_whatever_queue_is_slow_and_whatever_the_clocks_say() {
    let (mut words, mut templates, mut closed) = (0, 0, 0);
    for queue in QueueName::ALL {
        for clock_ms in [-60_000, 0, 60_000] {
            for (step, end_ms) in (-240_000..=120_000).step_by(40_000).enumerate() {
                let sim = a_day_late(queue, end_ms, clock_ms, step % 2 == 0);
                let found = ways(&sim);
                assert_eq!(found.0 + found.1 + found.2, 10, "{found:?}");
                words += found.0;
                templates += found.1;
                closed += found.2;
            }
        }
    }
    println!("{words} replies left as they were, {templates} as a template, {closed} were given up");
    assert!(
        words > 100 && templates > 100 && closed > 100,
        "{words} {templates} {closed}"
    );
}

#[test]
fn what_is_in_time_leaves_as_it_is_and_what_is_late_does_not() {
    // The margin, a clock a minute ahead at worst, and what the queue takes to hand everything out.
    let in_time = -to_millis(WINDOW_MARGIN) - 60_000 - 10_000;
    assert_eq!(
        ways(&a_day_late(QueueName::Outbound, in_time, -60_000, true)),
        (10, 0, 0)
    );
    let late = 120_000;
    assert_eq!(
        ways(&a_day_late(QueueName::Outbound, late, 60_000, true)),
        (0, 10, 0)
    );
    assert_eq!(
        ways(&a_day_late(QueueName::Outbound, late, 60_000, false)),
        (0, 0, 10)
    );
}

/// Each contact writes one message of which no webhook comes.
fn all_are_missed(sim: &Small, contacts: usize) {
    let instance = sim.bounds[0].instance.clone();
    let external = instance.resolve_external_id().unwrap();
    for contact in 0..contacts {
        let (id, text) = (format!("in-{contact}"), format!("m{contact}"));
        let said = Said {
            id: &id,
            text: &text,
            from_me: false,
            sent_at: Some(sim.simulation().now()),
        };
        sim.lose(&mut said.event(instance.provider, &external, &address(0, contact)));
    }
}

#[test]
fn messages_of_which_no_webhook_came_are_answered_once_when_they_are_fetched() {
    let sim = quiet(vec![bound(0, 0, Provider::Evolution, None)], 60_000, sqs);
    all_are_missed(&sim, 10);
    let (instance, since) = (sim.bounds[0].instance.id.clone(), sim.simulation().now());
    for _ in 0..3 {
        sim.fetch(&instance, Some(since));
    }
    let broken = finish(&sim).violations;
    assert!(broken.is_empty(), "{broken:#?}");
    assert_eq!(replies(&sim).len(), 10);
}

#[test]
fn what_nobody_fetches_stays_unanswered_and_what_a_reconnection_missed_is_fetched_by_itself() {
    for reconnects in [false, true] {
        let sim = quiet(vec![bound(0, 0, Provider::Evolution, None)], 900_000, sqs);
        all_are_missed(&sim, 3);
        if reconnects {
            let instance = sim.bounds[0].instance.clone();
            for (number, open) in [(1, false), (2, true)] {
                let event = connection_event(
                    instance.provider,
                    &instance.resolve_external_id().unwrap(),
                    number,
                    open,
                );
                sim.post(WebhookItem::Event(event), i64::try_from(number).unwrap() * 1_000);
            }
            let on = Arc::clone(&sim);
            sim.simulation().spawn(Life::default(), async move {
                on.fake_world.line(&instance.id, |line| line.connected = false);
                on.simulation().sleep(1_500).await;
                on.fake_world.line(&instance.id, |line| line.connected = true);
            });
        }
        let broken = finish(&sim).violations;
        assert!(broken.is_empty(), "{broken:#?}");
        assert_eq!(replies(&sim).len(), if reconnects { 3 } else { 0 });
    }
}

#[test]
fn of_all_that_waits_for_a_contact_one_message_becomes_the_template() {
    let sim = late(QueueName::Outbound, 120_000, 0, true, 1.0);
    let waiting = replies(&sim).len();
    // "certo" is no long reply.
    assert!(waiting > 20, "{waiting}");
    assert_eq!(ways(&sim), (0, 10, waiting - 10));
}

#[test]
fn a_reply_in_parts_that_is_in_time_leaves_whole() {
    let in_time = -to_millis(WINDOW_MARGIN) - 120_000;
    let sim = late(QueueName::Outbound, in_time, 0, true, 1.0);
    let waiting = replies(&sim).len();
    assert!(waiting > 20, "{waiting}");
    assert_eq!(ways(&sim), (waiting, 0, 0));
}

//! Records of the run time of which an attribute is not what it should be: they count as none, and are written anew.

use crate::world::World;
use futures::executor::block_on;
use recado_domain::config::{ConfigDocument, ConfigNames};
use recado_domain::instance::{ConnectionStatus, InstanceChange};
use recado_domain::knowledge::{AgentKnowledge, SnapshotName};
use recado_domain::price::PriceList;
use recado_domain::rate::Rate;
use recado_domain::turn_places::{PlaceAnswer, TurnPlaces};
use recado_dynamo_simulation::RecordKey;
use recado_pipeline::ports::{Instances, Reservation, SlotTurn, WriteOutcome};
use recado_pipeline::records::configuration::{
    find_config_by_id, find_named_entries, load_configuration, put_configuration,
};
use recado_pipeline::records::turn_places::find_turn_places;
use recado_pipeline::table::{Versioned, write_record};
use recado_testkit::builders::{Fixture, at, change_instance, nonce, seen};
use recado_testkit::ports::succeed;
use serde_json::json;
use std::num::NonZeroU32;

fn damage(world: &World, (pk, sk): (String, &str), attribute: &str) {
    let sk = sk.to_owned();
    world.dynamo.damage(&RecordKey { pk, sk }, attribute).unwrap();
}

fn close() -> InstanceChange {
    InstanceChange::Connection(seen(ConnectionStatus::Closed, at(10), Some(at(60_000))))
}

/// A world with an instance that is closed, and of whose state one attribute is damaged.
fn closed_and_damaged(fixture: &Fixture, attribute: &str) -> World {
    let (world, id) = (World::new(), fixture.instance());
    assert!(block_on(change_instance(&world.store, id, close())).done);
    damage(&world, (format!("I#{id}"), "STATE"), attribute);
    world
}

const DAMAGED: [&str; 4] = ["connection", "probe_at", "arrival", "rev"];

#[test]
fn a_state_that_cannot_be_read_is_the_default_one_until_a_change_writes_it_anew() {
    for attribute in DAMAGED {
        let fixture = Fixture::new();
        let (world, id) = (closed_and_damaged(&fixture, attribute), fixture.instance());
        block_on(async {
            let state = succeed(world.store.read_instance_state(id)).await;
            assert_eq!(state.connection, ConnectionStatus::Open, "{attribute}");
            assert!(
                change_instance(&world.store, id, close()).await.done,
                "{attribute}"
            );
            let state = succeed(world.store.read_instance_state(id)).await;
            assert_eq!(state.connection, ConnectionStatus::Closed, "{attribute}");
        });
    }
}

#[test]
fn a_slot_is_reserved_though_the_state_cannot_be_read() {
    for attribute in DAMAGED {
        for turn in [SlotTurn::Next, SlotTurn::Yielding] {
            let fixture = Fixture::new();
            let (world, id) = (closed_and_damaged(&fixture, attribute), fixture.instance());
            let (rate, now) = (Rate::EVOLUTION, at(20));
            let reserved = block_on(world.store.reserve_slot(id, rate, turn, now)).unwrap();
            assert!(
                matches!(reserved, Reservation::Slot { at, .. } if at == now),
                "{attribute}: {reserved:?}"
            );
        }
    }
}

#[test]
fn turns_take_places_though_the_places_of_before_cannot_be_read() {
    let (world, fixture) = (World::new(), Fixture::new());
    let tenant = &fixture.bound.tenant.id;
    let conversation = fixture.conversation(1).id;
    let find = || block_on(succeed(find_turn_places(&world.store, tenant)));
    let take = |mut places: Versioned<TurnPlaces>| {
        let turn = (&conversation, &nonce());
        let answer = places
            .record
            .ask_for_place(NonZeroU32::MIN, turn, at(0), at(95_000));
        assert_eq!(answer, PlaceAnswer::Taken);
        block_on(succeed(write_record(&world.store, &mut places)))
    };
    assert_eq!(take(find()), WriteOutcome::Written);
    damage(&world, (format!("turn-places#{tenant}"), "places"), "body");
    let damaged = find();
    assert_eq!(take(damaged.clone()), WriteOutcome::Written);
    // What was read before that is no longer the newest.
    assert_eq!(take(damaged), WriteOutcome::Conflict);
}

#[test]
fn damaged_prices_are_passed_over_and_can_be_written_anew() {
    let world = World::new();
    let entries = ConfigDocument {
        prices: Some(PriceList::default()),
        ..ConfigDocument::default()
    };
    let names = ConfigNames {
        prices: true,
        ..ConfigNames::default()
    };
    block_on(async {
        Box::pin(succeed(put_configuration(&world.store, &entries))).await;
        damage(&world, ("prices#".to_owned(), "installation"), "body");
        assert_eq!(
            succeed(find_named_entries(&world.store, &names)).await.prices,
            None
        );
        assert_eq!(
            succeed(load_configuration(&world.store, None)).await,
            ConfigDocument::default()
        );
        Box::pin(succeed(put_configuration(&world.store, &entries))).await;
        assert_eq!(succeed(find_named_entries(&world.store, &names)).await, entries);
    });
}

#[test]
fn an_instance_is_found_without_a_tool_and_without_knowledge_that_cannot_be_read() {
    let (world, mut fixture) = (World::new(), Fixture::new());
    let (tenant, agent) = (fixture.bound.tenant.id.clone(), fixture.bound.agent.id.clone());
    let tool = |name: &str| {
        let tool = json!({
            "id": format!("{tenant}-{name}"), "tenant": tenant, "description": "Finds free slots.", "effect": "reads",
            "http": {"url": "https://tool.example/slots"},
        });
        serde_json::from_value(tool).unwrap()
    };
    fixture.bound.tools = vec![tool("prices"), tool("slots")];
    fixture.bound.agent.tools = fixture.bound.tools.iter().map(|tool| tool.id.clone()).collect();
    let mut knowledge = AgentKnowledge::begin(tenant.clone(), agent.clone(), nonce());
    knowledge.begin_snapshot(SnapshotName::from_random_bits(7), at(0), &[]);
    block_on(async {
        Box::pin(succeed(put_configuration(&world.store, &fixture.document()))).await;
        let saved = succeed(write_record(&world.store, &mut Versioned::new(knowledge))).await;
        assert_eq!(saved, WriteOutcome::Written);
        damage(
            &world,
            ("tools#".to_owned(), fixture.bound.tools[0].id.as_str()),
            "body",
        );
        damage(&world, (format!("knowledge#{tenant}"), agent.as_str()), "body");
        let found = succeed(find_config_by_id(&world.store, fixture.instance()))
            .await
            .unwrap();
        assert_eq!(found.tools, fixture.bound.tools[1..]);
        assert_eq!(found.knowledge, None);
    });
}

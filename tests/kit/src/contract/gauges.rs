//! What monitors are told of what is open.

use super::given::{begun, claim, replied, updated};
use super::patience::{INDEX, eventually};
use crate::builders::{Fixture, accepted, at, change_instance, claimed, far_ahead, nonce, seen};
use crate::ports::succeed;
use recado_domain::alert::PersonWait;
use recado_domain::event::InboundJob;
use recado_domain::instance::{
    ConnectionStatus, DEFAULT_PATIENCE, InstanceChange, InstanceState, ParkedConversation, TrafficProfile,
};
use recado_domain::millis::add_millis;
use recado_domain::rate::Rate;
use recado_ports::ports::{
    EventChange, OpenEvent, OpenMessage, OpenWork, OverdueWork, OwedAnswer, SlotTurn, Store, WriteOutcome,
};

/// Other cases have open work too; all of it is looked at.
const LIMIT: usize = 100_000;

/// What is open of the fixture's instance.
async fn open<S: Store>(store: &S, fixture: &Fixture) -> OpenWork {
    let mut open = succeed(store.read_open_work(None, LIMIT)).await;
    assert!(!open.at_least);
    open.messages
        .retain(|message| message.instance == *fixture.instance());
    open.events
        .retain(|event| event.external == fixture.job().external);
    open.parked.retain(|instance| instance == fixture.instance());
    open.owed.retain(|owed| owed.instance == *fixture.instance());
    open
}

pub async fn what_is_open_is_told_until_it_is_done<S: Store>(store: &S) {
    let fixture = Fixture::new();
    assert_eq!(open(store, &fixture).await, OpenWork::default());
    let mut conversation = begun(store, &fixture).await;
    let message = replied(store, &fixture, &mut conversation).await;
    let (sending, flight) = claimed(&message);
    claim(store, &sending, &flight).await;
    let parked = ParkedConversation {
        instance: fixture.instance().clone(),
        conversation: conversation.id.clone(),
        version: nonce(),
        since: at(0),
        not_before: None,
        patience: DEFAULT_PATIENCE,
        reply: None,
    };
    succeed(store.put_parked(&parked)).await;
    let expected = OpenMessage {
        instance: fixture.instance().clone(),
        state: "sending",
        attempts: 1,
        since: sending.stored_at,
    };
    let told = |open: &OpenWork| open.messages == [expected.clone()] && open.parked.len() == 1;
    let found = eventually(INDEX, async || open(store, &fixture).await, told).await;
    assert_eq!(found.messages, [expected]);
    assert_eq!(found.parked, [fixture.instance().clone()]);
    let sent = accepted(&sending);
    let settled = succeed(store.settle_message(&sent, Some(&flight), None, None)).await;
    assert_eq!(settled, WriteOutcome::Written);
    assert!(succeed(store.remove_parked(&parked)).await);
    let none = |open: &OpenWork| open.messages.is_empty() && open.parked.is_empty();
    let found = eventually(INDEX, async || open(store, &fixture).await, none).await;
    assert!(found.messages.is_empty() && found.parked.is_empty());
}

pub async fn an_event_is_told_until_it_is_applied<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let job = fixture.job();
    let _ = succeed(store.record_event(&job)).await;
    let ours = async || {
        let mut events = succeed(store.read_open_work(None, LIMIT)).await.events;
        events.retain(|event| event.external == job.external && event.since == job.received_at);
        events
    };
    let found = eventually(INDEX, ours, |found: &Vec<_>| found.len() == 1).await;
    let expected = OpenEvent {
        provider: job.provider,
        external: job.external.clone(),
        since: job.received_at,
    };
    assert_eq!(found, [expected]);
    succeed(store.change_event(
        &job.event,
        EventChange::Apply {
            at: at(1),
            expires: at(2),
        },
    ))
    .await;
    let found = eventually(INDEX, ours, Vec::is_empty).await;
    assert_eq!(found, []);
}

pub async fn a_limit_that_was_reached_is_told<S: Store>(store: &S) {
    let fixture = Fixture::new();
    // Divisible by every number of shards that there may be: one more than that is too much for some shard.
    let most = 16;
    let jobs: Vec<InboundJob> = (0..=most).map(|_| fixture.job()).collect();
    for job in &jobs {
        let _ = succeed(store.record_event(job)).await;
    }
    let look = async || succeed(store.read_open_work(None, most)).await;
    let found = eventually(INDEX, look, |open: &OpenWork| open.at_least).await;
    assert!(found.at_least);
    assert!(found.events.len() <= most);
    for job in &jobs {
        succeed(store.change_event(
            &job.event,
            EventChange::Apply {
                at: at(1),
                expires: at(2),
            },
        ))
        .await;
    }
}

pub async fn an_instance_that_is_not_open_is_told_until_it_opens<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let set = async |to, now, probe: Option<i64>| {
        let change = InstanceChange::Connection(seen(to, at(now), probe.map(at)));
        change_instance(store, fixture.instance(), change).await
    };
    let closed = async || {
        let found = succeed(store.list_troubled_instances(LIMIT)).await;
        assert!(!found.at_least);
        let ours = found
            .states
            .into_iter()
            .filter(|(id, _)| id == fixture.instance());
        let states = ours.map(|(_, state)| (state.connection, state.since));
        let closed = states.filter(|(connection, _)| *connection != ConnectionStatus::Open);
        closed.collect::<Vec<_>>()
    };
    for (now, connection) in [
        (1_000, ConnectionStatus::Closed),
        (2_000, ConnectionStatus::Unreachable),
        (3_000, ConnectionStatus::NeedsCredentials),
    ] {
        set(connection, now, Some(now + 30_000)).await;
        let expected = (connection, Some(at(now)));
        let told = |found: &Vec<_>| *found == [expected];
        assert_eq!(eventually(INDEX, closed, told).await, [expected]);
    }
    // Open, and due to be looked at once more.
    set(ConnectionStatus::Open, 4_000, Some(64_000)).await;
    assert_eq!(eventually(INDEX, closed, Vec::is_empty).await, []);
}

pub async fn every_reserved_slot_is_counted<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let id = fixture.instance();
    let read = async || succeed(store.read_instance_state(id)).await;
    assert_eq!(read().await, InstanceState::default());
    for count in 1..=9 {
        // The first ones come to an idle instance, the others to a busy one.
        let _ = succeed(store.reserve_slot(id, Rate::EVOLUTION, SlotTurn::Next, at(0))).await;
        assert_eq!(read().await.slots, count);
    }
    change_instance(store, id, InstanceChange::ModelKeyMissing(true)).await;
    assert_eq!(read().await.slots, 9);
}

pub async fn an_owed_answer_is_told_until_it_is_given<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    let expected = OwedAnswer {
        instance: fixture.instance().clone(),
        since: conversation.waiting_since.unwrap(),
    };
    let told = |open: &OpenWork| !open.owed.is_empty();
    let found = eventually(INDEX, async || open(store, &fixture).await, told).await;
    assert_eq!(found.owed, [expected]);
    replied(store, &fixture, &mut conversation).await;
    let none = |open: &OpenWork| open.owed.is_empty();
    let found = eventually(INDEX, async || open(store, &fixture).await, none).await;
    assert_eq!(found.owed, []);
}

pub async fn the_disk_is_full_only_below_its_limit<S: Store>(store: &S) {
    // Records that are not on a disk of the installation have no space to tell.
    if let Some(space) = succeed(store.read_disk_space()).await {
        assert_eq!(space.is_full(), space.free < space.least);
    }
}

pub async fn an_instance_that_does_not_work_is_told_with_its_state_until_it_works<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let ours = async || {
        let mut found = succeed(store.list_troubled_instances(LIMIT)).await;
        assert!(!found.at_least);
        found.states.retain(|(id, _)| id == fixture.instance());
        found.states.pop().map(|(_, state)| state)
    };
    let works = |found: &Option<InstanceState>| found.is_none();
    assert_eq!(ours().await, None);
    let pattern = |silent_since| {
        let json = serde_json::json!({ "silent_since": silent_since });
        serde_json::from_value::<TrafficProfile>(json).unwrap()
    };
    let steps = [
        (
            InstanceChange::Connection(seen(ConnectionStatus::Closed, at(1_000), Some(at(2_000)))),
            InstanceChange::Connection(seen(ConnectionStatus::Open, at(3_000), None)),
        ),
        (
            InstanceChange::ModelKeyMissing(true),
            InstanceChange::ModelKeyMissing(false),
        ),
        (
            InstanceChange::Traffic(pattern(Some(at(4_000).as_millisecond()))),
            InstanceChange::Traffic(pattern(None)),
        ),
    ];
    for (begin, end) in steps {
        change_instance(store, fixture.instance(), begin).await;
        let stored = succeed(store.read_instance_state(fixture.instance())).await;
        let told = |found: &Option<InstanceState>| found.as_ref() == Some(&stored);
        assert_eq!(eventually(INDEX, ours, told).await, Some(stored.clone()));
        let overdue = succeed(store.list_overdue(at(900), LIMIT)).await;
        let probes = overdue
            .iter()
            .any(|work| *work == OverdueWork::Probe(fixture.instance().clone()));
        assert!(!probes, "nothing is to be done for it yet");
        change_instance(store, fixture.instance(), end).await;
        assert_eq!(eventually(INDEX, ours, works).await, None);
    }
}

pub async fn who_waits_for_a_person_is_told_until_the_person_answers<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    let ours = async |before| {
        let mut found = succeed(store.list_waiting_for_person(before, LIMIT)).await;
        assert!(!found.at_least);
        found.waits.retain(|wait| wait.instance == *fixture.instance());
        found.waits
    };
    assert_eq!(ours(far_ahead()).await, [], "the agent owes the answer");
    assert!(conversation.take_over());
    updated(store, &mut conversation).await;
    let since = conversation.waiting_since.unwrap();
    let expected = [PersonWait {
        tenant: conversation.tenant.clone(),
        instance: conversation.instance.clone(),
        conversation: conversation.id.clone(),
        since,
        needed: None,
    }];
    let found = eventually(
        INDEX,
        async || ours(since).await,
        |found: &Vec<_>| !found.is_empty(),
    )
    .await;
    assert_eq!(found, expected);
    assert_eq!(ours(add_millis(since, -1)).await, [], "not for so long");
    let overdue = succeed(store.list_overdue(far_ahead(), LIMIT)).await;
    assert!(!overdue.contains(&OverdueWork::Owed(conversation.id.clone())));
    conversation.record_operator_answer(conversation.last, true, since);
    updated(store, &mut conversation).await;
    let none = |found: &Vec<_>| found.is_empty();
    assert_eq!(
        eventually(INDEX, async || ours(far_ahead()).await, none).await,
        []
    );
}

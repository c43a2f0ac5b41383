//! What a provider did not deliver is fetched, once and in order.

use crate::memory::Kept;
use crate::world::Setup;
use crate::{setup, state};
use recado_domain::access::Caller;
use recado_domain::contact::ContactAddress;
use recado_domain::dead_letter::QueueName;
use recado_domain::delivery::{DeliveryKey, DeliveryStatus};
use recado_domain::event::EventKind;
use recado_domain::instance::ConnectionStatus;
use recado_domain::message::{Message, Role};
use recado_domain::millis::add_millis;
use recado_domain::reason::Reason;
use recado_domain::retention::RetentionPeriod;
use recado_pipeline::catch_up::{CatchUpError, CatchUpReport, MissedMessages, catch_up, preview_catch_up};
use recado_pipeline::ports::{
    ConnectionAnswer, ConversationFilter, Conversations, HistoryError, OutboxStore, PageRequest,
};
use recado_pipeline::reconcile::reconcile;
use recado_pipeline::records::configuration::put_configuration;
use recado_pipeline::{Verdict, process};
use recado_testkit::builders::correlation;
use recado_testkit::ports::succeed;
use serde_json::Value;
use std::time::Duration;

/// A message that its phone sent so many seconds ago.
fn kept(setup: &Setup, address: &ContactAddress, id: &str, seconds_ago: i64) -> Kept {
    Kept {
        id: id.to_owned(),
        address: address.clone(),
        text: format!("text of {id}"),
        from_me: false,
        at: add_millis(setup.now(), -seconds_ago * 1000),
        status: None,
    }
}

async fn ask(setup: &Setup, seconds_ago: i64) -> CatchUpReport {
    let since = add_millis(setup.now(), -seconds_ago * 1000);
    succeed(catch_up(
        &setup.world,
        &Caller::installation(),
        setup.fixture.instance(),
        Some(since),
        &correlation(),
    ))
    .await
}

/// Processes everything that is enqueued.
async fn settle(setup: &Setup) {
    loop {
        let hour = Duration::from_secs(3600);
        let received = succeed(setup.world.queues.receive_messages(QueueName::Inbound, 10, hour)).await;
        if received.is_empty() {
            return;
        }
        for message in received {
            let verdict = process::process(&setup.world, &message.body, message.receives).await;
            assert_eq!(verdict, Verdict::Done);
            assert!(succeed(setup.world.queues.delete_received(&message.receipt)).await);
        }
    }
}

/// What the only conversation holds, the oldest first.
async fn stored(setup: &Setup) -> Vec<Message> {
    let page = PageRequest::first(100);
    let list = succeed(
        setup
            .world
            .store
            .search_conversations(&ConversationFilter::default(), &page),
    )
    .await;
    let [conversation] = &list.items[..] else {
        panic!("{} conversations", list.items.len());
    };
    let mut messages = succeed(setup.world.store.list_messages(&conversation.id, &page))
        .await
        .items;
    messages.sort_by_key(|message| message.ordinal);
    messages
}

fn texts(messages: &[Message]) -> Vec<String> {
    messages
        .iter()
        .map(|message| message.content.render_text())
        .collect()
}

#[tokio::test]
async fn what_was_missed_is_stored_once_and_in_the_order_in_which_it_was_written() {
    let setup = setup().await;
    let contact = setup.fixture.other_contact();
    for number in 0..8 {
        let id = format!("M{number}");
        setup
            .world
            .providers
            .memory
            .keep(kept(&setup, &contact.address, &id, 800 - number * 10));
    }
    let first = ask(&setup, 900).await;
    assert_eq!((first.looked_at, first.known, first.missed), (8, 0, 8));
    assert_eq!((first.pages, first.more, first.offered), (3, false, true));
    let again = ask(&setup, 900).await;
    assert_eq!(
        (again.known, again.missed),
        (8, 0),
        "they are enqueued, not processed yet"
    );
    settle(&setup).await;
    let expected: Vec<String> = (0..8).map(|number| format!("text of M{number}")).collect();
    assert_eq!(texts(&stored(&setup).await), expected);
    let third = ask(&setup, 900).await;
    assert_eq!((third.known, third.missed), (8, 0));
    settle(&setup).await;
    assert_eq!(stored(&setup).await.len(), 8);
}

#[tokio::test]
async fn old_ones_are_stored_and_not_answered_and_young_ones_are_owed_an_answer() {
    let setup = setup().await;
    let contact = setup.fixture.other_contact();
    let memory = &setup.world.providers.memory;
    memory.keep(kept(&setup, &contact.address, "OLD", 2 * 3600));
    memory.keep(kept(&setup, &contact.address, "YOUNG", 600));
    assert_eq!(ask(&setup, 3 * 3600).await.missed, 2);
    settle(&setup).await;
    let messages = stored(&setup).await;
    assert_eq!(
        [messages[0].unanswered, messages[1].unanswered],
        [Some(Reason::Stale), None]
    );
    let turns = setup
        .world
        .queues
        .receive_messages(QueueName::Turns, 10, Duration::from_secs(60));
    assert!(turns.await.unwrap().is_empty(), "the debounce comes first");
    setup.pass(60);
    let turns = setup
        .world
        .queues
        .receive_messages(QueueName::Turns, 10, Duration::from_secs(60));
    assert_eq!(turns.await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_preview_tells_what_would_be_answered_and_stores_nothing() {
    let setup = setup().await;
    let contact = setup.fixture.other_contact();
    let memory = &setup.world.providers.memory;
    let old = kept(&setup, &contact.address, "OLD", 2 * 3600);
    let own = kept(&setup, &contact.address, "OWN", 700);
    let young = kept(&setup, &contact.address, "YOUNG", 600);
    let (oldest, newest) = (Some(old.at), Some(young.at));
    memory.keep(old);
    memory.keep(Kept { from_me: true, ..own });
    memory.keep(young);
    let since = Some(add_millis(setup.now(), -3 * 3_600_000));
    let (caller, id) = (Caller::installation(), setup.fixture.instance());
    let preview = async || succeed(preview_catch_up(&setup.world, &caller, id, since, &correlation())).await;
    let told = preview().await;
    assert_eq!((told.missed, told.known), (3, 0));
    let missed = MissedMessages {
        answerable: 1,
        too_old: 1,
        oldest,
        newest,
    };
    assert_eq!(told.preview, Some(missed));
    assert_eq!(preview().await, told, "a preview makes nothing known");
    let inbound = setup
        .world
        .queues
        .receive_messages(QueueName::Inbound, 10, Duration::from_secs(60));
    assert!(inbound.await.unwrap().is_empty());
    let done = ask(&setup, 3 * 3600).await;
    assert_eq!((done.missed, done.preview), (3, None));
    let after = preview().await;
    assert_eq!((after.missed, after.known), (0, 3));
}

#[tokio::test]
async fn what_comes_in_late_while_pages_are_read_shifts_nothing_out_of_sight() {
    let setup = setup().await;
    let contact = setup.fixture.other_contact();
    let memory = &setup.world.providers.memory;
    for number in 0..6 {
        memory.keep(kept(
            &setup,
            &contact.address,
            &format!("M{number}"),
            800 - number * 10,
        ));
    }
    // Written before all others: those of page 1 move to page 2.
    memory.keep_meanwhile(kept(&setup, &contact.address, "LATE", 850));
    assert_eq!(ask(&setup, 900).await.missed, 7);
}

#[tokio::test]
async fn what_we_sent_is_known_and_its_better_status_is_taken() {
    let setup = setup().await;
    let contact = setup.fixture.other_contact();
    let reply = setup.replied_to(&contact).await;
    setup.send(&reply.conversation).await;
    let sent = stored(&setup)
        .await
        .into_iter()
        .find(|message| message.role != Role::User)
        .unwrap();
    let id = sent.provider_message_id.unwrap();
    setup.world.providers.memory.keep(Kept {
        from_me: true,
        status: Some(DeliveryStatus::Read),
        ..kept(&setup, &contact.address, &id, 0)
    });
    let done = ask(&setup, 60).await;
    assert_eq!((done.known, done.missed, done.statuses), (1, 0, 1));
    let provider = setup.fixture.bound.instance.provider;
    let key = DeliveryKey::from_provider_id(provider, &setup.fixture.external(), &id);
    let delivery = setup.world.store.find_delivery(&key).await.unwrap().unwrap();
    assert_eq!(delivery.status, Some(DeliveryStatus::Read));
    assert_eq!(ask(&setup, 60).await.statuses, 0, "it says nothing new");
}

#[tokio::test]
async fn nothing_is_fetched_from_before_the_deliveries_that_show_what_was_sent() {
    let setup = setup().await;
    let mut document = setup.fixture.document();
    document.tenants[0].retention.events = Some(RetentionPeriod::Forever);
    document.tenants[0].retention.deliveries = RetentionPeriod::Days(10);
    put_configuration(&setup.world.store, &document).await.unwrap();
    let fetch = async |days: i64| {
        let since = Some(add_millis(setup.now(), -days * 86_400_000));
        let caller = Caller::installation();
        catch_up(
            &setup.world,
            &caller,
            setup.fixture.instance(),
            since,
            &correlation(),
        )
        .await
    };
    assert!(
        fetch(9).await.is_ok(),
        "the tenant's events are known for longer than others'"
    );
    assert!(matches!(fetch(11).await, Err(CatchUpError::TooFarBack { .. })));
}

#[tokio::test]
async fn what_would_no_longer_be_known_again_is_not_asked_for() {
    let setup = setup().await;
    let since = |days: i64| Some(add_millis(setup.now(), -days * 86_400_000));
    let id = setup.fixture.instance();
    let refused = catch_up(
        &setup.world,
        &Caller::installation(),
        id,
        since(8),
        &correlation(),
    )
    .await
    .unwrap_err();
    assert!(matches!(refused, CatchUpError::TooFarBack { .. }), "{refused}");
    let refused = catch_up(
        &setup.world,
        &Caller::installation(),
        id,
        since(-1),
        &correlation(),
    )
    .await
    .unwrap_err();
    assert!(matches!(refused, CatchUpError::Ahead), "{refused}");
    assert_eq!(setup.world.providers.memory.asked(), []);
    catch_up(&setup.world, &Caller::installation(), id, None, &correlation())
        .await
        .unwrap();
    let (span, _) = setup.world.providers.memory.asked()[0];
    assert!(span.since > add_millis(setup.now(), -7 * 86_400_000));
}

#[tokio::test]
async fn a_provider_that_keeps_nothing_says_so_and_one_that_fails_is_an_error() {
    let setup = setup().await;
    let memory = &setup.world.providers.memory;
    memory.fails(Some(HistoryError::NotOffered));
    assert!(!ask(&setup, 60).await.offered);
    memory.fails(Some(HistoryError::Credentials));
    let failed = catch_up(
        &setup.world,
        &Caller::installation(),
        setup.fixture.instance(),
        None,
        &correlation(),
    )
    .await;
    assert!(matches!(
        failed.unwrap_err(),
        CatchUpError::Provider(HistoryError::Credentials)
    ));
}

async fn connection(setup: &Setup, answer: ConnectionAnswer) {
    setup.world.providers.is(answer);
    let job = setup.event(EventKind::Connection, Value::Null).await;
    while setup.receive(&job, 1).await != Verdict::Done {
        setup.pass(1);
    }
}

#[tokio::test]
async fn after_a_reconnection_what_was_missed_is_fetched_by_itself_and_once() {
    let setup = setup().await;
    let contact = setup.fixture.other_contact();
    connection(&setup, ConnectionAnswer::Closed).await;
    let closed = setup.now();
    setup.pass(1800);
    setup
        .world
        .providers
        .memory
        .keep(kept(&setup, &contact.address, "MISSED", 900));
    connection(&setup, ConnectionAnswer::Open).await;
    assert_eq!(setup.world.providers.memory.asked(), [], "no event waits for it");
    setup.pass(70);
    reconcile(&setup.world).await.unwrap();
    settle(&setup).await;
    assert_eq!(texts(&stored(&setup).await), ["text of MISSED"]);
    let asked = setup.world.providers.memory.asked();
    assert!(asked[0].0.since <= closed && asked[0].0.since >= add_millis(closed, -700_000));
    let after = state(&setup).await;
    assert_eq!(
        (after.connection, after.catch_up_from),
        (ConnectionStatus::Open, None)
    );
    for _ in 0..30 {
        setup.pass(60);
        reconcile(&setup.world).await.unwrap();
    }
    assert_eq!(setup.world.providers.memory.asked().len(), asked.len());
}

#[tokio::test]
async fn a_catch_up_that_fails_is_tried_again_a_quarter_of_an_hour_later() {
    let setup = setup().await;
    connection(&setup, ConnectionAnswer::Closed).await;
    setup.pass(600);
    connection(&setup, ConnectionAnswer::Open).await;
    let memory = &setup.world.providers.memory;
    memory.fails(Some(HistoryError::Unavailable { why: "time-out" }));
    let mut asked = Vec::new();
    for minute in 1..=20 {
        setup.pass(60);
        reconcile(&setup.world).await.unwrap();
        if memory.asked().len() > asked.len() {
            asked.push(minute);
        }
    }
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert!(asked[1] - asked[0] >= 15, "{asked:?}");
    assert!(state(&setup).await.catch_up_from.is_some());
    memory.fails(None);
    for _ in 0..20 {
        setup.pass(60);
        reconcile(&setup.world).await.unwrap();
    }
    assert_eq!(state(&setup).await.catch_up_from, None);
}

#[tokio::test]
async fn an_instance_that_is_silent_against_its_custom_is_caught_up_with() {
    let setup = setup().await;
    let contact = setup.fixture.other_contact();
    for look in 0..36 {
        setup.message(&contact, &format!("M{look}"), "Oi", false).await;
        reconcile(&setup.world).await.unwrap();
        setup.pass(300);
    }
    assert_eq!(setup.world.providers.memory.asked(), [], "while messages come");
    // The same hours of the next day.
    setup.pass(21 * 3600);
    setup
        .world
        .providers
        .memory
        .keep(kept(&setup, &contact.address, "LOST", 60));
    let mut looks = Vec::new();
    for look in 0..36 {
        reconcile(&setup.world).await.unwrap();
        settle(&setup).await;
        if setup.world.providers.memory.asked().len() > looks.len() {
            looks.push(look);
        }
        setup.pass(300);
    }
    assert!(texts(&stored(&setup).await).contains(&"text of LOST".to_owned()));
    assert!(!looks.is_empty());
    assert!(looks.windows(2).all(|pair| pair[1] - pair[0] >= 3), "{looks:?}");
}

#[tokio::test]
async fn an_instance_that_is_not_configured_has_no_history() {
    let setup = setup().await;
    let nobody = recado_domain::ids::InstanceId::parse("ninguem").unwrap();
    let refused = catch_up(
        &setup.world,
        &Caller::installation(),
        &nobody,
        None,
        &correlation(),
    )
    .await
    .unwrap_err();
    assert!(matches!(refused, CatchUpError::NotFound));
}

/// How far 130 messages of one contact are fetched, written while the instance was closed, one in so many seconds.
async fn fetched(seconds: i64) -> Vec<u64> {
    let setup = setup().await;
    let contact = setup.fixture.other_contact();
    connection(&setup, ConnectionAnswer::Closed).await;
    setup.pass(4_000);
    for number in 0..130 {
        let id = format!("M{number}");
        let memory = &setup.world.providers.memory;
        memory.keep(kept(&setup, &contact.address, &id, 3_900 - number * seconds));
    }
    connection(&setup, ConnectionAnswer::Open).await;
    let mut fetched = Vec::new();
    for _ in 0..40 {
        setup.pass(60);
        reconcile(&setup.world).await.unwrap();
        settle(&setup).await;
        let latest = succeed(setup.world.store.find_latest_conversation(&contact.thread())).await;
        fetched.extend(latest.map(|latest| latest.last.0));
        fetched.dedup();
    }
    fetched
}

#[tokio::test]
async fn what_is_more_than_one_catch_up_may_read_is_fetched_by_the_next() {
    // 40 pages, and a quarter of an hour later the rest.
    assert_eq!(Box::pin(fetched(30)).await, [118, 130]);
}

/// A catch-up continues a minute before the place where the last one ended.
#[tokio::test]
async fn many_messages_of_a_few_minutes_are_fetched_to_the_last() {
    assert_eq!(Box::pin(fetched(1)).await, [118, 130]);
}

#[tokio::test]
async fn who_asks_for_many_messages_of_a_few_minutes_gets_to_the_last_by_asking_on() {
    let setup = setup().await;
    let contact = setup.fixture.other_contact();
    for number in 0..700 {
        let id = format!("M{number}");
        let memory = &setup.world.providers.memory;
        memory.keep(kept(&setup, &contact.address, &id, 1_000 - number / 2));
    }
    let (mut since, mut missed) = (Some(add_millis(setup.now(), -1_000_000)), Vec::new());
    while since.is_some() && missed.len() < 5 {
        let id = setup.fixture.instance();
        let part = catch_up(&setup.world, &Caller::installation(), id, since, &correlation())
            .await
            .unwrap();
        missed.push(part.missed);
        since = part.next.filter(|_| part.more);
    }
    // 200 pages of three, the oldest of which has one only; then the rest.
    assert_eq!(missed, [598, 102]);
}

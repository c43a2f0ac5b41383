//! Instances, agents and tenants that are disabled, and what is removed from the configuration.

use crate::batches;
use crate::world::Setup;
use jiff::SignedDuration;
use recado_alerts::health;
use recado_configuration::{
    ApplyOptions, AskedParties, ConfigurationChangeKind, ConfigureError, apply_configuration,
};
use recado_domain::access::Caller;
use recado_domain::content::Content;
use recado_domain::event::{EventKind, FollowUpJob};
use recado_domain::options::SendOptions;
use recado_domain::reason::Reason;
use recado_domain::scheduled::{ScheduledId, ScheduledState};
use recado_pipeline::catch_up::CatchUpError;
use recado_pipeline::ports::{ConversationFilter, Conversations, Inbox, OutboxStore, PageRequest};
use recado_pipeline::reconcile::reconcile;
use recado_pipeline::records::configuration::{
    find_config_by_external, load_configuration, put_configuration,
};
use recado_pipeline::records::dead_letters::count_dead_letters;
use recado_pipeline::records::scheduled_messages::find_scheduled_by_id;
use recado_pipeline::{NotSendable, Verdict, catch_up};
use recado_sends::{DeliverError, DeliverRequest, accept_message};
use recado_testkit::builders::{Fixture, correlation};
use recado_testkit::ports::succeed;
use serde_json::json;

const PRUNE: ApplyOptions = ApplyOptions {
    prune: true,
    dry_run: false,
    force: false,
    asks: AskedParties::Nobody,
};

const FORCED: ApplyOptions = ApplyOptions {
    prune: true,
    dry_run: false,
    force: true,
    asks: AskedParties::Nobody,
};

async fn setup() -> Setup {
    let setup = Setup::set(Fixture::new()).await;
    *setup.world.llm.says.lock().unwrap() = Some("Olá!".to_owned());
    setup
}

/// Changes the configuration of the setup's own fixture.
async fn configure(setup: &Setup, change: impl FnOnce(&mut Fixture)) {
    let mut fixture = setup.fixture.clone();
    change(&mut fixture);
    succeed(put_configuration(&setup.world.store, &fixture.document())).await;
}

#[tokio::test]
async fn the_events_of_a_disabled_instance_or_tenant_are_acknowledged_and_ignored() {
    for tenant in [false, true] {
        let setup = setup().await;
        configure(&setup, |fixture| {
            fixture.bound.instance.disabled = !tenant;
            fixture.bound.tenant.disabled = tenant;
        })
        .await;
        let address = setup.fixture.address.as_str();
        let payload = json!({"address": address, "id": "W1", "text": "oi", "from_me": false});
        let job = setup.event(EventKind::Message, payload).await;
        assert_eq!(setup.receive(&job, 1).await, Verdict::Done);
        let store = &setup.world.store;
        let latest = succeed(store.find_latest_conversation(&setup.fixture.thread())).await;
        assert_eq!(latest, None);
        let record = succeed(store.find_event(&job.event)).await.unwrap();
        assert_eq!(record.processed.unwrap().enqueued, FollowUpJob::Ignored);
        assert_eq!(succeed(count_dead_letters(store, None)).await.count_of(None), 0);
        // The same webhook again.
        assert_eq!(setup.receive(&job, 2).await, Verdict::Done);
        let (caller, mut assessed) = (Caller::installation(), 0);
        let mut count = |_: &health::InstanceHealth| assessed += 1;
        let health = health::assess_health(&setup.world, &store.clone(), &caller, None, &mut count).await;
        assert!(health.unwrap().is_some());
        assert_eq!(assessed, 0, "it is not watched");
    }
}

#[tokio::test]
async fn a_disabled_agent_answers_nobody_and_what_comes_in_is_stored() {
    let setup = setup().await;
    configure(&setup, |fixture| fixture.bound.agent.disabled = true).await;
    setup.message(&setup.fixture, "W1", "oi", false).await;
    setup.pass(60);
    setup.turns(&setup.fixture).await;
    assert_eq!(setup.world.llm.asked.lock().unwrap().len(), 0);
    configure(&setup, |_| {}).await;
    setup.turns(&setup.fixture).await;
    assert_eq!(setup.world.llm.asked.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn what_a_disabled_instance_owes_waits_until_it_is_enabled() {
    let setup = setup().await;
    let reply = setup.replied_to(&setup.fixture).await;
    configure(&setup, |fixture| fixture.bound.instance.disabled = true).await;
    for _ in 0..3 {
        setup.pass(3_700);
        reconcile(&setup.world).await.unwrap();
        assert_ne!(setup.job(&reply.conversation).await, Verdict::Done);
    }
    assert_eq!(setup.world.providers.sent(), 0);
    let open = setup
        .world
        .store
        .list_open_messages(reply.conversation.thread_id());
    assert_eq!(succeed(open).await.len(), 1);
    configure(&setup, |_| {}).await;
    setup.send(&reply.conversation).await;
    assert_eq!(setup.world.providers.sent(), 1);
}

/// Gives the instance to the tenant of `other`.
fn give_to(other: &Fixture, fixture: &mut Fixture) {
    let (tenant, agent) = (other.bound.tenant.clone(), other.bound.agent.clone());
    fixture.bound.instance.tenant = tenant.id.clone();
    fixture.bound.instance.agent = agent.id.clone();
    (fixture.bound.tenant, fixture.bound.agent) = (tenant, agent);
}

/// The check that an instance with a history keeps its tenant ends before the instance is written: a message may come between.
#[tokio::test]
async fn a_tenant_that_gets_an_instance_neither_sees_nor_sends_what_the_one_before_owes() {
    let other = Fixture::new();
    let given_away = |fixture: &mut Fixture| give_to(&other, fixture);
    let owing_a_turn = setup().await;
    owing_a_turn
        .message(&owing_a_turn.fixture, "W1", "oi", false)
        .await;
    owing_a_turn.pass(60);
    configure(&owing_a_turn, given_away).await;
    owing_a_turn.turns(&owing_a_turn.fixture).await;
    assert_eq!(owing_a_turn.world.llm.asked.lock().unwrap().len(), 0);
    // It is given back, since the other one has no history of it.
    let (world, document) = (&owing_a_turn.world, owing_a_turn.fixture.document());
    let caller = Caller::installation();
    let applied = apply_configuration(world, &caller, document, ApplyOptions::default());
    Box::pin(applied).await.unwrap();
    owing_a_turn.turns(&owing_a_turn.fixture).await;
    assert_eq!(owing_a_turn.world.llm.asked.lock().unwrap().len(), 1);
    let owing_a_send = setup().await;
    let reply = owing_a_send.replied_to(&owing_a_send.fixture).await;
    configure(&owing_a_send, given_away).await;
    assert_ne!(owing_a_send.job(&reply.conversation).await, Verdict::Done);
    assert_eq!(owing_a_send.world.providers.sent(), 0);
    configure(&owing_a_send, |_| {}).await;
    owing_a_send.send(&reply.conversation).await;
    assert_eq!(owing_a_send.world.providers.sent(), 1);
}

/// The instance says since when it has its tenant.
#[tokio::test]
async fn an_event_that_waited_while_its_instance_changed_hands_is_ignored_and_a_later_one_is_not() {
    let (setup, other) = (setup().await, Fixture::new());
    let address = setup.fixture.address.as_str();
    let arrives = async |id: &str| {
        let payload = json!({"address": address, "id": id, "text": "oi", "from_me": false});
        setup.event(EventKind::Message, payload).await
    };
    let before = arrives("W1").await;
    setup.pass(1);
    let mut given = setup.fixture.clone();
    give_to(&other, &mut given);
    let (caller, document) = (Caller::installation(), given.document());
    let applied = apply_configuration(&setup.world, &caller, document, ApplyOptions::default());
    Box::pin(applied).await.unwrap();
    let after = arrives("W2").await;
    let store = &setup.world.store;
    assert_eq!(setup.receive(&before, 1).await, Verdict::Done);
    let record = succeed(store.find_event(&before.event)).await.unwrap();
    assert_eq!(record.reason, Some(Reason::UnknownInstance));
    let thread = setup.fixture.thread();
    assert_eq!(succeed(store.find_latest_conversation(&thread)).await, None);
    assert_eq!(succeed(count_dead_letters(store, None)).await.count_of(None), 0);
    assert_eq!(setup.receive(&after, 1).await, Verdict::Done);
    let begun = succeed(store.find_latest_conversation(&thread)).await;
    assert_eq!(begun.unwrap().tenant, other.bound.tenant.id);
}

#[tokio::test]
async fn a_reply_that_is_made_while_its_instance_changes_hands_waits() {
    let (setup, other) = (setup().await, Fixture::new());
    setup.message(&setup.fixture, "W1", "oi", false).await;
    setup.pass(60);
    let (store, mut given) = (setup.world.store.clone(), setup.fixture.clone());
    give_to(&other, &mut given);
    setup.world.llm.meanwhile.set(async move {
        succeed(put_configuration(&store, &given.document())).await;
    });
    let (conversation, _) = setup.run_turn_job(&setup.fixture, None).await;
    assert_eq!(setup.world.llm.asked.lock().unwrap().len(), 1);
    let found = succeed(setup.world.store.find_conversation(&conversation)).await;
    assert_eq!(found.unwrap().tenant, setup.fixture.bound.tenant.id);
    let _ = setup.job(&conversation).await;
    assert_eq!(setup.world.providers.sent(), 0);
    configure(&setup, |_| {}).await;
    let _ = setup.run_turn_job(&setup.fixture, None).await;
    setup.send(&conversation).await;
    assert_eq!(setup.world.providers.sent(), 1);
}

#[tokio::test]
async fn a_scheduled_message_is_given_up_if_another_tenant_has_its_instance() {
    let (setup, other) = (setup().await, Fixture::new());
    let request = DeliverRequest {
        send_at: Some(setup.now() + SignedDuration::from_hours(1)),
        ..request()
    };
    let (caller, instance) = (Caller::installation(), setup.fixture.instance());
    let accepted = accept_message(&setup.world, &caller, instance, request).await;
    let id = ScheduledId::parse(accepted.unwrap().id.as_str()).unwrap();
    configure(&setup, |fixture| give_to(&other, fixture)).await;
    setup.pass(3_601);
    reconcile(&setup.world).await.unwrap();
    let scheduled = succeed(find_scheduled_by_id(&setup.world.store, &id)).await;
    let scheduled = scheduled.unwrap().record;
    assert!(
        matches!(
            scheduled.state,
            ScheduledState::GivenUp {
                reason: Reason::UnknownInstance,
                ..
            }
        ),
        "{scheduled:?}"
    );
    let all = ConversationFilter::default();
    let page = PageRequest::first(1);
    let begun = succeed(setup.world.store.search_conversations(&all, &page)).await;
    assert_eq!(begun.items, []);
    assert_eq!(setup.world.providers.sent(), 0);
}

#[tokio::test]
async fn a_batch_waits_while_another_tenant_has_its_instance() {
    let (setup, other) = (batches::with_guests(2).await, Fixture::new());
    let taken = batches::take(&setup, batches::request(0..2, None)).await;
    let batch = taken.unwrap().batch;
    assert_eq!(batches::run(&setup, &batch.make_job(0), 1).await, Verdict::Done);
    let first = batches::message_of(&setup, &batch, 0).await;
    let (conversation, _) = first.conversation_and_ordinal().unwrap();
    configure(&setup, |fixture| give_to(&other, fixture)).await;
    setup.pass(60);
    assert_eq!(batches::run(&setup, &batch.make_job(1), 1).await, Verdict::Done);
    assert_eq!(batches::stored(&setup, &batch.id).await.expanded, 1);
    assert_ne!(setup.job(&conversation).await, Verdict::Done);
    assert_eq!(setup.world.providers.sent(), 0);
    configure(&setup, |_| {}).await;
    batches::expand(&setup, &batch.id).await;
    setup.send(&conversation).await;
    assert_eq!(setup.world.providers.sent(), 1);
}

fn request() -> DeliverRequest {
    DeliverRequest {
        to: "+5511900000001".to_owned(),
        content: Content::from_text("Olá"),
        options: SendOptions::default(),
        key: None,
        metadata: None,
        send_at: None,
        correlation: correlation(),
    }
}

#[tokio::test]
async fn nothing_is_accepted_for_a_disabled_instance() {
    let setup = setup().await;
    configure(&setup, |fixture| fixture.bound.instance.disabled = true).await;
    let refused = accept_message(
        &setup.world,
        &Caller::installation(),
        setup.fixture.instance(),
        request(),
    )
    .await;
    assert!(matches!(
        refused,
        Err(DeliverError::NotSendable(NotSendable::InstanceDisabled))
    ));
    let caught = catch_up::catch_up(
        &setup.world,
        &Caller::installation(),
        setup.fixture.instance(),
        None,
        &correlation(),
    )
    .await;
    assert!(matches!(caught, Err(CatchUpError::Disabled)));
}

/// An instance that owes a turn, one that was never used, and a document that names neither.
async fn setup_to_prune() -> (Setup, Fixture, Fixture) {
    let (setup, unused) = (setup().await, Fixture::new());
    succeed(put_configuration(&setup.world.store, &unused.document())).await;
    setup.message(&setup.fixture, "W1", "oi", false).await;
    setup.pass(60);
    (setup, unused, Fixture::new())
}

#[tokio::test]
async fn an_instance_that_owes_a_reply_is_pruned_by_force_only_and_a_preview_writes_nothing() {
    let (setup, _, wanted) = setup_to_prune().await;
    let before = succeed(load_configuration(&setup.world.store, None)).await;
    let caller = Caller::installation();
    let prune = |options| apply_configuration(&setup.world, &caller, wanted.document(), options);
    let refused = prune(PRUNE).await.unwrap_err();
    let ConfigureError::StillOwes(owed) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(owed, [(setup.fixture.instance().clone(), 1)]);
    assert_eq!(
        succeed(load_configuration(&setup.world.store, None)).await,
        before
    );
    let preview = ApplyOptions {
        dry_run: true,
        ..FORCED
    };
    let told = prune(preview).await.unwrap();
    assert_eq!(
        succeed(load_configuration(&setup.world.store, None)).await,
        before
    );
    assert_eq!(told.changes, prune(FORCED).await.unwrap().changes);
}

#[tokio::test]
async fn pruning_removes_what_was_never_used_and_disables_what_has_a_history() {
    let (setup, unused, wanted) = setup_to_prune().await;
    let caller = Caller::installation();
    let prune = |options| apply_configuration(&setup.world, &caller, wanted.document(), options);
    let done = prune(FORCED).await.unwrap();
    let changes: Vec<_> = done
        .changes
        .iter()
        .filter(|change| change.kind == "instance")
        .map(|change| (change.id.as_str(), change.what, change.conversations))
        .collect();
    let (own, unused_id) = (setup.fixture.instance(), unused.instance());
    let (created, disabled, removed) = (
        ConfigurationChangeKind::Created,
        ConfigurationChangeKind::Disabled,
        ConfigurationChangeKind::Removed,
    );
    assert_eq!(
        changes,
        [
            (wanted.instance().as_str(), created, None),
            (own.as_str(), disabled, Some(1)),
            (unused_id.as_str(), removed, Some(0)),
        ]
    );
    let stored = succeed(load_configuration(&setup.world.store, None)).await;
    assert_eq!(stored.instances.len(), 2);
    assert!(stored.instances.iter().any(|one| one.id == *own && one.disabled));
    let (agent, tenant) = (&unused.bound.agent.id, &unused.bound.tenant.id);
    assert!(!stored.agents.iter().any(|one| one.id == *agent));
    assert!(!stored.tenants.iter().any(|one| one.id == *tenant));
    // What it has stays readable, and pruning again changes nothing.
    let thread = setup.fixture.thread();
    let latest = succeed(setup.world.store.find_latest_conversation(&thread)).await;
    assert!(latest.is_some());
    let again = prune(PRUNE).await.unwrap();
    let unchanged = ConfigurationChangeKind::Unchanged;
    assert!(again.changes.iter().all(|change| change.what == unchanged));
}

#[tokio::test]
async fn a_new_instance_may_take_the_name_of_a_pruned_one() {
    let setup = setup().await;
    let mut wanted = Fixture::new();
    wanted.bound.instance.external_id = setup.fixture.bound.instance.external_id.clone();
    let plain = apply_configuration(
        &setup.world,
        &Caller::installation(),
        wanted.document(),
        ApplyOptions::default(),
    )
    .await;
    assert!(matches!(plain, Err(ConfigureError::Invalid(_))), "{plain:?}");
    apply_configuration(&setup.world, &Caller::installation(), wanted.document(), PRUNE)
        .await
        .unwrap();
    let (store, external) = (&setup.world.store, wanted.external());
    let found = succeed(find_config_by_external(
        store,
        wanted.bound.instance.provider,
        &external,
    ))
    .await;
    assert_eq!(found.unwrap().instance.id, *wanted.instance());
}

//! Published events reach the endpoints of a tenant: at least once, in order where they answer, and each endpoint apart.

use crate::interruptions::{Asks, interrupt};
use crate::world::Setup;
use async_trait::async_trait;
use futures::executor::block_on;
use recado_configuration::{ApplyOptions, apply_configuration};
use recado_domain::access::Caller;
use recado_domain::config::{Instance, WebhookEndpoint};
use recado_domain::ids::{InstanceId, TenantId};
use recado_domain::instance::{ConnectionStatus, InstanceChange};
use recado_domain::millis::add_millis;
use recado_domain::published_event::{EventCursor, PublishedEvent};
use recado_domain::webhook_endpoint::{EndpointState, FailedEvent, LeftEvent, PostError};
use recado_domain::{SignedDuration, Timestamp};
use recado_endpoints::{
    FailedChoice, handle_endpoint_job, list_due_jobs, list_jobs_of_news, list_posted_endpoints,
    post_due_events, redrive_failed_events, remove_unknown_states, replay_events, rotate_signing_secret,
    test_endpoint,
};
use recado_pipeline::Verdict;
use recado_pipeline::ports::{
    EndpointPost, EndpointPosts, LogPlace, PageRequest, PostAnswer, PublishedEvents, WriteOutcome,
};
use recado_pipeline::records::configuration::put_configuration;
use recado_pipeline::records::endpoints::{
    delete_endpoint_records, find_endpoint_state, list_endpoint_states, list_failed_events,
    save_endpoint_state,
};
use recado_pipeline::table::Versioned;
use recado_testkit::builders::{Fixture, change_instance, nonce, seen};
use recado_testkit::ports::succeed;
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// What an endpoint does with a post.
#[derive(Debug, Clone, PartialEq)]
enum Does {
    Accepts,
    Fails,
    /// It refuses the events of this instance alone.
    Refuses(InstanceId),
    /// It takes the post and never answers.
    Hangs,
    Gone,
}

/// An endpoint that keeps what it is posted: when, the event, and with how many secrets it was signed.
#[derive(Debug, Clone)]
struct StandIn {
    does: Arc<Mutex<Does>>,
    posted: Arc<Mutex<Vec<(Timestamp, PublishedEvent, usize)>>>,
    most_at_once: Arc<Mutex<(usize, usize)>>,
}

impl StandIn {
    fn new(does: Does) -> Self {
        Self {
            does: Arc::new(Mutex::new(does)),
            posted: Arc::default(),
            most_at_once: Arc::default(),
        }
    }

    fn now_does(&self, does: Does) {
        *self.does.lock().unwrap() = does;
    }

    fn count(&self) -> usize {
        self.posted.lock().unwrap().len()
    }

    /// The revisions of the states that were told of an instance, in the order in which they came.
    fn told_of(&self, instance: &InstanceId) -> Vec<String> {
        let posted = self.posted.lock().unwrap();
        let of = posted
            .iter()
            .filter(|(_, event, _)| event.instance.as_ref() == Some(instance));
        of.map(|(_, event, _)| event.id.clone()).collect()
    }
}

#[async_trait]
impl EndpointPosts for StandIn {
    async fn post_event(&self, post: EndpointPost<'_>) -> Result<PostAnswer, PostError> {
        let kept = (post.now, post.event.clone(), post.salts.len());
        self.posted.lock().unwrap().push(kept);
        {
            let mut running = self.most_at_once.lock().unwrap();
            running.0 += 1;
            running.1 = running.1.max(running.0);
        }
        tokio::task::yield_now().await;
        self.most_at_once.lock().unwrap().0 -= 1;
        let failed = || Err(PostError::Failed("it answered 500".to_owned()));
        let behaviour = self.does.lock().unwrap().clone();
        match behaviour {
            Does::Fails => failed(),
            Does::Refuses(instance) if post.event.instance == Some(instance.clone()) => failed(),
            Does::Accepts | Does::Refuses(_) => Ok(PostAnswer { status: 204 }),
            Does::Hangs => std::future::pending().await,
            Does::Gone => Err(PostError::Gone),
        }
    }
}

/// An endpoint that is removed and made again while it is posted to.
struct Replaces<'a> {
    inner: &'a StandIn,
    scene: &'a Scene,
    made: &'a Mutex<Option<EndpointState>>,
}

#[async_trait]
impl EndpointPosts for Replaces<'_> {
    async fn post_event(&self, post: EndpointPost<'_>) -> Result<PostAnswer, PostError> {
        apply(self.scene, &[]).await;
        apply(self.scene, &["crm"]).await;
        // There is nothing to post to the new one.
        assert!(!self.scene.pass(&StandIn::new(Does::Accepts), "crm").await);
        *self.made.lock().unwrap() = Some(self.scene.state("crm").await);
        self.inner.post_event(post).await
    }
}

/// A tenant with these endpoints and two instances.
struct Scene {
    setup: Setup,
    tenant: TenantId,
    instances: [InstanceId; 2],
}

fn endpoint(id: &str) -> WebhookEndpoint {
    let written = json!({"id": id, "url": "https://crm.example/hook", "kinds": ["instance.connection"]});
    serde_json::from_value(written).unwrap()
}

impl Scene {
    async fn begin(endpoints: &[&str]) -> Self {
        let mut fixture = Fixture::new();
        fixture.bound.tenant.webhooks = Some(endpoints.iter().map(|id| endpoint(id)).collect());
        let setup = Setup::set(fixture).await;
        let first = setup.fixture.bound.instance.clone();
        let second = Instance {
            id: InstanceId::parse(&format!("{}-2", first.id)).unwrap(),
            external_id: None,
            ..first.clone()
        };
        let mut document = setup.fixture.document();
        document.instances.push(second.clone());
        succeed(put_configuration(&setup.world.store, &document)).await;
        let scene = Self {
            tenant: setup.fixture.bound.tenant.id.clone(),
            instances: [first.id, second.id],
            setup,
        };
        // Each endpoint is told what comes from its first pass on.
        for id in endpoints {
            assert!(!scene.pass(&StandIn::new(Does::Fails), id).await);
        }
        scene
    }

    /// Publishes so many events of an instance.
    async fn publish(&self, instance: usize, count: usize) {
        let (store, id) = (&self.setup.world.store, &self.instances[instance]);
        for _ in 0..count {
            let state = succeed(recado_pipeline::ports::Instances::read_instance_state(store, id)).await;
            let next = match state.connection {
                ConnectionStatus::Open => ConnectionStatus::Closed,
                _ => ConnectionStatus::Open,
            };
            self.setup.world.system.pass(1);
            let change = InstanceChange::Connection(seen(next, self.setup.now(), None));
            change_instance(store, id, change).await;
        }
    }

    async fn pass(&self, posts: &dyn EndpointPosts, id: &str) -> bool {
        succeed(post_due_events(
            &self.setup.world,
            posts,
            &self.tenant,
            &endpoint(id).id,
        ))
        .await
    }

    /// Runs passes until there is nothing more to do at once.
    async fn work(&self, posts: &StandIn, id: &str) {
        for _ in 0..1_000 {
            if !self.pass(posts, id).await {
                return;
            }
        }
        panic!("passes do not end");
    }

    async fn state(&self, id: &str) -> EndpointState {
        let (store, id) = (&self.setup.world.store, endpoint(id).id);
        let found = succeed(find_endpoint_state(store, &self.tenant, &id)).await;
        found.unwrap().record
    }

    async fn failed(&self, id: &str) -> Vec<FailedEvent> {
        let page = PageRequest::first(1_000);
        let store = &self.setup.world.store;
        let id = endpoint(id).id;
        let found = succeed(list_failed_events(store, &self.tenant, &id, &page)).await;
        found.items.into_iter().map(|found| found.record).collect()
    }

    /// Lets hours pass, with passes as often as attempts may be made.
    async fn hours(&self, posts: &StandIn, id: &str, hours: i64) {
        let end = add_millis(self.setup.now(), hours * 3_600_000);
        while self.setup.now() < end {
            self.work(posts, id).await;
            let now = self.setup.now();
            let next = self.state(id).await.next_at.filter(|next| *next > now);
            let until = next.map_or(end, |next| next.min(end));
            self.setup.world.system.pass(millis_between(now, until));
        }
        self.work(posts, id).await;
    }
}

fn millis_between(from: Timestamp, to: Timestamp) -> i64 {
    to.as_millisecond() - from.as_millisecond()
}

#[tokio::test]
async fn an_endpoint_that_works_is_told_everything_once_and_each_conversations_events_in_order() {
    let scene = Scene::begin(&["crm"]).await;
    let crm = StandIn::new(Does::Accepts);
    scene.publish(0, 5).await;
    scene.publish(1, 3).await;
    scene.publish(0, 4).await;
    scene.work(&crm, "crm").await;
    assert_eq!(crm.count(), 12);
    for (instance, count) in [(0, 9), (1, 3)] {
        let told = crm.told_of(&scene.instances[instance]);
        assert_eq!(
            (told.len(), told.iter().collect::<BTreeSet<_>>().len()),
            (count, count)
        );
        let posted = crm.posted.lock().unwrap();
        let of = posted
            .iter()
            .filter(|(_, event, _)| event.instance.as_ref() == Some(&scene.instances[instance]));
        assert!(of.map(|(_, event, _)| event.at).is_sorted(), "in order");
    }
    assert_eq!(
        crm.most_at_once.lock().unwrap().1,
        2,
        "one of each instance at once"
    );
    scene.work(&crm, "crm").await;
    assert_eq!(crm.count(), 12, "and no more");
}

#[tokio::test]
async fn an_endpoint_is_told_of_nothing_that_belongs_to_another_tenant() {
    let scene = Scene::begin(&["crm"]).await;
    let (store, other) = (&scene.setup.world.store, Fixture::new());
    succeed(put_configuration(store, &other.document())).await;
    let closed = InstanceChange::Connection(seen(ConnectionStatus::Closed, scene.setup.now(), None));
    change_instance(store, other.instance(), closed).await;
    let of_other = store.list_published_events(
        Some(&other.bound.tenant.id),
        LogPlace::After(EventCursor::START),
        10,
    );
    assert_eq!(succeed(of_other).await.events.len(), 1);
    scene.publish(0, 1).await;
    let crm = StandIn::new(Does::Accepts);
    scene.work(&crm, "crm").await;
    assert_eq!((crm.count(), crm.told_of(&scene.instances[0]).len()), (1, 1));
}

#[tokio::test]
async fn one_that_fails_and_then_works_misses_nothing() {
    let scene = Scene::begin(&["crm"]).await;
    let crm = StandIn::new(Does::Fails);
    scene.publish(0, 3).await;
    scene.work(&crm, "crm").await;
    assert_eq!(crm.count(), 1, "the others wait for the first");
    scene.work(&crm, "crm").await;
    assert_eq!(crm.count(), 1, "not before the wait is over");
    scene.setup.pass(5);
    scene.publish(1, 1).await;
    scene.work(&crm, "crm").await;
    assert_eq!(
        crm.count(),
        3,
        "one more is asked about, in case the first alone is refused"
    );
    crm.now_does(Does::Accepts);
    scene.setup.pass(20);
    scene.work(&crm, "crm").await;
    let told = crm.told_of(&scene.instances[0]);
    assert_eq!(told.iter().collect::<BTreeSet<_>>().len(), 3);
    let state = scene.state("crm").await;
    assert_eq!((state.failures, state.failing_since), (0, None));
    assert!(scene.failed("crm").await.is_empty());
}

#[tokio::test]
async fn a_dead_endpoint_costs_the_others_nothing_and_is_switched_off_after_days() {
    let scene = Scene::begin(&["dead", "crm"]).await;
    let (dead, crm) = (StandIn::new(Does::Fails), StandIn::new(Does::Accepts));
    scene.publish(0, 2).await;
    scene.work(&dead, "dead").await;
    scene.work(&crm, "crm").await;
    assert_eq!((dead.count(), crm.count()), (1, 2));
    scene.hours(&dead, "dead", 27).await;
    let failed = scene.failed("dead").await;
    assert_eq!(failed.len(), 2, "given up, with their reason");
    for event in &failed {
        assert!(event.next_at.is_none() && event.error.contains("500"));
        let tried_for = event.failed_at.duration_since(event.event.at);
        assert!(tried_for.as_hours() >= 27, "{tried_for:?}");
    }
    assert!((30..45).contains(&dead.count()), "{}", dead.count());
    for _ in 0..5 {
        scene.publish(0, 1).await;
        scene.hours(&dead, "dead", 20).await;
    }
    let off = scene.state("dead").await;
    assert!(off.switched_off_at.is_some(), "{off:?}");
    let attempts = dead.count();
    scene.publish(0, 1).await;
    scene.setup.pass(7 * 3_600);
    scene.work(&dead, "dead").await;
    assert_eq!(dead.count(), attempts, "nothing is posted any more");
    scene.work(&crm, "crm").await;
    assert_eq!(crm.count(), 8);
    // Somebody mended it: it goes on where it stopped.
    dead.now_does(Does::Accepts);
    let caller = Caller::installation();
    let replayed = replay_events(&scene.setup.world, &caller, Some(&scene.tenant), "dead", None).await;
    assert!(replayed.unwrap().state.unwrap().switched_off_at.is_none());
    scene.work(&dead, "dead").await;
    assert_eq!(
        dead.count(),
        attempts + 2,
        "the event at its place, and what was published while it was switched off"
    );
    let of = (Some(&scene.tenant), "dead");
    let redriven = redrive_failed_events(&scene.setup.world, &caller, of, FailedChoice::All).await;
    assert_eq!(redriven.unwrap(), scene.failed("dead").await.len());
    scene.work(&dead, "dead").await;
    assert!(scene.failed("dead").await.is_empty());
    let told: BTreeSet<String> = dead.told_of(&scene.instances[0]).into_iter().collect();
    assert_eq!(told.len(), 8, "in the end it was told everything");
}

#[tokio::test]
async fn more_events_are_given_up_than_one_write_takes() {
    let scene = Scene::begin(&["dead"]).await;
    let dead = StandIn::new(Does::Fails);
    scene.publish(0, 50).await;
    scene.hours(&dead, "dead", 27).await;
    let failed = scene.failed("dead").await;
    assert_eq!(failed.len(), 50);
    assert!(failed.iter().all(|event| event.next_at.is_none()));
}

#[tokio::test]
async fn an_event_that_is_always_refused_holds_up_only_its_conversation_and_that_for_seconds() {
    let scene = Scene::begin(&["crm"]).await;
    let crm = StandIn::new(Does::Refuses(scene.instances[0].clone()));
    scene.publish(0, 1).await;
    for _ in 0..3 {
        scene.publish(1, 2).await;
        scene.work(&crm, "crm").await;
        scene.setup.pass(25);
    }
    assert_eq!(crm.told_of(&scene.instances[1]).len(), 6);
    assert_eq!(crm.told_of(&scene.instances[0]).len(), 3);
    let failed = scene.failed("crm").await;
    assert_eq!(failed.len(), 1);
    assert!(failed[0].next_at.is_some(), "it is tried on by itself");
    crm.now_does(Does::Accepts);
    scene.publish(0, 1).await;
    scene.work(&crm, "crm").await;
    assert_eq!(crm.told_of(&scene.instances[0]).len(), 4, "those behind it go on");
    scene.setup.pass(3_600);
    scene.work(&crm, "crm").await;
    assert_eq!(crm.told_of(&scene.instances[0]).len(), 5);
    assert!(scene.failed("crm").await.is_empty());
}

#[tokio::test]
async fn a_crash_between_a_post_and_its_note_repeats_only_what_was_under_way() {
    let scene = Scene::begin(&["crm"]).await;
    let crm = StandIn::new(Does::Accepts);
    scene.publish(0, 2).await;
    scene.work(&crm, "crm").await;
    crm.now_does(Does::Hangs);
    scene.publish(0, 2).await;
    scene.publish(1, 1).await;
    {
        // The process ends while the posts are under way: they arrived, and nothing was noted.
        let pass = scene.pass(&crm, "crm");
        let cut = tokio::time::timeout(std::time::Duration::from_millis(50), pass).await;
        assert!(cut.is_err());
    }
    assert_eq!(crm.count(), 4);
    crm.now_does(Does::Accepts);
    scene.work(&crm, "crm").await;
    assert_eq!(
        crm.count(),
        4 + 3,
        "the two that were under way again, and the last"
    );
    let told: BTreeSet<String> = crm.told_of(&scene.instances[0]).into_iter().collect();
    assert_eq!(told.len(), 4);
}

#[tokio::test]
async fn an_endpoint_that_says_it_is_gone_is_switched_off_at_once() {
    let scene = Scene::begin(&["crm"]).await;
    let crm = StandIn::new(Does::Gone);
    scene.publish(0, 1).await;
    scene.work(&crm, "crm").await;
    let state = scene.state("crm").await;
    assert!(state.switched_off_at.is_some() && state.error.unwrap().contains("410"));
}

#[tokio::test]
async fn a_replay_posts_everything_since_a_time_again() {
    let scene = Scene::begin(&["crm"]).await;
    let crm = StandIn::new(Does::Accepts);
    scene.publish(0, 2).await;
    scene.setup.pass(60);
    let since = scene.setup.now();
    scene.publish(0, 3).await;
    scene.work(&crm, "crm").await;
    let caller = Caller::installation();
    let named = Some(&scene.tenant);
    replay_events(&scene.setup.world, &caller, named, "crm", Some(since))
        .await
        .unwrap();
    scene.work(&crm, "crm").await;
    assert_eq!(crm.count(), 5 + 3);
}

#[tokio::test]
async fn posts_are_signed_with_both_secrets_while_one_is_rotated_and_a_test_is_too() {
    let scene = Scene::begin(&["crm"]).await;
    let crm = StandIn::new(Does::Accepts);
    let (caller, named) = (Caller::installation(), Some(&scene.tenant));
    let before = scene.state("crm").await.salts;
    let overlap = recado_domain::SignedDuration::from_hours(1);
    let rotated = rotate_signing_secret(&scene.setup.world, &caller, named, "crm", overlap).await;
    let salts = rotated.unwrap().state.unwrap().salts;
    assert_ne!(salts.current, before.current);
    let (event, answer) = test_endpoint(&scene.setup.world, &caller, &crm, named, "crm")
        .await
        .unwrap();
    assert_eq!(answer, Ok(PostAnswer { status: 204 }));
    assert_eq!(event.kind.as_str(), "webhook.test");
    scene.setup.pass(3_600);
    scene.publish(0, 1).await;
    scene.work(&crm, "crm").await;
    let signed: Vec<usize> = crm
        .posted
        .lock()
        .unwrap()
        .iter()
        .map(|(_, _, salts)| *salts)
        .collect();
    assert_eq!(signed, [2, 1]);
}

#[tokio::test]
async fn what_is_known_of_an_endpoint_goes_when_a_document_removes_it() {
    let scene = Scene::begin(&["crm", "erp"]).await;
    let mut document = scene.setup.fixture.document();
    document.tenants[0].webhooks = Some(vec![endpoint("crm")]);
    let store = &scene.setup.world.store;
    succeed(put_configuration(store, &document)).await;
    let posted = succeed(list_posted_endpoints(&scene.setup.world)).await;
    assert_eq!(posted, [(scene.tenant.clone(), endpoint("crm"))]);
    succeed(remove_unknown_states(&scene.setup.world)).await;
    let left = succeed(list_endpoint_states(store, Some(&scene.tenant), 10)).await;
    let left: Vec<&str> = left.iter().map(|state| state.endpoint.as_str()).collect();
    assert_eq!(left, ["crm"]);
}

/// A document with these endpoints is applied, as a person would.
async fn apply(scene: &Scene, endpoints: &[&str]) {
    let mut document = scene.setup.fixture.document();
    document.tenants[0].webhooks = Some(endpoints.iter().map(|id| endpoint(id)).collect());
    let caller = Caller::installation();
    let world = &scene.setup.world;
    let applied = apply_configuration(world, &caller, document, ApplyOptions::default());
    Box::pin(applied).await.unwrap();
}

#[tokio::test]
async fn an_endpoint_that_documents_remove_and_add_again_begins_anew() {
    let scene = Scene::begin(&["crm"]).await;
    let crm = StandIn::new(Does::Fails);
    scene.publish(0, 2).await;
    scene.work(&crm, "crm").await;
    let before = scene.state("crm").await;
    apply(&scene, &[]).await;
    apply(&scene, &["crm"]).await;
    crm.now_does(Does::Accepts);
    let posted = crm.count();
    scene.work(&crm, "crm").await;
    assert_eq!(crm.count(), posted, "it is told nothing of before it was added");
    let after = scene.state("crm").await;
    assert_ne!(after.salts.current, before.salts.current);
    assert!(after.failing_since.is_none() && after.generation() != before.generation());
}

#[tokio::test]
async fn a_new_endpoint_is_told_what_is_published_before_its_first_pass() {
    let scene = Scene::begin(&[]).await;
    scene.publish(0, 1).await;
    apply(&scene, &["crm"]).await;
    scene.publish(0, 2).await;
    let crm = StandIn::new(Does::Accepts);
    scene.work(&crm, "crm").await;
    assert_eq!(crm.count(), 2);
}

#[tokio::test]
async fn a_pass_of_an_endpoint_that_was_removed_since_it_was_listed_leaves_nothing_behind() {
    let scene = Scene::begin(&["crm"]).await;
    apply(&scene, &[]).await;
    assert!(!scene.pass(&StandIn::new(Does::Fails), "crm").await);
    let store = &scene.setup.world.store;
    let left = succeed(list_endpoint_states(store, Some(&scene.tenant), 10)).await;
    assert_eq!(left, []);
}

#[tokio::test]
async fn an_endpoint_that_is_made_again_during_a_post_keeps_its_own_secret_and_place() {
    let scene = Scene::begin(&["crm"]).await;
    let crm = StandIn::new(Does::Fails);
    scene.publish(0, 1).await;
    let made = Mutex::new(None);
    let replacing = Replaces {
        inner: &crm,
        scene: &scene,
        made: &made,
    };
    assert!(!scene.pass(&replacing, "crm").await);
    let made = made.lock().unwrap().take().unwrap();
    assert_eq!(scene.state("crm").await, made);
    scene.publish(0, 1).await;
    crm.now_does(Does::Accepts);
    let posted = crm.count();
    scene.work(&crm, "crm").await;
    assert_eq!(crm.count(), posted + 1, "what was published since");
}

/// The process ended when the configuration was written and the records of the endpoint were not yet deleted.
#[tokio::test]
async fn what_a_crash_left_of_a_removed_endpoint_is_not_that_of_the_next_of_its_name() {
    let scene = Scene::begin(&["crm"]).await;
    let crm = StandIn::new(Does::Accepts);
    scene.publish(0, 2).await;
    let before = scene.state("crm").await;
    let mut document = scene.setup.fixture.document();
    document.tenants[0].webhooks = Some(Vec::new());
    succeed(put_configuration(&scene.setup.world.store, &document)).await;
    apply(&scene, &["crm"]).await;
    let after = scene.state("crm").await;
    assert_ne!(after.salts.current, before.salts.current);
    assert_ne!(after.generation(), before.generation());
    scene.work(&crm, "crm").await;
    assert_eq!(crm.count(), 0, "it is told nothing of before it was added");
    scene.publish(0, 1).await;
    scene.work(&crm, "crm").await;
    assert_eq!(crm.count(), 1);
}

#[tokio::test]
async fn a_pass_posts_nothing_that_failed_for_an_endpoint_that_was_made_again_since_it_began() {
    let (scene, crm) = (Scene::begin(&["crm"]).await, StandIn::new(Does::Accepts));
    let (store, yesterday) = (&scene.setup.world.store, scene.setup.now());
    scene.publish(0, 1).await;
    scene.work(&crm, "crm").await;
    let published = store.list_published_events(Some(&scene.tenant), LogPlace::After(EventCursor::START), 10);
    let logged = succeed(published).await.events.remove(0);
    scene.setup.pass(86_400);
    let id = endpoint("crm").id;
    let before = scene.state("crm").await.generation();
    let again = EndpointState::start_at(&scene.tenant, &id, logged.cursor, nonce());
    let left = LeftEvent {
        cursor: logged.cursor,
        since: yesterday,
        attempts: 3,
        is_given_up: false,
        error: "it answered 500".to_owned(),
    };
    let failed = FailedEvent::from_left(&again, left, logged.event, yesterday);
    // The pass has read the state when it reads the clock for the first time.
    let is_made = AtomicBool::new(false);
    let (other, tenant, removed) = (store.clone(), scene.tenant.clone(), id.clone());
    let world = interrupt(&scene.setup.world, move |asks| {
        if asks == Asks::Clock && !is_made.swap(true, Ordering::Relaxed) {
            block_on(async {
                succeed(delete_endpoint_records(&other, &tenant, &removed, before)).await;
                let mut made = Versioned::new(again.clone());
                let saved = save_endpoint_state(&other, &mut made, std::slice::from_ref(&failed));
                assert_eq!(succeed(saved).await, WriteOutcome::Written);
            });
        }
    });
    let posted = crm.count();
    assert!(!succeed(post_due_events(&world, &crm, &scene.tenant, &id)).await);
    assert_eq!(crm.count(), posted);
    assert!(scene.pass(&crm, "crm").await);
    assert_eq!(crm.count(), posted + 1, "by the next pass, with its own secret");
}

#[tokio::test]
async fn a_job_posts_all_that_is_due_and_comes_back_when_the_next_attempt_is() {
    let scene = Scene::begin(&["crm"]).await;
    let (world, crm) = (&scene.setup.world, StandIn::new(Does::Fails));
    scene.publish(0, 3).await;
    let tenants = [scene.tenant.clone()];
    let jobs = succeed(list_jobs_of_news(world, tenants.iter())).await;
    assert_eq!(jobs.len(), 1);
    let body = serde_json::to_string(&jobs[0]).unwrap();
    let handle = async || handle_endpoint_job(world, &crm, &body, None).await;
    let waits = SignedDuration::from_secs(5);
    assert_eq!(handle().await, Verdict::Retry { after: waits });
    assert_eq!(succeed(list_jobs_of_news(world, tenants.iter())).await, []);
    assert_eq!(succeed(list_due_jobs(world)).await, [], "its job waits");
    crm.now_does(Does::Accepts);
    world.system.pass(5_000);
    assert_eq!(
        succeed(list_due_jobs(world)).await,
        jobs,
        "should the job be lost"
    );
    assert_eq!(handle().await, Verdict::Done);
    assert_eq!(crm.count(), 4);
    assert_eq!(succeed(list_due_jobs(world)).await, []);
    assert_eq!(handle_endpoint_job(world, &crm, "{}", None).await, Verdict::Done);
}

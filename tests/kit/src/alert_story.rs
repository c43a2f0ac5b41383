//! The story of each alert: it is made to fire and to end, on a store of its own and on a clock that the story moves.

mod acknowledgement;
mod budget;
mod ending_store;
mod failing_model;
mod instances;
mod number_quality;
mod stand_ins;
mod webhooks;

pub use instances::an_instance_is_judged_by_itself;
pub use stand_ins::{StoryClock, ToldDepth};

use crate::builders::{Fixture, change_instance, far_ahead, seen};
use crate::ports::succeed;
use ending_store::EndingStore;
use recado_alerts::{AlertReport, KnownState, evaluate_alerts};
use recado_domain::alert::{AlertKind, AlertSeverity, AlertState, NotificationState};
use recado_domain::conversation::Conversation;
use recado_domain::decision::AgentDecision;
use recado_domain::instance::{ConnectionStatus, InstanceChange, TrafficProfile};
use recado_ports::ports::{
    EventChange, InboundWrite, PageRequest, PortResult, Store, StoreInboundOutcome, System, WriteOutcome,
};
use recado_ports::records::alerts::{list_ended_alerts, list_live_alerts};
use recado_ports::records::configuration::put_configuration;
use recado_ports::records::dead_letters::{put_dead_letter, remove_dead_letter};
use recado_ports::records::notifications::list_notifications;
use recado_ports::table::remove_record;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize};

/// What was told: kind, severity, and whether it begins or is over.
pub type Told = (AlertKind, AlertSeverity, AlertState);

/// An installation with one instance and one destination of alerts.
#[derive(Debug)]
pub struct AlertStory<'a, S> {
    /// The store.
    pub store: &'a S,
    /// The clock.
    pub clock: StoryClock,
    /// What waits in the queues.
    pub depth: ToldDepth,
    /// The tenant, its instance and a contact.
    pub fixture: Fixture,
    /// Free space on the disk, in bytes.
    pub disk_free: Option<u64>,
}

impl<'a, S: Store> AlertStory<'a, S> {
    /// Configures the installation, with the thresholds that there are by default.
    pub async fn begin(store: &'a S) -> Self {
        Self::begin_with(store, json!({})).await
    }

    /// Configures the installation, with these thresholds.
    async fn begin_with(store: &'a S, mut thresholds: Value) -> Self {
        let fixture = Fixture::new();
        let mut document = fixture.document();
        let webhook = json!({"url": "https://pager.example", "secret": "env:RECADO_ALERT_A"});
        thresholds["destinations"] = json!([{"id": "pager", "webhook": webhook}]);
        document.alerts = Some(serde_json::from_value(thresholds).unwrap());
        succeed(put_configuration(store, &document)).await;
        Self {
            store,
            clock: StoryClock::default(),
            depth: ToldDepth::default(),
            fixture,
            disk_free: None,
        }
    }

    /// Lets `queued` messages wait in the queues.
    pub fn queue_holds(&self, queued: u64) {
        self.depth.tell_waiting(queued);
    }

    /// Runs one pass.
    pub async fn evaluate(&self) -> PortResult<AlertReport> {
        evaluate_alerts(self.store, &self.depth, &self.clock, self.known_state()).await
    }

    fn known_state(&self) -> KnownState<'static> {
        KnownState {
            disk_free: self.disk_free,
            reading: None,
            missing_secrets: None,
        }
    }

    /// Takes what was told since the last time, as a receiver of all notifications would.
    pub async fn take_told(&self) -> Vec<Told> {
        let pending = list_notifications(self.store, None, NotificationState::Pending, 1_000);
        let mut told = Vec::new();
        for notification in succeed(pending).await {
            told.extend(
                notification
                    .record
                    .alerts
                    .iter()
                    .map(|alert| (alert.kind, alert.severity, alert.state())),
            );
            assert!(succeed(remove_record(self.store, &notification)).await);
        }
        told.sort();
        told
    }

    /// Lets a minute pass, runs a pass, and returns what it told.
    pub async fn next_minute(&self) -> Vec<Told> {
        self.clock.pass_minutes(1);
        succeed(self.evaluate()).await;
        self.take_told().await
    }

    /// Lets minutes pass of which nothing is told.
    pub async fn quiet_minutes(&self, minutes: u32) {
        for minute in 0..minutes {
            assert_eq!(self.next_minute().await, [], "minute {minute}");
        }
    }

    async fn connection_is(&self, connection: ConnectionStatus) {
        let change = InstanceChange::Connection(seen(connection, self.clock.now(), None));
        change_instance(self.store, self.fixture.instance(), change).await;
    }

    async fn disable_instance(&self, disabled: bool) {
        let mut document = self.fixture.document();
        document.instances[0].disabled = disabled;
        succeed(put_configuration(self.store, &document)).await;
    }

    /// Stores a message of the contact in a conversation that a person has.
    async fn person_owes_answer(&self) -> Conversation {
        let mut job = self.fixture.job();
        job.received_at = self.clock.now();
        let mut conversation = self.fixture.conversation(1);
        conversation.take_over();
        let _ = succeed(self.store.record_event(&job)).await;
        let message = self.fixture.inbound(&mut conversation, &job);
        let write = InboundWrite {
            event: &job.event,
            conversation: &conversation,
            message: &message,
            finish: None,
        };
        let stored = succeed(self.store.store_inbound(write)).await;
        assert_eq!(stored, StoreInboundOutcome::Stored);
        let now = self.clock.now();
        succeed(self.store.change_event(
            &job.event,
            EventChange::Apply {
                at: now,
                expires: far_ahead(),
            },
        ))
        .await;
        conversation
    }
}

const WARNING: AlertSeverity = AlertSeverity::Warning;
const CRITICAL: AlertSeverity = AlertSeverity::Critical;
const FIRING: AlertState = AlertState::Firing;
const ENDED: AlertState = AlertState::Ended;

/// Makes every alert fire and end, each told once and once when it is over.
///
/// # Panics
/// If an alert is told at another time, or twice, or not at all.
pub async fn every_alert_fires_and_ends<S: Store>(store: &S) {
    let mut scene = AlertStory::begin(store).await;
    scene.quiet_minutes(2).await;
    depth_and_gap(&scene).await;
    disconnection(&scene).await;
    dead_letters(&scene).await;
    slow_processing(&scene).await;
    silence(&scene).await;
    let answered = waiting_customer(&scene).await;
    needed_person(&scene, answered).await;
    missing_keys(&scene).await;
    failing_model::failing_model(&scene).await;
    Box::pin(acknowledgement::missing_acknowledgement(&scene)).await;
    number_quality::judged_number(&scene).await;
    budget::used_up_budget(&scene).await;
    webhooks::failing_endpoint(&scene).await;
    full_disk(&mut scene).await;
    scene.quiet_minutes(3).await;
    let live = succeed(list_live_alerts(store, None, 100)).await;
    assert_eq!(live, []);
    let kinds: BTreeSet<AlertKind> = ended_kinds(store).await.into_iter().collect();
    let expected = AlertKind::ALL.iter().copied().collect();
    assert_eq!(kinds, expected, "each kind was there");
}

async fn ended_kinds<S: Store>(store: &S) -> Vec<AlertKind> {
    let page = PageRequest::first(200);
    let ended = succeed(list_ended_alerts(store, None, &page)).await;
    ended.items.into_iter().map(|alert| alert.kind).collect()
}

/// A depth is remembered while nothing runs, and the time without a run is told.
async fn depth_and_gap<S: Store>(scene: &AlertStory<'_, S>) {
    let kind = AlertKind::QueueDepth;
    scene.queue_holds(1_001);
    scene.quiet_minutes(5).await;
    assert_eq!(
        scene.next_minute().await,
        [(kind, WARNING, FIRING), (kind, CRITICAL, FIRING)]
    );
    scene.quiet_minutes(2).await;
    scene.queue_holds(101);
    assert_eq!(scene.next_minute().await, [(kind, CRITICAL, ENDED)]);
    scene.queue_holds(100);
    assert_eq!(scene.next_minute().await, [(kind, WARNING, ENDED)]);
    scene.queue_holds(500);
    scene.quiet_minutes(1).await;
    scene.clock.pass_minutes(6);
    let gap = AlertKind::NoHeartbeat;
    assert_eq!(
        scene.next_minute().await,
        [(gap, CRITICAL, FIRING), (kind, WARNING, FIRING)],
        "the restart does not begin to count anew"
    );
    assert_eq!(scene.next_minute().await, [(gap, CRITICAL, ENDED)]);
    scene.queue_holds(0);
    assert_eq!(scene.next_minute().await, [(kind, WARNING, ENDED)]);
}

async fn disconnection<S: Store>(scene: &AlertStory<'_, S>) {
    let kind = AlertKind::Disconnected;
    scene.connection_is(ConnectionStatus::Unreachable).await;
    scene.quiet_minutes(2).await;
    scene.connection_is(ConnectionStatus::Closed).await;
    assert_eq!(scene.next_minute().await, [(kind, WARNING, FIRING)]);
    scene.quiet_minutes(7).await;
    assert_eq!(scene.next_minute().await, [(kind, CRITICAL, FIRING)]);
    scene.quiet_minutes(1).await;
    let tenant = &scene.fixture.bound.tenant.id;
    let live = succeed(list_live_alerts(scene.store, Some(tenant), 10)).await;
    assert_eq!(live.len(), 2, "they are the tenant's");
    scene.disable_instance(true).await;
    assert_eq!(
        scene.next_minute().await,
        [(kind, WARNING, ENDED), (kind, CRITICAL, ENDED)],
        "nobody wants to know of a disabled instance"
    );
    scene.quiet_minutes(1).await;
    scene.disable_instance(false).await;
    assert_eq!(
        scene.next_minute().await,
        [(kind, WARNING, FIRING), (kind, CRITICAL, FIRING)]
    );
    scene.connection_is(ConnectionStatus::Open).await;
    assert_eq!(
        scene.next_minute().await,
        [(kind, WARNING, ENDED), (kind, CRITICAL, ENDED)]
    );
}

async fn dead_letters<S: Store>(scene: &AlertStory<'_, S>) {
    let kind = AlertKind::DeadLetters;
    let dead: Vec<_> = (0..51).map(|_| scene.fixture.dead_letter()).collect();
    let put = async |range: Range<usize>| {
        for one in &dead[range] {
            succeed(put_dead_letter(scene.store, one)).await;
        }
    };
    put(0..10).await;
    scene.quiet_minutes(1).await;
    put(10..50).await;
    let both = |severity, state| [(kind, severity, state); 2];
    let told = scene.next_minute().await;
    assert_eq!(
        told,
        both(WARNING, FIRING),
        "the installation's and its instance's"
    );
    put(50..51).await;
    assert_eq!(scene.next_minute().await, both(CRITICAL, FIRING));
    for one in &dead {
        assert!(succeed(remove_dead_letter(scene.store, &one.id, one.at)).await);
    }
    let told = scene.next_minute().await;
    assert_eq!(told, [both(WARNING, ENDED), both(CRITICAL, ENDED)].concat());
}

async fn slow_processing<S: Store>(scene: &AlertStory<'_, S>) {
    let kind = AlertKind::SlowProcessing;
    let mut job = scene.fixture.job();
    job.received_at = scene.clock.now();
    let _ = succeed(scene.store.record_event(&job)).await;
    scene.quiet_minutes(5).await;
    let mut told = scene.next_minute().await;
    if told.is_empty() {
        // The first look after it came is either one that knows it from the look before, or not yet.
        told = scene.next_minute().await;
    }
    assert_eq!(told, [(kind, WARNING, FIRING)]);
    let now = scene.clock.now();
    succeed(scene.store.change_event(
        &job.event,
        EventChange::Apply {
            at: now,
            expires: far_ahead(),
        },
    ))
    .await;
    assert_eq!(scene.next_minute().await, [(kind, WARNING, ENDED)]);
}

async fn silence<S: Store>(scene: &AlertStory<'_, S>) {
    let kind = AlertKind::SilentInstance;
    let silent = |since: Option<i64>| {
        let pattern: TrafficProfile = serde_json::from_value(json!({ "silent_since": since })).unwrap();
        InstanceChange::Traffic(pattern)
    };
    let since = scene.clock.now().as_millisecond();
    change_instance(scene.store, scene.fixture.instance(), silent(Some(since))).await;
    assert_eq!(scene.next_minute().await, [(kind, WARNING, FIRING)]);
    scene.quiet_minutes(1).await;
    change_instance(scene.store, scene.fixture.instance(), silent(None)).await;
    assert_eq!(scene.next_minute().await, [(kind, WARNING, ENDED)]);
}

async fn waiting_customer<S: Store>(scene: &AlertStory<'_, S>) -> Conversation {
    let kind = AlertKind::CustomerWaits;
    let mut conversation = scene.person_owes_answer().await;
    scene.quiet_minutes(60).await;
    assert_eq!(scene.next_minute().await, [(kind, WARNING, FIRING)]);
    scene.quiet_minutes(2).await;
    conversation.record_operator_answer(conversation.last, true, scene.clock.now());
    conversation.rev += 1;
    let written = succeed(scene.store.update_conversation(&conversation, &[])).await;
    assert_eq!(written, WriteOutcome::Written);
    assert_eq!(scene.next_minute().await, [(kind, WARNING, ENDED)]);
    conversation
}

/// The agent hands over a conversation that it has again, and a person takes it.
async fn needed_person<S: Store>(scene: &AlertStory<'_, S>, mut conversation: Conversation) {
    let kind = AlertKind::PersonNeeded;
    let save = async |conversation: &mut Conversation| {
        conversation.rev += 1;
        let written = succeed(scene.store.update_conversation(conversation, &[])).await;
        assert_eq!(written, WriteOutcome::Written);
    };
    conversation.give_back_to_agent(conversation.last, scene.clock.now());
    let note = "asks for a person".to_owned();
    let decision = AgentDecision::HandOver { note };
    conversation.apply_decision(None, Some(&decision), scene.clock.now());
    save(&mut conversation).await;
    assert_eq!(scene.next_minute().await, [(kind, WARNING, FIRING)], "at once");
    scene.quiet_minutes(2).await;
    conversation.take_over();
    save(&mut conversation).await;
    assert_eq!(scene.next_minute().await, [(kind, WARNING, ENDED)]);
}

async fn missing_keys<S: Store>(scene: &AlertStory<'_, S>) {
    let kind = AlertKind::MissingKey;
    scene.connection_is(ConnectionStatus::NeedsCredentials).await;
    assert_eq!(scene.next_minute().await, [(kind, CRITICAL, FIRING)]);
    scene.quiet_minutes(12).await;
    scene.connection_is(ConnectionStatus::Open).await;
    assert_eq!(scene.next_minute().await, [(kind, CRITICAL, ENDED)]);
    let instance = scene.fixture.instance();
    change_instance(scene.store, instance, InstanceChange::ModelKeyMissing(true)).await;
    assert_eq!(scene.next_minute().await, [(kind, CRITICAL, FIRING)]);
    change_instance(scene.store, instance, InstanceChange::ModelKeyMissing(false)).await;
    assert_eq!(scene.next_minute().await, [(kind, CRITICAL, ENDED)]);
}

async fn full_disk<S: Store>(scene: &mut AlertStory<'_, S>) {
    let kind = AlertKind::FullDisk;
    scene.disk_free = Some(500_000_000);
    scene.quiet_minutes(1).await;
    scene.disk_free = Some(499_000_000);
    assert_eq!(scene.next_minute().await, [(kind, CRITICAL, FIRING)]);
    scene.disk_free = Some(501_000_000);
    assert_eq!(scene.next_minute().await, [(kind, CRITICAL, ENDED)]);
}

/// Ends a pass at each of its calls of the store in turn, before and after the call's effect, and checks that what it
/// was to tell is told once.
///
/// # Panics
/// If an alert was told twice, or not at all.
pub async fn a_pass_may_end_at_any_step<S: Store, F: Future<Output = S>>(make: impl Fn() -> F) {
    let mut calls = 0;
    for (at_call, after) in (0..).flat_map(|call| [(call, false), (call, true)]) {
        let store = make().await;
        let scene = AlertStory::begin(&store).await;
        scene.quiet_minutes(1).await;
        for one in (0..11).map(|_| scene.fixture.dead_letter()) {
            succeed(put_dead_letter(&store, &one)).await;
        }
        let ended = EndingStore {
            inner: &store,
            calls: AtomicUsize::new(0),
            at_call,
            after,
            is_over: AtomicBool::new(false),
        };
        let pass = Box::pin(evaluate_alerts(
            &ended,
            &scene.depth,
            &scene.clock,
            scene.known_state(),
        ));
        let finished = ended.run_until_end(pass).await;
        succeed(scene.evaluate()).await;
        succeed(scene.evaluate()).await;
        let told = scene.take_told().await;
        let expected = [(AlertKind::DeadLetters, WARNING, FIRING); 2];
        assert_eq!(
            told, expected,
            "ended at call {at_call}, after its effect: {after}"
        );
        if finished {
            break;
        }
        calls = at_call + 1;
    }
    assert!(calls > 8, "the pass made {calls} calls");
}

//! The story of retention, on a store of its own and on a clock that the story moves: of two tenants' records, those go
//! whose own tenant's period is over, and what is still owed stays.

mod beside;

use crate::builders::{BASE, Fixture, accepted, claimed, identity_key};
use crate::contract::given;
use crate::idle::Idle;
use crate::kept_queues::{KeptQueues, KillPoint};
use crate::ports::succeed;
use crate::stored_file::{GivenFile, store_message_file};
use async_trait::async_trait;
use beside::{LeftBeside, RecordsBeside, link_delivery};
use jiff::Timestamp;
use recado_domain::config::ConfigDocument;
use recado_domain::content::{Content, Media, MediaKind};
use recado_domain::conversation::Conversation;
use recado_domain::dead_letter::DeadLetter;
use recado_domain::event::{EventState, InboundJob};
use recado_domain::file_text::FileTextSource;
use recado_domain::ids::{ConversationId, EventId, Ordinal};
use recado_domain::message::{Message, MessageFile};
use recado_domain::millis::add_millis;
use recado_domain::retention::{RetentionPeriod, RetentionPolicy};
use recado_features::FEATURES;
use recado_pipeline::reconcile::reconcile;
use recado_pipeline::{Components, Settings, Verdict, process};
use recado_ports::ports::{DeliveryLink, EventChange, Files, RecordEventOutcome, Store, System};
use recado_ports::records::configuration::put_configuration;
use recado_ports::records::dead_letters::find_dead_letter;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

const DAY_MS: i64 = 86_400_000;

/// What is said in the recording.
const TRANSCRIPT: &str = "the words of the recording";

/// The clock of the story. It begins at [`BASE`].
#[derive(Debug, Clone, Default)]
pub struct RetentionClock {
    passed_ms: Arc<AtomicI64>,
    random: Arc<AtomicU64>,
}

#[async_trait]
impl System for RetentionClock {
    fn now(&self) -> Timestamp {
        add_millis(BASE, self.passed_ms.load(Ordering::SeqCst))
    }

    fn random_u64(&self) -> u64 {
        self.random.fetch_add(1, Ordering::SeqCst)
    }

    async fn sleep(&self, duration: Duration) {
        let milliseconds = i64::try_from(duration.as_millis()).unwrap();
        self.passed_ms.fetch_add(milliseconds, Ordering::SeqCst);
    }
}

/// The records of one tenant, all of the beginning of the story.
struct Records {
    /// A conversation in which everything was answered and sent.
    answered: ConversationId,
    /// A conversation whose message waits for its answer.
    owed: ConversationId,
    /// The dead letter of an event, and one of nobody.
    dead_letter: DeadLetter,
    of_nobody: DeadLetter,
    applied: InboundJob,
    pending: InboundJob,
    /// The key of the file in `answered`, whose record has a transcript.
    file: String,
    beside: RecordsBeside,
}

/// The records of a tenant that there still are.
#[derive(Debug, PartialEq, Eq)]
struct Left {
    messages: usize,
    conversation: bool,
    owed: usize,
    dead_letter: bool,
    of_nobody: bool,
    applied: bool,
    pending: bool,
    transcript: bool,
    file: bool,
    beside: LeftBeside,
}

impl Left {
    /// Everything of the beginning.
    const ALL: Self = Self {
        messages: 2,
        conversation: true,
        owed: 1,
        dead_letter: true,
        of_nobody: true,
        applied: true,
        pending: true,
        transcript: true,
        file: true,
        beside: LeftBeside::ALL,
    };
}

struct Story<S> {
    deps: Components<S, KeptQueues<RetentionClock>, Idle, Idle, RetentionClock>,
}

impl<S: Store + Clone + 'static> Story<S> {
    fn new(store: S, clock: RetentionClock) -> Self {
        Self {
            deps: Components::new(
                store,
                KeptQueues::new(clock.clone(), KillPoint::default(), KillPoint::default()),
                Idle,
                Idle,
                clock,
                &FEATURES,
                Settings::default(),
            ),
        }
    }

    /// Configures a tenant with this policy, and stores its records.
    async fn store_records(&self, policy: RetentionPolicy) -> Records {
        let store = &self.deps.store;
        let mut fixture = Fixture::new();
        fixture.bound.tenant.retention = policy;
        let document: ConfigDocument = fixture.document();
        succeed(put_configuration(store, &document)).await;
        let owed = given::begun(store, &fixture).await.id;
        let (answered, delivery) = self.answer_contact(&fixture.other_contact()).await;
        let beside = self.store_beside(&fixture, delivery).await;
        let file = self.store_recording(&answered, &policy).await;
        let dead_letter = self.store_dead_letter(&fixture, true).await;
        let of_nobody = self.store_dead_letter(&fixture, false).await;
        let (applied, pending) = (fixture.job(), fixture.job());
        for job in [&applied, &pending] {
            assert_eq!(succeed(store.record_event(job)).await, RecordEventOutcome::New);
        }
        let body = serde_json::to_string(&applied).unwrap();
        assert_eq!(process::process(&self.deps, &body, 1).await, Verdict::Done);
        Records {
            answered,
            owed,
            dead_letter,
            of_nobody,
            applied,
            pending,
            file,
            beside,
        }
    }

    /// The contact's message is a recording, whose bytes and transcript are stored. Returns the key of the bytes.
    async fn store_recording(&self, conversation: &ConversationId, policy: &RetentionPolicy) -> String {
        let store = &self.deps.store;
        let mut messages = succeed(store.list_messages_after(conversation, Ordinal(0), 1)).await;
        let mut message = messages.remove(0);
        message.content = Content::Media(Media {
            source: Some("4712".to_owned()),
            ..Media::from_kind(MediaKind::Voice)
        });
        message.file = MessageFile::expect_from_content(&message.content, BASE);
        let given = GivenFile {
            bytes: "recorded bytes",
            source: FileTextSource::Transcript,
            text: TRANSCRIPT,
        };
        let mut stored = store_message_file(store, &self.deps.queues, message, given, BASE).await;
        stored.file.as_mut().unwrap().kept_until = policy.file_end(BASE);
        stored.rev += 1;
        given::assert_written(store.update_closed_message(&stored, None)).await;
        stored.file_key().unwrap()
    }

    /// A contact writes, and the agent's reply is sent. Returns the conversation and the delivery of the reply.
    async fn answer_contact(&self, fixture: &Fixture) -> (ConversationId, DeliveryLink) {
        let store = &self.deps.store;
        let mut conversation: Conversation = given::begun(store, fixture).await;
        let reply: Message = given::replied(store, fixture, &mut conversation).await;
        let (sending, flight) = claimed(&reply);
        given::claim(store, &sending, &flight).await;
        let sent = accepted(&sending);
        let link = link_delivery(fixture, &sent, &fixture.bound.tenant.retention);
        given::assert_written(store.settle_message(&sent, Some(&flight), Some(&link), None)).await;
        (conversation.id, link)
    }

    async fn store_dead_letter(&self, fixture: &Fixture, is_of_tenant: bool) -> DeadLetter {
        let store = &self.deps.store;
        let job = fixture.job();
        succeed(store.record_event(&job)).await;
        let mut dead_letter = fixture.dead_letter_of(&job, BASE);
        if !is_of_tenant {
            (dead_letter.tenant, dead_letter.instance) = (None, None);
        }
        let settled = store.change_event(
            &job.event,
            EventChange::GiveUp {
                dead_letter: &dead_letter,
                expires: BASE,
            },
        );
        assert!(succeed(settled).await);
        dead_letter
    }

    /// The clock goes to the hour after the midnight that follows that day, in which everything has its turn once. Returns how many
    /// messages were deleted, and how many dead letters were given up.
    async fn sweep_after(&self, day: i64) -> (usize, usize) {
        let begin = BASE.as_millisecond();
        let midnight = (begin + (day + 1) * DAY_MS).div_euclid(DAY_MS) * DAY_MS;
        let (mut expired, mut given_up) = (0, 0);
        for quarter in 0..4 {
            let passed = midnight + quarter * 900_000 - begin;
            self.deps.system.passed_ms.store(passed, Ordering::SeqCst);
            let done = reconcile(&self.deps).await.unwrap();
            assert_eq!(done.failed, 0, "on day {day}");
            expired += done.count_of("expired");
            given_up += done.count_of("given_up");
        }
        (expired, given_up)
    }

    async fn left_of(&self, records: &Records) -> Left {
        let store = &self.deps.store;
        let messages = async |id| {
            succeed(store.list_messages_after(id, Ordinal(0), 100))
                .await
                .len()
        };
        let is_there = async |job: &InboundJob| {
            let found = succeed(store.find_event(&job.event)).await;
            assert!(found.as_ref().is_none_or(|found| found.state != EventState::Dead));
            // An expired event counts as new.
            found.is_some() && succeed(store.record_event(job)).await != RecordEventOutcome::New
        };
        let found = succeed(store.list_messages_after(&records.answered, Ordinal(0), 100)).await;
        let stored = serde_json::to_string(&found).unwrap();
        let letter = async |id: &str| succeed(find_dead_letter(store, id)).await.is_some();
        Left {
            messages: messages(&records.answered).await,
            conversation: succeed(store.find_conversation(&records.answered))
                .await
                .is_some(),
            owed: messages(&records.owed).await,
            dead_letter: letter(&records.dead_letter.id).await,
            of_nobody: letter(&records.of_nobody.id).await,
            applied: is_there(&records.applied).await,
            pending: is_there(&records.pending).await,
            transcript: stored.contains(TRANSCRIPT),
            file: succeed(self.deps.queues.open_file(&records.file)).await.is_some(),
            beside: self.left_beside(&records.beside).await,
        }
    }
}

fn days(days: u32) -> RetentionPeriod {
    RetentionPeriod::Days(days)
}

/// Each tenant's records go by its own periods, and what is owed stays.
pub async fn each_tenants_records_go_by_its_own_periods<S: Store + Clone + 'static>(
    store: S,
    clock: RetentionClock,
) {
    let world = Story::new(store, clock);
    succeed(world.deps.store.keep_identity_key(&identity_key)).await;
    let brief = RetentionPolicy {
        messages: days(30),
        conversations: Some(days(60)),
        dead_letters: days(40),
        events: Some(days(10)),
        media: Some(days(15)),
        deliveries: days(20),
        usage: Some(days(35)),
        ..RetentionPolicy::default()
    };
    let for_ever = RetentionPolicy {
        messages: RetentionPeriod::Forever,
        conversations: None,
        dead_letters: RetentionPeriod::Forever,
        events: Some(RetentionPeriod::Forever),
        deliveries: RetentionPeriod::Forever,
        usage: Some(RetentionPeriod::Forever),
        ..RetentionPolicy::default()
    };
    let (brief, for_ever) = (
        world.store_records(brief).await,
        world.store_records(for_ever).await,
    );
    expect_first_month(&world, &brief).await;
    expect_later_months(&world, &brief).await;
    let kept = world.left_of(&for_ever).await;
    assert_eq!(
        kept,
        Left {
            of_nobody: false,
            ..Left::ALL
        }
    );
}

/// Lets 30 days pass over the records of a tenant with brief periods.
async fn expect_first_month<S: Store + Clone + 'static>(world: &Story<S>, brief: &Records) {
    assert_eq!(world.left_of(brief).await, Left::ALL);
    world.sweep_after(9).await;
    assert_eq!(
        world.left_of(brief).await,
        Left {
            applied: true,
            ..Left::ALL
        }
    );
    world.sweep_after(11).await;
    let left = world.left_of(brief).await;
    assert!(!left.applied, "the event's own period is over");
    world.sweep_after(14).await;
    assert!(world.left_of(brief).await.file);
    world.sweep_after(19).await;
    let left = world.left_of(brief).await;
    assert_eq!(
        (left.file, left.transcript, left.messages),
        (false, true, 2),
        "its words stay"
    );
    assert_eq!(left.beside, LeftBeside::ALL);
    world.sweep_after(21).await;
    let left = world.left_of(brief).await.beside;
    assert_eq!(
        left,
        LeftBeside {
            delivery: false,
            ..LeftBeside::ALL
        }
    );
    let swept = world.sweep_after(30).await;
    // The question whose reply was sent and that reply, and the one whose reply is still to be sent.
    assert_eq!(swept, (3, 0));
    let left = world.left_of(brief).await;
    let used = LeftBeside {
        delivery: false,
        used: true,
        guest: false,
        invitation: false,
    };
    assert_eq!(left.beside, used, "guests and invitations are kept as messages");
    assert_eq!((left.messages, left.conversation, left.owed), (0, true, 1));
    assert!(!left.transcript && !left.file, "they go with their message");
}

/// Lets the years after that pass, too.
async fn expect_later_months<S: Store + Clone + 'static>(world: &Story<S>, brief: &Records) {
    assert_eq!(world.sweep_after(41).await.1, 1);
    let left = world.left_of(brief).await;
    assert!(!left.beside.used, "sums have a period of their own");
    assert_eq!(
        (left.dead_letter, left.of_nobody, left.conversation),
        (false, true, true)
    );
    let given_up = succeed(world.deps.store.find_event(&event_of(&brief.dead_letter))).await;
    assert!(
        given_up.is_none_or(|event| event.state == EventState::Applied),
        "nobody redrives it"
    );
    for day in [50, 59] {
        world.sweep_after(day).await;
        assert!(world.left_of(brief).await.conversation, "on day {day}");
    }
    world.sweep_after(68).await;
    assert!(!world.left_of(brief).await.conversation);
    assert_eq!(world.sweep_after(91).await.1, 2, "those of nobody");
    world.sweep_after(4_000).await;
    let left = world.left_of(brief).await;
    assert_eq!((left.owed, left.pending), (1, true), "what is owed stays");
}

fn event_of(dead_letter: &DeadLetter) -> EventId {
    EventId::parse(&dead_letter.id).unwrap()
}

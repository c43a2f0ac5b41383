//! The story of an erasure: a contact with something in every kind of record, queue and file, which is then erased, or whose
//! tenant is removed. Whoever tells the story looks for the canaries, in all bytes that are stored.

use crate::builders::{Fixture, accepted, claimed, correlation, far_ahead, identity_key};
use crate::contract::given;
use crate::idle::Idle;
use crate::ports::succeed;
use jiff::Timestamp;
use recado_domain::access::Caller;
use recado_domain::content::{Content, Media, MediaKind};
use recado_domain::dead_letter::{DeadLetter, DeadLetterContent};
use recado_domain::delivery::{DeliveryKey, DeliveryStatus, StatusUpdate};
use recado_domain::event::{EventKind, EventPayload, InboundJob, derive_event_id};
use recado_domain::ids::{IdempotencyKey, ThreadId};
use recado_domain::millis::add_millis;
use recado_domain::options::SendOptions;
use recado_domain::reason::Reason;
use recado_pipeline::contacts::{ContactQuery, EraseReport, erase_contact, find_contact};
use recado_pipeline::deliver::{self, DeliverRequest};
use recado_pipeline::ports::{
    DeadLetterQueues, Files, InboundEntry, Queues, RecordEventOutcome, Store, System,
};
use recado_pipeline::tenant_removal::{RemovalOptions, remove_tenant};
use recado_pipeline::{Components, RetryLock, Settings, Verdict, process, upload};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

const NUMBER: &str = "5511987650001@s.whatsapp.net";
const IDENTITY: &str = "998877665544332@lid";
const OTHER: &str = "5511987650002@s.whatsapp.net";

/// What belongs to the contact, in every spelling that is stored or sent.
pub const CANARIES: [&str; 8] = [
    "5511987650001",
    "551187650001",
    "998877665544332",
    "Canaria Silva",
    "segredo-canario",
    "WAMID-CANARIO",
    "Q0FOQVJJTy1CWVRFUw", // the bytes "CANARIO-BYTES" of an upload
    "pedido-do-canario",
];

/// What belongs to another contact of the same tenant.
pub const OTHERS: [&str; 3] = ["5511987650002", "Outra Pessoa", "palavras-alheias"];

/// Lists which of `texts` are in `stored`.
pub fn list_found<'a>(texts: &[&'a str], stored: &str) -> Vec<&'a str> {
    texts
        .iter()
        .copied()
        .filter(|text| stored.contains(text))
        .collect()
}

/// The clock of the story. It begins far ahead, so that no store takes a record for expired, and a wait moves it.
#[derive(Debug, Clone, Default)]
pub struct ErasureClock {
    passed_ms: Arc<AtomicI64>,
    random: Arc<AtomicU64>,
}

impl System for ErasureClock {
    fn now(&self) -> Timestamp {
        add_millis(far_ahead(), self.passed_ms.load(Ordering::SeqCst))
    }

    fn random_u64(&self) -> u64 {
        self.random.fetch_add(1, Ordering::SeqCst)
    }

    async fn sleep(&self, duration: Duration) {
        let milliseconds = i64::try_from(duration.as_millis()).unwrap();
        self.passed_ms.fetch_add(milliseconds, Ordering::SeqCst);
    }
}

/// A tenant with the contact that is to be erased, and another one.
#[derive(Debug)]
pub struct ErasureSite<S, Q> {
    deps: Components<S, Q, Idle, Idle, ErasureClock>,
    fixture: Fixture,
}

impl<S: Store, Q: Queues + DeadLetterQueues + Files> ErasureSite<S, Q> {
    /// Fills the store and the queues.
    pub async fn live(store: S, queues: Q, clock: ErasureClock) -> Self {
        let site = Self {
            deps: Components {
                store,
                queues,
                providers: Idle,
                llm: Idle,
                system: clock,
                settings: Settings::default(),
                retry_lock: RetryLock::default(),
            },
            fixture: Fixture::new(),
        };
        let store = &site.deps.store;
        succeed(store.put_identity_key_if_absent(&identity_key())).await;
        succeed(store.apply_configuration(&site.fixture.document())).await;
        site.write(OTHER, None, "Outra Pessoa", ("B1", "palavras-alheias"))
            .await;
        for (number, address, also) in [(1, IDENTITY, None), (2, NUMBER, Some(IDENTITY))] {
            let (id, text) = (
                format!("WAMID-CANARIO-{number}"),
                format!("segredo-canario {number}"),
            );
            site.write(address, also, "Canaria Silva", (&id, &text)).await;
        }
        let text = Content::from_text("segredo-canario 3");
        site.order("+55 11 98765-0001", text, Some("pedido-do-canario"), false)
            .await;
        site.send_open_message().await;
        site.leave_events().await;
        let picture = site.upload().await;
        site.order(
            "5511987650001",
            picture.clone(),
            Some("pedido-do-canario-2"),
            true,
        )
        .await;
        site.order("551187650001", picture, None, false).await;
        site
    }

    fn job(&self, address: &str, also: Option<&str>, name: &str, (id, text): (&str, &str)) -> InboundJob {
        let (provider, external) = (self.fixture.bound.instance.provider, self.fixture.external());
        let payload = json!({"address": address, "also": also, "name": name, "id": id, "text": text});
        InboundJob {
            event: derive_event_id(provider, &external, EventKind::Message, id),
            group: identity_key().derive_event_group(provider, &external, Some(address)),
            received_at: self.deps.system.now(),
            payload: EventPayload::Inline(payload),
            ..self.fixture.job()
        }
    }

    async fn record(&self, job: &InboundJob) {
        let recorded = succeed(self.deps.store.record_event(job)).await;
        assert_eq!(recorded, RecordEventOutcome::New);
    }

    /// A message of a contact comes and is processed.
    async fn write(&self, address: &str, also: Option<&str>, name: &str, message: (&str, &str)) {
        let job = self.job(address, also, name, message);
        self.record(&job).await;
        let body = serde_json::to_string(&job).unwrap();
        assert_eq!(self.process(&body).await, Verdict::Done);
    }

    /// Processes a queue message of the inbound queue, as the processor does.
    pub async fn process(&self, body: &str) -> Verdict {
        process::process(&self.deps, body, 1).await
    }

    /// A client orders a message, for now or for tomorrow.
    async fn order(&self, to: &str, content: Content, key: Option<&str>, later: bool) {
        let request = DeliverRequest {
            to: to.to_owned(),
            content,
            options: SendOptions::default(),
            key: key.map(|key| IdempotencyKey::parse(key).unwrap()),
            metadata: None,
            send_at: later.then(|| add_millis(self.deps.system.now(), 86_400_000)),
            correlation: correlation(),
        };
        let (caller, instance) = (Caller::installation(), self.fixture.instance());
        deliver::accept_message(&self.deps, &caller, instance, request)
            .await
            .unwrap();
    }

    async fn upload(&self) -> Content {
        let caller = Caller::installation();
        let stored = upload::store_upload(
            &self.deps,
            &caller,
            self.fixture.instance(),
            "image/png".to_owned(),
            Some("Canaria Silva.png".to_owned()),
            b"CANARIO-BYTES",
        );
        Content::Media(Media {
            source: succeed(stored).await,
            caption: Some("segredo-canario".to_owned()),
            ..Media::from_kind(MediaKind::Image)
        })
    }

    fn thread(&self) -> ThreadId {
        identity_key().derive_thread_id(self.fixture.instance(), NUMBER)
    }

    /// The provider accepts the message that is open, and tells that it was read.
    async fn send_open_message(&self) {
        let store = &self.deps.store;
        let open = succeed(store.list_open_messages(&self.thread())).await;
        let (sending, flight) = claimed(&open[0]);
        given::claim(store, &sending, &flight).await;
        let mut sent = accepted(&sending);
        sent.provider_message_id = Some("WAMID-CANARIO-4".to_owned());
        given::assert_written(store.settle_message(&sent, Some(&flight), None, None)).await;
        let (provider, external) = (self.fixture.bound.instance.provider, self.fixture.external());
        let read = StatusUpdate {
            key: DeliveryKey::from_provider_id(provider, &external, "WAMID-CANARIO-4"),
            status: DeliveryStatus::Read,
            at: self.deps.system.now(),
            provider_message_id: Some("WAMID-CANARIO-4".to_owned()),
            detail: None,
        };
        succeed(store.record_status(&read, far_ahead())).await;
    }

    /// Events that are not applied: in the queue, with a large body, and given up.
    async fn leave_events(&self) {
        let (store, queues) = (&self.deps.store, &self.deps.queues);
        let event = |id, text| self.job(NUMBER, None, "Canaria Silva", (id, text));
        let waiting = event("WAMID-CANARIO-5", "segredo-canario 5");
        let mut large = event("WAMID-CANARIO-6", "segredo-canario 6");
        let key = large.event.to_string();
        if let EventPayload::Inline(body) = &large.payload {
            succeed(queues.put_payload(&key, body)).await;
        }
        large.payload = EventPayload::Stored(key);
        let dead = event("WAMID-CANARIO-7", "segredo-canario 7");
        for job in [&waiting, &large, &dead] {
            self.record(job).await;
        }
        let entry = |job: &InboundJob| InboundEntry {
            job: job.clone(),
            deduplication: job.event.to_string(),
        };
        succeed(queues.enqueue_inbound(&[entry(&waiting), entry(&large)])).await;
        let now = self.deps.system.now();
        let letter = DeadLetter {
            id: dead.event.to_string(),
            at: now,
            what: DeadLetterContent::Event(Box::new(dead.clone())),
            ..self.fixture.dead_letter()
        };
        succeed(queues.enqueue_dead_copy(&letter)).await;
        succeed(store.settle_event(&dead.event, Some(Reason::Poison), now, far_ahead())).await;
        succeed(store.put_dead_letter(&letter)).await;
    }

    fn query(&self) -> ContactQuery {
        ContactQuery {
            tenant: self.fixture.bound.tenant.id.clone(),
            instance: None,
            contact: NUMBER.to_owned(),
        }
    }

    /// Erases the contact, by one request.
    pub async fn erase(&self) -> EraseReport {
        erase_contact(&self.deps, &Caller::installation(), &self.query())
            .await
            .unwrap()
    }

    /// Asserts that tombstones alone are found of the contact.
    pub async fn assert_only_tombstones(&self) {
        let found = find_contact(&self.deps, &Caller::installation(), &self.query())
            .await
            .unwrap();
        let conversations: Vec<_> = found.iter().flat_map(|contact| &contact.conversations).collect();
        assert!(!conversations.is_empty(), "the tombstone stays");
        assert!(conversations.iter().all(|found| found.erased_at.is_some()));
        assert!(found.iter().all(|contact| contact.names.is_empty()));
    }

    /// Removes the tenant, by as many requests as it takes.
    pub async fn remove_tenant(&self) {
        let options = RemovalOptions {
            force: true,
            dry_run: false,
        };
        let (caller, tenant) = (Caller::installation(), &self.fixture.bound.tenant.id);
        for _ in 0..100 {
            let report = remove_tenant(&self.deps, &caller, tenant, options).await.unwrap();
            if report.done {
                return;
            }
            if let Some(until) = report.waits_until {
                let wait = until.duration_since(self.deps.system.now()).unsigned_abs();
                self.deps.system.sleep(wait).await;
            }
        }
        panic!("the removal does not end");
    }

    /// Returns the id of the tenant.
    pub fn tenant(&self) -> &str {
        self.fixture.bound.tenant.id.as_str()
    }
}

//! The story of an erasure: a contact with something in every kind of record, queue and file, which is then erased, or whose
//! tenant is removed, and another tenant to whom the same person wrote. Whoever tells the story looks for the canaries, in all
//! bytes that are stored.

mod beside;
mod clock;
mod kept;
mod requests;

use crate::builders::{Fixture, accepted, claimed, correlation, far_ahead, identity_key};
use crate::contract::given;
use crate::idle::Idle;
use crate::ports::succeed;
use crate::stored_file::{GivenFile, store_message_file};
use crate::stored_guest::store_opt_out;
pub use beside::{PersonBeside, store_beside};
pub use clock::ErasureClock;
use jiff::Timestamp;
use recado_domain::access::Caller;
use recado_domain::content::{Content, Media, MediaKind};
use recado_domain::dead_letter::{DeadLetter, DeadLetterContent};
use recado_domain::delivery::{DeliveryKey, DeliveryStatus, StatusUpdate};
use recado_domain::event::{EventKind, EventPayload, InboundJob, derive_event_id};
use recado_domain::file_text::FileTextSource;
use recado_domain::ids::{IdempotencyKey, Ordinal, ThreadId};
use recado_domain::millis::add_millis;
use recado_domain::options::SendOptions;
use recado_features::FEATURES;
use recado_pipeline::{Components, Settings, Verdict, process, upload};
use recado_ports::ports::{EventChange, InboundEntry, QueuePorts, RecordEventOutcome, Store, System};
use recado_ports::records::configuration::put_configuration;
use recado_sends::DeliverRequest;
use serde_json::json;

const NUMBER: &str = "5511987650001@s.whatsapp.net";
const IDENTITY: &str = "998877665544332@lid";
const OTHER: &str = "5511987650002@s.whatsapp.net";

/// What is said in the contact's recording, and what its document reads.
const FILE_TEXTS: [&str; 2] = ["transcricao-canaria", "documento-canario"];

/// What belongs to the contact, in every spelling that is stored or sent.
pub const CANARIES: [&str; 16] = [
    "5511987650001",
    "551187650001",
    "998877665544332",
    "Canaria Silva",
    "segredo-canario",
    "WAMID-CANARIO",
    "Q0FOQVJJTy1CWVRFUw", // the bytes "CANARIO-BYTES" of an upload
    "pedido-do-canario",
    "CANARIO-GRAVADO",
    "transcricao-canaria",
    "documento-canario",
    "canaria@correio.example",
    "hospede-canaria",
    "assunto-canaria",
    "reserva-canaria",
    "nota-canaria",
];

/// What belongs to another contact of the same tenant.
pub const OTHERS: [&str; 7] = [
    "5511987650002",
    "Outra Pessoa",
    "palavras-alheias",
    "hospede-alheia",
    "assunto-alheia",
    "reserva-alheia",
    "nota-alheia",
];

/// What there is of the contact beside its messages.
pub const CANARY_BESIDE: PersonBeside<'static> = PersonBeside {
    phone: "5511987650001",
    name: "Canaria Silva",
    email: "canaria@correio.example",
    mark: "canaria",
    calendar: "agenda",
};

/// The same of the other contact of the tenant.
pub const OTHER_BESIDE: PersonBeside<'static> = PersonBeside {
    phone: "5511987650002",
    name: "Outra Pessoa",
    email: "outra@correio.example",
    mark: "alheia",
    calendar: "agenda-2",
};

/// The same of the contact at the other tenant.
const NEIGHBOUR_BESIDE: PersonBeside<'static> = PersonBeside {
    phone: "5511987650001",
    name: "Vizinha",
    email: "vizinha@correio.example",
    mark: "vizinha",
    calendar: "agenda",
};

/// What the other tenant's dead letter says.
pub const NEIGHBOURS_LETTER: &str = "carta ao vizinho";

/// Lists which of `texts` are in `stored`.
pub fn list_found<'a>(texts: &[&'a str], stored: &str) -> Vec<&'a str> {
    texts
        .iter()
        .copied()
        .filter(|text| stored.contains(text))
        .collect()
}

/// A tenant with the contact that is to be erased, and another contact; another tenant to whom the same person wrote.
#[derive(Debug)]
pub struct ErasureSite<S, Q> {
    deps: Components<S, Q, Idle, Idle, ErasureClock>,
    fixture: Fixture,
    neighbour: Fixture,
}

/// A message that somebody writes.
struct Written<'a> {
    fixture: &'a Fixture,
    address: &'a str,
    /// The identity without a number that the message shows beside the address.
    also: Option<&'a str>,
    name: &'a str,
    id: &'a str,
    text: &'a str,
    /// The kind of its file.
    file: Option<&'a str>,
}

impl Written<'_> {
    fn job(&self, now: Timestamp) -> InboundJob {
        let (provider, external) = (self.fixture.bound.instance.provider, self.fixture.external());
        let payload = json!({
            "address": self.address, "also": self.also, "name": self.name, "id": self.id, "text": self.text,
            "file": self.file,
        });
        InboundJob {
            event: derive_event_id(provider, &external, EventKind::Message, self.id),
            group: identity_key().derive_event_group(provider, &external, Some(self.address)),
            received_at: now,
            payload: EventPayload::Inline(payload),
            ..self.fixture.job()
        }
    }
}

impl<S: Store + Clone + 'static, Q: QueuePorts + Clone + 'static> ErasureSite<S, Q> {
    /// Fills the store and the queues, for tenants that nobody else has.
    pub async fn live(store: S, queues: Q, clock: ErasureClock) -> Self {
        Self::over(store, queues, clock, [Fixture::new(), Fixture::new()])
            .fill()
            .await
    }

    fn over(store: S, queues: Q, clock: ErasureClock, [fixture, neighbour]: [Fixture; 2]) -> Self {
        Self {
            deps: Components::new(store, queues, Idle, Idle, clock, &FEATURES, Settings::default()),
            fixture,
            neighbour,
        }
    }

    /// Writes what there is of everybody.
    async fn fill(self) -> Self {
        let (site, store) = (&self, &self.deps.store);
        succeed(store.keep_identity_key(&identity_key)).await;
        for fixture in [&site.fixture, &site.neighbour] {
            succeed(put_configuration(store, &fixture.document())).await;
        }
        Box::pin(site.write_of_others()).await;
        for (id, text, address, also) in [
            ("WAMID-CANARIO-1", "segredo-canario 1", IDENTITY, None),
            ("WAMID-CANARIO-2", "segredo-canario 2", NUMBER, Some(IDENTITY)),
        ] {
            let written = Written {
                address,
                also,
                id,
                text,
                ..site.of_contact()
            };
            site.write(&written).await;
        }
        let (fixture, bytes) = (&site.fixture, "CANARIO-GRAVADO");
        Box::pin(site.write_files(fixture, "Canaria Silva", bytes, FILE_TEXTS)).await;
        let text = Content::from_text("segredo-canario 3");
        site.order("+55 11 98765-0001", text, Some("pedido-do-canario"), false)
            .await;
        Box::pin(site.send_open_message(NUMBER, "WAMID-CANARIO-4")).await;
        Box::pin(site.leave_events()).await;
        let picture = site.upload().await;
        site.order(
            "5511987650001",
            picture.clone(),
            Some("pedido-do-canario-2"),
            true,
        )
        .await;
        site.order("551187650001", picture, None, false).await;
        Box::pin(site.store_beside()).await;
        self
    }

    /// Stores what there is of the contact, of another contact of the tenant, and of the contact at the other tenant, beside their
    /// messages.
    async fn store_beside(&self) {
        let (store, now) = (&self.deps.store, self.deps.system.now());
        for (fixture, address, person) in [
            (&self.fixture, NUMBER, CANARY_BESIDE),
            (&self.fixture, OTHER, OTHER_BESIDE),
            (&self.neighbour, NUMBER, NEIGHBOUR_BESIDE),
        ] {
            let thread = self.find_thread(fixture, address).await;
            let latest = succeed(store.find_latest_conversation(&thread)).await.unwrap();
            store_beside(store, fixture, &latest.id, person, now).await;
        }
        store_opt_out(store, &self.fixture, IDENTITY, now).await;
    }

    fn of_contact(&self) -> Written<'_> {
        Written {
            fixture: &self.fixture,
            address: NUMBER,
            also: None,
            name: "Canaria Silva",
            id: "WAMID-CANARIO-0",
            text: "segredo-canario",
            file: None,
        }
    }

    /// Another contact of the tenant writes, and the contact itself to the other tenant, which also has a dead letter of it.
    async fn write_of_others(&self) {
        let other = Written {
            address: OTHER,
            name: "Outra Pessoa",
            id: "B1",
            text: "palavras-alheias",
            ..self.of_contact()
        };
        self.write(&other).await;
        let to_neighbour = Written {
            fixture: &self.neighbour,
            name: "Vizinha",
            id: "C1",
            text: "palavras-ao-vizinho",
            ..self.of_contact()
        };
        self.write(&to_neighbour).await;
        let texts = ["gravado ao vizinho", "documento ao vizinho"];
        self.write_files(&self.neighbour, "Vizinha", "VIZINHO-BYTES", texts)
            .await;
        let dead = Written {
            id: "C2",
            text: NEIGHBOURS_LETTER,
            ..to_neighbour
        };
        self.give_up(dead.fixture, &dead.job(self.deps.system.now()))
            .await;
    }

    async fn record(&self, job: &InboundJob) {
        let recorded = succeed(self.deps.store.record_event(job)).await;
        assert_eq!(recorded, RecordEventOutcome::New);
    }

    /// A message of a contact comes and is processed.
    async fn write(&self, written: &Written<'_>) {
        let job = written.job(self.deps.system.now());
        self.record(&job).await;
        let body = serde_json::to_string(&job).unwrap();
        self.process(&body).await;
    }

    /// The contact sends a recording and a document; their bytes and texts are stored.
    async fn write_files(&self, fixture: &Fixture, name: &str, bytes: &str, texts: [&str; 2]) {
        let sources = [FileTextSource::Transcript, FileTextSource::Document];
        for ((kind, source), text) in ["voice", "document"].into_iter().zip(sources).zip(texts) {
            let (id, caption) = (format!("{bytes}-{kind}"), format!("{text} em ficheiro"));
            let written = Written {
                fixture,
                name,
                id: &id,
                text: &caption,
                file: Some(kind),
                ..self.of_contact()
            };
            self.write(&written).await;
            let conversation = self.find_thread(fixture, NUMBER).await;
            let store = &self.deps.store;
            let latest = succeed(store.find_latest_conversation(&conversation))
                .await
                .unwrap();
            let messages = succeed(store.list_messages_after(&latest.id, Ordinal(0), 100)).await;
            let message = messages
                .into_iter()
                .find(|message| message.file.is_some() && message.rev == 0);
            let given = GivenFile { bytes, source, text };
            let now = self.deps.system.now();
            store_message_file(store, &self.deps.queues, message.unwrap(), given, now).await;
        }
    }

    /// Processes a queue message of the inbound queue, as the processor does, until it is done. The first time, an event
    /// that was erased has no body.
    pub async fn process(&self, body: &str) {
        for receives in 1..=2 {
            match Box::pin(process::process(&self.deps, body, receives)).await {
                Verdict::Done => return,
                Verdict::Retry { after } => self.deps.system.sleep(after.unsigned_abs()).await,
            }
        }
        panic!("the queue message comes for ever");
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
        let accepted = Box::pin(recado_sends::accept_message(
            &self.deps, &caller, instance, request,
        ));
        accepted.await.unwrap();
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

    /// The thread in which the messages of this address to the instance go on.
    async fn find_thread(&self, fixture: &Fixture, address: &str) -> ThreadId {
        let mut thread = identity_key().derive_thread_id(fixture.instance(), address);
        loop {
            let latest = succeed(self.deps.store.find_latest_conversation(&thread)).await;
            match latest.and_then(|latest| latest.linked.moved_to) {
                Some(moved_to) => thread = moved_to.thread_id().clone(),
                None => return thread,
            }
        }
    }

    /// The provider accepts the message that is open, and tells that it was read.
    async fn send_open_message(&self, to: &str, provider_id: &str) {
        let store = &self.deps.store;
        let open = succeed(store.list_open_messages(&self.find_thread(&self.fixture, to).await)).await;
        let (sending, flight) = claimed(&open[0]);
        given::claim(store, &sending, &flight).await;
        let mut sent = accepted(&sending);
        sent.provider_message_id = Some(provider_id.to_owned());
        given::assert_written(store.settle_message(&sent, Some(&flight), None, None)).await;
        let (provider, external) = (self.fixture.bound.instance.provider, self.fixture.external());
        let read = StatusUpdate {
            key: DeliveryKey::from_provider_id(provider, &external, provider_id),
            status: DeliveryStatus::Read,
            at: self.deps.system.now(),
            provider_message_id: Some(provider_id.to_owned()),
            detail: None,
        };
        succeed(store.record_status(&read, far_ahead(), None)).await;
    }

    /// Events that are not applied: in the queue, with a large body, and given up.
    async fn leave_events(&self) {
        let queues = &self.deps.queues;
        let event = |id, text| {
            let written = Written {
                id,
                text,
                ..self.of_contact()
            };
            written.job(self.deps.system.now())
        };
        let waiting = event("WAMID-CANARIO-5", "segredo-canario 5");
        let mut large = event("WAMID-CANARIO-6", "segredo-canario 6");
        let key = large.event.to_string();
        if let EventPayload::Inline(body) = &large.payload {
            succeed(queues.put_payload(&key, body)).await;
        }
        large.payload = EventPayload::Stored(key);
        for job in [&waiting, &large] {
            self.record(job).await;
        }
        let entry = |job: &InboundJob| InboundEntry {
            job: job.clone(),
            deduplication: job.event.to_string(),
        };
        succeed(queues.enqueue_inbound(&[entry(&waiting), entry(&large)])).await;
        self.give_up(&self.fixture, &event("WAMID-CANARIO-7", "segredo-canario 7"))
            .await;
    }

    /// An event becomes a dead letter, with its copy in the dead-letter queue.
    async fn give_up(&self, fixture: &Fixture, job: &InboundJob) {
        let (store, now) = (&self.deps.store, self.deps.system.now());
        self.record(job).await;
        let letter = DeadLetter {
            id: job.event.to_string(),
            at: now,
            what: DeadLetterContent::Event(Box::new(job.clone())),
            ..fixture.dead_letter()
        };
        succeed(self.deps.queues.enqueue_dead_copy(&letter)).await;
        succeed(store.change_event(
            &job.event,
            EventChange::GiveUp {
                dead_letter: &letter,
                expires: far_ahead(),
            },
        ))
        .await;
    }
}

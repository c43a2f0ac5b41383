//! An erased contact is nowhere: not in a record, a queue, a file of the data folder or its free pages, whenever the
//! erasure was cut off before. The folder's raw bytes are searched.

use crate::world::Setup;
use futures::future::FutureExt;
use recado_contacts::{ContactError, ContactQuery, EraseReport, erase_contact, export_contact, find_contact};
use recado_domain::access::Caller;
use recado_domain::config::{ConfigDocument, ConfigRemoval, EntryRef};
use recado_domain::contact::ContactAddress;
use recado_domain::content::{Content, Media, MediaKind};
use recado_domain::dead_letter::{DeadLetter, DeadLetterContent, QueueName};
use recado_domain::delivery::{Delivery, DeliveryKey, DeliveryStatus, StatusUpdate};
use recado_domain::event::{EventKind, EventPayload, InboundJob, derive_event_id};
use recado_domain::file_text::FileTextSource;
use recado_domain::ids::{ConversationId, IdempotencyKey, Ordinal, ThreadId};
use recado_domain::invitations::write_invitation_id;
use recado_domain::millis::add_millis;
use recado_domain::options::SendOptions;
use recado_domain::provider::Provider;
use recado_domain::reason::Reason;
use recado_embedded::Embedded;
use recado_occasions::OccasionRequestError;
use recado_pipeline::ports::{
    Conversations, EventChange, InboundEntry, Inbox, OutboxStore, PageRequest, Queues, RecordRemoval,
    SendOutcome,
};
use recado_pipeline::records::audit::{AuditFilter, list_audit};
use recado_pipeline::records::configuration::{put_configuration, remove_configuration};
use recado_pipeline::records::dead_letters::{find_dead_letter, put_dead_letter};
use recado_pipeline::records::invitations::{begin_invitation, find_invitation};
use recado_pipeline::records::opt_outs::list_opt_outs;
use recado_pipeline::records::scheduled_messages::list_pending_scheduled;
use recado_pipeline::table::Versioned;
use recado_pipeline::{Verdict, upload};
use recado_sends::DeliverRequest;
use recado_testkit::builders::{Fixture, correlation, far_ahead, fresh, identity_key};
use recado_testkit::erasure_story::{CANARY_BESIDE, OTHER_BESIDE, store_beside};
use recado_testkit::ports::succeed;
use recado_testkit::stored_effect::{count_held_cells, half_hour, read_journal, store_booking};
use recado_testkit::stored_file::{GivenFile, store_message_file};
use recado_testkit::stored_guest::{GivenGuest, store_invited_guest, store_opt_out};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Wake, Waker};

pub(crate) use recado_testkit::erasure_story::{CANARIES, OTHERS};

pub(crate) const NUMBER: &str = "5511987650001@s.whatsapp.net";
pub(crate) const IDENTITY: &str = "998877665544332@lid";

pub(crate) struct Site {
    pub(crate) setup: Setup,
    pub(crate) folder: PathBuf,
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Site {
    pub(crate) async fn open() -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(fresh("erasure"));
        let place = folder.clone();
        let setup = Setup::set_on(Fixture::new(), |clock| {
            Embedded::open_folder(&place, clock).unwrap()
        })
        .await;
        Self { setup, folder }
    }

    fn query(&self, contact: &str) -> ContactQuery {
        ContactQuery {
            tenant: self.setup.fixture.bound.tenant.id.clone(),
            instance: None,
            contact: contact.to_owned(),
        }
    }

    pub(crate) async fn erase(&self, contact: &str) -> EraseReport {
        erase_contact(&self.setup.world, &Caller::installation(), &self.query(contact))
            .await
            .unwrap()
    }

    /// Which of `texts` stand in the bytes of any file of the data folder, and in which.
    pub(crate) fn search(&self, texts: &[&str]) -> Vec<String> {
        let mut files = vec![self.folder.clone()];
        let mut found = Vec::new();
        while let Some(path) = files.pop() {
            if path.is_dir() {
                files.extend(
                    std::fs::read_dir(&path)
                        .unwrap()
                        .map(|entry| entry.unwrap().path()),
                );
                continue;
            }
            let bytes = std::fs::read(&path).unwrap();
            let holds = |text: &&&str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            found.extend(texts.iter().filter(holds).map(|text| format!("{text} in {name}")));
        }
        found
    }

    fn assert_erased(&self) {
        let found = self.search(&CANARIES);
        assert!(found.is_empty(), "{found:?}");
        for other in OTHERS {
            assert!(!self.search(&[other]).is_empty(), "{other} must stay");
        }
    }

    async fn inbound(
        &self,
        address: &str,
        also: Option<&str>,
        name: &str,
        id: &str,
        text: &str,
    ) -> InboundJob {
        let payload = json!({
            "address": address, "also": also, "name": name, "id": id, "text": text, "from_me": false,
        });
        self.record_payload(address, id, payload).await
    }

    async fn record_payload(&self, address: &str, id: &str, payload: Value) -> InboundJob {
        let (fixture, external) = (&self.setup.fixture, self.setup.fixture.external());
        let provider = fixture.bound.instance.provider;
        let job = InboundJob {
            event: derive_event_id(provider, &external, EventKind::Message, id),
            group: identity_key().derive_event_group(provider, &external, Some(address)),
            received_at: self.setup.now(),
            payload: EventPayload::Inline(payload),
            ..fixture.job()
        };
        succeed(self.setup.world.store.record_event(&job)).await;
        job
    }

    /// A message of the contact is recorded in its own group, and processed.
    pub(crate) async fn process_message(
        &self,
        address: &str,
        also: Option<&str>,
        name: &str,
        id: &str,
        text: &str,
    ) {
        let job = self.inbound(address, also, name, id, text).await;
        assert_eq!(self.setup.receive(&job, 1).await, Verdict::Done);
    }

    /// The contact writes to two more instances of the tenant, one of another provider: by its number, which nothing there links to
    /// its identity.
    async fn write_on_other_instances(&self) -> Vec<ThreadId> {
        let (setup, store) = (&self.setup, &self.setup.world.store);
        let mut written = Vec::new();
        for (provider, address) in [
            (setup.fixture.bound.instance.provider, NUMBER),
            (Provider::Meta, "5511987650001"),
        ] {
            let mut other = Fixture::on(provider);
            other.bound.instance.tenant = setup.fixture.bound.tenant.id.clone();
            other.bound.instance.agent = setup.fixture.bound.agent.id.clone();
            let document = ConfigDocument {
                instances: vec![other.bound.instance.clone()],
                ..ConfigDocument::default()
            };
            succeed(put_configuration(store, &document)).await;
            let (external, id) = (other.external(), fresh("other"));
            let payload = json!({
                "address": address, "name": "Canaria Silva", "id": id, "text": "palavras na outra", "from_me": false,
            });
            let job = InboundJob {
                event: derive_event_id(provider, &external, EventKind::Message, &id),
                group: identity_key().derive_event_group(provider, &external, Some(address)),
                received_at: setup.now(),
                payload: EventPayload::Inline(payload),
                ..other.job()
            };
            succeed(store.record_event(&job)).await;
            assert_eq!(setup.receive(&job, 1).await, Verdict::Done);
            written.push(identity_key().derive_thread_id(other.instance(), address));
        }
        written
    }

    /// The conversation in which the messages of this address go on.
    pub(crate) async fn conversation(&self, address: &str) -> ConversationId {
        let mut thread = identity_key().derive_thread_id(self.setup.fixture.instance(), address);
        loop {
            let latest = succeed(self.setup.world.store.find_latest_conversation(&thread)).await;
            let latest = latest.unwrap();
            match latest.linked.moved_to {
                Some(moved_to) => thread = moved_to.thread_id().clone(),
                None => return latest.id,
            }
        }
    }

    pub(crate) async fn client_sends(&self, to: &str, content: Content, key: Option<&str>, later: bool) {
        let send = DeliverRequest {
            to: to.to_owned(),
            content,
            options: SendOptions::default(),
            key: key.map(|key| IdempotencyKey::parse(key).unwrap()),
            metadata: None,
            send_at: later.then(|| add_millis(self.setup.now(), 86_400_000)),
            correlation: correlation(),
        };
        let accepted = recado_sends::accept_message(
            &self.setup.world,
            &Caller::installation(),
            self.setup.fixture.instance(),
            send,
        )
        .await;
        accepted.unwrap();
    }

    async fn uploads(&self) -> Content {
        let (instance, caller) = (self.setup.fixture.instance(), Caller::installation());
        let stored = upload::store_upload(
            &self.setup.world,
            &caller,
            instance,
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

    /// A contact in two threads, with something in every kind of record, queue and file; and somebody else.
    pub(crate) async fn live() -> Self {
        // Boxed: a test's future may not be large.
        Box::pin(Self::filled()).await
    }

    async fn filled() -> Self {
        let site = Self::open().await;
        let (setup, store) = (&site.setup, &site.setup.world.store);
        site.process_message(
            "5511987650002@s.whatsapp.net",
            None,
            "Outra Pessoa",
            "B1",
            "palavras-alheias",
        )
        .await;
        site.process_message(
            IDENTITY,
            None,
            "Canaria Silva",
            "WAMID-CANARIO-1",
            "segredo-canario 1",
        )
        .await;
        site.process_message(
            NUMBER,
            Some(IDENTITY),
            "Canaria Silva",
            "WAMID-CANARIO-2",
            "segredo-canario 2",
        )
        .await;
        site.recording().await;
        site.client_sends(
            "+55 11 98765-0001",
            Content::from_text("segredo-canario 3"),
            Some("pedido-do-canario"),
            false,
        )
        .await;
        setup.send(&site.conversation(NUMBER).await).await;
        site.dead_message().await;
        site.pending_and_dead_events().await;
        let picture = site.uploads().await;
        site.client_sends(
            "5511987650001",
            picture.clone(),
            Some("pedido-do-canario-2"),
            true,
        )
        .await;
        setup.times_out();
        site.client_sends("551187650001", picture, None, false).await;
        let _ = setup.job(&site.conversation(NUMBER).await).await;
        let open = succeed(store.list_open_messages(site.conversation(NUMBER).await.thread_id())).await;
        assert!(!open.is_empty(), "one is of unknown outcome");
        site.store_beside().await;
        store_opt_out(store, &setup.fixture, IDENTITY, setup.now()).await;
        site
    }

    /// Stores what there is of the contact, and of another one, beside their messages.
    async fn store_beside(&self) {
        let (store, fixture, now) = (&self.setup.world.store, &self.setup.fixture, self.setup.now());
        for person in [CANARY_BESIDE, OTHER_BESIDE] {
            let id = self
                .conversation(&format!("{}@s.whatsapp.net", person.phone))
                .await;
            store_beside(store, fixture, &id, person, now).await;
        }
    }

    /// Returns how many cells are held of a calendar of the tenant.
    async fn count_cells(&self, calendar: &str) -> usize {
        let (store, tenant) = (&self.setup.world.store, &self.setup.fixture.bound.tenant.id);
        count_held_cells(store, tenant, &half_hour(calendar)).await
    }

    /// The contact sends a recording; its bytes and its transcript are stored.
    async fn recording(&self) {
        let voice = Content::Media(Media {
            source: Some("4712".to_owned()),
            ..Media::from_kind(MediaKind::Voice)
        });
        let id = "WAMID-CANARIO-3";
        let payload = json!({
            "address": NUMBER, "name": "Canaria Silva", "id": id, "text": "", "from_me": false, "content": voice,
        });
        let job = self.record_payload(NUMBER, id, payload).await;
        assert_eq!(self.setup.receive(&job, 1).await, Verdict::Done);
        let (store, files) = (&self.setup.world.store, &self.setup.world.queues);
        let conversation = self.conversation(NUMBER).await;
        let messages = succeed(store.list_messages_after(&conversation, Ordinal(0), 100)).await;
        let message = messages.into_iter().find(|message| message.file.is_some());
        let given = GivenFile {
            bytes: "CANARIO-GRAVADO",
            source: FileTextSource::Transcript,
            text: "transcricao-canaria, documento-canario",
        };
        store_message_file(store, files, message.unwrap(), given, self.setup.now()).await;
    }

    async fn dead_message(&self) {
        self.setup.answers(SendOutcome::Permanent {
            reason: Reason::WhatsappPermanentError,
            why: "no such number".to_owned(),
        });
        self.client_sends(
            "5511987650001",
            Content::from_text("segredo-canario 4"),
            None,
            false,
        )
        .await;
        self.setup.send(&self.conversation(NUMBER).await).await;
    }

    async fn pending_and_dead_events(&self) {
        let (store, queues) = (&self.setup.world.store, &self.setup.world.queues);
        let waiting = self
            .inbound(
                NUMBER,
                None,
                "Canaria Silva",
                "WAMID-CANARIO-5",
                "segredo-canario 5",
            )
            .await;
        let key = waiting.event.to_string();
        let large = InboundJob {
            payload: EventPayload::Stored(key.clone()),
            ..self.setup.fixture.job()
        };
        let large = InboundJob {
            group: waiting.group.clone(),
            ..large
        };
        succeed(queues.put_payload(&key, &json!({"text": "segredo-canario 6", "from": NUMBER}))).await;
        succeed(store.record_event(&large)).await;
        let entry = |job: &InboundJob| InboundEntry {
            job: job.clone(),
            deduplication: job.event.to_string(),
        };
        succeed(queues.enqueue_inbound(&[entry(&waiting), entry(&large)])).await;
        let dead = self
            .inbound(
                NUMBER,
                None,
                "Canaria Silva",
                "WAMID-CANARIO-7",
                "segredo-canario 7",
            )
            .await;
        let letter = DeadLetter {
            id: dead.event.to_string(),
            at: self.setup.now(),
            what: DeadLetterContent::Event(Box::new(dead.clone())),
            ..self.setup.fixture.dead_letter()
        };
        succeed(queues.enqueue_dead_copy(&letter)).await;
        succeed(store.change_event(
            &dead.event,
            EventChange::GiveUp {
                dead_letter: &letter,
                expires: far_ahead(),
            },
        ))
        .await;
        let status = StatusUpdate {
            key: DeliveryKey::from_provider_id(dead.provider, &self.setup.fixture.external(), "P0"),
            status: DeliveryStatus::Read,
            at: self.setup.now(),
            provider_message_id: Some("WAMID-CANARIO-8".to_owned()),
            detail: None,
        };
        succeed(store.record_status(&status, far_ahead(), None)).await;
    }
}

/// Whether the work that is cut off can go on.
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

/// Polls `work` so often, each time after what it waits for is there, then drops it: what it had begun is finished, and
/// nothing more is done. Returns `true` if it ended by itself.
pub(crate) async fn cut_off<T>(work: impl Future<Output = T>, polls: usize) -> bool {
    let mut work = Box::pin(work);
    let woken = Arc::new(Woken(AtomicBool::new(true)));
    let waker = Waker::from(Arc::clone(&woken));
    for _ in 0..polls {
        while !woken.0.swap(false, Ordering::Acquire) {
            tokio::task::yield_now().await;
        }
        if work.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
            return true;
        }
    }
    false
}

#[tokio::test]
async fn an_erased_contact_stands_in_no_byte_of_the_data_folder() {
    let site = Site::live().await;
    for canary in CANARIES.iter().filter(|canary| **canary != "551187650001") {
        assert!(
            !site.search(&[canary]).is_empty(),
            "{canary} must be there before"
        );
    }
    let done = site.erase("+55 (11) 98765-0001").await;
    assert!(done.waits_until.is_none() && done.messages >= 5, "{done:?}");
    assert!(
        done.events >= 2 && done.dead_letters >= 2 && done.scheduled == 1,
        "{done:?}"
    );
    site.assert_erased();
    let left = find_contact(&site.setup.world, &Caller::installation(), &site.query(NUMBER))
        .await
        .unwrap();
    assert_eq!((left.events, left.scheduled, left.guests), (0, 0, 0));
    let left = left.contacts;
    assert_eq!(left.len(), 1);
    assert!(
        left[0]
            .conversations
            .iter()
            .all(|found| found.erased_at.is_some())
    );
    assert!(left[0].names.is_empty());
    site.setup.due_events().await;
    site.assert_erased();
}

#[tokio::test]
async fn an_erasure_by_any_spelling_or_identity_finds_the_same_person() {
    for named in ["551187650001", "5511987650001@s.whatsapp.net", IDENTITY] {
        let site = Site::live().await;
        site.erase(named).await;
        site.assert_erased();
    }
}

/// What leads to other records is deleted last, so a repeated erasure finds them.
#[tokio::test]
async fn an_erasure_that_is_cut_off_anywhere_is_finished_by_the_next_one() {
    let mut polls = 1;
    loop {
        for named in [NUMBER, IDENTITY] {
            let site = Site::live().await;
            let query = site.query(named);
            let ended = cut_off(
                erase_contact(&site.setup.world, &Caller::installation(), &query),
                polls,
            )
            .await;
            site.erase(named).await;
            site.assert_erased();
            if ended && named == IDENTITY {
                return;
            }
        }
        polls += 1;
    }
}

/// An address that one instance learnt is followed on all.
#[tokio::test]
async fn a_number_that_one_instance_learnt_is_erased_on_all_and_also_if_the_erasure_is_cut_off() {
    let mut polls = 1;
    loop {
        let site = Site::live().await;
        let others = site.write_on_other_instances().await;
        assert!(!site.search(&["palavras na outra"]).is_empty());
        let query = site.query(IDENTITY);
        let caller = Caller::installation();
        let ended = cut_off(erase_contact(&site.setup.world, &caller, &query), polls).await;
        site.erase(IDENTITY).await;
        site.assert_erased();
        assert_eq!(
            site.search(&["palavras na outra"]),
            Vec::<String>::new(),
            "{polls}"
        );
        for thread in &others {
            let latest = succeed(site.setup.world.store.find_latest_conversation(thread)).await;
            assert!(latest.unwrap().is_erased(), "{thread:?}");
        }
        if ended {
            return;
        }
        // Each step takes a site of its own: every third is enough.
        polls += 3;
    }
}

#[tokio::test]
async fn an_erased_person_is_no_guest_and_keeps_its_preference_under_a_key_alone() {
    let site = Site::live().await;
    let done = site.erase(IDENTITY).await;
    assert_eq!(done.guests, 1, "{done:?}");
    assert!(
        !site.search(&["outra@correio.example"]).is_empty(),
        "another guest stays"
    );
    let (store, tenant) = (&site.setup.world.store, &site.setup.fixture.bound.tenant.id);
    let page = PageRequest::first(10);
    let kept = succeed(list_opt_outs(store, tenant, &page)).await.items;
    let addresses: Vec<Option<&str>> = kept.iter().map(|one| one.address.as_deref()).collect();
    assert_eq!(addresses.iter().flatten().collect::<Vec<_>>(), [&"5511987650002"]);
    assert_eq!(
        (kept.len(), kept.iter().all(|one| one.is_stopped)),
        (3, true),
        "nobody is written to who wanted no messages"
    );
}

#[tokio::test]
async fn a_later_message_begins_anew() {
    let site = Site::live().await;
    let before = site.conversation(NUMBER).await;
    site.erase(NUMBER).await;
    site.process_message(NUMBER, None, "Bia", "C1", "olá de novo")
        .await;
    let after = site.conversation(NUMBER).await;
    assert_eq!(after.number_in_thread(), before.number_in_thread() + 1);
    let store = &site.setup.world.store;
    let (conversation, history) = succeed(store.find_with_history(&after, 10)).await.unwrap();
    assert_eq!((history.len(), conversation.contact.known_as), (1, None));
    *site.setup.world.llm.says.lock().unwrap() = Some("Olá!".to_owned());
    let fixture = Fixture {
        address: ContactAddress::parse(NUMBER).unwrap(),
        ..site.setup.fixture.clone()
    };
    assert_eq!(site.setup.turns(&fixture).await, after);
}

#[tokio::test]
async fn a_reply_that_is_being_written_is_not_committed() {
    let site = Site::open().await;
    site.process_message(
        "5511987650002@s.whatsapp.net",
        None,
        "Outra Pessoa",
        "B1",
        "palavras-alheias",
    )
    .await;
    site.process_message(
        NUMBER,
        None,
        "Canaria Silva",
        "WAMID-CANARIO-1",
        "segredo-canario",
    )
    .await;
    Box::pin(site.store_beside()).await;
    let fixture = Fixture {
        address: ContactAddress::parse(NUMBER).unwrap(),
        ..site.setup.fixture.clone()
    };
    let conversation = site.conversation(NUMBER).await;
    let store = &site.setup.world.store;
    let mut stale = succeed(store.find_conversation(&conversation)).await.unwrap();
    site.erase(NUMBER).await;
    *site.setup.world.llm.says.lock().unwrap() = Some("Olá, Canaria Silva".to_owned());
    let _ = site.setup.turns(&fixture).now_or_never();
    stale.rev += 1;
    let written = succeed(store.update_conversation(&stale, &[])).await;
    assert_eq!(written, recado_pipeline::ports::WriteOutcome::Conflict);
    site.assert_erased();
}

#[tokio::test]
async fn a_send_that_runs_is_waited_for() {
    let site = Site::live().await;
    let conversation = site.conversation(NUMBER).await;
    let store = &site.setup.world.store;
    site.client_sends(
        "5511987650001",
        Content::from_text("segredo-canario 9"),
        None,
        false,
    )
    .await;
    let open = succeed(store.list_open_messages(conversation.thread_id())).await;
    let queued = open.last().unwrap();
    let (mut sending, flight) = recado_testkit::builders::claimed(queued);
    let until = add_millis(site.setup.now(), 35_000);
    if let recado_domain::outbox::OutboxState::Sending { lease_until, .. } =
        &mut sending.out.as_mut().unwrap().state
    {
        *lease_until = until;
    }
    succeed(store.claim_message(&sending, None, &flight)).await;
    let done = site.erase(NUMBER).await;
    assert_eq!(done.waits_until, Some(until));
    site.setup.pass(36);
    assert_eq!(site.erase(NUMBER).await.waits_until, None);
    site.assert_erased();
}

#[tokio::test]
async fn an_export_holds_everything_and_nothing_of_others() {
    let site = Site::live().await;
    let export = export_contact(
        &site.setup.world,
        &Caller::installation(),
        &site.query(NUMBER),
        None,
    )
    .await
    .unwrap();
    let text = serde_json::to_string(&export).unwrap();
    for canary in [
        "Canaria Silva",
        "segredo-canario 1",
        "segredo-canario 3",
        "998877665544332",
        "WAMID-CANARIO-2",
        "transcricao-canaria",
        "hospede-canaria",
        "assunto-canaria",
        "reserva-canaria",
        "nota-canaria",
    ] {
        assert!(text.contains(canary), "{canary}");
    }
    // The file that came, and the one that was sent from an upload.
    assert_eq!((export.files.len(), export.message_files.len()), (1, 2));
    assert_eq!(export.instances[0].scheduled.len(), 1);
    assert_eq!(export.instances[0].journals.len(), 1);
    let events: Vec<(bool, bool)> = export.instances[0]
        .events
        .iter()
        .map(|event| (event.is_dead, event.body.is_some()))
        .collect();
    let count = |is_dead| events.iter().filter(|event| **event == (is_dead, true)).count();
    assert_eq!((count(false), count(true)), (2, 1), "{events:?}");
    for body in ["segredo-canario 5", "segredo-canario 6", "segredo-canario 7"] {
        assert!(text.contains(body), "{body}");
    }
    assert_eq!((export.guests.len(), export.guests[0].invitations.len()), (1, 2));
    assert_eq!(export.opt_outs.len(), 2, "of the number and of the identity");
    let found = find_contact(&site.setup.world, &Caller::installation(), &site.query(NUMBER))
        .await
        .unwrap();
    assert_eq!(
        (found.events, found.scheduled, found.guests, found.opt_outs),
        (3, 1, 1, 2)
    );
    for other in OTHERS {
        assert!(!text.contains(other), "{other}");
    }
}

#[tokio::test]
async fn a_guest_without_a_number_is_deleted_with_every_byte() {
    let site = Site::open().await;
    let (store, fixture) = (&site.setup.world.store, &site.setup.fixture);
    let given = GivenGuest {
        id: None,
        occasion: "party",
        phone: None,
        name: "Canaria Silva",
        email: "canaria@correio.example",
    };
    let (guest, invitation) = store_invited_guest(store, fixture, given, site.setup.now()).await;
    let (world, caller) = (&site.setup.world, Caller::installation());
    let named = (&guest.occasion, &guest.id);
    let tenant = Some(&guest.tenant);
    recado_occasions::delete_guest(world, &caller, tenant, named)
        .await
        .unwrap();
    assert_eq!(site.search(&CANARIES), Vec::<String>::new());
    let left = succeed(find_invitation(store, &guest.tenant, &invitation.id)).await;
    assert_eq!(left, None);
    let again = recado_occasions::delete_guest(world, &caller, tenant, named).await;
    assert!(
        matches!(again, Err(OccasionRequestError::NotFound("guest"))),
        "{again:?}"
    );
}

#[tokio::test]
async fn a_guest_who_never_wrote_is_found_and_exported_with_every_invitation() {
    let site = Site::open().await;
    let (store, fixture) = (&site.setup.world.store, &site.setup.fixture);
    let given = GivenGuest {
        id: None,
        occasion: "party",
        phone: Some("5511987650001"),
        name: "Canaria Silva",
        email: "canaria@correio.example",
    };
    let (_, first) = store_invited_guest(store, fixture, given, site.setup.now()).await;
    for number in 1..=250 {
        let mut next = Versioned::new(first.clone());
        next.record.id = write_invitation_id(site.setup.now(), number);
        let _ = succeed(begin_invitation(store, &mut next, &[], site.setup.now())).await;
    }
    let (caller, query) = (Caller::installation(), site.query(NUMBER));
    let found = find_contact(&site.setup.world, &caller, &query).await.unwrap();
    assert!(found.contacts.is_empty() && !found.is_unknown(), "{found:?}");
    assert_eq!(found.guests, 1);
    let export = export_contact(&site.setup.world, &caller, &query, None)
        .await
        .unwrap();
    assert_eq!(export.guests[0].invitations.len(), 251);
}

#[tokio::test]
async fn a_guest_of_a_tenant_that_has_no_instance_any_more_is_erased_by_its_number() {
    let site = Site::open().await;
    let (store, fixture, now) = (&site.setup.world.store, &site.setup.fixture, site.setup.now());
    let given = GivenGuest {
        id: None,
        occasion: "party",
        phone: Some("5511987650001"),
        name: "Canaria Silva",
        email: "canaria@correio.example",
    };
    store_invited_guest(store, fixture, given, now).await;
    store_opt_out(store, fixture, "5511987650001", now).await;
    let instance = EntryRef::Instance(fixture.instance().clone());
    let removal: ConfigRemoval = [instance].into_iter().collect();
    succeed(remove_configuration(store, &removal)).await;
    let (world, caller, query) = (
        &site.setup.world,
        Caller::installation(),
        site.query("+55 11 98765-0001"),
    );
    let found = find_contact(world, &caller, &query).await.unwrap();
    assert_eq!((found.guests, found.opt_outs), (1, 1));
    let export = export_contact(world, &caller, &query, None).await.unwrap();
    assert_eq!((export.guests.len(), export.opt_outs.len()), (1, 1));
    assert_eq!(site.erase("+55 11 98765-0001").await.guests, 1);
    assert_eq!(site.search(&CANARIES), Vec::<String>::new());
    let page = PageRequest::first(10);
    let audit = succeed(list_audit(store, &AuditFilter::default(), &page)).await;
    assert_eq!(audit.items.len(), 3, "each is noted: {audit:?}");
    let wrong = find_contact(world, &caller, &site.query("nobody")).await;
    assert!(matches!(wrong, Err(ContactError::Recipient(_))), "{wrong:?}");
}

#[tokio::test]
async fn a_status_that_comes_after_the_erasure_leaves_nothing() {
    let site = Site::live().await;
    let (setup, store) = (&site.setup, &site.setup.world.store);
    let open = succeed(store.list_open_messages(site.conversation(NUMBER).await.thread_id())).await;
    let (provider, external) = (setup.fixture.bound.instance.provider, setup.fixture.external());
    let keys = [
        DeliveryKey::from_provider_id(provider, &external, "P0"),
        DeliveryKey::from_own_id(provider, &external, &open[0].message_id()),
    ];
    site.erase(NUMBER).await;
    for key in keys {
        let late = StatusUpdate {
            key: key.clone(),
            status: DeliveryStatus::Played,
            at: setup.now(),
            provider_message_id: Some("WAMID-CANARIO-9".to_owned()),
            detail: None,
        };
        succeed(store.record_status(&late, far_ahead(), None)).await;
        let erased = succeed(store.find_delivery(&key)).await;
        assert_eq!(erased, Some(Delivery::of_erased_message()));
    }
    site.assert_erased();
}

#[tokio::test]
async fn an_echo_that_comes_after_the_erasure_leaves_nothing_and_takes_nothing_over() {
    let site = Site::live().await;
    let (setup, store) = (&site.setup, &site.setup.world.store);
    let thread = site.conversation(NUMBER).await.thread_id().clone();
    site.erase(NUMBER).await;
    let echo = json!({"address": NUMBER, "id": "P0", "text": "segredo-canario 3", "from_me": true});
    let job = InboundJob {
        received_at: setup.now(),
        payload: EventPayload::Inline(echo),
        ..setup.fixture.job()
    };
    succeed(store.record_event(&job)).await;
    assert_eq!(setup.receive(&job, 1).await, Verdict::Done);
    let latest = succeed(store.find_latest_conversation(&thread)).await;
    assert!(
        latest.is_some_and(|latest| latest.is_erased()),
        "the tombstone alone"
    );
    succeed(store.overwrite_deleted()).await;
    site.assert_erased();
}

#[tokio::test]
async fn the_key_of_a_cancelled_message_tells_nothing_after_the_erasure() {
    let site = Site::live().await;
    let (setup, caller) = (&site.setup, Caller::installation());
    let later = Content::from_text("segredo-canario 10");
    site.client_sends("5511987650001", later, Some("pedido-do-canario-3"), true)
        .await;
    let (store, tenant) = (&setup.world.store, &setup.fixture.bound.tenant.id);
    let pending = succeed(list_pending_scheduled(store, tenant, setup.fixture.instance())).await;
    let scheduled = pending
        .iter()
        .find(|found| found.record.content.render_text().contains("10"));
    let id = &scheduled.unwrap().record.id;
    recado_sends::cancel_scheduled(&setup.world, &caller, id)
        .await
        .unwrap();
    site.erase(NUMBER).await;
    site.assert_erased();
}

#[tokio::test]
async fn a_large_body_goes_with_the_event_that_needed_it() {
    let site = Site::open().await;
    let (setup, queues) = (&site.setup, &site.setup.world.queues);
    for (id, disabled) in [("WAMID-CANARIO-11", false), ("WAMID-CANARIO-12", true)] {
        let mut document = setup.fixture.document();
        document.instances[0].disabled = disabled;
        succeed(put_configuration(&setup.world.store, &document)).await;
        let job = site
            .inbound(NUMBER, None, "Canaria Silva", id, "segredo-canario")
            .await;
        let EventPayload::Inline(body) = &job.payload else {
            panic!("the body is short")
        };
        let key = job.event.to_string();
        succeed(queues.put_payload(&key, body)).await;
        let large = InboundJob {
            payload: EventPayload::Stored(key.clone()),
            ..job
        };
        assert_eq!(setup.receive(&large, 1).await, Verdict::Done);
        assert_eq!(
            succeed(queues.find_payload(&key)).await,
            None,
            "disabled: {disabled}"
        );
    }
}

#[tokio::test]
async fn what_another_tenant_holds_of_the_same_person_stays() {
    let site = Site::live().await;
    let (store, queues) = (&site.setup.world.store, &site.setup.world.queues);
    let theirs = Fixture::new();
    put_configuration(store, &theirs.document()).await.unwrap();
    let external = theirs.external();
    let job = InboundJob {
        group: identity_key().derive_event_group(theirs.bound.instance.provider, &external, Some(NUMBER)),
        payload: EventPayload::Inline(json!({"address": NUMBER, "text": "palavras-do-vizinho"})),
        ..theirs.job()
    };
    let letter = DeadLetter {
        id: job.event.to_string(),
        at: site.setup.now(),
        what: DeadLetterContent::Event(Box::new(job.clone())),
        ..theirs.dead_letter()
    };
    succeed(store.record_event(&job)).await;
    succeed(queues.enqueue_dead_copy(&letter)).await;
    succeed(put_dead_letter(store, &letter)).await;
    site.erase(NUMBER).await;
    assert!(succeed(find_dead_letter(store, &letter.id)).await.is_some());
    let copies = succeed(queues.list_dead_messages(QueueName::Inbound, 100)).await;
    assert_eq!(copies.len(), 1);
    let record = succeed(store.find_event(&job.event)).await.unwrap();
    assert_eq!(record.job, job);
}

#[tokio::test]
async fn nobody_is_found_at_another_tenant_and_nothing_is_no_contact() {
    let site = Site::live().await;
    let mut query = site.query(NUMBER);
    query.tenant = recado_domain::ids::TenantId::parse("nobody").unwrap();
    assert!(
        erase_contact(&site.setup.world, &Caller::installation(), &query)
            .await
            .is_err()
    );
    let stranger = find_contact(
        &site.setup.world,
        &Caller::installation(),
        &site.query("5511900000000"),
    )
    .await
    .unwrap();
    assert!(stranger.is_unknown());
    assert!(
        find_contact(&site.setup.world, &Caller::installation(), &site.query("abc"))
            .await
            .is_err()
    );
    assert!(!site.search(&CANARIES).is_empty());
}

#[tokio::test]
async fn an_effect_that_is_under_way_is_waited_for_and_one_whose_time_is_over_is_not() {
    let site = Site::open().await;
    site.process_message(
        NUMBER,
        None,
        "Canaria Silva",
        "WAMID-CANARIO-1",
        "segredo-canario 1",
    )
    .await;
    let (store, now) = (&site.setup.world.store, site.setup.now());
    let id = site.conversation(NUMBER).await;
    let conversation = succeed(store.find_conversation(&id)).await.unwrap();
    let journal = store_booking(store, &conversation, ("agenda", "reserva-canaria"), None, now).await;
    let until = journal.entries[0].until;
    assert_eq!(site.erase(NUMBER).await.waits_until, Some(until));
    let stored = read_journal(store, &journal.tenant, &journal.thread).await;
    assert_eq!(stored, Some(journal));
    site.setup.pass(until.duration_since(now).as_secs());
    assert_eq!(site.erase(NUMBER).await.waits_until, None);
    assert_eq!(site.search(&CANARIES), Vec::<String>::new());
}

#[tokio::test]
async fn an_erased_contact_has_no_effects_and_holds_no_time_of_a_calendar() {
    let site = Site::live().await;
    assert_eq!(
        (
            site.count_cells("agenda").await,
            site.count_cells("agenda-2").await
        ),
        (2, 2)
    );
    let thread = site.conversation(NUMBER).await.thread_id().clone();
    let report = site.erase(NUMBER).await;
    if let Some(until) = report.waits_until {
        site.setup.pass(until.duration_since(site.setup.now()).as_secs());
        site.erase(NUMBER).await;
    }
    let (store, tenant) = (&site.setup.world.store, &site.setup.fixture.bound.tenant.id);
    assert_eq!(read_journal(store, tenant, &thread).await, None);
    assert_eq!(
        (
            site.count_cells("agenda").await,
            site.count_cells("agenda-2").await
        ),
        (0, 2)
    );
}

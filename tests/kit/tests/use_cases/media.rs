//! The files of contacts: fetched before the model is asked or later, stored, read, and deleted with their messages.

use crate::world::{FileAnswer, Meanwhile, Setup};
use jiff::SignedDuration;
use recado_domain::access::{Caller, Scope};
use recado_domain::content::{Content, Media, MediaKind};
use recado_domain::conversation::ConversationMode;
use recado_domain::event::EventKind;
use recado_domain::ids::TenantId;
use recado_domain::instance::DownloadBlock;
use recado_domain::message::{FileLoss, FileState, Message, StoredFile};
use recado_domain::millis::add_duration;
use recado_domain::retention::RetentionPeriod;
use recado_files::message_file;
use recado_files::message_file::FileSource;
use recado_pipeline::ports::{Conversations, Files, Instances};
use recado_pipeline::reconcile::reconcile;
use recado_pipeline::records::configuration::put_configuration;
use recado_pipeline::{Verdict, handle_turns_message};
use recado_testkit::builders::{Fixture, correlation};
use recado_testkit::ports::succeed;
use serde_json::json;
use std::sync::atomic::Ordering;

pub(crate) const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

pub(crate) fn picture() -> Content {
    Content::Media(Media {
        source: Some("4711".to_owned()),
        ..Media::from_kind(MediaKind::Image)
    })
}

pub(crate) async fn setup() -> Setup {
    let setup = Setup::set(Fixture::new()).await;
    *setup.world.llm.says.lock().unwrap() = Some("Vi.".to_owned());
    setup
}

impl Setup {
    pub(crate) fn file_comes(&self, answer: FileAnswer) {
        self.world.providers.files.lock().unwrap().push_back(answer);
    }

    pub(crate) fn files_asked(&self) -> usize {
        self.world.providers.files_asked.lock().unwrap().len()
    }

    /// The contact's newest message.
    pub(crate) async fn newest(&self) -> Message {
        let conversation = self.latest_conversation().await.unwrap();
        let messages = succeed(self.world.store.find_with_history(&conversation.id, 20)).await;
        let mut messages = messages.unwrap().1.into_iter();
        messages.rfind(|message| message.event.is_some()).unwrap()
    }

    async fn read_bytes(&self, message: &Message) -> Option<Vec<u8>> {
        let key = message.file_key().unwrap();
        let found = succeed(self.world.store.open_file(&key)).await;
        match found {
            Some(bytes) => Some(bytes.read_all().await.unwrap()),
            None => None,
        }
    }
}

#[tokio::test]
async fn a_turn_fetches_the_file_before_the_model_is_asked() {
    let setup = setup().await;
    setup.sends(&setup.fixture, "A", &picture()).await;
    assert_eq!(setup.files_asked(), 0, "not while the event is processed");
    setup.file_comes(FileAnswer::Gives(PNG, "text/html"));
    setup.turn(&setup.fixture).await;
    let message = setup.newest().await;
    let stored = StoredFile {
        mime_type: "image/png".to_owned(),
        bytes: 8,
        sha256: "4c4b6a3be1314ab86138bef4314dde022e600960d8689a2c8f8631802d20dab6".to_owned(),
        refused: None,
    };
    assert_eq!(message.file.as_ref().unwrap().stored(), Some(&stored));
    assert_eq!(setup.read_bytes(&message).await.as_deref(), Some(PNG));
    assert_eq!(setup.files_asked(), 1);
}

#[tokio::test]
async fn a_file_whose_process_was_killed_is_fetched_by_the_turn_after_the_next_start() {
    let setup = setup().await;
    setup.sends(&setup.fixture, "A", &picture()).await;
    setup.file_comes(FileAnswer::Hangs);
    {
        let mut turn = Box::pin(setup.turn(&setup.fixture));
        while setup.files_asked() == 0 {
            assert!(futures::poll!(&mut turn).is_pending());
        }
    }
    let recovered = setup.world.store.recover_after_crash().await.unwrap();
    assert_eq!(recovered.files, 1);
    setup.file_comes(FileAnswer::Gives(PNG, "image/png"));
    setup.turn(&setup.fixture).await;
    assert_eq!(setup.files_asked(), 2);
    let file = setup.newest().await.file.unwrap();
    assert!(file.stored().is_some() && !file.is_under_way, "{file:?}");
}

#[tokio::test]
async fn a_file_that_takes_too_long_does_not_hold_the_reply_up() {
    let setup = setup().await;
    setup.sends(&setup.fixture, "A", &picture()).await;
    setup.file_comes(FileAnswer::Hangs);
    let before = setup.now();
    setup.turn(&setup.fixture).await;
    assert_eq!(setup.now().duration_since(before).as_secs(), 10);
    let file = setup.newest().await.file.unwrap();
    assert!(file.next_fetch_time().is_some() && file.attempts == 1, "{file:?}");
}

#[tokio::test]
async fn the_model_has_what_the_files_leave_of_the_functions_time_and_a_turn_with_too_little_comes_back() {
    let setup = setup().await;
    setup.sends(&setup.fixture, "A", &picture()).await;
    setup.file_comes(FileAnswer::Hangs);
    setup.pass(30);
    let job = setup.due_turns().await.remove(0);
    let body = serde_json::to_string(&job).unwrap();
    let ends_in = |seconds| Some(add_duration(setup.now(), SignedDuration::from_secs(seconds)));
    let late = handle_turns_message(&setup.world, &body, 1, ends_in(8)).await;
    assert!(matches!(late, Verdict::Retry { .. }), "{late:?}");
    assert!(setup.world.llm.asked.lock().unwrap().is_empty());
    setup.file_comes(FileAnswer::Hangs);
    setup.sends(&setup.fixture, "B", &picture()).await;
    setup.pass(30);
    let job = setup.due_turns().await.remove(0);
    let body = serde_json::to_string(&job).unwrap();
    let done = handle_turns_message(&setup.world, &body, 2, ends_in(40)).await;
    assert_eq!(done, Verdict::Done);
    assert_eq!(setup.world.llm.within.lock().unwrap().as_secs(), 40 - 10 - 5);
}

#[tokio::test]
async fn a_failed_fetch_is_recorded_and_the_model_is_asked_all_the_same() {
    let setup = setup().await;
    setup.sends(&setup.fixture, "A", &picture()).await;
    setup.file_comes(FileAnswer::Fails);
    setup.turn(&setup.fixture).await;
    let file = setup.newest().await.file.unwrap();
    let wait = file.next_fetch_time().unwrap().duration_since(setup.now());
    // It is tried once more before the model is asked.
    assert_eq!((wait.as_mins(), file.attempts), (5, 2));
    assert_eq!(
        *setup.world.llm.asked.lock().unwrap(),
        ["[image] (the file has not come yet)"]
    );
}

#[tokio::test]
async fn what_will_never_come_is_asked_for_once() {
    let setup = setup().await;
    setup.sends(&setup.fixture, "A", &picture()).await;
    setup.file_comes(FileAnswer::Lost(FileLoss::Gone));
    setup.turn(&setup.fixture).await;
    let lost = FileState::Lost {
        reason: FileLoss::Gone,
    };
    assert_eq!(setup.newest().await.file.unwrap().state, lost);
    setup.message(&setup.fixture, "B", "E aí?", false).await;
    setup.turn(&setup.fixture).await;
    assert_eq!(setup.files_asked(), 1);
}

#[tokio::test]
async fn a_file_above_the_limit_is_not_stored() {
    let mut setup = setup().await;
    setup.world.deps_mut().settings_mut().file_bytes_max = 7;
    setup.sends(&setup.fixture, "A", &picture()).await;
    setup.file_comes(FileAnswer::Gives(PNG, "image/png"));
    setup.turn(&setup.fixture).await;
    let message = setup.newest().await;
    let lost = FileState::Lost {
        reason: FileLoss::TooLarge,
    };
    assert_eq!(message.file.as_ref().unwrap().state, lost);
    assert_eq!(setup.read_bytes(&message).await, None);
}

#[tokio::test]
async fn people_get_the_files_of_a_conversation_that_they_answer() {
    let setup = setup().await;
    setup.message(&setup.fixture, "A", "Oi", false).await;
    let conversation = setup.latest_conversation().await.unwrap();
    let (caller, correlation) = (Caller::installation(), correlation());
    let manual = ConversationMode::Manual;
    let taken = recado_operators::set_conversation_mode(
        &setup.world,
        &caller,
        &conversation.id,
        manual,
        &correlation,
    );
    taken.await.unwrap();
    setup.sends(&setup.fixture, "B", &picture()).await;
    setup.file_comes(FileAnswer::Gives(PNG, "image/png"));
    setup.turns(&setup.fixture).await;
    let message = setup.newest().await;
    assert_eq!(setup.read_bytes(&message).await.as_deref(), Some(PNG));
}

#[tokio::test]
async fn a_file_is_read_within_the_scope_of_its_caller_alone() {
    let setup = setup().await;
    setup.sends(&setup.fixture, "A", &picture()).await;
    let id = setup.newest().await.message_id();
    let all = Caller::installation();
    let early = succeed(message_file::open_message_file(&setup.world, &all, &id)).await;
    assert!(early.is_none(), "it is not here yet");
    setup.file_comes(FileAnswer::Gives(PNG, "image/png"));
    setup.turn(&setup.fixture).await;
    let found = succeed(message_file::open_message_file(&setup.world, &all, &id))
        .await
        .unwrap();
    assert_eq!((found.mime_type.as_str(), found.length), ("image/png", 8));
    let FileSource::Bytes(bytes) = found.source else {
        panic!("a store on one machine signs no URLs");
    };
    assert_eq!(bytes.read_all().await.unwrap(), PNG);
    let other = Caller {
        scope: Scope::Tenant(TenantId::parse("somebody-else").unwrap()),
        ..all
    };
    let foreign = succeed(message_file::open_message_file(&setup.world, &other, &id)).await;
    assert!(foreign.is_none());
}

#[tokio::test]
async fn a_file_goes_with_the_message_that_its_contact_deletes() {
    let setup = setup().await;
    setup.sends(&setup.fixture, "A", &picture()).await;
    setup.file_comes(FileAnswer::Gives(PNG, "image/png"));
    setup.turn(&setup.fixture).await;
    let stored = setup.newest().await;
    assert!(setup.read_bytes(&stored).await.is_some());
    setup.deletes("event-0").await;
    assert_eq!(setup.read_bytes(&stored).await, None);
}

#[tokio::test]
async fn a_file_that_its_tenant_keeps_for_a_shorter_time_goes_before_its_message() {
    let mut fixture = Fixture::new();
    fixture.bound.tenant.retention.media = Some(RetentionPeriod::Days(10));
    let setup = Setup::set(fixture).await;
    *setup.world.llm.says.lock().unwrap() = Some("Vi.".to_owned());
    setup.sends(&setup.fixture, "A", &picture()).await;
    setup.file_comes(FileAnswer::Gives(PNG, "image/png"));
    setup.turn(&setup.fixture).await;
    setup.pass(9 * 86_400);
    setup.reconciles().await;
    assert!(setup.read_bytes(&setup.newest().await).await.is_some());
    // A longer time counts for what is there, too.
    let mut document = setup.fixture.document();
    document.tenants[0].retention.media = Some(RetentionPeriod::Days(20));
    succeed(put_configuration(&setup.world.store, &document)).await;
    setup.pass(2 * 86_400);
    setup.reconciles().await;
    assert!(setup.read_bytes(&setup.newest().await).await.is_some());
    setup.pass(9 * 86_400);
    setup.reconciles().await;
    let message = setup.newest().await;
    let expired = FileState::Lost {
        reason: FileLoss::Expired,
    };
    assert_eq!(message.file.as_ref().unwrap().state, expired);
    assert_eq!(setup.read_bytes(&message).await, None);
    assert!(matches!(message.content, Content::Media(_)), "the message stays");
}

#[tokio::test]
async fn a_file_that_comes_after_its_message_was_deleted_is_not_kept() {
    let setup = std::sync::Arc::new(setup().await);
    setup.sends(&setup.fixture, "A", &picture()).await;
    let waiting = setup.newest().await;
    let meanwhile = Meanwhile::default();
    let deletes = std::sync::Arc::clone(&setup);
    meanwhile.set(async move { deletes.deletes("event-0").await });
    setup.file_comes(FileAnswer::GivesAfter(PNG, meanwhile));
    setup.turns(&setup.fixture).await;
    assert_eq!(setup.read_bytes(&waiting).await, None);
    let present = succeed(setup.world.store.find_message(&waiting.message_id())).await;
    assert_eq!(present.unwrap().content, Content::Removed);
}

impl Setup {
    /// The contact deletes the message that this event brought.
    pub(crate) async fn deletes(&self, id: &str) {
        let address = self.fixture.address.as_str();
        let payload = json!({"address": address, "changes": id, "from_me": false});
        let job = self.event(EventKind::Message, payload).await;
        assert_eq!(self.receive(&job, 1).await, recado_pipeline::Verdict::Done);
    }
}

impl Setup {
    /// A pass of `reconcile`, and the jobs for which it asked.
    pub(crate) async fn reconciles(&self) -> usize {
        let report = Box::pin(succeed(reconcile(&self.world))).await;
        for job in self.due_turns().await {
            let body = serde_json::to_string(&job).unwrap();
            let verdict = handle_turns_message(&self.world, &body, 1, None).await;
            assert_eq!(verdict, recado_pipeline::Verdict::Done);
        }
        report.count_of("files")
    }
}

#[tokio::test]
async fn a_failed_fetch_is_repeated_apart_from_the_message() {
    let setup = setup().await;
    setup.sends(&setup.fixture, "A", &picture()).await;
    setup.file_comes(FileAnswer::Fails);
    setup.turn(&setup.fixture).await;
    setup.due_turns().await;
    assert_eq!(setup.reconciles().await, 0, "it is not due yet");
    setup.pass(300);
    setup.file_comes(FileAnswer::Gives(PNG, "image/png"));
    assert_eq!(setup.reconciles().await, 1);
    let message = setup.newest().await;
    assert_eq!(setup.read_bytes(&message).await.as_deref(), Some(PNG));
    setup.pass(86_400);
    assert_eq!(setup.reconciles().await, 0);
    assert_eq!(setup.files_asked(), 3);
}

#[tokio::test]
async fn files_of_a_disabled_instance_wait_without_an_attempt() {
    let setup = setup().await;
    setup.sends(&setup.fixture, "A", &picture()).await;
    setup.due_turns().await;
    let mut document = setup.fixture.document();
    document.instances[0].disabled = true;
    succeed(put_configuration(&setup.world.store, &document)).await;
    setup.pass(120);
    assert_eq!(setup.reconciles().await, 1);
    let file = setup.newest().await.file.unwrap();
    assert_eq!((file.attempts, setup.files_asked()), (0, 0));
    assert_eq!(setup.reconciles().await, 0, "not again at once");
}

#[tokio::test]
async fn a_file_of_unknown_bytes_has_the_type_that_its_provider_names() {
    let setup = setup().await;
    setup.sends(&setup.fixture, "A", &picture()).await;
    setup.file_comes(FileAnswer::Gives(b"\x01\x02\x03", "Application/X-Other; a=b"));
    setup.turn(&setup.fixture).await;
    let file = setup.newest().await.file.unwrap();
    assert_eq!(file.stored().unwrap().mime_type, "application/x-other");
}

impl Setup {
    /// So many pictures come at once, and the downloads of all fail.
    async fn fails_to_fetch(&self, pictures: usize) {
        for number in 0..pictures {
            self.sends(&self.fixture, &format!("A{number}"), &picture()).await;
            self.file_comes(FileAnswer::Fails);
        }
        self.turn(&self.fixture).await;
    }

    async fn downloads(&self) -> DownloadBlock {
        let state = self.world.store.read_instance_state(self.fixture.instance());
        succeed(state).await.downloads
    }
}

#[tokio::test]
async fn after_twenty_failed_downloads_a_provider_that_blocks_is_left_alone_for_half_an_hour() {
    let setup = setup().await;
    setup
        .world
        .providers
        .blocks_downloads
        .store(true, Ordering::SeqCst);
    setup.fails_to_fetch(20).await;
    assert_eq!(setup.files_asked(), 20);
    let until = setup.downloads().await.blocked_until(setup.now()).unwrap();
    setup.sends(&setup.fixture, "B", &picture()).await;
    setup.turn(&setup.fixture).await;
    let file = setup.newest().await.file.unwrap();
    assert_eq!(file.attempts, 0, "nobody was asked");
    let note = "the file has not come yet: the provider refuses downloads for half an hour";
    assert_eq!(file.describe_gap(), Some(note));
    setup.due_turns().await;
    setup.pass(until.duration_since(setup.now()).as_secs() - 10);
    setup.reconciles().await;
    assert_eq!(setup.files_asked(), 20);
    for _ in 0..21 {
        setup.file_comes(FileAnswer::Gives(PNG, "image/png"));
    }
    setup.pass(20);
    setup.reconciles().await;
    assert!(setup.files_asked() > 20);
    let file = setup.newest().await.file.unwrap();
    assert!(!file.is_blocked && file.stored().is_some(), "{file:?}");
}

#[tokio::test]
async fn a_provider_that_does_not_block_is_asked_however_many_downloads_fail() {
    let setup = setup().await;
    setup.fails_to_fetch(20).await;
    setup.fails_to_fetch(5).await;
    assert!(setup.files_asked() > 20);
    assert_eq!(
        setup.downloads().await,
        DownloadBlock::default(),
        "nothing is counted"
    );
}

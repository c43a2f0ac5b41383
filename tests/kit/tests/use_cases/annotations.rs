//! What people write beside a conversation: labels and notes.

use crate::world::Setup;
use recado_domain::access::{Caller, Scope, TokenRole};
use recado_domain::audit::AuditAction;
use recado_domain::conversation::{AnnotationError, ConversationLabel};
use recado_domain::ids::{ConversationId, TenantId, TokenName};
use recado_operators::{LabelChange, OperateError};
use recado_pipeline::ports::PageRequest;
use recado_pipeline::records::audit::{AuditFilter, list_audit};
use recado_testkit::builders::Fixture;
use recado_testkit::ports::succeed;
use std::collections::BTreeSet;

fn person(name: &str, fixture: &Fixture) -> Caller {
    Caller {
        name: TokenName::parse(name).unwrap(),
        role: TokenRole::Operator,
        scope: Scope::Tenant(fixture.bound.tenant.id.clone()),
        request: None,
    }
}

/// An installation in which a contact wrote, and the id of the conversation.
async fn contact_wrote() -> (Setup, ConversationId) {
    let setup = Setup::set(Fixture::new()).await;
    setup.message(&setup.fixture, "W1", "oi", false).await;
    let latest = setup.latest_conversation().await.unwrap();
    (setup, latest.id)
}

fn labels(words: &[&str]) -> BTreeSet<ConversationLabel> {
    words
        .iter()
        .map(|word| ConversationLabel::parse(word).unwrap())
        .collect()
}

/// The actions of the audit about labels and notes, the oldest first.
async fn audited(setup: &Setup) -> Vec<(AuditAction, String)> {
    let page = PageRequest::first(100);
    let found = succeed(list_audit(&setup.world.store, &AuditFilter::default(), &page)).await;
    let mut items = found.items;
    items.reverse();
    items
        .into_iter()
        .map(|entry| (entry.action, entry.actor.to_string()))
        .collect()
}

#[tokio::test]
async fn a_note_tells_who_wrote_it_and_reaches_neither_the_contact_nor_the_model() {
    let (setup, id) = contact_wrote().await;
    let (world, ana) = (&setup.world, person("ana", &setup.fixture));
    let written = recado_operators::add_note(world, &ana, &id, "secret of the house")
        .await
        .unwrap();
    assert_eq!(
        (written.number, written.by.as_str(), written.at),
        (1, "ana", setup.now())
    );
    recado_operators::change_labels(
        world,
        &ana,
        &id,
        &LabelChange {
            add: labels(&["secret-label"]),
            ..LabelChange::default()
        },
    )
    .await
    .unwrap();
    *world.llm.says.lock().unwrap() = Some("certo".to_owned());
    setup.turns(&setup.fixture).await;
    setup.send(&id).await;
    assert_eq!(world.providers.sent(), 1, "the answer alone");
    let sent = format!("{:?}", world.providers.contents());
    let read = world.llm.read.lock().unwrap().join("\n");
    let asked = format!("{read} {:?}", world.llm.prompts.lock().unwrap());
    assert!(asked.contains("oi"), "{asked}");
    assert!(
        !sent.contains("secret") && !asked.contains("secret"),
        "{sent} {asked}"
    );
    let kept = recado_operators::list_notes(world, &ana, &id).await.unwrap();
    assert_eq!(kept, [written], "the turn left it as it was");
}

#[tokio::test]
async fn a_repeated_request_adds_no_second_note_and_no_second_entry_of_the_audit() {
    let (setup, id) = contact_wrote().await;
    let (world, ana) = (&setup.world, person("ana", &setup.fixture));
    let first = recado_operators::add_note(world, &ana, &id, "calls again")
        .await
        .unwrap();
    setup.pass(1);
    let again = recado_operators::add_note(world, &ana, &id, "calls again")
        .await
        .unwrap();
    assert_eq!(first, again);
    let beto = person("beto", &setup.fixture);
    let other = recado_operators::add_note(world, &beto, &id, "calls again")
        .await
        .unwrap();
    assert_eq!(other.number, 2);
    setup.pass(1);
    recado_operators::delete_note(world, &beto, &id, 1).await.unwrap();
    setup.pass(1);
    let gone = recado_operators::delete_note(world, &beto, &id, 1).await;
    assert!(matches!(gone, Err(OperateError::NotFound("note"))));
    let change = LabelChange {
        add: labels(&["vip"]),
        remove: labels(&["new"]),
    };
    for _ in 0..2 {
        let now = recado_operators::change_labels(world, &ana, &id, &change)
            .await
            .unwrap();
        assert_eq!(now, labels(&["vip"]));
    }
    let told = audited(&setup).await;
    let expected = [
        (AuditAction::NoteAdded, "ana"),
        (AuditAction::NoteAdded, "beto"),
        (AuditAction::NoteDeleted, "beto"),
        (AuditAction::ConversationLabelled, "ana"),
    ];
    assert_eq!(told, expected.map(|(action, by)| (action, by.to_owned())));
}

#[tokio::test]
async fn another_tenant_reads_and_writes_nothing_beside_a_conversation() {
    let (setup, id) = contact_wrote().await;
    let world = &setup.world;
    let mut stranger = person("eve", &setup.fixture);
    stranger.scope = Scope::Tenant(TenantId::parse("another-tenant").unwrap());
    let missing = |error: &OperateError| matches!(error, OperateError::NotFound("conversation"));
    let written = recado_operators::add_note(world, &stranger, &id, "hello").await;
    assert!(written.is_err_and(|error| missing(&error)));
    let read = recado_operators::list_notes(world, &stranger, &id).await;
    assert!(read.is_err_and(|error| missing(&error)));
    let labelled = recado_operators::change_labels(world, &stranger, &id, &LabelChange::default()).await;
    assert!(labelled.is_err_and(|error| missing(&error)));
    let long =
        recado_operators::add_note(world, &person("ana", &setup.fixture), &id, &"x".repeat(1_001)).await;
    assert!(matches!(
        long,
        Err(OperateError::Annotation(AnnotationError::NoteLength))
    ));
    assert_eq!(audited(&setup).await, [], "what is refused changes nothing");
}

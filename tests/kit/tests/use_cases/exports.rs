//! A large export comes in parts, each of which an answer can hold.

use crate::erasure::{NUMBER, Site};
use recado_contacts::{ContactQuery, ExportCursor, export_contact};
use recado_domain::access::Caller;
use recado_domain::content::{Content, Media, MediaKind};
use recado_domain::event::{EventPayload, InboundJob};
use recado_pipeline::ports::{Inbox, Queues};
use recado_pipeline::upload;
use recado_testkit::builders::identity_key;
use recado_testkit::ports::succeed;
use serde_json::json;
use std::collections::BTreeSet;

/// What an answer of a Lambda function holds, in bytes.
const ANSWER_BYTES: usize = 6 * 1024 * 1024;

async fn send_file(site: &Site, bytes: usize) {
    let (setup, caller) = (&site.setup, Caller::installation());
    let (instance, content) = (setup.fixture.instance(), vec![7; bytes]);
    let kind = "application/pdf".to_owned();
    let stored = upload::store_upload(&setup.world, &caller, instance, kind, None, &content);
    let source = succeed(stored).await;
    let file = Content::Media(Media {
        source,
        ..Media::from_kind(MediaKind::Document)
    });
    site.client_sends(NUMBER, file, None, false).await;
}

/// An answer of Lambda holds at most 6 MB.
#[tokio::test]
async fn a_large_export_comes_in_parts_that_hold_everything_once() {
    let site = Site::open().await;
    site.process_message(NUMBER, None, "Bia", "A1", "Bom dia").await;
    // The last one is larger than a part, but not than an answer.
    for bytes in [1_500_000, 1_000_000, 3_900_000] {
        send_file(&site, bytes).await;
    }
    let query = ContactQuery {
        tenant: site.setup.fixture.bound.tenant.id.clone(),
        instance: None,
        contact: NUMBER.to_owned(),
    };
    let (mut ordinals, mut files, mut parts) = (Vec::new(), BTreeSet::new(), 0);
    let mut cursor = None;
    loop {
        let after: Option<ExportCursor> = cursor.as_deref().and_then(ExportCursor::parse);
        assert_eq!(after.is_some(), cursor.is_some());
        let (world, caller) = (&site.setup.world, Caller::installation());
        let part = export_contact(world, &caller, &query, after.as_ref())
            .await
            .unwrap();
        assert!(serde_json::to_vec(&part).unwrap().len() < ANSWER_BYTES);
        parts += 1;
        let conversations = part.instances.iter().flat_map(|one| &one.conversations);
        ordinals.extend(conversations.flat_map(|one| one.messages.iter().map(|told| told.message.ordinal.0)));
        for file in &part.files {
            assert!(files.insert(file.source.clone()), "each file once");
        }
        cursor = part.next.map(|next| next.to_string());
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!((parts, files.len()), (3, 3));
    assert_eq!(ordinals, [1, 2, 3, 4]);
}

#[tokio::test]
async fn a_part_that_begins_in_an_erased_conversation_is_refused() {
    let site = Site::live().await;
    let query = ContactQuery {
        tenant: site.setup.fixture.bound.tenant.id.clone(),
        instance: None,
        contact: NUMBER.to_owned(),
    };
    let elsewhere = site.setup.fixture.conversation(77).id;
    let cursor = format!("{}~{elsewhere}~1", site.setup.fixture.instance());
    let after = ExportCursor::parse(&cursor).unwrap();
    let (world, caller) = (&site.setup.world, Caller::installation());
    assert!(
        export_contact(world, &caller, &query, Some(&after))
            .await
            .is_err()
    );
    assert_eq!(ExportCursor::parse("suporte-01~c_1~1"), None);
    assert_eq!(ExportCursor::parse("1"), None);
}

#[tokio::test]
async fn large_events_that_are_not_applied_come_in_parts_too() {
    let site = Site::open().await;
    let (setup, store, queues) = (&site.setup, &site.setup.world.store, &site.setup.world.queues);
    let group = identity_key().derive_event_group(
        setup.fixture.bound.instance.provider,
        &setup.fixture.external(),
        Some(NUMBER),
    );
    for number in 1..=4 {
        let job = setup.fixture.job();
        let key = job.event.to_string();
        let body = json!({"number": number, "text": "x".repeat(1_200_000)});
        succeed(queues.put_payload(&key, &body)).await;
        let job = InboundJob {
            group: group.clone(),
            payload: EventPayload::Stored(key),
            ..job
        };
        succeed(store.record_event(&job)).await;
    }
    let query = ContactQuery {
        tenant: setup.fixture.bound.tenant.id.clone(),
        instance: None,
        contact: NUMBER.to_owned(),
    };
    let (mut numbers, mut parts, mut after) = (BTreeSet::new(), 0, None);
    loop {
        let part = export_contact(&setup.world, &Caller::installation(), &query, after.as_ref())
            .await
            .unwrap();
        assert!(serde_json::to_vec(&part).unwrap().len() < ANSWER_BYTES);
        parts += 1;
        for event in part.instances.iter().flat_map(|one| &one.events) {
            let number = event.body.as_ref().unwrap()["number"].as_u64().unwrap();
            assert!(numbers.insert(number), "each event once");
        }
        let Some(next) = part.next else { break };
        assert_eq!(ExportCursor::parse(&next.to_string()), Some(next.clone()));
        after = Some(next);
    }
    assert_eq!((parts, numbers.len()), (2, 4));
}

//! The use of models in turns without a reply, and for recordings, is summed up once, of the tenant and of the conversation.

use crate::media::setup as media_setup;
use crate::world::{FileAnswer, Setup, beside};
use futures::future::BoxFuture;
use jiff::civil::{Date, date};
use recado_domain::access::Caller;
use recado_domain::content::{Content, Media, MediaKind};
use recado_domain::delivery::{DeliveryKey, DeliveryStatus, Pricing, StatusDetail, StatusUpdate};
use recado_domain::inbound::WebhookItem;
use recado_domain::retention::RetentionPeriod;
use recado_domain::usage::UsageSum;
use recado_knowledge::{NewDocument, add_source};
use recado_pipeline::ports::{Conversations, ModelCall, Overviews, WriteOutcome};
use recado_pipeline::{Verdict, handle_turns_message, ingest};
use recado_testkit::builders::{Fixture, correlation};
use recado_testkit::ports::succeed;
use recado_usage::{UsageGroup, UsageRequest, read_usage};
use serde_json::json;
use std::sync::atomic::Ordering;

/// A contact asks a question, and the model answers every request with 7 tokens.
async fn asks() -> Setup {
    let setup = Setup::set(Fixture::new()).await;
    *setup.world.llm.says.lock().unwrap() = Some("certo".to_owned());
    setup.message(&setup.fixture, "W1", "Abre hoje?", false).await;
    setup
}

async fn sums(setup: &Setup) -> Vec<UsageSum> {
    let tenant = &setup.fixture.bound.tenant.id;
    succeed(setup.world.store.list_usage(tenant, date(1970, 1, 1), Date::MAX)).await
}

/// The replies, the discarded drafts and the tokens written, of the tenant. The conversation tells the same of itself.
async fn used(setup: &Setup) -> (u64, u64, u64) {
    let sums = sums(setup).await;
    let request = UsageRequest {
        tenant: None,
        conversation: Some(setup.latest_conversation().await.unwrap().id),
        from: date(1970, 1, 1),
        to: Date::MAX,
        by: UsageGroup::Tenant,
    };
    let told = read_usage(&setup.world, &Caller::installation(), &request).await;
    let told = told.unwrap().unwrap();
    let total = |count: fn(&UsageSum) -> u64| sums.iter().map(count).sum::<u64>();
    let of_tenant = (
        total(|sum| sum.replies),
        total(|sum| sum.discarded_drafts),
        total(|sum| sum.tokens.output_tokens),
    );
    let of_conversation = told.first().map_or((0, 0, 0), |line| {
        (line.replies, line.discarded_drafts, line.tokens.output_tokens)
    });
    assert_eq!(of_conversation, of_tenant);
    of_tenant
}

/// Plays this while the model thinks.
fn meanwhile(setup: &Setup, play: impl FnOnce(recado_embedded::Embedded) -> BoxFuture<'static, ()>) {
    setup.world.llm.meanwhile.set(play(setup.world.store.clone()));
}

#[tokio::test]
async fn a_draft_that_a_takeover_discards_is_counted_without_a_reply() {
    let setup = asks().await;
    let id = setup.latest_conversation().await.unwrap().id;
    meanwhile(&setup, |store| {
        Box::pin(async move {
            let mut conversation = succeed(store.find_conversation(&id)).await.unwrap();
            assert!(conversation.take_over());
            conversation.rev += 1;
            let saved = succeed(store.update_conversation(&conversation, &[])).await;
            assert_eq!(saved, WriteOutcome::Written);
        })
    });
    let (_, verdict) = setup.run_turn_job(&setup.fixture, None).await;
    assert_eq!(verdict, Verdict::RETRY_SOON);
    assert_eq!(used(&setup).await, (0, 1, 7));
    assert!(setup.latest_conversation().await.unwrap().lease.is_none());
}

#[tokio::test]
async fn a_draft_that_is_dropped_for_a_newer_message_is_counted_beside_the_reply() {
    let mut setup = asks().await;
    setup.world.deps_mut().settings_mut().restart_drafts = 1;
    let id = setup.latest_conversation().await.unwrap().id;
    let now = setup.now();
    meanwhile(&setup, |store| {
        Box::pin(async move {
            let mut conversation = succeed(store.find_conversation(&id)).await.unwrap();
            conversation.receive_message(true, now).unwrap();
            conversation.rev += 1;
            let saved = succeed(store.update_conversation(&conversation, &[])).await;
            assert_eq!(saved, WriteOutcome::Written);
        })
    });
    let (_, verdict) = setup.run_turn_job(&setup.fixture, None).await;
    assert_eq!((verdict, used(&setup).await), (Verdict::RETRY_SOON, (0, 1, 7)));
}

#[tokio::test]
async fn of_two_workers_that_draft_one_reply_both_are_counted_and_one_replied() {
    let setup = asks().await;
    let slow = beside(&setup.world);
    *slow.llm.says.lock().unwrap() = Some("tarde".to_owned());
    let jobs = setup.due_turns().await;
    setup.pass(60);
    let job = match jobs.first() {
        Some(job) => job.clone(),
        None => setup.due_turns().await.remove(0),
    };
    let body = serde_json::to_string(&job).unwrap();
    let (world, again) = (beside(&setup.world), body.clone());
    *world.llm.says.lock().unwrap() = Some("certo".to_owned());
    slow.llm.meanwhile.set(async move {
        // The lease of the slow worker is over: another replies.
        world.system.pass(100_000);
        let verdict = handle_turns_message(&world, &again, 1, None).await;
        assert_eq!(verdict, Verdict::Done);
    });
    let verdict = handle_turns_message(&slow, &body, 1, None).await;
    assert_eq!(verdict, Verdict::RETRY_SOON);
    assert_eq!(used(&setup).await, (1, 1, 14));
}

#[tokio::test]
async fn an_empty_answer_is_paid_for_although_the_contact_gets_the_error_message() {
    let setup = asks().await;
    *setup.world.llm.says.lock().unwrap() = Some(" ".to_owned());
    setup.turns(&setup.fixture).await;
    assert_eq!(used(&setup).await, (0, 0, 7));
}

#[tokio::test]
async fn a_model_that_fails_after_a_call_of_a_tool_was_paid_for_that_call() {
    let setup = asks().await;
    let calls = vec![ModelCall {
        id: "1".to_owned(),
        name: "nothing".to_owned(),
        arguments: json!({}),
        marks: Vec::new(),
    }];
    setup.world.llm.tooling.calls.lock().unwrap().extend([calls]);
    setup.world.llm.tooling.fails_after.store(1, Ordering::SeqCst);
    setup.turns(&setup.fixture).await;
    assert_eq!(used(&setup).await, (0, 0, 7));
}

#[tokio::test]
async fn a_model_that_answers_with_no_question_was_paid_for_that_answer() {
    let setup = Setup::set(Fixture::new()).await;
    // Longer than a question for a search may be.
    *setup.world.llm.says.lock().unwrap() = Some("certo ".repeat(100));
    let document = NewDocument {
        title: "horas.md".to_owned(),
        content_type: None,
        bytes: b"Abre das 9 as 18 horas.".to_vec(),
    };
    let (agent, caller) = (&setup.fixture.bound.agent.id, Caller::installation());
    // Another process than the one that answers.
    add_source(&beside(&setup.world), &caller, agent, document)
        .await
        .unwrap();
    for (id, question) in [("W1", "Abre hoje?"), ("W2", "E amanhã?")] {
        setup.message(&setup.fixture, id, question, false).await;
        setup.pass(10);
        setup.turns(&setup.fixture).await;
    }
    assert_eq!(used(&setup).await, (2, 0, 21));
}

#[tokio::test]
async fn a_recording_is_counted_once_for_its_agent_and_its_conversation() {
    let setup = media_setup().await;
    *setup.world.llm.transcribes.lock().unwrap() = Some([Ok("Abre hoje?")].into_iter().collect());
    let voice = Content::Media(Media {
        source: Some("4712".to_owned()),
        ..Media::from_kind(MediaKind::Voice)
    });
    setup.sends(&setup.fixture, "V1", &voice).await;
    setup.file_comes(FileAnswer::Gives(b"OggS\x00\x02", "audio/ogg"));
    setup.world.llm.lacks_key.store(true, Ordering::SeqCst);
    setup.turns(&setup.fixture).await;
    setup.world.llm.lacks_key.store(false, Ordering::SeqCst);
    setup.turns(&setup.fixture).await;
    let sums = sums(&setup).await;
    let of_recording = sums.iter().find(|sum| sum.model == "whisper").unwrap();
    assert_eq!((of_recording.recordings, of_recording.audio_millis), (1, 2_500));
    assert_eq!(of_recording.agent, setup.fixture.bound.agent.id);
    assert_eq!(used(&setup).await, (1, 0, 7));
}

#[tokio::test]
async fn a_tenants_own_period_ends_its_sums_and_no_other() {
    for (period, days, is_kept) in [
        (None, 399, true),
        (None, 402, false),
        (Some(RetentionPeriod::Days(31)), 30, true),
        (Some(RetentionPeriod::Days(31)), 33, false),
        (Some(RetentionPeriod::Forever), 3_000, true),
    ] {
        let mut fixture = Fixture::new();
        fixture.bound.tenant.retention.usage = period;
        let setup = Setup::set(fixture).await;
        *setup.world.llm.says.lock().unwrap() = Some("certo".to_owned());
        setup.message(&setup.fixture, "W1", "Abre hoje?", false).await;
        setup.turns(&setup.fixture).await;
        setup.pass(days * 86_400);
        assert_eq!(!sums(&setup).await.is_empty(), is_kept, "{period:?} {days}");
    }
}

#[tokio::test]
async fn a_charged_message_is_told_of_its_tenant_and_its_conversation_once() {
    let mut fixture = Fixture::new();
    fixture.bound.tenant.retention.usage = Some(RetentionPeriod::Days(31));
    let setup = Setup::set(fixture).await;
    let conversation = setup.client_writes("5511900000077").await.conversation.unwrap();
    setup.send(&conversation).await;
    let (provider, external) = (setup.fixture.bound.instance.provider, setup.fixture.external());
    let reached = |id: &str, status| WebhookItem::ChargedStatus {
        update: StatusUpdate {
            key: DeliveryKey::from_provider_id(provider, &external, id),
            status,
            at: setup.now(),
            provider_message_id: None,
            detail: Some(Box::new(StatusDetail {
                pricing: Some(Pricing {
                    billable: Some(true),
                    category: Some("utility".to_owned()),
                    ..Pricing::default()
                }),
                ..StatusDetail::default()
            })),
        },
        provider,
        external: external.clone(),
    };
    // Of the second nothing is known here: another program sent it.
    let told = [
        reached("P0", DeliveryStatus::Read),
        reached("P0", DeliveryStatus::Delivered),
        reached("OTHER", DeliveryStatus::Delivered),
    ];
    for item in told {
        let report = ingest::ingest(&setup.world, vec![item], &correlation()).await;
        assert_eq!(report.unwrap().statuses, 1);
    }
    let charged = async |conversation| {
        let request = UsageRequest {
            tenant: None,
            conversation,
            from: date(1970, 1, 1),
            to: Date::MAX,
            by: UsageGroup::Model,
        };
        let told = read_usage(&setup.world, &Caller::installation(), &request).await;
        let lines = told.unwrap().unwrap();
        let line = lines.iter().find(|line| line.charged_messages > 0);
        line.map(|line| (line.name.model.clone().unwrap(), line.charged_messages))
    };
    let name = "evolution:utility".to_owned();
    assert_eq!(charged(None).await, Some((name.clone(), 2)));
    assert_eq!(charged(Some(conversation)).await, Some((name, 1)));
    setup.pass(33 * 86_400);
    assert_eq!(charged(None).await, None, "its tenant's period is over");
}

//! The use of models: each committed reply adds to the sums of its tenant, agent, model and day, once.

use super::given::{begun, erase_deliveries};
use crate::builders::{Fixture, at, far_ahead, fresh, long_ago, out};
use crate::ports::succeed;
use jiff::civil::{Date, date};
use recado_domain::config::{ConfigDocument, ConfigNames};
use recado_domain::conversation::Conversation;
use recado_domain::country::Country;
use recado_domain::delivery::{DeliveryKey, DeliveryStatus, StatusUpdate};
use recado_domain::message::TokenUsage;
use recado_domain::price::PriceList;
use recado_domain::provider::Provider;
use recado_domain::retention::RetentionPeriod;
use recado_domain::turn::TurnRecord;
use recado_domain::usage::{ModelUse, UsageSum, resolve_usage_day};
use recado_ports::ports::{PageRequest, Store, WriteOutcome};
use recado_ports::records::configuration::{find_named_entries, load_configuration, put_configuration};

const DAY_MS: i64 = 86_400_000;

const TOKENS: TokenUsage = TokenUsage {
    input_tokens: 100,
    output_tokens: 20,
    cache_read_tokens: 3,
    cache_write_tokens: 0,
};

/// Commits a reply of two parts of which the first carries what the turn used, on this day.
async fn try_commit_reply<S: Store>(
    store: &S,
    fixture: &Fixture,
    conversation: &mut Conversation,
    (day, rewriting): (i64, Option<ModelUse>),
) -> WriteOutcome {
    let mut first = fixture.reply(conversation);
    let mut second = first.clone();
    second.ordinal = conversation.append_message(first.stored_at);
    first.stored_at = at(day * DAY_MS);
    first.model = Some("model-1".to_owned());
    first.usage = Some(TOKENS);
    let began_at = first.stored_at;
    out(&mut first).turn = Some(TurnRecord {
        began_at,
        attempt: 1,
        asked_at: None,
        opening: None,
        steps: Vec::new(),
        effects_upto: None,
        knowledge: None,
        tools: Vec::new(),
        agent: Some(fixture.bound.agent.id.clone()),
        rewriting: rewriting.map(Box::new),
        unused_answers: Vec::new(),
        usage_kept: None,
    });
    succeed(store.commit_messages(conversation, &[first, second], &[]))
        .await
        .into()
}

/// The same, where nothing is in its way.
async fn commit_new_reply<S: Store>(
    store: &S,
    fixture: &Fixture,
    conversation: &mut Conversation,
    used: (i64, Option<ModelUse>),
) {
    let committed = try_commit_reply(store, fixture, conversation, used).await;
    assert_eq!(committed, WriteOutcome::Written);
}

async fn list_all_usage<S: Store>(store: &S, fixture: &Fixture) -> Vec<UsageSum> {
    let tenant = &fixture.bound.tenant.id;
    succeed(store.list_usage(tenant, date(1970, 1, 1), Date::MAX)).await
}

fn expected_sum(fixture: &Fixture, day: i64, model: &str, replies: u64) -> UsageSum {
    let times = |count| count * replies;
    let (tenant, agent) = (&fixture.bound.tenant.id, &fixture.bound.agent.id);
    UsageSum {
        replies,
        tokens: TokenUsage {
            input_tokens: times(TOKENS.input_tokens),
            output_tokens: times(TOKENS.output_tokens),
            cache_read_tokens: times(TOKENS.cache_read_tokens),
            cache_write_tokens: 0,
        },
        ..UsageSum::start_empty(tenant, agent, resolve_usage_day(at(day * DAY_MS)), model)
    }
}

pub async fn each_reply_adds_to_the_sum_of_its_day_agent_and_model<S: Store>(store: &S) {
    let fixture = Fixture::new();
    assert_eq!(list_all_usage(store, &fixture).await, []);
    let mut conversation = begun(store, &fixture).await;
    for (day, replies) in [(30_000, 1), (30_000, 2), (30_001, 1)] {
        commit_new_reply(store, &fixture, &mut conversation, (day, None)).await;
        let sums = list_all_usage(store, &fixture).await;
        assert_eq!(
            sums.last(),
            Some(&expected_sum(&fixture, day, "model-1", replies))
        );
    }
    let both =
        [(30_000, 2), (30_001, 1)].map(|(day, replies)| expected_sum(&fixture, day, "model-1", replies));
    assert_eq!(list_all_usage(store, &fixture).await, both);
    let day = resolve_usage_day(at(30_001 * DAY_MS));
    let one = succeed(store.list_usage(&fixture.bound.tenant.id, day, day)).await;
    assert_eq!(one, both[1..]);
}

pub async fn a_reply_that_is_not_committed_adds_nothing<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    let mut late = conversation.clone();
    commit_new_reply(store, &fixture, &mut conversation, (30_000, None)).await;
    let refused = try_commit_reply(store, &fixture, &mut late, (30_000, None)).await;
    assert_eq!(refused, WriteOutcome::Conflict);
    assert_eq!(
        list_all_usage(store, &fixture).await,
        [expected_sum(&fixture, 30_000, "model-1", 1)]
    );
}

pub async fn the_model_that_wrote_a_question_again_has_a_sum_of_its_own_without_replies<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    let tokens = TokenUsage {
        input_tokens: 9,
        ..TokenUsage::default()
    };
    let rewriting = ModelUse {
        model: "a-light::model.1".to_owned(),
        tokens,
    };
    commit_new_reply(store, &fixture, &mut conversation, (30_000, Some(rewriting))).await;
    let light = UsageSum {
        replies: 0,
        tokens,
        ..expected_sum(&fixture, 30_000, "a-light::model.1", 0)
    };
    assert_eq!(
        list_all_usage(store, &fixture).await,
        [light, expected_sum(&fixture, 30_000, "model-1", 1)]
    );
}

/// The use that a discarded draft, or a recording, adds to the sum of the day 30,000.
fn other_use(fixture: &Fixture) -> UsageSum {
    UsageSum {
        replies: 0,
        discarded_drafts: 1,
        recordings: 2,
        audio_millis: 1_500,
        ..expected_sum(fixture, 30_000, "model-1", 1)
    }
}

pub async fn a_conversation_is_written_with_what_a_discarded_draft_used_or_not_at_all<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    let late = conversation.clone();
    let used = [other_use(&fixture), expected_sum(&fixture, 30_001, "model-2", 1)];
    conversation.rev += 1;
    let written = succeed(store.update_conversation(&conversation, &used)).await;
    assert_eq!(written, WriteOutcome::Written);
    assert_eq!(list_all_usage(store, &fixture).await, used);
    let refused = succeed(store.update_conversation(&late, &used)).await;
    assert_eq!(refused, WriteOutcome::Conflict);
    assert_eq!(list_all_usage(store, &fixture).await, used);
    let found = succeed(store.find_conversation(&conversation.id)).await;
    assert_eq!(found, Some(conversation.clone()));
    // A reply of the same model and day is added to it.
    commit_new_reply(store, &fixture, &mut conversation, (30_000, None)).await;
    let both = UsageSum {
        replies: 1,
        tokens: TOKENS.add_token_counts(TOKENS),
        ..other_use(&fixture)
    };
    assert_eq!(list_all_usage(store, &fixture).await[0], both);
}

pub async fn a_sum_is_kept_for_as_long_as_its_tenant_said_when_it_was_written<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    let kept = |model: &str, kept| UsageSum {
        kept,
        day: date(1990, 1, 1),
        ..expected_sum(&fixture, 1, model, 1)
    };
    let used = [
        kept("long-ago", None),
        kept("for-ever", Some(RetentionPeriod::Forever)),
    ];
    conversation.rev += 1;
    let written = succeed(store.update_conversation(&conversation, &used)).await;
    assert_eq!(written, WriteOutcome::Written);
    assert_eq!(list_all_usage(store, &fixture).await, [kept("for-ever", None)]);
}

pub async fn a_message_is_replaced_with_what_its_transcription_used_or_not_at_all<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let conversation = begun(store, &fixture).await;
    let page = PageRequest::first(1);
    let stored = succeed(store.list_messages(&conversation.id, &page)).await;
    let mut message = stored.items[0].clone();
    message.rev += 1;
    let used = other_use(&fixture);
    for expected in [WriteOutcome::Written, WriteOutcome::Conflict] {
        let replaced = succeed(store.update_closed_message(&message, Some(&used))).await;
        assert_eq!(replaced, expected);
        assert_eq!(list_all_usage(store, &fixture).await, std::slice::from_ref(&used));
    }
}

pub async fn twelve_threads_at_once_lose_no_use<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let replies = (0..12).map(|_| async {
        let contact = fixture.other_contact();
        let mut conversation = begun(store, &contact).await;
        try_commit_reply(store, &contact, &mut conversation, (30_000, None)).await
    });
    let written = futures::future::join_all(replies).await;
    assert!(written.iter().all(|outcome| *outcome == WriteOutcome::Written));
    assert_eq!(
        list_all_usage(store, &fixture).await,
        [expected_sum(&fixture, 30_000, "model-1", 12)]
    );
}

fn some_delivery(fixture: &Fixture) -> DeliveryKey {
    DeliveryKey::from_provider_id(Provider::Meta, &fixture.external(), &fresh("wa"))
}

fn reached(key: &DeliveryKey, status: DeliveryStatus, second: i64) -> StatusUpdate {
    StatusUpdate {
        key: key.clone(),
        status,
        at: at(second),
        provider_message_id: None,
        detail: None,
    }
}

/// The sum of so many charged messages of a category, of the day 30,000.
fn charged(fixture: &Fixture, category: &str, messages: u64) -> UsageSum {
    UsageSum {
        charged_messages: messages,
        ..expected_sum(fixture, 30_000, category, 0)
    }
}

pub async fn a_message_adds_its_charge_once_whichever_of_its_statuses_tell_of_it<S: Store>(store: &S) {
    use DeliveryStatus::{Delivered, Read, Sent};
    let fixture = Fixture::new();
    let charge = charged(&fixture, "meta:utility", 1);
    for (number, order) in (1..).zip([[Delivered, Delivered, Read], [Read, Delivered, Read]]) {
        let key = some_delivery(&fixture);
        succeed(store.record_status(&reached(&key, Sent, 1), far_ahead(), None)).await;
        let before = succeed(store.find_delivery(&key)).await.unwrap();
        assert!(!before.charged);
        for status in order {
            let update = reached(&key, status, 2);
            succeed(store.record_status(&update, far_ahead(), Some(&charge))).await;
        }
        let known = succeed(store.find_delivery(&key)).await.unwrap();
        assert_eq!((known.status, known.charged), (Some(Read), true), "{order:?}");
        assert_eq!(known.times.reached_statuses().len(), 3, "{order:?}");
        let sums = list_all_usage(store, &fixture).await;
        assert_eq!(sums, [charged(&fixture, "meta:utility", number)], "{order:?}");
    }
    let other = charged(&fixture, "meta:marketing", 1);
    let abroad = UsageSum {
        country: Country::parse("BR"),
        ..other.clone()
    };
    for charge in [&abroad, &other] {
        let update = reached(&some_delivery(&fixture), Delivered, 2);
        succeed(store.record_status(&update, far_ahead(), Some(charge))).await;
    }
    let sums = list_all_usage(store, &fixture).await;
    assert_eq!(sums, [other, abroad, charged(&fixture, "meta:utility", 2)]);
}

pub async fn statuses_at_once_add_one_charge_for_each_message<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let charge = charged(&fixture, "meta:utility", 1);
    let keys: Vec<DeliveryKey> = (0..8).map(|_| some_delivery(&fixture)).collect();
    let both = [DeliveryStatus::Delivered, DeliveryStatus::Read];
    let updates: Vec<StatusUpdate> = keys
        .iter()
        .flat_map(|key| both.map(|status| reached(key, status, 2)))
        .collect();
    let recorded = updates
        .iter()
        .map(|update| store.record_status(update, far_ahead(), Some(&charge)));
    let recorded = futures::future::join_all(recorded).await;
    recorded.into_iter().for_each(Result::unwrap);
    assert_eq!(
        list_all_usage(store, &fixture).await,
        [charged(&fixture, "meta:utility", 8)]
    );
    for key in &keys {
        let known = succeed(store.find_delivery(key)).await.unwrap();
        assert_eq!(known.status, Some(DeliveryStatus::Read));
    }
}

pub async fn neither_an_erased_message_nor_a_known_status_adds_a_charge_and_a_new_record_does<S: Store>(
    store: &S,
) {
    let fixture = Fixture::new();
    let charge = charged(&fixture, "meta:utility", 1);
    let erased = some_delivery(&fixture);
    succeed(store.record_status(&reached(&erased, DeliveryStatus::Sent, 1), far_ahead(), None)).await;
    erase_deliveries(store, std::slice::from_ref(&erased), far_ahead()).await;
    let known = reached(&some_delivery(&fixture), DeliveryStatus::Delivered, 2);
    succeed(store.record_status(&known, far_ahead(), None)).await;
    for update in [reached(&erased, DeliveryStatus::Delivered, 2), known] {
        succeed(store.record_status(&update, far_ahead(), Some(&charge))).await;
    }
    assert_eq!(list_all_usage(store, &fixture).await, []);
    // Each record that was over begins anew, and so does its charge.
    let again = some_delivery(&fixture);
    for (second, expires) in [(2, long_ago()), (3, far_ahead()), (4, far_ahead())] {
        let update = reached(&again, DeliveryStatus::Delivered, second);
        succeed(store.record_status(&update, expires, Some(&charge))).await;
    }
    let begun = succeed(store.find_delivery(&again)).await.unwrap();
    assert_eq!((begun.at, begun.charged), (Some(at(3)), true));
    assert_eq!(
        list_all_usage(store, &fixture).await,
        [charged(&fixture, "meta:utility", 2)]
    );
}

pub async fn a_removed_tenants_sums_are_deleted_and_anothers_stay<S: Store>(store: &S) {
    let (gone, other) = (Fixture::new(), Fixture::new());
    for fixture in [&gone, &other] {
        let mut conversation = begun(store, fixture).await;
        commit_new_reply(store, fixture, &mut conversation, (30_000, None)).await;
    }
    let deleted = succeed(store.delete_tenant_records(&gone.bound.tenant.id, &[], 100)).await;
    assert!(deleted >= 1);
    assert_eq!(list_all_usage(store, &gone).await, []);
    assert_eq!(
        list_all_usage(store, &other).await,
        [expected_sum(&other, 30_000, "model-1", 1)]
    );
}

pub async fn prices_are_one_list_that_a_document_replaces_as_a_whole<S: Store>(store: &S) {
    let read = async |prices, alerts| {
        let names = ConfigNames {
            prices,
            alerts,
            ..ConfigNames::default()
        };
        succeed(find_named_entries(store, &names)).await
    };
    let list = |prices: serde_json::Value| -> PriceList { serde_json::from_value(prices).unwrap() };
    let first = list(serde_json::json!([
        {"model": "large", "input": "3", "output": "15", "cache_read": "0.3"},
        {"model": "small*", "input": "0.25", "output": "1.25", "currency": "EUR", "from": "2026-11-01"},
    ]));
    for prices in [first, list(serde_json::json!([]))] {
        let change = ConfigDocument {
            prices: Some(prices.clone()),
            ..ConfigDocument::default()
        };
        succeed(put_configuration(store, &change)).await;
        let others = Fixture::new().document();
        succeed(put_configuration(store, &others)).await;
        assert_eq!(read(true, true).await.prices, Some(prices.clone()));
        assert_eq!(read(false, true).await.prices, None);
        assert_eq!(
            succeed(load_configuration(store, None)).await.prices,
            Some(prices)
        );
        let tenant = &others.tenants[0].id;
        assert_eq!(
            succeed(load_configuration(store, Some(tenant))).await.prices,
            None
        );
    }
}

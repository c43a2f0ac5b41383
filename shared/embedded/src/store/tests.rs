//! What is this backend's own: exact times, several tables in one list, records that cannot be read. What every store
//! must do is in the contract suite (`tests/kit`).

use crate::sql_records::execute_sql;
use crate::{Clock, Embedded};
use futures::executor::block_on;
use recado_domain::config::{ConfigDocument, ConfigNames, ConfigRemoval};
use recado_domain::conversation::Conversation;
use recado_domain::event::InboundJob;
use recado_domain::ids::{IdempotencyKey, Nonce};
use recado_domain::instance::{ConnectionStatus, DEFAULT_PATIENCE, InstanceChange, ParkedConversation};
use recado_domain::knowledge::{AgentKnowledge, SnapshotName};
use recado_domain::message::Message;
use recado_domain::moving::HeldKey;
use recado_domain::price::PriceList;
use recado_ports::ports::{
    CommitOutcome, ConversationFilter, Conversations, Inbox, Instances, OutboxStore, OverdueWork, Overviews,
    PageRequest, WriteOutcome,
};
use recado_ports::records::client_keys::{find_client_key, hold_client_key};
use recado_ports::records::configuration::{
    find_config_by_id, find_named_entries, load_configuration, put_configuration, replace_configuration,
};
use recado_ports::records::turn_places::find_turn_places;
use recado_ports::table::{Versioned, write_record};
use recado_testkit::builders::{Fixture, at, change_instance, nonce, seen};
use recado_testkit::ports::succeed;
use recado_testkit::{damaged_event_story, damaged_letter_story};
use serde_json::json;

/// Opens a store whose clock stands still.
fn store() -> Embedded {
    Embedded::in_memory(Clock::new(|| at(0))).unwrap()
}

fn minutes(minutes: i64) -> recado_domain::Timestamp {
    at(minutes * 60_000)
}

/// Makes the entry of a parked conversation that is due after 4 minutes.
fn parked(fixture: &Fixture, conversation: Conversation) -> ParkedConversation {
    ParkedConversation {
        instance: fixture.instance().clone(),
        conversation: conversation.id,
        version: Nonce::parse("v1").unwrap(),
        since: minutes(0),
        not_before: Some(minutes(4)),
        patience: DEFAULT_PATIENCE,
        reply: None,
    }
}

/// Commits the first message of a conversation that Recado begins.
async fn commit_first(store: &Embedded, fixture: &Fixture) -> (Conversation, Message) {
    let mut conversation = fixture.conversation(1);
    let message = fixture.answer(&mut conversation);
    let committed = succeed(store.commit_messages(&conversation, std::slice::from_ref(&message), &[])).await;
    assert_eq!(committed, CommitOutcome::Committed);
    (conversation, message)
}

#[test]
fn a_clients_key_is_free_at_the_very_time_at_which_it_expires() {
    let (store, fixture) = (store(), Fixture::new());
    block_on(async {
        let mut conversation = fixture.conversation(1);
        let tenant = conversation.tenant.clone();
        let key = IdempotencyKey::parse("k").unwrap();
        let held = |message: &Message, expires| HeldKey {
            tenant: Some(tenant.clone()),
            scope: "s".to_owned(),
            key: key.clone(),
            request_hash: "r".to_owned(),
            message: message.message_id(),
            expires,
        };
        for expires in [at(0), at(1)] {
            let message = fixture.answer(&mut conversation);
            let writes = hold_client_key(held(&message, expires)).unwrap();
            let found =
                succeed(store.commit_messages(&conversation, std::slice::from_ref(&message), &writes)).await;
            assert_eq!(found, CommitOutcome::Committed);
            let stored = succeed(find_client_key(&store, &tenant, "s", &key)).await;
            assert_eq!(stored.is_some(), expires > at(0));
        }
        let message = fixture.answer(&mut conversation);
        let writes = hold_client_key(held(&message, at(2))).unwrap();
        let found =
            succeed(store.commit_messages(&conversation, std::slice::from_ref(&message), &writes)).await;
        assert_eq!(found, CommitOutcome::Refused(vec![0]));
    });
}

#[test]
fn a_cursor_that_no_list_gave_is_refused_for_good() {
    let (store, fixture) = (store(), Fixture::new());
    block_on(async {
        let page = PageRequest {
            limit: 2,
            cursor: Some("nonsense".to_owned()),
        };
        let (all, conversation) = (ConversationFilter::default(), fixture.conversation(1).id);
        let found = store.search_conversations(&all, &page).await;
        assert!(!found.unwrap_err().is_retryable());
        let found = store.list_messages(&conversation, &page).await;
        assert!(!found.unwrap_err().is_retryable());
    });
}

#[test]
fn a_dead_letter_whose_record_cannot_be_read_is_listed_all_the_same() {
    block_on(damaged_letter_story::a_damaged_letter_is_listed_and_deleted(
        &store(),
    ));
}

#[test]
fn what_is_overdue_comes_from_every_table_the_longest_first() {
    let (store, fixture, owing) = (store(), Fixture::new(), Fixture::new());
    block_on(async {
        let (conversation, reply) = commit_first(&store, &fixture).await; // due after 5 minutes
        let mut owed = owing.conversation(1); // 6
        owed.receive_message(true, minutes(1)).unwrap();
        owed.rev = 1;
        let _ = succeed(store.update_conversation(&owed, &[])).await;
        let _ = succeed(store.record_event(&fixture.job())).await; // 2
        let closed = seen(ConnectionStatus::Closed, minutes(0), Some(minutes(3)));
        let closed = InstanceChange::Connection(closed);
        assert!(change_instance(&store, fixture.instance(), closed).await.done);
        let parked = parked(&fixture, conversation);
        succeed(store.put_parked(&parked)).await;
        let kind = |work: &OverdueWork| match work {
            OverdueWork::Event(_) => "event",
            OverdueWork::Outgoing { ordinal, .. } if *ordinal == reply.ordinal => "outgoing",
            OverdueWork::Owed(id) if *id == owed.id => "owed",
            OverdueWork::Probe(_) => "probe",
            OverdueWork::Parked(entry) if *entry == parked => "parked",
            _ => "wrong",
        };
        let overdue = async |now, limit| {
            let work = succeed(store.list_overdue(now, limit)).await;
            work.iter().map(kind).collect::<Vec<_>>()
        };
        let all = ["event", "probe", "parked", "outgoing", "owed"];
        assert_eq!(overdue(minutes(6), 10).await, all);
        let one_of_each = overdue(minutes(6), 1).await;
        assert_eq!(one_of_each.len(), 5, "much of one kind hides nothing of another");
        assert_eq!(overdue(minutes(2), 10).await, ["event"]);
    });
}

#[test]
fn an_event_whose_record_cannot_be_read_hides_no_other_and_can_be_settled() {
    for damaged in DAMAGED {
        let (store, fixtures) = (store(), [Fixture::new(), Fixture::new()]);
        block_on(async {
            let jobs = fixtures.map(|fixture| InboundJob {
                external: fixture.external(),
                ..fixture.job()
            });
            for job in &jobs {
                let _ = succeed(store.record_event(job)).await;
            }
            let id = jobs[0].event.clone();
            let damage = move |c: &rusqlite::Connection| {
                execute_sql(
                    c,
                    &format!("UPDATE events SET body = {damaged} WHERE id = ?1"),
                    [id.as_str()],
                )
            };
            assert_eq!(store.run_write("damage", damage).await.unwrap(), 1);
            damaged_event_story::a_damaged_event_hides_no_other_and_can_be_settled(&store, &jobs).await;
        });
    }
}

/// Text that is no record: no JSON, JSON of another form, bytes that are no text, and JSON that is nested too deeply.
const DAMAGED: [&str; 4] = [
    "'{'",
    "'{}'",
    "CAST(x'7bff' AS TEXT)",
    "printf('%.*c', 1500, '[') || printf('%.*c', 1500, ']')",
];

/// The record of a tenant whose sender of e-mails is of a kind that there was once.
const SENDS_BY_SES: &str =
    r#"json_set(body, '$.email_senders', json('[{"id":"mail","kind":"ses","from":"a@b.example"}]'))"#;

#[test]
fn a_damaged_entry_of_the_configuration_is_passed_over_and_can_be_written_anew() {
    for table in ["tenants", "agents", "instances"] {
        let by_ses = (table == "tenants").then_some(SENDS_BY_SES);
        for damaged in DAMAGED.into_iter().chain(by_ses) {
            let (store, fixture) = (store(), Fixture::new());
            let entries = ConfigDocument {
                tenants: vec![fixture.bound.tenant.clone()],
                agents: vec![fixture.bound.agent.clone()],
                instances: vec![fixture.bound.instance.clone()],
                ..ConfigDocument::default()
            };
            let nothing = ConfigRemoval::default();
            let names = ConfigNames::of_written(&entries, &nothing);
            block_on(async {
                succeed(put_configuration(&store, &entries)).await;
                let spoil = move |c: &rusqlite::Connection| {
                    let sql = format!("UPDATE records SET body = {damaged} WHERE partition = '{table}#'");
                    assert_eq!(c.execute(&sql, [])?, 1);
                    Ok(())
                };
                succeed(store.run_write("spoil", spoil)).await;
                let known = succeed(find_named_entries(&store, &names)).await;
                assert_ne!(known, entries, "{table} {damaged}");
                let replaced = replace_configuration(&store, &entries, &nothing, &known);
                assert_eq!(
                    succeed(replaced).await,
                    WriteOutcome::Written,
                    "{table} {damaged}"
                );
                assert_eq!(succeed(find_named_entries(&store, &names)).await, entries);
            });
        }
    }
}

#[test]
fn damaged_prices_are_passed_over_and_can_be_written_anew() {
    for damaged in DAMAGED {
        let store = store();
        let entries = ConfigDocument {
            prices: Some(PriceList::default()),
            ..ConfigDocument::default()
        };
        let names = ConfigNames {
            prices: true,
            ..ConfigNames::default()
        };
        block_on(async {
            succeed(put_configuration(&store, &entries)).await;
            let sql = format!("UPDATE records SET body = {damaged} WHERE partition = 'prices#'");
            let spoil = move |c: &rusqlite::Connection| Ok(c.execute(&sql, [])?);
            assert_eq!(succeed(store.run_write("spoil", spoil)).await, 1);
            assert_eq!(
                succeed(find_named_entries(&store, &names)).await.prices,
                None,
                "{damaged}"
            );
            assert!(load_configuration(&store, None).await.is_ok(), "{damaged}");
            succeed(put_configuration(&store, &entries)).await;
            assert_eq!(
                succeed(find_named_entries(&store, &names)).await,
                entries,
                "{damaged}"
            );
        });
    }
}

/// Messages, opt-outs and journals stay errors.
#[test]
fn damaged_records_of_the_run_time_count_as_none_and_are_written_anew() {
    for damaged in DAMAGED {
        let (store, fixture) = (store(), Fixture::new());
        let (id, tenant) = (fixture.instance().clone(), fixture.bound.tenant.id.clone());
        block_on(async {
            let mut places = succeed(find_turn_places(&store, &tenant)).await;
            let first = write_record(&store, &mut places);
            assert_eq!(succeed(first).await, WriteOutcome::Written);
            let closed = seen(ConnectionStatus::Closed, minutes(0), Some(minutes(3)));
            let closed = InstanceChange::Connection(closed);
            assert!(change_instance(&store, &id, closed.clone()).await.done);
            let spoil = move |c: &rusqlite::Connection| {
                for table in ["instance_states", "records"] {
                    assert_eq!(c.execute(&format!("UPDATE {table} SET body = {damaged}"), [])?, 1);
                }
                Ok(())
            };
            succeed(store.run_write("spoil", spoil)).await;
            let state = succeed(store.read_instance_state(&id)).await;
            assert_eq!(state.connection, ConnectionStatus::Open, "{damaged}");
            assert!(change_instance(&store, &id, closed).await.done, "{damaged}");
            let state = succeed(store.read_instance_state(&id)).await;
            assert_eq!(state.connection, ConnectionStatus::Closed, "{damaged}");
            let mut damaged_places = succeed(find_turn_places(&store, &tenant)).await;
            assert_eq!(damaged_places.record, places.record, "{damaged}");
            let anew = write_record(&store, &mut damaged_places);
            assert_eq!(succeed(anew).await, WriteOutcome::Written, "{damaged}");
            let found = succeed(find_turn_places(&store, &tenant)).await;
            assert_eq!(found, damaged_places, "{damaged}");
        });
    }
}

#[test]
fn an_instance_is_found_without_a_tool_and_without_knowledge_that_cannot_be_read() {
    for damaged in DAMAGED {
        let (store, mut fixture) = (store(), Fixture::new());
        let (tenant, agent) = (fixture.bound.tenant.id.clone(), fixture.bound.agent.id.clone());
        let tool = json!({
            "id": "slots", "tenant": tenant, "description": "Finds free slots.", "effect": "reads",
            "http": {"url": "https://tool.example/slots"},
        });
        fixture.bound.tools = vec![serde_json::from_value(tool).unwrap()];
        fixture.bound.agent.tools = fixture.bound.tools.iter().map(|tool| tool.id.clone()).collect();
        let mut knowledge = AgentKnowledge::begin(tenant, agent, nonce());
        knowledge.begin_snapshot(SnapshotName::from_random_bits(7), at(0), &[]);
        block_on(async {
            succeed(put_configuration(&store, &fixture.document())).await;
            let saved = succeed(write_record(&store, &mut Versioned::new(knowledge))).await;
            assert_eq!(saved, WriteOutcome::Written);
            let spoil = move |c: &rusqlite::Connection| {
                for kind in ["tools#", "knowledge#%"] {
                    let sql = format!("UPDATE records SET body = {damaged} WHERE partition LIKE '{kind}'");
                    assert_eq!(c.execute(&sql, [])?, 1);
                }
                Ok(())
            };
            succeed(store.run_write("spoil", spoil)).await;
            let found = succeed(find_config_by_id(&store, fixture.instance()))
                .await
                .unwrap();
            assert!(found.tools.is_empty() && found.knowledge.is_none(), "{damaged}");
        });
    }
}

#[test]
fn a_damaged_row_of_any_table_stops_neither_the_start_nor_what_looks_at_all() {
    for damaged in DAMAGED {
        let (store, fixture) = (store(), Fixture::new());
        block_on(async {
            let sound = Fixture::new();
            for one in [&sound, &fixture] {
                let (conversation, _) = commit_first(&store, one).await;
                let _ = succeed(store.record_event(&one.job())).await;
                succeed(store.put_parked(&parked(one, conversation))).await;
                let closed = seen(ConnectionStatus::Closed, minutes(0), Some(minutes(3)));
                let closed = InstanceChange::Connection(closed);
                assert!(change_instance(&store, one.instance(), closed).await.done);
            }
            let spoil = move |c: &rusqlite::Connection| {
                for table in ["messages", "conversations", "events", "parked", "instance_states"] {
                    let sql = format!(
                        "UPDATE {table} SET body = {damaged} WHERE rowid = (SELECT max(rowid) FROM {table})"
                    );
                    assert_eq!(c.execute(&sql, [])?, 1, "{table}");
                }
                Ok(())
            };
            succeed(store.run_write("spoil", spoil)).await;
            let instances = [sound.bound.instance.clone(), fixture.bound.instance.clone()];
            for of in [None, Some(&instances[..])] {
                let open = succeed(store.read_open_work(of, 10)).await;
                let counts = (open.messages.len(), open.events.len(), open.parked.len());
                assert_eq!(counts, (1, 1, 1), "{damaged}");
                assert_eq!(open.messages[0].instance, *sound.instance());
            }
            let troubled = succeed(store.list_troubled_instances(10)).await;
            // Every field of a state has a default: without any it is still a state.
            let readable = if damaged == "'{}'" { 2 } else { 1 };
            assert_eq!(troubled.states.len(), readable, "{damaged}");
            let ids = instances.map(|instance| instance.id);
            assert_eq!(succeed(store.read_instance_states(&ids)).await.len(), readable);
            let work = succeed(store.list_overdue(minutes(60), 10)).await;
            assert!(
                work.iter()
                    .any(|work| matches!(work, OverdueWork::Outgoing { .. }))
            );
            let all = PageRequest::first(10);
            let page = succeed(store.search_conversations(&ConversationFilter::default(), &all)).await;
            assert_eq!(page.items.len(), 1, "{damaged}");
            assert!(store.measure_clock_lag().await.is_ok(), "{damaged}");
            assert!(store.recover_after_crash().await.is_ok(), "{damaged}");
            assert!(store.adjust_to_set_back_clock().await.is_ok(), "{damaged}");
            let restored = |c: &rusqlite::Connection| super::doubt_restored_rows(c, at(1), at(2));
            let counts = store.run_write("restored", restored).await.unwrap();
            assert_eq!(counts.messages, 1, "{damaged}");
        });
    }
}

#[test]
fn a_contacts_message_is_not_written_as_one_of_ours() {
    let (store, fixture) = (store(), Fixture::new());
    block_on(async {
        let mut conversation = fixture.conversation(1);
        let message = fixture.inbound(&mut conversation, &fixture.job());
        let refused = store.save_open_message(&message, None).await;
        assert!(!refused.unwrap_err().is_retryable());
    });
}

#[test]
fn a_record_that_cannot_be_read_hides_nothing_else_that_is_overdue() {
    let (store, fixture) = (store(), Fixture::new());
    block_on(async {
        let (conversation, reply) = commit_first(&store, &fixture).await;
        succeed(store.put_parked(&parked(&fixture, conversation))).await;
        let spoil = "UPDATE parked SET body = '{'";
        let spoilt = succeed(store.run_write("spoil", |c| execute_sql(c, spoil, []))).await;
        assert_eq!(spoilt, 1);
        let found = succeed(store.list_overdue(minutes(60), 10)).await;
        let expected = OverdueWork::Outgoing {
            conversation: reply.conversation,
            ordinal: reply.ordinal,
        };
        assert_eq!(found, [expected]);
    });
}

//! A removed tenant is nowhere: not in a record, a queue, a file of the data folder or its free pages, whenever the removal
//! was cut off before. What another tenant has stays as it is, row for row.

use crate::erasure::{CANARIES, NUMBER, OTHERS, Site, cut_off};
use recado_configuration::ApplyOptions;
use recado_domain::access::{Caller, Scope, Token, TokenRole};
use recado_domain::alert::{Alert, AlertSubject, Notification};
use recado_domain::contact::ContactAddress;
use recado_domain::dead_letter::DeadLetter;
use recado_domain::event::{EventKind, EventPayload, EventState, InboundJob, derive_event_id};
use recado_domain::ids::{ConversationId, TenantId, TokenName};
use recado_domain::millis::add_millis;
use recado_domain::notice::{NewNotice, Notice, NoticeKind};
use recado_domain::sample::MinuteSample;
use recado_knowledge::{NewDocument, add_source};
use recado_pipeline::ports::{Conversations, Inbox, Queues, WriteOutcome};
use recado_pipeline::records::alerts::commit_alerts;
use recado_pipeline::records::configuration::{load_configuration, put_configuration};
use recado_pipeline::records::dead_letters::{find_dead_letter, put_dead_letter};
use recado_pipeline::records::notices::put_notice;
use recado_pipeline::records::samples::put_samples;
use recado_pipeline::records::tokens::put_token;
use recado_pipeline::records::turn_places::find_turn_places;
use recado_pipeline::table::write_record;
use recado_pipeline::{Verdict, process};
use recado_tenant_removal::{RemovalError, RemovalOptions, RemovalReport, remove_tenant};
use recado_testkit::builders::{Fixture, far_ahead, fresh, identity_key, nonce};
use recado_testkit::ports::succeed;
use recado_testkit::stored_effect::store_booking;
use recado_testkit::stored_guest::{GivenGuest, store_invited_guest, store_opt_out};
use recado_testkit::stored_usage::store_used_reply;
use rusqlite::types::ValueRef;
use serde_json::json;
use std::collections::BTreeSet;
use std::num::NonZeroU32;

/// What belongs to the removed tenant itself.
const OWN: [&str; 3] = ["Clínica Canário", "instrucao-canaria", "recado-para-o-canario"];

const FORCE: RemovalOptions = RemovalOptions {
    force: true,
    dry_run: false,
};

/// Returns the kind of a row: its table, and for a record of the table of all kinds its partition without the tenant.
pub(crate) fn name_kind(row: &str) -> Option<&str> {
    let mut cells = row.split('|');
    match cells.next()? {
        "records" => cells.next()?.split('#').next(),
        table => Some(table),
    }
}

/// Two tenants, each with something in every kind of record.
pub(crate) struct Two {
    pub(crate) site: Site,
    pub(crate) theirs: Fixture,
}

impl Two {
    pub(crate) async fn live() -> Self {
        let site = Site::live().await;
        let store = &site.setup.world.store;
        let mut document = site.setup.fixture.document();
        document.tenants[0].name = Some(OWN[0].to_owned());
        OWN[1].clone_into(&mut document.agents[0].system_prompt);
        document.instances[0].account_id = Some("account-1".to_owned());
        succeed(put_configuration(store, &document)).await;
        let mut theirs = Fixture::new();
        theirs.bound.instance.account_id = Some("account-2".to_owned());
        succeed(put_configuration(store, &theirs.document())).await;
        let two = Self { site, theirs };
        two.message_of_theirs().await;
        two.beside(&two.site.setup.fixture, "account-1", OWN[2]).await;
        two.beside(&two.theirs, "account-2", "recado-aos-outros").await;
        two
    }

    fn tenant(&self) -> &TenantId {
        &self.site.setup.fixture.bound.tenant.id
    }

    /// The same person writes to the other tenant, too.
    async fn message_of_theirs(&self) {
        let job = self.job_of(&self.theirs, "THEIRS-1", "palavras-do-vizinho");
        succeed(self.site.setup.world.store.record_event(&job)).await;
        let body = serde_json::to_string(&job).unwrap();
        assert_eq!(
            process::process(&self.site.setup.world, &body, 1).await,
            Verdict::Done
        );
    }

    fn job_of(&self, fixture: &Fixture, id: &str, text: &str) -> InboundJob {
        let (provider, external) = (fixture.bound.instance.provider, fixture.external());
        InboundJob {
            event: derive_event_id(provider, &external, EventKind::Message, id),
            group: identity_key().derive_event_group(provider, &external, Some(NUMBER)),
            received_at: self.site.setup.now(),
            payload: EventPayload::Inline(
                json!({"address": NUMBER, "name": "Vizinha", "id": id, "text": text, "from_me": false}),
            ),
            ..fixture.job()
        }
    }

    /// What lies beside the conversations of a tenant.
    async fn beside(&self, fixture: &Fixture, account: &str, text: &str) {
        let (store, tenant, now) = (
            &self.site.setup.world.store,
            &fixture.bound.tenant.id,
            self.site.setup.now(),
        );
        let kept = DeadLetter {
            last_error: Some(text.to_owned()),
            ..fixture.dead_letter()
        };
        succeed(put_dead_letter(store, &kept)).await;
        succeed(self.site.setup.world.queues.enqueue_dead_copy(&kept)).await;
        let sample = MinuteSample::from_instances(now, Some(tenant.clone()), Vec::new());
        succeed(put_samples(store, &[sample], far_ahead())).await;
        let mut alert = Alert::for_test(now);
        alert.id = fresh("alert");
        alert.summary = text.to_owned();
        alert.subject = AlertSubject {
            tenant: Some(tenant.clone()),
            instance: Some(fixture.instance().clone()),
            conversation: None,
        };
        let notification = Notification::for_test(&fresh("pager"), Some(tenant.clone()), 7, now);
        let _ = succeed(commit_alerts(store, &[], &[alert], &[notification])).await;
        let told = NewNotice {
            kind: NoticeKind::TemplateStatus,
            summary: text.to_owned(),
            at: Some(now),
            details: json!({}),
        };
        let provider = fixture.bound.instance.provider;
        let notice = Notice::with_derived_id(provider, account, told, now);
        succeed(put_notice(store, &notice, far_ahead())).await;
        let token = Token {
            name: TokenName::parse(text).unwrap(),
            tenant: Some(tenant.clone()),
            role: TokenRole::Viewer,
            hash: identity_key().hash_token(&fresh("token")),
            created_at: now,
            created_by: TokenName::installation(),
            expires_at: None,
        };
        assert!(succeed(put_token(store, &token)).await);
        let unseen = fixture.conversation(9);
        store_booking(store, &unseen, (text, text), None, now).await;
        let document = NewDocument {
            title: text.to_owned(),
            content_type: None,
            bytes: text.as_bytes().to_vec(),
        };
        let agent = &fixture.bound.agent.id;
        add_source(&self.site.setup.world, &Caller::installation(), agent, document)
            .await
            .unwrap();
        self.guests_and_sums(fixture, text).await;
    }

    /// A guest with an invitation, an opt-out, the use of a model on a day, and the place of a turn.
    async fn guests_and_sums(&self, fixture: &Fixture, text: &str) {
        let (store, now) = (&self.site.setup.world.store, self.site.setup.now());
        let given = GivenGuest {
            id: None,
            occasion: text,
            phone: None,
            name: text,
            email: "convidada@correio.example",
        };
        store_invited_guest(store, fixture, given, now).await;
        store_opt_out(store, fixture, text, now).await;
        let id = self.find_conversation(fixture).await;
        let mut conversation = succeed(store.find_conversation(&id)).await.unwrap();
        let fixture = &Fixture {
            address: ContactAddress::parse(NUMBER).unwrap(),
            ..fixture.clone()
        };
        store_used_reply(store, fixture, &mut conversation, (text, now)).await;
        let mut places = succeed(find_turn_places(store, &fixture.bound.tenant.id)).await;
        let until = add_millis(now, 95_000);
        let turn = (&id, &nonce());
        places.record.ask_for_place(NonZeroU32::MAX, turn, now, until);
        let written = succeed(write_record(store, &mut places)).await;
        assert_eq!(written, WriteOutcome::Written);
    }

    /// Returns the newest conversation in which the person's messages to this instance go on.
    pub(crate) async fn find_conversation(&self, fixture: &Fixture) -> ConversationId {
        let mut thread = identity_key().derive_thread_id(fixture.instance(), NUMBER);
        loop {
            let latest = succeed(self.site.setup.world.store.find_latest_conversation(&thread)).await;
            let latest = latest.unwrap();
            match latest.linked.moved_to {
                Some(moved_to) => thread = moved_to.thread_id().clone(),
                None => return latest.id,
            }
        }
    }

    async fn ask(&self, options: RemovalOptions) -> Result<RemovalReport, RemovalError> {
        remove_tenant(
            &self.site.setup.world,
            &Caller::installation(),
            self.tenant(),
            options,
        )
        .await
    }

    /// Asks until nothing is left. Returns the reports.
    pub(crate) async fn remove(&self) -> Vec<RemovalReport> {
        let mut reports = Vec::new();
        loop {
            let report = self.ask(FORCE).await.unwrap();
            if let Some(until) = report.waits_until {
                let wait = until.duration_since(self.site.setup.now()).as_secs();
                self.site.setup.pass(wait);
            }
            let done = report.done;
            reports.push(report);
            assert!(reports.len() < 100, "no end: {reports:?}");
            if done {
                return reports;
            }
        }
    }

    fn canaries() -> Vec<&'static str> {
        // The same person is known to the other tenant, too.
        let shared = |text: &&&str| NUMBER.starts_with(**text);
        let people = CANARIES.iter().filter(|text| !shared(text)).chain(&OTHERS);
        people.chain(&OWN).copied().collect()
    }

    fn assert_removed(&self) {
        let found = self.site.search(&Self::canaries());
        assert!(found.is_empty(), "{found:?}");
        let left: Vec<String> = self.rows().into_iter().filter(|row| self.is_own(row)).collect();
        // The entries, and what leads to them.
        let is_of_audit = |row: &String| row.starts_with("records|audit");
        assert!(left.iter().all(is_of_audit), "{left:?}");
        let removals = left.iter().filter(|row| row.contains("tenant_removed")).count();
        // Twice, if it was cut off right at its beginning.
        assert!(
            (1..=2).contains(&removals),
            "the removal is in the audit: {left:?}"
        );
    }

    pub(crate) fn is_own(&self, row: &str) -> bool {
        let fixture = &self.site.setup.fixture;
        let texts = [
            fixture.bound.tenant.id.as_str(),
            fixture.instance().as_str(),
            fixture.external().as_str(),
        ]
        .map(str::to_owned);
        let thread = identity_key().derive_thread_id(fixture.instance(), NUMBER);
        texts.iter().any(|text| row.contains(text.as_str())) || row.contains(thread.as_str())
    }

    pub(crate) fn is_theirs(&self, row: &str) -> bool {
        let thread = identity_key().derive_thread_id(self.theirs.instance(), NUMBER);
        [
            self.theirs.bound.tenant.id.as_str(),
            self.theirs.instance().as_str(),
            self.theirs.external().as_str(),
            thread.as_str(),
            "account-2",
        ]
        .iter()
        .any(|text| row.contains(text))
    }

    pub(crate) fn rows_of_others(&self) -> BTreeSet<String> {
        self.rows()
            .into_iter()
            .filter(|row| self.is_theirs(row))
            .collect()
    }

    pub(crate) fn assert_others_kept(&self, before: &BTreeSet<String>) {
        let after = self.rows_of_others();
        let changed: Vec<&String> = before.symmetric_difference(&after).collect();
        assert!(changed.is_empty(), "{changed:#?}");
    }

    /// All rows of all tables, as text.
    pub(crate) fn rows(&self) -> BTreeSet<String> {
        let database = rusqlite::Connection::open(self.site.folder.join("recado.db")).unwrap();
        let mut tables = database
            .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
            .unwrap();
        let tables: Vec<String> = tables
            .query_map([], |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let mut found = BTreeSet::new();
        for table in tables {
            let mut statement = database.prepare(&format!("SELECT * FROM {table}")).unwrap();
            // A copy in a dead-letter queue is hidden for a while by whoever looks at it.
            let hidden_until = statement.column_names().position(|name| name == "visible_at");
            let columns = statement.column_count();
            let mut rows = statement.query([]).unwrap();
            while let Some(row) = rows.next().unwrap() {
                let columns = (0..columns).filter(|column| Some(*column) != hidden_until);
                let cells = columns.map(|column| match row.get_ref(column).unwrap() {
                    ValueRef::Null => "-".to_owned(),
                    ValueRef::Integer(number) => number.to_string(),
                    ValueRef::Real(number) => number.to_string(),
                    ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                        String::from_utf8_lossy(bytes).into_owned()
                    }
                });
                let text = std::iter::once(table.clone())
                    .chain(cells)
                    .collect::<Vec<_>>()
                    .join("|");
                found.insert(text);
            }
        }
        found
    }
}

#[tokio::test]
async fn a_removed_tenant_stands_in_no_byte_of_the_data_folder_and_the_other_keeps_every_row() {
    let two = Box::pin(Two::live()).await;
    for canary in Two::canaries() {
        assert!(
            !two.site.search(&[canary]).is_empty(),
            "{canary} must be there before"
        );
    }
    let before = two.rows_of_others();
    let kinds: BTreeSet<&str> = before.iter().filter_map(|row| name_kind(row)).collect();
    assert!(kinds.len() >= 19, "{kinds:?}");
    let reports = two.remove().await;
    assert!(
        reports[0].waits_until.is_some() && reports[0].tokens == 1,
        "{reports:?}"
    );
    let last = reports.last().unwrap();
    assert_eq!((last.instances, last.agents), (1, 1), "{reports:?}");
    let sum = |of: fn(&RemovalReport) -> usize| reports.iter().map(of).sum::<usize>();
    assert!(
        sum(|report| report.messages) >= 6 && sum(|report| report.conversations) >= 3,
        "{reports:?}"
    );
    assert!(
        sum(|report| report.dead_letters) >= 3 && sum(|report| report.records) >= 4,
        "{reports:?}"
    );
    two.assert_removed();
    two.assert_others_kept(&before);
    assert!(matches!(two.ask(FORCE).await, Err(RemovalError::NotFound)));
}

#[tokio::test]
async fn a_removal_that_is_cut_off_anywhere_is_finished_by_the_next_one() {
    for calls_before in 0..=1 {
        let mut polls = 1;
        loop {
            let two = Box::pin(Two::live()).await;
            let before = two.rows_of_others();
            for _ in 0..calls_before {
                two.ask(FORCE).await.unwrap();
                two.site.setup.pass(300);
            }
            let ended = cut_off(two.ask(FORCE), polls).await;
            // A write of what was cut off may come between those of the next call, which is repeated then.
            let mut calls = 0;
            loop {
                match two.ask(FORCE).await {
                    Err(RemovalError::NotFound) => break,
                    Err(error) => assert!(matches!(error, RemovalError::Port(_)), "{error:?}"),
                    Ok(_) => {}
                }
                two.site.setup.pass(300);
                calls += 1;
                assert!(calls < 20, "no end");
            }
            two.assert_removed();
            two.assert_others_kept(&before);
            if ended {
                break;
            }
            polls += 1;
        }
    }
}

#[tokio::test]
async fn a_tenant_that_owes_replies_is_removed_by_force_alone() {
    let two = Box::pin(Two::live()).await;
    let refused = two.ask(RemovalOptions::default()).await.unwrap_err();
    let RemovalError::StillOwes(owed) = &refused else {
        panic!("{refused}")
    };
    assert_eq!(owed.len(), 1);
    assert!(refused.to_string().contains("still owed: "), "{refused}");
    let there_is = RemovalOptions {
        force: false,
        dry_run: true,
    };
    let found = two.ask(there_is).await.unwrap();
    assert_eq!(
        (found.instances, found.agents, found.tokens, found.scheduled),
        (1, 1, 1, 1)
    );
    assert!(
        found.conversations >= 2 && found.dead_letters >= 3 && !found.done,
        "{found:?}"
    );
    let document = succeed(load_configuration(
        &two.site.setup.world.store,
        Some(two.tenant()),
    ))
    .await;
    assert_eq!(document.tenants[0].removing_since, None, "nothing was done");
    assert!(!two.site.search(&CANARIES).is_empty());
}

#[tokio::test]
async fn webhooks_of_a_tenant_that_is_being_removed_and_later_ones_are_acknowledged_and_ignored() {
    let two = Box::pin(Two::live()).await;
    let (store, world) = (&two.site.setup.world.store, &two.site.setup.world);
    let own = two.site.setup.fixture.clone();
    let arrives = async |id: &str| {
        let job = two.job_of(&own, id, "segredo-canario tardio");
        succeed(store.record_event(&job)).await;
        let body = serde_json::to_string(&job).unwrap();
        assert_eq!(process::process(world, &body, 1).await, Verdict::Done);
        let record = succeed(store.find_event(&job.event)).await.unwrap();
        assert_eq!(record.state, EventState::Applied);
        assert!(
            succeed(find_dead_letter(store, job.event.as_str()))
                .await
                .is_none()
        );
    };
    two.ask(FORCE).await.unwrap();
    arrives("LATE-1").await;
    two.remove().await;
    arrives("LATE-2").await;
    let thread = identity_key().derive_thread_id(own.instance(), NUMBER);
    assert!(succeed(store.find_latest_conversation(&thread)).await.is_none());
    two.site.setup.pass(31 * 86_400);
    let job = two.job_of(&own, "LATE-3", "palavras de ninguém");
    succeed(store.record_event(&job)).await;
    let body = serde_json::to_string(&job).unwrap();
    assert_eq!(process::process(world, &body, 1).await, Verdict::Done);
    let letter = succeed(find_dead_letter(store, job.event.as_str())).await;
    assert!(letter.is_some(), "an unknown instance again");
}

#[tokio::test]
async fn nothing_of_a_tenant_that_is_being_removed_can_be_configured() {
    let two = Box::pin(Two::live()).await;
    two.ask(FORCE).await.unwrap();
    let world = &two.site.setup.world;
    let installation = Caller::installation();
    let document = two.site.setup.fixture.document();
    let applied =
        recado_configuration::apply_configuration(world, &installation, document, ApplyOptions::default())
            .await;
    assert!(applied.unwrap_err().to_string().contains("is being removed"));
    // A document that names everything but this tenant removes nothing of it.
    let options = ApplyOptions {
        prune: true,
        force: true,
        ..ApplyOptions::default()
    };
    let others = two.theirs.document();
    let pruned = recado_configuration::apply_configuration(world, &installation, others, options).await;
    assert!(
        pruned
            .unwrap()
            .changes
            .iter()
            .all(|change| change.fields.is_empty())
    );
    let left = succeed(load_configuration(&world.store, Some(two.tenant()))).await;
    assert_eq!(
        (left.tenants.len(), left.agents.len(), left.instances.len()),
        (1, 1, 1)
    );
    two.remove().await;
    two.assert_removed();
}

#[tokio::test]
async fn only_the_installation_removes_tenants() {
    let two = Box::pin(Two::live()).await;
    let caller = |tenant: &TenantId| Caller {
        scope: Scope::Tenant(tenant.clone()),
        ..Caller::installation()
    };
    let world = &two.site.setup.world;
    let own = remove_tenant(world, &caller(two.tenant()), two.tenant(), FORCE).await;
    assert!(matches!(own, Err(RemovalError::OtherScope)));
    let other = caller(&two.theirs.bound.tenant.id);
    let other = remove_tenant(world, &other, two.tenant(), FORCE).await;
    assert!(matches!(other, Err(RemovalError::NotFound)));
    let nobody = TenantId::parse("nobody").unwrap();
    let nobody = remove_tenant(world, &Caller::installation(), &nobody, FORCE).await;
    assert!(matches!(nobody, Err(RemovalError::NotFound)));
}

//! Damaged records of invitations and occasions: what is told and answered beside them goes on, and a document writes them anew.

use crate::batches::{self, expand, phone, progress, take};
use crate::invitations::{fill, invite, leave, message_of, occasion_id, page, request, try_invite};
use crate::world::Setup;
use recado_configuration::{ApplyOptions, EntryMatch, apply_configuration, remove_entry};
use recado_domain::access::{Caller, Token, TokenRole};
use recado_domain::config::{ConfigDocument, Instance};
use recado_domain::dead_letter::{DeadLetter, DeadLetterContent};
use recado_domain::ids::TokenName;
use recado_domain::invitations::{Guest, Invitation, Occasion, parse_guest_list};
use recado_embedded::Embedded;
use recado_invitations::{InvitationRequest, LogFilter, NamedGuest};

use recado_access::revoke_token;
use recado_dead_letters::DeadLetterSelection;
use recado_pipeline::reconcile::reconcile;
use recado_pipeline::records::configuration::{BY_EXTERNAL, find_config_by_id, put_configuration};
use recado_pipeline::records::dead_letters::{DeadLetterFilter, list_dead_letters, put_dead_letter};
use recado_pipeline::records::occasions::find_occasion;
use recado_pipeline::records::tokens::{find_token, put_token};
use recado_pipeline::table::{Partition, Query, Record, Table};
use recado_tenant_removal::{RemovalOptions, RemovalReport, remove_tenant};
use recado_testkit::builders::{Fixture, address, fresh, identity_key};
use recado_testkit::ports::succeed;
use std::path::{Path, PathBuf};

/// An installation in a data folder, with the occasion `ev_demo`.
struct Site {
    setup: Setup,
    folder: PathBuf,
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Site {
    async fn open() -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(fresh("damaged"));
        let opened = Setup::set_on(Fixture::new(), |clock| {
            Embedded::open_folder(&folder, clock).unwrap()
        });
        let setup = fill(opened.await).await;
        Self { setup, folder }
    }

    /// Damages one record of a table.
    fn damage(&self, table: &str) {
        let database = rusqlite::Connection::open(self.folder.join("recado.db")).unwrap();
        let sql = format!("UPDATE {table} SET body = '{{' WHERE body = (SELECT max(body) FROM {table})");
        assert_eq!(database.execute(&sql, []).unwrap(), 1, "{table}");
    }

    /// Damages the only record of a kind of the table.
    fn damage_kind(&self, kind: &str) {
        let database = rusqlite::Connection::open(self.folder.join("recado.db")).unwrap();
        let sql = format!("UPDATE records SET body = '{{' WHERE partition GLOB '{kind}#*'");
        assert_eq!(database.execute(&sql, []).unwrap(), 1, "{kind}");
    }

    /// Removes a part of the tenant.
    async fn remove_tenant(&self) -> RemovalReport {
        let caller = Caller::installation();
        let options = RemovalOptions {
            force: true,
            dry_run: false,
        };
        let tenant = &self.setup.fixture.bound.tenant.id;
        let removes = remove_tenant(&self.setup.world, &caller, tenant, options);
        Box::pin(removes).await.unwrap()
    }

    async fn count_listed(&self) -> [usize; 2] {
        let (deps, caller) = (&self.setup.world, Caller::installation());
        let listed = recado_invitations::list_invitations(deps, &caller, None, &occasion_id(), &page()).await;
        let log =
            recado_invitations::export_invitations(deps, &caller, None, &LogFilter::default(), &page()).await;
        [listed.unwrap().items.len(), log.unwrap().items.len()]
    }
}

#[tokio::test]
async fn an_answer_is_taken_though_the_record_that_it_answers_cannot_be_read() {
    for (kind, is_invited) in [(Guest::KIND, true), (Occasion::KIND, false)] {
        let site = Site::open().await;
        let setup = &site.setup;
        if is_invited {
            leave(setup, &message_of(&invite(setup).await)).await;
        } else {
            let phone = setup.fixture.address.phone_number().unwrap();
            let rows = parse_guest_list(&format!("id,phone\ng1,{phone}\n")).unwrap();
            let (caller, occasion) = (Caller::installation(), occasion_id());
            let added = recado_occasions::add_guests(&setup.world, &caller, None, &occasion, rows).await;
            assert_eq!(added.unwrap().added, 1);
        }
        site.damage_kind(kind);
        setup.pass(60);
        setup.message(&setup.fixture, "W1", "confirmo", false).await;
        let conversation = setup.latest_conversation().await.unwrap();
        assert!(conversation.owes_answer(), "{kind}");
    }
}

#[tokio::test]
async fn an_occasion_whose_record_cannot_be_read_is_written_anew_by_the_next_document() {
    let site = Site::open().await;
    let (setup, tenant) = (&site.setup, &site.setup.fixture.bound.tenant.id);
    let store = &setup.world.store;
    let known = succeed(find_occasion(store, tenant, &occasion_id())).await;
    let occasion = Occasion {
        name: Some("Open day".to_owned()),
        ..known.unwrap()
    };
    site.damage_kind(Occasion::KIND);
    assert!(find_occasion(store, tenant, &occasion_id()).await.is_err());
    let document = ConfigDocument {
        occasions: vec![occasion.clone()],
        ..ConfigDocument::default()
    };
    let (deps, caller) = (&setup.world, Caller::installation());
    let applied = apply_configuration(deps, &caller, document, ApplyOptions::default());
    Box::pin(applied).await.map(drop).unwrap();
    let found = succeed(find_occasion(store, tenant, &occasion_id())).await;
    assert_eq!(found, Some(occasion));
}

#[tokio::test]
async fn lists_of_deliveries_tell_the_others_though_a_message_cannot_be_read() {
    let site = Site::open().await;
    invite(&site.setup).await;
    let other = InvitationRequest {
        guest: NamedGuest::Phone(address().phone_number().unwrap()),
        ..request(&site.setup, None)
    };
    try_invite(&site.setup, other).await.unwrap();
    assert_eq!(site.count_listed().await, [2, 2]);
    site.damage("messages");
    assert_eq!(site.count_listed().await, [1, 1]);
}

#[tokio::test]
async fn a_batch_goes_on_though_the_invitation_of_a_guest_cannot_be_read() {
    let site = Site::open().await;
    let (setup, caller) = (&site.setup, Caller::installation());
    let list = format!("id,phone\ng0,+{}\ng1,+{}\n", phone(0), phone(1));
    let rows = parse_guest_list(&list).unwrap();
    let added = recado_occasions::add_guests(&setup.world, &caller, None, &occasion_id(), rows).await;
    assert_eq!(added.unwrap().added, 2);
    let first = take(setup, batches::request([0], None)).await.unwrap().batch.id;
    expand(setup, &first).await;
    site.damage_kind(Invitation::KIND);
    let later = take(setup, batches::request(0..2, None)).await.unwrap().batch.id;
    expand(setup, &later).await;
    let told = progress(setup, &later).await;
    assert_eq!(
        (told.counts.failed, told.counts.queued),
        (1, 1),
        "{:?}",
        told.counts
    );
    assert_eq!(progress(setup, &first).await.counts.failed, 1);
    let listed =
        recado_batches::list_batch_recipients(&setup.world, &caller, None, (&first, &[]), &page()).await;
    assert_eq!(listed.unwrap().items.len(), 1);
}

/// A list passes over a further record that cannot be read.
#[tokio::test]
async fn an_entry_can_be_removed_though_another_tenants_open_message_cannot_be_read() {
    let site = Site::open().await;
    let setup = &site.setup;
    invite(setup).await;
    site.damage("messages");
    site.damage("conversations");
    let (other, caller) = (Fixture::new(), Caller::installation());
    succeed(put_configuration(&setup.world.store, &other.document())).await;
    let id = other.instance().as_str();
    remove_entry::<Instance>(&setup.world, &caller, id, &EntryMatch::Any, false)
        .await
        .map(drop)
        .unwrap();
    assert!(
        succeed(find_config_by_id(&setup.world.store, other.instance()))
            .await
            .is_none()
    );
}

/// Such a record does not tell its other keys, so its copy is looked for among all.
#[tokio::test]
async fn a_token_whose_record_cannot_be_read_opens_nothing_once_it_is_revoked() {
    for with_its_tenant in [false, true] {
        let site = Site::open().await;
        let (setup, store) = (&site.setup, &site.setup.world.store);
        let tenant = &setup.fixture.bound.tenant.id;
        let token = Token {
            name: TokenName::parse("desk").unwrap(),
            tenant: Some(tenant.clone()),
            role: TokenRole::Operator,
            hash: identity_key().hash_token("recado_desk"),
            created_at: setup.now(),
            created_by: TokenName::installation(),
            expires_at: None,
        };
        assert!(succeed(put_token(store, &token)).await);
        site.damage_kind(Token::KIND);
        assert!(succeed(find_token(store, &token.hash)).await.is_some());
        if with_its_tenant {
            assert_eq!(site.remove_tenant().await.tokens, 1);
        } else {
            let caller = Caller::installation();
            let revokes = revoke_token(&setup.world, &caller, Some(tenant), &token.name);
            Box::pin(revokes).await.unwrap();
        }
        assert_eq!(succeed(find_token(store, &token.hash)).await, None);
    }
}

#[tokio::test]
async fn an_instance_that_cannot_be_read_leaves_no_copy_once_its_tenant_is_removed() {
    let site = Site::open().await;
    let copies = async || {
        let all = Query::new(Partition::new(BY_EXTERNAL, None), 10);
        succeed(site.setup.world.store.page(&all)).await.items.len()
    };
    site.damage_kind(<Instance as Record>::KIND);
    assert_eq!(copies().await, 1);
    let mut done = false;
    for _ in 0..20 {
        done = site.remove_tenant().await.done;
        site.setup.pass(600);
        if done {
            break;
        }
    }
    assert!(done);
    assert_eq!(copies().await, 0);
}

#[tokio::test]
async fn dead_letters_are_looked_at_though_the_record_that_one_names_cannot_be_read() {
    let site = Site::open().await;
    let (setup, store) = (&site.setup, &site.setup.world.store);
    let message = message_of(&invite(setup).await);
    let kept = DeadLetter {
        id: message.to_string(),
        what: DeadLetterContent::Message { message },
        ..setup.fixture.dead_letter()
    };
    for letter in [&kept, &setup.fixture.dead_letter()] {
        succeed(put_dead_letter(store, letter)).await;
    }
    site.damage("messages");
    let selection = DeadLetterSelection {
        filter: DeadLetterFilter::default(),
        ids: Vec::new(),
        limit: 10,
    };
    let caller = Caller::installation();
    let told = recado_dead_letters::forecast_redrive(&setup.world, &caller, &selection).await;
    assert_eq!(told.unwrap().selected, 2);
    // The first minute of a day on which the time of both is over.
    setup.pass(86_400 * 400 - setup.now().as_second().rem_euclid(86_400));
    reconcile(&setup.world).await.unwrap();
    let (all, first) = (DeadLetterFilter::default(), page());
    let left = list_dead_letters(store, &all, &first);
    let left: Vec<String> = succeed(left).await.items.into_iter().map(|one| one.id).collect();
    assert_eq!(left, [kept.id]);
}

//! The log of deliveries of a month, and since when pages about an occasion must be made anew.

use crate::batches::{self, add_guests, expand, take};
use crate::invitations::{
    invite, leave, message_of, occasion_id, page, request, setup, setup_of, try_invite, view,
};
use crate::unknown::failed;
use crate::world::Setup;
use recado_domain::access::Caller;
use recado_domain::contact::ContactAddress;
use recado_domain::delivery::{DeliveryKey, DeliveryStatus, StatusUpdate};
use recado_domain::ids::{GuestId, InvitationTemplateName, MessageId, OccasionId};
use recado_domain::invitations::{GuestStatus, InvitationStatus, LogMonth, parse_guest_list};
use recado_domain::provider::Provider;
use recado_domain::{SignedDuration, Timestamp};
use recado_invitations::{InvitationError, LogFilter, NamedGuest};
use recado_pipeline::Verdict;

use recado_pipeline::ports::{Conversations, OutboxStore, PageRequest};
use recado_pipeline::records::guests::find_guest;
use recado_pipeline::records::occasions::{find_occasion, list_invitation_templates};
use recado_pipeline::table::put_record;
use recado_testkit::builders::Fixture;
use recado_testkit::ports::succeed;

async fn export(setup: &Setup, filter: &LogFilter) -> Vec<(String, InvitationStatus)> {
    let (mut all, mut cursor) = (Vec::new(), None);
    loop {
        let page = PageRequest { limit: 1, cursor };
        let caller = Caller::installation();
        let found = recado_invitations::export_invitations(&setup.world, &caller, None, filter, &page)
            .await
            .unwrap();
        assert!(found.items.len() <= 1);
        let items = found.items.into_iter();
        all.extend(items.map(|view| (view.invitation.id.to_string(), view.status)));
        cursor = found.next_cursor;
        if cursor.is_none() {
            return all;
        }
    }
}

#[tokio::test]
async fn the_log_of_a_month_is_exported_by_event_template_and_status() {
    let setup = setup().await;
    let sent = invite(&setup).await;
    leave(&setup, &message_of(&sent)).await;
    setup.pass(60);
    let duplicate = invite(&setup).await;
    let (sent, duplicate) = (
        sent.invitation.id.to_string(),
        duplicate.invitation.id.to_string(),
    );
    let all = [
        (sent, InvitationStatus::Sent),
        (duplicate, InvitationStatus::Duplicate),
    ];
    assert_eq!(export(&setup, &LogFilter::default()).await, all);
    let of_status = |status| LogFilter {
        status: Some(status),
        ..LogFilter::default()
    };
    assert_eq!(export(&setup, &of_status(InvitationStatus::Sent)).await, all[..1]);
    assert_eq!(export(&setup, &of_status(InvitationStatus::Read)).await, []);
    let of_occasion = |id: &str| LogFilter {
        occasion: Some(OccasionId::parse(id).unwrap()),
        ..LogFilter::default()
    };
    assert_eq!(export(&setup, &of_occasion("ev_demo")).await, all);
    assert_eq!(export(&setup, &of_occasion("another")).await, []);
    let of_template = |name: &str| LogFilter {
        template: Some(InvitationTemplateName::parse(name).unwrap()),
        ..LogFilter::default()
    };
    assert_eq!(export(&setup, &of_template("invite")).await, all);
    assert_eq!(export(&setup, &of_template("another")).await, []);
    let of_month = |month: &str| LogFilter {
        month: Some(month.parse().unwrap()),
        ..LogFilter::default()
    };
    let present = LogMonth::of_instant(setup.now()).to_string();
    assert_eq!(export(&setup, &of_month(&present)).await, all);
    assert_eq!(export(&setup, &of_month("2020-01")).await, []);
}

async fn pages_changed_at(setup: &Setup) -> Option<Timestamp> {
    let caller = Caller::installation();
    let found = recado_occasions::find_occasion(&setup.world, &caller, None, &occasion_id())
        .await
        .unwrap();
    let listed = recado_occasions::list_occasions(&setup.world, &caller, None, &page())
        .await
        .unwrap();
    assert_eq!(listed.items, std::slice::from_ref(&found));
    found.pages_changed_at
}

#[tokio::test]
async fn an_answer_of_a_guest_tells_that_pages_must_be_made_anew() {
    let setup = setup().await;
    let first = invite(&setup).await;
    leave(&setup, &message_of(&first)).await;
    setup.pass(60);
    setup
        .message(&setup.fixture, "W1", "¿A qué hora es?", false)
        .await;
    assert_eq!(pages_changed_at(&setup).await, None);
    setup.pass(60);
    setup.message(&setup.fixture, "W2", "Sí voy", false).await;
    let confirmed = pages_changed_at(&setup).await.unwrap();
    assert!(confirmed <= setup.now());
    setup.pass(60);
    setup
        .message(&setup.fixture, "W3", "Sí voy, gracias", false)
        .await;
    assert_eq!(pages_changed_at(&setup).await, Some(confirmed), "nothing changed");
    setup.pass(60);
    setup
        .message(&setup.fixture, "W4", "Al final no podré ir", false)
        .await;
    assert!(pages_changed_at(&setup).await.unwrap() > confirmed);
}

#[tokio::test]
async fn an_unknown_occasion_is_called_by_its_id_where_the_template_has_no_words() {
    let setup = setup().await;
    let mut unknown = request(&setup, None);
    unknown.occasion = OccasionId::parse("ev_unknown").unwrap();
    let refused = try_invite(&setup, unknown.clone()).await.unwrap_err();
    assert!(matches!(refused, InvitationError::Template(_)), "{refused}");
    assert!(refused.to_string().contains("occasion_date") && !refused.to_string().contains("occasion_name"));
    let date = ("occasion_date".to_owned(), "5 de diciembre".to_owned());
    unknown.variables.extend([date]);
    let accepted = try_invite(&setup, unknown.clone()).await.unwrap();
    leave(&setup, &message_of(&accepted)).await;
    let said: Vec<String> = setup
        .world
        .providers
        .contents()
        .iter()
        .map(recado_domain::content::Content::render_text)
        .collect();
    assert_eq!(said, ["Hola amigo: ev_unknown es el 5 de diciembre."]);
    assert!(matches!(unknown.guest, NamedGuest::Phone(_)));
}

/// What the provider reports of the message of an invitation.
async fn report(setup: &Setup, message: &MessageId, status: DeliveryStatus) {
    let sent = succeed(setup.world.store.find_message(message)).await.unwrap();
    let id = sent.provider_message_id.unwrap();
    let provider = setup.fixture.bound.instance.provider;
    let update = StatusUpdate {
        key: DeliveryKey::from_provider_id(provider, &setup.fixture.external(), &id),
        status,
        at: setup.now(),
        provider_message_id: Some(id),
        detail: None,
    };
    let expires = setup.now() + SignedDuration::from_hours(24);
    succeed(setup.world.store.record_status(&update, expires, None)).await;
}

#[tokio::test]
async fn delivered_and_read_stand_in_the_log_for_as_long_as_the_invitation() {
    let setup = setup().await;
    let accepted = invite(&setup).await;
    let message = message_of(&accepted);
    leave(&setup, &message).await;
    for status in [DeliveryStatus::Delivered, DeliveryStatus::Read] {
        setup.pass(60);
        report(&setup, &message, status).await;
    }
    setup.pass(300 * 24 * 3_600);
    let shown = view(&setup, accepted.invitation.id.as_str()).await.unwrap();
    assert_eq!(shown.status, InvitationStatus::Read);
    let reached: Vec<_> = shown.transitions.iter().map(|(status, _)| *status).collect();
    assert!(reached.contains(&InvitationStatus::Delivered), "{reached:?}");
}

#[tokio::test]
async fn a_failure_that_the_provider_reports_stands_once_in_the_transitions() {
    let setup = setup().await;
    let accepted = invite(&setup).await;
    let message = message_of(&accepted);
    leave(&setup, &message).await;
    setup.pass(60);
    let sent = succeed(setup.world.store.find_message(&message)).await.unwrap();
    let id = sent.provider_message_id.clone().unwrap();
    let job = failed(&setup, &sent, &id).await;
    assert_eq!(setup.receive(&job, 1).await, Verdict::Done);
    let shown = view(&setup, accepted.invitation.id.as_str()).await.unwrap();
    let reached: Vec<_> = shown.transitions.iter().map(|(status, _)| *status).collect();
    assert_eq!(
        reached,
        [
            InvitationStatus::Queued,
            InvitationStatus::Processing,
            InvitationStatus::Sent,
            InvitationStatus::Failed
        ]
    );
}

/// Adds the setup's contact to the guests of an occasion, without inviting anybody.
async fn add_contact_as_guest(setup: &Setup, occasion: &OccasionId) {
    let phone = setup.fixture.address.phone_number().unwrap();
    let rows = parse_guest_list(&format!("id,phone\ng1,{phone}\n")).unwrap();
    let caller = Caller::installation();
    let added = recado_occasions::add_guests(&setup.world, &caller, None, occasion, rows).await;
    assert_eq!(added.unwrap().added, 1);
}

async fn status_of_guest(setup: &Setup, occasion: &OccasionId) -> GuestStatus {
    let tenant = &setup.fixture.bound.tenant.id;
    let guest = GuestId::parse("g1").unwrap();
    let found = succeed(find_guest(&setup.world.store, tenant, occasion, &guest)).await;
    found.unwrap().record.status
}

#[tokio::test]
async fn a_guest_whom_no_message_invited_confirms_by_a_clear_answer_and_takes_it_back() {
    let setup = setup().await;
    let occasion = occasion_id();
    add_contact_as_guest(&setup, &occasion).await;
    for (id, text, expected) in [
        ("W1", "Sí", GuestStatus::Pending),
        ("W2", "¿A qué hora es?", GuestStatus::Pending),
        ("W3", "Confirmo mi asistencia", GuestStatus::Confirmed),
        ("W4", "Al final no podré ir", GuestStatus::Declined),
    ] {
        setup.pass(60);
        setup.message(&setup.fixture, id, text, false).await;
        assert_eq!(status_of_guest(&setup, &occasion).await, expected, "{text}");
    }
}

#[tokio::test]
async fn an_answer_without_an_invitation_confirms_nobody_of_several_occasions_nor_of_one_that_is_over() {
    let setup = setup().await;
    let (first, second) = (occasion_id(), OccasionId::parse("ev_other").unwrap());
    let tenant = &setup.fixture.bound.tenant.id;
    let known = succeed(find_occasion(&setup.world.store, tenant, &first))
        .await
        .unwrap();
    let mut other = known.clone();
    other.id = second.clone();
    succeed(put_record(&setup.world.store, &other)).await;
    add_contact_as_guest(&setup, &first).await;
    add_contact_as_guest(&setup, &second).await;
    setup
        .message(&setup.fixture, "W1", "Confirmo mi asistencia", false)
        .await;
    for occasion in [&first, &second] {
        assert_eq!(status_of_guest(&setup, occasion).await, GuestStatus::Pending);
    }
    // Once the second is over, the first is the only one that can be meant.
    other.starts_at = Some("2020-01-05T18:00:00".parse().unwrap());
    succeed(put_record(&setup.world.store, &other)).await;
    setup.pass(60);
    setup
        .message(&setup.fixture, "W2", "Confirmo mi asistencia", false)
        .await;
    assert_eq!(status_of_guest(&setup, &first).await, GuestStatus::Confirmed);
    assert_eq!(status_of_guest(&setup, &second).await, GuestStatus::Pending);
}

/// A setup on a number of Meta whose template is a text.
async fn setup_with_text_on_meta() -> Setup {
    let mut fixture = Fixture::on(Provider::Meta);
    // As Meta writes a number: without a server.
    let digits = fixture.address.phone_number().unwrap();
    fixture.address = ContactAddress::parse(digits.trim_start_matches('+')).unwrap();
    let setup = setup_of(fixture).await;
    let (store, tenant) = (&setup.world.store, &setup.fixture.bound.tenant.id);
    for mut template in succeed(list_invitation_templates(store, tenant, None)).await {
        template.approved = None;
        template.text = Some("Hola: {{occasion_name}}".to_owned());
        succeed(put_record(store, &template)).await;
    }
    setup
}

#[tokio::test]
async fn a_text_to_whom_the_service_window_is_closed_is_refused_and_goes_out_once_the_guest_wrote() {
    let setup = setup_with_text_on_meta().await;
    let refused = try_invite(&setup, request(&setup, None)).await.unwrap_err();
    assert!(matches!(refused, InvitationError::WindowClosed), "{refused}");
    assert_eq!(setup.world.providers.sent(), 0);
    let logged = export(&setup, &LogFilter::default()).await;
    assert_eq!(
        logged.iter().map(|(_, status)| *status).collect::<Vec<_>>(),
        [InvitationStatus::Failed]
    );
    setup.message(&setup.fixture, "W1", "Hola", false).await;
    let accepted = try_invite(&setup, request(&setup, None)).await.unwrap();
    leave(&setup, &message_of(&accepted)).await;
    let shown = view(&setup, accepted.invitation.id.as_str()).await.unwrap();
    assert_eq!(shown.status, InvitationStatus::Sent);
}

#[tokio::test]
async fn a_text_of_a_batch_is_refused_too_where_the_service_window_is_closed() {
    let setup = add_guests(setup_with_text_on_meta().await, 3).await;
    let taken = take(&setup, batches::request(0..3, None)).await.unwrap();
    expand(&setup, &taken.batch.id).await;
    let logged = export(&setup, &LogFilter::default()).await;
    assert_eq!(logged.len(), 3);
    assert!(
        logged
            .iter()
            .all(|(_, status)| *status == InvitationStatus::Failed),
        "{logged:?}"
    );
}

//! The log of deliveries of a month, and since when pages about an occasion must be made anew.

use crate::invitations::{invite, leave, message_of, occasion_id, page, request, setup, try_invite};
use crate::world::Setup;
use recado_domain::Timestamp;
use recado_domain::access::Caller;
use recado_domain::ids::{InvitationTemplateName, OccasionId};
use recado_domain::invitations::{InvitationStatus, LogMonth};
use recado_pipeline::deliver::{self, InvitationError, LogFilter, NamedGuest};
use recado_pipeline::occasions;
use recado_pipeline::ports::PageRequest;

async fn export(setup: &Setup, filter: &LogFilter) -> Vec<(String, InvitationStatus)> {
    let (mut all, mut cursor) = (Vec::new(), None);
    loop {
        let page = PageRequest { limit: 1, cursor };
        let caller = Caller::installation();
        let found = deliver::export_invitations(&setup.world, &caller, None, filter, &page)
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
    let found = occasions::find_occasion(&setup.world, &caller, None, &occasion_id())
        .await
        .unwrap();
    let listed = occasions::list_occasions(&setup.world, &caller, None, &page())
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

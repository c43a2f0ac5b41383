//! Invitations to guests: each goes out once, becomes a message of its own, and an answer changes the guest.

use crate::world::Setup;
use recado_contacts::ContactQuery;
use recado_domain::access::Caller;
use recado_domain::content::{Content, MessageTemplate};
use recado_domain::delivery_rules::DeliveryRules;
use recado_domain::ids::{GuestId, IdempotencyKey, InvitationTemplateName, MessageId, OccasionId};
use recado_domain::invitations::{
    Guest, GuestStatus, InvitationChannel, InvitationState, InvitationStatus, InvitationTemplate, Occasion,
    TemplateValues, parse_guest_list,
};
use recado_domain::provider::Provider;
use recado_domain::reason::Reason;
use recado_invitations::{
    AcceptedInvitation, InvitationError, InvitationRequest, InvitationView, NamedGuest,
};

use recado_pipeline::ports::{PageRequest, SendOutcome};
use recado_pipeline::records::guests::list_guests;
use recado_pipeline::table::put_record;
use recado_testkit::builders::{Fixture, correlation};
use recado_testkit::ports::succeed;

pub(crate) fn page() -> PageRequest {
    PageRequest::first(50)
}

pub(crate) fn occasion_id() -> OccasionId {
    OccasionId::parse("ev_demo").unwrap()
}

/// A tenant with the occasion `ev_demo` and the template `invite`.
pub(crate) async fn setup() -> Setup {
    setup_with(DeliveryRules::default()).await
}

/// The same with rules for deliveries.
pub(crate) async fn setup_with(rules: DeliveryRules) -> Setup {
    let mut fixture = Fixture::new();
    fixture.bound.tenant.deliveries = rules;
    setup_of(fixture).await
}

/// The same for a tenant and an instance that are made.
pub(crate) async fn setup_of(fixture: Fixture) -> Setup {
    fill(Setup::set(fixture).await).await
}

/// The same for a setup without them.
pub(crate) async fn fill(setup: Setup) -> Setup {
    *setup.world.llm.says.lock().unwrap() = Some("Certo.".to_owned());
    let tenant = setup.fixture.bound.tenant.id.clone();
    let occasion = Occasion {
        id: occasion_id(),
        tenant: tenant.clone(),
        name: Some("Boda de Ana".to_owned()),
        instance: setup.fixture.instance().clone(),
        starts_at: Some("2026-12-05T18:00:00".parse().unwrap()),
        time_zone: None,
        language: Some("es".to_owned()),
        cancelled: false,
        reminders: Vec::new(),
    };
    succeed(put_record(&setup.world.store, &occasion)).await;
    // Meta's numbers send texts only to who wrote before.
    let approved = (setup.fixture.bound.instance.provider == Provider::Meta).then(|| MessageTemplate {
        name: "boda".to_owned(),
        language: "es".to_owned(),
        components: Vec::new(),
    });
    let text = "Hola {{guest_name|amigo}}: {{occasion_name}} es el {{occasion_date}}.";
    let template = |name: &str| InvitationTemplate {
        name: InvitationTemplateName::parse(name).unwrap(),
        tenant: tenant.clone(),
        channel: InvitationChannel::Whatsapp,
        language: None,
        subject: None,
        html: None,
        text: approved.is_none().then(|| text.to_owned()),
        approved: approved.clone(),
    };
    for name in ["invite", "remind"] {
        succeed(put_record(&setup.world.store, &template(name))).await;
    }
    setup
}

pub(crate) fn request(setup: &Setup, key: Option<&str>) -> InvitationRequest {
    InvitationRequest {
        tenant: None,
        occasion: occasion_id(),
        guest: NamedGuest::Phone(setup.fixture.address.phone_number().unwrap()),
        channel: InvitationChannel::Whatsapp,
        template: InvitationTemplateName::parse("invite").unwrap(),
        variables: TemplateValues::new(),
        metadata: None,
        send_at: None,
        key: key.map(|key| IdempotencyKey::parse(key).unwrap()),
        correlation: correlation(),
    }
}

pub(crate) async fn try_invite(
    setup: &Setup,
    request: InvitationRequest,
) -> Result<AcceptedInvitation, InvitationError> {
    Box::pin(recado_invitations::send_invitation(
        &setup.world,
        &Caller::installation(),
        request,
    ))
    .await
}

pub(crate) async fn invite(setup: &Setup) -> AcceptedInvitation {
    try_invite(setup, request(setup, None)).await.unwrap()
}

pub(crate) fn message_of(accepted: &AcceptedInvitation) -> MessageId {
    match &accepted.invitation.state {
        InvitationState::Message { message } => message.clone(),
        other => panic!("no message: {other:?}"),
    }
}

pub(crate) async fn leave(setup: &Setup, message: &MessageId) {
    setup.send(&message.conversation_and_ordinal().unwrap().0).await;
}

pub(crate) async fn view(setup: &Setup, id: &str) -> Result<InvitationView, InvitationError> {
    recado_invitations::find_invitation(&setup.world, &Caller::installation(), None, id).await
}

pub(crate) async fn guests(setup: &Setup) -> Vec<Guest> {
    let tenant = &setup.fixture.bound.tenant.id;
    succeed(list_guests(&setup.world.store, tenant, &occasion_id(), &page()))
        .await
        .items
}

#[tokio::test]
async fn an_invitation_makes_a_pending_guest_and_becomes_a_message() {
    let setup = setup().await;
    let accepted = invite(&setup).await;
    let found = guests(&setup).await;
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].status, &found[0].id),
        (GuestStatus::Pending, &accepted.invitation.guest)
    );
    let queued = view(&setup, accepted.invitation.id.as_str()).await.unwrap();
    assert_eq!(queued.status, InvitationStatus::Queued);
    leave(&setup, &message_of(&accepted)).await;
    let said: Vec<String> = setup
        .world
        .providers
        .contents()
        .iter()
        .map(Content::render_text)
        .collect();
    assert_eq!(said, ["Hola amigo: Boda de Ana es el 2026-12-05."]);
    let sent = view(&setup, accepted.invitation.id.as_str()).await.unwrap();
    assert_eq!(sent.status, InvitationStatus::Sent);
    let reached: Vec<&str> = sent
        .transitions
        .iter()
        .map(|(status, _)| status.as_str())
        .collect();
    assert_eq!(reached, ["queued", "processing", "sent"]);
    let theirs = sent.message.unwrap().message.provider_message_id.unwrap();
    for id in [theirs.as_str(), message_of(&accepted).as_str()] {
        assert_eq!(
            view(&setup, id).await.unwrap().invitation.id,
            accepted.invitation.id,
            "{id}"
        );
    }
    assert!(matches!(
        view(&setup, "123").await,
        Err(InvitationError::NotFound(_))
    ));
}

#[tokio::test]
async fn a_repeat_within_the_window_is_a_duplicate_and_later_it_goes_out() {
    let setup = setup().await;
    let first = invite(&setup).await;
    leave(&setup, &message_of(&first)).await;
    let again = invite(&setup).await;
    let of = first.invitation.id.clone();
    assert_eq!(again.invitation.state, InvitationState::Duplicate { of });
    let noted = view(&setup, again.invitation.id.as_str()).await.unwrap();
    assert_eq!(noted.status, InvitationStatus::Duplicate);
    setup.pass(24 * 3600);
    let later = invite(&setup).await;
    leave(&setup, &message_of(&later)).await;
    assert_eq!(setup.world.providers.sent(), 2);
}

#[tokio::test]
async fn one_key_is_one_invitation_and_another_request_with_it_is_refused() {
    let setup = setup().await;
    let first = try_invite(&setup, request(&setup, Some("k1"))).await.unwrap();
    let again = try_invite(&setup, request(&setup, Some("k1"))).await.unwrap();
    assert!(again.repeated && !first.repeated);
    assert_eq!(again.invitation, first.invitation);
    let mut other = request(&setup, Some("k1"));
    other.variables.insert("seats".to_owned(), "2".to_owned());
    let refused = try_invite(&setup, other).await;
    assert!(matches!(
        refused,
        Err(InvitationError::Deliver(recado_sends::DeliverError::KeyReused))
    ));
}

#[tokio::test]
async fn an_invitation_that_failed_for_good_may_go_again() {
    let setup = setup().await;
    setup.answers(SendOutcome::Permanent {
        reason: Reason::WhatsappPermanentError,
        why: "no such number".to_owned(),
    });
    let first = invite(&setup).await;
    leave(&setup, &message_of(&first)).await;
    let failed = view(&setup, first.invitation.id.as_str()).await.unwrap();
    assert_eq!(failed.status, InvitationStatus::Failed);
    let again = invite(&setup).await;
    assert_ne!(message_of(&again), message_of(&first));
}

#[tokio::test]
async fn what_cannot_be_sent_is_refused_and_makes_no_guest() {
    let setup = setup().await;
    let mut unknown = request(&setup, None);
    unknown.template = InvitationTemplateName::parse("nobody").unwrap();
    assert!(matches!(
        try_invite(&setup, unknown).await,
        Err(InvitationError::UnknownTemplate(_))
    ));
    let mut email = request(&setup, None);
    email.channel = InvitationChannel::Email;
    assert!(matches!(
        try_invite(&setup, email).await,
        Err(InvitationError::Channel(_))
    ));
    let mut number = request(&setup, None);
    number.guest = NamedGuest::Phone("12".to_owned());
    assert!(matches!(
        try_invite(&setup, number).await,
        Err(InvitationError::Phone(_))
    ));
    let mut guest = request(&setup, None);
    guest.guest = NamedGuest::Id(GuestId::parse("g1").unwrap());
    assert!(matches!(
        try_invite(&setup, guest).await,
        Err(InvitationError::NotFound(_))
    ));
    assert!(guests(&setup).await.is_empty());
    // An occasion that nobody configured goes by the tenant's only instance.
    let mut occasion = request(&setup, None);
    occasion.occasion = OccasionId::parse("elsewhere").unwrap();
    occasion
        .variables
        .insert("occasion_name".to_owned(), "la cena".to_owned());
    occasion
        .variables
        .insert("occasion_date".to_owned(), "mañana".to_owned());
    try_invite(&setup, occasion).await.unwrap();
}

#[tokio::test]
async fn an_answer_confirms_the_guest_with_the_session_and_a_later_one_declines() {
    let setup = setup().await;
    let first = invite(&setup).await;
    leave(&setup, &message_of(&first)).await;
    setup.pass(60);
    setup
        .message(&setup.fixture, "W1", "¿A qué hora es?", false)
        .await;
    assert_eq!(guests(&setup).await[0].status, GuestStatus::Pending);
    setup.pass(60);
    setup
        .message(&setup.fixture, "W2", "Sí voy, gracias", false)
        .await;
    let confirmed = guests(&setup).await.remove(0);
    assert_eq!(confirmed.status, GuestStatus::Confirmed);
    let session = setup
        .latest_conversation()
        .await
        .unwrap()
        .newest_session()
        .unwrap();
    assert_eq!(confirmed.reply.unwrap().session, Some(session.id.clone()));
    let caller = Caller::installation();
    let phone = setup.fixture.address.phone_number().unwrap();
    let found = recado_invitations::find_session(&setup.world, &caller, None, &phone, None)
        .await
        .unwrap();
    assert!(found.is_open && found.session == session);
    setup.pass(60);
    setup
        .message(&setup.fixture, "W3", "Al final no podré ir", false)
        .await;
    assert_eq!(guests(&setup).await[0].status, GuestStatus::Declined);
    setup.pass(24 * 3600);
    let over = recado_invitations::find_session(&setup.world, &caller, None, &phone, None)
        .await
        .unwrap();
    assert!(!over.is_open);
}

#[tokio::test]
async fn a_session_names_its_conversation_and_the_guest() {
    let setup = setup().await;
    setup.message(&setup.fixture, "W1", "Hola", false).await;
    let (caller, phone) = (
        Caller::installation(),
        setup.fixture.address.phone_number().unwrap(),
    );
    let find = async || {
        let found = recado_invitations::find_session(&setup.world, &caller, None, &phone, None);
        found.await.unwrap()
    };
    let before = find().await;
    let conversation = setup.latest_conversation().await.unwrap().id;
    assert_eq!(
        (before.conversation, before.invited),
        (conversation.clone(), None)
    );
    let accepted = invite(&setup).await;
    let after = find().await;
    assert_eq!(after.conversation, conversation);
    let invited = after.invited.unwrap();
    assert_eq!(
        (invited.occasion, invited.guest),
        (occasion_id(), accepted.invitation.guest)
    );
}

#[tokio::test]
async fn a_plain_yes_confirms_right_after_the_invitation_and_not_later() {
    for (between, status) in [(false, GuestStatus::Confirmed), (true, GuestStatus::Pending)] {
        let setup = setup().await;
        let first = invite(&setup).await;
        leave(&setup, &message_of(&first)).await;
        setup.pass(60);
        if between {
            setup.message(&setup.fixture, "W1", "Oi, tudo bem", false).await;
        }
        setup.message(&setup.fixture, "W2", "Sim", false).await;
        assert_eq!(guests(&setup).await[0].status, status);
    }
}

#[tokio::test]
async fn an_invitation_within_an_open_session_is_free() {
    let setup = setup().await;
    setup.message(&setup.fixture, "W1", "oi", false).await;
    let session = setup
        .latest_conversation()
        .await
        .unwrap()
        .newest_session()
        .unwrap();
    let accepted = invite(&setup).await;
    assert!(accepted.invitation.is_free);
    assert_eq!(accepted.invitation.session, Some(session.id));
}

#[tokio::test]
async fn a_list_of_guests_is_added_once_and_its_bad_rows_are_told() {
    let setup = setup().await;
    let list = "id,name,phone,email\ng1,Ana,+52 1 55 5001 1223,ana@example.org\n,Bia,12,\n,,,\ng2,Eva,,eva\n,Leo,+52 1 55 5001 1224,\ng3,Otra,+52 1 55 5001 1224,\n";
    let mut counts = Vec::new();
    for _ in 0..2 {
        let rows = parse_guest_list(list).unwrap();
        let (caller, occasion) = (Caller::installation(), occasion_id());
        let added = recado_occasions::add_guests(&setup.world, &caller, None, &occasion, rows).await;
        let added = added.unwrap();
        let lines: Vec<usize> = added.refused.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [3, 5, 7]);
        counts.push((added.added, added.changed, added.unchanged));
    }
    assert_eq!(counts, [(2, 0, 0), (0, 0, 2)]);
    let mut to_guest = request(&setup, None);
    to_guest.guest = NamedGuest::Id(GuestId::parse("g1").unwrap());
    let accepted = try_invite(&setup, to_guest).await.unwrap();
    leave(&setup, &message_of(&accepted)).await;
    let said = setup.world.providers.contents().remove(0).render_text();
    assert!(said.starts_with("Hola Ana:"), "{said}");
}

#[tokio::test]
async fn an_erased_contact_is_no_guest_and_an_export_holds_the_invitations() {
    let setup = setup().await;
    let first = invite(&setup).await;
    leave(&setup, &message_of(&first)).await;
    let query = ContactQuery {
        tenant: setup.fixture.bound.tenant.id.clone(),
        instance: None,
        contact: setup.fixture.address.phone_number().unwrap(),
    };
    let caller = Caller::installation();
    let export = recado_contacts::export_contact(&setup.world, &caller, &query, None)
        .await
        .unwrap();
    assert_eq!(export.guests.len(), 1);
    assert_eq!(export.guests[0].invitations[0].id, first.invitation.id);
    let report = recado_contacts::erase_contact(&setup.world, &caller, &query)
        .await
        .unwrap();
    assert_eq!(report.guests, 1);
    assert!(guests(&setup).await.is_empty());
    let gone = view(&setup, first.invitation.id.as_str()).await;
    assert!(matches!(gone, Err(InvitationError::NotFound(_))));
}

#[tokio::test]
async fn a_list_sets_the_status_of_guests_and_an_answer_after_it_counts() {
    let setup = setup().await;
    let accepted = invite(&setup).await;
    leave(&setup, &message_of(&accepted)).await;
    let id = guests(&setup).await.remove(0).id;
    let set = async |status: &str| {
        let rows =
            parse_guest_list(&format!("id,status\n{id},{status}\nnew,Confirmed\nbad,maybe\n")).unwrap();
        let (caller, occasion) = (Caller::installation(), occasion_id());
        recado_occasions::add_guests(&setup.world, &caller, None, &occasion, rows)
            .await
            .unwrap()
    };
    let added = set("declined").await;
    assert_eq!((added.added, added.changed, added.refused.len()), (1, 1, 1));
    let again = set("declined").await;
    assert_eq!((again.changed, again.unchanged), (0, 2));
    let statuses = async || -> Vec<GuestStatus> {
        let all = guests(&setup).await;
        all.iter().map(|guest| guest.status).collect()
    };
    assert_eq!(statuses().await, [GuestStatus::Declined, GuestStatus::Confirmed]);
    let caller = Caller::installation();
    let occasion = recado_occasions::find_occasion(&setup.world, &caller, None, &occasion_id())
        .await
        .unwrap();
    assert!(occasion.pages_changed_at.is_some(), "pages are made anew");
    setup.pass(60);
    setup.message(&setup.fixture, "W1", "confirmo", false).await;
    assert_eq!(statuses().await, [GuestStatus::Confirmed, GuestStatus::Confirmed]);
}

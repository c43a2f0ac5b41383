//! Invitations ask whether they may leave: opt-outs, quiet hours and the frequency cap, when they are taken and when they fall due.

use crate::invitations::{invite, leave, message_of, request, setup_with, try_invite, view};
use crate::world::Setup;
use jiff::{SignedDuration, Timestamp};
use recado_domain::delivery_rules::{DeliveryRules, FrequencyCap, QuietHours};
use recado_domain::email::EmailAddress;
use recado_domain::ids::InvitationTemplateName;
use recado_domain::invitations::{GuestStatus, InvitationState, InvitationStatus};
use recado_domain::opt_out::{OptOut, OptOutSource, RecipientAddress};
use recado_domain::scheduled::ScheduledId;
use recado_invitations::{InvitationError, InvitationRequest};
use recado_pipeline::ports::Conversations;
use recado_pipeline::reconcile::reconcile;
use recado_pipeline::records::guests::{find_guest, save_guest};
use recado_pipeline::records::invitations::list_invitations;
use recado_pipeline::records::opt_outs::apply_opt_out;
use recado_testkit::builders::identity_key;
use recado_testkit::ports::succeed;

/// A tenant whose quiet hours are the hour of the setup's clock and the next one.
pub(crate) async fn quiet_setup() -> (Setup, Timestamp) {
    let plain = setup_with(DeliveryRules::default()).await;
    let zone = plain.fixture.bound.tenant.resolve_time_zone();
    let hour = plain
        .now()
        .to_zoned(zone)
        .with()
        .minute(0)
        .second(0)
        .subsec_nanosecond(0);
    let from = hour.build().unwrap();
    let end = from.checked_add(SignedDuration::from_hours(2)).unwrap();
    let quiet = QuietHours {
        from: from.time(),
        to: end.time(),
    };
    let rules = DeliveryRules {
        quiet_hours: Some(quiet),
        frequency_cap: None,
    };
    (setup_with(rules).await, end.timestamp())
}

/// One message to a person in 24 hours.
pub(crate) fn capped() -> DeliveryRules {
    DeliveryRules {
        quiet_hours: None,
        frequency_cap: Some(FrequencyCap {
            messages: 1,
            hours: 24,
        }),
    }
}

async fn say(setup: &Setup, address: RecipientAddress<'_>, is_stopped: bool) {
    let tenant = setup.fixture.bound.tenant.id.clone();
    let key = succeed(setup.world.store.keep_identity_key(&identity_key)).await;
    let preference = OptOut {
        recipient: key.derive_recipient_key(&tenant, address),
        tenant,
        address: None,
        is_stopped,
        at: setup.now(),
        source: OptOutSource::Link,
    };
    assert!(succeed(apply_opt_out(&setup.world.store, &preference)).await);
}

/// The person with this number wants no more messages that nobody asked for.
pub(crate) async fn opt_out_number(setup: &Setup, number: &str) {
    say(setup, RecipientAddress::WhatsApp(number), true).await;
}

/// The person with this e-mail address wants no more messages that nobody asked for.
pub(crate) async fn opt_out_email(setup: &Setup, address: &str) {
    let email = EmailAddress::parse(address).unwrap();
    say(setup, RecipientAddress::Email(&email), true).await;
}

async fn status(setup: &Setup, id: &str) -> InvitationStatus {
    view(setup, id).await.unwrap().status
}

/// Lets the setup's clock go on until `at`, and one pass of reconcile run.
pub(crate) async fn pass_until(setup: &Setup, at: Timestamp) {
    // Not before it: the clock of the kit also moves by parts of a second.
    setup.pass(at.duration_since(setup.now()).as_secs() + 1);
    reconcile(&setup.world).await.unwrap();
}

fn reminder(setup: &Setup) -> InvitationRequest {
    InvitationRequest {
        template: InvitationTemplateName::parse("remind").unwrap(),
        ..request(setup, None)
    }
}

#[tokio::test]
async fn who_opted_out_gets_no_invitation_and_the_log_says_why() {
    let setup = setup_with(DeliveryRules::default()).await;
    setup.message(&setup.fixture, "W1", "SAIR", false).await;
    let refused = try_invite(&setup, request(&setup, None)).await;
    assert!(matches!(refused, Err(InvitationError::OptedOut)), "{refused:?}");
    let page = crate::invitations::page();
    let (tenant, occasion) = (&setup.fixture.bound.tenant.id, crate::invitations::occasion_id());
    let log = succeed(list_invitations(
        &setup.world.store,
        tenant,
        &occasion,
        None,
        &page,
    ))
    .await;
    let [noted] = log.items.as_slice() else {
        panic!("{log:?}")
    };
    assert!(matches!(&noted.state, InvitationState::Refused { error } if error.contains("wants no more")));
    assert_eq!(status(&setup, noted.id.as_str()).await, InvitationStatus::Failed);
    setup.pass(60);
    setup
        .message(&setup.fixture, "W2", "quero receber mensagens", false)
        .await;
    // What was refused holds no claim.
    let accepted = invite(&setup).await;
    leave(&setup, &message_of(&accepted)).await;
    assert_eq!(setup.world.providers.sent(), 1);
}

#[tokio::test]
async fn an_opt_out_by_email_is_one_for_whatsapp() {
    let setup = setup_with(DeliveryRules::default()).await;
    let accepted = invite(&setup).await;
    let known = crate::invitations::guests(&setup).await.remove(0);
    let store = &setup.world.store;
    let found = succeed(find_guest(store, &known.tenant, &known.occasion, &known.id)).await;
    let mut guest = found.unwrap();
    guest.record.email = Some("ana@clinic.example".to_owned());
    let _ = succeed(save_guest(store, &mut guest)).await;
    opt_out_email(&setup, "Ana@clinic.example").await;
    let refused = try_invite(&setup, reminder(&setup)).await;
    assert!(matches!(refused, Err(InvitationError::OptedOut)), "{refused:?}");
    // One that was taken before and has not left asks again.
    leave(&setup, &message_of(&accepted)).await;
    assert_eq!(setup.world.providers.sent(), 0);
    let id = accepted.invitation.id.as_str();
    assert_eq!(status(&setup, id).await, InvitationStatus::Cancelled);
}

#[tokio::test]
async fn in_quiet_hours_an_invitation_is_taken_and_leaves_at_their_end() {
    let (setup, end) = quiet_setup().await;
    let accepted = invite(&setup).await;
    assert_eq!(accepted.invitation.not_before, Some(end));
    let scheduled = message_of(&accepted);
    assert!(ScheduledId::parse(scheduled.as_str()).is_ok(), "{scheduled}");
    for id in [accepted.invitation.id.as_str(), scheduled.as_str()] {
        assert_eq!(status(&setup, id).await, InvitationStatus::Queued);
    }
    let again = invite(&setup).await;
    let of = accepted.invitation.id.clone();
    assert_eq!(again.invitation.state, InvitationState::Duplicate { of });
    pass_until(&setup, end - SignedDuration::from_mins(1)).await;
    assert!(setup.latest_conversation().await.is_none());
    pass_until(&setup, end).await;
    let conversation = setup.latest_conversation().await.unwrap();
    setup.send(&conversation.id).await;
    let sent = view(&setup, accepted.invitation.id.as_str()).await.unwrap();
    assert_eq!(sent.status, InvitationStatus::Sent);
    let message = sent.message.unwrap().message;
    for id in [
        message.message_id().as_str(),
        message.provider_message_id.as_deref().unwrap(),
    ] {
        let found = view(&setup, id).await.unwrap();
        assert_eq!(found.invitation.id, accepted.invitation.id, "{id}");
    }
    setup.pass(60);
    setup.message(&setup.fixture, "W1", "Sí", false).await;
    let guests = crate::invitations::guests(&setup).await;
    assert_eq!(
        guests[0].status,
        GuestStatus::Confirmed,
        "the conversation notes the guest"
    );
}

#[tokio::test]
async fn who_opts_out_while_an_invitation_waits_does_not_get_it() {
    let (setup, end) = quiet_setup().await;
    let accepted = invite(&setup).await;
    let number = setup.fixture.address.phone_number().unwrap();
    opt_out_number(&setup, &number).await;
    pass_until(&setup, end).await;
    let given_up = view(&setup, accepted.invitation.id.as_str()).await.unwrap();
    assert_eq!(given_up.status, InvitationStatus::Failed);
    assert_eq!(
        given_up.reason.map(|reason| reason.to_string()).as_deref(),
        Some("opted_out")
    );
    assert!(setup.latest_conversation().await.is_none());
}

#[tokio::test]
async fn the_frequency_cap_puts_off_what_is_above_it_in_order() {
    let setup = setup_with(capped()).await;
    let first = invite(&setup).await;
    assert_eq!(first.invitation.not_before, None);
    setup.pass(3600);
    let second = try_invite(&setup, reminder(&setup)).await.unwrap();
    let day = SignedDuration::from_hours(24);
    let due = first.invitation.created_at + day;
    assert_eq!(second.invitation.not_before, Some(due));
    let mut elsewhere = InvitationRequest {
        occasion: recado_domain::ids::OccasionId::parse("elsewhere").unwrap(),
        ..reminder(&setup)
    };
    for name in ["occasion_name", "occasion_date"] {
        elsewhere.variables.insert(name.to_owned(), "la cena".to_owned());
    }
    setup.pass(60);
    let third = try_invite(&setup, elsewhere).await.unwrap();
    assert_eq!(
        third.invitation.not_before,
        Some(due + day),
        "a cap is of all occasions"
    );
    pass_until(&setup, due).await;
    leave(&setup, &message_of(&first)).await;
    let states = [&first, &second, &third].map(|one| one.invitation.id.clone());
    let mut sent = Vec::new();
    for id in &states {
        sent.push(status(&setup, id.as_str()).await);
    }
    assert_eq!(
        sent,
        [
            InvitationStatus::Sent,
            InvitationStatus::Sent,
            InvitationStatus::Queued
        ]
    );
}

#[tokio::test]
async fn an_invitation_whose_sending_comes_in_quiet_hours_waits_for_their_end_and_holds_nothing_up() {
    let (setup, end) = quiet_setup().await;
    // 22 hours later the next quiet hours are two hours ahead: it is taken before them, and sent in them.
    setup.pass(22 * 3600);
    let end = end + SignedDuration::from_hours(24);
    let accepted = invite(&setup).await;
    assert_eq!(accepted.invitation.not_before, None);
    setup.pass(2 * 3600);
    leave(&setup, &message_of(&accepted)).await;
    assert_eq!(setup.world.providers.sent(), 0);
    let id = accepted.invitation.id.as_str();
    assert_eq!(status(&setup, id).await, InvitationStatus::Queued);
    // Another message to the contact leaves all the same.
    let other = recado_sends::DeliverRequest {
        to: setup.fixture.address.phone_number().unwrap(),
        content: recado_domain::content::Content::from_text("hello"),
        options: recado_domain::options::SendOptions::default(),
        key: None,
        metadata: None,
        send_at: None,
        correlation: recado_testkit::builders::correlation(),
    };
    let (caller, instance) = (
        recado_domain::access::Caller::installation(),
        setup.fixture.instance().clone(),
    );
    recado_sends::accept_message(&setup.world, &caller, &instance, other)
        .await
        .unwrap();
    leave(&setup, &message_of(&accepted)).await;
    assert_eq!(setup.world.providers.sent(), 1);
    pass_until(&setup, end + SignedDuration::from_mins(6)).await;
    leave(&setup, &message_of(&accepted)).await;
    assert_eq!(setup.world.providers.sent(), 2);
    assert_eq!(status(&setup, id).await, InvitationStatus::Sent);
}

#[tokio::test]
async fn a_reply_leaves_while_an_invitation_to_its_contact_is_held_back() {
    let (setup, _) = quiet_setup().await;
    // 22 hours later the next quiet hours are two hours ahead: it is taken before them, and sent in them.
    setup.pass(22 * 3600);
    let accepted = invite(&setup).await;
    setup.pass(2 * 3600);
    leave(&setup, &message_of(&accepted)).await;
    assert_eq!(setup.world.providers.sent(), 0);
    setup.message(&setup.fixture, "W1", "Oi", false).await;
    setup.pass(4);
    setup.turns(&setup.fixture).await;
    leave(&setup, &message_of(&accepted)).await;
    assert_eq!(setup.world.providers.sent(), 1);
    let id = accepted.invitation.id.as_str();
    assert_eq!(status(&setup, id).await, InvitationStatus::Queued);
}

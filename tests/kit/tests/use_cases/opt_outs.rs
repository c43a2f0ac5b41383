//! A contact that wants no more unsolicited messages: it is noted once for its tenant, by whatever way it was told, and
//! deliveries ask for it. Answers to the contact's own messages go on.

use crate::erasure::{NUMBER, Site};
use crate::world::Setup;
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use recado_contacts::{ContactQuery, erase_contact};
use recado_delivery_rules::delivery_permission::{DeliveryPermission, DeliveryRecipient, judge_delivery};
use recado_domain::access::Caller;
use recado_domain::contact::ContactAddress;
use recado_domain::content::{Content, SystemNote};
use recado_domain::delivery_rules::{DeliveryRules, FrequencyCap};
use recado_domain::email::EmailAddress;
use recado_domain::ids::TenantId;
use recado_domain::opt_out::{OptOut, OptOutSource, RecipientAddress};
use recado_pipeline::ports::{Conversations, PageRequest};
use recado_pipeline::records::opt_outs::{apply_opt_out, list_opt_outs};
use recado_testkit::builders::{Fixture, identity_key};
use recado_testkit::ports::succeed;

async fn list_preferences(setup: &Setup, tenant: &TenantId) -> Vec<OptOut> {
    let page = PageRequest::first(10);
    succeed(list_opt_outs(&setup.world.store, tenant, &page))
        .await
        .items
}

async fn judge(
    setup: &Setup,
    addresses: &[RecipientAddress<'_>],
    rules: &DeliveryRules,
) -> DeliveryPermission {
    let recipient = DeliveryRecipient {
        tenant: &setup.fixture.bound.tenant.id,
        addresses,
        earlier: &[setup.now() - SignedDuration::from_mins(30)],
        zone: &TimeZone::UTC,
    };
    succeed(judge_delivery(&setup.world, &recipient, rules)).await
}

#[tokio::test]
async fn a_contact_that_says_stop_is_noted_once_and_still_answered() {
    let setup = Setup::set(Fixture::new()).await;
    let tenant = setup.fixture.bound.tenant.id.clone();
    let number = setup.fixture.address.phone_number().unwrap();
    let whatsapp = [RecipientAddress::WhatsApp(&number)];
    setup
        .message(&setup.fixture, "W1", "posso parar o carro aí?", false)
        .await;
    assert_eq!(list_preferences(&setup, &tenant).await, []);
    assert_eq!(
        judge(&setup, &whatsapp, &DeliveryRules::default()).await,
        DeliveryPermission::Granted
    );
    setup.pass(1);
    let said_at = setup.now();
    setup
        .message(&setup.fixture, "W2", "SAIR, por favor", false)
        .await;
    let preferences = list_preferences(&setup, &tenant).await;
    assert_eq!(preferences.len(), 1);
    assert_eq!(
        (
            preferences[0].is_stopped,
            preferences[0].at,
            &preferences[0].source
        ),
        (true, said_at, &OptOutSource::Message)
    );
    assert_eq!(preferences[0].address.as_deref(), Some(number.as_str()));
    assert_eq!(
        judge(&setup, &whatsapp, &DeliveryRules::default()).await,
        DeliveryPermission::OptedOut
    );
    let latest = succeed(
        setup
            .world
            .store
            .find_latest_conversation(&setup.fixture.thread()),
    )
    .await
    .unwrap();
    assert_eq!(latest.contact.marketing_stopped_at, Some(said_at));
    assert!(latest.owes_answer(), "its own message is answered");
    setup.pass(1);
    setup
        .message(&setup.fixture, "W3", "quero voltar a receber mensagens", false)
        .await;
    assert_eq!(
        judge(&setup, &whatsapp, &DeliveryRules::default()).await,
        DeliveryPermission::Granted
    );
    let preferences = list_preferences(&setup, &tenant).await;
    assert_eq!(
        (preferences.len(), preferences[0].is_stopped),
        (1, false),
        "who said what last is kept"
    );
}

#[tokio::test]
async fn whatsapps_own_switch_is_the_same_preference_and_counts_for_every_instance_of_the_tenant() {
    let setup = Setup::set(Fixture::new()).await;
    let tenant = setup.fixture.bound.tenant.id.clone();
    let stopped = Content::System {
        what: SystemNote::MarketingStopped,
        text: None,
    };
    setup.sends(&setup.fixture, "W1", &stopped).await;
    let preferences = list_preferences(&setup, &tenant).await;
    assert_eq!(
        (preferences.len(), &preferences[0].source),
        (1, &OptOutSource::WhatsAppSetting)
    );
    assert_eq!(
        list_preferences(&setup, &Fixture::new().bound.tenant.id).await,
        []
    );
}

#[tokio::test]
async fn an_opt_out_of_one_address_is_one_of_the_person() {
    let setup = Setup::set(Fixture::new()).await;
    let number = setup.fixture.address.phone_number().unwrap();
    let (email, other) = (
        EmailAddress::parse("Ana@clinic.example").unwrap(),
        EmailAddress::parse("bia@clinic.example").unwrap(),
    );
    let key = succeed(setup.world.store.keep_identity_key(&identity_key)).await;
    let tenant = setup.fixture.bound.tenant.id.clone();
    let preference = OptOut {
        recipient: key.derive_recipient_key(&tenant, RecipientAddress::Email(&email)),
        tenant,
        address: None,
        is_stopped: true,
        at: setup.now(),
        source: OptOutSource::Link,
    };
    succeed(apply_opt_out(&setup.world.store, &preference)).await;
    let lower = EmailAddress::parse("ana@CLINIC.example").unwrap();
    let both = [
        RecipientAddress::WhatsApp(&number),
        RecipientAddress::Email(&lower),
    ];
    assert_eq!(
        judge(&setup, &both, &DeliveryRules::default()).await,
        DeliveryPermission::OptedOut
    );
    let another = [
        RecipientAddress::WhatsApp(&number),
        RecipientAddress::Email(&other),
    ];
    assert_eq!(
        judge(&setup, &another, &DeliveryRules::default()).await,
        DeliveryPermission::Granted
    );
}

#[tokio::test]
async fn a_delivery_waits_until_the_tenants_rules_allow_it() {
    let setup = Setup::set(Fixture::new()).await;
    let rules = DeliveryRules {
        quiet_hours: None,
        frequency_cap: Some(FrequencyCap {
            messages: 1,
            hours: 2,
        }),
    };
    let waits = setup.now() + SignedDuration::from_mins(90);
    let number = [RecipientAddress::WhatsApp("5511900000000")];
    assert_eq!(
        judge(&setup, &number, &rules).await,
        DeliveryPermission::NotBefore(waits)
    );
}

#[tokio::test]
async fn an_erased_contact_stays_opted_out_and_nothing_names_it() {
    let site = Site::open().await;
    let setup = &site.setup;
    let mut ana = setup.fixture.clone();
    ana.address = ContactAddress::parse(NUMBER).unwrap();
    setup.message(&ana, "W1", "STOP", false).await;
    let tenant = ana.bound.tenant.id.clone();
    assert!(list_preferences(setup, &tenant).await[0].address.is_some());
    let query = ContactQuery {
        tenant: tenant.clone(),
        instance: None,
        contact: NUMBER.to_owned(),
    };
    let done = erase_contact(&setup.world, &Caller::installation(), &query)
        .await
        .unwrap();
    assert!(done.conversations > 0);
    let left = list_preferences(setup, &tenant).await;
    assert_eq!(
        (left.len(), left[0].is_stopped, left[0].address.as_deref()),
        (1, true, None)
    );
    let number = [RecipientAddress::WhatsApp(NUMBER)];
    assert_eq!(
        judge(setup, &number, &DeliveryRules::default()).await,
        DeliveryPermission::OptedOut
    );
}

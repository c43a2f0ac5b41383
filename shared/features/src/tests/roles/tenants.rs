//! An installation with two tenants, each with records of every kind and tokens of every role.

use crate::tests::effects::store_unknown_effect;
use crate::tests::roles::requests::{Ids, calendar};
use crate::tests::{Site, TOKEN};
use recado_domain::Timestamp;
use recado_domain::access::TokenRole;
use recado_domain::alert::{Alert, AlertSubject, Notification, NotificationState};
use recado_domain::config::{AlertConfig, AlertDestination, Calendar, ConfigDocument, ConfigEntry};
use recado_domain::content::Content;
use recado_domain::ids::{BatchId, ConversationId, InvitationTemplateName, TenantId};
use recado_domain::instance::ConnectionStatus;
use recado_domain::invitations::{Guest, Invitation, InvitationChannel, InvitationTemplate};
use recado_domain::millis::add_millis;
use recado_domain::notice::{NewNotice, Notice, NoticeKind};
use recado_domain::provider::Provider;
use recado_domain::sample::{InstanceSample, MinuteSample};
use recado_domain::tools::Tool;
use recado_pipeline::ports::{Conversations, InboundWrite, Inbox, WriteOutcome};
use recado_pipeline::records::alerts::{commit_alerts, list_live_alerts};
use recado_pipeline::records::configuration::put_configuration;
use recado_pipeline::records::dead_letters::put_dead_letter;
use recado_pipeline::records::notices::put_notice;
use recado_pipeline::records::samples::put_samples;
use recado_pipeline::table::put_record;
use recado_testkit::builders::{Fixture, at, far_ahead, fresh, identity_key};
use recado_testkit::ports::succeed;
use recado_testkit::stored_batch::store_batch;
use recado_testkit::stored_guest::{GivenGuest, store_invited_guest, store_opt_out};
use recado_testkit::stored_usage::store_used_reply;
use recado_whatsapp::{SimulatedMessage, SimulatedOutbox};
use serde_json::json;
use std::collections::BTreeMap;

pub(super) struct TwoTenants {
    pub(super) site: Site,
    /// The records of the tenant whose tokens ask.
    pub(super) one: Ids,
    /// The records of the other tenant.
    pub(super) other: Ids,
    other_fixture: Fixture,
    outbox: SimulatedOutbox,
    tokens: BTreeMap<(bool, TokenRole), String>,
    token_of_other: String,
}

impl TwoTenants {
    pub(super) async fn new() -> Self {
        // Boxed, for it is large.
        Box::pin(Self::create()).await
    }

    async fn create() -> Self {
        let outbox = SimulatedOutbox::default();
        let site = Site::in_memory()
            .at("https://recado.example")
            .simulating(outbox.clone());
        succeed(site.store.keep_identity_key(&identity_key)).await;
        let fixture = || {
            let mut fixture = Fixture::on(Provider::Evolution);
            fixture.bound.instance.account_id = Some(fresh("account"));
            let endpoint = json!([{"id": fresh("endpoint"), "url": "https://crm.example/hook"}]);
            fixture.bound.tenant.webhooks = serde_json::from_value(endpoint).unwrap();
            fixture
        };
        let (one_fixture, other_fixture) = (fixture(), fixture());
        for fixture in [&one_fixture, &other_fixture] {
            succeed(put_configuration(&site.store, &fixture.document())).await;
        }
        let one = add_records(&site, &outbox, &one_fixture).await;
        let other = add_records(&site, &outbox, &other_fixture).await;
        add_destinations(&site, &[&one, &other]).await;
        let mut tokens = BTreeMap::new();
        for role in TokenRole::ALL {
            for of_one in [true, false] {
                let tenant = of_one.then_some(one.tenant.as_str());
                let token = create_token(&site, &format!("a {role}"), role, tenant).await;
                tokens.insert((of_one, role), token);
            }
        }
        let token_of_other =
            create_token(&site, &fresh("the-others"), TokenRole::Admin, Some(&other.tenant)).await;
        Self {
            site,
            one,
            other,
            other_fixture,
            outbox,
            tokens,
            token_of_other,
        }
    }

    pub(super) fn token_of_one(&self, role: TokenRole) -> &str {
        &self.tokens[&(true, role)]
    }

    pub(super) fn token_of_all(&self, role: TokenRole) -> &str {
        &self.tokens[&(false, role)]
    }

    pub(super) fn token_of_other(&self) -> &str {
        &self.token_of_other
    }

    pub(super) async fn add_records_of_other(&mut self) {
        let contact = self.other_fixture.other_contact();
        add_records(&self.site, &self.outbox, &contact).await;
    }
}

pub(super) async fn create_token(site: &Site, name: &str, role: TokenRole, tenant: Option<&str>) -> String {
    let body = json!({"name": name, "role": role, "tenant": tenant});
    let created = site.operate("POST", "/v1/tokens", &body).await;
    assert_eq!(created.status, 201, "{}", created.text);
    created.body["secret"].as_str().unwrap().to_owned()
}

/// Configures a destination of alerts for each tenant, and one of the installation.
async fn add_destinations(site: &Site, tenants: &[&Ids]) {
    let destination = |id: &str, tenant: Option<&str>| -> AlertDestination {
        let webhook = json!({"url": "https://example.test/alerts", "secret": "env:RECADO_ALERT_PAGER"});
        serde_json::from_value(json!({"id": id, "tenant": tenant, "webhook": webhook})).unwrap()
    };
    let own = tenants.iter();
    let own = own.map(|ids| destination(&ids.destination, Some(&ids.tenant)));
    let alerts = AlertConfig {
        destinations: own.chain([destination("everything", None)]).collect(),
        ..AlertConfig::default()
    };
    let document = ConfigDocument {
        alerts: Some(alerts),
        ..ConfigDocument::default()
    };
    succeed(put_configuration(&site.store, &document)).await;
}

/// Stores an alert that holds, one that is over, and a notification that was given up. Returns the ids of the first and of
/// the last, and the notification's destination.
async fn add_alerts(site: &Site, tenant: &TenantId, subject: AlertSubject, said: &str) -> [String; 3] {
    let begun = Alert {
        id: fresh("alert"),
        subject,
        summary: said.to_owned(),
        ..Alert::for_test(at(0))
    };
    let holds = Alert {
        id: fresh("alert"),
        ..begun.clone()
    };
    let over = Alert {
        ended_at: Some(far_ahead()),
        ..begun.clone()
    };
    let destination = fresh("pager");
    let mut dead = Notification::new(
        &destination,
        Some(tenant.clone()),
        vec![holds.clone()],
        far_ahead(),
    );
    dead.state = NotificationState::Dead;
    // The condition is over, and holds again.
    for (alert, told) in [
        (begun, vec![]),
        (over, vec![]),
        (holds.clone(), vec![dead.clone()]),
    ] {
        let live = succeed(list_live_alerts(&site.store, Some(tenant), 10)).await;
        let written = succeed(commit_alerts(&site.store, &live, &[alert], &told)).await;
        assert_eq!(written, WriteOutcome::Written);
    }
    [holds.id, dead.id, destination]
}

/// Stores a conversation with a message, a reply and an effect, guests, a batch of invitations, opt-outs, a dead letter, a deletion, a scheduled message, an upload, a notice, a
/// token, a simulated send and alerts.
async fn add_records(site: &Site, outbox: &SimulatedOutbox, fixture: &Fixture) -> Ids {
    let (store, said) = (&site.store, fresh("said"));
    let (mut conversation, job) = (fixture.conversation(1), fixture.job());
    let _ = succeed(store.record_event(&job)).await;
    let mut message = fixture.inbound(&mut conversation, &job);
    message.content = Content::from_text(said.clone());
    let write = InboundWrite {
        event: &job.event,
        conversation: &conversation,
        message: &message,
        finish: None,
    };
    let _ = succeed(store.store_inbound(write)).await;
    store_used_reply(store, fixture, &mut conversation, (&said, Timestamp::now())).await;
    store_unknown_effect(site, &conversation.id.to_string(), (&said, &said)).await;
    annotate_conversation(site, &conversation.id, &said).await;
    let dead_letter = fixture.dead_letter();
    succeed(put_dead_letter(store, &dead_letter)).await;
    add_notice(site, fixture, &said).await;
    add_simulated_send(outbox, fixture, &conversation.id, &said);
    add_samples(site, fixture).await;
    let (scheduled, upload) = add_by_api(site, fixture).await;
    let tenant = &fixture.bound.tenant.id;
    let subject = AlertSubject {
        tenant: Some(tenant.clone()),
        instance: Some(fixture.instance().clone()),
        conversation: Some(conversation.id.clone()),
    };
    let [alert, notification, destination] = add_alerts(site, tenant, subject, &said).await;
    let token = fresh("token");
    create_token(site, &token, TokenRole::Viewer, Some(tenant.as_str())).await;
    let (guest, invitation) = add_guests(site, fixture, &said).await;
    let invited = std::slice::from_ref(&guest.id);
    let of = (&guest.tenant, &guest.occasion);
    let id = BatchId::parse(&fresh("batch_")).unwrap();
    let batch = store_batch(store, id, of, invited, &said, Timestamp::now()).await;
    Ids {
        tenant: tenant.to_string(),
        calendar: add_calendar(site, fixture).await,
        tool: add_tool(site, fixture).await,
        agent: fixture.bound.agent.id.to_string(),
        source: add_document(site, fixture, &said).await,
        instance: fixture.instance().to_string(),
        external: fixture.external().to_string(),
        conversation: conversation.id.to_string(),
        message: message.message_id().to_string(),
        provider_message: message.provider_message_id.clone().unwrap(),
        scheduled,
        event: job.event.to_string(),
        correlation: job.correlation.to_string(),
        dead_letter: dead_letter.id,
        upload,
        alert,
        notification,
        destination,
        token,
        contact: fixture.address.as_str().split('@').next().unwrap().to_owned(),
        occasion: guest.occasion.to_string(),
        guest: guest.id.to_string(),
        invitation: invitation.id.to_string(),
        batch: batch.id.to_string(),
        endpoint: fixture.bound.tenant.webhook_endpoints()[0].id.to_string(),
        said,
    }
}

/// Labels a conversation, and writes a note beside it.
async fn annotate_conversation(site: &Site, id: &ConversationId, said: &str) {
    for (route, body) in [
        ("labels", json!({"add": ["noted"]})),
        ("notes", json!({"text": said})),
    ] {
        let path = format!("/v1/conversations/{id}/{route}");
        let answered = site.operate("POST", &path, &body).await;
        assert!(answered.status.is_success(), "{}", answered.text);
    }
}

/// Stores a notice of the instance's account.
async fn add_notice(site: &Site, fixture: &Fixture, said: &str) {
    let account = fixture.bound.instance.account_id.clone().unwrap();
    let told = NewNotice {
        kind: NoticeKind::Account,
        summary: said.to_owned(),
        at: None,
        details: json!({}),
    };
    let notice = Notice::with_derived_id(fixture.bound.instance.provider, &account, told, at(0));
    succeed(put_notice(&site.store, &notice, far_ahead())).await;
}

/// Adds two guests of an occasion with their invitations, a template that they may be sent, and opt-outs of two people. Returns one.
async fn add_guests(site: &Site, fixture: &Fixture, said: &str) -> (Guest, Invitation) {
    let (store, now) = (&site.store, Timestamp::now());
    let template = InvitationTemplate {
        name: InvitationTemplateName::parse("invite").unwrap(),
        tenant: fixture.bound.tenant.id.clone(),
        channel: InvitationChannel::Whatsapp,
        language: None,
        subject: None,
        text: Some(format!("{said} {{{{guest_name}}}}")),
        html: None,
        approved: None,
    };
    succeed(put_record(store, &template)).await;
    let (other, occasion) = (fixture.other_contact(), fresh("party"));
    let mut stored = Vec::new();
    for address in [&other.address, &fixture.address] {
        let phone = address.as_str().split('@').next();
        let given = GivenGuest {
            id: None,
            occasion: &occasion,
            phone,
            name: said,
            email: &format!("{said}@guests.example"),
        };
        stored.push(store_invited_guest(store, fixture, given, now).await);
        store_opt_out(store, fixture, address.as_str(), now).await;
    }
    stored.pop().unwrap()
}

/// Adds a calendar that no tool names, and returns its id.
async fn add_calendar(site: &Site, fixture: &Fixture) -> String {
    let tenant = &fixture.bound.tenant.id;
    let id = format!("{tenant}-agenda");
    let calendar: Calendar = serde_json::from_value(calendar(&id, tenant.as_str(), 30)).unwrap();
    succeed(put_configuration(&site.store, &calendar.into_document())).await;
    id
}

/// Adds a tool that no agent names, and returns its id.
async fn add_tool(site: &Site, fixture: &Fixture) -> String {
    let tenant = &fixture.bound.tenant.id;
    let tool = json!({"id": format!("{tenant}-slots"), "tenant": tenant, "name": "slots", "description": "d",
        "effect": "reads", "http": {"url": "https://tool.example/"}});
    let tool: Tool = serde_json::from_value(tool).unwrap();
    let id = tool.id.to_string();
    succeed(put_configuration(&site.store, &tool.into_document())).await;
    id
}

/// Adds a document to the agent's knowledge, and returns the id of the source.
async fn add_document(site: &Site, fixture: &Fixture, said: &str) -> String {
    let agent = &fixture.bound.agent.id;
    let path = format!("/v1/agents/{agent}/knowledge?title=said.md");
    let headers = [
        ("authorization", format!("Bearer {TOKEN}")),
        ("content-type", "text/markdown".to_owned()),
    ];
    let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
    let added = site.ask("POST", &path, &headers, said.to_owned()).await;
    assert_eq!(added.status, 200, "{}", added.text);
    added.body["source"]["id"].as_str().unwrap().to_owned()
}

/// Stores the tenant's sample of this minute, and the installation's.
async fn add_samples(site: &Site, fixture: &Fixture) {
    let waiting = InstanceSample {
        id: fixture.instance().clone(),
        connection: ConnectionStatus::Closed,
        depth: 3,
        parked: 1,
        dead_letters: 2,
        slots: None,
    };
    let tenant = Some(fixture.bound.tenant.id.clone());
    let samples = [tenant, None]
        .map(|tenant| MinuteSample::from_instances(Timestamp::now(), tenant, vec![waiting.clone()]));
    succeed(put_samples(&site.store, &samples, far_ahead())).await;
}

fn add_simulated_send(
    outbox: &SimulatedOutbox,
    fixture: &Fixture,
    conversation: &ConversationId,
    said: &str,
) {
    outbox.add_message(SimulatedMessage {
        message_id: conversation.message_id(recado_domain::ids::Ordinal(2)),
        instance_id: fixture.instance().clone(),
        to: fixture.address.as_str().to_owned(),
        text: said.to_owned(),
        provider_message_id: fresh("sim"),
        sent_at: at(0),
    });
}

/// Schedules a message and uploads a file, and returns the id and the source.
async fn add_by_api(site: &Site, fixture: &Fixture) -> (String, String) {
    let path = format!("/v1/instances/{}", fixture.instance());
    let later = add_millis(Timestamp::now(), 86_400_000);
    let to = fixture.address.as_str();
    let body = json!({"to": to, "text": "lembrete", "send_at": later});
    let scheduled = site.operate("POST", &format!("{path}/messages"), &body).await;
    assert_eq!(scheduled.status, 202, "{}", scheduled.text);
    let bearer = format!("Bearer {TOKEN}");
    let headers = [("authorization", bearer.as_str()), ("content-type", "text/plain")];
    let upload = site.ask("POST", &format!("{path}/media"), &headers, "file").await;
    assert_eq!(upload.status, 201, "{}", upload.text);
    let text = |answer: &serde_json::Value| answer.as_str().unwrap().to_owned();
    (text(&scheduled.body["id"]), text(&upload.body["source"]))
}

//! A record of each kind of the table, as there is one of a tenant and of a person.
//!
//! The person's number, or its mark, stands in each field that may tell of a person. What is about the tenant alone has another word.

mod of_person;

use crate::builders::{Fixture, far_ahead, fresh, identity_key, nonce};
use crate::ports::succeed;
use crate::stored_batch::make_batch;
use crate::stored_guest::make_occasion;
use jiff::Timestamp;
use recado_domain::access::{Caller, ConsoleSession, Token, TokenRole};
use recado_domain::alert::{Alert, AlertSubject, AlertWatch, Notification};
use recado_domain::audit::{AuditAction, AuditEntry};
use recado_domain::config::{AlertConfig, AppliedFile, Calendar};
use recado_domain::ids::{
    AgentId, BatchId, ConversationId, InvitationTemplateName, OccasionId, TenantId, TokenName,
    WebhookEndpointId, hash_parts,
};
use recado_domain::invitations::{Batch, InvitationChannel, InvitationTemplate};
use recado_domain::knowledge::AgentKnowledge;
use recado_domain::moving::{Dated, MovedClaim, MovedPageChange, RemovedInstance};
use recado_domain::notice::{NewNotice, Notice, NoticeKind};
use recado_domain::price::PriceList;
use recado_domain::published_event::{EventCursor, PublishedEvent};
use recado_domain::sample::MinuteSample;
use recado_domain::tools::Tool;
use recado_domain::webhook_endpoint::{EndpointState, FailedEvent, LeftEvent};
use recado_ports::ports::Store;
use recado_ports::records::KINDS;
use recado_ports::table::{Record, Table};
use serde_json::json;

/// A tenant and a person, of whom there is a record of each kind.
#[derive(Debug, Clone)]
pub struct SampledPerson {
    /// The tenant with its instance, which has an account. The contact is the person's identity without a number.
    pub fixture: Fixture,
    /// Digits of the person's number.
    pub phone: &'static str,
    /// A word in each text about the person.
    pub mark: &'static str,
    /// A word in each text and name that is about the tenant alone.
    pub own: &'static str,
    /// The key with which a client ordered a message to the person.
    pub client_key: &'static str,
    /// The conversation with the person's number, whose first message is that one.
    pub conversation: ConversationId,
    /// The time at which all is made.
    pub now: Timestamp,
}

/// Stores a record of each kind, in place of one that stands there.
///
/// # Panics
/// If a kind has no sample.
pub async fn store_samples<S: Store>(store: &S, of: &SampledPerson) {
    for kind in &KINDS {
        let writes = kind.put_writes(&of.sample_body(kind.name)).unwrap();
        let written = succeed(Table::write(store, &writes)).await;
        assert!(written.is_ok(), "{}", kind.name);
    }
}

fn body_of(record: &impl Record) -> String {
    record.to_body().unwrap()
}

impl SampledPerson {
    /// Returns the JSON of a record of the kind with this name.
    ///
    /// # Panics
    /// If the kind has no sample. Whoever adds a kind adds one, with the number or the mark in all that may tell of a person.
    pub fn sample_body(&self, kind: &str) -> String {
        let bound = &self.fixture.bound;
        match kind {
            "tenants" => body_of(&bound.tenant),
            "calendars" => body_of(&self.make_calendar()),
            "tools" => body_of(&self.make_tool()),
            "agents" => body_of(&bound.agent),
            "instances" => body_of(&bound.instance),
            "alert-config" => body_of(&AlertConfig::default()),
            "prices" => body_of(&PriceList::default()),
            "applied-file" => body_of(&self.make_applied_file()),
            "tokens" => body_of(&self.make_token()),
            "sessions" => body_of(&self.make_session()),
            "turn-places" => body_of(&self.make_turn_places()),
            "removed-instances" => body_of(&self.make_removed_instance()),
            "aliases" => body_of(&self.make_alias()),
            "client-keys" => body_of(&self.make_client_key()),
            "journals" => body_of(&self.make_journal().0),
            "cells" => body_of(&self.make_cell()),
            "scheduled-messages" => body_of(&self.make_scheduled()),
            "occasions" => body_of(&make_occasion(&self.fixture, self.own)),
            "invitation-templates" => body_of(&self.make_template()),
            "guests" => body_of(&self.make_guest()),
            "invitations" => body_of(&self.make_invitation()),
            "invitation-claims" => body_of(&self.make_claim()),
            "batches" => body_of(&self.make_batch()),
            "batch-chunks" => body_of(&self.make_chunk()),
            "page-changes" => body_of(&self.make_page_change()),
            "dead-letters" => body_of(&self.make_dead_letter()),
            "knowledge" => body_of(&self.make_knowledge()),
            "opt-outs" => body_of(&self.make_opt_out()),
            "samples" => body_of(&self.make_minute_sample()),
            "audit" => body_of(&self.make_audit_entry()),
            "notices" => body_of(&self.make_notice()),
            "alerts" => body_of(&self.make_alert()),
            "alert-watch" => body_of(&AlertWatch::default()),
            "notifications" => body_of(&self.make_notification()),
            "endpoints" => body_of(&self.make_endpoint()),
            "failed-posts" => body_of(&self.make_failed_event()),
            _ => panic!("there is no sample of the kind `{kind}`: make one in `sample_records`"),
        }
    }

    fn tenant(&self) -> &TenantId {
        &self.fixture.bound.tenant.id
    }

    fn make_calendar(&self) -> Calendar {
        let hours = json!({"mon": ["09:00-12:00"], "time_zone": "America/Sao_Paulo"});
        serde_json::from_value(json!({
            "id": self.own, "tenant": self.tenant(), "minutes": [30], "rules": {"hours": hours}, "simulated": true,
        }))
        .unwrap()
    }

    fn make_tool(&self) -> Tool {
        serde_json::from_value(json!({
            "id": self.own, "tenant": self.tenant(), "description": "Finds free slots.", "effect": "reads",
            "http": {"url": "https://tool.example/slots"},
        }))
        .unwrap()
    }

    fn make_applied_file(&self) -> AppliedFile {
        let (document, mut applied) = (self.fixture.document(), AppliedFile::default());
        applied.note_applied(&document, &document, &[], true);
        applied
    }

    fn make_token(&self) -> Token {
        Token {
            name: TokenName::parse(self.own).unwrap(),
            tenant: Some(self.tenant().clone()),
            role: TokenRole::Viewer,
            hash: identity_key().hash_token(&fresh("token")),
            created_at: self.now,
            created_by: TokenName::installation(),
            expires_at: None,
        }
    }

    fn make_session(&self) -> ConsoleSession {
        let [hash, token] = ["session", "token"].map(|name| identity_key().hash_token(&fresh(name)));
        ConsoleSession::begin(hash, token, Some("Operadora".to_owned()), self.now)
    }

    fn make_removed_instance(&self) -> RemovedInstance {
        RemovedInstance::new(hash_parts(&["removed", self.own], 16), far_ahead())
    }

    fn make_template(&self) -> InvitationTemplate {
        InvitationTemplate {
            name: InvitationTemplateName::parse(self.own).unwrap(),
            tenant: self.tenant().clone(),
            channel: InvitationChannel::Whatsapp,
            language: None,
            subject: None,
            text: Some(self.own.to_owned()),
            html: None,
            approved: None,
        }
    }

    fn make_claim(&self) -> MovedClaim {
        MovedClaim {
            tenant: self.tenant().clone(),
            key: hash_parts(&["request", self.own], 16),
            claimant: self.make_invitation().id.to_string(),
            until: far_ahead(),
        }
    }

    fn occasion(&self) -> OccasionId {
        OccasionId::parse(self.own).unwrap()
    }

    fn make_batch(&self) -> Batch {
        let id = BatchId::parse(&format!("lote-{}", self.own)).unwrap();
        make_batch(id, (self.tenant(), &self.occasion()), 1, self.own, self.now)
    }

    fn make_page_change(&self) -> MovedPageChange {
        MovedPageChange {
            tenant: self.tenant().clone(),
            occasion: self.occasion(),
            at: self.now,
            expires: far_ahead(),
        }
    }

    /// Makes the knowledge of an agent that is configured no more.
    fn make_knowledge(&self) -> AgentKnowledge {
        AgentKnowledge::begin(self.tenant().clone(), AgentId::parse(self.own).unwrap(), nonce())
    }

    fn make_minute_sample(&self) -> Dated<MinuteSample> {
        let sample = MinuteSample::from_instances(self.now, Some(self.tenant().clone()), Vec::new());
        Dated::new(sample, far_ahead())
    }

    fn make_audit_entry(&self) -> Dated<AuditEntry> {
        let agent = self.fixture.bound.agent.id.as_str();
        let done = AuditAction::ConfigurationChanged.on_object(Some(self.tenant()), "agent", agent);
        let done = done.with_change("{}", json!({"system_prompt": self.own}).to_string());
        let entry = AuditEntry::of_caller(nonce(), self.now, &Caller::installation(), done);
        Dated::new(entry, far_ahead())
    }

    fn make_notice(&self) -> Dated<Notice> {
        let instance = &self.fixture.bound.instance;
        let told = NewNotice {
            kind: NoticeKind::TemplateStatus,
            summary: self.own.to_owned(),
            at: Some(self.now),
            details: json!({}),
        };
        let account = instance.account_id.as_deref().unwrap();
        let notice = Notice::with_derived_id(instance.provider, account, told, self.now);
        Dated::new(notice, far_ahead())
    }

    fn make_alert(&self) -> Alert {
        Alert {
            id: fresh("alert"),
            summary: self.own.to_owned(),
            subject: AlertSubject {
                tenant: Some(self.tenant().clone()),
                instance: Some(self.fixture.instance().clone()),
                conversation: Some(self.conversation.clone()),
            },
            ..Alert::for_test(self.now)
        }
    }

    fn make_notification(&self) -> Notification {
        let tenant = Some(self.tenant().clone());
        Notification::new(self.own, tenant, vec![self.make_alert()], self.now)
    }

    fn make_endpoint(&self) -> EndpointState {
        let endpoint = WebhookEndpointId::parse(self.own).unwrap();
        EndpointState::start_at(self.tenant(), &endpoint, EventCursor(7), nonce())
    }

    fn make_failed_event(&self) -> FailedEvent {
        let left = LeftEvent {
            cursor: EventCursor(8),
            since: self.now,
            attempts: 3,
            is_given_up: false,
            error: "it answered 500".to_owned(),
        };
        let event = PublishedEvent {
            conversation: Some(self.conversation.clone()),
            ..PublishedEvent::for_test(self.tenant(), self.own, self.now)
        };
        FailedEvent::from_left(&self.make_endpoint(), left, event, self.now)
    }
}

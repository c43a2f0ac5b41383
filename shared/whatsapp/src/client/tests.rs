mod bodies;
mod connection;
mod evidence;
mod media;
mod named_hosts;
mod outcomes;
mod read_receipt;
mod templates;
mod uploads;

use super::*;
use crate::stand_in::{Does, StandIn};
use async_trait::async_trait;
use recado_domain::config::{Agent, CredentialRef, Instance, Tenant};
use recado_domain::contact::ContactAddress;
use recado_domain::content::{Content, Media, MediaKind};
use recado_domain::ids::MessageId;
use recado_domain::millis::from_unix_millis;
use recado_domain::options::SendOptions;
use recado_domain::reason::Reason;
use recado_ports::ports::{PortError, PortResult};
use serde_json::json;
use std::sync::{Arc, Mutex};
use std::time::Duration;

mod cloud;

pub(super) const PHONE: &str = "5511900000001@s.whatsapp.net";
const OWN_ID: &str = "c_0123456789abcdef0123456789abcdef-1.7";

/// The key that cannot be read.
const UNREADABLE: &str = "unreadable";

#[derive(Clone)]
pub(super) struct Keys {
    key: Option<&'static str>,
    forgotten: Arc<Mutex<u32>>,
}

impl Secrets for Keys {
    async fn resolve_secret(&self, _: &CredentialRef) -> PortResult<Option<Secret>> {
        if self.key == Some(UNREADABLE) {
            return Err(PortError::unavailable("reading a secret", "as the test wants"));
        }
        Ok(self.key.and_then(Secret::new))
    }

    async fn forget_secret(&self, _: &CredentialRef) {
        *self.forgotten.lock().unwrap() += 1;
    }
}

#[derive(Clone)]
pub(super) struct Still;

#[async_trait]
impl System for Still {
    fn now(&self) -> Timestamp {
        from_unix_millis(1_760_000_000_000)
    }

    fn random_u64(&self) -> u64 {
        0xabcd
    }

    async fn sleep(&self, _: Duration) {}
}

pub(super) fn whatsapp(
    base: &str,
    key: Option<&'static str>,
    simulation: Simulation,
) -> WhatsApp<Keys, Still> {
    let http = recado_http_client::build_http_client().unwrap();
    let config = ProviderConfig {
        evolution_base_url: Some(base.to_owned()),
        meta_base_url: base.to_owned(),
        dialog360_base_url: base.to_owned(),
        timeout: Duration::from_millis(500),
        simulation,
        ..ProviderConfig::default()
    };
    WhatsApp::new(
        http,
        Keys {
            key,
            forgotten: Arc::default(),
        },
        Still,
        config,
    )
}

pub(super) fn bound(provider: Provider, external: &str, version: u8) -> InstanceConfig {
    let instance = json!({"id": "suporte-01", "tenant": "t", "provider": provider, "external_id": external, "agent": "a",
        "api_version": version});
    let agent = json!({"id": "a", "tenant": "t", "model": "m", "system_prompt": "p"});
    InstanceConfig {
        instance: serde_json::from_value::<Instance>(instance).unwrap(),
        tenant: serde_json::from_value::<Tenant>(json!({"id": "t"})).unwrap(),
        agent: serde_json::from_value::<Agent>(agent).unwrap(),
        knowledge: None,
        tools: Vec::new(),
    }
}

fn evolution_instance() -> InstanceConfig {
    bound(Provider::Evolution, "suporte 01/a", 2)
}

fn meta_number() -> InstanceConfig {
    bound(Provider::Meta, "100000000000001", 2)
}

fn message(to: &str) -> OutgoingMessage {
    OutgoingMessage {
        id: MessageId::parse(OWN_ID).unwrap(),
        to: ContactAddress::parse(to).unwrap(),
        content: Content::from_text("Olá"),
        options: SendOptions::default(),
        attempt: 1,
        model: None,
    }
}

async fn sent_to(bound: &InstanceConfig, message: &OutgoingMessage, does: Does) -> (SendOutcome, StandIn) {
    let stand_in = StandIn::start(vec![does]).await;
    let outcome = whatsapp(&stand_in.url, Some("key-1"), Simulation::Off)
        .send_message(bound, message)
        .await;
    (outcome, stand_in)
}

fn accepted(id: &str) -> SendOutcome {
    SendOutcome::Accepted {
        provider_message_id: Some(id.to_owned()),
        simulated: false,
        held: None,
    }
}

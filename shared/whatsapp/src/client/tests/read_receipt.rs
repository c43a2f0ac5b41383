use super::{PHONE, bound, whatsapp};
use crate::stand_in::{Does, Request, StandIn};
use crate::{ProviderConfig, Simulation};
use recado_domain::config::InstanceConfig;
use recado_domain::contact::ContactAddress;
use recado_domain::provider::Provider;
use recado_pipeline::ports::Providers;
use serde_json::json;

/// What a provider that does `does` is asked, in the order of the paths.
async fn shown(bound: &InstanceConfig, chat: &str, does: Does) -> Vec<Request> {
    let stand_in = StandIn::start(vec![does]).await;
    let address = ContactAddress::parse(chat).unwrap();
    whatsapp(&stand_in.url, Some("key-1"), Simulation::Off)
        .mark_read_and_typing(bound, "M1", &address, bound.instance.typing)
        .await;
    let mut requests = stand_in.requests();
    requests.sort_by(|one, other| one.line.cmp(&other.line));
    requests
}

fn instance(provider: Provider, version: u8, mark_read: bool, typing: bool) -> InstanceConfig {
    let mut bound = bound(provider, "100000000000001", version);
    bound.instance.mark_read = mark_read;
    bound.instance.typing = typing;
    bound
}

fn fine() -> Does {
    Does::Answers(201, "{}")
}

#[tokio::test]
async fn evolution_two_marks_as_read_and_types() {
    let requests = shown(&instance(Provider::Evolution, 2, true, true), PHONE, fine()).await;
    let lines: Vec<&str> = requests.iter().map(|request| request.line.as_str()).collect();
    assert_eq!(
        lines,
        [
            "POST /chat/markMessageAsRead/100000000000001",
            "POST /chat/sendPresence/100000000000001"
        ]
    );
    assert_eq!(
        requests[0].body,
        json!({"readMessages": [{"id": "M1", "fromMe": false, "remoteJid": PHONE}]})
    );
    assert_eq!(
        requests[1].body,
        json!({"number": "5511900000001", "presence": "composing", "delay": 20_000})
    );
}

#[tokio::test]
async fn evolution_one_has_its_own_method_and_bodies() {
    let requests = shown(&instance(Provider::Evolution, 1, true, true), PHONE, fine()).await;
    assert_eq!(requests[0].line, "POST /chat/sendPresence/100000000000001");
    assert_eq!(
        requests[0].body,
        json!({"number": "5511900000001", "options": {"presence": "composing", "delay": 20_000}})
    );
    assert_eq!(requests[1].line, "PUT /chat/markMessageAsRead/100000000000001");
    assert_eq!(
        requests[1].body,
        json!({"read_messages": [{"id": "M1", "fromMe": false, "remoteJid": PHONE}]})
    );
}

#[tokio::test]
async fn a_lid_is_not_marked_since_evolution_would_skip_it_and_say_success() {
    let lid = "100000000000001@lid";
    let requests = shown(&instance(Provider::Evolution, 2, true, true), lid, fine()).await;
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].body["number"], lid);
}

#[tokio::test]
async fn only_what_is_configured_is_shown() {
    let requests = shown(&instance(Provider::Evolution, 2, true, false), PHONE, fine()).await;
    assert_eq!(requests.len(), 1);
    assert!(requests[0].line.contains("markMessageAsRead"));
    let requests = shown(&instance(Provider::Evolution, 2, false, true), PHONE, fine()).await;
    assert_eq!(requests.len(), 1);
    assert!(requests[0].line.contains("sendPresence"));
}

#[tokio::test]
async fn meta_does_both_in_one_request() {
    let (read, digits) = (
        json!({"messaging_product": "whatsapp", "status": "read", "message_id": "M1"}),
        "5511900000001",
    );
    let requests = shown(&instance(Provider::Meta, 2, true, false), digits, fine()).await;
    let version = ProviderConfig::default().meta_api_version;
    assert_eq!(
        requests[0].line,
        format!("POST /{version}/100000000000001/messages")
    );
    assert!(
        requests[0]
            .headers
            .contains(&"authorization: bearer key-1".to_owned())
    );
    assert_eq!(requests[0].body, read);
    let requests = shown(&instance(Provider::Meta, 2, true, true), digits, fine()).await;
    let mut typing = read;
    typing["typing_indicator"] = json!({"type": "text"});
    assert_eq!((requests.len(), &requests[0].body), (1, &typing));
}

#[tokio::test]
async fn a_provider_that_fails_or_hangs_is_left_alone() {
    for does in [Does::Answers(500, "{}"), Does::Breaks, Does::Hangs] {
        for provider in [Provider::Evolution, Provider::Meta] {
            // The time-out is half a second; a hung request would take for ever. (Evolution's for "typing…" lasts as long
            // as it is shown: whoever asks for it gives it up.)
            let types = provider != Provider::Evolution || !matches!(does, Does::Hangs);
            let instance = instance(provider, 2, true, types);
            let shown = shown(&instance, PHONE, does.clone());
            let within = tokio::time::timeout(std::time::Duration::from_secs(20), shown).await;
            assert!(within.is_ok(), "{provider} is waited for");
        }
    }
}

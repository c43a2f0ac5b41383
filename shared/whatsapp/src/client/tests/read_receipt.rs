use super::{PHONE, bound, whatsapp};
use crate::stand_in::{Does, Request, StandIn};
use crate::{ProviderConfig, Simulation};
use recado_domain::contact::ContactAddress;
use recado_domain::provider::Provider;
use recado_ports::ports::Providers;
use serde_json::json;

/// What a provider that does `does` is asked to show.
async fn shown(provider: Provider, version: u8, shows: Shows, chat: &str, does: Does) -> Vec<Request> {
    let stand_in = StandIn::start(vec![does]).await;
    let (bound, address) = (
        bound(provider, "100000000000001", version),
        ContactAddress::parse(chat).unwrap(),
    );
    let product = whatsapp(&stand_in.url, Some("key-1"), Simulation::Off);
    match shows {
        Shows::Read => {
            let ids = ["M1", "M2"].map(str::to_owned);
            product.mark_messages_read(&bound, &address, &ids).await;
        }
        Shows::Typing => product.show_typing(&bound, &address, "M2").await,
    }
    stand_in.requests()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shows {
    Read,
    Typing,
}

fn fine() -> Does {
    Does::Answers(201, "{}")
}

#[tokio::test]
async fn evolution_two_marks_a_whole_burst_and_types() {
    let read = shown(Provider::Evolution, 2, Shows::Read, PHONE, fine()).await;
    assert_eq!(read[0].line, "POST /chat/markMessageAsRead/100000000000001");
    assert_eq!(
        read[0].body,
        json!({"readMessages": [
            {"id": "M1", "fromMe": false, "remoteJid": PHONE}, {"id": "M2", "fromMe": false, "remoteJid": PHONE},
        ]})
    );
    let typing = shown(Provider::Evolution, 2, Shows::Typing, PHONE, fine()).await;
    assert_eq!(typing[0].line, "POST /chat/sendPresence/100000000000001");
    assert_eq!(
        typing[0].body,
        json!({"number": "5511900000001", "presence": "composing", "delay": 8_000})
    );
    assert_eq!((read.len(), typing.len()), (1, 1));
}

#[tokio::test]
async fn evolution_one_has_its_own_method_and_bodies() {
    let typing = shown(Provider::Evolution, 1, Shows::Typing, PHONE, fine()).await;
    assert_eq!(typing[0].line, "POST /chat/sendPresence/100000000000001");
    assert_eq!(
        typing[0].body,
        json!({"number": "5511900000001", "options": {"presence": "composing", "delay": 8_000}})
    );
    let read = shown(Provider::Evolution, 1, Shows::Read, PHONE, fine()).await;
    assert_eq!(read[0].line, "PUT /chat/markMessageAsRead/100000000000001");
    assert_eq!(
        read[0].body,
        json!({"read_messages": [
            {"id": "M1", "fromMe": false, "remoteJid": PHONE}, {"id": "M2", "fromMe": false, "remoteJid": PHONE},
        ]})
    );
}

#[tokio::test]
async fn a_linked_identity_is_marked_and_typed_to_as_such() {
    let lid = "100000000000001@lid";
    let read = shown(Provider::Evolution, 2, Shows::Read, lid, fine()).await;
    assert_eq!(read[0].body["readMessages"][1]["remoteJid"], lid);
    let typing = shown(Provider::Evolution, 2, Shows::Typing, lid, fine()).await;
    assert_eq!(typing[0].body["number"], lid);
}

#[tokio::test]
async fn meta_marks_up_to_the_newest_and_types_in_a_read_mark() {
    let read = shown(Provider::Meta, 2, Shows::Read, "5511900000001", fine()).await;
    let version = ProviderConfig::default().meta_api_version;
    assert_eq!(read[0].line, format!("POST /{version}/100000000000001/messages"));
    assert!(
        read[0]
            .headers
            .contains(&"authorization: bearer key-1".to_owned())
    );
    let mut body = json!({"messaging_product": "whatsapp", "status": "read", "message_id": "M2"});
    assert_eq!((read.len(), &read[0].body), (1, &body));
    let typing = shown(Provider::Meta, 2, Shows::Typing, "5511900000001", fine()).await;
    body["typing_indicator"] = json!({"type": "text"});
    assert_eq!((typing.len(), &typing[0].body), (1, &body));
}

#[tokio::test]
async fn a_provider_that_fails_or_hangs_is_left_alone() {
    for does in [Does::Answers(500, "{}"), Does::Breaks, Does::Hangs] {
        for (provider, shows) in [
            (Provider::Evolution, Shows::Read),
            (Provider::Evolution, Shows::Typing),
            (Provider::Meta, Shows::Read),
            (Provider::Meta, Shows::Typing),
        ] {
            // The time-out is half a second; a hung request would take for ever. (Evolution's for "typing…" lasts as long
            // as it is shown: whoever asks for it gives it up.)
            if provider == Provider::Evolution && shows == Shows::Typing && matches!(does, Does::Hangs) {
                continue;
            }
            let shown = shown(provider, 2, shows, PHONE, does.clone());
            let within = tokio::time::timeout(std::time::Duration::from_secs(20), shown).await;
            assert!(within.is_ok(), "{provider} is waited for");
        }
    }
}

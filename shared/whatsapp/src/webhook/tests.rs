mod gateway;

use super::*;
use crate::registry::{
    describe_webhook_setup, list_named_keys, required_keys, webhook_handler, webhook_handlers,
    write_simulated_webhook,
};
use proptest::prelude::*;
use recado_domain::contact::ContactAddress;
use recado_domain::ids::ExternalId;
use recado_domain::millis::from_unix_millis;
use recado_domain::provider::Provider;
use recado_domain::secret::{Secret, SecretParts, SecretVersion, derive_webhook_secret, hmac_sha256};
use serde_json::json;

const BASE: &str = "https://recado.example";

fn secret(text: &str) -> Secret {
    Secret::new(text).unwrap()
}

fn keys() -> WebhookKeys {
    let mut keys = WebhookKeys::default().with_masters(vec![secret("master"), secret("old-master")]);
    for key in list_named_keys() {
        keys.set_named_secrets(key, Some(&secret(&format!("new {0}, old {0}", key.setting))));
    }
    keys
}

fn instance(provider: Provider, external: &str) -> Instance {
    serde_json::from_value(json!({
        "id": "loja", "tenant": "t", "agent": "a", "provider": provider, "external_id": external,
    }))
    .unwrap()
}

fn derived(provider: Provider, external: &str) -> String {
    let external = ExternalId::parse(external).unwrap();
    let parts = SecretParts {
        version: SecretVersion::FIRST,
        salt: None,
    };
    let derived = derive_webhook_secret(&secret("master"), provider, &external, &parts);
    derived.expose_secret().to_owned()
}

/// The route of a path, as axum finds it: the provider, its handler and the parameters of the path.
fn route(path: &str) -> Option<(Provider, &'static dyn WebhookHandler, BTreeMap<String, String>)> {
    let mut router = matchit::Router::new();
    for (provider, handler) in webhook_handlers() {
        for path in handler.paths() {
            router.insert(*path, (provider, handler)).unwrap();
        }
    }
    let found = router.at(path).ok()?;
    let decode = |text| percent_encoding::percent_decode_str(text).decode_utf8().unwrap();
    let params = found.params.iter();
    let params = params.map(|(name, text)| (name.to_owned(), decode(text).into_owned()));
    Some((found.value.0, found.value.1, params.collect()))
}

fn post(
    path: &str,
    headers: &[(&'static str, &str)],
    body: &str,
) -> Result<Vec<WebhookItem>, WebhookRefusal> {
    receive(path, headers, body, &keys())
}

fn receive(
    path: &str,
    headers: &[(&'static str, &str)],
    body: &str,
    keys: &WebhookKeys,
) -> Result<Vec<WebhookItem>, WebhookRefusal> {
    let (_, handler, path_params) = route(path).unwrap();
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.insert(*name, value.parse().unwrap());
    }
    let request = WebhookRequest {
        path_params: &path_params,
        headers: &map,
        body: body.as_bytes(),
    };
    let taken = handler.authenticate_and_parse(&request, keys, from_unix_millis(1_760_000_000_000));
    taken.map(|taken| taken.items)
}

fn ping() -> String {
    json!({"event": "presence.update", "instance": "loja-1", "data": {}}).to_string()
}

fn about(number: &str) -> Value {
    json!({"entry": [{"changes": [{"field": "messages", "value": {"metadata": {"phone_number_id": number}}}]}]})
}

fn items(taken: Result<Vec<WebhookItem>, WebhookRefusal>) -> usize {
    taken.unwrap().len()
}

#[test]
fn a_path_leads_to_its_provider_under_each_of_its_names_and_to_no_other() {
    for (path, provider) in [
        ("/webhooks/evolution", Some(Provider::Evolution)),
        ("/api/webhook/evolution", Some(Provider::Evolution)),
        ("/webhooks/evolution/k/x/y", Some(Provider::Evolution)),
        ("/webhooks/meta", Some(Provider::Meta)),
        ("/webhooks/meta/100000000000001", Some(Provider::Meta)),
        ("/webhooks/whatsapp", Some(Provider::Meta)),
        ("/webhook/whatsapp", Some(Provider::Meta)),
        ("/deliver/webhook", Some(Provider::Dialog360)),
        ("/wa/webhook/100000000000001", Some(Provider::Dialog360)),
        ("/webhook/evolution", None),
        ("/deliver/send", None),
        ("/webhooks/360dialog/100000000000001", Some(Provider::Dialog360)),
        ("/webhooks/evolutions", None),
        ("/webhooks/aws-social", None),
        ("/webhooks/", None),
        ("/api/webhook/meta", None),
        ("/v1/config", None),
    ] {
        assert_eq!(route(path).map(|(provider, ..)| provider), provider, "{path}");
    }
}

#[test]
fn a_route_that_is_not_there_and_a_handshake_that_it_lacks_are_told_apart() {
    let found = |path| route(path).map(|(provider, handler, _)| (provider, handler.handshake().is_some()));
    assert_eq!(found("/webhooks/meta"), Some((Provider::Meta, true)));
    assert_eq!(found("/webhooks/whatsapp"), Some((Provider::Meta, true)));
    for missing in [
        "/webhooks/telegram",
        "/webhooks/meta/1/more",
        "/webhooks/evolution/",
        "/webhooks/evolution/a/b/c",
        "/webhooks/evolution/k/a/b/c",
        "/webhooks/360dialog/1/2",
    ] {
        assert_eq!(found(missing), None, "{missing}");
    }
    assert_eq!(found("/webhooks/evolution"), Some((Provider::Evolution, false)));
    assert_eq!(found("/webhooks/360dialog/1"), Some((Provider::Dialog360, false)));
}

#[test]
fn a_slash_inside_a_segment_stays_there() {
    let number = |path| route(path).unwrap().2["number"].clone();
    assert_eq!(number("/webhooks/360dialog/a%2Fb"), "a/b");
    assert_eq!(number("/webhooks/360dialog/100%"), "100%");
    assert_eq!(number("/webhooks/360dialog/%zz%4"), "%zz%4");
    for empty in [
        "/webhooks/360dialog/",
        "/webhooks/360dialog//",
        "/webhooks/evolution/a//b",
    ] {
        assert!(route(empty).is_none(), "{empty}");
    }
}

proptest! {
    #[test]
    fn the_path_that_a_number_is_told_leads_back_to_it(name in r"[a-zé0-9._@:+=/-][a-zé0-9 ._@:+=/-]{0,30}[a-zé0-9._@:+=/-]") {
        let told = describe_webhook_setup(&instance(Provider::Dialog360, &name), &keys(), BASE, false);
        let url = told.url.unwrap();
        prop_assert_eq!(&route(url.strip_prefix(BASE).unwrap()).unwrap().2["number"], &name);
    }
}

#[test]
fn what_an_instance_is_told_to_post_to_and_to_show_is_what_opens() {
    let keys = keys();
    for (provider, name, body) in [
        (Provider::Evolution, "loja-1", ping()),
        (
            Provider::Dialog360,
            "1000 00/1",
            json!({"event": "x"}).to_string(),
        ),
    ] {
        let told = describe_webhook_setup(&instance(provider, name), &keys, BASE, true);
        let (url, shown) = (told.url.unwrap(), told.secret.unwrap());
        let path = url.strip_prefix(BASE).unwrap();
        let header = told.secret_header.unwrap_or("apikey");
        assert_eq!(
            items(post(path, &[(header, shown.expose_secret())], &body)),
            1,
            "{provider}"
        );
        assert!(
            matches!(
                post(path, &[(header, "another")], &body),
                Err(WebhookRefusal::Unauthorized { .. })
            ),
            "{provider}"
        );
    }
    let mut version_1 = instance(Provider::Evolution, "loja-1");
    version_1.api_version = 1;
    let told = describe_webhook_setup(&version_1, &keys, BASE, true).url.unwrap();
    assert_eq!(items(post(told.strip_prefix(BASE).unwrap(), &[], &ping())), 1);
}

#[test]
fn an_event_at_the_end_of_evolutions_url_is_a_route_of_its_own_and_anything_else_another_instance() {
    let secret = derived(Provider::Evolution, "loja-1");
    let at = |path: &str| post(path, &[("apikey", &secret)], &ping());
    for event in [
        "messages-upsert",
        "status-instance",
        "messaging-history-set",
        "creds-update",
    ] {
        assert_eq!(items(at(&format!("/webhooks/evolution/{event}"))), 1, "{event}");
        assert_eq!(
            items(at(&format!("/webhooks/evolution/loja-1/{event}"))),
            1,
            "{event}"
        );
    }
    for other in ["loja-2", "messages-unheard-of"] {
        let refused = at(&format!("/webhooks/evolution/{other}"));
        assert!(matches!(refused, Err(WebhookRefusal::BadRequest(_))), "{other}");
    }
}

#[test]
fn a_body_of_evolution_that_names_no_instance_is_the_paths() {
    let secret = derived(Provider::Evolution, "loja-1");
    let body = json!({"event": "connection.update", "data": {"state": "open"}}).to_string();
    let at = |path: &str| post(path, &[("apikey", &secret)], &body);
    for path in [
        "/webhooks/evolution/loja-1",
        "/api/webhook/evolution/loja-1/connection-update",
    ] {
        match &at(path).unwrap()[..] {
            [WebhookItem::Event(event)] => assert_eq!(event.external.as_str(), "loja-1"),
            other => panic!("{other:?}"),
        }
    }
    assert!(matches!(
        at("/webhooks/evolution/loja-2"),
        Err(WebhookRefusal::Unauthorized { .. })
    ));
    for nameless in ["/webhooks/evolution", "/webhooks/evolution/connection-update"] {
        assert_eq!(
            at(nameless).unwrap_err(),
            WebhookRefusal::NotEnvelope,
            "{nameless}"
        );
    }
}

#[test]
fn no_secret_is_told_to_who_may_not_have_it() {
    for provider in Provider::ALL {
        let mut instance = instance(provider, "100000000000001");
        for api_version in [1, 2] {
            instance.api_version = api_version;
            let told = describe_webhook_setup(&instance, &keys(), BASE, false);
            assert!(told.secret.is_none(), "{provider}");
            let url = told.url.unwrap_or_default();
            assert!(!url.contains(&derived(provider, "100000000000001")), "{url}");
        }
    }
}

#[test]
fn what_is_missing_is_said_when_set_up_and_refuses_without_opening() {
    let none = WebhookKeys::default();
    let body = about("100000000000001").to_string();
    for (provider, path, body) in [
        (Provider::Evolution, "/webhooks/evolution", ping()),
        (Provider::Meta, "/webhooks/meta", "not json".to_owned()),
        (Provider::Dialog360, "/webhooks/360dialog", body),
    ] {
        let told = describe_webhook_setup(&instance(provider, "100000000000001"), &none, BASE, true);
        assert!(!told.proof_set && told.secret.is_none(), "{provider}");
        let refused = receive(path, &[], &body, &none);
        assert!(
            matches!(refused, Err(WebhookRefusal::NotConfigured(_))),
            "{provider}: {refused:?}"
        );
    }
    let meta = instance(Provider::Meta, "100000000000001");
    assert_eq!(
        describe_webhook_setup(&meta, &none, BASE, true).verify_token_set,
        Some(false)
    );
    assert_eq!(
        describe_webhook_setup(&meta, &keys(), BASE, true).verify_token_set,
        Some(true)
    );
    let by_queue = describe_webhook_setup(
        &instance(Provider::AwsSocial, "phone-number-id-00ff"),
        &none,
        BASE,
        true,
    );
    assert!(by_queue.proof_set && by_queue.url.is_none());
}

#[test]
fn either_of_several_secrets_signs_and_a_token_keeps_its_comma() {
    let body = about("100000000000001").to_string();
    for app in ["new META_APP_SECRET", "old META_APP_SECRET"] {
        let mac = hex::encode(hmac_sha256(app.as_bytes(), body.as_bytes()));
        let signed = format!("sha256={mac}");
        assert_eq!(
            items(post("/webhooks/meta", &[("x-hub-signature-256", &signed)], &body)),
            1,
            "{app}"
        );
    }
    let answer = webhook_handler(Provider::Meta).unwrap().handshake().unwrap();
    let shake = |token: &str| {
        let query = format!("hub.mode=subscribe&hub.challenge=42&hub.verify_token={token}");
        answer(&query, &keys())
    };
    assert_eq!(
        shake("new+META_VERIFY_TOKEN,+old+META_VERIFY_TOKEN"),
        Ok("42".to_owned())
    );
    assert!(matches!(
        shake("new+META_VERIFY_TOKEN"),
        Err(WebhookRefusal::Unauthorized { .. })
    ));
}

#[test]
fn every_provider_that_posts_has_one_handler_and_only_what_it_needs_is_asked_for() {
    for provider in Provider::ALL {
        let posts = provider != Provider::AwsSocial;
        assert_eq!(webhook_handler(provider).is_some(), posts, "{provider}");
    }
    let needs = |provider| {
        let needs = required_keys(provider);
        let named: Vec<&str> = needs.named.iter().map(|key| key.setting).collect();
        (needs.masters, named)
    };
    assert_eq!(needs(Provider::Evolution), (true, vec![]));
    assert_eq!(
        needs(Provider::Meta),
        (false, vec!["META_APP_SECRET", "META_VERIFY_TOKEN"])
    );
    assert_eq!(needs(Provider::Dialog360), (true, vec!["D360_PARTNER_SECRET"]));
    assert_eq!(needs(Provider::AwsSocial), (false, vec![]));
}

#[test]
fn nothing_that_could_be_a_secret_is_shown_by_debug() {
    let token = derived(Provider::Evolution, "loja-1");
    let (_, _, path_params) = route(&format!("/webhooks/evolution/k/{token}")).unwrap();
    let mut headers = HeaderMap::new();
    headers.insert("apikey", token.parse().unwrap());
    let request = WebhookRequest {
        path_params: &path_params,
        headers: &headers,
        body: token.as_bytes(),
    };
    let mut version_1 = instance(Provider::Evolution, "loja-1");
    version_1.api_version = 1;
    let told = describe_webhook_setup(&version_1, &keys(), BASE, true);
    let shown = format!("{request:?} {told:?} {:?}", keys());
    assert!(!shown.contains(&token) && !shown.contains("master\""), "{shown}");
}

#[test]
fn only_a_request_with_the_form_of_a_signature_names_numbers_to_be_looked_up() {
    let body = about("100000000000001").to_string();
    let listed = |headers: &[(&'static str, &str)], body: &str| {
        let (_, handler, params) = route("/webhooks/meta/100000000000002").unwrap();
        let headers = headers
            .iter()
            .map(|(name, text)| (name.parse().unwrap(), text.parse().unwrap()));
        let request = WebhookRequest {
            path_params: &params,
            headers: &headers.collect(),
            body: body.as_bytes(),
        };
        handler.list_numbers_with_apps(&request, &keys()).len()
    };
    let forged = format!("sha256={}", "0".repeat(64));
    assert_eq!(listed(&[("x-hub-signature-256", &forged)], &body), 2);
    assert_eq!(listed(&[("x-hub-signature-256", &forged)], "no json"), 1);
    let short = forged.replace("00000000", "");
    for unsigned in [short.as_str(), "sha256=", "", "sha1=00"] {
        assert_eq!(
            listed(&[("x-hub-signature-256", unsigned)], &body),
            0,
            "{unsigned}"
        );
    }
    assert_eq!(listed(&[], &body), 0);
}

#[test]
fn a_simulated_message_is_read_as_one_of_its_provider() {
    let external = ExternalId::parse("100000000000001").unwrap();
    let message = SimulatedInbound {
        phone: "5511900000001",
        name: "Maria",
        text: "Oi!",
        id: "wamid.sim",
        at: Timestamp::UNIX_EPOCH,
    };
    for provider in [Provider::Evolution, Provider::Meta, Provider::Dialog360] {
        let body = write_simulated_webhook(provider, &external, &message).unwrap();
        let items = crate::split_webhook(provider, body.to_string().as_bytes(), Timestamp::UNIX_EPOCH);
        let items = items.unwrap();
        let [WebhookItem::Event(event)] = items.as_slice() else {
            panic!("{provider}: {items:?}");
        };
        assert_eq!((event.provider, &event.external), (provider, &external));
        let address = event.address.as_ref().map(ContactAddress::as_str).unwrap();
        assert!(address.contains("5511900000001"), "{address}");
    }
    assert!(write_simulated_webhook(Provider::AwsSocial, &external, &message).is_none());
}

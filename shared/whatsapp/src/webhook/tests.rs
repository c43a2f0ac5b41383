mod gateway;

use super::*;
use recado_domain::ids::ExternalId;
use recado_domain::millis::from_unix_millis;
use recado_domain::secret::{Secret, SecretVersion, derive_webhook_secret, hmac_sha256};
use serde_json::{Value, json};

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
    let derived = derive_webhook_secret(&secret("master"), provider, &external, SecretVersion::FIRST);
    derived.expose_secret().to_owned()
}

fn post(path: &str, headers: &[(&'static str, &str)], body: &str) -> Result<AcceptedWebhook, WebhookRefusal> {
    receive(WebhookMethod::Post, path, headers, body, &keys())
}

fn receive(
    method: WebhookMethod,
    path: &str,
    headers: &[(&'static str, &str)],
    body: &str,
    keys: &WebhookKeys,
) -> Result<AcceptedWebhook, WebhookRefusal> {
    let (path, query) = path
        .split_once('?')
        .map_or((path, None), |(path, query)| (path, Some(query)));
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.insert(*name, value.parse().unwrap());
    }
    let brings = RequestParts {
        query,
        headers: &map,
        body: body.as_bytes(),
    };
    WebhookRoute::for_path(Some(method), path)?.authenticate_and_parse(
        brings,
        keys,
        from_unix_millis(1_760_000_000_000),
    )
}

fn ping() -> String {
    json!({"event": "presence.update", "instance": "loja-1", "data": {}}).to_string()
}

fn about(number: &str) -> Value {
    json!({"entry": [{"changes": [{"field": "messages", "value": {"metadata": {"phone_number_id": number}}}]}]})
}

fn items(taken: Result<AcceptedWebhook, WebhookRefusal>) -> usize {
    match taken.unwrap() {
        AcceptedWebhook::Items(items) => items.len(),
        AcceptedWebhook::HandshakeAnswer(answer) => panic!("no handshake was asked for: {answer}"),
    }
}

#[test]
fn a_path_leads_to_its_provider_under_each_of_its_names_and_to_no_other() {
    for (path, provider) in [
        ("/webhooks/evolution", Some(Provider::Evolution)),
        ("/api/webhook/evolution", Some(Provider::Evolution)),
        ("/webhooks/evolution/k/x/y", Some(Provider::Evolution)),
        ("/webhooks/meta", Some(Provider::Meta)),
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
        assert_eq!(provider_for_path(path), provider, "{path}");
    }
}

#[test]
fn a_route_that_is_not_there_and_a_method_that_it_lacks_are_told_apart() {
    let found =
        |method, path| WebhookRoute::for_path(method, path).map(|route| (route.provider(), route.method()));
    let (get, post) = (Some(WebhookMethod::Get), Some(WebhookMethod::Post));
    assert_eq!(
        found(get, "/webhooks/meta"),
        Ok((Provider::Meta, WebhookMethod::Get))
    );
    assert_eq!(
        found(post, "/webhooks/whatsapp"),
        Ok((Provider::Meta, WebhookMethod::Post))
    );
    for missing in [
        "/webhooks/telegram",
        "/webhooks/meta/more",
        "/webhooks/evolution/",
        "/webhooks/evolution/a/b/c",
        "/webhooks/evolution/k/a/b/c",
        "/webhooks/360dialog/1/2",
    ] {
        for method in [get, post, None] {
            assert_eq!(found(method, missing), Err(WebhookRefusal::NoRoute), "{missing}");
        }
    }
    let posts = WebhookRefusal::MethodNotAllowed(&[WebhookMethod::Post]);
    assert_eq!(found(get, "/webhooks/evolution"), Err(posts));
    assert_eq!(found(None, "/webhooks/360dialog/1"), Err(posts));
    let both = WebhookRefusal::MethodNotAllowed(&[WebhookMethod::Get, WebhookMethod::Post]);
    assert_eq!(found(None, "/webhooks/meta"), Err(both));
    assert!(matches!(
        found(post, "/webhooks/evolution/%ff"),
        Err(WebhookRefusal::BadRequest(_))
    ));
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
                Err(WebhookRefusal::Unauthorized(_))
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
        match at(path).unwrap() {
            AcceptedWebhook::Items(items) => match &items[..] {
                [WebhookItem::Event(event)] => assert_eq!(event.external.as_str(), "loja-1"),
                other => panic!("{other:?}"),
            },
            AcceptedWebhook::HandshakeAnswer(answer) => panic!("{answer}"),
        }
    }
    assert!(matches!(
        at("/webhooks/evolution/loja-2"),
        Err(WebhookRefusal::Unauthorized(_))
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
        let refused = receive(WebhookMethod::Post, path, &[], &body, &none);
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
    let shake = |token: &str| {
        let path = format!("/webhooks/meta?hub.mode=subscribe&hub.challenge=42&hub.verify_token={token}");
        receive(WebhookMethod::Get, &path, &[], "", &keys())
    };
    let whole = shake("new+META_VERIFY_TOKEN,+old+META_VERIFY_TOKEN");
    assert!(
        matches!(&whole, Ok(AcceptedWebhook::HandshakeAnswer(answer)) if answer == "42"),
        "{whole:?}"
    );
    assert!(matches!(
        shake("new+META_VERIFY_TOKEN"),
        Err(WebhookRefusal::Unauthorized(_))
    ));
}

#[test]
fn every_provider_that_posts_has_one_door_and_only_what_it_needs_is_asked_for() {
    for provider in Provider::ALL {
        let doors = all_handlers().filter(|door| door.provider() == provider);
        let posts = provider != Provider::AwsSocial;
        assert_eq!(doors.count(), usize::from(posts), "{provider}");
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
    let route = WebhookRoute::for_path(
        Some(WebhookMethod::Post),
        &format!("/webhooks/evolution/k/{token}"),
    )
    .unwrap();
    let mut headers = HeaderMap::new();
    headers.insert("apikey", token.parse().unwrap());
    let brings = RequestParts {
        query: Some(&token),
        headers: &headers,
        body: token.as_bytes(),
    };
    let mut version_1 = instance(Provider::Evolution, "loja-1");
    version_1.api_version = 1;
    let told = describe_webhook_setup(&version_1, &keys(), BASE, true);
    let shown = format!("{route:?} {brings:?} {told:?} {:?}", keys());
    assert!(!shown.contains(&token) && !shown.contains("master\""), "{shown}");
}

//! Hosts that a tenant's token named: no client asks one in the installation's network, unless the installation lists it.

use super::*;
use recado_domain::content::MessageTemplate;
use recado_ports::ports::{FileRequest, HistorySpan};

/// The providers with a base URL, each with its name for the instance.
const PROVIDERS: [(Provider, &str); 3] = [
    (Provider::Evolution, "suporte-01"),
    (Provider::Meta, "100000000000001"),
    (Provider::Dialog360, "100000000000002"),
];

/// An instance with a key of its tenant's own, at `base`, which a token of the tenant named or the installation.
fn named(provider: Provider, external: &str, base: &str, by_tenant: bool) -> InstanceConfig {
    let mut bound = bound(provider, external, 2);
    bound.instance.base_url = Some(base.to_owned());
    bound.instance.credential = Some(CredentialRef::Env("RECADO_CREDENTIAL_T_KEY".to_owned()));
    bound.instance.named_by_tenant = by_tenant;
    bound
}

/// A client of an installation that lists these hosts, with its own providers elsewhere.
fn client(listed: &[&str]) -> WhatsApp<Keys, Still> {
    let mut client = whatsapp("http://127.0.0.1:9", Some("key-1"), Simulation::Off)
        .with_public_client(recado_http_client::build_public_http_client().unwrap());
    let mut config = (*client.config).clone();
    config.listed_hosts = listed.iter().map(|host| (*host).to_owned()).collect();
    client.config = Arc::new(config);
    client
}

/// Asks all that a client asks of an instance's host. `host` is named by a file of the instance, too.
async fn ask_everything(client: &WhatsApp<Keys, Still>, bound: &InstanceConfig, host: &str) {
    let contact = ContactAddress::parse(PHONE).unwrap();
    let message = message(PHONE);
    let template: MessageTemplate =
        serde_json::from_value(json!({"name": "hello", "language": "pt_BR"})).unwrap();
    client.send_message(bound, &message).await;
    client.query_connection(bound).await;
    client.query_standing(bound).await;
    client
        .check_template(bound, &template, SignedDuration::ZERO)
        .await;
    client.find_send_evidence(bound, &message, &[], Still.now()).await;
    client.fetch_picture(bound, &contact).await;
    client
        .mark_messages_read(bound, &contact, &["A1".to_owned()])
        .await;
    client.show_typing(bound, &contact, "A1").await;
    let span = HistorySpan {
        since: Still.now(),
        until: Still.now(),
    };
    let _ = client.read_history_page(bound, span, 1).await;
    for source in [format!("{host}/internal/secret"), "3EB0A1".to_owned()] {
        let media = Media {
            source: Some(source),
            ..Media::from_kind(MediaKind::Image)
        };
        let request = FileRequest {
            media: &media,
            provider_message_id: Some("3EB0A1"),
            bytes_max: 1000,
            within: Duration::from_millis(500),
            was_sent: false,
            private_hosts: false,
        };
        let _ = client.fetch_file(bound, &request).await;
    }
}

/// Otherwise a tenant reads pages of the installation's network, or posts to them.
#[tokio::test]
async fn no_client_asks_a_private_host_that_a_tenants_token_named() {
    for (provider, external) in PROVIDERS {
        let host = StandIn::start(vec![Does::Answers(200, "{}"); 40]).await;
        let port = host.url.rsplit_once(':').unwrap().1.to_owned();
        for base in [
            host.url.clone(),
            format!("http://localhost:{port}"),
            format!("https://127.0.0.1:{port}"),
            format!("https://localhost:{port}/api"),
            format!("https://[::ffff:127.0.0.1]:{port}"),
        ] {
            let bound = named(provider, external, &base, true);
            for listed in [&[][..], &["127.0.0.1", "other.example", "http://127.0.0.1:1"]] {
                let client = client(listed);
                assert!(client.normalize(bound.instance.clone()).is_err(), "{base}");
                ask_everything(&client, &bound, &host.url).await;
            }
        }
        assert!(
            host.requests().is_empty(),
            "{provider}: {:?}",
            host.requests().len()
        );
    }
}

#[tokio::test]
async fn a_listed_host_and_one_that_the_installation_named_are_asked() {
    for (provider, external) in PROVIDERS {
        let host = StandIn::start(vec![Does::Answers(200, "{}"); 40]).await;
        let by_tenant = named(provider, external, &host.url, true);
        let by_installation = named(provider, external, &host.url, false);
        for (bound, listed) in [
            (by_tenant, vec![host.url.as_str()]),
            (by_installation, Vec::new()),
        ] {
            let before = host.requests().len();
            let client = client(&listed);
            assert!(client.normalize(bound.instance.clone()).is_ok());
            ask_everything(&client, &bound, &host.url).await;
            assert!(host.requests().len() > before + 2, "{provider} {listed:?}");
        }
    }
}

#[test]
fn a_public_host_that_a_tenants_token_named_is_asked_by_the_client_for_public_hosts_alone() {
    let base = "https://evolution.example.org";
    let all = client(&[]);
    let without = whatsapp("http://127.0.0.1:9", Some("key-1"), Simulation::Off);
    let (by_tenant, by_installation) = (
        named(Provider::Evolution, "a", base, true).instance,
        named(Provider::Evolution, "a", base, false).instance,
    );
    assert!(all.normalize(by_tenant.clone()).is_ok());
    // A name that leads into the network is refused by the resolver of that client.
    let public = all.public.as_ref().unwrap();
    assert!(std::ptr::eq(all.client_for(&by_tenant).unwrap(), public));
    assert!(std::ptr::eq(
        all.client_for(&by_installation).unwrap(),
        &raw const all.http
    ));
    assert!(without.client_for(&by_tenant).is_err());
    assert!(without.client_for(&by_installation).is_ok());
    let plain = named(Provider::Evolution, "a", "http://10.0.0.7", true).instance;
    assert!(all.normalize(plain).is_err());
}

//! Files that providers give.

use super::*;
use recado_domain::message::FileLoss;
use recado_ports::ports::FileRequest;

const BYTES: &[u8] = b"\x89PNG";
const MINUTE: Duration = Duration::from_secs(60);

fn named(source: &str) -> Media {
    Media {
        source: Some(source.to_owned()),
        ..Media::from_kind(MediaKind::Image)
    }
}

fn request(media: &Media) -> FileRequest<'_> {
    FileRequest {
        media,
        provider_message_id: Some("3EB0A1"),
        bytes_max: 1000,
        within: MINUTE,
        was_sent: false,
        private_hosts: false,
    }
}

/// The bytes and the type that come, and what was asked.
async fn fetched(
    bound: &InstanceConfig,
    script: Vec<Does>,
    request: &FileRequest<'_>,
) -> (Result<(Vec<u8>, Option<String>), FileError>, StandIn) {
    let stand_in = StandIn::start(script).await;
    let whatsapp = whatsapp(&stand_in.url, Some("key-1"), Simulation::Off);
    let file = match whatsapp.fetch_file(bound, request).await {
        Ok(file) => file.bytes.read_all().await.map(|bytes| (bytes, file.mime_type)),
        Err(error) => Err(error),
    };
    (file, stand_in)
}

fn dialog360_number() -> InstanceConfig {
    bound(Provider::Dialog360, "100000000000001", 2)
}

#[tokio::test]
async fn evolution_gives_a_file_in_base64() {
    let answer = r#"{"mediaType":"imageMessage","mimetype":"image/png","base64":"iVBORw=="}"#;
    let media = named("3EB0A1");
    let (file, server) = fetched(
        &evolution_instance(),
        vec![Does::Answers(201, answer)],
        &request(&media),
    )
    .await;
    assert_eq!(file.unwrap(), (BYTES.to_vec(), Some("image/png".to_owned())));
    let asked = &server.requests()[0];
    assert_eq!(
        asked.line,
        "POST /chat/getBase64FromMediaMessage/suporte%2001%2Fa"
    );
    assert_eq!(
        asked.body,
        json!({"message": {"key": {"id": "3EB0A1"}}, "convertToMp4": false})
    );
    assert!(asked.headers.contains(&"apikey: key-1".to_owned()));
}

#[tokio::test]
async fn evolutions_own_url_is_asked_without_the_key_and_the_api_if_it_fails() {
    let own = StandIn::start(vec![
        Does::Answers(404, ""),
        Does::Answers(201, r#"{"base64":"iVBORw=="}"#),
    ])
    .await;
    let whatsapp = whatsapp(&own.url, Some("key-1"), Simulation::Off);
    let media = named(&format!("{}/bucket/a.png?x=1", own.url));
    let file = whatsapp
        .fetch_file(&evolution_instance(), &request(&media))
        .await
        .unwrap();
    assert_eq!(file.bytes.read_all().await.unwrap(), BYTES);
    let requests = own.requests();
    assert_eq!(requests[0].line, "GET /bucket/a.png?x=1");
    assert!(!requests[0].headers.iter().any(|header| header.contains("key-1")));
    assert!(
        requests[1]
            .line
            .starts_with("POST /chat/getBase64FromMediaMessage/")
    );
}

#[tokio::test]
async fn a_url_into_a_private_network_is_asked_only_if_that_is_allowed() {
    let neighbour = StandIn::start(vec![Does::Answers(200, "secret"), Does::Answers(200, "secret")]).await;
    let port = neighbour.url.rsplit_once(':').unwrap().1;
    let answers = vec![Does::Answers(201, r#"{"base64":"iVBORw=="}"#)];
    // The second is the same address in another spelling: what is judged is what will be asked.
    for host in ["127.0.0.1", "127.1"] {
        let media = named(&format!("http://{host}:{port}/a"));
        let before = neighbour.requests().len();
        let (file, _) = fetched(&evolution_instance(), answers.clone(), &request(&media)).await;
        assert_eq!(file.unwrap().0, BYTES, "{host}");
        assert_eq!(neighbour.requests().len(), before, "{host}");
        let allowed = FileRequest {
            private_hosts: true,
            ..request(&media)
        };
        let (file, _) = fetched(&evolution_instance(), answers.clone(), &allowed).await;
        assert_eq!(file.unwrap().0, b"secret", "{host}");
    }
}

#[tokio::test]
async fn a_file_that_was_sent_by_its_url_is_asked_for_at_no_provider_and_in_no_private_network() {
    let own = StandIn::start(vec![Does::Answers(200, "secret"), Does::Answers(200, "secret")]).await;
    let media = named(&format!("{}/a.png", own.url));
    for bound in [evolution_instance(), meta_number()] {
        let whatsapp = whatsapp(&own.url, Some("key-1"), Simulation::Off);
        let sent = FileRequest {
            was_sent: true,
            private_hosts: true,
            ..request(&media)
        };
        let refused = whatsapp.fetch_file(&bound, &sent).await.map(drop);
        let forbidden = matches!(refused, Err(FileError::Lost(FileLoss::ForbiddenAddress)));
        assert!(forbidden, "{refused:?}");
    }
    assert!(own.requests().is_empty());
}

#[tokio::test]
async fn what_evolution_cannot_give_now_may_come_later() {
    let media = named("3EB0A1");
    for does in [
        Does::Answers(
            400,
            r#"{"status":400,"response":{"message":["Message not found"]}}"#,
        ),
        Does::Answers(201, "null"),
        Does::Answers(201, r#"{"base64":"?"}"#),
        Does::Breaks,
    ] {
        let (file, _) = fetched(&evolution_instance(), vec![does.clone()], &request(&media)).await;
        assert!(
            matches!(file, Err(FileError::Unavailable { .. })),
            "{does:?} {file:?}"
        );
    }
    let (file, _) = fetched(
        &evolution_instance(),
        vec![Does::Answers(401, "{}")],
        &request(&media),
    )
    .await;
    assert!(matches!(file, Err(FileError::Credentials)), "{file:?}");
}

#[tokio::test]
async fn meta_is_asked_where_a_file_is_and_then_for_it_with_the_token_both_times() {
    let place = r#"{"url":"{own}/download?mid=1","mime_type":"image/png","file_size":4,
        "sha256":"0F4636C78F65D3639ECE5A064B5AE753E3408614A14FB18AB4D7540D2C248543"}"#;
    let script = vec![Does::NamesItself(place), Does::Answers(200, "\u{7f}PNG")];
    let stand_in = StandIn::start(script).await;
    let whatsapp = whatsapp(&stand_in.url, Some("key-1"), Simulation::Off);
    let media = named("4711");
    let file = whatsapp
        .fetch_file(&meta_number(), &request(&media))
        .await
        .unwrap();
    assert_eq!(file.mime_type.as_deref(), Some("image/png"));
    assert_eq!(
        file.sha256.as_deref(),
        Some("0f4636c78f65d3639ece5a064b5ae753e3408614a14fb18ab4d7540d2c248543")
    );
    assert_eq!(file.bytes.read_all().await.unwrap(), b"\x7fPNG");
    let requests = stand_in.requests();
    assert_eq!(
        requests[0].line,
        "GET /v24.0/4711?phone_number_id=100000000000001"
    );
    assert_eq!(requests[1].line, "GET /download?mid=1");
    for request in requests {
        assert!(
            request
                .headers
                .contains(&"authorization: bearer key-1".to_owned())
        );
    }
}

#[tokio::test]
async fn the_token_is_not_sent_to_another_host() {
    let elsewhere = r#"{"url":"https://evil.example/a"}"#;
    let media = named("4711");
    let script = vec![Does::Answers(200, elsewhere), Does::Answers(200, "x")];
    let (file, server) = fetched(&meta_number(), script, &request(&media)).await;
    assert!(matches!(file, Err(FileError::Unavailable { .. })), "{file:?}");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let place = r#"{"url":"{own}/download"}"#;
    let script = vec![
        Does::NamesItself(place),
        Does::Redirects("/elsewhere".to_owned()),
        Does::Answers(200, "x"),
    ];
    let media = named("4711");
    let (file, server) = fetched(&meta_number(), script, &request(&media)).await;
    assert!(matches!(file, Err(FileError::Unavailable { .. })), "{file:?}");
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn a_file_that_meta_calls_too_large_or_gone_is_not_asked_for() {
    let media = named("4711");
    for (does, reason) in [
        (
            Does::Answers(200, r#"{"url":"{own}/a","file_size":1001}"#),
            FileLoss::TooLarge,
        ),
        (Does::Answers(404, r#"{"error":{"code":100}}"#), FileLoss::Gone),
    ] {
        let (file, server) = fetched(&meta_number(), vec![does], &request(&media)).await;
        assert!(
            matches!(&file, Err(FileError::Lost(lost)) if *lost == reason),
            "{file:?}"
        );
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_download_above_the_limit_is_refused_by_its_length() {
    let media = named("4711");
    let long = Does::AnswersWith(200, Vec::new(), "x".repeat(1001));
    let script = vec![Does::NamesItself(r#"{"url":"{own}/a"}"#), long];
    let (file, _) = fetched(&meta_number(), script, &request(&media)).await;
    assert!(
        matches!(file, Err(FileError::Lost(FileLoss::TooLarge))),
        "{file:?}"
    );
}

#[tokio::test]
async fn dialog360_gives_the_file_on_its_own_host() {
    let place = r#"{"url":"https:\\/\\/lookaside.fbsbx.com\\/attachments\\/?mid=1","mime_type":"image/png"}"#;
    let script = vec![Does::Answers(200, place), Does::Answers(200, "abc")];
    let media = named("4711");
    let (file, server) = fetched(&dialog360_number(), script, &request(&media)).await;
    assert_eq!(file.unwrap().0, b"abc");
    let requests = server.requests();
    assert_eq!(requests[0].line, "GET /4711");
    assert_eq!(requests[1].line, "GET /attachments/?mid=1");
    for request in requests {
        assert!(request.headers.contains(&"d360-api-key: key-1".to_owned()));
    }
}

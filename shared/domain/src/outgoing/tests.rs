use super::*;
use crate::options::SendOptions;
use serde_json::{Value, json};

fn check(value: Value) -> Result<(), OutgoingError> {
    serde_json::from_value::<Content>(value).unwrap().check_outgoing()
}

/// Where it is wrong.
fn field(value: &Value) -> &'static str {
    match check(value.clone()) {
        Err(OutgoingError::InvalidField { field, .. }) => field,
        other => panic!("{value}: {other:?}"),
    }
}

fn file(media: &str) -> Value {
    json!({"type": "media", "media": media, "source": "https://example.org/a"})
}

fn place() -> Value {
    json!({"type": "location", "latitude": "-23.5", "longitude": "-46.6"})
}

fn buttons() -> Value {
    json!({"type": "buttons", "body": "Confirma?", "buttons": [
        {"kind": "reply", "id": "s", "title": "Sim"}, {"kind": "reply", "id": "n", "title": "Não"}]})
}

fn list() -> Value {
    json!({"type": "list", "body": "Escolha", "button": "Ver", "sections": [
        {"rows": [{"id": "9", "title": "9h"}, {"id": "10", "title": "10h"}]}]})
}

fn poll() -> Value {
    json!({"type": "poll", "question": "Que dia?", "options": ["Segunda", "Terça"]})
}

fn template() -> Value {
    json!({"type": "template", "name": "lembrete_1", "language": "pt_BR", "components": [{"type": "body", "parameters": []}]})
}

fn with(mut value: Value, at: &str, change: &Value) -> Value {
    let (parent, key) = at.rsplit_once('/').unwrap();
    match value.pointer_mut(parent).unwrap() {
        Value::Array(members) => members[key.parse::<usize>().unwrap()] = change.clone(),
        object => object[key] = change.clone(),
    }
    value
}

#[test]
fn everything_that_can_be_sent_is_of_a_kind_and_passes() {
    let mut kinds = Vec::new();
    let url = json!({"type": "buttons", "body": "b", "buttons": [{"kind": "url", "url": "https://example.org", "title": "Abrir"}]});
    let call = json!({"type": "buttons", "body": "b", "buttons": [{"kind": "call", "phone": "+551100", "title": "Ligar"}]});
    let mut all = vec![
        json!({"type": "text", "text": "Olá"}),
        place(),
        json!({"type": "contacts", "contacts": [{"name": "Ana", "phones": ["+55 (11) 90000-0001"]}]}),
        json!({"type": "reaction", "emoji": "👍", "target": "wamid.A="}),
        json!({"type": "reaction", "target": "3EB0"}),
        buttons(),
        url,
        call,
        list(),
        poll(),
        template(),
    ];
    all.extend(["image", "video", "audio", "voice", "document", "sticker"].map(file));
    for value in all {
        let content: Content = serde_json::from_value(value.clone()).unwrap();
        assert_eq!(content.check_outgoing(), Ok(()), "{value}");
        kinds.push(content.outgoing_kind().unwrap());
    }
    for &kind in OutgoingKind::ALL {
        assert!(kinds.contains(&kind), "{kind:?}");
    }
}

#[test]
fn what_only_comes_in_is_refused_by_its_name() {
    for (value, name) in [
        (json!({"type": "choice", "title": "Sim"}), "choice"),
        (json!({"type": "form", "answers": {}}), "form"),
        (json!({"type": "poll_vote", "options": []}), "poll_vote"),
        (json!({"type": "order", "count": 1}), "order"),
        (
            json!({"type": "edit", "content": {"type": "text", "text": "x"}}),
            "edit",
        ),
        (json!({"type": "deletion"}), "deletion"),
        (json!({"type": "welcome"}), "welcome"),
        (json!({"type": "system", "what": "other"}), "system"),
        (json!({"type": "unsupported", "kind": "x", "raw": {}}), "x"),
    ] {
        let content: Content = serde_json::from_value(value.clone()).unwrap();
        let error = content.check_outgoing().unwrap_err().to_string();
        assert!(error.contains("only comes in"), "{value} {error}");
        assert!(name == "x" || error.contains(name), "{value} {error}");
        assert_eq!(content.outgoing_kind(), None);
    }
}

#[test]
fn what_is_wrong_is_named() {
    let wide = |length: usize| json!("á".repeat(length));
    for (value, expected) in [
        (json!({"type": "text", "text": " "}), "text"),
        (json!({"type": "text", "text": wide(4097)}), "text"),
        (with(file("image"), "/caption", &wide(1025)), "caption"),
        (with(file("voice"), "/caption", &json!("oi")), "caption"),
        (with(file("sticker"), "/caption", &json!("oi")), "caption"),
        (
            with(file("document"), "/file_name", &json!("../a.pdf")),
            "file_name",
        ),
        (with(file("document"), "/mime_type", &json!("pdf")), "mime_type"),
        (with(file("image"), "/view_once", &json!(true)), "content"),
        (with(place(), "/latitude", &json!("91")), "latitude"),
        (with(place(), "/latitude", &json!("NaN")), "latitude"),
        (with(place(), "/longitude", &json!("here")), "longitude"),
        (with(place(), "/live", &json!(true)), "content"),
        (json!({"type": "contacts", "contacts": []}), "contacts"),
        (
            json!({"type": "contacts", "contacts": [{"name": "Ana"}]}),
            "phones",
        ),
        (
            json!({"type": "contacts", "contacts": [{"name": "Ana", "phones": ["ask"]}]}),
            "phones",
        ),
        (json!({"type": "reaction", "emoji": "👍"}), "target"),
        (json!({"type": "reaction", "emoji": "ok", "target": "A"}), "emoji"),
        (json!({"type": "reaction", "emoji": "", "target": "A"}), "emoji"),
        (with(buttons(), "/buttons", &json!([])), "buttons"),
        (with(buttons(), "/body", &json!("")), "body"),
        (with(buttons(), "/body", &wide(4090)), "content"),
        (with(buttons(), "/buttons/1/id", &json!("s")), "ids of buttons"),
        (
            with(buttons(), "/buttons/1/title", &json!("Sim")),
            "titles of buttons",
        ),
        (
            with(
                buttons(),
                "/buttons/1",
                &json!({"kind": "url", "url": "https://example.org", "title": "x"}),
            ),
            "buttons",
        ),
        (with(list(), "/button", &json!("")), "button"),
        (with(list(), "/sections", &json!([])), "sections"),
        (with(list(), "/sections/0/rows", &json!([])), "rows"),
        (with(list(), "/sections/0/rows/1/id", &json!("9")), "ids of rows"),
        (with(poll(), "/options", &json!(["a"])), "options"),
        (with(poll(), "/options", &json!(["a", "a"])), "options"),
        (with(poll(), "/selectable", &json!(3)), "selectable"),
        (with(template(), "/name", &json!("Lembrete")), "name"),
        (with(template(), "/language", &json!("")), "language"),
        (
            with(template(), "/components", &json!([{"kind": "body"}])),
            "components",
        ),
        (
            with(template(), "/components/0/parameters", &json!({})),
            "parameters",
        ),
    ] {
        assert_eq!(field(&value), expected, "{value}");
    }
    let two =
        json!([{"rows": [{"id": "1", "title": "a"}]}, {"title": "b", "rows": [{"id": "2", "title": "b"}]}]);
    assert_eq!(field(&with(list(), "/sections", &two)), "sections");
}

#[test]
fn files_come_over_https_from_ones_own_network_or_from_an_upload() {
    for good in [
        "https://example.org/a.png?x=1",
        "http://127.0.0.1:8080/a",
        "http://localhost/a",
        "http://[::1]:1/a",
        "https://169.254.169.254/a",
        "http://evolution:8080/a",
        "upload:0123456789abcdef0123456789abcdef",
    ] {
        assert_eq!(
            check(with(file("image"), "/source", &json!(good))),
            Ok(()),
            "{good}"
        );
    }
    for bad in [
        "",
        "http://example.org/a",
        "http://localhost@example.org/a",
        "http://localhost\\@example.org/a",
        "https://example.org\\a",
        "https://127.1/a",
        "http://127.0.0.1.example.org/a",
        "https://",
        "https://ana:secret@example.org/a",
        "https://example.org/a b",
        "ftp://example.org/a",
        "file:///etc/passwd",
        "data:image/png;base64,AA==",
        "upload:../x",
        "upload:",
        "1234567890",
    ] {
        assert_eq!(
            field(&with(file("image"), "/source", &json!(bad))),
            "source",
            "{bad}"
        );
    }
}

#[test]
fn what_is_on_the_web_is_told_from_what_is_in_ones_own_network() {
    for (url, web, private) in [
        ("https://example.org/a", true, false),
        ("http://example.org/a", false, false),
        ("https://localhost/a", false, true),
        ("https://10.0.0.1/a", false, true),
        ("http://169.254.169.254/a", false, true),
        ("http://[::1]:2375/containers", false, true),
        ("https://example.org\\a", false, false),
    ] {
        assert_eq!(
            (is_public_https_url(url), is_private_url(url)),
            (web, private),
            "{url}"
        );
    }
    let long = format!("https://example.org/{}", "a".repeat(2048));
    assert!(!is_public_https_url(&long));
}

#[test]
fn a_mime_type_is_tokens_and_nothing_else() {
    let checked = |mime: &str| check(with(file("image"), "/mime_type", &json!(mime)));
    for fine in [
        "image/png",
        "audio/ogg; codecs=opus",
        "audio/ogg;codecs=opus",
        "application/vnd.ms-excel",
        "image/svg+xml",
    ] {
        assert_eq!(checked(fine), Ok(()), "{fine}");
    }
    for wrong in [
        "",
        "image",
        "image/",
        "/png",
        "image/png/x",
        r#"image/png;base64,AAAA"},"x":""#,
        "image/png; a=\"b\"",
        "image/png;",
        "image/png\r\nX: y",
        "image/p ng",
        "imagé/png",
        "image/png, text/html",
    ] {
        assert!(checked(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn options_are_checked_too() {
    let options = |value: Value| {
        serde_json::from_value::<SendOptions>(value)
            .unwrap()
            .check_options()
    };
    assert_eq!(options(json!({})), Ok(()));
    let fine = json!({"reply_to": "wamid.HBg=", "mentions": ["5511900000001"], "link_preview": true});
    assert_eq!(options(fine), Ok(()));
    for bad in [
        json!({"reply_to": ""}),
        json!({"reply_to": "a b"}),
        json!({"mentions": ["+5511900000001"]}),
        json!({"mentions": ["Ana"]}),
    ] {
        assert!(options(bad.clone()).is_err(), "{bad}");
    }
}

#[test]
fn an_echo_is_known_by_what_every_provider_repeats() {
    let echo = |value: Value| {
        serde_json::from_value::<Content>(value)
            .unwrap()
            .render_echo_text()
    };
    let sent = json!({"type": "media", "media": "voice", "source": "https://example.org/a"});
    let back =
        json!({"type": "media", "media": "audio", "mime_type": "audio/ogg", "source": "3EB0", "seconds": 4});
    assert_eq!(echo(sent), echo(back));
    let place = |latitude, name: Option<&str>| json!({"type": "location", "latitude": latitude, "longitude": "-46.60", "name": name});
    assert_eq!(
        echo(place("-23.550", None)),
        echo(place("-23.55", Some("Clínica")))
    );
    assert_ne!(echo(place("-23.550", None)), echo(place("-23.56", None)));
    let (cat, dog) = (
        with(file("image"), "/caption", &json!("gato")),
        with(file("image"), "/caption", &json!("cão")),
    );
    assert_ne!(echo(cat), echo(dog));
    assert_eq!(echo(json!({"type": "text", "text": "Olá"})), "Olá");
}

#[test]
fn a_poll_that_is_written_out_can_be_answered() {
    let content: Content = serde_json::from_value(poll()).unwrap();
    assert_eq!(content.render_fallback_text(), "Que dia?\n\n1. Segunda\n2. Terça");
}

use super::*;
use recado_domain::contact::ContactAddress;
use recado_domain::ids::MessageId;
use recado_domain::options::SendOptions;

fn message(content: Value) -> OutgoingMessage {
    OutgoingMessage {
        id: MessageId::parse("c_0123456789abcdef0123456789abcdef-1.7").unwrap(),
        to: ContactAddress::parse("5511900000001").unwrap(),
        content: serde_json::from_value(content).unwrap(),
        options: SendOptions::default(),
        attempt: 1,
        model: None,
    }
}

/// The type and the object of that name.
fn part(content: Value) -> (String, Value) {
    let message = message(content);
    assert_eq!(message.content.check_outgoing(), Ok(()));
    let body = build_message_body(&message).unwrap();
    let kind = body["type"].as_str().unwrap().to_owned();
    let part = body[&kind].clone();
    assert_eq!(body.as_object().unwrap().len(), 6, "{body}");
    (kind, part)
}

fn why(content: Value) -> String {
    match build_message_body(&message(content)) {
        Err(SendOutcome::Permanent { why, .. }) => why,
        other => panic!("{other:?}"),
    }
}

fn buttons(body: &str, title: &str) -> Value {
    json!({"type": "buttons", "header": "Consulta", "body": body, "footer": "Clínica", "buttons": [
        {"kind": "reply", "id": "s", "title": title}, {"kind": "reply", "id": "n", "title": "Não"}]})
}

fn list(rows: usize) -> Value {
    let rows: Vec<Value> = (0..rows)
        .map(|row| json!({"id": row.to_string(), "title": format!("{row}h"), "description": "com Ana"}))
        .collect();
    json!({"type": "list", "body": "Escolha", "button": "Ver", "sections": [{"title": "Manhã", "rows": rows}]})
}

#[test]
fn files_go_by_link_or_id_with_what_their_kind_takes() {
    let file = |media: &str, more: Value| {
        let mut file = json!({"type": "media", "media": media, "source": "https://example.org/x/a.bin"});
        file.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        part(file)
    };
    let link = "https://example.org/x/a.bin";
    for (media, more, kind, expected) in [
        (
            "image",
            json!({"caption": "olhe"}),
            "image",
            json!({"link": link, "caption": "olhe"}),
        ),
        (
            "video",
            json!({"file_name": "v.mp4"}),
            "video",
            json!({"link": link}),
        ),
        ("audio", json!({}), "audio", json!({"link": link})),
        ("voice", json!({}), "audio", json!({"link": link, "voice": true})),
        ("sticker", json!({}), "sticker", json!({"link": link})),
        (
            "document",
            json!({"caption": "veja"}),
            "document",
            json!({"link": link, "caption": "veja", "filename": "a.bin"}),
        ),
        (
            "document",
            json!({"file_name": "b.pdf"}),
            "document",
            json!({"link": link, "filename": "b.pdf"}),
        ),
    ] {
        assert_eq!(file(media, more), (kind.to_owned(), expected), "{media}");
    }
    let held = message(json!({"type": "media", "media": "voice", "source": "123456"}));
    assert_eq!(
        build_message_body(&held).unwrap()["audio"],
        json!({"id": "123456", "voice": true})
    );
    assert_eq!(
        why(json!({"type": "media", "media": "image"})),
        "the file has no source"
    );
    let long = json!({"type": "media", "media": "image", "source": "1", "caption": "x".repeat(1025)});
    assert_eq!(why(long), "caption too long");
}

#[test]
fn places_cards_and_reactions_have_their_own_objects() {
    let place = json!({"type": "location", "latitude": "-23.55", "longitude": "-46.6", "name": "Clínica"});
    assert_eq!(
        part(place),
        (
            "location".to_owned(),
            json!({"latitude": -23.55, "longitude": -46.6, "name": "Clínica"})
        )
    );
    let cards = json!({"type": "contacts", "contacts": [{"name": "Ana Lima", "phones": ["+55 11 90000-0001", "1130000000"],
        "emails": ["ana@example.org"], "organization": "Clínica"}]});
    assert_eq!(
        part(cards).1,
        json!([{"name": {"formatted_name": "Ana Lima", "first_name": "Ana"}, "org": {"company": "Clínica"},
            "emails": [{"email": "ana@example.org"}],
            "phones": [{"phone": "+55 11 90000-0001", "type": "CELL", "wa_id": "5511900000001"},
                {"phone": "1130000000", "type": "CELL"}]}])
    );
    let reaction =
        |emoji: Option<&str>| part(json!({"type": "reaction", "emoji": emoji, "target": "wamid.A"})).1;
    assert_eq!(
        reaction(Some("👍")),
        json!({"message_id": "wamid.A", "emoji": "👍"})
    );
    assert_eq!(reaction(None), json!({"message_id": "wamid.A", "emoji": ""}));
}

#[test]
fn menus_within_the_limits_are_native() {
    assert_eq!(
        part(buttons("Confirma?", "Sim")),
        (
            "interactive".to_owned(),
            json!({"type": "button", "header": {"type": "text", "text": "Consulta"},
            "body": {"text": "Confirma?"}, "footer": {"text": "Clínica"}, "action": {"buttons": [
                {"type": "reply", "reply": {"id": "s", "title": "Sim"}}, {"type": "reply", "reply": {"id": "n", "title": "Não"}}]}})
        )
    );
    let url = json!({"type": "buttons", "body": "Veja", "buttons": [{"kind": "url", "url": "https://example.org", "title": "Abrir"}]});
    assert_eq!(
        part(url).1,
        json!({"type": "cta_url", "body": {"text": "Veja"}, "action": {"name": "cta_url",
            "parameters": {"display_text": "Abrir", "url": "https://example.org"}}})
    );
    assert_eq!(
        part(list(1)).1,
        json!({"type": "list", "body": {"text": "Escolha"}, "action": {"button": "Ver", "sections": [
            {"title": "Manhã", "rows": [{"id": "0", "title": "0h", "description": "com Ana"}]}]}})
    );
    assert_eq!(part(list(10)).0, "interactive");
}

#[test]
fn menus_beyond_the_limits_and_what_meta_lacks_go_as_the_whole_text() {
    let call = json!({"type": "buttons", "body": "Fale", "buttons": [{"kind": "call", "phone": "+551130000000", "title": "Ligar"}]});
    let poll = json!({"type": "poll", "question": "Que dia?", "options": ["Seg", "Ter"]});
    let long_row = json!({"type": "list", "body": "b", "button": "Ver", "sections": [{"rows": [{"id": "1", "title": "x".repeat(25)}]}]});
    for content in [
        buttons("Confirma?", "Um título que é longo"),
        buttons(&"x".repeat(1025), "Sim"),
        list(11),
        long_row,
        call,
        poll,
    ] {
        let words = serde_json::from_value::<Content>(content.clone())
            .unwrap()
            .render_fallback_text();
        assert_eq!(
            part(content),
            ("text".to_owned(), json!({"body": words, "preview_url": false}))
        );
    }
}

#[test]
fn a_template_goes_with_its_components() {
    let components = json!([{"type": "body", "parameters": [{"type": "text", "text": "Ana"}]}]);
    let template =
        json!({"type": "template", "name": "lembrete", "language": "pt_BR", "components": components});
    let expected = json!({"name": "lembrete", "language": {"code": "pt_BR"}, "components": components});
    assert_eq!(part(template), ("template".to_owned(), expected));
    let bare = json!({"type": "template", "name": "lembrete", "language": "pt_BR"});
    assert_eq!(
        part(bare).1,
        json!({"name": "lembrete", "language": {"code": "pt_BR"}})
    );
}

#[test]
fn options_reach_what_takes_them() {
    let mut message = message(json!({"type": "text", "text": "https://example.org"}));
    message.options = SendOptions {
        reply_to: Some("wamid.Q".to_owned()),
        link_preview: Some(true),
        mentions: vec!["5511900000002".to_owned()],
        ..SendOptions::default()
    };
    let with = build_message_body(&message).unwrap();
    assert_eq!(with["context"], json!({"message_id": "wamid.Q"}));
    assert_eq!(with["text"]["preview_url"], true);
    message.content = Content::Reaction {
        emoji: None,
        target: Some("wamid.A".to_owned()),
    };
    assert!(build_message_body(&message).unwrap().get("context").is_none());
}

#[test]
fn what_only_comes_in_is_never_sent() {
    assert_eq!(
        why(json!({"type": "choice", "title": "Sim"})),
        "content of a kind that only comes in"
    );
}

use super::*;
use recado_domain::contact::ContactAddress;
use recado_domain::ids::MessageId;

fn message(content: Value) -> OutgoingMessage {
    OutgoingMessage {
        id: MessageId::parse("c_0123456789abcdef0123456789abcdef-1.7").unwrap(),
        to: ContactAddress::parse("5511900000001@s.whatsapp.net").unwrap(),
        content: serde_json::from_value(content).unwrap(),
        options: SendOptions::default(),
        attempt: 1,
        model: None,
    }
}

fn version(version: u8) -> Dialect {
    Dialect {
        version,
        native_menus: false,
    }
}

fn file(media: &str) -> Value {
    json!({"type": "media", "media": media, "source": "https://example.org/a.bin", "caption": "veja"})
}

/// Content, what is called, version 1's name of the fields, and the fields.
fn kinds() -> Vec<(Value, &'static str, &'static str, Value)> {
    let voice = json!({"type": "media", "media": "voice", "source": "https://example.org/a.ogg"});
    let url = "https://example.org/a.bin";
    let place = json!({"type": "location", "latitude": "-23.55", "longitude": "-46.6", "address": "Rua 1"});
    let poll = json!({"type": "poll", "question": "Que dia?", "options": ["Seg", "Ter"], "selectable": 1});
    vec![
        (
            json!({"type": "text", "text": "Olá"}),
            "sendText",
            "textMessage",
            json!({"text": "Olá"}),
        ),
        (
            file("image"),
            "sendMedia",
            "mediaMessage",
            json!({"mediatype": "image", "media": url, "caption": "veja"}),
        ),
        (
            file("video"),
            "sendMedia",
            "mediaMessage",
            json!({"mediatype": "video", "media": url, "caption": "veja"}),
        ),
        (
            file("document"),
            "sendMedia",
            "mediaMessage",
            json!({"mediatype": "document", "media": url, "caption": "veja", "fileName": "a.bin"}),
        ),
        (
            voice,
            "sendWhatsAppAudio",
            "audioMessage",
            json!({"audio": "https://example.org/a.ogg"}),
        ),
        (
            sticker(),
            "sendSticker",
            "stickerMessage",
            json!({"sticker": "https://example.org/a.webp"}),
        ),
        (
            place,
            "sendLocation",
            "locationMessage",
            json!({"latitude": -23.55, "longitude": -46.6, "name": "Rua 1", "address": "Rua 1"}),
        ),
        (
            poll,
            "sendPoll",
            "pollMessage",
            json!({"name": "Que dia?", "selectableCount": 1, "values": ["Seg", "Ter"]}),
        ),
    ]
}

fn sticker() -> Value {
    json!({"type": "media", "media": "sticker", "source": "https://example.org/a.webp"})
}

#[test]
fn each_kind_has_its_call_and_its_body_in_both_versions() {
    for (content, action, nested, fields) in kinds() {
        let message = message(content.clone());
        let two = build_call(version(2), &message).unwrap();
        let mut expected = fields.clone();
        expected["number"] = json!("5511900000001");
        assert_eq!((two.action, &two.body), (action, &expected));
        let one = build_call(version(1), &message).unwrap();
        assert_eq!(one.action, action);
        if content != sticker() {
            assert_eq!(
                one.body,
                json!({"number": "5511900000001", "options": {}, nested: fields})
            );
        }
    }
    let one = build_call(version(1), &message(sticker())).unwrap();
    assert_eq!(
        one.body["stickerMessage"],
        json!({"image": "https://example.org/a.webp"})
    );
}

#[test]
fn a_place_without_a_name_shows_its_degrees() {
    let place = json!({"type": "location", "latitude": "-23.550", "longitude": "-46.6"});
    let body = build_call(version(2), &message(place)).unwrap().body;
    assert_eq!(
        (&body["name"], &body["address"]),
        (&json!("-23.55, -46.6"), &json!("-23.55, -46.6"))
    );
}

#[test]
fn a_card_with_two_numbers_is_two_cards() {
    let cards = json!({"type": "contacts", "contacts": [{"name": "Ana", "phones": ["+5511900000001", "+5511900000002"],
        "emails": ["ana@example.org"], "organization": "Clínica"}]});
    let card = |phone: &str| json!({"fullName": "Ana", "phoneNumber": phone, "email": "ana@example.org", "organization": "Clínica"});
    let two = build_call(version(2), &message(cards.clone())).unwrap();
    assert_eq!(two.action, "sendContact");
    assert_eq!(
        two.body,
        json!({"number": "5511900000001", "contact": [card("+5511900000001"), card("+5511900000002")]})
    );
    let one = build_call(version(1), &message(cards)).unwrap().body;
    assert_eq!(one["contactMessage"][0]["wuid"], "5511900000001");
}

#[test]
fn a_reaction_names_the_chat_and_whose_message_it_is() {
    let reaction = json!({"type": "reaction", "emoji": "👍", "target": "3EB0A"});
    let mut message = message(reaction);
    message.options.reply_to = Some("3EB0Q".to_owned());
    let key = |own: bool| json!({"id": "3EB0A", "remoteJid": "5511900000001@s.whatsapp.net", "fromMe": own});
    assert_eq!(
        build_call(version(2), &message).unwrap(),
        EvolutionCall {
            action: "sendReaction",
            body: json!({"key": key(false), "reaction": "👍"})
        }
    );
    message.options.to_own = true;
    message.content = Content::Reaction {
        emoji: None,
        target: Some("3EB0A".to_owned()),
    };
    assert_eq!(
        build_call(version(1), &message).unwrap().body,
        json!({"reactionMessage": {"key": key(true), "reaction": ""}})
    );
    message.to = ContactAddress::parse("100000000000001@lid").unwrap();
    assert_eq!(
        build_call(version(2), &message).unwrap().body["key"]["remoteJid"],
        "100000000000001@lid"
    );
}

#[test]
fn options_lie_where_each_version_looks() {
    let mut message = message(json!({"type": "text", "text": "Olá @5511900000002"}));
    message.options = SendOptions {
        reply_to: Some("3EB0Q".to_owned()),
        mentions: vec!["5511900000002".to_owned()],
        link_preview: Some(false),
        ..SendOptions::default()
    };
    let quoted = json!({"key": {"id": "3EB0Q"}});
    assert_eq!(
        build_call(version(2), &message).unwrap().body,
        json!({"number": "5511900000001", "text": "Olá @5511900000002", "quoted": quoted, "linkPreview": false,
            "mentioned": ["5511900000002"]})
    );
    assert_eq!(
        build_call(version(1), &message).unwrap().body["options"],
        json!({"quoted": quoted, "linkPreview": false, "mentions": {"everyOne": false, "mentioned": ["5511900000002"]}})
    );
}

#[test]
fn menus_and_large_polls_go_as_the_text_that_their_echo_says() {
    let buttons = json!({"type": "buttons", "body": "Confirma?", "buttons": [{"kind": "reply", "id": "s", "title": "Sim"}]});
    let list = json!({"type": "list", "body": "Escolha", "button": "Ver", "sections": [{"rows": [{"id": "9", "title": "9h"}]}]});
    let options: Vec<String> = (0..12).map(|option| option.to_string()).collect();
    let poll = json!({"type": "poll", "question": "Que dia?", "options": options});
    for content in [buttons, list, poll] {
        let message = message(content);
        let sent = build_call(version(2), &message).unwrap();
        assert_eq!(sent.action, "sendText");
        assert_eq!(sent.body["text"], message.content.render_echo_text());
    }
}

#[test]
fn templates_and_what_only_comes_in_are_refused() {
    for content in [
        json!({"type": "template", "name": "lembrete", "language": "pt_BR"}),
        json!({"type": "choice", "title": "Sim"}),
        json!({"type": "media", "media": "image", "source": "123456"}),
    ] {
        let refused = build_call(version(2), &message(content.clone()));
        assert!(matches!(refused, Err(SendOutcome::Permanent { .. })), "{content}");
    }
}

#[test]
fn menus_are_sent_as_menus_where_the_instance_says_that_they_arrive() {
    let menus = |version| Dialect {
        version,
        native_menus: true,
    };
    let buttons = json!({"type": "buttons", "header": "Ana", "body": "Qual?", "footer": "Clínica", "buttons": [
        {"kind": "reply", "id": "b1", "title": "Banho"}, {"kind": "reply", "id": "b2", "title": "Tosa"}]});
    let list = json!({"type": "list", "body": "Que dia?", "button": "Ver", "sections": [
        {"title": "Manhã", "rows": [{"id": "seg", "title": "Segunda", "description": "9h"}]},
        {"rows": [{"id": "ter", "title": "Terça"}]}]});
    for (content, action, fields) in [
        (
            &buttons,
            "sendButtons",
            json!({"number": "5511900000001", "title": "Ana", "description": "Qual?", "footer": "Clínica", "buttons": [
                {"type": "reply", "displayText": "Banho", "id": "b1"}, {"type": "reply", "displayText": "Tosa", "id": "b2"}]}),
        ),
        (
            &list,
            "sendList",
            json!({"number": "5511900000001", "title": "Que dia?", "buttonText": "Ver", "footerText": " ", "sections": [
                {"title": "Manhã", "rows": [{"title": "Segunda", "rowId": "seg", "description": "9h"}]},
                {"title": "Ver", "rows": [{"title": "Terça", "rowId": "ter"}]}]}),
        ),
    ] {
        let message = message(content.clone());
        let call = build_call(menus(2), &message).unwrap();
        assert_eq!((call.action, &call.body), (action, &fields));
        assert!(!is_sent_as_text(menus(2), &message.content));
        // Version 1 has no menus that arrive, and without the setting nothing changes.
        for dialect in [menus(1), version(1), version(2)] {
            assert_eq!(build_call(dialect, &message).unwrap().action, "sendText");
            assert!(is_sent_as_text(dialect, &message.content));
        }
    }
    for (does, field) in [
        (json!({"kind": "url", "url": "https://a.example"}), "url"),
        (json!({"kind": "call", "phone": "+5511900000001"}), "phoneNumber"),
        (json!({"kind": "copy", "code": "ABC"}), "copyCode"),
    ] {
        let mut button = does.clone();
        button["title"] = json!("Veja");
        let content = json!({"type": "buttons", "body": "Aqui", "buttons": [button]});
        let body = build_call(menus(2), &message(content)).unwrap().body;
        let sent = &body["buttons"][0];
        assert_eq!(sent["type"], does["kind"]);
        assert!(sent[field].is_string(), "{sent}");
        assert_eq!((&body["title"], body.get("description")), (&json!("Aqui"), None));
    }
}

use super::*;
use recado_domain::content::{ButtonKind, Content, MediaKind};

/// What a message says, as it is kept.
fn content(message: &Value) -> Value {
    serde_json::to_value(said(&upsert(message)).content).unwrap()
}

#[test]
fn text_is_text_in_both_of_its_forms() {
    for message in [
        json!({"conversation": " oi "}),
        json!({"messageContextInfo": {}, "extendedTextMessage": {"text": " oi ", "previewType": "NONE"}}),
        json!({"ephemeralMessage": {"message": {"conversation": " oi "}}}),
        json!({"deviceSentMessage": {"destinationJid": "x", "message": {"conversation": " oi "}, "phash": ""}}),
        json!({"nextYearsMessage": {"message": {"conversation": " oi "}}}),
    ] {
        assert_eq!(
            content(&message),
            json!({"type": "text", "text": " oi "}),
            "{message}"
        );
    }
}

#[test]
fn files_keep_their_words_length_and_wrappers() {
    let media = |message: Value| match said(&upsert(&message)).content {
        Content::Media(media) => media,
        other => panic!("{other:?}"),
    };
    let voice =
        media(json!({"audioMessage": {"ptt": true, "seconds": "7", "mimetype": "audio/ogg; codecs=opus"}}));
    assert_eq!((voice.media, voice.seconds), (MediaKind::Voice, Some(7)));
    let music = media(json!({"audioMessage": {"seconds": {"low": 200, "high": 0, "unsigned": true}}}));
    assert_eq!((music.media, music.seconds), (MediaKind::Audio, Some(200)));
    let round = media(json!({"ptvMessage": {"seconds": 0}}));
    assert_eq!((round.media, round.seconds), (MediaKind::Video, None));
    let once = media(json!({"viewOnceMessageV2": {"message": {"imageMessage": {"caption": "x"}}}}));
    assert!(once.view_once && once.caption.as_deref() == Some("x"));
    assert!(media(json!({"imageMessage": {"viewOnce": true}})).view_once);
    assert!(media(json!({"ephemeralMessage": {"message": {"viewOnceMessageV2Extension": {"message": {"audioMessage": {}}}}}})).view_once);
    assert!(!media(json!({"imageMessage": {}})).view_once);
    let child = media(json!({"associatedChildMessage": {"message": {"imageMessage": {}}}}));
    assert_eq!(child.source.as_deref(), Some("AB12"));
    let stored = media(
        json!({"mediaUrl": "https://s3.example.org/a", "viewOnceMessage": {"message": {"videoMessage": {}}}}),
    );
    assert_eq!(stored.source.as_deref(), Some("https://s3.example.org/a"));
    let titled = media(
        json!({"documentWithCaptionMessage": {"message": {"documentMessage": {"title": "a.pdf", "caption": "veja"}}}}),
    );
    assert_eq!(
        (titled.file_name.as_deref(), titled.caption.as_deref()),
        (Some("a.pdf"), Some("veja"))
    );
}

#[test]
fn every_answer_to_a_menu_is_a_choice() {
    let choice = |id: &str, title: &str| json!({"type": "choice", "id": id, "title": title});
    for message in [
        json!({"buttonsResponseMessage": {"selectedButtonId": "1", "selectedDisplayText": "Sim", "type": 1}}),
        json!({"templateButtonReplyMessage": {"selectedId": 1, "selectedDisplayText": "Sim", "selectedIndex": 0}}),
        json!({"listResponseMessage": {"title": "Sim", "singleSelectReply": {"selectedRowId": "1"}}}),
        json!({"interactiveResponseMessage": {"body": {"text": "Sim"},
            "nativeFlowResponseMessage": {"name": "quick_reply", "paramsJson": "{\"id\":\"1\"}"}}}),
        json!({"interactiveResponseMessage": {"nativeFlowResponseMessage":
            {"name": "menu_options", "paramsJson": "{\"id\":\"1\",\"title\":\"Sim\"}"}}}),
    ] {
        assert_eq!(content(&message), choice("1", "Sim"), "{message}");
    }
    let described = json!({"listResponseMessage": {"title": "9h", "description": "com Ana", "singleSelectReply": {"selectedRowId": "9"}}});
    assert_eq!(content(&described)["description"], "com Ana");
    let bare = json!({"buttonsResponseMessage": {"selectedButtonId": "1"}});
    assert_eq!(content(&bare), choice("1", "1"));
    let words = json!({"interactiveResponseMessage": {"body": {"text": "Sim"}}});
    assert_eq!(content(&words), json!({"type": "choice", "title": "Sim"}));
}

#[test]
fn a_form_keeps_its_answers_without_the_businesss_token() {
    let form = |parameters: &str| {
        content(&json!({"interactiveResponseMessage": {"body": {"text": "Sent"},
            "nativeFlowResponseMessage": {"name": "flow", "paramsJson": parameters, "version": 3}}}))
    };
    assert_eq!(
        form(r#"{"flow_token":"t","nome":"Ana","idade":30}"#),
        json!({"type": "form", "title": "Sent", "answers": {"nome": "Ana", "idade": 30}})
    );
    assert_eq!(form("not json")["answers"], "not json");
    assert_eq!(form("[1]")["answers"], json!([1]));
    assert_eq!(form("{}")["answers"], json!({}));
    let address = content(&json!({"interactiveResponseMessage":
        {"nativeFlowResponseMessage": {"name": "address_message", "paramsJson": "{\"values\":{\"cep\":\"01000\"}}"}}}));
    assert_eq!(address["name"], "address_message");
}

#[test]
fn polls_of_every_version_and_votes_are_told_apart() {
    for kind in [
        "pollCreationMessage",
        "pollCreationMessageV2",
        "pollCreationMessageV3",
        "pollCreationMessageV5",
    ] {
        let poll = json!({kind: {"name": "Quando?", "options": [{"optionName": "hoje"}, {"optionName": "amanhã"}],
            "selectableOptionsCount": 1}});
        assert_eq!(
            content(&poll),
            json!({"type": "poll", "question": "Quando?", "options": ["hoje", "amanhã"], "selectable": 1})
        );
    }
    let wrapped = json!({"pollCreationMessageV4": {"message": {"pollCreationMessage": {"name": "Quando?", "selectableCount": 2}}}});
    assert_eq!(content(&wrapped)["selectable"], 2);
    let vote = |vote: Value| {
        content(
            &json!({"pollUpdateMessage": {"pollCreationMessageKey": {"id": "P1", "fromMe": true}, "vote": vote}}),
        )
    };
    assert_eq!(
        vote(json!({"selectedOptions": ["hoje"]})),
        json!({"type": "poll_vote", "target": "P1", "options": ["hoje"]})
    );
    // Taken back, and not deciphered.
    assert_eq!(vote(json!({"selectedOptions": []}))["options"], json!([]));
    assert_eq!(
        vote(json!({"encPayload": "AAAA", "selectedOptions": [{"0": 1}]}))["options"],
        json!([])
    );
}

#[test]
fn reactions_places_orders_and_products_say_what_they_are() {
    let removed = json!({"reactionMessage": {"key": {"id": "R1"}, "text": ""}});
    assert_eq!(content(&removed), json!({"type": "reaction", "target": "R1"}));
    let live = json!({"liveLocationMessage": {"degreesLatitude": -23.5, "degreesLongitude": "-46.6", "caption": "chego já"}});
    assert_eq!(
        content(&live),
        json!({"type": "location", "latitude": "-23.5", "longitude": "-46.6", "name": "chego já", "live": true})
    );
    let place = json!({"locationMessage": {"degreesLatitude": -23.5, "degreesLongitude": -46.6, "name": "Praça",
        "address": "Rua das Flores, 12", "comment": "espero aqui"}});
    assert_eq!(
        content(&place),
        json!({"type": "location", "latitude": "-23.5", "longitude": "-46.6", "name": "Praça, espero aqui",
            "address": "Rua das Flores, 12"})
    );
    let order = json!({"orderMessage": {"itemCount": {"low": 2, "high": 0}, "message": "sem gelo", "orderTitle": "Loja",
        "totalAmount1000": "25500", "totalCurrencyCode": "BRL", "token": "t"}});
    assert_eq!(
        content(&order),
        json!({"type": "order", "count": 2, "text": "sem gelo | Loja | total 25.50 BRL"})
    );
    let product = said(&upsert(
        &json!({"productMessage": {"product": {"productId": "77", "title": "Creme",
        "priceAmount1000": {"low": 50000, "high": 0, "unsigned": true}, "currencyCode": "BRL"}}}),
    ));
    assert_eq!(product.content, Content::from_text("Creme\n50.00 BRL"));
    assert_eq!(product.context.product.as_deref(), Some("77"));
}

#[test]
fn what_a_business_sends_keeps_its_buttons_and_rows() {
    let template = json!({"templateMessage": {"hydratedTemplate": {"hydratedTitleText": "Consulta", "hydratedContentText": "Confirma?",
        "hydratedFooterText": "Clínica", "hydratedButtons": [
            {"index": 0, "quickReplyButton": {"displayText": "Sim", "id": "s"}},
            {"urlButton": {"displayText": "Site", "url": "https://example.org"}},
            {"callButton": {"displayText": "Ligar", "phoneNumber": "+551130000001"}}]}}});
    let Content::Buttons(buttons) = said(&upsert(&template)).content else {
        panic!("no buttons")
    };
    assert_eq!(
        (buttons.header.as_deref(), buttons.body.as_str()),
        (Some("Consulta"), "Confirma?")
    );
    assert_eq!(buttons.buttons[0].does, ButtonKind::Reply { id: "s".to_owned() });
    assert!(matches!(buttons.buttons[1].does, ButtonKind::Url { .. }));
    assert!(matches!(buttons.buttons[2].does, ButtonKind::Call { .. }));
    let plain = json!({"templateMessage": {"hydratedFourRowTemplate": {"hydratedContentText": "Olá"}}});
    assert_eq!(content(&plain), json!({"type": "text", "text": "Olá"}));
    let old = json!({"buttonsMessage": {"contentText": "Confirma?", "buttons": [{"buttonId": "1", "buttonText": {"displayText": "Sim"}}]}});
    assert_eq!(
        content(&old)["buttons"][0],
        json!({"kind": "reply", "id": "1", "title": "Sim"})
    );
}

#[test]
fn native_flows_are_buttons_or_a_menu() {
    let flow = |buttons: Value| {
        json!({"viewOnceMessage": {"message": {"interactiveMessage": {"header": {"title": ""}, "body": {"text": "*Consulta*\n\nConfirma?\n"},
            "footer": {"text": ""}, "nativeFlowMessage": {"buttons": buttons}}}}})
    };
    let read = content(&flow(json!([
        {"name": "quick_reply", "buttonParamsJson": "{\"display_text\":\"Sim\",\"id\":\"s\"}"},
        {"name": "cta_copy", "buttonParamsJson": "{\"display_text\":\"Pix\",\"copy_code\":\"000201\"}"},
        {"name": "cta_call", "buttonParamsJson": "not json"}
    ])));
    assert_eq!(
        read,
        json!({"type": "buttons", "body": "*Consulta*\n\nConfirma?", "buttons": [
            {"kind": "reply", "id": "s", "title": "Sim"}, {"kind": "copy", "code": "000201", "title": "Pix"}]})
    );
    let menu = json!({"title": "Ver", "sections": [{"title": "Manhã", "rows": [{"id": "9", "title": "9h"}]}, {"rows": []}]});
    let read = content(&flow(
        json!([{"name": "single_select", "buttonParamsJson": menu.to_string()}]),
    ));
    assert_eq!(read["button"], "Ver");
    assert_eq!(
        read["sections"],
        json!([{"title": "Manhã", "rows": [{"id": "9", "title": "9h"}]}])
    );
    let list = json!({"listMessage": {"title": "Horários", "description": "Escolha", "buttonText": "Ver", "footerText": "Clínica",
        "listType": 1, "sections": [{"title": "Tarde", "rows": [{"rowId": "14", "title": "14h", "description": "com Ana"}]}]}});
    let read = content(&list);
    assert_eq!(
        (&read["header"], &read["body"]),
        (&json!("Horários"), &json!("Escolha"))
    );
    assert_eq!(
        read["sections"][0]["rows"][0],
        json!({"id": "14", "title": "14h", "description": "com Ana"})
    );
}

#[test]
fn a_payment_shows_the_pix_key_and_what_is_to_be_paid() {
    let shown = |name: &str, given: &Value, beside: &Value| {
        let mut body = json!({"nativeFlowMessage": {"buttons": [{"name": name, "buttonParamsJson": given.to_string()}]}});
        for (field, value) in beside.as_object().unwrap() {
            body[field] = value.clone();
        }
        content(&json!({ "interactiveMessage": body }))
    };
    let key = json!({"payment_settings": [{"type": "pix_static_code", "pix_static_code": {
        "merchant_name": "Ana Souza", "key": "ana@pix.example", "key_type": "EMAIL"}}, {"type": "cards"}]});
    assert_eq!(
        shown("payment_info", &key, &json!({})),
        json!({"type": "text", "text": "[payment] Pix: Ana Souza, EMAIL, ana@pix.example"})
    );
    let order = json!({"currency": "BRL", "reference_id": "4711", "total_amount": {"value": 12_345, "offset": 100},
        "order": {"items": [{"name": "Escova", "quantity": 2, "amount": {"value": 5_000, "offset": 100}}, {"name": ""}]},
        "payment_settings": [{"type": "payment_link", "payment_link": {"uri": "https://pay.example/4711"}}]});
    assert_eq!(
        shown("review_and_pay", &order, &json!({"body": {"text": "Seu pedido"}})),
        json!({"type": "text", "text": "Seu pedido\n\n[payment] 2 x Escova at 50.00 BRL\ntotal 123.45 BRL\nto pay: https://pay.example/4711"})
    );
    let nothing = shown("payment_info", &json!({"payment_settings": []}), &json!({}));
    assert_eq!(nothing["type"], "unsupported");
}

#[test]
fn notes_of_the_chat_ask_for_nothing() {
    for message in [
        json!({"pinInChatMessage": {"key": {"id": "A"}, "type": "PIN_FOR_ALL"}}),
        json!({"keepInChatMessage": {"key": {"id": "A"}}}),
        json!({"callLogMesssage": {"isVideo": true, "callOutcome": "MISSED"}}),
        json!({"ephemeralMessage": {"message": {"protocolMessage": {"type": "EPHEMERAL_SETTING", "ephemeralExpiration": 604_800}}}}),
    ] {
        let said = said(&upsert(&message)).content;
        assert!(matches!(said, Content::System { .. }), "{message}");
        assert!(!said.expects_answer(), "{message}");
    }
}

#[test]
fn an_unknown_kind_is_kept_as_it_came_but_for_bytes() {
    let message = json!({"hologramMessage": {"title": "Oferta", "contextInfo": {"messageSecret": "AAAA"}}});
    assert_eq!(
        content(&message),
        json!({"type": "unsupported", "kind": "hologramMessage",
            "raw": {"hologramMessage": {"title": "Oferta", "contextInfo": {}}}})
    );
    let read = said(&upsert(&message)).content;
    assert_eq!(read.render_text(), "[unsupported hologramMessage] Oferta");
    assert!(read.expects_answer());
    for kind in ["unknown", "orderedMessage"] {
        assert_eq!(content(&json!({kind: {"name": "x"}}))["kind"], kind);
    }
}

#[test]
fn cards_are_read_alone_and_in_lists() {
    let ana = json!({"displayName": "Ana", "vcard": "BEGIN:VCARD\nFN:Ana\nTEL;waid=5511900000001:+55 11 90000-0001\nEND:VCARD"});
    let card = json!({"name": "Ana", "phones": ["+55 11 90000-0001"]});
    assert_eq!(
        content(&json!({ "contactMessage": ana }))["contacts"],
        json!([card])
    );
    let several = json!({"contactsArrayMessage": {"displayName": "2 contatos", "contacts": [ana, {"displayName": "Bia"}]}});
    assert_eq!(content(&several)["contacts"], json!([card, {"name": "Bia"}]));
}

#[test]
fn what_is_no_name_is_not_taken_for_one() {
    for (written, name) in [
        (json!("Maria"), Some("Maria")),
        (json!("Ana 2"), Some("Ana 2")),
        (json!("Você"), None),
        (json!("5511900000001"), None),
        (json!("100000000000001@lid"), None),
        (json!("5511900000001:3@s.whatsapp.net"), None),
        (json!("+55 11 90000-0001"), None),
        (json!(""), None),
        (json!(null), None),
        (json!(7), None),
    ] {
        let mut body = upsert(&json!({"conversation": "oi"}));
        body["data"]["pushName"] = written.clone();
        assert_eq!(said(&body).name.as_deref(), name, "{written}");
    }
}

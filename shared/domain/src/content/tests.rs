use super::*;
use serde_json::json;

#[test]
fn every_kind_is_something_that_a_person_can_read() {
    let read = |value: serde_json::Value| {
        let content: Content = serde_json::from_value(value).unwrap();
        let again: Content = serde_json::from_value(serde_json::to_value(&content).unwrap()).unwrap();
        assert_eq!(content, again);
        content.render_text()
    };
    for (content, words) in [
        (json!({"type": "text", "text": "oi"}), "oi"),
        (
            json!({"type": "media", "media": "document", "file_name": "a.pdf", "caption": "veja"}),
            "[document a.pdf] veja",
        ),
        (json!({"type": "media", "media": "voice"}), "[voice]"),
        (
            json!({"type": "location", "latitude": "-23.5", "longitude": "-46.6", "name": "Loja"}),
            "[location -23.5,-46.6] Loja",
        ),
        (
            json!({"type": "contacts", "contacts": [{"name": "Ana", "phones": ["+55 11 90000-0001"]}]}),
            "[contacts] Ana, +55 11 90000-0001",
        ),
        (json!({"type": "choice", "id": "1", "title": "Sim"}), "Sim"),
        (
            json!({"type": "form", "name": "cadastro", "answers": {"idade": 30, "nome": "Ana"}}),
            "[form cadastro] idade: 30, nome: Ana",
        ),
        (json!({"type": "reaction", "emoji": "👍"}), "[reaction] 👍"),
        (json!({"type": "reaction"}), "[reaction removed]"),
        (
            json!({"type": "poll", "question": "Quando?", "options": ["hoje", "amanhã"]}),
            "[poll] Quando?: hoje / amanhã",
        ),
        (
            json!({"type": "poll_vote", "options": ["hoje"]}),
            "[poll vote] hoje",
        ),
        (
            json!({"type": "order", "count": 1, "items": [{"product": "P1", "quantity": "2", "price": "5.0", "currency": "BRL"}]}),
            "[order of 1] 2 x P1 at 5.0 BRL",
        ),
        (
            json!({"type": "edit", "content": {"type": "text", "text": "às 15h"}}),
            "[edited] às 15h",
        ),
        (json!({"type": "deletion"}), "[message deleted]"),
        (json!({"type": "welcome"}), "[opened the chat]"),
        (
            json!({"type": "system", "what": "number_changed", "text": "+55 11 90000-0002"}),
            "[changed number] +55 11 90000-0002",
        ),
        (
            json!({"type": "template", "name": "lembrete", "language": "pt_BR",
            "components": [{"type": "body", "parameters": [{"type": "text", "text": "Ana"}]}]}),
            "[template lembrete] Ana",
        ),
        (
            json!({"type": "edit", "content": {"type": "system", "what": "unreadable"}}),
            "[edited; the new text is not known]",
        ),
        (
            json!({"type": "unsupported", "kind": "albumMessage", "raw": {}}),
            "[unsupported albumMessage]",
        ),
    ] {
        assert_eq!(read(content.clone()), words, "{content}");
    }
}

#[test]
fn menus_can_be_read_and_answered_without_buttons() {
    let buttons: Content = serde_json::from_value(json!({"type": "buttons", "header": "Consulta", "body": "Confirma?",
        "footer": "Clínica", "buttons": [{"kind": "reply", "id": "s", "title": "Sim"}, {"kind": "reply", "id": "n", "title": "Não"}]}))
    .unwrap();
    assert_eq!(
        buttons.render_text(),
        "*Consulta*\n\nConfirma?\n\n1. Sim\n2. Não\n\n_Clínica_"
    );
    let menu: Content = serde_json::from_value(
        json!({"type": "list", "body": "Escolha", "button": "Ver", "sections": [
        {"title": "Manhã", "rows": [{"id": "9", "title": "9h"}]},
        {"title": "Tarde", "rows": [{"id": "14", "title": "14h", "description": "com Ana"}]}]}),
    )
    .unwrap();
    assert_eq!(
        menu.render_text(),
        "Escolha\n\n*Manhã*\n1. 9h\n*Tarde*\n2. 14h - com Ana"
    );
}

#[test]
fn only_what_asks_for_something_wants_an_answer() {
    let wants = |value: serde_json::Value| serde_json::from_value::<Content>(value).unwrap().expects_answer();
    assert!(wants(json!({"type": "text", "text": "oi"})));
    assert!(wants(json!({"type": "welcome"})));
    assert!(!wants(json!({"type": "reaction"})));
    assert!(!wants(json!({"type": "deletion"})));
    assert!(!wants(json!({"type": "system", "what": "other"})));
    assert!(!wants(json!({"type": "system", "what": "unreadable"})));
    assert!(wants(json!({"type": "system", "what": "unreadable_lead"})));
    let edit = |content| json!({"type": "edit", "content": content});
    assert!(wants(edit(json!({"type": "text", "text": "oi"}))));
    assert!(!wants(edit(json!({"type": "system", "what": "unreadable"}))));
    assert!(wants(json!({"type": "poll_vote", "options": ["hoje"]})));
    assert!(!wants(json!({"type": "poll_vote", "options": []})));
}

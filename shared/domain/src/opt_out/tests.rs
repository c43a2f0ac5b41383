mod requests;

use super::*;
use crate::email::EmailAddress;
use crate::identity::IdentityKey;
use crate::ids::TenantId;
use crate::millis::from_unix_millis;
use proptest::prelude::*;

fn tenant(id: &str) -> TenantId {
    TenantId::parse(id).unwrap()
}

fn identity(byte: u8) -> IdentityKey {
    IdentityKey::from_bytes([byte; 32])
}

#[test]
fn a_message_that_is_a_word_of_stopping_stops() {
    for text in [
        "STOP",
        "stop.",
        "Sair!",
        "PARAR",
        "Baja",
        "SAIR 🙏",
        "parar, por favor",
        "Por favor, quero sair.",
        "Cancelar inscrição",
        "cancelar a inscrição por favor",
        "Descadastrar",
        "Quiero darme de baja",
        "Cancelar suscripción, gracias",
        "no quiero recibir más mensajes",
        "Não quero mais receber mensagens!",
        "Unsubscribe please",
        "Stop sending me messages",
        "Pare",
    ] {
        assert_eq!(recognize_opt_out(text), Some(OptOutWord::Stop), "{text}");
    }
    for text in [
        "START",
        "Quero voltar a receber mensagens",
        "alta",
        "subscribe, please",
        "quiero recibir mensajes",
    ] {
        assert_eq!(recognize_opt_out(text), Some(OptOutWord::Resume), "{text}");
    }
}

#[test]
fn a_word_inside_a_sentence_is_about_something_else() {
    for text in [
        "Posso parar o carro aí?",
        "cancelar",
        "Quero cancelar minha consulta",
        "cancelar minha inscrição no curso de amanhã",
        "não posso sair de casa hoje",
        "como faço para sair?",
        "stop?",
        "me dé de baja el paquete premium y suba el básico",
        "La persiana está en baja",
        "presión baja",
        "pare na esquina",
        "quero sair às 18h",
        "Vou parar aí às 9",
        "non-stop",
        "",
        "😀",
        "não quero parar",
        "don't stop",
        "start tomorrow",
        "a alta do meu pai é hoje",
        "obrigado",
        "quando começa?",
        "quero receber o boleto",
        "remover o item 2",
        "Stop é o nome do meu cachorro",
    ] {
        assert_eq!(recognize_opt_out(text), None, "{text}");
    }
    assert_eq!(recognize_opt_out(&format!("stop{}", " ".repeat(100))), None);
}

#[test]
fn a_recipient_has_one_key_for_a_tenant_however_the_address_is_written() {
    let key_of = |of: &str, address: &str| {
        identity(7).derive_recipient_key(&tenant(of), RecipientAddress::WhatsApp(address))
    };
    let first = key_of("clinic", "5511987654321");
    for same in [
        "5511987654321@s.whatsapp.net",
        "+5511987654321",
        "551187654321",
        "551187654321@s.whatsapp.net",
    ] {
        assert_eq!(key_of("clinic", same), first, "{same}");
    }
    assert_ne!(key_of("clinic", "5511987654322"), first);
    assert_ne!(key_of("shop", "5511987654321"), first);
    let mail = |text: &str| {
        let address = EmailAddress::parse(text).unwrap();
        identity(7).derive_recipient_key(&tenant("clinic"), RecipientAddress::Email(&address))
    };
    assert_eq!(mail("Ana@Clinic.example"), mail("ana@clinic.example"));
    assert_ne!(mail("ana@clinic.example"), mail("bia@clinic.example"));
    let other =
        identity(8).derive_recipient_key(&tenant("clinic"), RecipientAddress::WhatsApp("5511987654321"));
    assert_ne!(other, first, "without the identity key nobody derives it");
}

fn content(of: &str, byte: u8) -> UnsubscribeToken {
    UnsubscribeToken {
        tenant: tenant(of),
        recipient: RecipientKey::parse(&format!("{byte:02x}").repeat(16)).unwrap(),
    }
}

#[test]
fn a_link_shows_nothing_of_its_tenant_and_nobody_else_makes_one() {
    let sealed = content("clinic", 0xab).seal_token(&identity(7));
    assert_eq!(
        UnsubscribeToken::open_token(&identity(7), &sealed),
        Some(content("clinic", 0xab))
    );
    assert_eq!(
        sealed,
        content("clinic", 0xab).seal_token(&identity(7)),
        "a link is the same in every e-mail"
    );
    assert!(
        !sealed.contains(&hex::encode("clinic")) && !sealed.contains("abab"),
        "{sealed}"
    );
    assert_eq!(UnsubscribeToken::open_token(&identity(8), &sealed), None);
    for bad in ["", "zz", "00", &sealed[..32], &sealed[2..], &"0".repeat(2_000)] {
        assert_eq!(UnsubscribeToken::open_token(&identity(7), bad), None, "{bad}");
    }
}

proptest! {
    #[test]
    fn a_changed_link_opens_nothing(place in 0_usize..88, digit in 0_u8..16, byte: u8, id in "[a-z]{1,12}") {
        let mut sealed = content(&id, byte).seal_token(&identity(3)).into_bytes();
        let place = place % sealed.len();
        let written = b"0123456789abcdef"[usize::from(digit)];
        prop_assume!(sealed[place] != written);
        sealed[place] = written;
        let text = String::from_utf8(sealed).unwrap();
        prop_assert_eq!(UnsubscribeToken::open_token(&identity(3), &text), None);
    }
}

fn preference(is_stopped: bool, at: i64) -> OptOut {
    OptOut {
        tenant: tenant("clinic"),
        recipient: content("clinic", 1).recipient,
        address: None,
        is_stopped,
        at: from_unix_millis(at),
        source: OptOutSource::Link,
    }
}

#[test]
fn the_later_preference_counts_in_whatever_order_they_come() {
    assert_eq!(
        preference(true, 10).resolve_with_known(None),
        OptOutChange::Store(preference(true, 10))
    );
    assert_eq!(
        preference(false, 10).resolve_with_known(None),
        OptOutChange::Nothing,
        "there is nothing to resume"
    );
    let stopped = OptOut {
        address: Some("ana@clinic.example".to_owned()),
        ..preference(true, 10)
    };
    let OptOutChange::Store(resumed) = preference(false, 11).resolve_with_known(Some(&stopped)) else {
        panic!("a later preference counts");
    };
    assert_eq!(
        (resumed.is_stopped, resumed.address.as_deref()),
        (false, Some("ana@clinic.example"))
    );
    assert_eq!(
        preference(true, 9).resolve_with_known(Some(&resumed)),
        OptOutChange::Nothing,
        "an old message came late"
    );
    assert_eq!(
        preference(true, 10).resolve_with_known(Some(&stopped)),
        OptOutChange::Nothing,
        "a repeat"
    );
    assert_eq!(
        preference(false, 10).resolve_with_known(Some(&stopped)),
        OptOutChange::Nothing
    );
    assert!(
        matches!(
            preference(true, 11).resolve_with_known(Some(&resumed)),
            OptOutChange::Store(_)
        ),
        "of two at once, the stop"
    );
    assert_eq!(stopped.without_address(), preference(true, 10));
}

use super::*;
use crate::content::{Media, MediaKind};
use Completeness::{Announced, Complete, Finished, Fragment, Greeting, Open};
use proptest::prelude::*;

fn before(goes_on: bool) -> PrecedingMessages {
    PrecedingMessages {
        goes_on,
        asked: false,
    }
}

fn judge(text: &str) -> Completeness {
    Completeness::judge(&Content::from_text(text), false)
}

#[test]
fn a_text_is_judged_by_its_punctuation_and_its_first_and_last_words() {
    for (text, expected) in [
        ("Qual o valor do corte?", Complete),
        ("Bom dia! Vocês abrem no sábado?", Complete),
        ("quanto custa o corte? 🙏", Complete),
        ("What time do you close, please?", Complete),
        ("¿Cuánto cuesta el corte? por favor", Complete),
        ("qual o horário de funcionamento", Complete),
        ("queria saber quanto custa o corte", Complete),
        ("how much is a double room", Complete),
        ("Vocês abrem amanhã? Obrigado!", Complete),
        ("¿Abren mañana? Muchas gracias 🙏", Complete),
        ("Do you deliver on Sundays? Thanks in advance!", Complete),
        ("Preço?", Complete),
        ("que horas vocês abrem amanhã", Complete),
        ("vocês aceitam pix", Complete),
        ("do you deliver to brooklyn", Complete),
        ("does the plan cover", Open),
        ("fazem 3 dias que espero", Open),
        ("Oi Carla, tudo bem?", Greeting),
        ("Boa tarde, tudo bem com vocês?", Greeting),
        ("Hi John, how are you?", Greeting),
        ("Hola María, ¿cómo estás?", Greeting),
        ("oi Carla tudo bem", Greeting),
        ("Oi, vocês abrem hoje? Tudo bem?", Complete),
        ("Oi, alguém pode me ajudar?", Open),
        ("Could you help me with something?", Open),
        ("can you help me with my order?", Complete),
        ("Do you have a minute?", Open),
        ("obrigada!", Finished),
        ("muchas gracias", Finished),
        ("*amanhã", Finished),
        ("amanhã*", Finished),
        ("oi", Greeting),
        ("Olá, tudo bem?", Greeting),
        ("how are you?", Greeting),
        ("¿qué tal?", Greeting),
        ("posso tirar uma dúvida?", Open),
        ("Maria?", Open),
        ("Meu pedido chegou quebrado ontem.", Open),
        ("", Greeting),
        ("queria saber", Fragment),
        ("o preço do", Fragment),
        ("então,", Fragment),
        ("I was wondering if", Fragment),
        ("quero reservar para…", Fragment),
        ("azul", Fragment),
        ("vou te mandar um áudio", Announced),
        ("espera", Announced),
        ("te mando la foto", Announced),
        ("hold on", Announced),
        ("acho melhor eu gravar", Announced),
        ("mejor lo grabo", Announced),
        ("let me just record this for you", Announced),
        ("my patient record is at the front desk", Open),
        ("quanto custa gravar um video de casamento", Complete),
    ] {
        assert_eq!(judge(text), expected, "{text}");
    }
}

#[test]
fn after_a_question_a_short_statement_is_finished_unless_its_end_asks_for_more() {
    let answer = |text: &str| Completeness::judge(&Content::from_text(text), true);
    for (text, expected) in [
        ("terça", Finished),
        ("Maria Souza", Finished),
        ("às 15h", Finished),
        ("2", Finished),
        ("a", Finished),
        ("el martes no", Finished),
        ("depois das 18 é melhor para mim", Finished),
        ("15h?", Complete),
        ("oi", Greeting),
        ("pode me ajudar?", Open),
        ("terça,", Fragment),
        ("pode ser na", Fragment),
        ("queria", Fragment),
        ("um momento", Announced),
        ("vou mandar a foto", Announced),
    ] {
        assert_eq!(answer(text), expected, "{text}");
    }
}

#[test]
fn a_question_that_does_not_say_what_it_is_about_waits_as_what_is_finished() {
    for (text, expected) in [
        ("Quanto custa?", Finished),
        ("Oi! Quanto custa? 🙏", Finished),
        ("vocês fazem?", Finished),
        ("Hola, ¿cuánto sale?", Finished),
        ("How much? Thanks!", Finished),
        ("Do you have?", Finished),
        ("Quanto custa a limpeza?", Complete),
        ("vocês fazem clareamento?", Complete),
        ("¿Cuánto cuesta el corte?", Complete),
        ("How much is it?", Complete),
        ("Preço?", Complete),
    ] {
        assert_eq!(judge(text), expected, "{text}");
    }
}

#[test]
fn a_yes_a_no_and_a_whole_request_are_finished_without_a_question() {
    for (text, expected) in [
        ("Sim, confirmo", Finished),
        ("ok, pode ser", Finished),
        ("confirmado", Finished),
        ("Sí", Finished),
        ("no", Finished),
        ("👍", Finished),
        ("I can't make it", Finished),
        ("Quero marcar uma consulta", Finished),
        ("quiero agendar una consulta", Finished),
        ("I'd like to book a haircut.", Finished),
        ("sim,", Fragment),
        ("quero marcar", Fragment),
        ("una consulta", Fragment),
        ("terça", Fragment),
        ("Amanhã?", Complete),
    ] {
        assert_eq!(judge(text), expected, "{text}");
    }
}

#[test]
fn words_in_bold_are_no_correction_and_a_look_is_announced_only_alone() {
    assert_eq!(judge("*urgente* perdi a chave do quarto hoje"), Open);
    assert_eq!(judge("look"), Announced);
    assert_eq!(judge("look for the blue one in size 40"), Open);
    assert_eq!(
        judge("posso te mandar um áudio?"),
        Complete,
        "an answer is waited for"
    );
}

#[test]
fn the_spelling_of_a_word_is_corrected_by_one_slip_of_the_fingers_case_or_accents() {
    for (earlier, text) in [
        ("Vocês abrem no sábdo?", "*sábado"),
        ("Vocês abrem no sábdo?", "sábado*"),
        ("¿Tienen turno para el luens?", "*lunes"),
        ("Do you have tabels for six?", "*tables"),
        ("Quero agendar um hrario", " * horário "),
        ("Quanto custa a entreega?", "*entrega"),
        ("oobrigado, e o valor?", "*obrigado"),
        ("Sou a MARIA, voces abrem hoje?", "*Maria"),
        ("Sou a Maria, voces abrem hoje?", "*vocês"),
        ("Tienen citas para manana?", "*mañana"),
        ("Vocês abrem no sábdo?", "*sa\u{301}bado"),
        ("Vocês abrem no sa\u{301}bdo?", "*sábado"),
        ("Vocês abrem no sabado\u{301}?", "*sábado"),
    ] {
        assert!(corrects_spelling(text, earlier), "{text}: {earlier}");
    }
}

#[test]
fn what_may_change_the_meaning_is_no_correction_of_spelling() {
    for (earlier, text) in [
        // Another letter in its place, or one more or less at an end.
        ("Tem vaga em junho?", "*julho"),
        ("Tem vaga em junho ou julho?", "*julho"),
        ("Quero falar com a menina", "*menino"),
        ("Tem um quarto livre?", "*quartos"),
        ("Tem quartos livres?", "*quarto"),
        ("Quero pagar meu pedido", "*apagar"),
        ("Isso é legal?", "*ilegal"),
        // Two slips.
        ("Vocês abrem no sbdo?", "*sábado"),
        ("Vocês abrem no ásbaod?", "*sábado"),
        // Short words.
        ("Quero um, nao deu", "*não"),
        ("Quero dois mas grandes", "*mais"),
        ("Quero dois mais grandes", "*mas"),
        // Numbers, addresses, and more than one word.
        ("Meu CPF é 12345", "*12435"),
        ("Meu e-mail é ana@gmial.com", "*gmail"),
        ("Meu e-mail é ana@gmial.com", "*ana@gmail.com"),
        ("Meu usuário é @mraia", "*maria"),
        ("Abrem sábdo de manhã?", "*sábado de manhã"),
        ("Abrem segnda-feira?", "*segunda-feira"),
        // No correction by its form.
        ("Vocês abrem no sábdo?", "sábado"),
        ("Vocês abrem no sábdo?", "*sábado*"),
        ("Vocês abrem no sábdo?", "**sábado"),
        ("Vocês abrem no sábdo?", "*"),
        ("Vocês abrem no sábdo?", "*domingo"),
        ("", "*sábado"),
    ] {
        assert!(!corrects_spelling(text, earlier), "{text}: {earlier}");
    }
}

#[test]
fn a_file_without_words_is_explained_by_the_next_message_unless_it_speaks() {
    let file = |media, caption: Option<&str>| {
        let media = Media {
            caption: caption.map(str::to_owned),
            ..Media::from_kind(media)
        };
        Completeness::judge(&Content::Media(media), false)
    };
    assert_eq!(file(MediaKind::Image, None), Fragment);
    assert_eq!(file(MediaKind::Voice, None), Finished);
    assert_eq!(file(MediaKind::Image, Some("tem no tamanho M?")), Complete);
    assert_eq!(file(MediaKind::Document, Some(" ")), Fragment);
}

#[test]
fn the_wait_is_between_its_bounds_and_short_only_after_a_single_complete_question() {
    let milliseconds = SignedDuration::from_millis;
    let debounce = Debounce::Adaptive(DebounceBounds {
        short: milliseconds(900),
        long: milliseconds(8_000),
    });
    let wait = |text: &str, goes_on| {
        debounce
            .silence_after(&Content::from_text(text), before(goes_on))
            .as_millis()
    };
    assert_eq!(wait("Vocês abrem no sábado?", false), 900);
    assert_eq!(wait("Vocês abrem no sábado?", true), 1_965);
    assert_eq!(wait("obrigado", false), 1_965);
    assert_eq!(wait("oi", false), 4_024);
    assert_eq!(wait("Meu pedido chegou ontem.", false), 6_225);
    assert_eq!(wait("queria saber", true), 8_000);
    assert_eq!(wait("vou mandar uma foto", true), 16_000);
    assert_eq!(debounce.silence_after_unknown(), milliseconds(6_225));
    let fixed = Debounce::Fixed(milliseconds(4_000));
    assert_eq!(
        fixed.silence_after(&Content::from_text("queria saber"), before(true)),
        milliseconds(4_000)
    );
}

#[test]
fn no_reply_leaves_before_2_1_seconds_unless_the_settings_say_less() {
    let silence = |short, long| {
        let bounds = DebounceBounds {
            short: SignedDuration::from_millis(short),
            long: SignedDuration::from_millis(long),
        };
        Debounce::Adaptive(bounds).silence_before_reply().as_millis()
    };
    for (short, long, expected) in [
        (900, 8_000, 2_100),
        (3_000, 8_000, 2_100),
        (300, 8_000, 700),
        (0, 8_000, 0),
        (900, 1_000, 1_000),
        (1_500, 1_000, 1_500),
    ] {
        assert_eq!(silence(short, long), expected, "{short} {long}");
    }
    let fixed = Debounce::Fixed(SignedDuration::from_secs(1));
    assert!(fixed.silence_before_reply().is_zero());
}

#[test]
fn a_short_bound_above_the_long_one_counts_for_both() {
    let debounce = Debounce::Adaptive(DebounceBounds {
        short: SignedDuration::from_secs(9),
        long: SignedDuration::from_secs(7),
    });
    for text in ["Qual o valor do corte?", "oi", "queria saber"] {
        let silence = debounce.silence_after(&Content::from_text(text), before(false));
        assert_eq!(silence, SignedDuration::from_secs(9), "{text}");
    }
}

#[test]
fn an_instance_may_have_a_fixed_wait_or_bounds_of_its_own() {
    let milliseconds = SignedDuration::from_millis;
    let bounds = DebounceBounds {
        short: milliseconds(900),
        long: milliseconds(8_000),
    };
    let instance = |extra: serde_json::Value| -> Instance {
        let mut value = serde_json::json!({"id": "i", "tenant": "t", "agent": "a", "provider": "evolution"});
        value
            .as_object_mut()
            .unwrap()
            .extend(extra.as_object().unwrap().clone());
        serde_json::from_value(value).unwrap()
    };
    let all = Debounce::Fixed(milliseconds(4_000));
    let of = |extra| all.resolve_for(&instance(extra), bounds);
    assert_eq!(of(serde_json::json!({})), all);
    assert_eq!(
        of(serde_json::json!({"debounce_seconds": 0})),
        Debounce::Fixed(milliseconds(0))
    );
    let own = DebounceBounds {
        long: milliseconds(5_000),
        ..bounds
    };
    assert_eq!(
        of(serde_json::json!({"debounce_long_seconds": 5})),
        Debounce::Adaptive(own)
    );
}

proptest! {
    #[test]
    fn a_word_is_no_correction_of_itself_and_any_texts_are_compared(text in ".{0,40}", earlier in ".{0,80}") {
        corrects_spelling(&text, &earlier);
        let repeated = format!("*{text}");
        prop_assert!(!corrects_spelling(&repeated, &text));
    }

    #[test]
    fn any_text_is_judged_and_waits_no_longer_than_an_announcement(text in ".{0,200}", goes_on: bool) {
        let bounds = DebounceBounds { short: SignedDuration::from_millis(900), long: SignedDuration::from_secs(8) };
        let wait = Debounce::Adaptive(bounds).silence_after(&Content::from_text(text), before(goes_on));
        prop_assert!(wait >= bounds.short && wait <= bounds.long * 2);
    }
}

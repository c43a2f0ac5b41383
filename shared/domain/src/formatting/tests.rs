use super::markdown_to_whatsapp;
use proptest::prelude::*;

#[test]
fn marks_become_whatsapps_own() {
    for (markdown, expected) in [
        ("Seu pedido **saiu** hoje", "Seu pedido *saiu* hoje"),
        ("__Atenção__: feche às *18h*", "*Atenção*: feche às _18h_"),
        ("um _pouco_ só", "um _pouco_ só"),
        ("de ~~R$ 90~~ por R$ 70", "de ~R$ 90~ por R$ 70"),
        ("***tudo***", "*_tudo_*"),
        ("**a *b* c**", "*a _b_ c*"),
        ("**a *b***", "*a _b_*"),
        ("## Horários ##", "*Horários*"),
        ("# **Preços** de *hoje*", "*Preços de _hoje_*"),
        ("#hashtag e # só", "#hashtag e # só"),
        (
            "* um\n  + dois\n- três\n1. quatro",
            "- um\n  - dois\n- três\n1. quatro",
        ),
        ("* **Dra. Ana**: 9h", "- *Dra. Ana*: 9h"),
        ("> citação com **força**", "> citação com *força*"),
    ] {
        assert_eq!(markdown_to_whatsapp(markdown), expected, "{markdown}");
    }
}

#[test]
fn what_only_looks_like_a_mark_stays() {
    for same in [
        "2*3*4 = 24 e 2 * 3",
        "arquivo_de_teste_1.pdf",
        "a ** b ** c",
        "**aberto",
        "***",
        "- - -",
        "~ mais ou menos ~",
        "| a | **b** |\n|---|---|",
        "https://example.org/a_b_c?x=*1",
        "ver [1] (nota) e [a](b c)",
    ] {
        assert_eq!(markdown_to_whatsapp(same), same);
    }
}

#[test]
fn code_is_never_touched() {
    for same in [
        "```\n**a** [x](https://y)\n# z\n```",
        "```py\n* x\n```",
        "use `**kwargs` e `a_b`",
        "```**a**```",
        "```\nsem fim **a**",
    ] {
        assert_eq!(markdown_to_whatsapp(same), same);
    }
    assert_eq!(markdown_to_whatsapp("**use `a*b**c` já**"), "*use `a*b**c` já*");
    assert_eq!(
        markdown_to_whatsapp("```\n**a**\n```\n**b**"),
        "```\n**a**\n```\n*b*"
    );
}

#[test]
fn links_show_their_address_once() {
    for (markdown, expected) in [
        (
            "Veja [a agenda](https://example.org/a_b).",
            "Veja a agenda (https://example.org/a_b).",
        ),
        (
            "[https://example.org](https://example.org)",
            "https://example.org",
        ),
        ("[example.org](https://example.org/)", "https://example.org/"),
        ("<https://example.org/x>", "https://example.org/x"),
        (
            "![mapa](https://example.org/m.png)",
            "mapa (https://example.org/m.png)",
        ),
        ("[e-mail](mailto:ana@example.org)", "e-mail (ana@example.org)"),
        ("**[site](https://example.org)**", "*site (https://example.org)*"),
        ("_https://example.org/a_b_", "_https://example.org/a_b_"),
        (r"3 \* 4 e \_x\_", "3 * 4 e _x_"),
    ] {
        assert_eq!(markdown_to_whatsapp(markdown), expected, "{markdown}");
    }
}

fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

proptest! {
    #[test]
    fn no_letter_is_lost_added_or_moved(text in r"[a-c1é*_~`#\[\]()!<>\\|+ \n-]{0,120}") {
        prop_assert_eq!(letters(&markdown_to_whatsapp(&text)), letters(&text));
    }

    #[test]
    fn nothing_makes_it_fail(text in any::<String>()) {
        let _ = markdown_to_whatsapp(&text);
    }

    #[test]
    fn plain_text_stays_as_it_is(text in r"[a-zéã0-9 .,:;?!()\n'/-]{0,200}") {
        prop_assert_eq!(markdown_to_whatsapp(&text), text);
    }

    #[test]
    fn lines_stay_lines(text in r"[a-c*_~`# \n-]{0,120}") {
        prop_assert_eq!(markdown_to_whatsapp(&text).matches('\n').count(), text.matches('\n').count());
    }

    /// WhatsApp's bold is Markdown's italic, so the second time may change marks; after that nothing changes.
    #[test]
    fn what_was_converted_settles(words in prop::collection::vec(("[a-c]{1,4}", 0_u8..5), 1..8)) {
        let parts: Vec<String> = words.iter().map(|(word, mark)| {
            let mark = ["", "**", "_", "~~", "`"][usize::from(*mark)];
            format!("{mark}{word}{mark}")
        }).collect();
        let twice = markdown_to_whatsapp(&markdown_to_whatsapp(&parts.join(" ")));
        prop_assert_eq!(markdown_to_whatsapp(&twice), twice);
    }
}

#[test]
fn marks_without_end_lose_nothing_however_many() {
    for piece in ["*a ", "[b", "`c``", "**d *e ~~f ", "[g](", "<https://h"] {
        let text = piece.repeat(4_000);
        let letters = |text: &str| text.chars().filter(|c| c.is_alphabetic()).count();
        assert_eq!(letters(&markdown_to_whatsapp(&text)), letters(&text), "{piece}");
    }
}

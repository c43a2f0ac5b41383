use super::format_for_whatsapp;
use crate::config::ReplyFormat;
use proptest::prelude::*;

fn markdown_to_whatsapp(text: &str) -> String {
    format_for_whatsapp(text, ReplyFormat::Markdown)
}

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
        (
            "em **3**x sem juros, im**possível**",
            "em 3x sem juros, impossível",
        ),
        ("**Preço:**R$ 90 ou **R$ 70**/mês", "Preço:R$ 90 ou *R$ 70*/mês"),
        ("de ~~R$ 90~~R$ 70", "de ~R$ 90~R$ 70"),
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
        "| a | b |",
        "a | b\nc | d",
        "__init__.py e __len__() e /_a/_b",
        "*um: nota\n*dois: nota",
        "use <seu nome> ou <b ou c>",
        "&nada; &#0; & cia.",
        "[9]: https://example.org/x",
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

#[test]
fn a_mark_that_spans_lines_is_written_in_each() {
    for (markdown, expected) in [
        ("**um\ndois** três", "*um*\n*dois* três"),
        ("***um\n  dois***", "*_um_*\n  *_dois_*"),
        ("- **um\n  dois**\n- três", "- *um*\n  *dois*\n- três"),
        ("> **um\n> dois**", "> *um*\n> *dois*"),
        ("**um\n\ndois**", "**um\n\ndois**"),
        ("um\\\ndois", "um\ndois"),
    ] {
        assert_eq!(markdown_to_whatsapp(markdown), expected, "{markdown}");
    }
}

#[test]
fn rows_of_tables_become_lines_and_no_cell_is_lost() {
    for (markdown, expected) in [
        (
            "| Corte | Valor |\n|:--|--:|\n| Franja | R$ 35 |\n| **Barba** | R$ 40 |\n\nAté já",
            "*Corte: Valor*\n*Franja*: R$ 35\n*Barba*: R$ 40\n\nAté já",
        ),
        (
            "Dia | Abre | Fecha\n--- | --- | ---\nSeg | 9h | *18h*\nDom | | 12h",
            "*Dia*\n*Seg*: Abre: 9h; Fecha: _18h_\n*Dom*: Fecha: 12h",
        ),
        ("| um |\n|---|\n| dois |", "*um*\ndois"),
        ("| a\\|b | `c|d` |\n|-|-|\n| e<br>f: | |", "*a|b: `c|d`*\ne f"),
        ("| a | b |\n|---|\n| c | d |", "| a | b |\n|---|\n| c | d |"),
    ] {
        assert_eq!(markdown_to_whatsapp(markdown), expected, "{markdown}");
    }
}

#[test]
fn an_answer_within_a_fence_of_markdown_is_converted() {
    for (markdown, expected) in [
        ("```markdown\n# Oi\n**um**\n```", "*Oi*\n*um*"),
        ("Aqui:\n```md\n**um**\n```\n**dois**", "Aqui:\n*um*\n*dois*"),
        (
            "````markdown\n**um**\n```js\na*b*c\n```\n````",
            "*um*\n```js\na*b*c\n```",
        ),
        ("~~~\n**um**\n~~~", "```\n**um**\n```"),
    ] {
        assert_eq!(markdown_to_whatsapp(markdown), expected, "{markdown}");
    }
}

#[test]
fn headings_may_be_underlined_and_rules_become_empty_lines() {
    for (markdown, expected) in [
        ("Agenda\n======\nhoje", "*Agenda*\nhoje"),
        ("Agenda de **hoje**\n---\nnada", "*Agenda de hoje*\nnada"),
        ("Fim da lista.\n---\nOutra", "Fim da lista.\n\nOutra"),
        ("um\n\n***\n\ndois", "um\n\ndois"),
        ("- um\n---\n- dois", "- um\n\n- dois"),
        ("um\n\n---\n", "um"),
    ] {
        assert_eq!(markdown_to_whatsapp(markdown), expected, "{markdown}");
    }
}

#[test]
fn titles_of_links_are_left_out_and_references_are_found() {
    for (markdown, expected) in [
        (
            "[loja](https://example.org/a \"A loja\")",
            "loja (https://example.org/a)",
        ),
        ("[loja](<https://example.org/a>)", "loja (https://example.org/a)"),
        (
            "Veja [a loja][L], [mapa] e [3].\n\n[l]: https://example.org/l 'x'\n[mapa]: <https://example.org/m>\n[9]: https://example.org/9",
            "Veja a loja (https://example.org/l), mapa (https://example.org/m) e [3].\n\n[9]: https://example.org/9",
        ),
        (
            "<ana@example.org> e <tel:+551100000000>",
            "ana@example.org e +551100000000",
        ),
    ] {
        assert_eq!(markdown_to_whatsapp(markdown), expected, "{markdown}");
    }
}

#[test]
fn html_becomes_what_whatsapp_knows() {
    for (html, expected) in [
        ("um<br>dois<br/>\ntrês<BR />", "um\ndois\ntrês"),
        ("um<br><br>dois", "um\n\ndois"),
        ("<b>um</b> <em>dois</em> <del>três</del>", "*um* _dois_ ~três~"),
        ("<strong>um<br>dois</strong>", "*um*\n*dois*"),
        ("<p>um</p><p>dois</p>", "um\ndois"),
        ("<ul><li>um</li><li>**dois**</li></ul>", "- um\n- *dois*"),
        (
            "Olá<h2>Preços de <b>hoje</b></h2>R$ 90<hr><h3>Fim</h3>\n<p>tchau</p>",
            "Olá\n*Preços de hoje*\nR$ 90\n*Fim*\ntchau",
        ),
        ("<h2>sem fim", "sem fim"),
        (
            "<a href=\"https://example.org/x\">loja</a>",
            "loja (https://example.org/x)",
        ),
        (
            "R$&nbsp;5 &lt; R$&#160;6 &amp; &#x20AC;",
            "R$\u{a0}5 < R$\u{a0}6 & €",
        ),
        ("`<br>` e `&amp;`", "`<br>` e `&amp;`"),
        ("<b>sem fim", "sem fim"),
    ] {
        assert_eq!(markdown_to_whatsapp(html), expected, "{html}");
    }
}

#[test]
fn whatsapps_own_bold_stays_bold_where_the_agent_writes_it() {
    for (text, expected) in [
        ("*Atenção* e _sim_ e ~não~", "*Atenção* e _sim_ e ~não~"),
        ("**Atenção**\n* um\n## Fim", "*Atenção*\n- um\n*Fim*"),
        ("2*3*4", "2*3*4"),
    ] {
        assert_eq!(
            format_for_whatsapp(text, ReplyFormat::Whatsapp),
            expected,
            "{text}"
        );
    }
}

fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

proptest! {
    #[test]
    fn no_letter_is_lost_added_or_moved(text in r"[a-c1é*_~`#\[\]()!>\\+= \n-]{0,120}") {
        prop_assert_eq!(letters(&markdown_to_whatsapp(&text)), letters(&text));
    }

    #[test]
    fn no_letter_is_lost_in_tables(text in r"[a-c*_` |\n-]{0,120}") {
        let (written, formatted) = (letters(&text), letters(&markdown_to_whatsapp(&text)));
        for letter in ['a', 'b', 'c'] {
            prop_assert!(formatted.matches(letter).count() >= written.matches(letter).count(), "{formatted}");
        }
    }

    #[test]
    fn nothing_makes_it_fail(text in any::<String>()) {
        let _ = markdown_to_whatsapp(&text);
    }

    #[test]
    fn no_marks_make_it_fail(text in r#"[abhref=:/.@"& ;<>\[\]()|*_~`\\\n-]{0,200}"#) {
        let _ = markdown_to_whatsapp(&text);
    }

    #[test]
    fn plain_text_stays_as_it_is(text in r"[a-zéã0-9 .,:;?!()\n'/]{0,200}") {
        prop_assert_eq!(markdown_to_whatsapp(&text), text);
    }

    #[test]
    fn lines_with_text_stay_lines(text in r"[a-c*_~`# \n-]{0,120}") {
        let lines = |text: &str| text.lines().filter(|line| line.contains(char::is_alphanumeric)).count();
        prop_assert_eq!(lines(&markdown_to_whatsapp(&text)), lines(&text));
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

/// Texts of marks that nothing closes: a search for each would take a time that grows with the square of the text.
const UNCLOSED: [&str; 16] = [
    "*a ",
    "[b",
    "`c``",
    "**d *e ~~f ",
    "[g](",
    "<https://h",
    "[[i](x)(",
    "<b>",
    "</b><b>j",
    "<a href=",
    "| k ",
    "[l]: https://m\n",
    "**n\n",
    "</p>",
    "[o]([",
    "&amp",
];

#[test]
fn marks_without_end_lose_nothing_however_many() {
    for piece in UNCLOSED
        .iter()
        .filter(|piece| !piece.contains("<b>") && !piece.contains("/p"))
    {
        let text = piece.repeat(4_000);
        let letters = |text: &str| text.chars().filter(|c| c.is_alphabetic()).count();
        assert_eq!(letters(&markdown_to_whatsapp(&text)), letters(&text), "{piece}");
    }
}

#[test]
fn a_long_text_of_marks_is_converted_in_no_time() {
    for piece in UNCLOSED {
        let text = piece.repeat(300_000 / piece.len());
        assert!(!markdown_to_whatsapp(&text).is_empty(), "{piece}");
    }
}

use super::*;
use proptest::prelude::*;

fn parts(text: &str, max: usize) -> Vec<String> {
    let split = split_text(text, max, 1_000);
    assert!(!split.truncated);
    split.parts
}

fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

#[test]
fn what_fits_is_one_part_as_it_was() {
    for text in ["", "  oi\n", "1234567890"] {
        assert_eq!(parts(text, 10), [text]);
    }
}

#[test]
fn paragraphs_are_kept_whole_before_lines_and_lines_before_sentences_and_words() {
    assert_eq!(
        parts("um dois\ntrês\n\n \nquatro cinco", 20),
        ["um dois\ntrês", "quatro cinco"]
    );
    assert_eq!(
        parts("um dois três\nquatro. Cinco seis", 20),
        ["um dois três", "quatro. Cinco seis"]
    );
    assert_eq!(
        parts("um dois (três.) Quatro cinco seis", 20),
        ["um dois (três.)", "Quatro cinco seis"]
    );
    assert_eq!(
        parts("um. 2. Três quatro cinco seis", 14),
        ["um. 2. Três", "quatro cinco", "seis"],
        "a number is not left without what it counts"
    );
    assert_eq!(
        parts("um dois três quatro cinco", 20),
        ["um dois três quatro", "cinco"]
    );
}

#[test]
fn a_part_is_not_ended_early_for_a_better_place() {
    assert_eq!(
        parts("oi\n\num dois três quatro cinco seis", 24),
        ["oi\n\num dois três quatro", "cinco seis"]
    );
}

#[test]
fn the_next_part_keeps_its_indentation() {
    assert_eq!(
        parts("- um dois três\n  - quatro cinco", 20),
        ["- um dois três", "  - quatro cinco"]
    );
}

#[test]
fn a_web_address_and_what_a_hard_space_joins_stay_whole() {
    let address = "https://example.com/a/b?c=d";
    assert_eq!(
        parts(&format!("veja {address} depois"), 30),
        ["veja", address, "depois"].map(str::to_owned)
    );
    assert_eq!(parts("custa hoje R$\u{a0}100", 15), ["custa hoje", "R$\u{a0}100"]);
}

#[test]
fn a_block_of_code_that_fits_is_not_taken_apart() {
    let code = "```\nlet a = 1;\n\nlet b = 2;\n```";
    assert_eq!(
        parts(&format!("Assim:\n{code}\ne pronto, é só isso"), 36),
        ["Assim:", code, "e pronto, é só isso"]
    );
}

#[test]
fn one_that_does_not_fit_is_taken_apart_at_its_lines() {
    let found = parts("```\num dois três\nquatro cinco\nseis sete\n```\nfim", 20);
    assert_eq!(
        found,
        ["```\num dois três", "quatro cinco", "seis sete\n```\nfim"]
    );
}

#[test]
fn a_word_that_is_too_long_is_taken_apart_between_signs() {
    let family = "👨‍👩‍👧‍👦";
    assert_eq!(
        parts(&family.repeat(3), 2 * units(family) + 3),
        [family.repeat(2), family.to_owned()]
    );
    assert_eq!(parts("cafe\u{301}s", 4), ["caf", "e\u{301}s"]);
    let marks = format!("e{}", "\u{301}".repeat(9));
    assert_eq!(parts(&marks, 4).concat(), marks);
}

#[test]
fn what_is_too_much_is_left_out_and_that_is_said() {
    let text = "um dois três quatro cinco";
    let found = split_text(text, 8, 2);
    assert_eq!(
        (found.parts, found.truncated),
        (vec!["um dois".to_owned(), "três".to_owned()], true)
    );
    assert!(!split_text(text, 8, 4).truncated);
    assert!(!split_text("um dois", 3, 3).truncated);
}

#[test]
fn the_longest_reply_of_one_word_or_of_many_is_taken_apart_in_no_time() {
    for text in [
        "x".repeat(1_000_000),
        "x ".repeat(500_000),
        "x\n".repeat(500_000),
        "```\n".repeat(250_000),
    ] {
        let found = split_text(&text, 4096, 10);
        assert_eq!((found.parts.len(), found.truncated), (10, true));
    }
}

fn without_space(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// What models write: words, marks, lists, code, signs of several characters.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => "[a-zà-ú]{1,12}",
        1 => Just("👨‍👩‍👧‍👦🇧🇷👍🏽é".to_owned()),
        1 => Just("https://example.com/um/caminho?longo=sim".to_owned()),
        1 => Just("\n```\n".to_owned()),
        1 => Just("\n- ".to_owned()),
        1 => "[.!?] ",
        1 => "[ \n\t\r\u{a0}]{1,3}",
        1 => ".{0,4}",
    ];
    let between = prop_oneof![3 => Just(" "), 1 => Just(""), 1 => Just("\n"), 1 => Just("\n\n")];
    prop::collection::vec((piece, between), 0..60).prop_map(|pieces| {
        pieces
            .into_iter()
            .flat_map(|(piece, between)| [piece, between.to_owned()])
            .collect()
    })
}

/// Does the same with more marks.
fn marked_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => text(),
        1 => "[*_~`]",
        1 => "[*_~]{1,3}[a-z ]{1,30}[*_~]{1,3}",
        1 => "`{1,4}[a-z ]{1,80}`{1,4}",
    ];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

#[test]
fn marks_that_are_open_where_parts_meet_are_closed_and_opened_again() {
    let words = "um texto que é bem mais longo do que cabe em uma única parte da resposta";
    assert_eq!(
        parts(&format!("*{words}* fim"), 64),
        [
            "*um texto que é bem mais longo do que cabe em uma*",
            "*única parte da resposta* fim"
        ]
    );
    assert_eq!(
        parts(&format!("a *b _{words}_ c*"), 64),
        [
            "a *b _um texto que é bem mais longo do que cabe em_*",
            "*_uma única parte da resposta_ c*"
        ]
    );
    assert_eq!(
        parts(&format!("`{words}`"), 64),
        [
            "`um texto que é bem mais longo do que cabe em uma`",
            "`única parte da resposta`"
        ]
    );
    // A mark ends with its line, so none is open between lines, and one without an end is none.
    let lines = format!("*{}*\n*{}*", &words[..49], &words[..49]);
    assert_eq!(parts(&lines, 64), lines.split('\n').collect::<Vec<_>>());
    let text = format!("2*3 e *{words}");
    assert_eq!(parts(&text, 64).concat().matches('*').count(), 2);
}

#[test]
fn a_block_of_code_that_fits_into_no_part_is_closed_and_opened_again() {
    let code: Vec<String> = (10..20)
        .map(|number| format!("linha_{number} = {number} * 2"))
        .collect();
    let text = format!("Veja isto:\n\n```python\n{}\n```\nPronto.", code.join("\n"));
    let found = parts(&text, 100);
    assert_eq!(
        found[0],
        "Veja isto:\n\n```python\nlinha_10 = 10 * 2\nlinha_11 = 11 * 2\nlinha_12 = 12 * 2\n```"
    );
    assert!(
        found[1].starts_with("```\nlinha_13") && found[1].ends_with("\n```"),
        "{found:?}"
    );
    assert!(
        found.last().unwrap().ends_with("linha_19 = 19 * 2\n```\nPronto."),
        "{found:?}"
    );
    let cut = split_text(&text, 100, 2);
    assert!(cut.truncated);
    assert_eq!(cut.parts[..], found[..2]);
    let all: Vec<&str> = found
        .iter()
        .flat_map(|part| part.lines())
        .filter(|line| line.starts_with("linha"))
        .collect();
    assert_eq!(all, code);
}

proptest! {
    #[test]
    fn nothing_is_added_but_marks_and_nothing_but_white_space_is_lost(text in marked_text(), max in MARKED_MIN..200) {
        let unmarked = |text: &str| without_space(text).replace(['*', '_', '~', '`'], "");
        prop_assert_eq!(unmarked(&parts(&text, max).concat()), unmarked(&text));
    }

    #[test]
    fn each_part_closes_the_fences_that_it_opens(
        pieces in prop::collection::vec(("[a-z*_~ \n]{0,80}", "[a-z\n ]{0,120}"), 1..5),
        max in MARKED_MIN..200,
    ) {
        let pieces = pieces.iter().map(|(words, code)| format!("{words}\n```\n{code}\n```\n"));
        for part in parts(&pieces.collect::<String>(), max) {
            let fences = part.lines().filter(|line| is_code_fence(line.trim_end())).count();
            prop_assert_eq!(fences % 2, 0, "{:?}", part);
        }
    }

    #[test]
    fn nothing_but_white_space_is_lost_and_the_order_is_kept(text in text(), max in 2usize..MARKED_MIN) {
        let parts = parts(&text, max);
        prop_assert_eq!(without_space(&parts.concat()), without_space(&text));
        let mut rest = text.as_str();
        for part in &parts {
            let at = rest.find(part.as_str());
            prop_assert!(at.is_some_and(|at| rest[..at].trim().is_empty()), "{part:?} in {rest:?}");
            rest = &rest[at.unwrap() + part.len()..];
        }
        prop_assert!(rest.trim().is_empty());
    }

    #[test]
    fn every_part_says_something_and_fits(text in marked_text(), max in 2usize..200) {
        let parts = parts(&text, max);
        for part in &parts {
            prop_assert!(units(part) <= max && part.chars().count() <= max);
            prop_assert!(parts.len() == 1 || !part.trim().is_empty());
        }
    }

    #[test]
    fn words_that_fit_stay_whole(text in "([a-zé👍🏽]{1,9}[ \n]{1,2}){0,40}", max in 40usize..90) {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let found: Vec<String> = parts(&text, max).iter().flat_map(|part| words(part)).collect();
        prop_assert_eq!(found, words(&text));
    }

    #[test]
    fn the_first_parts_are_the_same_however_many_are_wanted(text in text(), max in 2usize..60, most in 1usize..5) {
        let (all, few) = (parts(&text, max), split_text(&text, max, most));
        prop_assert_eq!(few.truncated, all.len() > most);
        prop_assert_eq!(&few.parts[..], &all[..all.len().min(most)]);
    }
}

//! Pages of PDF documents, drawn in one order and read in another.

use super::*;
use std::fmt::Write as _;

/// A document of one page with this content.
fn document(drawn: &str) -> Vec<u8> {
    let stream = format!("<< /Length {} >>\nstream\n{drawn}\nendstream", drawn.len());
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Count 1 /Kids [4 0 R] >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 5 0 R /Resources << /Font << /F1 3 0 R >> >> >>",
        stream.as_str(),
    ];
    let (mut file, mut places) = ("%PDF-1.4\n".to_owned(), String::new());
    for (number, object) in (1..).zip(objects) {
        writeln!(places, "{:010} 00000 n ", file.len()).unwrap();
        writeln!(file, "{number} 0 obj\n{object}\nendobj").unwrap();
    }
    let start = file.len();
    let trailer = "trailer\n<< /Size 6 /Root 1 0 R >>";
    write!(
        file,
        "xref\n0 6\n0000000000 65535 f \n{places}{trailer}\nstartxref\n{start}\n%%EOF\n"
    )
    .unwrap();
    file.into_bytes()
}

/// The text of a page with this content.
fn read_page(drawn: &str) -> String {
    let task = ReadingTask {
        media_type: MediaType::Pdf,
        charset: None,
        purpose: ReadingPurpose::Knowledge,
    };
    match read_document(&document(drawn), &task) {
        Ok(ReadContent::Pages(pages)) => pages[0].clone().unwrap(),
        other => panic!("{other:?}"),
    }
}

/// Draws lines below each other, the first at this place.
fn column(start: i32, height: i32, lines: &[&str]) -> String {
    let lines = lines.iter().map(|line| format!("({line}) Tj T* "));
    format!(
        "BT /F1 12 Tf 14 TL {start} {height} Td {}ET\n",
        lines.collect::<String>()
    )
}

/// Asserts that a page is read line by line as it is drawn.
fn assert_as_drawn(drawn: &str, lines: &[&str]) {
    let text = read_page(drawn);
    let read: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    assert_eq!(read, lines);
}

#[test]
fn a_price_stands_beside_its_name_though_columns_are_drawn_one_after_the_other() {
    let names = column(50, 700, &["Limpeza", "Canal", "Clareamento a laser"]);
    let prices = column(300, 701, &["R$ 90", "R$ 300", "sob consulta"]);
    let rows = "Limpeza; R$ 90\nCanal; R$ 300\nClareamento a laser; sob consulta";
    assert_eq!(read_page(&(names.clone() + &prices)), rows);
    assert_eq!(read_page(&(prices + &names)), rows);
    // A price without a line of its own beside it, and a second list below the first.
    let second = column(50, 600, &["Implante", "Protese"]) + &column(300, 600, &["2.000", "900"]);
    assert_eq!(
        read_page(&(names + &column(300, 686, &["300"]) + &second)),
        "Limpeza\nCanal; 300\nClareamento a laser\n\nImplante; 2.000\nProtese; 900"
    );
}

#[test]
fn places_are_told_whatever_moves_the_text() {
    let title = "BT /F1 20 Tf 1 0 0 1 50 760 Tm (Precos de 2031) Tj ET\n";
    let names = "q 1 0 0 1 50 700 cm BT /F1 12 Tf 0 0 Td (Servico) Tj 0 -20 TD (Lim) Tj (peza) Tj T* [(Ca) 20 (nal)] TJ ET Q\n";
    let times =
        "q 2 0 0 2 400 700 cm BT /F1 6 Tf 0 1 Td (Tempo) Tj 0 -10 Td (30 min) Tj 0 -10 Td (1h30) Tj ET Q\n";
    let prices = "BT /F1 12 Tf 1 0 0 1 300 699 Tm (Preco) Tj 1 0 0 1 300 679 Tm (R$ 90) Tj 1 0 0 1 300 659 Tm (R$ 300) Tj \
        1 0 0 1 50 600 Tm (Aberto de segunda a sexta) Tj ET";
    assert_eq!(
        read_page(&format!("{title}{names}{times}{prices}")),
        "Precos de 2031\n\nServico; Preco; Tempo\n\nLimpeza; R$ 90; 30 min\n\nCanal; R$ 300; 1h30\n\nAberto de segunda a sexta"
    );
}

#[test]
fn columns_of_sentences_stay_as_they_are_drawn() {
    for (left, right) in [
        (
            [
                "A clinica fica no centro da cidade,",
                "perto da praca, e atende a todos que",
                "chegam sem hora marcada, conforme",
            ],
            [
                "a ordem de chegada de cada pessoa.",
                "Quem tem hora marcada espera pouco,",
                "quem nao tem espera ate que alguem",
            ],
        ),
        (
            ["A clinica abre", "todos os dias", "menos no feriado"],
            ["Quem chega antes", "espera na sala", "ate que alguem"],
        ),
    ] {
        let drawn = column(50, 700, &left) + &column(320, 700, &right);
        assert_as_drawn(&drawn, &[&left[..], &right[..]].concat());
    }
}

#[test]
fn lists_side_by_side_and_pages_with_turned_text_stay_as_they_are_drawn() {
    let entry = |name: &str, price: &str| format!("({name}) Tj 150 0 Td ({price}) Tj -150 -14 Td ");
    let list = |start: i32, entries: [(&str, &str); 3]| {
        let entries = entries.map(|(name, price)| entry(name, price)).concat();
        format!("BT /F1 12 Tf {start} 700 Td {entries}ET\n")
    };
    let left = list(50, [("Limpeza", "90"), ("Canal", "300"), ("Exame", "50")]);
    let right = list(
        320,
        [("Implante", "2000"), ("Protese", "900"), ("Aparelho", "700")],
    );
    assert_as_drawn(
        &(left + &right),
        &[
            "Limpeza 90",
            "Canal 300",
            "Exame 50",
            "Implante 2000",
            "Protese 900",
            "Aparelho 700",
        ],
    );
    let (names, prices) = (["Limpeza", "Canal", "Exame"], ["R$ 90", "R$ 300", "R$ 50"]);
    let turned = "BT /F1 12 Tf 0 1 -1 0 20 100 Tm (rascunho) Tj ET";
    let drawn = column(50, 700, &names) + &column(300, 700, &prices) + turned;
    let text = read_page(&drawn);
    assert!(text.contains("Exame") && !text.contains("; "), "{text}");
}

#[test]
fn a_page_with_very_many_texts_is_read_as_it_is_drawn() {
    for (count, is_joined) in [(1_400, true), (1_600, false)] {
        let names = column(50, 20_000, &vec!["Canal"; count]);
        let prices = column(300, 20_000, &vec!["300"; count]);
        let text = read_page(&(names + &prices));
        assert_eq!(text.matches("Canal").count(), count);
        assert_eq!(
            text.matches("Canal; 300").count(),
            if is_joined { count } else { 0 }
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_word_is_lost_wherever_it_stands(
        places in prop::collection::vec((-50..650_i32, -50..850_i32, 1..30_i32), 1..40),
    ) {
        let words: Vec<String> = (100..).take(places.len()).map(|number| format!("w{number}")).collect();
        let mut drawn = String::new();
        for (word, (start, height, size)) in words.iter().zip(&places) {
            writeln!(drawn, "BT /F1 {size} Tf {start} {height} Td ({word}) Tj ET").unwrap();
        }
        let text = read_page(&drawn);
        for word in &words {
            prop_assert!(text.contains(word), "{word} is not in {text}");
        }
    }
}

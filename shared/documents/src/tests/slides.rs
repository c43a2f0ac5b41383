//! Presentations as `PowerPoint` shows them.

use super::*;

fn shape(kind: &str, words: &str) -> String {
    let placeholder = if kind.is_empty() {
        String::new()
    } else {
        format!("<p:nvPr><p:ph type=\"{kind}\"/></p:nvPr>")
    };
    format!(
        "<p:sp><p:nvSpPr>{placeholder}</p:nvSpPr><p:txBody><a:p><a:r><a:t>{words}</a:t></a:r></a:p></p:txBody></p:sp>"
    )
}

fn slide(shapes: &str) -> String {
    format!("<p:sld><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>")
}

#[test]
fn slides_are_read_in_their_order_and_others_are_left_out() {
    let (ten, two) = (slide(&shape("", "dez")), slide(&shape("", "dois")));
    let hidden = slide(&shape("", "oculto")).replace("<p:sld>", "<p:sld show=\"0\">");
    let orphan = slide(&shape("", "rascunho"));
    let bytes = presentation(
        &[(10, &ten), (3, &hidden), (2, &two)],
        &[("ppt/slides/slide1.xml", &orphan)],
    );
    assert_eq!(read_text(&bytes, MediaType::Pptx), "dez\n\ndois");
}

#[test]
fn titles_tables_groups_and_notes_are_told() {
    let cell =
        |words: &str| format!("<a:tc><a:txBody><a:p><a:r><a:t>{words}</a:t></a:r></a:p></a:txBody></a:tc>");
    let table = format!(
        "<p:graphicFrame><a:tbl><a:tr>{}{}</a:tr><a:tr>{}{}</a:tr></a:tbl></p:graphicFrame>",
        cell("Dia"),
        cell("Hora"),
        cell("seg"),
        cell("9h")
    );
    let group = format!(
        "<p:grpSp><p:grpSp>{}</p:grpSp>{}</p:grpSp>",
        shape("", "dentro"),
        shape("", "ao lado")
    );
    let unseen = format!(
        "<p:sp><p:nvSpPr><p:cNvPr hidden=\"1\"/></p:nvSpPr><p:txBody><a:p><a:t>x</a:t></a:p></p:txBody></p:sp>{}",
        shape("sldNum", "1")
    );
    let first = slide(
        &[
            shape("body", "linha"),
            shape("title", "Preços"),
            table,
            group,
            unseen,
        ]
        .concat(),
    );
    let second = slide(&shape("", "sem título"));
    let notes = format!(
        "<p:notes><p:spTree>{}{}{}</p:spTree></p:notes>",
        shape("sldImg", "imagem"),
        shape("body", "lembrar do desconto"),
        shape("sldNum", "1")
    );
    let of_slide = relations(&[("rId1", "notesSlide", "../notesSlides/notesSlide1.xml")]);
    let parts = [
        ("ppt/slides/_rels/slide1.xml.rels", of_slide.as_str()),
        ("ppt/notesSlides/notesSlide1.xml", notes.as_str()),
    ];
    let bytes = presentation(&[(1, &first), (2, &second)], &parts);
    assert_eq!(
        read_text(&bytes, MediaType::Pptx),
        "linha\nPreços\nDia\tHora\nseg\t9h\n\ndentro\nao lado\n[note] lembrar do desconto\n\nsem título"
    );
    assert_eq!(
        read_markdown(&bytes, MediaType::Pptx),
        "## Preços\n\nlinha\nDia\tHora\nseg\t9h\n\ndentro\nao lado\n[note] lembrar do desconto\n\n## slide 2\n\nsem título"
    );
}

#[test]
fn one_branch_of_alternatives_is_read() {
    let both = format!(
        "<mc:AlternateContent><mc:Choice>{}</mc:Choice><mc:Fallback>{}</mc:Fallback></mc:AlternateContent>",
        shape("", "novo"),
        shape("", "velho")
    );
    assert_eq!(
        read_text(&presentation(&[(1, &slide(&both))], &[]), MediaType::Pptx),
        "novo"
    );
}

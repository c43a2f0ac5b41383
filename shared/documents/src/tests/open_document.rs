//! Documents of the Open Document Format as `LibreOffice` shows them.

use super::*;

fn document(styles: &str, body: &str, further: &[(&str, &str)]) -> Vec<u8> {
    let content = format!(
        "<office:document-content><office:automatic-styles>{styles}</office:automatic-styles><office:body>{body}</office:body>\
         </office:document-content>"
    );
    pack_parts(&[&[("content.xml", content.as_str())][..], further].concat())
}

#[test]
fn a_text_is_read_with_headings_notes_tables_and_boxes() {
    let body = "<office:text><text:tracked-changes><text:p>apagado</text:p></text:tracked-changes>\
        <text:h text:outline-level=\"2\">Preços</text:h>\
        <text:p>Limpeza<text:s text:c=\"2\"/>90<text:tab/>reais<text:line-break/>à vista<text:note><text:note-citation>1</text:note-citation>\
        <text:note-body><text:p>até maio</text:p></text:note-body></text:note><office:annotation><dc:creator>Ana</dc:creator>\
        <dc:date>2031-01-01</dc:date><text:p>confirmar</text:p></office:annotation> ou<text:span text:style-name=\"T1\">oculto</text:span> não</text:p>\
        <text:p text:style-name=\"P1\">oculto</text:p>\
        <text:p>Antes<draw:frame><draw:text-box><text:p>na caixa</text:p></draw:text-box><svg:desc>figura</svg:desc></draw:frame></text:p>\
        <text:list><text:list-item><text:p>um item</text:p></text:list-item></text:list>\
        <table:table><table:table-row><table:table-cell><text:p>Dia</text:p></table:table-cell><table:table-cell><text:p>Hora</text:p>\
        </table:table-cell></table:table-row></table:table><text:p>Fim</text:p></office:text>";
    let styles = "<style:style style:name=\"T1\"><style:text-properties text:display=\"none\"/></style:style>\
        <style:style style:name=\"P1\"><style:text-properties text:display=\"none\"/></style:style>";
    let pages = "<office:document-styles><office:master-styles><style:master-page><style:header><text:p>Clínica Aurora</text:p></style:header>\
        <style:footer><text:p>Rua 7</text:p></style:footer></style:master-page></office:master-styles></office:document-styles>";
    let bytes = document(styles, body, &[("styles.xml", pages)]);
    let after = "Limpeza  90\treais\nà vista ou não\n[note] até maio\n[comment] confirmar\nAntes\nna caixa\num item\nDia\tHora\n\nFim\n\
        [footer] Rua 7";
    assert_eq!(
        read_text(&bytes, MediaType::Odt),
        format!("[header] Clínica Aurora\nPreços\n{after}")
    );
    assert_eq!(
        read_markdown(&bytes, MediaType::Odt),
        format!("[header] Clínica Aurora\n\n## Preços\n\n{after}")
    );
}

#[test]
fn sections_that_are_hidden_are_left_out() {
    let section = |beside: &str, words: &str| {
        format!(
            "<text:section{beside} text:name=\"s\"><text:section text:name=\"in\"><text:p>{words}</text:p></text:section></text:section>"
        )
    };
    let body = format!(
        "<office:text>{}{}{}{}<text:p>Fim</text:p></office:text>",
        section("", "vista"),
        section(" text:display=\"none\"", "oculta"),
        section(
            " text:display=\"condition\" text:condition=\"x\" text:is-hidden=\"true\"",
            "oculta"
        ),
        section(" text:display=\"condition\" text:condition=\"y\"", "agora vista"),
    );
    let bytes = document("", &body, &[]);
    assert_eq!(read_text(&bytes, MediaType::Odt), "vista\nagora vista\nFim");
}

#[test]
fn a_spreadsheet_is_read_as_it_is_shown() {
    let cell = |words: &str| {
        format!("<table:table-cell office:value=\"0.15\"><text:p>{words}</text:p></table:table-cell>")
    };
    let body = format!(
        "<office:spreadsheet><table:table table:name=\"Preços\"><table:table-row>{}</table:table-row>\
         <table:table-row>{}{}</table:table-row><table:table-row><table:table-cell table:number-columns-repeated=\"1\"/>{}</table:table-row>\
         <table:table-row table:visibility=\"collapse\">{}</table:table-row>\
         <table:table-row table:number-rows-repeated=\"1048000\"><table:table-cell table:number-columns-repeated=\"16384\"/></table:table-row>\
         </table:table><table:table table:name=\"Segredos\" table:style-name=\"ta2\"><table:table-row>{}</table:table-row></table:table>\
         </office:spreadsheet>",
        "<table:table-cell table:number-columns-spanned=\"2\"><text:p>Tabela</text:p></table:table-cell><table:covered-table-cell/>",
        cell("Serviço"),
        cell("Desconto"),
        cell("15%"),
        cell("x"),
        cell("y"),
    );
    let styles =
        "<style:style style:name=\"ta2\"><style:table-properties table:display=\"false\"/></style:style>";
    let bytes = document(styles, &body, &[]);
    assert_eq!(
        read_text(&bytes, MediaType::Ods),
        "# Preços\nTabela\nServiço\tDesconto\n\t15%"
    );
    assert_eq!(
        read_markdown(&bytes, MediaType::Ods),
        "# Preços\n\nTabela\n\nDesconto: 15%"
    );
}

#[test]
fn columns_that_are_hidden_are_left_out() {
    let cell = |words: &str| format!("<table:table-cell><text:p>{words}</text:p></table:table-cell>");
    let cost = "<table:table-cell table:number-columns-repeated=\"2\"><office:annotation><text:p>secreto</text:p></office:annotation>\
        <text:p>Custo</text:p></table:table-cell>";
    let body = format!(
        "<office:spreadsheet><table:table table:name=\"Preços\"><table:table-column/><table:table-column-group>\
         <table:table-column table:number-columns-repeated=\"2\" table:visibility=\"collapse\"/></table:table-column-group>\
         <table:table-column table:number-columns-repeated=\"16381\"/>\
         <table:table-row>{}{cost}{}</table:table-row><table:table-row>{}{}{}{}</table:table-row></table:table></office:spreadsheet>",
        cell("Serviço"),
        cell("Preço"),
        cell("Limpeza"),
        cell("30"),
        cell("31"),
        cell("90"),
    );
    let bytes = document("", &body, &[]);
    assert_eq!(
        read_text(&bytes, MediaType::Ods),
        "Serviço\t\t\tPreço\nLimpeza\t\t\t90"
    );
    assert_eq!(
        read_markdown(&bytes, MediaType::Ods),
        "# Preços\n\nServiço: Limpeza; Preço: 90"
    );
}

#[test]
fn a_cell_merged_over_rows_is_repeated_and_comments_follow_their_row() {
    let table = "<table:table table:name=\"Preços\"><table:table-row><table:table-cell><text:p>Serviço</text:p></table:table-cell>\
        <table:table-cell><text:p>Preço</text:p></table:table-cell></table:table-row>\
        <table:table-row><table:table-cell table:number-rows-spanned=\"2\"><text:p>Implante</text:p></table:table-cell>\
        <table:table-cell><office:annotation><dc:creator>Ana</dc:creator><dc:date>2031-01-01</dc:date><text:p>confirmar</text:p>\
        </office:annotation><text:p>alto</text:p></table:table-cell></table:table-row>\
        <table:table-row><table:covered-table-cell/><table:table-cell><text:p>baixo</text:p></table:table-cell></table:table-row>\
        <table:table-row><table:table-cell/><table:table-cell><text:p>outro</text:p></table:table-cell></table:table-row></table:table>";
    let sheet = document(
        "",
        &format!("<office:spreadsheet>{table}</office:spreadsheet>"),
        &[],
    );
    assert_eq!(
        read_text(&sheet, MediaType::Ods),
        "Serviço\tPreço\nImplante\talto\n[comment] confirmar\nImplante\tbaixo\n\toutro"
    );
    assert_eq!(
        read_markdown(&sheet, MediaType::Ods),
        "# Preços\n\nServiço: Implante; Preço: alto\n[comment] confirmar\n\nServiço: Implante; Preço: baixo\n\nPreço: outro"
    );
    let written = document("", &format!("<office:text>{table}</office:text>"), &[]);
    assert!(read_text(&written, MediaType::Odt).ends_with("Implante\tbaixo\n\toutro"));
}

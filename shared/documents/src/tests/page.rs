//! Web pages as a browser shows them.

use super::*;

#[test]
fn a_web_page_is_read_without_its_programs_and_marks() {
    let page = "<!DOCTYPE html><html><head><title>Preços</title><style>p { color: red }</style>\
        <script>if (a < b) { say('</p>') }</SCRIPT ></head><body><!-- <p>no</p> --><h1>Tabela</h1>\n\
        <p title='a > b'>Limpeza &amp; clareamento:   R$&nbsp;200 &#x2014; 3 &lt; 4 & <b>hoje</b></p>\
        <table><tr><td>A</td><td>B</td></tr><tr><td>C</td></tr></table><p>1 < 2</p>";
    let text = read_text(page.as_bytes(), MediaType::Html);
    assert_eq!(
        text,
        "Preços\nTabela\nLimpeza & clareamento: R$\u{a0}200 — 3 < 4 & hoje\nA\tB\nC\n1 < 2"
    );
    for broken in [
        "<",
        "<!--",
        "<p",
        "<a href='",
        "<script>x",
        "&",
        "&#xfffffff;",
        "&#0;",
        "</",
        "<é>",
    ] {
        extract_text(broken.as_bytes(), MediaType::Html, &TextLimits::default()).unwrap();
    }
}

#[test]
fn the_headings_of_a_page_are_those_of_markdown_and_its_navigation_is_left_out() {
    let page = "<html><head><title>Clinic</title><style>h1 { }</style></head><body>\
        <nav><ul><li><a href='/'>Home</a></li></ul></nav><header>Open today</header>\
        <H1 class='big'>Our\n <b>prices</b> &amp; times</H1><p># 1 in town</p><p>Two.</p>\
        <h2><span>Vaccines</span></h2><div>90 euros.</div><h3> </h3><script>var a = '<h1>no</h1>'</script>\
        <ul><li>One</li><li>Two</li></ul><h4>Never ends<p>Still here.";
    assert_eq!(
        read_markdown(page.as_bytes(), MediaType::Html),
        "Clinic\nOpen today\n\n# Our prices & times\n\n    # 1 in town\n\nTwo.\n\n## Vaccines\n\n90 euros.\n\nOne\nTwo\n\nNever ends\n\nStill here."
    );
    let long = format!("<h1>{}</h1><p>b</p>", "a ".repeat(400));
    assert!(read_markdown(long.as_bytes(), MediaType::Html).starts_with("a a"));
    assert_eq!(
        read_markdown(b"<nav>Home<h1>Prices</h1><nav>x", MediaType::Html),
        "Home\n\n# Prices\n\nx"
    );
    assert_eq!(read_markdown(b"# a\n```", MediaType::Text), "# a\n```");
}

#[test]
fn what_a_page_says_only_to_browsers_without_films_is_left_out() {
    let page = "<p>Antes</p><video controls><source src='a.mp4'>Sem <b>filme</b></video><canvas>Sem figura</canvas>\
        <audio src='a.ogg'>Sem som</audio>Fim<audio src='b.ogg'/> mesmo";
    assert_eq!(shown(page), "Antes\nFim mesmo");
}

fn shown(body: &str) -> String {
    read_text(body.as_bytes(), MediaType::Html)
}

#[test]
fn each_block_begins_a_line() {
    for name in [
        "address",
        "article",
        "aside",
        "blockquote",
        "dd",
        "details",
        "div",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "h2",
        "header",
        "li",
        "main",
        "nav",
        "p",
        "pre",
        "section",
        "summary",
    ] {
        let body = format!("<{name}>Consulta</{name}><{name}>Limpeza</{name}>depois");
        assert_eq!(shown(&body), "Consulta\nLimpeza\ndepois", "{name}");
    }
    assert_eq!(shown("a<br>b<b>c</b><span>d</span><hr/>e"), "a\nbcd\ne");
    assert_eq!(shown("<pre>a\n  b</pre>"), "a\n b");
}

#[test]
fn what_readers_do_not_see_is_left_out() {
    for hidden in [
        "<div hidden>x <div>y</div> z</div>",
        "<p style='color: red; DISPLAY : none'>x</p>",
        "<span style=\"visibility:hidden\">x</span>",
        "<p hidden>x<p>",
        "<template><p>x</p></template>",
        "<noscript>x</noscript>",
        "<svg><text>x</text></svg>",
        "<section hidden=until-found><p>x<br>y</section>",
    ] {
        assert_eq!(
            shown(&format!("a {hidden}b"))
                .split_whitespace()
                .collect::<String>(),
            "ab",
            "{hidden}"
        );
    }
    assert_eq!(shown("<ul><li hidden>x<ul><li>y</ul><li>b</ul>"), "b");
    // What a screen reader leaves out is seen, and so is what only speaks of such styles.
    assert_eq!(
        shown("<p aria-hidden='true' data-x='display:none' class=hidden>a</p>"),
        "a"
    );
    assert_eq!(shown("<input hidden>a<svg/>b"), "ab");
}

#[test]
fn the_rows_of_a_table_name_their_columns() {
    let table = "<p>Tabela</p><table><thead><tr><th>Serviço</th><th>Preço</th><th></th></tr></thead>\
        <tr><td>Limpeza</td><td><div>R$&nbsp;90</div></td><td> à vista </td></tr><tr><td>Consulta</td><td></td></tr></table>fim";
    assert_eq!(
        read_markdown(table.as_bytes(), MediaType::Html),
        "Tabela\n\nServiço: Limpeza; Preço: R$ 90; à vista\n\nServiço: Consulta\n\nfim"
    );
    assert_eq!(
        shown(table),
        "Tabela\nServiço\tPreço\t\nLimpeza\tR$\u{a0}90\tà vista \nConsulta\t\nfim"
    );
    let titled = "<table><tr><th colspan=2>Adultos</th></tr><tr><th>Dia<th>Hora<tr><td>seg<td>9h</table>";
    assert_eq!(
        read_markdown(titled.as_bytes(), MediaType::Html),
        "Adultos\nDia: seg; Hora: 9h"
    );
    // Cells over several rows are repeated in each of them.
    let spanned = "<table><tr><th>Dia<th>Hora<tr><td rowspan=2>seg<td>9h<tr><td>10h</table>";
    assert_eq!(
        read_markdown(spanned.as_bytes(), MediaType::Html),
        "Dia: seg; Hora: 9h\n\nDia: seg; Hora: 10h"
    );
    assert_eq!(shown(spanned), "Dia\tHora\nseg\t9h\nseg\t10h");
    let titled = "<table><tr><th rowspan=2>Serviço<th colspan=2>Preço<tr><th>Adulto<th>Criança<tr><td>Limpeza<td>90<td rowspan=0>60<br>à vista\
        <tr><td>Canal<td>800<tr><td><td></table>";
    assert_eq!(
        read_markdown(titled.as_bytes(), MediaType::Html),
        "Serviço\tPreço\nServiço: Limpeza; Adulto: 90; Criança: 60 à vista\n\nServiço: Canal; Adulto: 800; Criança: 60 à vista"
    );
    let groups = "<table><tbody><tr><td rowspan=9>seg<td>9h</tbody><tbody><tr><td>ter<td>8h</table>";
    assert_eq!(shown(groups), "seg\t9h\nter\t8h");
    let by_rows = "<table><tr><th>Limpeza</th><td>90</td></tr><tr><th>Consulta</th><td>250</td></tr></table>";
    assert_eq!(
        read_markdown(by_rows.as_bytes(), MediaType::Html),
        "Limpeza\t90\nConsulta\t250"
    );
}

#[test]
fn a_page_is_decoded_by_its_mark_its_server_or_its_own_word() {
    let (cyrillic, _, _) = encoding_rs::WINDOWS_1251.encode("<meta charset=\"windows-1251\"><p>Цена");
    let read = |bytes: &[u8], charset: Option<&str>| {
        let task = ReadingTask {
            media_type: MediaType::Html,
            charset: charset.map(str::to_owned),
            purpose: ReadingPurpose::Message,
        };
        match read_document(bytes, &task) {
            Ok(ReadContent::Text(read)) => read.text,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(read(&cyrillic, None), "Цена");
    let (without, _, _) = encoding_rs::WINDOWS_1251.encode("<p>Цена");
    assert_eq!(read(&without, Some("Windows-1251")), "Цена");
    assert_eq!(read("\u{feff}<p>Цена".as_bytes(), Some("windows-1251")), "Цена");
    assert_eq!(read("<p>Preço".as_bytes(), Some("no-such-charset")), "Preço");
    assert_eq!(
        read(
            b"<meta http-equiv=x content='text/html; charset=iso-8859-1'><p>Pre\xe7o",
            None
        ),
        "Preço"
    );
}

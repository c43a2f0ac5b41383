//! Writes small PDF documents.

use std::io::Write;

/// Makes a document whose pages draw this text, one line each.
pub fn make_pdf(lines: &[String]) -> Vec<u8> {
    let draw = |line: &String| format!("BT /F1 12 Tf 50 700 Td ({line}) Tj ET");
    make_drawn_pdf(&lines.iter().map(draw).collect::<Vec<_>>())
}

/// Makes a document whose pages have these contents.
pub fn make_drawn_pdf(contents: &[String]) -> Vec<u8> {
    let kids: Vec<String> = (0..contents.len())
        .map(|page| format!("{} 0 R", 4 + page * 2))
        .collect();
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!(
            "<< /Type /Pages /Count {} /Kids [{}] >>",
            contents.len(),
            kids.join(" ")
        ),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_owned(),
    ];
    for (page, drawn) in contents.iter().enumerate() {
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents {} 0 R /Resources << /Font << /F1 3 0 R >> >> >>",
            5 + page * 2
        ));
        objects.push(format!(
            "<< /Length {} >>\nstream\n{drawn}\nendstream",
            drawn.len()
        ));
    }
    let (mut file, mut places) = (b"%PDF-1.4\n".to_vec(), Vec::new());
    for (number, object) in (1..).zip(&objects) {
        places.push(file.len());
        writeln!(file, "{number} 0 obj\n{object}\nendobj").unwrap();
    }
    let (start, size) = (file.len(), objects.len() + 1);
    writeln!(file, "xref\n0 {size}\n0000000000 65535 f ").unwrap();
    for place in places {
        writeln!(file, "{place:010} 00000 n ").unwrap();
    }
    let id = "<00112233445566778899aabbccddeeff>";
    writeln!(file, "trailer\n<< /Size {size} /Root 1 0 R /ID [{id} {id}] >>").unwrap();
    writeln!(file, "startxref\n{start}\n%%EOF").unwrap();
    file
}

//! The sample clinic: its script runs, and shows an answer from the documents and a booking.

use std::process::Command;

#[test]
fn the_sample_clinic_answers_from_its_documents_and_books() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/clinic/book.sh");
    let ran = Command::new(script)
        .env("RECADO", env!("CARGO_BIN_EXE_recado"))
        .env("PORT", "0")
        .output()
        .unwrap();
    let (out, err) = (
        String::from_utf8_lossy(&ran.stdout),
        String::from_utf8_lossy(&ran.stderr),
    );
    assert!(ran.status.success(), "{out}\n{err}");
    let start = out.lines().last().and_then(|line| line.strip_prefix("Booked: "));
    let start = start.unwrap_or_else(|| panic!("no booking: {out}\n{err}"));
    for told in [
        "A check-up takes 30 minutes and costs R$ 150.",
        "is done",
        "(appointment ",
    ] {
        assert!(out.contains(told), "{told}: {out}");
    }
    assert!(
        out.matches(start).count() >= 3,
        "listed as free, asked for, and the contact's: {out}"
    );
}

//! Draws a QR code in a terminal.

use qrcode::render::unicode::Dense1x2;
use qrcode::{EcLevel, QrCode};

/// Draws the code as lines of half blocks, two modules high each. Dark modules are the terminal's background; phones
/// read the code in either polarity. `None` if the text is too long for a QR code.
pub(super) fn draw_qr_code(text: &str) -> Option<String> {
    let code = QrCode::with_error_correction_level(text, EcLevel::L).ok()?;
    let mut drawn = code.render::<Dense1x2>();
    // A `Dark` pixel is a block of the foreground's colour.
    Some(
        drawn
            .dark_color(Dense1x2::Light)
            .light_color(Dense1x2::Dark)
            .build(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_drawn_square_with_its_three_corners() {
        let drawn = draw_qr_code("2@abc").unwrap();
        let lines: Vec<Vec<char>> = drawn.lines().map(|line| line.chars().collect()).collect();
        // Version 1 has 21 modules, and 4 on each side are the quiet zone.
        assert_eq!((lines[0].len(), lines.len()), (29, 15));
        let row: String = lines[2].iter().collect();
        assert!(
            row.starts_with("████ ▄▄▄▄▄ ") && row.ends_with(" ▄▄▄▄▄ ████"),
            "{row}"
        );
        assert!(super::draw_qr_code(&"x".repeat(10_000)).is_none());
    }
}

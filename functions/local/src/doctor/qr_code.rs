//! Draws a QR code in a terminal.

use qrcode::{Color, EcLevel, QrCode};

/// The width of the quiet zone around the code, in modules.
const QUIET_ZONE: usize = 2;

/// Draws the code as lines of half blocks, two modules high each. Dark modules are the terminal's background; phones
/// read the code in either polarity. `None` if the text is too long for a QR code.
pub(super) fn draw_qr_code(text: &str) -> Option<String> {
    let code = QrCode::with_error_correction_level(text, EcLevel::L).ok()?;
    let (width, colors) = (code.width(), code.to_colors());
    let light = |x: usize, y: usize| {
        let module = x
            .checked_sub(QUIET_ZONE)
            .zip(y.checked_sub(QUIET_ZONE))
            .filter(|(x, y)| *x < width && *y < width);
        module.is_none_or(|(x, y)| colors[y * width + x] == Color::Light)
    };
    let side = width + 2 * QUIET_ZONE;
    let mut all = String::new();
    for y in (0..side).step_by(2) {
        all.extend(
            (0..side).map(|x| match (light(x, y), y + 1 >= side || light(x, y + 1)) {
                (true, true) => '█',
                (true, false) => '▀',
                (false, true) => '▄',
                (false, false) => ' ',
            }),
        );
        all.push('\n');
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_drawn_square_with_its_three_corners() {
        let drawn = draw_qr_code("2@abc").unwrap();
        let lines: Vec<Vec<char>> = drawn.lines().map(|line| line.chars().collect()).collect();
        // Version 1 has 21 modules.
        assert_eq!((lines[0].len(), lines.len()), (25, 13));
        let row: String = lines[1].iter().collect();
        assert!(
            row.starts_with("██ ▄▄▄▄▄ ") && row.ends_with(" ▄▄▄▄▄ ██"),
            "{row}"
        );
        assert!(super::draw_qr_code(&"x".repeat(10_000)).is_none());
    }
}

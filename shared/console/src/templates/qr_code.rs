//! QR codes as SVG.

use minijinja::value::Value;
use minijinja::{Error, ErrorKind};
use qrcode::{Color, EcLevel, QrCode};
use std::fmt::Write as _;

/// The white margin around a code, in modules.
const MARGIN: usize = 4;

/// Draws the QR code of a text, black on white in light and in dark pages. `label` says to screen readers what it is.
pub(super) fn draw_qr_code(text: &str, label: &str) -> Result<Value, Error> {
    let too_long = |_| Error::new(ErrorKind::InvalidOperation, "the text is too long for a QR code");
    let code = QrCode::with_error_correction_level(text, EcLevel::L).map_err(too_long)?;
    let width = code.width();
    let mut path = String::new();
    for (at, color) in code.to_colors().into_iter().enumerate() {
        if color == Color::Dark {
            let (left, top) = (at % width + MARGIN, at / width + MARGIN);
            // A write to a string does not fail.
            let _ = write!(path, "M{left} {top}h1v1h-1z");
        }
    }
    let size = width + 2 * MARGIN;
    let label = super::charts::escape_label(label);
    Ok(Value::from_safe_string(format!(
        "<svg class=\"code\" viewBox=\"0 0 {size} {size}\" role=\"img\" aria-label=\"{label}\">\
         <rect width=\"{size}\" height=\"{size}\" fill=\"#fff\"/><path fill=\"#000\" d=\"{path}\"/></svg>"
    )))
}

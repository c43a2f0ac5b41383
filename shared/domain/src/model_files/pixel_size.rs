//! Reads the width and height of a picture from its first bytes, without opening it.

/// The size of a picture, in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PixelSize {
    /// The width.
    pub width: u32,
    /// The height.
    pub height: u32,
}

impl PixelSize {
    /// Returns the greater of width and height.
    pub fn find_longest_side(self) -> u32 {
        self.width.max(self.height)
    }
}

/// Reads the size of a PNG, JPEG, GIF or WebP picture. `None`: the bytes are none, or end too early.
pub fn read_pixel_size(bytes: &[u8]) -> Option<PixelSize> {
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        // Behind the length and the name of the first chunk, `IHDR`.
        let side = |at: usize| Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
        return Some(PixelSize {
            width: side(16)?,
            height: side(20)?,
        });
    }
    if bytes.starts_with(b"GIF8") {
        let side = |at: usize| Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
        return Some(PixelSize {
            width: side(6)?.into(),
            height: side(8)?.into(),
        });
    }
    if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        return read_webp_size(bytes);
    }
    read_jpeg_size(bytes.strip_prefix(b"\xff\xd8")?)
}

/// Reads the size of a WebP picture from its first chunk (RFC 9649).
fn read_webp_size(bytes: &[u8]) -> Option<PixelSize> {
    let chunk = bytes.get(20..)?;
    let (width, height) = match bytes.get(12..16)? {
        b"VP8X" => {
            let side = |at: usize| {
                let [low, middle, high] = *chunk.get(at..)?.first_chunk()?;
                Some(u32::from_le_bytes([low, middle, high, 0]) + 1)
            };
            (side(4)?, side(7)?)
        }
        b"VP8L" => {
            // Behind a byte for the signature, 14 bits for each side less one.
            let bits = u32::from_le_bytes(*chunk.get(1..)?.first_chunk()?);
            ((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1)
        }
        b"VP8 " => {
            // Behind the header of the frame and its start code; the two highest bits say how to scale.
            let side = |at: usize| Some(u16::from_le_bytes(*chunk.get(at..)?.first_chunk()?) & 0x3fff);
            (side(6)?.into(), side(8)?.into())
        }
        _ => return None,
    };
    Some(PixelSize { width, height })
}

/// Reads the size of a JPEG picture from its frame header, behind any other segments (ITU-T T.81, B.2.2).
fn read_jpeg_size(mut segments: &[u8]) -> Option<PixelSize> {
    loop {
        let after_fill = segments.iter().position(|byte| *byte != 0xff)?;
        if after_fill == 0 {
            return None;
        }
        let marker = segments[after_fill];
        let body = &segments[after_fill + 1..];
        match marker {
            // Segments without a body.
            0x01 | 0xd0..=0xd8 => segments = body,
            0xd9 | 0xda => return None,
            // A frame: SOF0 to SOF15, without the tables DHT, JPG and DAC between them.
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => {
                let side = |at: usize| Some(u16::from_be_bytes(*body.get(at..)?.first_chunk()?));
                return Some(PixelSize {
                    width: side(5)?.into(),
                    height: side(3)?.into(),
                });
            }
            _ => {
                let length = u16::from_be_bytes(*body.first_chunk()?);
                segments = body.get(usize::from(length.max(2))..)?;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn size(bytes: &[u8]) -> Option<(u32, u32)> {
        read_pixel_size(bytes).map(|size| (size.width, size.height))
    }

    fn webp(kind: &[u8], chunk: &[u8]) -> Vec<u8> {
        [b"RIFF\0\0\0\0WEBP", kind, b"\0\0\0\0", chunk].concat()
    }

    #[test]
    fn the_size_is_read_of_each_kind_of_picture() {
        let png = [
            &b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..],
            &9_000_u32.to_be_bytes(),
            &40_u32.to_be_bytes(),
        ]
        .concat();
        assert_eq!(size(&png), Some((9_000, 40)));
        assert_eq!(size(b"GIF89a\x2c\x01\x05\0"), Some((300, 5)));
        let extended = webp(b"VP8X", &[0, 0, 0, 0, 0x0f, 0x27, 0, 0x01, 0, 0]);
        assert_eq!(size(&extended), Some((10_000, 2)));
        let lossless = webp(b"VP8L", &[0x2f, 0x0f, 0xc0, 0x01, 0]);
        assert_eq!(size(&lossless), Some((16, 8)));
        let lossy = webp(b"VP8 ", &[0, 0, 0, 0x9d, 0x01, 0x2a, 0x40, 0x41, 0x10, 0x80]);
        assert_eq!(size(&lossy), Some((320, 16)));
    }

    #[test]
    fn the_frame_of_a_jpeg_is_found_behind_its_other_segments() {
        // An application segment, a table, fill bytes, and a progressive frame of 500 x 8200.
        let jpeg = b"\xff\xd8\xff\xe0\0\x04ab\xff\xc4\0\x03\x07\xff\xff\xc2\0\x0b\x08\x20\x08\x01\xf4\x01";
        assert_eq!(size(jpeg), Some((500, 8_200)));
        assert_eq!(
            size(b"\xff\xd8\xff\xda\0\x02"),
            None,
            "the picture begins without a frame"
        );
        assert_eq!(size(b"\xff\xd8ab"), None);
    }

    #[test]
    fn what_ends_too_early_has_no_size() {
        for bytes in [
            &b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0"[..],
            b"GIF89a\x01",
            b"RIFF\0\0\0\0WEBPVP8X",
            b"",
            b"%PDF",
        ] {
            assert_eq!(size(bytes), None);
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_fail(kind in 0_usize..4, bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let start = [&b"\x89PNG\r\n\x1a\n"[..], b"GIF89a", b"RIFF\0\0\0\0WEBPVP8L", b"\xff\xd8\xff"][kind];
            let _ = read_pixel_size(&[start, &bytes].concat());
        }
    }
}

//! The files that the model sees in one request, within the limits.
//!
//! The limits of Anthropic's API: 5 MB of base64 for a picture, 100 pictures and pages of PDF, 32 MB for the whole request.
//! <https://platform.claude.com/docs/en/build-with-claude/vision>. What a provider does not open at all: [`ProviderFileLimits`].

mod encrypted_pdf;
mod pixel_size;

pub use encrypted_pdf::is_encrypted_pdf;
pub use pixel_size::{PixelSize, read_pixel_size};

use crate::media_type::MediaType;
use serde::{Deserialize, Serialize};

/// Largest picture that the model takes: 5 MiB when it is written as base64.
pub const IMAGE_BYTES_MAX: usize = 5 * 1024 * 1024 / 4 * 3;

/// The limits of the files that the model sees in one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelFileLimits {
    /// Maximum number of files.
    pub files: usize,
    /// Maximum size of all files together, in bytes.
    pub bytes: usize,
}

impl Default for ModelFileLimits {
    fn default() -> Self {
        Self {
            files: 20,
            bytes: 8_000_000,
        }
    }
}

/// The files that a provider of models opens, as far as their bytes tell it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProviderFileLimits {
    /// Greatest width and height of a picture, in pixels. `None`: the provider names none.
    pub side_max: Option<u32>,
    /// The same in a request of more than so many pictures.
    pub side_max_among: Option<(usize, u32)>,
    /// `true` if encrypted PDF documents are opened, or may be.
    pub opens_encrypted: bool,
}

impl ProviderFileLimits {
    /// A provider that names no such limits.
    pub const NONE: Self = Self {
        side_max: None,
        side_max_among: None,
        opens_encrypted: true,
    };

    /// Returns the reason why the provider does not open a file. `pictures` is the number of pictures in the request.
    pub fn explain_refusal(
        &self,
        media_type: MediaType,
        bytes: &[u8],
        pictures: usize,
    ) -> Option<FileOmission> {
        if media_type == MediaType::Pdf {
            let is_refused = !self.opens_encrypted && is_encrypted_pdf(bytes);
            return is_refused.then_some(FileOmission::Encrypted);
        }
        let longest = read_pixel_size(bytes)?.find_longest_side();
        if self.side_max.is_some_and(|most| longest > most) {
            return Some(FileOmission::TooManyPixels);
        }
        let (_, most) = self.side_max_among.filter(|(few, _)| pictures > *few)?;
        (longest > most).then_some(FileOmission::TooManyPixelsTogether)
    }
}

/// The reason for which a file is never shown to a model again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileRefusal {
    /// The picture has too many pixels.
    TooManyPixels,
    /// The document is encrypted.
    Encrypted,
    /// The model refused a request with this file, and the same without it not.
    ByModel,
    /// A version of Recado that this one does not know gave the reason.
    #[serde(other)]
    Unknown,
}

impl FileRefusal {
    /// Returns the words for the model that stand in place of the file.
    pub fn describe_refusal(self) -> &'static str {
        let omission = match self {
            Self::TooManyPixels => FileOmission::TooManyPixels,
            Self::Encrypted => FileOmission::Encrypted,
            Self::ByModel | Self::Unknown => FileOmission::Refused,
        };
        omission.describe_omission()
    }
}

/// The reason why the model does not see a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileOmission {
    /// The model takes no such files.
    OtherType,
    /// The file is too large for the model.
    TooLarge,
    /// There are newer files, and no room for this one.
    Older,
    /// The model refused this file.
    Refused,
    /// The picture has more pixels than the model takes.
    TooManyPixels,
    /// The picture has more pixels than the model takes among so many pictures.
    TooManyPixelsTogether,
    /// The document is encrypted.
    Encrypted,
    /// The model refused this file or another one, and there was no time to tell which.
    Suspect,
    /// The stored file could not be opened in time.
    NotOpened,
}

impl FileOmission {
    /// Returns the words for the model that stand in place of the file.
    pub fn describe_omission(self) -> &'static str {
        match self {
            Self::OtherType => "a file of this type cannot be shown",
            Self::TooLarge => "not shown: the file is too large",
            Self::Older => "not shown any more: there are newer files",
            Self::Refused | Self::NotOpened => "not shown: the file cannot be opened",
            Self::TooManyPixels => "not shown: the picture has too many pixels",
            Self::TooManyPixelsTogether => {
                "not shown now: the picture is too large to be shown beside so many others"
            }
            Self::Encrypted => "not shown: the document is encrypted",
            Self::Suspect => "not shown now: one of the files cannot be opened",
        }
    }

    /// Returns the reason for which the file is never to be shown again. `None`: it may be shown another time.
    pub fn as_lasting_refusal(self) -> Option<FileRefusal> {
        match self {
            Self::Refused => Some(FileRefusal::ByModel),
            Self::TooManyPixels => Some(FileRefusal::TooManyPixels),
            Self::Encrypted => Some(FileRefusal::Encrypted),
            Self::OtherType
            | Self::TooLarge
            | Self::Older
            | Self::TooManyPixelsTogether
            | Self::Suspect
            | Self::NotOpened => None,
        }
    }
}

impl ModelFileLimits {
    /// Decides which of `files` the model sees: the newest that fit. They are given by type and size, the oldest first.
    /// `None` stands for a file that is seen.
    pub fn choose_visible_files(&self, files: &[(MediaType, usize)]) -> Vec<Option<FileOmission>> {
        let (mut count, mut room) = (self.files, self.bytes);
        let mut is_full = false;
        let mut decide = |(media_type, bytes): &(MediaType, usize)| {
            if !media_type.is_visible_to_model() {
                return Some(FileOmission::OtherType);
            }
            let largest = if media_type.is_image() {
                IMAGE_BYTES_MAX
            } else {
                usize::MAX
            };
            if *bytes == 0 || *bytes > largest.min(self.bytes) {
                return Some(FileOmission::TooLarge);
            }
            // Nothing older than the first that does not fit is seen, so that no file is missing between two others.
            is_full |= count == 0 || *bytes > room;
            if is_full {
                return Some(FileOmission::Older);
            }
            count -= 1;
            room -= bytes;
            None
        };
        let mut decided: Vec<_> = files.iter().rev().map(&mut decide).collect();
        decided.reverse();
        decided
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TWO: ModelFileLimits = ModelFileLimits {
        files: 2,
        bytes: 5_000_000,
    };

    fn images(sizes: &[usize]) -> Vec<(MediaType, usize)> {
        sizes.iter().map(|size| (MediaType::Jpeg, *size)).collect()
    }

    #[test]
    fn the_newest_files_are_seen_and_older_ones_are_told() {
        use FileOmission::{Older, TooLarge};
        for (sizes, expected) in [
            (&[][..], &[][..]),
            (&[1, 2], &[None, None]),
            (&[1, 2, 3], &[Some(Older), None, None]),
            (&[10, 3_000_000, 3_000_000], &[Some(Older), Some(Older), None]),
            (&[IMAGE_BYTES_MAX + 1, IMAGE_BYTES_MAX], &[Some(TooLarge), None]),
            // A file that can never be seen takes no other's place.
            (&[1, 5_000_001, 2], &[None, Some(TooLarge), None]),
            (&[0], &[Some(TooLarge)]),
        ] {
            assert_eq!(TWO.choose_visible_files(&images(sizes)), expected, "{sizes:?}");
        }
    }

    #[test]
    fn what_a_provider_does_not_open_is_told_by_its_bytes() {
        let limits = ProviderFileLimits {
            side_max: Some(8_000),
            side_max_among: Some((20, 2_000)),
            opens_encrypted: false,
        };
        let gif = |width: u16, height: u16| {
            let mut bytes = b"GIF89a".to_vec();
            bytes.extend([width.to_le_bytes(), height.to_le_bytes()].concat());
            bytes
        };
        let explain = |bytes: &[u8], pictures| limits.explain_refusal(MediaType::Gif, bytes, pictures);
        assert_eq!(explain(&gif(8_000, 8_000), 20), None);
        assert_eq!(explain(&gif(10, 8_001), 1), Some(FileOmission::TooManyPixels));
        assert_eq!(
            explain(&gif(2_001, 10), 21),
            Some(FileOmission::TooManyPixelsTogether)
        );
        assert_eq!(explain(&gif(2_000, 2_000), 21), None);
        assert_eq!(explain(b"no picture", 1), None);
        let pdf = b"%PDF-1.7\ntrailer << /Encrypt 9 0 R >>";
        assert_eq!(
            limits.explain_refusal(MediaType::Pdf, pdf, 1),
            Some(FileOmission::Encrypted)
        );
        assert_eq!(
            ProviderFileLimits::NONE.explain_refusal(MediaType::Pdf, pdf, 1),
            None
        );
        assert_eq!(
            ProviderFileLimits::NONE.explain_refusal(MediaType::Gif, &gif(9_000, 9_000), 30),
            None
        );
    }

    #[test]
    fn a_pdf_may_be_larger_than_a_picture_and_other_types_are_not_seen() {
        let files = [
            (MediaType::Ogg, 10),
            (MediaType::Pdf, IMAGE_BYTES_MAX + 1),
            (MediaType::Docx, 10),
        ];
        let expected = [Some(FileOmission::OtherType), None, Some(FileOmission::OtherType)];
        assert_eq!(TWO.choose_visible_files(&files), expected);
        assert!(IMAGE_BYTES_MAX.div_ceil(3) * 4 <= 5 * 1024 * 1024);
    }

    proptest! {
        #[test]
        fn the_limits_hold(sizes in prop::collection::vec(0_usize..4_000_000, 0..40), files in 0_usize..25, bytes in 0_usize..20_000_000) {
            let limits = ModelFileLimits { files, bytes };
            let chosen = limits.choose_visible_files(&images(&sizes));
            let seen: Vec<usize> = sizes.iter().zip(&chosen).filter(|(_, omitted)| omitted.is_none()).map(|(size, _)| *size).collect();
            prop_assert!(seen.len() <= files && seen.iter().sum::<usize>() <= bytes);
            prop_assert_eq!(chosen.len(), sizes.len());
        }
    }
}

//! The files that the model sees in one request, within the limits.
//!
//! The limits of Anthropic's API: 5 MB of base64 for a picture, 8000 pixels a side (2000 if there are more than 20 pictures),
//! 100 pictures and pages of PDF, 32 MB for the whole request.
//! <https://platform.claude.com/docs/en/build-with-claude/vision>

use crate::media_type::MediaType;

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

/// The reason why the model does not see a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileOmission {
    /// The model takes no such files.
    OtherType,
    /// The file is too large for the model.
    TooLarge,
    /// There are newer files, and no room for this one.
    Older,
    /// The model refused a request with this file.
    Refused,
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

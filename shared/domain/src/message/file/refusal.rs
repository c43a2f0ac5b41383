//! Files that no model is shown, because one refused them.

use super::{FileState, MessageFile};
use crate::model_files::FileRefusal;

impl MessageFile {
    /// Returns the reason for which no model is shown the file.
    pub fn find_file_refusal(&self) -> Option<FileRefusal> {
        self.stored()?.refused
    }

    /// Records that no model is to be shown the file. Returns `false` if that is known, or the bytes are not here.
    pub fn record_refusal(&mut self, why: FileRefusal) -> bool {
        match &mut self.state {
            FileState::Stored(stored) if stored.refused.is_none() => {
                stored.refused = Some(why);
                true
            }
            FileState::Stored(_) | FileState::Waiting { .. } | FileState::Lost { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORED: &str = r#"{"state":"stored","mime_type":"image/png","bytes":9,"sha256":"ab"}"#;

    #[test]
    fn a_refusal_is_recorded_once_and_a_record_from_before_has_none() {
        let mut file: MessageFile = serde_json::from_str(STORED).unwrap();
        assert_eq!(file.find_file_refusal(), None);
        assert_eq!(serde_json::to_string(&file).unwrap(), STORED);
        assert!(file.record_refusal(FileRefusal::Encrypted));
        assert!(!file.record_refusal(FileRefusal::ByModel));
        let again: MessageFile = serde_json::from_str(&serde_json::to_string(&file).unwrap()).unwrap();
        assert_eq!(again.find_file_refusal(), Some(FileRefusal::Encrypted));
        let newer = STORED.replace("\"ab\"", "\"ab\",\"refused\":\"unheard_of\"");
        let newer: MessageFile = serde_json::from_str(&newer).unwrap();
        assert_eq!(newer.find_file_refusal(), Some(FileRefusal::Unknown));
    }

    #[test]
    fn a_file_that_is_not_here_has_no_refusal() {
        let mut file: MessageFile = serde_json::from_str(r#"{"state":"lost","reason":"gone"}"#).unwrap();
        assert!(!file.record_refusal(FileRefusal::ByModel));
        assert_eq!(file.find_file_refusal(), None);
    }
}

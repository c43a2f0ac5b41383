//! Encrypts PDF documents.

use pdf_extract::{Document, EncryptionState, EncryptionVersion, Permissions};

/// Encrypts a document so that it opens with this password.
pub(crate) fn encrypt_pdf(file: &[u8], password: &str) -> Vec<u8> {
    let mut document = Document::load_mem(file).unwrap();
    let version = EncryptionVersion::V2 {
        document: &document,
        owner_password: "owner",
        user_password: password,
        key_length: 128,
        permissions: Permissions::all(),
    };
    let state = EncryptionState::try_from(version).unwrap();
    document.encrypt(&state).unwrap();
    let mut encrypted = Vec::new();
    document.save_to(&mut encrypted).unwrap();
    encrypted
}

//! The bytes of files.

use crate::builders::fresh;
use futures::stream;
use recado_ports::ports::{FileBytes, FileError, Files};

async fn stored<Q: Files>(queues: &Q, key: &str) -> Option<Vec<u8>> {
    match queues.open_file(key).await.unwrap() {
        Some(bytes) => Some(bytes.read_all().await.unwrap()),
        None => None,
    }
}

async fn put<Q: Files>(queues: &Q, key: &str, bytes: &[u8]) {
    let bytes = FileBytes::from_bytes(bytes.to_vec());
    queues.put_file(key, "image/png", bytes).await.unwrap();
}

pub async fn an_unknown_file_is_none<Q: Files>(queues: &Q) {
    assert_eq!(stored(queues, &fresh("none")).await, None);
}

pub async fn the_pieces_of_a_file_come_back_in_their_order<Q: Files>(queues: &Q) {
    let key = format!("clinic/{}", fresh("file"));
    let pieces: Vec<Vec<u8>> = (0..=200u8).map(|byte| vec![byte; 40_000]).collect();
    let expected = pieces.concat();
    let bytes = FileBytes::from_stream(stream::iter(pieces.into_iter().map(Ok)));
    queues.put_file(&key, "application/pdf", bytes).await.unwrap();
    assert!(stored(queues, &key).await.unwrap() == expected);
}

pub async fn a_file_put_again_is_replaced<Q: Files>(queues: &Q) {
    let key = fresh("file");
    for bytes in [&b"long enough"[..], b"short"] {
        put(queues, &key, bytes).await;
        assert_eq!(stored(queues, &key).await.as_deref(), Some(bytes));
    }
}

pub async fn a_file_that_breaks_off_is_not_stored_and_leaves_the_one_before<Q: Files>(queues: &Q) {
    let broken = || {
        let pieces = [
            Ok(b"half".to_vec()),
            Err(FileError::Unavailable { why: "it broke off" }),
        ];
        FileBytes::from_stream(stream::iter(pieces))
    };
    let key = fresh("file");
    let refused = queues.put_file(&key, "image/png", broken()).await;
    assert!(
        matches!(refused, Err(FileError::Unavailable { .. })),
        "{refused:?}"
    );
    assert_eq!(stored(queues, &key).await, None);
    put(queues, &key, b"whole").await;
    let refused = queues.put_file(&key, "image/png", broken()).await;
    assert!(refused.is_err());
    assert_eq!(stored(queues, &key).await.as_deref(), Some(&b"whole"[..]));
}

pub async fn a_deleted_file_is_gone_and_may_be_deleted_again<Q: Files>(queues: &Q) {
    let (key, other) = (fresh("file"), fresh("file"));
    put(queues, &key, b"a").await;
    put(queues, &other, b"b").await;
    for _ in 0..2 {
        queues.delete_file(&key).await.unwrap();
        assert_eq!(stored(queues, &key).await, None);
    }
    assert_eq!(stored(queues, &other).await.as_deref(), Some(&b"b"[..]));
}

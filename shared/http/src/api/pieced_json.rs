//! Answers in JSON that are long where there are many instances.

use axum::body::{Body, Bytes};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::stream;
use serde::Serialize;
use std::convert::Infallible;
use std::io::{self, Write};

/// Length of a piece, in bytes.
const PIECE: usize = 64 * 1024;

/// An answer in JSON whose text lies in pieces. The allocator would keep twice the length of one long text after it was freed.
#[derive(Debug)]
pub struct PiecedJson<T>(pub T);

impl<T: Serialize> IntoResponse for PiecedJson<T> {
    fn into_response(self) -> Response {
        let mut pieces = Pieces::default();
        if let Err(error) = serde_json::to_writer(&mut pieces, &self.0) {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "an answer cannot be written as JSON"
            );
            return StatusCode::INTERNAL_SERVER_ERROR.into_response();
        }
        let pieces = pieces.finish();
        let length = pieces.iter().map(Bytes::len).sum::<usize>();
        let headers = [
            (header::CONTENT_TYPE, "application/json".to_owned()),
            (header::CONTENT_LENGTH, length.to_string()),
        ];
        let body = Body::from_stream(stream::iter(pieces.into_iter().map(Ok::<_, Infallible>)));
        (headers, body).into_response()
    }
}

/// A writer into pieces of [`PIECE`] bytes.
#[derive(Default)]
struct Pieces {
    full: Vec<Bytes>,
    last: Vec<u8>,
}

impl Pieces {
    fn finish(mut self) -> Vec<Bytes> {
        self.full.push(self.last.into());
        self.full
    }
}

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.last.len() == PIECE {
            let full = std::mem::replace(&mut self.last, Vec::with_capacity(PIECE));
            self.full.push(full.into());
        }
        let room = bytes.len().min(PIECE - self.last.len());
        self.last.extend_from_slice(&bytes[..room]);
        Ok(room)
    }

    // Most of what serde_json writes is a few bytes long and finds room.
    fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while self.last.len() + bytes.len() > PIECE {
            let written = self.write(bytes)?;
            bytes = &bytes[written..];
        }
        self.last.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::to_bytes;

    #[tokio::test]
    async fn a_long_answer_is_whole_and_lies_in_pieces() {
        for entries in [0, 3, 20_000_u32] {
            let told: Vec<String> = (0..entries).map(|entry| format!("entry {entry}")).collect();
            let mut pieces = Pieces::default();
            serde_json::to_writer(&mut pieces, &told).unwrap();
            assert!(pieces.finish().iter().all(|piece| piece.len() <= PIECE));
            let answer = PiecedJson(&told).into_response();
            assert_eq!(answer.headers()[header::CONTENT_TYPE], "application/json");
            let length = answer.headers()[header::CONTENT_LENGTH]
                .to_str()
                .unwrap()
                .to_owned();
            let body = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
            assert_eq!(body.len().to_string(), length);
            assert_eq!(serde_json::from_slice::<Vec<String>>(&body).unwrap(), told);
        }
    }
}

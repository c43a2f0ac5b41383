//! Reads an answer that is a stream of events, of which each carries a message.

use super::failure::McpFailure;
use crate::ANSWER_MAX;
use reqwest::Response;
use std::collections::VecDeque;
use std::time::Duration;

/// A reader of the events of an answer.
#[derive(Debug)]
pub(super) struct McpEventReader {
    answer: Response,
    events: EventSplitter,
    broke_off: bool,
}

impl McpEventReader {
    pub(super) fn new(answer: Response) -> Self {
        Self {
            answer,
            events: EventSplitter::default(),
            broke_off: false,
        }
    }

    /// Returns the id of the last event that has one.
    pub(super) fn last_id(&self) -> Option<&str> {
        self.events.last_id.as_deref()
    }

    /// Returns the time after which the server wants to be asked for the rest.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        self.events.retry_after
    }

    /// Returns the failure of a stream that ended before its answer.
    pub(super) fn into_failure(self) -> McpFailure {
        if self.broke_off {
            McpFailure::broken_answer()
        } else {
            McpFailure::Failed("the connection was closed".to_owned())
        }
    }

    /// Returns the data of the next event; `None` at the end, or where the stream broke off. Events without data are left out.
    pub(super) async fn next_event(&mut self) -> Result<Option<Vec<u8>>, McpFailure> {
        loop {
            if let Some(event) = self.events.whole.pop_front() {
                return Ok(Some(event));
            }
            match self.answer.chunk().await {
                Ok(Some(piece)) => self.events.add_piece(&piece)?,
                ended => {
                    self.broke_off = ended.is_err();
                    return Ok(None);
                }
            }
        }
    }
}

/// Splits the bytes of a stream into events.
#[derive(Debug, Default)]
struct EventSplitter {
    /// The line that has no end yet.
    line: Vec<u8>,
    /// The data of the event that has no end yet.
    data: Vec<u8>,
    whole: VecDeque<Vec<u8>>,
    last_id: Option<String>,
    retry_after: Option<Duration>,
}

impl EventSplitter {
    /// Adds bytes as they came. An event that is larger than an answer may be is an error.
    fn add_piece(&mut self, piece: &[u8]) -> Result<(), McpFailure> {
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if (self.line.len() + self.data.len()) as u64 > ANSWER_MAX {
                return Err(McpFailure::broken_answer());
            }
            if part.ends_with(b"\n") {
                self.end_line();
            }
        }
        Ok(())
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let line = line.strip_suffix(b"\n").unwrap_or(&line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            if !self.data.is_empty() {
                self.whole.push_back(std::mem::take(&mut self.data));
            }
        } else if let Some(data) = line.strip_prefix(b"data:") {
            if !self.data.is_empty() {
                self.data.push(b'\n');
            }
            self.data
                .extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
        } else if let Some((field, value)) = split_field(line) {
            match field {
                "id" => self.last_id = Some(value.to_owned()).filter(|id| !id.is_empty()),
                "retry" => self.retry_after = value.parse().ok().map(Duration::from_millis),
                _ => {}
            }
        }
    }
}

fn split_field(line: &[u8]) -> Option<(&str, &str)> {
    let (field, value) = std::str::from_utf8(line).ok()?.split_once(':')?;
    Some((field, value.strip_prefix(' ').unwrap_or(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_found_wherever_the_bytes_are_cut() {
        let text =
            b": hello\r\nid: 1\ndata:\n\nevent: message\r\ndata: {\"a\":\r\ndata:1}\r\n\r\ndata: 2\n\nlost";
        for size in 1..text.len() {
            let mut events = EventSplitter::default();
            for piece in text.chunks(size) {
                events.add_piece(piece).unwrap();
            }
            let whole: Vec<Vec<u8>> = events.whole.into();
            assert_eq!(whole, [b"{\"a\":\n1}".to_vec(), b"2".to_vec()], "{size}");
            assert_eq!(events.last_id.as_deref(), Some("1"), "{size}");
        }
    }

    #[test]
    fn an_event_without_end_is_refused() {
        let mut events = EventSplitter::default();
        let piece = vec![b'x'; usize::try_from(ANSWER_MAX).unwrap()];
        events.add_piece(&piece).unwrap();
        assert_eq!(events.add_piece(b"x"), Err(McpFailure::broken_answer()));
    }
}

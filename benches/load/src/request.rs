//! Requests made of a template, and the connection that they go over.

use anyhow::{Context, Result, bail, ensure};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

const NUMBER: &[u8] = b"@@NUMBER@@@@@@@@";
const CONTACT: &[u8] = b"@CONTACT";
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// A whole HTTP request, with the places that differ.
pub(crate) struct RequestTemplate {
    bytes: Vec<u8>,
    numbers: Vec<usize>,
    contacts: Vec<usize>,
}

impl RequestTemplate {
    pub(crate) fn parse(bytes: Vec<u8>) -> Result<Self> {
        let (numbers, contacts) = (find_all(&bytes, NUMBER), find_all(&bytes, CONTACT));
        ensure!(!numbers.is_empty(), "the template has no number");
        Ok(Self {
            bytes,
            numbers,
            contacts,
        })
    }

    fn fill(&self, request: &mut Vec<u8>, number: u64, contact: u64) {
        request.clear();
        request.extend_from_slice(&self.bytes);
        let (number, contact) = (format!("{number:016X}"), format!("{contact:08}"));
        for (places, text) in [(&self.numbers, number), (&self.contacts, contact)] {
            for place in places {
                for (byte, digit) in request.iter_mut().skip(*place).zip(text.bytes()) {
                    *byte = digit;
                }
            }
        }
    }
}

fn find_all(bytes: &[u8], mark: &[u8]) -> Vec<usize> {
    bytes
        .windows(mark.len())
        .enumerate()
        .filter_map(|(place, window)| (window == mark).then_some(place))
        .collect()
}

/// A connection that is kept.
pub(crate) struct Connection {
    stream: TcpStream,
    request: Vec<u8>,
    answer: Vec<u8>,
}

impl Connection {
    pub(crate) fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).context("no connection")?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        Ok(Self {
            stream,
            request: Vec::new(),
            answer: Vec::new(),
        })
    }

    /// Posts a request and waits for its answer. Returns the status.
    pub(crate) fn post(&mut self, template: &RequestTemplate, number: u64, contact: u64) -> Result<u16> {
        template.fill(&mut self.request, number, contact);
        self.stream.write_all(&self.request)?;
        self.answer.clear();
        let mut part = [0; 4096];
        loop {
            let read = self.stream.read(&mut part).context("no answer came")?;
            if read == 0 {
                bail!("the server closed the connection");
            }
            self.answer
                .extend_from_slice(part.get(..read).unwrap_or_default());
            if let Some(status) = read_whole_answer(&self.answer)? {
                return Ok(status);
            }
        }
    }
}

/// Returns the status of an answer that is there to its end; `None`: more of it is to come.
fn read_whole_answer(answer: &[u8]) -> Result<Option<u16>> {
    let Some(end) = find_all(answer, b"\r\n\r\n").first().copied() else {
        return Ok(None);
    };
    let head = String::from_utf8_lossy(answer.get(..end).unwrap_or_default()).to_ascii_lowercase();
    let status = head.get(9..12).and_then(|status| status.parse().ok());
    let status = status.context("an answer that is not HTTP")?;
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    let length: usize = length.unwrap_or(0);
    Ok((answer.len() >= end + 4 + length).then_some(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_has_a_number_of_its_own_in_every_place() {
        let template =
            RequestTemplate::parse(b"a @@NUMBER@@@@@@@@ b @CONTACT c @@NUMBER@@@@@@@@".to_vec()).unwrap();
        let mut request = Vec::new();
        template.fill(&mut request, 255, 7);
        assert_eq!(request, b"a 00000000000000FF b 00000007 c 00000000000000FF");
        assert!(RequestTemplate::parse(b"nothing".to_vec()).is_err());
    }

    #[test]
    fn an_answer_is_whole_with_its_body() {
        let read = |answer: &str| read_whole_answer(answer.as_bytes()).unwrap();
        assert_eq!(read("HTTP/1.1 200 OK\r\n"), None);
        assert_eq!(read("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\no"), None);
        assert_eq!(read("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), Some(200));
        assert_eq!(read("HTTP/1.1 503 No\r\n\r\n"), Some(503));
        assert!(read_whole_answer(b"nonsense at the door\r\n\r\n").is_err());
    }
}

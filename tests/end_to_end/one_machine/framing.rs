//! Requests whose end two programs could see at different places: a second one could hide inside.

use super::machine::{Machine, PATIENCE};
use std::io::{Read, Write};
use std::net::TcpStream;

/// All that comes back for `request`, until the server closes.
fn said(machine: &Machine, request: &str) -> String {
    let address = machine.url("").replace("http://", "");
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    // It may be refused before all of it is written.
    let _ = stream.write_all(request.as_bytes());
    let mut all = Vec::new();
    let _ = stream.read_to_end(&mut all);
    String::from_utf8_lossy(&all).into_owned()
}

#[test]
fn a_request_of_ambiguous_length_is_refused_and_hides_no_other() {
    let mut machine = Machine::prepared(&[]);
    machine.start("serve");
    let hidden = "GET /health HTTP/1.1\r\nHost: x\r\n\r\n";
    for lengths in [
        "Content-Length: 0\r\nContent-Length: 5\r\n",
        "Content-Length: 0, 5\r\n",
        "Content-Length: +0\r\n",
        "Content-Length: 0x0\r\n",
        "Content-Length: -1\r\n",
        "Content-Length: 18446744073709551616\r\n",
        "Transfer-Encoding: identity\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding : chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        " Content-Length: 0\r\n",
    ] {
        let request = format!("POST /webhooks/evolution HTTP/1.1\r\nHost: x\r\n{lengths}\r\n{hidden}");
        let said = said(&machine, &request);
        assert!(said.starts_with("HTTP/1.1 400"), "{lengths:?}: {said}");
        assert_eq!(said.matches("HTTP/1.1").count(), 1, "{lengths:?}: {said}");
    }
    for large in [
        format!(
            "GET /health HTTP/1.1\r\nHost: x\r\nX: {}\r\n\r\n",
            "x".repeat(1_000_000)
        ),
        format!(
            "GET /health HTTP/1.1\r\nHost: x\r\n{}\r\n",
            "X: y\r\n".repeat(500)
        ),
        format!("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", "x".repeat(70_000)),
    ] {
        let said = said(&machine, &large);
        let refused = said.starts_with("HTTP/1.1 4") || said.is_empty();
        assert!(refused, "{}", &said[..said.len().min(200)]);
    }
    assert!(
        said(
            &machine,
            "GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        )
        .starts_with("HTTP/1.1 200")
    );
}

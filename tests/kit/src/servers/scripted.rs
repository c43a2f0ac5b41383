//! A server that answers what a test wants, over real HTTP, whatever it is asked.

use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// What a stand-in does with a request.
#[derive(Debug, Clone)]
pub enum Does {
    /// Answers with this status and body.
    Answers(u16, &'static str),
    /// Answers with this status, these headers and this body.
    AnswersWith(u16, Vec<(&'static str, &'static str)>, String),
    /// Answers 200 with this body, in which `{own}` is replaced by the stand-in's own address.
    NamesItself(&'static str),
    /// Answers 401 with a problem, as Recado answers a webhook without proof.
    RefusesProof,
    /// Answers 307 to this address.
    Redirects(String),
    /// Reads the request and never answers.
    Hangs,
    /// Reads the request, says so here, and never answers.
    HangsAndTells(Arc<Notify>),
    /// Reads the request and breaks the connection.
    Breaks,
    /// Begins an answer and breaks the connection.
    BreaksHalfway,
}

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Request {
    /// Method and path.
    pub line: String,
    /// Headers, in lower case.
    pub headers: Vec<String>,
    /// The body.
    pub text: String,
    /// The body as it came.
    pub bytes: Vec<u8>,
    /// The body as JSON.
    pub body: serde_json::Value,
}

/// See the module.
#[derive(Debug, Clone)]
pub struct StandIn {
    /// Where it listens.
    pub url: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl StandIn {
    /// Starts one that does `script` in turn; the last again and again.
    pub async fn start(script: Vec<Does>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = requests.clone();
        tokio::spawn(async move {
            let mut number = 0;
            while let Ok((stream, _)) = listener.accept().await {
                let does = script[number.min(script.len() - 1)].clone();
                number += 1;
                tokio::spawn(serve(stream, does, seen.clone()));
            }
        });
        Self { url, requests }
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

async fn serve(mut stream: TcpStream, does: Does, seen: Arc<Mutex<Vec<Request>>>) {
    let request = read(&mut stream).await;
    let host = request
        .headers
        .iter()
        .find_map(|header| header.strip_prefix("host: "));
    let own = format!("http://{}", host.unwrap_or_default());
    seen.lock().unwrap().push(request);
    let answer = match does {
        Does::Answers(status, body) => {
            format!(
                "HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            )
        }
        Does::NamesItself(body) => {
            let body = body.replace("{own}", &own);
            format!(
                "HTTP/1.1 200 X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            )
        }
        Does::RefusesProof => {
            "HTTP/1.1 401 X\r\ncontent-type: application/problem+json\r\ncontent-length: 2\r\n\
             connection: close\r\n\r\n{}"
                .to_owned()
        }
        Does::Redirects(to) => {
            format!("HTTP/1.1 307 X\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        }
        Does::AnswersWith(status, headers, body) => {
            let headers = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
            let headers = headers.collect::<Vec<_>>().concat();
            format!(
                "HTTP/1.1 {status} X\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            )
        }
        Does::Hangs => return std::future::pending().await,
        Does::HangsAndTells(hangs) => {
            hangs.notify_one();
            return std::future::pending().await;
        }
        Does::Breaks => return,
        Does::BreaksHalfway => "HTTP/1.1 201 X\r\ncontent-length: 500\r\n\r\n{\"key\":".to_owned(),
    };
    stream.write_all(answer.as_bytes()).await.unwrap();
    stream.shutdown().await.ok();
}

async fn read(stream: &mut TcpStream) -> Request {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let (head, body) = (String::from_utf8_lossy(&bytes[..end]), &bytes[end + 4..]);
            let mut lines = head.split("\r\n").map(str::to_owned);
            let line = lines.next().unwrap_or_default();
            let headers: Vec<String> = lines.map(|line| line.to_lowercase()).collect();
            let length = headers
                .iter()
                .find_map(|header| header.strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0usize) {
                return Request {
                    text: String::from_utf8_lossy(body).into_owned(),
                    line: line.trim_end_matches(" HTTP/1.1").to_owned(),
                    headers,
                    bytes: body.to_vec(),
                    body: serde_json::from_slice(body).unwrap_or_default(),
                };
            }
        }
        let mut chunk = [0; 4096];
        let read = stream.read(&mut chunk).await.unwrap();
        assert!(read > 0, "the request ended early");
        bytes.extend_from_slice(&chunk[..read]);
    }
}

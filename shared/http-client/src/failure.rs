use crate::resolver::AddressRefusal;
use reqwest::Url;
use std::error::Error;
use std::io;

/// The reason why a request got no answer, in words for people. It holds nothing of the URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RequestFailure {
    /// The time limit was reached.
    #[error("no answer came in time")]
    TimedOut,
    /// The name of the host has no address.
    #[error("there is no host of this name (DNS)")]
    UnknownHost,
    /// The name leads only to addresses to which nothing is sent.
    #[error("the name leads to a link-local address, to which nothing is sent")]
    ForbiddenAddress,
    /// The name leads only to this machine or into a private network, and the client asks public hosts alone.
    #[error("the name leads to this machine or into a private network, which is not asked")]
    PrivateAddress,
    /// The host refused the connection.
    #[error("the connection was refused: nothing listens there")]
    Refused,
    /// The URL is https, and the server speaks no TLS.
    #[error("no TLS is spoken on this port: is it http:// there?")]
    NoTls,
    /// The URL is https, and the server's certificate is not valid for it.
    #[error("its TLS certificate is not accepted")]
    Certificate,
    /// The answer is not HTTP. A TLS server answers so if the URL is http.
    #[error("no HTTP is spoken on this port: is it https:// there?")]
    NoHttp,
    /// The connection could not be made for another reason.
    #[error("no connection")]
    NoConnection,
    /// The connection broke before the answer was complete.
    #[error("the connection broke")]
    Broken,
}

impl RequestFailure {
    /// Tells from a request's error why no answer came.
    pub fn from_error(error: &reqwest::Error) -> Self {
        if let Some(told) = Self::from_causes(error) {
            told
        } else if error.is_timeout() {
            Self::TimedOut
        } else if error.is_connect() {
            Self::NoConnection
        } else {
            Self::Broken
        }
    }

    /// Tells from the causes of any error why there was no connection; `None` if they do not say.
    pub fn from_causes(error: &(dyn Error + 'static)) -> Option<Self> {
        let mut told = None;
        let mut cause = Some(error);
        while let Some(error) = cause {
            // A later cause says more than the one that it led to.
            told = classify_cause(error).or(told);
            cause = error.source();
        }
        told
    }
}

/// Returns what one cause of an error tells alone; `None` if that is nothing.
fn classify_cause(cause: &(dyn Error + 'static)) -> Option<RequestFailure> {
    if let Some(refusal) = cause.downcast_ref::<AddressRefusal>() {
        return Some(match refusal {
            AddressRefusal::Forbidden => RequestFailure::ForbiddenAddress,
            AddressRefusal::Private => RequestFailure::PrivateAddress,
        });
    }
    if let Some(error) = cause.downcast_ref::<io::Error>() {
        if error.kind() == io::ErrorKind::ConnectionRefused {
            return Some(RequestFailure::Refused);
        }
        // `source` of such an error skips the error that it wraps.
        let inner: &(dyn Error + 'static) = error.get_ref()?;
        return classify_cause(inner);
    }
    match cause.downcast_ref::<rustls::Error>() {
        Some(rustls::Error::InvalidMessage(_)) => return Some(RequestFailure::NoTls),
        Some(rustls::Error::InvalidCertificate(_)) => return Some(RequestFailure::Certificate),
        _ => {}
    }
    // The HTTP library does not export the types of these errors; their texts are stable.
    let text = cause.to_string();
    if text.contains("invalid HTTP version") {
        return Some(RequestFailure::NoHttp);
    }
    (text == "dns error").then_some(RequestFailure::UnknownHost)
}

/// Returns scheme, name and port of an HTTP URL, to be shown and compared; `None` for any other URL.
pub fn url_origin(url: &str) -> Option<String> {
    let url = Url::parse(url.trim()).ok()?;
    let web = matches!(url.scheme(), "http" | "https");
    web.then(|| url.origin().ascii_serialization())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build_http_client;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    /// Starts a server that answers everything with these bytes; returns its address.
    async fn start_server(answer: &'static [u8]) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let _ = stream.read(&mut [0; 4096]).await;
                let _ = stream.write_all(answer).await;
            }
        });
        address
    }

    async fn failure_of(url: &str) -> RequestFailure {
        let error = build_http_client().unwrap().get(url).send().await.unwrap_err();
        RequestFailure::from_error(&error)
    }

    #[tokio::test]
    async fn each_way_to_get_no_answer_has_its_own_words() {
        let plain = start_server(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await;
        assert_eq!(
            failure_of(&format!("https://{plain}")).await,
            RequestFailure::NoTls
        );
        // A TLS alert, as a TLS server answers a request without TLS.
        let tls = start_server(&[21, 3, 1, 0, 2, 2, 70]).await;
        assert_eq!(failure_of(&format!("http://{tls}")).await, RequestFailure::NoHttp);
        let cut = start_server(b"").await;
        assert_eq!(failure_of(&format!("http://{cut}")).await, RequestFailure::Broken);
        let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        assert_eq!(
            failure_of(&format!("http://{address}")).await,
            RequestFailure::Refused
        );
        // No resolver is asked for a label of more than 63 characters.
        let long = format!("http://{}.example", "a".repeat(70));
        assert_eq!(failure_of(&long).await, RequestFailure::UnknownHost);
    }

    #[test]
    fn an_origin_has_no_path_and_no_secret() {
        let origin = url_origin("https://evolution.example:8080/k/secret?x=1");
        assert_eq!(origin.as_deref(), Some("https://evolution.example:8080"));
        assert_eq!(url_origin("evolution.example"), None);
    }
}

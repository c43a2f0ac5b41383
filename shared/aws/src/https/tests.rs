use super::*;
use std::future::pending;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// The certificate of an authority that no list knows.
const OWN_AUTHORITY: &str = "-----BEGIN CERTIFICATE-----
MIIBnzCCAUWgAwIBAgIUMgtAia13LjN18fJ+UDO4mSdfIwIwCgYIKoZIzj0EAwIw
JDEiMCAGA1UEAwwZQW4gYXV0aG9yaXR5IG9mIGEgY29tcGFueTAgFw0yNjEyMDEx
MjQ3NTZaGA8yMTI2MTEwNzEyNDc1NlowJDEiMCAGA1UEAwwZQW4gYXV0aG9yaXR5
IG9mIGEgY29tcGFueTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABG/pfYEnZLQL
t7JnvIl7k/dIHNDRw9dJs6KhLkCqySfcCQS0EUJMXz4l8CiPzB7sMZ5XyWOos8g4
WhdL/18/zd6jUzBRMB0GA1UdDgQWBBSEDhyAXb4CPctu2GKjEEA7kEhH7DAfBgNV
HSMEGDAWgBSEDhyAXb4CPctu2GKjEEA7kEhH7DAPBgNVHRMBAf8EBTADAQH/MAoG
CCqGSM49BAMCA0gAMEUCIDnTSpNh8aS5dAhCnzndF6qL1OoYVQd9vRgmijXXWKJl
AiEAoVoRP7+ow9YDMV2AHVgaZyzOKaXxE1MtkeSnCAmhe+A=
-----END CERTIFICATE-----
";

/// Starts a server that gives each request this answer, or none. Returns its address.
async fn start_server(answer: Option<&'static str>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let read = stream.read(&mut [0; 4096]).await;
            assert!(read.unwrap() > 0);
            match answer {
                Some(answer) => stream.write_all(answer.as_bytes()).await.unwrap(),
                None => pending().await,
            }
        }
    });
    format!("http://{address}/")
}

async fn ask(url: &str, answer_limit: Duration) -> Result<HttpResponse, ConnectorError> {
    let connector = AwsHttpConnector {
        http: AwsHttpClient::new().unwrap(),
        answer_limit,
    };
    connector.call(HttpRequest::get(url).unwrap()).await
}

#[tokio::test]
async fn an_answer_comes_with_its_status_headers_and_body() {
    let url = start_server(Some(
        "HTTP/1.1 404 Not Found\r\nx-amzn-requestid: 7\r\ncontent-length: 2\r\n\r\nno",
    ))
    .await;
    let answer = ask(&url, Duration::MAX).await.unwrap();
    assert_eq!(answer.status().as_u16(), 404);
    assert_eq!(answer.headers().get("x-amzn-requestid"), Some("7"));
    let body = aws_sdk_s3::primitives::ByteStream::new(answer.into_body());
    assert_eq!(body.collect().await.unwrap().to_vec(), b"no");
}

#[tokio::test]
async fn no_answer_is_told_apart_from_no_connection() {
    let silent = start_server(None).await;
    let late = ask(&silent, Duration::from_millis(1)).await.unwrap_err();
    assert!(late.is_timeout(), "{late:?}");
    let broken = start_server(Some("")).await;
    let cut = ask(&broken, Duration::MAX).await.unwrap_err();
    assert!(cut.is_io(), "{cut:?}");
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let closed = format!("http://{}/", free.local_addr().unwrap());
    drop(free);
    let refused = ask(&closed, Duration::MAX).await.unwrap_err();
    assert!(refused.is_io(), "{refused:?}");
}

#[test]
fn a_company_can_name_its_own_authority() {
    let file = std::env::temp_dir().join(format!("recado-authority-{}.pem", std::process::id()));
    std::fs::write(&file, OWN_AUTHORITY).unwrap();
    let read = read_certificates(file.as_os_str());
    std::fs::remove_file(&file).unwrap();
    assert_eq!(read.len(), 1);
    build_tls_config(read).unwrap();
    assert_eq!(read_certificates(file.as_os_str()).len(), 0, "the file is gone");
}

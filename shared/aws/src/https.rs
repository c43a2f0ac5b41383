//! The HTTP client of the SDK's clients, with one pool of connections.
//!
//! It trusts Mozilla's root certificates, which are compiled in, and those of the file that `SSL_CERT_FILE` names. The SDK's own client
//! reads the certificates of the system, and parses all of them again for each service: 84 of 100 instructions of a cold webhook function
//! until its first answer (counted in a debug build, 2026-12-01).

use aws_sdk_s3::primitives::SdkBody;
use aws_smithy_runtime_api::client::connection::{CaptureSmithyConnection, ConnectionMetadata};
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{
    CaptureConnection, HttpConnector as TcpConnector, capture_connection,
};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use recado_http_client::{ClientError, build_tls_config};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::ffi::OsStr;
use std::time::Duration;
use tokio::time::timeout;

/// Longest time for connecting, which the addresses of a name share: S3 names eight.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// The HTTP client of all services. Clones share their connections.
#[derive(Debug, Clone)]
pub(crate) struct AwsHttpClient {
    client: Client<HttpsConnector<TcpConnector>, SdkBody>,
}

impl AwsHttpClient {
    /// Builds the client. It speaks HTTP without TLS to an emulator, and uses no proxy.
    pub(crate) fn new() -> Result<Self, ClientError> {
        let file = std::env::var_os("SSL_CERT_FILE").filter(|file| !file.is_empty());
        let trusted = file.map(|file| read_certificates(&file)).unwrap_or_default();
        let mut tcp = TcpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(build_tls_config(trusted)?)
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .build(connector);
        Ok(Self { client })
    }
}

/// Reads the certificates of a file in the format PEM.
fn read_certificates(file: &OsStr) -> Vec<CertificateDer<'static>> {
    let read = CertificateDer::pem_file_iter(file);
    let read = read.map(|found| found.filter_map(Result::ok).collect::<Vec<_>>());
    let certificates = read.unwrap_or_default();
    if certificates.is_empty() {
        tracing::warn!("SSL_CERT_FILE names no file with certificates");
    }
    certificates
}

impl HttpClient for AwsHttpClient {
    fn http_connector(&self, settings: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(AwsHttpConnector {
            http: self.clone(),
            answer_limit: settings.read_timeout().unwrap_or(Duration::MAX),
        })
    }
}

/// The client with a time limit for the beginning of an answer.
#[derive(Debug)]
struct AwsHttpConnector {
    http: AwsHttpClient,
    answer_limit: Duration,
}

impl HttpConnector for AwsHttpConnector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let mut request = match request.try_into_http1x() {
            Ok(request) => request,
            Err(error) => return HttpConnectorFuture::ready(Err(ConnectorError::user(error.into()))),
        };
        let connection = capture_connection(&mut request);
        if let Some(captured) = request.extensions().get::<CaptureSmithyConnection>() {
            captured.set_connection_retriever(move || describe_connection(&connection));
        }
        let answer = timeout(self.answer_limit, self.http.client.request(request));
        HttpConnectorFuture::new(async move {
            let answer = answer
                .await
                .map_err(|late| ConnectorError::timeout(late.into()))?
                // The SDK repeats what failed on the way.
                .map_err(|error| ConnectorError::io(error.into()))?;
            HttpResponse::try_from(answer.map(SdkBody::from_body_1_x))
                .map_err(|error| ConnectorError::other(error.into(), None))
        })
    }
}

/// Describes the connection of a request to the SDK, which closes it after an answer that shows a fault.
fn describe_connection(captured: &CaptureConnection) -> Option<ConnectionMetadata> {
    captured.connection_metadata().as_ref()?;
    let captured = captured.clone();
    let close = move || {
        if let Some(connection) = captured.connection_metadata().as_ref() {
            connection.poison();
        }
    };
    Some(
        ConnectionMetadata::builder()
            .proxied(false)
            .poison_fn(close)
            .build(),
    )
}

#[cfg(test)]
mod tests;

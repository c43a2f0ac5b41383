use crate::ses::{AccessKey, SignedRequest, sign_request};
use aws_credential_types::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use jiff::Timestamp;
use recado_domain::secret::Secret;
use std::time::SystemTime;

/// Signs with AWS's own crate. Returns the header `authorization`.
fn sign_by_aws(token: Option<&str>, now: SystemTime, method: &str, path: &str, body: &str) -> String {
    let token = token.map(str::to_owned);
    let identity = Credentials::new("AKIAEXAMPLE", "wJalr/K7MDENG+bPxRfiCY", token, None, "test").into();
    let params = v4::SigningParams::builder()
        .identity(&identity)
        .region("sa-east-1")
        .name("ses")
        .time(now)
        .settings(SigningSettings::default())
        .build()
        .unwrap();
    let url = format!("https://email.sa-east-1.amazonaws.com{path}");
    let headers = [("content-type", "application/json")];
    let body = SignableBody::Bytes(body.as_bytes());
    let request = SignableRequest::new(method, url, headers.into_iter(), body).unwrap();
    let (instructions, _) = sign(request, &params.into()).unwrap().into_parts();
    let found = instructions.headers().find(|(name, _)| *name == "authorization");
    found.unwrap().1.to_owned()
}

#[test]
fn each_signature_is_that_of_awss_own_crate() {
    let cases = [
        (
            "POST",
            "/v2/email/outbound-emails",
            "{\"Subject\":\"Olá ✉\"}",
            1_700_000_000,
        ),
        ("GET", "/v2/email/account", "", 1_767_225_599),
    ];
    for (method, path, body, second) in cases {
        for token in [None, Some("IQoJb3JpZ2luX2VjEXAMPLE//token==")] {
            let mut credential = "AKIAEXAMPLE:wJalr/K7MDENG+bPxRfiCY".to_owned();
            if let Some(token) = token {
                credential = format!("{credential}:{token}");
            }
            let secret = Secret::new(&credential).unwrap();
            let key = AccessKey::parse(&secret).unwrap();
            let now = Timestamp::from_second(second).unwrap();
            let host = "email.sa-east-1.amazonaws.com";
            let request = SignedRequest {
                method,
                host,
                path,
                body: body.as_bytes(),
            };
            let signed = sign_request(&key, "sa-east-1", now, &request);
            let own = signed.iter().find(|(name, _)| *name == "authorization").unwrap();
            assert_eq!(
                own.1,
                sign_by_aws(token, now.into(), method, path, body),
                "{method} {token:?}"
            );
        }
    }
}

#[test]
fn what_is_no_key_is_refused() {
    for text in [
        "AKIA",
        "AKIA:",
        ":secret",
        "AKIA id:secret",
        "AKIA:sec ret",
        "AKIA:secret:",
    ] {
        let secret = Secret::new(text).unwrap();
        assert!(AccessKey::parse(&secret).is_none(), "{text}");
    }
}

use super::*;

#[test]
fn an_address_of_this_machine_needs_no_scheme_and_any_other_does() {
    for (given, completed) in [
        ("127.0.0.1:18085", "http://127.0.0.1:18085"),
        ("localhost:8080", "http://localhost:8080"),
        ("https://recado.example", "https://recado.example"),
        ("http://10.0.0.7:8080", "http://10.0.0.7:8080"),
    ] {
        assert_eq!(complete_url(given).unwrap(), completed);
    }
    for wrong in ["recado.example", "10.0.0.7:8080", "ftp://127.0.0.1", "", "/tmp/x"] {
        let error = complete_url(wrong).unwrap_err().to_string();
        assert!(error.contains("https://"), "{wrong}: {error}");
    }
    for wrong in [
        "http://127.0.0.1:8080/?",
        "https://recado.example/?a=b",
        "http://[::1]:8080/#top",
    ] {
        let error = complete_url(wrong).unwrap_err().to_string();
        assert!(error.contains("query"), "{wrong}: {error}");
    }
}

#[test]
fn a_written_path_stays_at_the_installation() {
    let token = Secret::new("t").unwrap();
    let there = InstallationClient::connect_to("http://127.0.0.1:8080/", token).unwrap();
    for (path, url) in [
        (
            "/v1/conversations?limit=1",
            "http://127.0.0.1:8080/v1/conversations?limit=1",
        ),
        ("v1/alerts", "http://127.0.0.1:8080/v1/alerts"),
        ("//recado.example/v1", "http://127.0.0.1:8080/recado.example/v1"),
        ("@recado.example/", "http://127.0.0.1:8080/@recado.example/"),
    ] {
        let request = there.build_written_request(Method::GET, path).unwrap();
        assert_eq!(request.build().unwrap().url().as_str(), url);
    }
}

#[test]
fn parts_add_up_to_a_whole() {
    let mut total = Map::new();
    assert!(add_part(
        &mut total,
        &json!({"redriven": 200, "failed": 1, "more": true})
    ));
    assert!(!add_part(
        &mut total,
        &json!({"redriven": 3, "failed": 0, "more": false})
    ));
    assert_eq!(
        Value::Object(total),
        json!({"redriven": 203, "failed": 1, "more": false})
    );
}

use super::*;
use recado_domain::message::ModelKind;
use recado_domain::reason::Reason;
use recado_ports::ports::CredentialState;

#[tokio::test]
async fn what_breaks_after_the_request_left_is_unknown_and_before_it_is_unreached() {
    for bound in [evolution_instance(), meta_number()] {
        for (does, timed_out) in [
            (Does::Hangs, true),
            (Does::Breaks, false),
            (Does::BreaksHalfway, false),
        ] {
            let (outcome, _stand_in) = sent_to(&bound, &message(PHONE), does.clone()).await;
            assert!(
                matches!(outcome, SendOutcome::Unknown { timed_out: t, .. } if t == timed_out),
                "{does:?} {outcome:?}"
            );
        }
        // Nothing listens there any more.
        let closed = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .unwrap()
            .local_addr()
            .unwrap();
        for base in [format!("http://{closed}"), "nonsense".to_owned()] {
            let outcome = whatsapp(&base, Some("key-1"), Simulation::Off)
                .send_message(&bound, &message(PHONE))
                .await;
            assert!(
                matches!(outcome, SendOutcome::Unreached { .. }),
                "{base} {outcome:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_the_key_stays_here() {
    let elsewhere = StandIn::start(vec![Does::Answers(201, r#"{"key":{"id":"X"}}"#)]).await;
    for bound in [evolution_instance(), meta_number()] {
        let (outcome, _) = sent_to(&bound, &message(PHONE), Does::Redirects(elsewhere.url.clone())).await;
        assert!(matches!(outcome, SendOutcome::Retryable { .. }), "{outcome:?}");
    }
    assert!(elsewhere.requests().is_empty());
}

#[tokio::test]
async fn an_answer_that_is_no_json_is_no_proof_of_anything() {
    for bound in [evolution_instance(), meta_number()] {
        let (outcome, _) = sent_to(&bound, &message(PHONE), Does::Answers(200, "<html>")).await;
        assert!(
            matches!(outcome, SendOutcome::Unknown { timed_out: false, .. }),
            "{outcome:?}"
        );
        let (outcome, _) = sent_to(&bound, &message(PHONE), Does::Answers(503, "<html>")).await;
        assert!(
            matches!(outcome, SendOutcome::Unknown { timed_out: false, .. }),
            "{outcome:?}"
        );
    }
}

#[tokio::test]
async fn meta_may_know_a_number_by_another_one_and_the_message_is_out_all_the_same() {
    for contacts in [
        r#"[{"input":"+5511900000001","wa_id":"551100000001"}]"#,
        r#"[{"input":"+5511900000001","user_id":"BR.1"}]"#,
        "[]",
        "null",
    ] {
        let answer = format!(
            r#"{{"messaging_product":"whatsapp","contacts":{contacts},"messages":[{{"id":"wamid.A"}}]}}"#
        );
        let does = Does::Answers(200, answer.leak());
        let (outcome, _) = sent_to(&meta_number(), &message(PHONE), does).await;
        assert_eq!(outcome, accepted("wamid.A"), "{contacts}");
    }
}

#[tokio::test]
async fn a_refused_credential_is_forgotten() {
    let cases = [
        (
            evolution_instance(),
            r#"{"status":401,"error":"Unauthorized","response":{"message":"Unauthorized"}}"#,
        ),
        (
            meta_number(),
            r#"{"error":{"code":190,"message":"Error validating access token"}}"#,
        ),
    ];
    for (bound, body) in cases {
        let stand_in = StandIn::start(vec![Does::Answers(401, body)]).await;
        let whatsapp = whatsapp(&stand_in.url, Some("key-1"), Simulation::Off);
        assert!(matches!(
            whatsapp.send_message(&bound, &message(PHONE)).await,
            SendOutcome::Credentials { .. }
        ));
        assert_eq!(*whatsapp.secrets.forgotten.lock().unwrap(), 1);
    }
}

#[tokio::test]
async fn without_a_credential_messages_wait_or_go_to_the_simulated_provider() {
    let outbox = SimulatedOutbox::default();
    for bound in [evolution_instance(), meta_number()] {
        let off = whatsapp("http://127.0.0.1:9", None, Simulation::Off);
        assert!(matches!(
            off.send_message(&bound, &message(PHONE)).await,
            SendOutcome::Credentials { .. }
        ));
        assert_eq!(
            off.query_connection(&bound).await,
            ConnectionAnswer::NeedsCredentials
        );
        let on = whatsapp(
            "http://127.0.0.1:9",
            None,
            Simulation::WithoutCredentials(outbox.clone()),
        );
        let outcome = on.send_message(&bound, &message(PHONE)).await;
        let id = Some("sim-000000000000abcd".to_owned());
        assert_eq!(
            outcome,
            SendOutcome::Accepted {
                provider_message_id: id.clone(),
                simulated: true,
                held: None
            }
        );
        assert_eq!(on.query_connection(&bound).await, ConnectionAnswer::Open);
        let evidence = on
            .find_send_evidence(&bound, &message(PHONE), &[], from_unix_millis(0))
            .await;
        assert_eq!(
            evidence,
            SendEvidence::Sent {
                provider_message_id: id
            }
        );
    }
    let listed = serde_json::to_value(outbox.list_messages()).unwrap();
    assert_eq!(listed[0]["text"], "Olá");
    assert_eq!(listed[0]["sent_at"], "2025-10-09T08:53:20Z");
}

#[tokio::test]
async fn a_model_and_a_provider_are_both_real_or_both_simulated() {
    let of = |model| OutgoingMessage {
        model: Some(model),
        ..message(PHONE)
    };
    let outbox = SimulatedOutbox::default();
    for bound in [evolution_instance(), meta_number()] {
        let allowed = Simulation::WithoutCredentials(outbox.clone());
        let simulated = whatsapp("http://127.0.0.1:9", None, allowed.clone());
        assert!(simulated.is_simulated(&bound.instance).await);
        assert_eq!(
            simulated.check_credential(&bound.instance).await,
            CredentialState::Simulated
        );
        let real_words = simulated.send_message(&bound, &of(ModelKind::Real)).await;
        assert!(
            matches!(real_words, SendOutcome::Credentials { .. }),
            "{real_words:?}"
        );
        // With a key nothing is simulated, whatever is allowed; without one, not if it is not allowed.
        for (key, simulation) in [(Some("key-1"), allowed), (None, Simulation::Off)] {
            let real = whatsapp("http://127.0.0.1:9", key, simulation);
            assert!(!real.is_simulated(&bound.instance).await);
            let outcome = real.send_message(&bound, &of(ModelKind::Simulated)).await;
            let reason = Reason::SimulatedReply;
            assert!(
                matches!(&outcome, SendOutcome::Permanent { reason: of, .. } if *of == reason),
                "{outcome:?}"
            );
        }
    }
    assert_eq!(outbox.list_messages(), []);
}

#[tokio::test]
async fn a_missing_credential_or_address_is_named() {
    let named = async |key, base: &str, bound: &InstanceConfig| {
        let client = whatsapp(base, key, Simulation::Off);
        client.check_credential(&bound.instance).await
    };
    let missing = |why: &str| CredentialState::Missing(why.to_owned());
    let there = "http://127.0.0.1:9";
    assert_eq!(
        named(Some("k"), there, &evolution_instance()).await,
        CredentialState::Present
    );
    assert_eq!(
        named(None, there, &evolution_instance()).await,
        missing("EVOLUTION_API_KEY is not set")
    );
    assert_eq!(
        named(None, there, &meta_number()).await,
        missing("META_ACCESS_TOKEN is not set")
    );
    let mut client = whatsapp(there, Some("k"), Simulation::Off);
    Arc::make_mut(&mut client.config).evolution_base_url = None;
    let found = client.check_credential(&evolution_instance().instance).await;
    assert!(
        matches!(&found, CredentialState::Missing(why) if why.contains("EVOLUTION_API_URL")),
        "{found:?}"
    );
}

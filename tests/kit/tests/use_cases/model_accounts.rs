//! No model reads a conversation but those of the agent's own provider, under the agent's own account; and all models are checked.

use crate::world::{Setup, beside};
use recado_checks::self_check::{ModelAnswer, ModelPurpose, check_installation};
use recado_domain::access::Caller;
use recado_domain::config::CredentialRef;
use recado_knowledge::{NewDocument, add_source};
use recado_pipeline::ports::{EmbeddingError, LlmReply};
use recado_testkit::builders::Fixture;
use serde_json::{Value, json};

const OWN_KEY: &str = "env:RECADO_CREDENTIAL_CLINIC_MODEL";

/// An agent with this change and a document. The installation names this model for rewriting.
async fn set_agent(change: Value, named: Option<&str>) -> Setup {
    let mut fixture = Fixture::new();
    let mut agent = json!(fixture.bound.agent);
    for (name, value) in change.as_object().unwrap() {
        agent[name] = value.clone();
    }
    fixture.bound.agent = serde_json::from_value(agent).unwrap();
    let mut setup = Setup::set(fixture).await;
    setup.world.deps_mut().settings_mut().rewriting.model = named.map(str::to_owned);
    *setup.world.llm.says.lock().unwrap() = Some("Quanto custa o segundo curso?".to_owned());
    let document = NewDocument {
        title: "precos.md".to_owned(),
        content_type: None,
        bytes: "O segundo curso custa 90 euros.".as_bytes().to_vec(),
    };
    let agent = setup.fixture.bound.agent.id.clone();
    let caller = Caller::installation();
    // Another process than the one that answers.
    add_source(&beside(&setup.world), &caller, &agent, document)
        .await
        .unwrap();
    setup
}

async fn write(setup: &Setup, id: &str, text: &str) {
    setup.message(&setup.fixture, id, text, false).await;
    setup.pass(10);
    setup.turns(&setup.fixture).await;
}

fn accounts(setup: &Setup) -> Vec<(String, Option<CredentialRef>)> {
    setup.world.llm.accounts.lock().unwrap().clone()
}

#[tokio::test]
async fn a_follow_up_is_rewritten_by_the_agents_own_provider_with_the_key_of_its_replies() {
    let own_key: CredentialRef = OWN_KEY.to_owned().try_into().unwrap();
    let own = json!({"model_key": OWN_KEY});
    for (change, named, rewriting, key) in [
        (own.clone(), None, "claude-haiku-4-5", Some(&own_key)),
        (own, Some("openai::small"), "claude-haiku-4-5", Some(&own_key)),
        (json!({}), Some("openai::small"), "openai::small", None),
        (json!({"model": "openai::big"}), None, "openai::big", None),
        (
            json!({"model": "ollama::local"}),
            Some("light"),
            "ollama::local",
            None,
        ),
    ] {
        let setup = set_agent(change, named).await;
        write(&setup, "Q1", "Vocês têm cursos de espanhol?").await;
        write(&setup, "Q2", "E o segundo?").await;
        let model = setup.fixture.bound.agent.model.clone();
        let expected: Vec<_> = [model.as_str(), rewriting, model.as_str()]
            .map(|name| (name.to_owned(), key.cloned()))
            .into();
        assert_eq!(accounts(&setup), expected);
    }
}

#[tokio::test]
async fn for_an_agent_that_the_user_runs_no_model_is_asked() {
    let http = json!({"url": "https://agent.example/turns", "secret": "env:RECADO_CREDENTIAL_X_AGENT"});
    let change = json!({"model": "", "system_prompt": "", "http": http});
    let setup = set_agent(change, Some("light")).await;
    for id in ["Q1", "Q2"] {
        let reply = LlmReply {
            calls: Vec::new(),
            text: "Sim.".to_owned(),
            decision: None,
            ignored_calls: 0,
            usage: recado_domain::message::TokenUsage::default(),
            model: "http".to_owned(),
        };
        let answers = &setup.world.llm.http_agents.answers;
        answers.lock().unwrap().push_back(Ok(Some(reply)));
        write(
            &setup,
            id,
            if id == "Q1" {
                "Vocês têm cursos?"
            } else {
                "E o segundo?"
            },
        )
        .await;
    }
    assert_eq!(setup.world.llm.http_agents.asked.lock().unwrap().len(), 2);
    assert_eq!(accounts(&setup), [], "no model reads the conversation");
}

#[tokio::test]
async fn all_models_are_asked_by_a_check_each_for_what_it_does() {
    let setup = set_agent(json!({"model_key": OWN_KEY}), None).await;
    let llm = &setup.world.llm;
    let mut embedding = crate::world::EmbeddingModel::named("vectors");
    embedding.fails_after = Some((0, EmbeddingError::Credentials("status 401".to_owned())));
    *llm.embedding.lock().unwrap() = Some(embedding);
    *llm.transcribes.lock().unwrap() = Some([Ok("")].into());
    let checked = |caller: Caller, asks: bool| {
        let setup = &setup;
        async move {
            let checks = check_installation(&setup.world, &caller, None, asks)
                .await
                .unwrap();
            let models = checks.unwrap().models.into_iter();
            models
                .map(|check| (check.purpose, check.model, check.answer))
                .collect::<Vec<_>>()
        }
    };
    let whole = checked(Caller::installation(), true).await;
    let told: Vec<(ModelPurpose, &str, bool)> = whole
        .iter()
        .map(|(purpose, model, answer)| (*purpose, model.as_str(), *answer == ModelAnswer::Answers))
        .collect();
    assert_eq!(
        told,
        [
            (ModelPurpose::Rewriting, "claude-haiku-4-5", true),
            (ModelPurpose::Replies, "model-1", true),
            (ModelPurpose::Embeddings, "vectors", false),
            (ModelPurpose::Transcriptions, "whisper", true),
        ]
    );
    let keys: Vec<bool> = accounts(&setup).iter().map(|(_, key)| key.is_some()).collect();
    assert_eq!(keys, [true, true], "with the agent's own key");
    let unasked = checked(Caller::installation(), false).await;
    assert!(
        unasked
            .iter()
            .all(|(_, _, answer)| *answer == ModelAnswer::NotAsked),
        "{unasked:?}"
    );
    assert_eq!(unasked.len(), 4);
}

#[tokio::test]
async fn a_model_that_answers_and_rewrites_is_asked_once_and_one_of_rules_never() {
    for (way, change, models) in [
        (
            recado_pipeline::settings::RewriteWay::Model,
            json!({"model": "openai::big"}),
            vec!["openai::big"],
        ),
        (
            recado_pipeline::settings::RewriteWay::Rules,
            json!({}),
            vec!["model-1"],
        ),
    ] {
        let mut setup = set_agent(change, None).await;
        setup.world.deps_mut().settings_mut().rewriting.way = way;
        let checks = check_installation(&setup.world, &Caller::installation(), None, true).await;
        let found: Vec<String> = checks
            .unwrap()
            .unwrap()
            .models
            .into_iter()
            .map(|check| check.model)
            .collect();
        assert_eq!(found, models);
    }
}

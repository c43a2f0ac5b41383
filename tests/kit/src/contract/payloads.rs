//! Bodies that are too large for a queue message.

use crate::builders::fresh;
use recado_ports::ports::Queues;
use serde_json::{Value, json};

async fn payload<Q: Queues>(queues: &Q, key: &str) -> Option<Value> {
    queues.find_payload(key).await.unwrap()
}

pub async fn an_unknown_payload_is_none<Q: Queues>(queues: &Q) {
    assert_eq!(payload(queues, &fresh("none")).await, None);
}

pub async fn a_payload_comes_back_exactly<Q: Queues>(queues: &Q) {
    let deep = (0..60).fold(json!(0), |inner, _| json!({"": inner}));
    let large = json!({"text": "\u{1F33B}\u{0}\"".repeat(200_000)});
    for expected in [json!(null), json!({"a": [0.1, u64::MAX, "\u{0}"]}), deep, large] {
        let key = fresh("body");
        queues.put_payload(&key, &expected).await.unwrap();
        assert_eq!(payload(queues, &key).await, Some(expected));
    }
}

pub async fn the_same_key_again_replaces_it<Q: Queues>(queues: &Q) {
    let key = fresh("body");
    for body in [
        json!({"text": "x".repeat(150_000)}),
        json!(2),
        json!({"text": "3"}),
    ] {
        queues.put_payload(&key, &body).await.unwrap();
        assert_eq!(payload(queues, &key).await, Some(body));
    }
}

pub async fn keys_do_not_run_into_each_other<Q: Queues>(queues: &Q) {
    let key = fresh("body");
    let keys = [
        key.clone(),
        format!("{key}/a"),
        format!("{key}/../a"),
        format!("{key}.a"),
        key.to_uppercase(),
    ];
    for (index, key) in keys.iter().enumerate() {
        queues.put_payload(key, &json!(index)).await.unwrap();
    }
    for (index, key) in keys.iter().enumerate() {
        assert_eq!(payload(queues, key).await, Some(json!(index)), "{key}");
    }
}

pub async fn a_payload_that_is_kept_longer_is_the_same<Q: Queues>(queues: &Q) {
    let (key, body) = (fresh("upload.loja 1.é"), json!({"text": "\u{1F33B}"}));
    assert!(!queues.renew_payload(&key).await.unwrap(), "there is none");
    assert_eq!(payload(queues, &key).await, None);
    queues.put_payload(&key, &body).await.unwrap();
    for _ in 0..2 {
        assert!(queues.renew_payload(&key).await.unwrap());
        assert_eq!(payload(queues, &key).await, Some(body.clone()));
    }
}

pub async fn a_deleted_payload_is_gone_and_others_stay<Q: Queues>(queues: &Q) {
    let (gone, stays) = (fresh("body"), fresh("body"));
    for key in [&gone, &stays] {
        queues.put_payload(key, &json!("Bia")).await.unwrap();
    }
    for _ in 0..2 {
        queues.delete_payload(&gone).await.unwrap();
        assert_eq!(payload(queues, &gone).await, None);
        assert_eq!(payload(queues, &stays).await, Some(json!("Bia")));
    }
}

//! Answers of an earlier program, compared with those of this one.

use serde_json::Value;

/// Fields that change with the time and with the next message, and say nothing of what is stored.
pub const PASSING: [&str; 6] = ["connection", "state", "health", "age_seconds", "waiting", "rev"];

/// Finds the first thing of `before` that `now` lacks or tells differently, in fields that are not `passing`. `now` may have
/// more fields and more items.
pub fn find_missing(before: &Value, now: &Value, passing: &[&str]) -> Option<String> {
    match (before, now) {
        (Value::Object(before), Value::Object(now)) => before.iter().find_map(|(name, before)| {
            if passing.contains(&name.as_str()) {
                return None;
            }
            let fault = match now.get(name) {
                Some(now) => find_missing(before, now, passing)?,
                None => "is missing".to_owned(),
            };
            Some(format!("{name}: {fault}"))
        }),
        (Value::Array(before), Value::Array(now)) => before.iter().find_map(|before| {
            let faults = now.iter().map(|now| find_missing(before, now, passing));
            let faults: Option<Vec<String>> = faults.collect();
            faults.map(|faults| format!("{before}: {faults:?}"))
        }),
        _ => (before != now).then(|| format!("{now} in place of {before}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn new_fields_and_items_are_no_fault_and_whatever_is_gone_or_changed_is_one() {
        let before = json!({"items": [{"id": 1, "state": "a"}], "next": null});
        let more =
            json!({"items": [{"id": 2}, {"id": 1, "state": "b", "new": true}], "next": null, "count": 2});
        assert_eq!(find_missing(&before, &more, &["state"]), None);
        for now in [
            json!({"items": []}),
            json!({"items": [{"id": 2}], "next": null}),
            json!({"items": [{"id": 1}], "next": 3}),
        ] {
            assert!(find_missing(&before, &now, &["state"]).is_some(), "{now}");
        }
    }
}

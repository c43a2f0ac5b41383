//! The counts of `infra/counts.json`, which `infra/price.py` prices and the tests hold.

use serde_json::Value;

const COUNTS: &str = include_str!("../../../../infra/counts.json");

/// A request with its write units: 0 for what does not write.
pub(crate) type CountedRequest = (String, f64);

pub(crate) fn read_counts() -> Value {
    serde_json::from_str(COUNTS).unwrap()
}

/// Reads requests as they are counted: `[["DynamoDB PutItem", 3]]`.
pub(crate) fn list_requests(counted: &Value) -> Vec<CountedRequest> {
    let requests = counted.as_array().unwrap().iter();
    let read = |one: &Value| (one[0].as_str().unwrap().to_owned(), one[1].as_f64().unwrap());
    requests.map(read).collect()
}

pub(crate) fn read_number(counted: &Value) -> usize {
    let number = counted.as_u64().and_then(|number| usize::try_from(number).ok());
    number.unwrap_or_else(|| panic!("{counted} is no number"))
}

//! A stand-in for S3 Vectors: indexes of one vector bucket, and the limits of single requests.

use super::host::Host;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use recado_domain::knowledge::normalize_length;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The one vector bucket that there is.
pub const VECTOR_BUCKET: &str = "recado-vectors";

/// The limits of S3 Vectors, as documented in 2026.
const BODY_BYTES: usize = 20 * 1024 * 1024;
const TOGETHER: usize = 500;
const NEAREST: u64 = 100;
const DIMENSIONS: u64 = 4_096;

/// A running server; stopped when dropped.
#[derive(Debug)]
pub struct S3VectorsStandIn {
    host: Host,
    indexes: Arc<Mutex<Indexes>>,
}

type Indexes = BTreeMap<String, Index>;

#[derive(Debug, Default)]
struct Index {
    dimensions: usize,
    vectors: BTreeMap<String, Vec<f32>>,
}

/// An answer other than 200.
struct Refusal(StatusCode, &'static str, String);

fn invalid(why: impl Into<String>) -> Refusal {
    Refusal(StatusCode::BAD_REQUEST, "ValidationException", why.into())
}

fn missing(what: &str) -> Refusal {
    Refusal(
        StatusCode::NOT_FOUND,
        "NotFoundException",
        format!("there is no {what}"),
    )
}

impl S3VectorsStandIn {
    /// Starts one on any free port of 127.0.0.1.
    ///
    /// # Panics
    /// When there is no free port.
    #[expect(
        clippy::expect_used,
        reason = "a test on a machine without a free port cannot go on"
    )]
    pub fn start() -> Self {
        let indexes = Arc::new(Mutex::new(Indexes::new()));
        let router = Router::new()
            .route("/{operation}", post(answer))
            .layer(DefaultBodyLimit::max(BODY_BYTES))
            .with_state(indexes.clone());
        let host = Host::start(0, router).expect("a free port of 127.0.0.1");
        Self { host, indexes }
    }

    /// Returns the URL of the server.
    pub fn url(&self) -> String {
        self.host.url()
    }

    /// Returns the number of vectors in all indexes.
    pub fn count_vectors(&self) -> usize {
        let indexes = self.indexes.lock().unwrap_or_else(PoisonError::into_inner);
        indexes.values().map(|index| index.vectors.len()).sum()
    }
}

async fn answer(
    State(book): State<Arc<Mutex<Indexes>>>,
    Path(operation): Path<String>,
    body: Bytes,
) -> Response {
    let mut indexes = book.lock().unwrap_or_else(PoisonError::into_inner);
    let parsed = serde_json::from_slice(&body).map_err(|error| invalid(error.to_string()));
    match parsed.and_then(|body: Value| perform(&mut indexes, &operation, &body)) {
        Ok(answer) => Json(answer).into_response(),
        Err(Refusal(status, code, message)) => {
            let body = Json(json!({"message": message}));
            (status, [("x-amzn-errortype", code)], body).into_response()
        }
    }
}

fn perform(indexes: &mut Indexes, operation: &str, body: &Value) -> Result<Value, Refusal> {
    if body["vectorBucketName"] != VECTOR_BUCKET {
        return Err(missing("such vector bucket"));
    }
    let name = body["indexName"].as_str().unwrap_or_default();
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    if !(3..=63).contains(&name.len()) || !name.chars().all(fits) {
        return Err(invalid(format!("an index cannot be named {name:?}")));
    }
    match operation {
        "CreateIndex" => create_index(indexes, name, body),
        "DeleteIndex" => {
            indexes.remove(name);
            Ok(json!({}))
        }
        "PutVectors" => find_index(indexes, name)?.put_vectors(body),
        "QueryVectors" => find_index(indexes, name)?.query_vectors(body),
        "DeleteVectors" => find_index(indexes, name)?.delete_vectors(body),
        other => Err(invalid(format!("there is no operation {other}"))),
    }
}

fn find_index<'a>(indexes: &'a mut Indexes, name: &str) -> Result<&'a mut Index, Refusal> {
    indexes.get_mut(name).ok_or_else(|| missing("such index"))
}

fn create_index(indexes: &mut Indexes, name: &str, body: &Value) -> Result<Value, Refusal> {
    if body["dataType"] != "float32" || body["distanceMetric"] != "cosine" {
        return Err(invalid("only cosines of float32 are known here"));
    }
    let dimensions = body["dimension"].as_u64().unwrap_or_default();
    if !(1..=DIMENSIONS).contains(&dimensions) {
        return Err(invalid(format!("{dimensions} dimensions")));
    }
    if indexes.contains_key(name) {
        let why = "the index is there".to_owned();
        return Err(Refusal(StatusCode::CONFLICT, "ConflictException", why));
    }
    let made = Index {
        dimensions: usize::try_from(dimensions).unwrap_or_default(),
        ..Index::default()
    };
    indexes.insert(name.to_owned(), made);
    Ok(json!({"indexArn": format!("arn:aws:s3vectors:us-east-1:1:bucket/{VECTOR_BUCKET}/index/{name}")}))
}

/// Returns a list of a request, which must not be empty and not too long.
fn list_members<'a>(body: &'a Value, field: &str) -> Result<&'a [Value], Refusal> {
    let members = body[field].as_array().map(Vec::as_slice).unwrap_or_default();
    if (1..=TOGETHER).contains(&members.len()) {
        Ok(members)
    } else {
        Err(invalid(format!("{} {field} in one request", members.len())))
    }
}

impl Index {
    fn read_vector(&self, data: &Value) -> Result<Vec<f32>, Refusal> {
        let vector: Vec<f32> =
            serde_json::from_value(data["float32"].clone()).map_err(|error| invalid(error.to_string()))?;
        if vector.len() == self.dimensions {
            Ok(vector)
        } else {
            let (got, expected) = (vector.len(), self.dimensions);
            Err(invalid(format!(
                "a vector has {got} dimensions, the index {expected}"
            )))
        }
    }

    fn put_vectors(&mut self, body: &Value) -> Result<Value, Refusal> {
        let mut put = Vec::new();
        for member in list_members(body, "vectors")? {
            let key = member["key"]
                .as_str()
                .filter(|key| (1..=1_024).contains(&key.len()));
            let key = key.ok_or_else(|| invalid("a vector without a key"))?;
            put.push((key.to_owned(), self.read_vector(&member["data"])?));
        }
        self.vectors.extend(put);
        Ok(json!({}))
    }

    fn query_vectors(&self, body: &Value) -> Result<Value, Refusal> {
        let most = body["topK"].as_u64().unwrap_or_default();
        if !(1..=NEAREST).contains(&most) {
            return Err(invalid(format!("topK is {most}")));
        }
        let question = normalize_length(&self.read_vector(&body["queryVector"])?);
        let distance_of = |vector: &Vec<f32>| {
            let vector = normalize_length(vector);
            let cosine: f32 = vector
                .iter()
                .zip(&question)
                .map(|(left, right)| left * right)
                .sum();
            1.0 - cosine
        };
        let near = self
            .vectors
            .iter()
            .map(|(key, vector)| (distance_of(vector), key));
        let mut near: Vec<(f32, &String)> = near.collect();
        near.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(other.1)));
        near.truncate(usize::try_from(most).unwrap_or_default());
        let shows_distance = body["returnDistance"] == true;
        let shown = near.into_iter().map(|(distance, key)| {
            if shows_distance {
                json!({"key": key, "distance": distance})
            } else {
                json!({"key": key})
            }
        });
        Ok(json!({"vectors": shown.collect::<Vec<Value>>(), "distanceMetric": "cosine"}))
    }

    fn delete_vectors(&mut self, body: &Value) -> Result<Value, Refusal> {
        for key in list_members(body, "keys")? {
            self.vectors.remove(key.as_str().unwrap_or_default());
        }
        Ok(json!({}))
    }
}

//! Vectors for which snapshots have no room.

use crate::builders::fresh;
use recado_domain::ids::{AgentId, TenantId};
use recado_domain::knowledge::{VectorIndexName, VectorKey, VectorPut};
use recado_ports::ports::{NEAREST_MAX, VectorStore};

/// Returns the name of an index that nobody else has.
fn new_index() -> VectorIndexName {
    let (tenant, agent) = (
        TenantId::parse("clinic").unwrap(),
        AgentId::parse("clara").unwrap(),
    );
    VectorIndexName::of_agent_model(&tenant, &agent, &fresh("model"), 3)
}

/// Returns the key of a block with this number.
fn key(number: u16) -> VectorKey {
    let mut hash = [0; 32];
    hash[..2].copy_from_slice(&number.to_be_bytes());
    VectorKey::of_block(&hash, VectorPut::from_random_bits(1))
}

/// Returns vectors that turn away from `[1, 0, 0]` by their numbers.
fn turning(numbers: std::ops::Range<u16>) -> Vec<(VectorKey, Vec<f32>)> {
    let vector = |number: u16| vec![1.0, f32::from(number) / 100.0, 0.0];
    numbers.map(|number| (key(number), vector(number))).collect()
}

/// Returns the keys of the vectors that are nearest to `[1, 0, 0]`.
async fn nearest<V: VectorStore>(store: &V, index: &VectorIndexName, limit: usize) -> Vec<VectorKey> {
    let found = store.find_nearest(index, &[1.0, 0.0, 0.0], limit).await.unwrap();
    found.into_iter().map(|near| near.key).collect()
}

pub async fn the_nearest_vectors_are_found_with_their_cosines<V: VectorStore>(store: &V) {
    let index = new_index();
    let vectors = [
        (key(1), vec![0.0, 2.0, 0.0]),
        (key(2), vec![3.0, 3.0, 0.0]),
        (key(3), vec![-1.0, 0.0, 0.0]),
    ];
    store.put_vectors(&index, &vectors).await.unwrap();
    let found = store.find_nearest(&index, &[0.0, 1.0, 0.0], 2).await.unwrap();
    let expected = [(key(1), 1.0), (key(2), std::f32::consts::FRAC_1_SQRT_2)];
    assert_eq!(found.len(), expected.len());
    for (found, (key, cosine)) in found.iter().zip(expected) {
        assert!(
            found.key == key && (found.cosine - cosine).abs() < 1e-3,
            "{found:?}"
        );
    }
}

pub async fn vectors_that_are_put_again_are_there_once<V: VectorStore>(store: &V) {
    let index = new_index();
    for _ in 0..2 {
        store.put_vectors(&index, &turning(0..2)).await.unwrap();
    }
    assert_eq!(nearest(store, &index, 10).await, [key(0), key(1)]);
}

pub async fn an_index_takes_more_vectors_than_a_request<V: VectorStore>(store: &V) {
    let index = new_index();
    let vectors = turning(0..501);
    store.put_vectors(&index, &vectors).await.unwrap();
    let found = nearest(store, &index, 1_000).await;
    assert_eq!(found.len(), NEAREST_MAX);
    let keys: Vec<VectorKey> = vectors.iter().map(|(key, _)| *key).collect();
    assert_eq!(found, keys[..NEAREST_MAX]);
    store.delete_vectors(&index, &keys[..500]).await.unwrap();
    assert_eq!(nearest(store, &index, 1_000).await, [key(500)]);
    store.delete_vectors(&index, &keys).await.unwrap();
    assert_eq!(nearest(store, &index, 1_000).await, []);
}

pub async fn an_index_that_does_not_exist_cannot_be_searched_and_may_be_deleted<V: VectorStore>(store: &V) {
    let index = new_index();
    let refused = store.find_nearest(&index, &[1.0, 0.0, 0.0], 1).await;
    assert!(refused.unwrap_err().is_retryable(), "it may be there soon");
    store.delete_vectors(&index, &[key(1)]).await.unwrap();
    store.delete_vector_index(&index).await.unwrap();
}

pub async fn an_index_goes_with_its_vectors_and_no_other_does<V: VectorStore>(store: &V) {
    let (goes, stays) = (new_index(), new_index());
    for index in [&goes, &stays] {
        store.put_vectors(index, &turning(0..1)).await.unwrap();
    }
    store.delete_vector_index(&goes).await.unwrap();
    assert!(store.find_nearest(&goes, &[1.0, 0.0, 0.0], 1).await.is_err());
    assert_eq!(nearest(store, &stays, 1).await, [key(0)]);
    store.put_vectors(&goes, &turning(1..2)).await.unwrap();
    assert_eq!(nearest(store, &goes, 2).await, [key(1)], "a new one is empty");
}

pub async fn a_vector_of_other_dimensions_is_refused_for_good<V: VectorStore>(store: &V) {
    let index = new_index();
    store.put_vectors(&index, &turning(0..1)).await.unwrap();
    let put = store.put_vectors(&index, &[(key(1), vec![1.0])]).await;
    assert!(!put.unwrap_err().is_retryable());
    let search = store.find_nearest(&index, &[1.0], 1).await;
    assert!(!search.unwrap_err().is_retryable());
    assert_eq!(nearest(store, &index, 2).await, [key(0)]);
}

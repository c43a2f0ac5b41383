//! What a store of vectors promises, on a stand-in of S3 Vectors: the emulator has none.

use crate::account::clients_at;
use recado_aws::{AwsConfig, AwsQueues, OsSystem};
use recado_domain::ids::{AgentId, TenantId};
use recado_domain::knowledge::{VectorIndexName, VectorKey, VectorPut};
use recado_pipeline::ports::VectorStore;
use recado_testkit::servers::{S3VectorsStandIn, VECTOR_BUCKET};
use std::future::ready;
use std::sync::LazyLock;

const ACCOUNT: &str = "444444444444";

static STAND_IN: LazyLock<S3VectorsStandIn> = LazyLock::new(S3VectorsStandIn::start);

fn store_in_bucket(bucket: Option<&str>) -> AwsQueues<OsSystem> {
    let config = AwsConfig {
        vector_bucket: bucket.map(str::to_owned),
        ..AwsConfig::default()
    };
    AwsQueues::new(clients_at(ACCOUNT, STAND_IN.url()), config, OsSystem)
}

fn vector_store() -> impl Future<Output = AwsQueues<OsSystem>> {
    ready(store_in_bucket(Some(VECTOR_BUCKET)))
}

recado_testkit::vectors_contract!(vector_store);

#[tokio::test]
async fn without_a_vector_bucket_nothing_can_be_put_and_a_missing_one_may_be_made_later() {
    let (tenant, agent) = (
        TenantId::parse("clinic").unwrap(),
        AgentId::parse("clara").unwrap(),
    );
    let index = VectorIndexName::of_agent_model(&tenant, &agent, "m", 1);
    let vectors = [(
        VectorKey::of_block(&[1; 32], VectorPut::from_random_bits(1)),
        vec![1.0],
    )];
    let none = store_in_bucket(None);
    assert!(!none.has_vector_store());
    assert!(
        !none
            .put_vectors(&index, &vectors)
            .await
            .unwrap_err()
            .is_retryable()
    );
    let missing = store_in_bucket(Some("another"));
    assert!(missing.has_vector_store());
    assert!(
        missing
            .put_vectors(&index, &vectors)
            .await
            .unwrap_err()
            .is_retryable()
    );
}

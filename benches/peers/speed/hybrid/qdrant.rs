//! Qdrant Edge: dense vectors and its own BM25 as sparse vectors, fused by scores.

use anyhow::{Result, bail, ensure};
use qdrant_edge::bm25_embed::{EdgeBm25, EdgeBm25Config};
use qdrant_edge::{
    Distance, EdgeConfigBuilder, EdgeOptimizersConfig, EdgeShard, EdgeSparseVectorParams,
    EdgeVectorParams, Fusion, Modifier, NamedQuery, PointInsertOperations, PointOperations,
    PointStruct, Prefetch, QueryEnum, QueryRequest, ScoringQuery, SearchParams, UpdateOperation,
    Vector, VectorInternal, Vectors, WithPayloadInterface, WithVector,
};
use serde_json::Value;
use tempfile::TempDir;

use super::generated::{DIMENSIONS, Question};
use super::{CANDIDATES, HITS, System};
use crate::rig::progress;

const DENSE: &str = "dense";
const SPARSE: &str = "text";
/// The field of the payload that holds the text.
const TEXT: &str = "text";
/// From so many kilobytes of vectors on, it builds a graph: its default.
const GRAPH_KB_MIN: usize = 10_000;
/// The mean length of the texts, in words.
const WORDS: f64 = 45.0;

pub struct Qdrant {
    shard: EdgeShard,
    bm25: EdgeBm25,
    added: u64,
    /// Whether vectors are searched by a graph, and not all compared.
    has_graph: bool,
    _folder: TempDir,
}

/// How it is used, as a sentence without its end.
pub fn method() -> String {
    format!(
        "Qdrant Edge {} has one shard and one segment, optimised after the last addition (HNSW with its \
         defaults from 10 MB of vectors on), the sparse vectors of its own BM25 with IDF, the texts as \
         payload, and fuses the first {CANDIDATES} of both searches by DBSF",
        version()
    )
}

/// The version that the lock file names.
fn version() -> &'static str {
    let lock = include_str!("../../Cargo.lock");
    let package = lock.split("[[package]]").find(|part| part.contains("name = \"qdrant-edge\""));
    let line = package.and_then(|package| package.lines().find_map(|line| line.strip_prefix("version = ")));
    line.unwrap_or_default().trim_matches('"')
}

impl Qdrant {
    pub fn new() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let config = EdgeConfigBuilder::new()
            .vector(DENSE, EdgeVectorParams::builder(DIMENSIONS, Distance::Cosine).build())
            .sparse_vector(
                SPARSE,
                EdgeSparseVectorParams::builder().modifier(Modifier::Idf).build(),
            )
            .optimizers(EdgeOptimizersConfig {
                default_segment_number: Some(1),
                indexing_threshold: Some(GRAPH_KB_MIN),
                ..EdgeOptimizersConfig::default()
            })
            .build();
        let shard = EdgeShard::new(folder.path(), config)?;
        let config: EdgeBm25Config =
            serde_json::from_value(serde_json::json!({ "avg_len": WORDS }))?;
        Ok(Self {
            shard,
            bm25: EdgeBm25::new(config)?,
            added: 0,
            has_graph: false,
            _folder: folder,
        })
    }

    fn query(&self, question: &Question, is_exact: bool) -> Result<Vec<String>> {
        let params = SearchParams { exact: is_exact, ..SearchParams::default() };
        let dense = VectorInternal::Dense(question.vector.clone());
        let sparse = VectorInternal::Sparse(self.bm25.embed_query(&question.text));
        let request = QueryRequest {
            prefetches: vec![prefetch(dense, DENSE, Some(params)), prefetch(sparse, SPARSE, None)],
            query: Some(ScoringQuery::Fusion(Fusion::Dbsf)),
            filter: None,
            score_threshold: None,
            limit: HITS,
            offset: 0,
            params: None,
            with_vector: WithVector::Bool(false),
            with_payload: WithPayloadInterface::Bool(true),
        };
        let points = self.shard.query(request)?;
        let texts = points.into_iter().map(|point| {
            let text = point.payload.and_then(|mut payload| payload.0.remove(TEXT));
            match text {
                Some(Value::String(text)) => Ok(text),
                _ => bail!("a point of Qdrant Edge has no text"),
            }
        });
        texts.collect()
    }
}

/// The first candidates by one of the vectors.
fn prefetch(vector: VectorInternal, name: &str, params: Option<SearchParams>) -> Prefetch {
    let nearest = QueryEnum::Nearest(NamedQuery::new(vector, name));
    Prefetch {
        prefetches: Vec::new(),
        query: Some(ScoringQuery::Vector(nearest)),
        limit: CANDIDATES,
        params,
        filter: None,
        score_threshold: None,
    }
}

impl System for Qdrant {
    fn name(&self) -> &'static str {
        "Qdrant Edge"
    }

    fn add(&mut self, texts: &[String], vectors: &[Vec<f32>]) -> Result<()> {
        let mut points = Vec::with_capacity(texts.len());
        for (text, vector) in texts.iter().zip(vectors) {
            self.added += 1;
            let sparse = self.bm25.embed_document(text);
            let vectors: Vec<(&str, Vector)> =
                vec![(DENSE, vector.clone().into()), (SPARSE, sparse.into())];
            let payload = serde_json::json!({ TEXT: text });
            points.push(PointStruct::new(self.added, Vectors::from(vectors), payload).0);
        }
        let points = PointInsertOperations::PointsList(points);
        let points = PointOperations::UpsertPoints(points);
        Ok(self.shard.update(UpdateOperation::PointOperation(points))?)
    }

    fn finish(&mut self, _questions: &[Question]) -> Result<()> {
        self.shard.optimize()?;
        let info = self.shard.info();
        progress(format_args!("Qdrant Edge: {info:?}"));
        let kilobytes = self.added as usize * DIMENSIONS * size_of::<f32>() / 1024;
        self.has_graph = kilobytes >= GRAPH_KB_MIN;
        let indexed = info.indexed_vectors_count as u64;
        ensure!(!self.has_graph || indexed >= self.added, "Qdrant Edge has no graph: {info:?}");
        ensure!(info.points_count as u64 == self.added, "Qdrant Edge lacks points: {info:?}");
        Ok(())
    }

    fn search(&self, question: &Question) -> Result<Vec<String>> {
        self.query(question, false)
    }

    fn search_exactly(&self, question: &Question) -> Option<Result<Vec<String>>> {
        self.has_graph.then(|| self.query(question, true))
    }
}

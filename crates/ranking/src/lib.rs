//! Text and vector ranking: tokens, BM25, exact vector search, fusion, explanations.

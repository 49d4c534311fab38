//! A durable store of memories with hybrid search, typed links and history.

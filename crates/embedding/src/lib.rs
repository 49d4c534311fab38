//! Texts to vectors: sentence models of the BERT family through candle.

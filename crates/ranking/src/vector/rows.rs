use half::f16;

use super::codes::Codes;
use crate::simd::{BLOCK_ROWS, LINE_ROWS, Line, STEP_COMPONENTS, block_lines};

/// Rows of one allocation. New chunks never move existing rows.
const CHUNK_ROWS: usize = 1024;

/// Vectors by row, without gaps: their components as 16-bit floats, and blocks of their codes.
#[derive(Debug, Clone)]
pub(super) struct Rows {
    dimensions: usize,
    steps: usize,
    len: usize,
    chunks: Vec<Chunk>,
}

#[derive(Debug, Clone, Default)]
struct Chunk {
    halves: Vec<f16>,
    blocks: Vec<Line>,
}

impl Rows {
    pub(super) fn new(dimensions: usize) -> Self {
        let steps = dimensions.div_ceil(STEP_COMPONENTS);
        Self { dimensions, steps, len: 0, chunks: Vec::new() }
    }

    pub(super) fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Memory in use.
    pub(super) fn bytes(&self) -> usize {
        let lines = self.len.div_ceil(BLOCK_ROWS) * block_lines(self.steps);
        self.len * self.dimensions * size_of::<f16>() + lines * size_of::<Line>()
    }

    pub(super) fn halves(&self, row: usize) -> &[f16] {
        let chunk = &self.chunks[row / CHUNK_ROWS];
        &chunk.halves[row % CHUNK_ROWS * self.dimensions..][..self.dimensions]
    }

    /// The blocks of codes and their first rows. In the last block, data past the last row is
    /// meaningless.
    pub(super) fn blocks(&self) -> impl Iterator<Item = (usize, &[Line])> {
        let block_lines = block_lines(self.steps);
        let blocks =
            self.chunks.iter().flat_map(move |chunk| chunk.blocks.chunks_exact(block_lines));
        blocks.enumerate().map(|(at, block)| (at * BLOCK_ROWS, block))
    }

    pub(super) fn push(&mut self, halves: &[f16]) {
        let row = self.len;
        let lines = block_lines(self.steps);
        if row.is_multiple_of(CHUNK_ROWS) {
            let mut chunk = Chunk::default();
            // A small index allocates only what it needs.
            if row > 0 {
                chunk.halves.reserve_exact(CHUNK_ROWS * self.dimensions);
                chunk.blocks.reserve_exact(CHUNK_ROWS / BLOCK_ROWS * lines);
            }
            self.chunks.push(chunk);
        }
        let chunk = &mut self.chunks[row / CHUNK_ROWS];
        chunk.halves.extend_from_slice(halves);
        if row.is_multiple_of(BLOCK_ROWS) {
            chunk.blocks.resize(chunk.blocks.len() + lines, Line::ZERO);
        }
        self.len += 1;
        let components: Vec<f32> = halves.iter().map(|half| half.to_f32_const()).collect();
        let codes = Codes::new(&components);
        let level = |at: usize| codes.levels.get(at).copied().unwrap_or(0);
        for step in 0..self.steps {
            let mut bytes = [0; 4];
            for (at, byte) in bytes.iter_mut().enumerate() {
                *byte = level(4 * step + at) | level(4 * (self.steps + step) + at) << 4;
            }
            self.set(row, step, bytes);
        }
        self.set(row, self.steps, codes.scale.to_le_bytes());
        self.set(row, self.steps + 1, codes.error.to_le_bytes());
    }

    /// Removes a row; the last one takes its place.
    pub(super) fn swap_remove(&mut self, row: usize) {
        let last = self.len - 1;
        if row < last {
            for entry in 0..self.steps + 2 {
                self.set(row, entry, self.get(last, entry));
            }
            let halves = self.halves(last).to_vec();
            self.chunks[row / CHUNK_ROWS].halves[row % CHUNK_ROWS * self.dimensions..]
                [..self.dimensions]
                .copy_from_slice(&halves);
        }
        self.len = last;
        let chunk = &mut self.chunks[last / CHUNK_ROWS];
        chunk.halves.truncate(last % CHUNK_ROWS * self.dimensions);
        if last.is_multiple_of(BLOCK_ROWS) {
            chunk.blocks.truncate(last % CHUNK_ROWS / BLOCK_ROWS * block_lines(self.steps));
        }
        if last.is_multiple_of(CHUNK_ROWS) {
            self.chunks.pop();
        }
    }

    /// The error of the codes of a block's row.
    pub(super) fn error(block: &[Line], row: usize) -> f32 {
        block[block.len() - 2 + row / LINE_ROWS].float(row % LINE_ROWS)
    }

    /// The four bytes of a row in one of the pairs of lines of its block.
    fn get(&self, row: usize, entry: usize) -> [u8; 4] {
        let (line, at) = self.place(row, entry);
        let bytes = &self.chunks[row / CHUNK_ROWS].blocks[line].0[at..at + 4];
        [bytes[0], bytes[1], bytes[2], bytes[3]]
    }

    fn set(&mut self, row: usize, entry: usize, bytes: [u8; 4]) {
        let (line, at) = self.place(row, entry);
        self.chunks[row / CHUNK_ROWS].blocks[line].0[at..at + 4].copy_from_slice(&bytes);
    }

    /// Line within the chunk, byte within the line.
    fn place(&self, row: usize, entry: usize) -> (usize, usize) {
        let (block, row) = (row % CHUNK_ROWS / BLOCK_ROWS, row % BLOCK_ROWS);
        let line = block * block_lines(self.steps) + 2 * entry + row / LINE_ROWS;
        (line, row % LINE_ROWS * 4)
    }
}

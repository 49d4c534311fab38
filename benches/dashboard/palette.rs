//! Pictures with at most 256 colours, which take a third of the space.

use std::collections::HashMap;
use std::io::Cursor;

use anyhow::{Context as _, Result, ensure};

const COLORS_MAX: usize = 256;

type Color = [u8; 3];

/// The same picture with the colours that it has most, as a PNG.
pub(crate) fn reduced(picture: &[u8]) -> Result<Vec<u8>> {
    let mut reader = png::Decoder::new(Cursor::new(picture)).read_info()?;
    let mut bytes = vec![0; reader.output_buffer_size().context("the size of a picture")?];
    let info = reader.next_frame(&mut bytes)?;
    let size = match (info.color_type, info.bit_depth) {
        (png::ColorType::Rgb, png::BitDepth::Eight) => 3,
        (png::ColorType::Rgba, png::BitDepth::Eight) => 4,
        other => anyhow::bail!("a picture of {other:?}"),
    };
    let pixels: Vec<Color> = bytes[..info.buffer_size()]
        .chunks_exact(size)
        .map(|chunk| [chunk[0], chunk[1], chunk[2]])
        .collect();
    let mut counts: HashMap<Color, usize> = HashMap::new();
    for pixel in &pixels {
        *counts.entry(*pixel).or_default() += 1;
    }
    let mut palette: Vec<Color> = counts.keys().copied().collect();
    palette.sort_by_key(|palette| (std::cmp::Reverse(counts[palette]), *palette));
    palette.truncate(COLORS_MAX);
    let nearest: HashMap<Color, u8> = counts
        .keys()
        .map(|key| {
            let found = (0..palette.len()).min_by_key(|at| distance(palette[*at], *key));
            (*key, found.unwrap_or_default() as u8)
        })
        .collect();
    ensure!(!palette.is_empty(), "a picture without pixels");
    let indices: Vec<u8> = pixels.iter().map(|pixel| nearest[pixel]).collect();

    let mut packed = Vec::new();
    let mut encoder = png::Encoder::new(&mut packed, info.width, info.height);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_palette(palette.concat());
    encoder.set_compression(png::Compression::High);
    // Neighbouring indices are no neighbouring colours.
    encoder.set_filter(png::Filter::NoFilter);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&indices)?;
    writer.finish()?;
    Ok(packed)
}

fn distance(a: Color, b: Color) -> u32 {
    a.iter().zip(b).map(|(a, b)| u32::from(a.abs_diff(b)).pow(2)).sum()
}

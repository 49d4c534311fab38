//! The content of pictures, cut from one screenshot of the view in which only pictures are visible.

use std::collections::HashMap;
use std::io::Cursor;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use png::{ColorType, Decoder, Limits, Transformations};
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use super::Chromium;
use crate::frame::Shot;
use crate::protocol::TabId;
use crate::{Deadline, Frame, PictureKey, Pixels, Problem, ProblemKind, Seen};

/// Views with more pixels are captured at a smaller scale.
const PIXELS_MAX: f64 = 2_000_000.0;
/// The maximum size of a decoded screenshot of a view, in bytes.
const BYTES_MAX: usize = 32 << 20;

impl Chromium {
    /// Captures the pictures of a frame. Only what the view shows of them both before and after is
    /// used, so nothing that appeared in between is taken for a picture.
    pub(crate) async fn pictures(
        &self,
        tab: TabId,
        seen: Seen,
        (wanted, dots): (&[PictureKey], (u16, u16)),
        by: Deadline,
    ) -> Result<Vec<Pixels>, Problem> {
        let Some(before) = self.draw_now(tab, seen, by).await? else { return Ok(Vec::new()) };
        if !before.pictures.iter().any(|picture| wanted.contains(&picture.key)) {
            return Ok(Vec::new());
        }
        let (width, height) = seen.view.pixels();
        let scale = (PIXELS_MAX / (f64::from(width) * f64::from(height))).sqrt().min(1.0);
        let data = self.capture(tab, scale, true, by).await?;
        let Some(after) = self.draw_now(tab, seen, by).await? else { return Ok(Vec::new()) };
        let shot = by.of(spawn_blocking(move || unpack(&data))).await.map_err(|_| super::late())?;
        let shot = shot.map_err(|error| unreadable(&error.to_string()))??;
        Ok(cut_out(&shot, scale, &before, &after, (wanted, dots)))
    }

    /// A screenshot of the view, scaled by this factor.
    /// With `in_a_hurry`, it is compressed less.
    pub(crate) async fn capture(
        &self,
        tab: TabId,
        scale: f64,
        in_a_hurry: bool,
        by: Deadline,
    ) -> Result<String, Problem> {
        let session = self.session(tab)?;
        let mut params = json!({ "format": "png", "optimizeForSpeed": in_a_hurry });
        if scale < 1.0 {
            let laid = self.call(Some(&session), "Page.getLayoutMetrics", json!({}), by).await?;
            let view = &laid["cssVisualViewport"];
            params["clip"] = json!({
                "x": view["pageX"], "y": view["pageY"],
                "width": view["clientWidth"], "height": view["clientHeight"],
                "scale": scale,
            });
        }
        let mut taken = self.call(Some(&session), "Page.captureScreenshot", params, by).await?;
        match taken["data"].take() {
            Value::String(data) => Ok(data),
            _ => Err(Problem::new(ProblemKind::Unavailable, "Chromium returned no screenshot")),
        }
    }
}

fn unreadable(why: &str) -> Problem {
    Problem::new(ProblemKind::Unavailable, format!("cannot read the screenshot of the view: {why}"))
}

fn unpack(data: &str) -> Result<Shot, Problem> {
    let bytes = STANDARD.decode(data).map_err(|error| unreadable(&error.to_string()))?;
    let mut decoder = Decoder::new_with_limits(Cursor::new(bytes), Limits { bytes: 2 * BYTES_MAX });
    decoder.set_transformations(Transformations::EXPAND | Transformations::STRIP_16);
    let mut reader = decoder.read_info().map_err(|error| unreadable(&error.to_string()))?;
    let size = reader.output_buffer_size().filter(|size| *size <= BYTES_MAX);
    let mut bytes = vec![0; size.ok_or_else(|| unreadable("it is too large"))?];
    let info = reader.next_frame(&mut bytes).map_err(|error| unreadable(&error.to_string()))?;
    bytes.truncate(info.buffer_size());
    let bytes = match info.color_type {
        ColorType::Rgb => bytes,
        // A view is never transparent.
        ColorType::Rgba => {
            bytes.chunks_exact(4).flat_map(|chunk| [chunk[0], chunk[1], chunk[2]]).collect()
        }
        _ => return Err(unreadable("its colours are of another kind")),
    };
    Ok(Shot { width: info.width as usize, height: info.height as usize, bytes })
}

/// The cells that show a picture in both frames, in the same place.
fn cut_out(
    shot: &Shot,
    scale: f64,
    before: &Frame,
    after: &Frame,
    (wanted, dots): (&[PictureKey], (u16, u16)),
) -> Vec<Pixels> {
    let view = before.view();
    let (width, height) = view.cell();
    let mut found: HashMap<PictureKey, Pixels> = HashMap::new();
    for row in 0..view.rows() {
        for column in 0..view.columns() {
            let shown = |frame: &'_ Frame| {
                let which = frame.cell(column, row)?.picture?;
                let picture = frame.pictures.get(usize::from(which))?;
                Some((picture.key, picture.place(column, row)?))
            };
            let Some((key, place)) = shown(before).filter(|other| shown(after) == Some(*other))
            else {
                continue;
            };
            if !wanted.contains(&key) {
                continue;
            }
            let (left, top) = (f64::from(column) * width, f64::from(row) * height);
            let area = [left, top, left + width, top + height].map(|it| it * scale);
            let pixels = found.entry(key).or_insert_with(|| Pixels::new(key, dots));
            pixels.take(place, shot, area);
        }
    }
    found.into_values().collect()
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::{BYTES_MAX, unpack};

    fn packed(width: u32, height: u32, bytes: &[u8]) -> String {
        let mut packed = Vec::new();
        let mut encoder = png::Encoder::new(&mut packed, width, height);
        encoder.set_color(png::ColorType::Rgba);
        let mut writer = encoder.write_header().expect("a header");
        writer.write_image_data(bytes).expect("data");
        writer.finish().expect("an end");
        STANDARD.encode(packed)
    }

    #[test]
    fn what_is_no_picture_or_too_large_is_refused() {
        let shot = unpack(&packed(2, 1, &[1, 2, 3, 255, 4, 5, 6, 255])).expect("a picture");
        assert_eq!((shot.width, shot.height, shot.bytes), (2, 1, vec![1, 2, 3, 4, 5, 6]));
        let large = vec![7; BYTES_MAX + 4096];
        let pixels = u32::try_from(large.len() / 4 / 1024).expect("a number");
        for bad in ["", "?", "AAAA", &packed(1024, pixels, &large)] {
            assert!(unpack(bad).is_err(), "{} letters", bad.len());
        }
        let cut = packed(64, 64, &[9; 64 * 64 * 4]);
        assert!(unpack(&cut[..cut.len() / 2]).is_err(), "half of one");
    }
}

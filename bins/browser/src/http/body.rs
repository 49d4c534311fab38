//! Reads a request's body, within limits of size and time.

use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::timeout;
use waypost_api::Problem;
use waypost_mesh::limits::PAYLOAD_BYTES_MAX;

/// The same limit as on the mesh.
const BODY_BYTES_MAX: usize = PAYLOAD_BYTES_MAX;
/// How much of an oversized body is read and discarded: a client that is still sending would not
/// see its response.
const DRAIN_BYTES_MAX: usize = 80 << 20;
const BODY_TIME: Duration = Duration::from_secs(30);

/// The whole body, or a 413, 408 or 400 problem.
pub(super) async fn read(mut body: Incoming) -> Result<Vec<u8>, Problem> {
    let (mut kept, mut length) = (Vec::new(), 0);
    let reading = async {
        while let Some(frame) = body.frame().await {
            let Ok(piece) = frame.map_err(|_| broken())?.into_data() else { continue };
            length += piece.len();
            if length <= BODY_BYTES_MAX {
                kept.extend_from_slice(&piece);
            } else if length > DRAIN_BYTES_MAX {
                break;
            }
        }
        Ok(())
    };
    timeout(BODY_TIME, reading).await.map_err(|_| too_slow())??;
    if length > BODY_BYTES_MAX { Err(too_large()) } else { Ok(kept) }
}

fn too_large() -> Problem {
    let detail = format!("the body is larger than the limit of {BODY_BYTES_MAX} bytes");
    Problem::new(413, detail)
}

fn too_slow() -> Problem {
    Problem::new(408, format!("the body did not arrive within {} s", BODY_TIME.as_secs()))
}

fn broken() -> Problem {
    Problem::new(
        400,
        "the body ended early or its chunks are malformed; send what Content-Length or the chunks announce",
    )
}

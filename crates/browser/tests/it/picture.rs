//! Pictures of pages as a person sees them: their positions and colours.

use serde_json::json;
use waypost_browser::{
    Act, Color, Direction, Frame, Picture, PictureKey, Pixels, ProblemKind, Seen, View,
};

use crate::server::{Reply, Request, Server, page};
use crate::world::World;

const RED: Color = Color(255, 0, 0);
const BLUE: Color = Color(0, 0, 255);
const GREEN: Color = Color(0, 128, 0);

/// Red above, blue below.
const FLAG: &str =
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 10 10' preserveAspectRatio='none'>
    <rect width='10' height='5' fill='red'/><rect y='5' width='10' height='5' fill='blue'/></svg>";

fn pages(request: &Request) -> Option<Reply> {
    let kind = |body: &str| {
        let headers = vec![("content-type".to_owned(), "image/svg+xml".to_owned())];
        Some((200, headers, body.to_owned()))
    };
    match request.path.split('?').next()? {
        "/flag.svg" => kind(FLAG),
        "/green.svg" => kind(&FLAG.replace("red", "green").replace("blue", "green")),
        "/" => page("<style>body { margin: 0 } body > * { position: absolute }</style>
            <a href=/next style='left:80px;top:32px'><img id=flag src=/flag.svg style='width:161px;height:137px;display:block' alt='A flag'></a>
            <img src=/missing.png style='left:320px;top:32px;width:160px;height:64px' alt='No ship'>
            <img src=/flag.svg style='left:320px;top:112px;width:16px;height:16px' alt='Sign'>
            <input type=password value=hunter22 style='left:112px;top:48px;width:64px;height:16px;border:0;padding:0;background:white'>
            <p style='left:0;top:3000px'>The end</p>"),
        "/more" => page("<style>body { margin: 0 } body > * { position: absolute; left: 0; width: 160px; height: 64px }</style>
            <canvas style='top:0' id=c width=160 height=64></canvas>
            <svg style='top:64px'><rect width=160 height=64 fill=green /><text x=16 y=28>Label</text></svg>
            <div style='top:128px;background:url(/green.svg)'>Behind</div>
            <img id=other style='top:192px' src=/flag.svg>
            <script>const pen = c.getContext('2d'); pen.fillStyle = 'green'; pen.fillRect(0, 0, 160, 64);
            const turn = () => { other.src = '/green.svg'; pen.fillStyle = 'red'; pen.fillRect(0, 0, 160, 64) }</script>
            <button style='top:256px' onclick='turn()'>Turn</button>"),
        "/huge" => page("<body style='margin:0'><img src=/green.svg style='width:100000px;height:90000px;display:block' alt=Wall>"),
        "/noise" => page("<body style='margin:0'><canvas id=c width=1280 height=800></canvas><script>
            const pen = c.getContext('2d'); const all = pen.createImageData(1280, 800); let seed = 1;
            for (let at = 0; at < all.data.length; at += 1) { seed = (Math.imul(seed, 1103515245) + 12345) | 0; all.data[at] = at % 4 === 3 ? 255 : seed >>> 24 }
            pen.putImageData(all, 0, 0)</script>"),
        _ => None,
    }
}

fn view() -> View {
    View::new(80, 24, 100).with_pictures(true)
}

/// A frame with this many pictures: they appear once they have loaded.
async fn look(world: &World, pictures: usize) -> Frame {
    let mut seen: Option<Seen> = None;
    loop {
        let frame = world.relay.frame(view(), seen).await.expect("a frame");
        match frame {
            Some(frame) if frame.pictures.len() == pictures => return frame,
            Some(frame) => seen = Some(frame.seen),
            None => {}
        }
    }
}

async fn pixels(world: &World, frame: &Frame, dots: (u16, u16)) -> Vec<Pixels> {
    let keys: Vec<PictureKey> = frame.pictures.iter().map(|picture| picture.key).collect();
    world.relay.pictures(frame.seen, &keys, dots).await.expect("it is looked at")
}

/// The picture that is visible in a cell, and its halves there.
fn at(frame: &Frame, all: &[Pixels], column: u16, row: u16) -> Option<(Color, Color)> {
    let which = frame.cell(column, row)?.picture?;
    let picture: &Picture = &frame.pictures[usize::from(which)];
    let (own_column, own_row) = picture.place(column, row)?;
    all.iter().find(|item| item.key == picture.key)?.halves(own_column, own_row)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_picture_is_shown_in_its_colours_without_what_covers_it() {
    let server = Server::start(pages);
    let world = World::start(&[&server]).await;
    world.go(&server.url("/")).await;
    let frame = look(&world, 1).await;
    let flag = &frame.pictures[0];
    // 161 by 137 pixels from (80, 32): the cells whose middle is inside.
    assert_eq!((flag.column, flag.row, flag.key.columns, flag.key.rows), (10, 2, 20, 9));
    assert_eq!(flag.alt, "A flag");
    assert!(frame.row_text(2).contains("[No ship]"), "a broken one has its text: {frame}");
    assert!(!frame.to_string().contains("A flag"), "{frame}");
    assert_eq!(frame.cell(40, 7).and_then(|it| it.picture), None, "a sign is none: {frame}");
    let cell = frame.cell(12, 2).expect("a cell");
    let target = &frame.targets[usize::from(cell.target.expect("the link around it"))];
    assert_eq!(target.kind, waypost_browser::TargetKind::Link);

    let seen = pixels(&world, &frame, (1, 2)).await;
    assert_eq!(at(&frame, &seen, 10, 2), Some((RED, RED)));
    assert_eq!(at(&frame, &seen, 29, 5), Some((RED, RED)));
    assert_eq!(at(&frame, &seen, 20, 9), Some((BLUE, BLUE)));
    assert_eq!(at(&frame, &seen, 30, 5), None, "beside it");
    // The field on top of it is a field: nothing of its area is a picture.
    for column in 14..22 {
        assert_eq!(frame.cell(column, 3).expect("a cell").picture, None, "{frame}");
    }
    assert_eq!(seen[0].known(), 20 * 9 - 8);
    assert_eq!((seen[0].cell(4, 1), seen[0].cell(3, 1).is_some()), (None, true));
    // More colours per cell, where a terminal supports them.
    let fine = pixels(&world, &frame, (8, 16)).await;
    assert_eq!(fine[0].cell(0, 0).map(<[Color]>::len), Some(128));
    assert_eq!(at(&frame, &fine, 10, 2), Some((RED, RED)));

    // Programs get none of it without permission, and the person does not need it.
    world.refused("screenshot", json!({}), ProblemKind::Forbidden).await;
    // If pictures are not wanted, their descriptions are shown.
    let plain = world.relay.frame(view().with_pictures(false), None).await;
    let plain = plain.expect("a frame").expect("a view that was not seen");
    assert!(plain.row_text(2).contains("[A flag]") && plain.pictures.is_empty(), "{plain}");

    // After scrolling it is the same picture at another position.
    world.relay.human(Act::Scroll(Direction::Down, 4.0 / 24.0)).await.expect("scrolled");
    let moved = look(&world, 1).await;
    assert_eq!(moved.pictures[0].key, flag.key);
    assert_eq!((moved.pictures[0].column, moved.pictures[0].row), (10, -2));
    assert_eq!(at(&moved, &seen, 20, 0), Some((RED, RED)), "nothing is asked for again");
    let gone = world.relay.pictures(frame.seen, &[], (1, 2)).await.expect("it is looked at");
    assert_eq!(gone, []);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_drawn_or_lies_behind_is_a_picture_until_it_is_another() {
    let server = Server::start(pages);
    let world = World::start(&[&server]).await;
    world.go(&server.url("/more")).await;
    let frame = look(&world, 4).await;
    let seen = pixels(&world, &frame, (1, 2)).await;
    for (row, colors) in [(0, (GREEN, GREEN)), (6, (GREEN, GREEN)), (10, (GREEN, GREEN))] {
        assert_eq!(at(&frame, &seen, 15, row), Some(colors), "{row}: {frame}");
    }
    assert_eq!(at(&frame, &seen, 15, 12), Some((RED, RED)));
    // Letters are drawn on the background behind them.
    let shown = frame.to_string();
    assert!(shown.contains("Label") && shown.contains("Behind"), "{frame}");
    assert_eq!(frame.cell(0, 8).and_then(|it| it.picture), None, "{frame}");

    let keys: Vec<PictureKey> = frame.pictures.iter().map(|picture| picture.key).collect();
    world.ask("click", json!({ "selector": "button" })).await;
    let mut turned = look(&world, 4).await;
    // A canvas is checked from time to time.
    while turned.pictures[0].key == keys[0] || turned.pictures[3].key == keys[3] {
        turned = look(&world, 4).await;
    }
    assert_eq!((turned.pictures[1].key, turned.pictures[2].key), (keys[1], keys[2]));
    let seen = pixels(&world, &turned, (1, 2)).await;
    assert_eq!(at(&turned, &seen, 15, 1), Some((RED, RED)));
    assert_eq!(at(&turned, &seen, 15, 12), Some((GREEN, GREEN)));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_huge_picture_takes_no_more_memory_than_the_view() {
    let server = Server::start(pages);
    let world = World::start(&[&server]).await;
    world.go(&server.url("/huge")).await;
    let frame = look(&world, 1).await;
    assert_eq!((frame.pictures[0].key.columns, frame.pictures[0].key.rows), (12_500, 5_625));
    let seen = pixels(&world, &frame, (99, 99)).await;
    assert_eq!((seen[0].known(), seen[0].dots), (80 * 24, waypost_browser::DOTS_MAX));
    assert_eq!(at(&frame, &seen, 79, 23), Some((GREEN, GREEN)));
    // Zoomed out, the view has more pixels than are captured.
    let far = View::new(200, 60, 25).with_pictures(true);
    let frame = world.relay.frame(far, None).await.expect("a frame").expect("another view");
    let seen = pixels(&world, &frame, (1, 2)).await;
    assert_eq!(at(&frame, &seen, 120, 40), Some((GREEN, GREEN)));

    // A screenshot for programs is made small enough to be sent.
    world.relay.allow_screenshots(true);
    world.go(&server.url("/noise")).await;
    let taken = world.ask("screenshot", json!({})).await;
    let data = taken["data"].as_str().expect("a picture");
    assert!(data.starts_with("iVBOR") && data.len() <= 1_000_000, "{} letters", data.len());
    assert!(taken["scale"].as_f64().is_some_and(|it| it < 1.0), "{}", taken["scale"]);
    world.go(&server.url("/more")).await;
    assert_eq!(world.ask("screenshot", json!({})).await["scale"], 1.0);
    world.end().await;
}

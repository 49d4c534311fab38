//! The page as a person sees it in a terminal.

use waypost_browser::{Act, Color, Focus, Frame, Seen, TargetKind, View};

use crate::server::{Reply, Request, Server, page};
use crate::world::World;

const PLAIN: &str = "<style>body { margin: 0 } #aside { position: absolute; left: 320px; top: 32px;
    background: rgb(0, 0, 128); color: yellow; width: 80px } #over { position: absolute; left: 0;
    top: 160px; width: 160px; height: 16px; background: white; z-index: 2 }
    #under { position: absolute; left: 0; top: 160px; z-index: 1 }</style>
  <h1 style='margin:0'>Top</h1><p style='margin:16px 0'>One <a href=/next>link</a> and <b>bo</b>ld.</p>
  <div id=aside>Aside</div><div id=under>covered by something</div><div id=over></div>
  <table style='position:absolute;top:64px;left:0;border-spacing:0'>
    <tr><th style='padding:0;width:96px;text-align:left'>Name<th style='padding:0'>Price
    <tr><td style='padding:0'>Cup<td style='padding:0'>3.50
    <tr><td style='padding:0'>汉字 cup<td style='padding:0'>12.00</table>
  <div style='position:absolute;top:192px;left:0;white-space:nowrap'>hidden \
    <span style='display:none'>none</span><span style='visibility:hidden'>gone</span>\
    <span style='opacity:0'>clear</span></div>";

const FORM: &str = "<style>body { margin: 0 } input, button, select { position: absolute; left: 80px; width: 160px;
    height: 16px; border: 0; padding: 0; margin: 0 }</style>
  <input id=name value=Ada style='top:16px'><input id=pass type=password value=kanarienvogel style='top:48px'>
  <input placeholder='Your town' style='top:80px'><input type=checkbox checked style='top:112px;width:24px'>
  <select style='top:144px'><option>Small<option selected>Large</select>
  <button style='top:176px'>Go on</button><div id=told style='position:absolute;top:208px'></div>
  <script>pass.oninput = () => told.textContent = 'no ' + pass.value</script>";

fn pages(request: &Request) -> Option<Reply> {
    match request.path.as_str() {
        "/" => page(PLAIN),
        "/form" => page(FORM),
        "/hostile" => page(
            "<style>body { margin: 0 }</style><p>\u{1b}]52;c;aGk=\u{7}one\u{9b}31m \u{202e}two\u{200b}</p>
             <input value='\u{1b}[2J\u{9d}x'><a href=/ title='\u{1b}c'><i aria-label='\u{1b}P\u{9c}ok'></i></a>",
        ),
        "/grow" => page("<body style='margin:0'><div id=a>first</div><div id=host></div><script>
            host.attachShadow({mode: 'open'}).innerHTML = '<b>shadow</b>';
            onclick = () => { a.textContent = 'second' }</script>"),
        "/around" => page("<body style='margin:0'>outside<iframe src=/inside
            style='position:absolute;left:80px;top:64px;width:320px;height:64px;border:0'></iframe>"),
        "/inside" => page("<body style='margin:0'><a href=/>inner link</a><input autofocus
            style='position:absolute;left:0;top:32px;border:0;padding:0'>"),
        "/long" => page("<body style='margin:0'><table><tbody></table><script>
            document.querySelector('tbody').innerHTML = Array.from({ length: 60000 },
              (_, i) => `<tr><td>row ${i}<td>${i * 2}`).join('')</script>"),
        "/made" => page("<style>body, p { margin: 0 } .q::before { content: '» ' } .q::after { content: ' «' }
            @media all { .need::after { content: '*'; color: red } } .no::before { content: '' } .at::after { content: ' [' attr(title) ']' }
            .arrow { position: relative; padding-left: 24px } .arrow::before { content: '→'; position: absolute; left: 0; top: 0 }
            .upper::before { content: 'note: '; text-transform: uppercase } .big::before { content: 'Above'; display: block }
            .gone::after { content: 'unseen'; visibility: hidden } ol { margin: 0; padding-left: 32px }</style>
            <p class=q>said</p><p class=need>Name</p><p class=no>plain</p><p class=at title=x>Ref</p><p class=arrow>onward</p>
            <p class=upper>mind</p><p class=big>below</p><p class=gone>kept</p><ol><li>one<li>two</ol>"),
        "/stray" => page("<style>body { margin: 0 } #far { position: absolute; top: 5000px; width: 9px; height: 9px }
            #near { position: fixed; top: 64px; left: 80px; width: 160px; height: 80px; background: navy; color: white }
            </style>first<div id=far><div><div id=near><button>Near</button></div></div></div>"),
        "/tall" => page("<style>html, body { height: 100%; margin: 0 } div { height: 160px }</style>
            <div>a</div><div>b</div><div>c</div><div>d</div><div>e</div><div>f</div><div>g</div><div>h</div>"),
        _ => None,
    }
}

async fn look(world: &World, view: View) -> Frame {
    world.relay.frame(view, None).await.expect("a frame").expect("nothing was seen yet")
}

fn at<'a>(frame: &'a Frame, text: &str) -> (u16, u16, &'a waypost_browser::Cell) {
    let mut rows = 0..frame.view().rows();
    let found = rows.find_map(|row| frame.row_text(row).find(text).map(|text| (text, row)));
    let (column, row) =
        found.ok_or_else(|| format!("no {text:?} in\n{frame}")).expect("it is drawn");
    // Letters before it may be wide.
    let before = &frame.row_text(row)[..column];
    let mut column = before.chars().count() as u16;
    column += before.chars().filter(|c| *c > '\u{1100}').count() as u16;
    (column, row, frame.cell(column, row).expect("a cell"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn text_stands_where_the_layout_puts_it() {
    let server = Server::start(pages);
    let world = World::start(&[&server]).await;
    let view = View::new(60, 20, 100);
    world.go(&server.url("/")).await;
    let frame = look(&world, view).await;
    let place = |text: &str| {
        let (column, row, _) = at(&frame, text);
        (column, row)
    };
    assert_eq!(place("Top"), (0, 0), "{frame}");
    assert!(at(&frame, "Top").2.bold);
    assert_eq!(frame.row_text(2), format!("{:40}Aside", "One link and bold."), "{frame}");
    assert!(at(&frame, "bold").2.bold && !at(&frame, "ld.").2.bold);
    let aside = at(&frame, "Aside").2;
    assert_eq!((aside.foreground, aside.background), (Color(255, 255, 0), Color(0, 0, 128)));
    assert_eq!(frame.cell(49, 2).expect("a cell").background, Color(0, 0, 128), "its whole box");
    assert_eq!(frame.cell(50, 2).expect("a cell").background, Color(255, 255, 255));
    // Columns stay aligned, whatever letters they contain.
    assert_eq!((place("Name"), place("Price")), ((0, 4), (12, 4)), "{frame}");
    assert_eq!((place("Cup"), place("3.50")), ((0, 5), (12, 5)), "{frame}");
    assert_eq!((place("汉字"), place("12.00")), ((0, 6), (12, 6)), "{frame}");
    // An upper layer hides what is below it; invisible elements are not drawn.
    assert_eq!(frame.row_text(10), "", "{frame}");
    assert_eq!(frame.row_text(12), "hidden", "{frame}");

    let link = at(&frame, "link").2;
    assert!(link.underline && !link.inverse);
    let target = &frame.targets[usize::from(link.target.expect("a target"))];
    assert_eq!(target.kind, TargetKind::Link);
    assert_eq!(at(&frame, "and").2.target, None);
    world.relay.human(Act::Press("Tab".parse().expect("a key"))).await.expect("pressed");
    let focused = look(&world, view).await;
    assert!(at(&focused, "link").2.inverse && !at(&focused, "and").2.inverse, "the focus is seen");
    // A click on its first letter is a click on it.
    let (x, y) = frame.point(4, 2);
    assert!((32.0..64.0).contains(&x) && (32.0..48.0).contains(&y), "{x} {y}");
    world.relay.human(Act::Click(x, y)).await.expect("clicked");
    assert!(world.relay.shown_tabs().0[0].url.ends_with("/next"));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_style_sheets_write_is_drawn_beside_what_the_page_says() {
    let server = Server::start(pages);
    let world = World::start(&[&server]).await;
    world.go(&server.url("/made")).await;
    let frame = look(&world, View::new(40, 20, 100)).await;
    let shown: Vec<String> = (0..11).map(|number| frame.row_text(number)).collect();
    let expected = [
        "» said «",
        "Name*",
        "plain",
        "Ref [x]",
        "→  onward",
        "NOTE: mind",
        "Above",
        "below",
        "kept",
        " 1. one",
        " 2. two",
    ];
    assert_eq!(shown, expected, "{frame}");
    assert_eq!(at(&frame, "*").2.foreground, Color(255, 0, 0));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fields_show_their_content_and_secret_fields_do_not() {
    let server = Server::start(pages);
    let world = World::start(&[&server]).await;
    let view = View::new(60, 20, 100);
    world.go(&server.url("/form")).await;
    let frame = look(&world, view).await;
    assert_eq!(frame.row_text(1), format!("{:10}Ada", ""), "{frame}");
    assert_eq!(frame.row_text(3), format!("{:10}•••••••••••••", ""), "{frame}");
    let faint = at(&frame, "Your town").2;
    assert_ne!(faint.foreground, at(&frame, "Ada").2.foreground);
    for shown in ["[x]", "Large", "▾", "Go on"] {
        at(&frame, shown);
    }
    use TargetKind::{Button, Check, Secret, Select, Text};
    let kinds: Vec<TargetKind> = frame.targets.iter().map(|target| target.kind).collect();
    assert_eq!(kinds, [Text, Secret, Text, Check, Select, Button]);
    assert_eq!(frame.targets[4].options, ["Small", "Large"]);
    let cell = frame.cell(29, 1).expect("a cell");
    assert!(cell.underline && cell.target == Some(0), "the whole field is one: {frame}");
    assert_eq!((frame.caret, frame.focus), (None, None));

    for (row, typed, focus) in [(1, " Lovelace", Focus::Text), (3, "hunter22", Focus::Secret)] {
        let (x, y) = frame.point(28, row);
        world.relay.human(Act::Click(x, y)).await.expect("clicked");
        world.relay.human(Act::Press("End".parse().expect("a key"))).await.expect("pressed");
        world.relay.human(Act::Type(typed.to_owned())).await.expect("typed");
        let frame = look(&world, view).await;
        assert_eq!(frame.focus, Some(focus), "{frame}");
        // The caret at the end of a full field is visible.
        let before = if row == 1 { "Ada Lovelace".to_owned() } else { "•".repeat(19) };
        assert_eq!(frame.row_text(row).trim_start(), before, "{frame}");
        let caret = 10 + before.chars().count() as u16;
        assert_eq!(frame.caret, Some((caret, row)), "{frame}");
    }
    let told = look(&world, view).await.to_string();
    assert!(!told.contains("hunter22") && told.contains("no ••••"), "{told}");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_changes_is_drawn_anew_and_what_does_not_is_not() {
    let server = Server::start(pages);
    let world = World::start(&[&server]).await;
    let view = View::new(60, 20, 100);
    world.go(&server.url("/grow")).await;
    let mut seen: Option<Seen> = None;
    let mut frame = None;
    // A page that has just arrived may still be changing.
    while let Some(next) = world.relay.frame(view, seen).await.expect("a frame") {
        seen = Some(next.seen);
        frame = Some(next);
    }
    let frame = frame.expect("a frame");
    assert_eq!((frame.row_text(0), frame.row_text(1)), ("first".to_owned(), "shadow".to_owned()));
    let next = world.relay.frame(view, seen);
    let (next, clicked) = tokio::join!(next, world.relay.human(Act::Click(4.0, 4.0)));
    clicked.expect("clicked");
    let next = match next.expect("a frame") {
        Some(next) if next.row_text(0) == "second" => next,
        _ => look(&world, view).await,
    };
    assert_eq!(next.row_text(0), "second");

    world.relay.hand_back();
    world.go(&server.url("/around")).await;
    let frame = look(&world, view).await;
    let (column, row, cell) = at(&frame, "inner link");
    assert_eq!((column, row), (10, 4), "{frame}");
    assert!(cell.target.is_some() && cell.underline);
    world.relay.human(Act::Click(90.0, 104.0)).await.expect("clicked");
    world.relay.human(Act::Type("typed".to_owned())).await.expect("typed");
    let frame = look(&world, view).await;
    assert_eq!(frame.focus, Some(Focus::Text), "in the frame: {frame}");
    assert_eq!(frame.caret, Some((15, 6)), "{frame}");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_page_controls_the_terminal_and_every_size_works() {
    let server = Server::start(pages);
    let world = World::start(&[&server]).await;
    world.go(&server.url("/hostile")).await;
    let frame = look(&world, View::new(80, 24, 100)).await;
    let shown = frame.to_string();
    assert!(shown.contains("]52;c;aGk=one31m"), "{shown}");
    let is_plain = |c: char| c == '\n' || !(c.is_control() || "\u{202e}\u{200b}".contains(c));
    assert!(shown.chars().all(is_plain), "{shown:?}");

    for (columns, rows, zoom) in [(1, 1, 100), (2, 1, 400), (500, 120, 100), (80, 24, 25)] {
        let view = View::new(columns, rows, zoom);
        let frame = look(&world, view).await;
        assert!(frame.cell(columns - 1, rows - 1).is_some() && frame.cell(columns, 0).is_none());
    }
    // Zoomed in, the same length takes more cells, but each letter still takes one.
    world.go(&server.url("/")).await;
    let near = look(&world, View::new(100, 40, 200)).await;
    assert_eq!((at(&near, "Aside").0, at(&near, "Price").0), (80, 24), "{near}");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_visible_part_of_a_long_page_is_drawn() {
    let server = Server::start(pages);
    let world = World::start(&[&server]).await;
    let view = View::new(60, 20, 100);
    world.go(&server.url("/long")).await;
    let frame = look(&world, view).await;
    assert!(frame.row_text(0).starts_with("row 0"), "{frame}");
    world
        .relay
        .human(Act::Scroll(waypost_browser::Direction::Bottom, 1.0))
        .await
        .expect("scrolled");
    let frame = look(&world, view).await;
    let last = frame.row_text(19);
    assert!(last.starts_with("row 59999") && last.ends_with("119998"), "{frame}");
    assert!(frame.scrolled.y > 900_000.0 && frame.scrolled.y == frame.scrolled.y_max);

    // A fixed element in view is drawn, wherever its ancestors are: each frame spends some time
    // searching for it.
    world.relay.hand_back();
    world.go(&server.url("/stray")).await;
    let mut frame = look(&world, view).await;
    while !frame.to_string().contains("Near") {
        frame = look(&world, view).await;
    }
    let near = at(&frame, "Near").2;
    assert!(near.target.is_some(), "{frame}");
    assert_eq!(frame.cell(29, 4).expect("a cell").background, Color(0, 0, 128), "{frame}");

    // Content that overflows a page as high as the view is still drawn.
    world.relay.hand_back();
    world.go(&server.url("/tall")).await;
    world
        .relay
        .human(Act::Scroll(waypost_browser::Direction::Bottom, 1.0))
        .await
        .expect("scrolled");
    let frame = look(&world, view).await;
    assert_eq!(frame.row_text(10), "h", "{frame}");
    world.end().await;
}

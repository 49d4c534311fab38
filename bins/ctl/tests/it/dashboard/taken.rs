//! A program of another user takes the port of the service while a tab is open.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use serde_json::json;
use waypost_api::routes;

use super::page::{opened, press, show, signed_in, text};
use crate::chrome::{Chrome, Tab};
use crate::service::Service;
use crate::wait::until;

const UNSAVED: &str = "a text that is not saved yet";

/// What the program was sent, and its connections, which it keeps open.
#[derive(Default)]
struct Heard {
    text: String,
    requests: usize,
    connections: Vec<TcpStream>,
    has_left: bool,
}

/// The program.
struct Stranger {
    address: String,
    heard: Arc<Mutex<Heard>>,
}

impl Stranger {
    /// Listens in place of a service; passes requests on to another address, if there is one.
    fn listen(address: &str, beyond: Option<String>) -> Self {
        let listener = until(|| TcpListener::bind(address));
        let heard = Arc::<Mutex<Heard>>::default();
        let (shared, own) = (Arc::clone(&heard), address.to_owned());
        thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.expect("a connection");
                let mut heard = shared.lock().expect("no panic");
                if heard.has_left {
                    return;
                }
                heard.connections.push(stream.try_clone().expect("a connection"));
                let (shared, ways) = (Arc::clone(&shared), (own.clone(), beyond.clone()));
                thread::spawn(move || serve(&stream, &shared, &ways));
            }
        });
        Self { address: address.to_owned(), heard }
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().expect("no panic")
    }

    /// Stops listening. Its connections stay.
    fn leave(&self) {
        self.heard().has_left = true;
        until(|| match TcpStream::connect(&self.address) {
            Ok(_) => Err("it still listens"),
            Err(_) => Ok(()),
        });
    }

    fn disconnect(&self) {
        for stream in &self.heard().connections {
            // The browser may have closed it.
            drop(stream.shutdown(Shutdown::Both));
        }
    }

    /// Fails if it was sent anything but requests for a proof.
    fn learned_nothing(&self, secrets: &[String]) {
        let heard = self.heard();
        assert!(heard.text.contains("POST /api/dashboard/proof "), "{}", heard.text);
        let secrets = secrets.iter().map(|token| token.rsplit('_').next().expect("a secret"));
        for word in ["authorization", "wp_", "event-id", "GET ", UNSAVED].into_iter().chain(secrets)
        {
            assert!(!heard.text.contains(word), "{word} is in {}", heard.text);
        }
    }
}

/// Responds to the requests of a connection, but to the first of all with nothing.
fn serve(mut stream: &TcpStream, heard: &Mutex<Heard>, (own, beyond): &(String, Option<String>)) {
    let mut reader = BufReader::new(stream);
    loop {
        let (mut head, mut length) = (String::new(), 0);
        while !head.ends_with("\r\n\r\n") {
            let from = head.len();
            if reader.read_line(&mut head).unwrap_or(0) == 0 {
                return;
            }
            let line = head[from..].to_ascii_lowercase();
            if let Some(it) = line.strip_prefix("content-length:") {
                length = it.trim().parse().expect("a length");
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).expect("a body");
        let request = head.clone() + &String::from_utf8_lossy(&body);
        let is_first = {
            let mut heard = heard.lock().expect("no panic");
            heard.text += &request;
            heard.requests += 1;
            heard.requests == 1
        };
        if is_first {
            drop(stream.shutdown(Shutdown::Both));
            return;
        }
        let response = match beyond {
            Some(beyond) => pass(&request.replace(own, beyond), beyond),
            None if head.starts_with("POST /api/dashboard/proof ") => {
                respond(&json!({"proof": "00".repeat(32)}).to_string())
            }
            None => respond("[]"),
        };
        if stream.write_all(&response).is_err() {
            return;
        }
    }
}

fn respond(body: &str) -> Vec<u8> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length";
    format!("{head}: {}\r\n\r\n{body}", body.len()).into_bytes()
}

fn pass(request: &str, beyond: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect(beyond).expect("the service accepts");
    let request = request.replace("keep-alive", "close");
    stream.write_all(request.as_bytes()).expect("a connection");
    let mut response = Vec::new();
    stream.read_to_end(&mut response).expect("a response");
    response
}

fn token(chrome: &mut Chrome, tab: &Tab) -> String {
    let token = chrome.value(tab, "sessionStorage.getItem('waypost.token')");
    token.as_str().expect("a token").to_owned()
}

#[track_caller]
fn is_told(chrome: &mut Chrome, tab: &Tab) {
    chrome.until(tab, "document.querySelector('.door .problem')");
    let shown = text(chrome, tab);
    assert!(shown.contains("another program") && shown.contains("ctl open"), "{shown}");
    assert_eq!(chrome.value(tab, "sessionStorage.length"), 0);
}

#[test]
fn who_takes_the_port_learns_nothing_and_is_not_believed() {
    let mut service = Service::start();
    let address = service.url().strip_prefix("http://").expect("an address").to_owned();
    let id = service.add("A text that is stored.");
    let mut chrome = Chrome::start();
    let live = signed_in(&service, &mut chrome);
    show(&mut chrome, &live, "events");
    let editing = signed_in(&service, &mut chrome);
    show(&mut chrome, &editing, &format!("memory/{id}"));
    press(&mut chrome, &editing, "Edit");
    let text_box = "document.querySelector('form.edit textarea').value";
    chrome.until(&editing, "document.querySelector('form.edit')");
    chrome.value(&editing, &format!("{text_box} = {}", json!(UNSAVED)));
    let secrets = [token(&mut chrome, &live), token(&mut chrome, &editing)];

    service.stop();
    let stranger = Stranger::listen(&address, None);
    is_told(&mut chrome, &live);
    assert!(stranger.heard().requests > 1, "the stream was tried again");
    press(&mut chrome, &editing, "Save");
    is_told(&mut chrome, &editing);
    assert_eq!(chrome.value(&editing, text_box), UNSAVED, "it can be copied");
    press(&mut chrome, &editing, "Save");
    chrome.until(&editing, "document.body.innerText.includes('This tab is signed out.')");
    stranger.learned_nothing(&secrets);

    // The browser does not use its connections to load the page of the service that is back.
    stranger.leave();
    let service = service.restart_at(&address);
    let next = chrome.tab();
    chrome.go(&next, &format!("file://{}", opened(&service, &[]).display()));
    chrome.until(&next, "document.querySelector('#nav a, .door')");
    stranger.learned_nothing(&secrets);
    stranger.disconnect();
    chrome.go(&next, &format!("file://{}", opened(&service, &[]).display()));
    chrome.until(&next, "document.querySelector('#nav a[aria-current=page]')");
    for secret in &secrets {
        let client = waypost_api::client::Client::new(service.url(), Some(secret));
        client
            .expect("an address")
            .call(&routes::CURRENT_TOKEN, ())
            .expect_err("it ended with its start");
    }
    assert_eq!(chrome.complaints, Vec::<String>::new());
}

#[test]
fn who_stands_between_a_tab_and_a_later_start_learns_nothing() {
    let service = Service::start();
    let address = service.url().strip_prefix("http://").expect("an address").to_owned();
    let mut chrome = Chrome::start();
    let tab = signed_in(&service, &mut chrome);
    let secrets = [token(&mut chrome, &tab)];
    let service = service.restart();
    let beyond = service.url().strip_prefix("http://").expect("an address").to_owned();
    let stranger = Stranger::listen(&address, Some(beyond));
    // The first request gets no response, which is not told from a service that has stopped.
    show(&mut chrome, &tab, "context");
    chrome.until(&tab, "document.querySelector('main .problem')");
    assert_eq!(token(&mut chrome, &tab), secrets[0]);
    show(&mut chrome, &tab, "status");
    is_told(&mut chrome, &tab);
    stranger.learned_nothing(&secrets);
}

#[test]
fn a_tab_says_so_when_its_service_was_restarted() {
    let service = Service::start();
    let address = service.url().strip_prefix("http://").expect("an address").to_owned();
    let mut chrome = Chrome::start();
    let tab = signed_in(&service, &mut chrome);
    let reloaded = signed_in(&service, &mut chrome);
    let service = service.restart_at(&address);
    show(&mut chrome, &tab, "status");
    is_told(&mut chrome, &tab);
    chrome.call(Some(&reloaded), "Page.reload", &json!({}));
    is_told(&mut chrome, &reloaded);
    chrome.go(&tab, &format!("file://{}", opened(&service, &[]).display()));
    chrome.until(&tab, "document.querySelector('#nav a[aria-current=page]')");
}

//! A hub on the loopback interface: it implements as much of the hub's file protocol as its client
//! needs (ranges, entity tags, the commit, a redirect of large files to other storage), and can be
//! made to misbehave.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// How the hub serves the weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    Good,
    /// The first download breaks off half way.
    BreaksOffOnce,
    /// Accepts connections and never responds.
    Silent,
    /// Sends an entity tag that would be a path out of the client's folder.
    Climbs,
}

pub(crate) struct LoopbackHub {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    stopping: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

struct Serving {
    files: Vec<(String, Vec<u8>)>,
    manner: Manner,
    broke_off: AtomicBool,
    requests: Arc<Mutex<Vec<String>>>,
}

impl LoopbackHub {
    pub(crate) fn start(files: Vec<(&str, Vec<u8>)>, manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let stopping = Arc::new(AtomicBool::new(false));
        let serving = Serving {
            files: files.into_iter().map(|(name, content)| (name.to_owned(), content)).collect(),
            manner,
            broke_off: AtomicBool::new(false),
            requests: Arc::clone(&requests),
        };
        let stop = Arc::clone(&stopping);
        let thread = std::thread::spawn(move || {
            let mut open = Vec::new();
            for stream in listener.incoming() {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                let stream = stream.unwrap();
                if serving.manner == Manner::Silent {
                    open.push(stream);
                } else {
                    // A client that disconnects early is not an error here.
                    drop(serving.answer(&stream));
                }
            }
        });
        Self { address, requests, stopping, thread: Some(thread) }
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// `PATH RANGE` of each request so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    /// The requests for a file's content, without those that only query its length.
    pub(crate) fn downloads(&self, file: &str) -> Vec<String> {
        let wanted = |text: &String| text.contains(&format!("/storage/{file} "));
        let asks = |text: &String| text.ends_with("bytes=0-0");
        self.requests().into_iter().filter(|request| wanted(request) && !asks(request)).collect()
    }
}

impl Drop for LoopbackHub {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Serving {
    fn answer(&self, mut stream: &TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        let mut range = String::new();
        loop {
            line.clear();
            if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("range")
            {
                value.trim().clone_into(&mut range);
            }
        }
        self.requests.lock().unwrap().push(format!("{path} {range}"));
        let Some((name, content)) =
            self.files.iter().find(|(name, _)| path.ends_with(&format!("/{name}")))
        else {
            return stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
        };
        let etag = match self.manner {
            Manner::Climbs => "../../../../escaped".to_owned(),
            _ => format!("etag-of-{name}"),
        };
        let identity = format!("ETag: \"{etag}\"\r\nX-Repo-Commit: 0123abcd\r\n");
        if path.contains("/resolve/") {
            let answer = format!(
                "HTTP/1.1 302 Found\r\nLocation: http://{}/storage/{name}\r\n{identity}\
                 Content-Length: 0\r\nConnection: close\r\n\r\n",
                stream.local_addr()?
            );
            return stream.write_all(answer.as_bytes());
        }
        let (start, end) = parse(&range, content.len());
        if start >= content.len() {
            let answer = b"HTTP/1.1 416 Range Not Satisfiable\r\nContent-Length: 0\r\n\
                Connection: close\r\n\r\n";
            return stream.write_all(answer);
        }
        let body = &content[start..end];
        let head = format!(
            "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {start}-{}/{}\r\n{identity}\
             Content-Length: {}\r\nConnection: close\r\n\r\n",
            end - 1,
            content.len(),
            body.len()
        );
        stream.write_all(head.as_bytes())?;
        let breaks_off = self.manner == Manner::BreaksOffOnce
            && name == "model.safetensors"
            && body.len() > 1
            && !self.broke_off.swap(true, Ordering::SeqCst);
        let sent = if breaks_off { &body[..body.len() / 2] } else { body };
        stream.write_all(sent)
    }
}

/// `bytes=START-` or `bytes=START-END`; the end is exclusive here.
fn parse(range: &str, length: usize) -> (usize, usize) {
    let (start, end) =
        range.strip_prefix("bytes=").and_then(|rest| rest.split_once('-')).unwrap_or_default();
    let end = end.parse::<usize>().map_or(length, |end| length.min(end + 1));
    (start.parse().unwrap_or(0), end)
}

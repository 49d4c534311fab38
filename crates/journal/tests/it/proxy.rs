//! A connection between the journal and the server that fails at a chosen moment.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::server::Server;

/// What happens to the next statement that contains a text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Fault {
    /// It does not reach the server, and the connection ends.
    CutBefore,
    /// It reaches the server, and the connection ends before the answer.
    CutAfter,
    /// The connection ends for the client; the statement reaches the server later.
    Hold,
    /// It does not reach the server, and nobody learns of it: the connection does not end.
    LoseStatement,
    /// It reaches the server, but the answer does not reach the client: the connection does not end.
    LoseAnswer,
}

type Armed = Arc<Mutex<Option<(&'static str, Fault)>>>;
/// A held statement, where to send it, and what the server sends after the client has gone.
type Held = Arc<Mutex<Option<(UnixStream, Vec<u8>, Receiver<Vec<u8>>)>>>;

pub(crate) struct Proxy {
    pub(crate) port: u16,
    armed: Armed,
    held: Held,
}

impl Proxy {
    pub(crate) fn new(server: &Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (armed, held) = (Armed::default(), Held::default());
        let proxy = Self { port, armed: Arc::clone(&armed), held: Arc::clone(&held) };
        let socket = server.folder.path().join(format!(".s.PGSQL.{}", server.port));
        // It ends with the process of the test.
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let (armed, held) = (Arc::clone(&armed), Arc::clone(&held));
                let socket: PathBuf = socket.clone();
                thread::spawn(move || {
                    // A server that was killed refuses connections.
                    let Ok(server) = UnixStream::connect(&socket) else { return };
                    let (from, to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
                    let (late, rest) = channel();
                    let is_mute = Arc::new(AtomicBool::new(false));
                    let mute = Arc::clone(&is_mute);
                    thread::spawn(move || down(from, to, &late, &mute));
                    up(client, server, rest, (&armed, &held, &is_mute));
                });
            }
        });
        proxy
    }

    pub(crate) fn url(&self) -> String {
        format!("postgresql://waypost@127.0.0.1:{}/waypost", self.port)
    }

    /// Lets the next statement that contains `text` fail.
    pub(crate) fn arm(&self, text: &'static str, fault: Fault) {
        *self.armed.lock().unwrap() = Some((text, fault));
    }

    /// Whether the fault has happened.
    pub(crate) fn has_failed(&self) -> bool {
        self.armed.lock().unwrap().is_none()
    }

    /// Sends the statement that was held, and waits for the whole answer.
    pub(crate) fn release(&self) {
        let (mut server, statement, rest) = self.held.lock().unwrap().take().unwrap();
        server.write_all(&statement).unwrap();
        let mut answer = Vec::new();
        // `Z` with the state `I`: the server is ready and in no transaction.
        while !answer.ends_with(b"Z\0\0\0\x05I") {
            answer.extend(rest.recv_timeout(Duration::from_secs(60)).unwrap());
        }
    }
}

fn up(
    mut client: TcpStream,
    mut server: UnixStream,
    rest: Receiver<Vec<u8>>,
    (armed, held, is_mute): (&Armed, &Held, &AtomicBool),
) {
    let mut buffer = vec![0; 1 << 20];
    while let Ok(len @ 1..) = client.read(&mut buffer) {
        let bytes = &buffer[..len];
        let fault = {
            let mut armed = armed.lock().unwrap();
            let hit = armed.is_some_and(|(text, _)| contains(bytes, text.as_bytes()));
            if hit { armed.take() } else { None }
        };
        match fault.map(|(_, fault)| fault) {
            None => {
                if server.write_all(bytes).is_err() {
                    break;
                }
            }
            Some(Fault::CutBefore) => break,
            Some(fault @ (Fault::LoseStatement | Fault::LoseAnswer)) => {
                is_mute.store(true, Ordering::Release);
                if fault == Fault::LoseAnswer {
                    server.write_all(bytes).ok();
                }
                // Nothing else gets through, until the client ends the connection.
                while let Ok(1..) = client.read(&mut buffer) {}
                break;
            }
            Some(Fault::CutAfter) => {
                client.shutdown(Shutdown::Both).ok();
                server.write_all(bytes).ok();
                // The other thread reads the answer until the server sees the end.
                server.shutdown(Shutdown::Write).ok();
                return;
            }
            Some(Fault::Hold) => {
                *held.lock().unwrap() = Some((server, bytes.to_vec(), rest));
                client.shutdown(Shutdown::Both).ok();
                return;
            }
        }
    }
    client.shutdown(Shutdown::Both).ok();
    server.shutdown(Shutdown::Both).ok();
}

fn down(
    mut server: UnixStream,
    mut client: TcpStream,
    late: &Sender<Vec<u8>>,
    is_mute: &AtomicBool,
) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(len @ 1..) = server.read(&mut buffer) {
        if is_mute.load(Ordering::Acquire) {
            continue;
        }
        if client.write_all(&buffer[..len]).is_err() {
            late.send(buffer[..len].to_vec()).ok();
        }
    }
    client.shutdown(Shutdown::Both).ok();
}

fn contains(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
}

//! The format of a backup, in transit and on disk: files one after the other, each with its length and SHA-256.
//!
//! `docs/formats.md` specifies the bytes. The first line is the header; each file is a line with its name and length,
//! its bytes, and a line with its SHA-256; the last line contains the totals and the SHA-256 of everything before it.

use std::collections::BTreeSet;
use std::io::{self, BufRead, Read, Write};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use waypost_time::Timestamp;

const FORMAT: &str = "waypost-backup";
/// 2 since it has the recall log.
const VERSION: u32 = 2;
/// A line contains a name and a few numbers.
const LINE_BYTES_MAX: u64 = 4096;
const BUFFER_BYTES: usize = 128 << 10;

/// The media type of a backup.
pub const MEDIA_TYPE: &str = "application/vnd.waypost.backup";
/// The response header with the total number of bytes in the files of a backup.
pub const BYTES_HEADER: &str = "waypost-backup-bytes";

/// The files of a data folder that a backup contains.
///
/// Neither these nor the [`FOLDERS`] include derived data, files that only matter while a process runs, and the file
/// that says whether the folder is trusted.
pub const FILES: [&str; 3] = ["format", "tokens.json", "events/first"];
/// The folders of a data folder that a backup contains, with everything in them: data comes before what it refers to.
pub const FOLDERS: [&str; 7] = [
    "flows/log",
    "flows/output",
    "events/log",
    "recall/log",
    "memory/vectors",
    "memory/log",
    "pairing",
];

/// Whether a file with that path in a data folder belongs in a backup. Nothing else is restored from one.
pub fn is_part(path: &str) -> bool {
    let is_plain = |part: &str| {
        !part.is_empty()
            && !part.bytes().all(|byte| byte == b'.')
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
    };
    let name = path.rsplit('/').next().unwrap_or_default();
    let is_scrap = name == "lock" || matches!(name.rsplit_once('.'), Some((_, "new" | "damaged")));
    path.len() <= 255
        && path.split('/').all(is_plain)
        && !is_scrap
        && (FILES.contains(&path)
            || FOLDERS
                .iter()
                .any(|folder| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))))
}

/// Whether a repair has set that file aside, or a folder that it is in. A new backup leaves these out; those of earlier
/// releases may have files of such folders.
pub fn is_set_aside(path: &str) -> bool {
    path.split('/').any(|part| part.ends_with(".damaged"))
}

/// Why a backup cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It is not a backup.
    #[error("not a backup: the file does not start with `{FORMAT}`")]
    Foreign,
    /// It is an export of memories.
    #[error("the file is an export of memories, not a backup")]
    Export,
    /// A newer program wrote it.
    #[error("the backup has version {found}; this program supports versions up to {VERSION}")]
    Newer {
        /// Its version.
        found: u32,
    },
    /// A part of it has changed.
    #[error("the backup is damaged: {part} {what}")]
    Damaged {
        /// The part.
        part: String,
        /// What is wrong with it.
        what: String,
    },
    /// It cannot be read.
    #[error("failed to read the backup")]
    Read {
        /// The cause.
        source: io::Error,
    },
    /// It, or a file from it, cannot be written.
    #[error("failed to write {what}")]
    Write {
        /// The file.
        what: String,
        /// The cause.
        source: io::Error,
    },
}

fn damaged(part: &str, what: impl Into<String>) -> Error {
    Error::Damaged { part: part.to_owned(), what: what.into() }
}

/// The totals of a backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The number of files.
    pub files: u64,
    /// Their total size in bytes.
    pub bytes: u64,
    /// The SHA-256 of everything except the last line, in hexadecimal.
    pub sha256: String,
}

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Header {
    format: String,
    version: u32,
    created_at: Timestamp,
    program: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileLine {
    file: String,
    bytes: u64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DigestLine {
    sha256: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EndLine {
    end: bool,
    files: u64,
    bytes: u64,
    sha256: String,
}

/// Writes a backup.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    all: Sha256,
    files: u64,
    bytes: u64,
}

impl<W: Write> Writer<W> {
    /// Starts a backup with this time and program version.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn new(out: W, now: Timestamp, program: &str) -> Result<Self, Error> {
        let mut writer = Self { out, all: Sha256::new(), files: 0, bytes: 0 };
        let header = Header {
            format: FORMAT.to_owned(),
            version: VERSION,
            created_at: now,
            program: program.to_owned(),
        };
        writer.line(&header)?;
        Ok(writer)
    }

    /// Adds a file with that path and that number of bytes.
    ///
    /// # Errors
    /// [`Error::Write`], and [`Error::Damaged`] if the path is not part of a backup or the content has another length.
    pub fn file(&mut self, path: &str, bytes: u64, content: &mut dyn Read) -> Result<(), Error> {
        if !is_part(path) {
            return Err(damaged(path, "does not belong in a backup"));
        }
        self.line(&FileLine { file: path.to_owned(), bytes })?;
        let mut digest = Sha256::new();
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut left = bytes;
        while left > 0 {
            let room = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let read = read_some(content, &mut buffer[..room])
                .map_err(|source| Error::Write { what: path.to_owned(), source })?;
            if read == 0 {
                return Err(damaged(path, "was truncated while it was read"));
            }
            digest.update(&buffer[..read]);
            self.put(&buffer[..read])?;
            left -= read as u64;
        }
        self.put(b"\n")?;
        self.line(&DigestLine { sha256: hex(digest) })?;
        self.files += 1;
        self.bytes += bytes;
        Ok(())
    }

    /// Completes the backup.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn finish(mut self) -> Result<(W, Summary), Error> {
        let sha256 = hex(self.all.clone());
        let summary = Summary { files: self.files, bytes: self.bytes, sha256: sha256.clone() };
        self.line(&EndLine { end: true, files: self.files, bytes: self.bytes, sha256 })?;
        self.out.flush().map_err(not_written)?;
        Ok((self.out, summary))
    }

    fn line(&mut self, line: &impl Serialize) -> Result<(), Error> {
        let mut bytes = serde_json::to_vec(line).map_err(|error| not_written(error.into()))?;
        bytes.push(b'\n');
        self.put(&bytes)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.all.update(bytes);
        self.out.write_all(bytes).map_err(not_written)
    }
}

fn not_written(source: io::Error) -> Error {
    Error::Write { what: "the backup".to_owned(), source }
}

/// The result of [`Reader::next_file`].
#[derive(Debug)]
pub enum Next<W> {
    /// A file, which was written to this.
    File(W),
    /// The end; the backup is valid.
    End(Summary),
}

/// Reads a backup and verifies all of it in the process.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    all: Sha256,
    seen: BTreeSet<String>,
    bytes: u64,
}

impl<R: BufRead> Reader<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// [`Error::Foreign`], [`Error::Export`], [`Error::Newer`] and [`Error::Read`].
    pub fn new(input: R) -> Result<Self, Error> {
        let mut reader = Self { input, all: Sha256::new(), seen: BTreeSet::new(), bytes: 0 };
        let line = reader.raw_line()?;
        let first: serde_json::Value = serde_json::from_slice(&line).map_err(|_| Error::Foreign)?;
        match first.get("format").and_then(|it| it.as_str()) {
            Some(FORMAT) => {}
            Some("waypost-memory") => return Err(Error::Export),
            _ => return Err(Error::Foreign),
        }
        // The version first: a newer header may have other fields.
        let version = first.get("version").and_then(serde_json::Value::as_u64).unwrap_or(0);
        let version = u32::try_from(version).unwrap_or(u32::MAX);
        if version > VERSION {
            return Err(Error::Newer { found: version });
        }
        if version == 0 || serde_json::from_value::<Header>(first).is_err() {
            return Err(damaged("its first line", "cannot be read"));
        }
        reader.all.update(&line);
        Ok(reader)
    }

    /// Copies the next file into the writer that `open` returns for its path and length. The file is valid only when
    /// this returns without an error, and the backup only when its end is reached.
    ///
    /// # Errors
    /// [`Error::Damaged`] names the damaged part.
    pub fn next_file<W: Write>(
        &mut self,
        open: &mut dyn FnMut(&str, u64) -> io::Result<W>,
    ) -> Result<Next<W>, Error> {
        let place = match self.seen.len() {
            0 => "the first file".to_owned(),
            count => format!("file {}", count + 1),
        };
        let line = self.raw_line()?;
        if line.last() != Some(&b'\n') {
            return Err(damaged("its end", "is missing: the file is truncated"));
        }
        let Ok(file) = serde_json::from_slice::<FileLine>(&line) else {
            return self.end(&line, &place).map(Next::End);
        };
        if !is_part(&file.file) {
            return Err(damaged(
                &place,
                format!("has the name {:?}, which does not belong in a backup", file.file),
            ));
        }
        if !self.seen.insert(file.file.clone()) {
            return Err(damaged(&file.file, "is a duplicate"));
        }
        self.all.update(&line);
        let not_written = |source| Error::Write { what: file.file.clone(), source };
        let mut out = open(&file.file, file.bytes).map_err(not_written)?;
        let digest = self.content(&file, &mut out)?;
        let line = self.whole_line(&file)?;
        if line != b"\n" {
            return Err(damaged(&file.file, "has a wrong length"));
        }
        self.all.update(&line);
        let line = self.whole_line(&file)?;
        let told: Option<DigestLine> = serde_json::from_slice(&line).ok();
        if told.is_none_or(|told| told.sha256 != digest) {
            return Err(damaged(&file.file, "has a wrong SHA-256"));
        }
        self.all.update(&line);
        self.bytes += file.bytes;
        out.flush().map_err(not_written)?;
        Ok(Next::File(out))
    }

    fn content(&mut self, file: &FileLine, out: &mut dyn Write) -> Result<String, Error> {
        let mut digest = Sha256::new();
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut left = file.bytes;
        while left > 0 {
            let room = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let read = read_some(&mut self.input, &mut buffer[..room])
                .map_err(|source| Error::Read { source })?;
            if read == 0 {
                return Err(damaged(&file.file, "is truncated"));
            }
            digest.update(&buffer[..read]);
            self.all.update(&buffer[..read]);
            out.write_all(&buffer[..read])
                .map_err(|source| Error::Write { what: file.file.clone(), source })?;
            left -= read as u64;
        }
        Ok(hex(digest))
    }

    /// Verifies the last line and that nothing follows.
    fn end(&mut self, line: &[u8], place: &str) -> Result<Summary, Error> {
        let end: EndLine = serde_json::from_slice(line)
            .map_err(|_| damaged(&format!("the line before {place}"), "cannot be read"))?;
        let files = self.seen.len() as u64;
        let sha256 = hex(self.all.clone());
        if !end.end || (end.files, end.bytes) != (files, self.bytes) {
            let what = format!(
                "lists {} files of {} bytes, but {files} of {} were read",
                end.files, end.bytes, self.bytes
            );
            return Err(damaged("its last line", what));
        }
        if end.sha256 != sha256 {
            return Err(damaged("its last line", "does not match the SHA-256 of the content"));
        }
        let rest = self.input.fill_buf().map_err(|source| Error::Read { source })?;
        if !rest.is_empty() {
            return Err(damaged("its end", "is followed by more data"));
        }
        Ok(Summary { files, bytes: self.bytes, sha256 })
    }

    /// A line behind the content of a file, with its end.
    fn whole_line(&mut self, file: &FileLine) -> Result<Vec<u8>, Error> {
        let line = self.raw_line()?;
        let is_cut = line.last() != Some(&b'\n') && (line.len() as u64) < LINE_BYTES_MAX;
        if is_cut { Err(damaged(&file.file, "is truncated")) } else { Ok(line) }
    }

    fn raw_line(&mut self) -> Result<Vec<u8>, Error> {
        let mut line = Vec::new();
        let mut limited = self.input.by_ref().take(LINE_BYTES_MAX);
        limited.read_until(b'\n', &mut line).map_err(|source| Error::Read { source })?;
        Ok(line)
    }
}

fn read_some(input: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match input.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

fn hex(digest: Sha256) -> String {
    let mut text = String::with_capacity(64);
    for byte in digest.finalize() {
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from(b"0123456789abcdef"[usize::from(digit)]));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written() -> Vec<u8> {
        let mut writer = Writer::new(Vec::new(), Timestamp::EPOCH, "0.1.0").expect("it is written");
        for (path, content) in
            [("format", &b"waypost-data 1\n"[..]), ("memory/log/1.log", &[0, 10, 255])]
        {
            let mut input = content;
            writer.file(path, content.len() as u64, &mut input).expect("it is written");
        }
        writer.finish().expect("it is written").0
    }

    fn read(bytes: &[u8]) -> Result<Vec<(String, Vec<u8>)>, Error> {
        let mut reader = Reader::new(bytes)?;
        let mut files = Vec::new();
        let mut names = Vec::new();
        loop {
            match reader.next_file(&mut |path, _| {
                names.push(path.to_owned());
                Ok(Vec::new())
            })? {
                Next::File(content) => files.push(content),
                Next::End(_) => return Ok(names.into_iter().zip(files).collect()),
            }
        }
    }

    #[test]
    fn what_was_written_is_read() {
        let files = read(&written()).expect("it is whole");
        assert_eq!(files[0], ("format".to_owned(), b"waypost-data 1\n".to_vec()));
        assert_eq!(files[1], ("memory/log/1.log".to_owned(), vec![0, 10, 255]));
    }

    #[test]
    fn a_changed_byte_is_told_wherever_it_is() {
        let whole = written();
        for at in 0..whole.len() {
            for bit in [1, 32, 128] {
                let mut bytes = whole.clone();
                bytes[at] ^= bit;
                assert!(read(&bytes).is_err(), "byte {at}, bit {bit}");
            }
        }
    }

    #[test]
    fn a_backup_that_was_cut_or_goes_on_is_told() {
        let whole = written();
        for len in 0..whole.len() {
            assert!(read(&whole[..len]).is_err(), "{len} of {} bytes", whole.len());
        }
        assert!(read(&[&whole[..], b"\n"].concat()).is_err());
    }

    #[test]
    fn a_damaged_file_is_named() {
        let mut bytes = written();
        let at = bytes.windows(2).position(|window| window == [0, 10]).expect("it is there");
        bytes[at] = 1;
        let told = read(&bytes).expect_err("it is damaged").to_string();
        assert!(told.contains("memory/log/1.log"), "{told}");
    }

    #[test]
    fn other_files_and_later_versions_are_told_apart() {
        let export = b"{\"format\":\"waypost-memory\",\"version\":1}\n";
        assert!(matches!(read(export), Err(Error::Export)));
        for foreign in [&b""[..], b"PK\x03\x04", b"{}\n", b"[1]\n"] {
            assert!(matches!(read(foreign), Err(Error::Foreign)));
        }
        let later = b"{\"format\":\"waypost-backup\",\"version\":3,\"shape\":\"other\"}\n";
        assert!(matches!(read(later), Err(Error::Newer { found: 3 })));
    }

    #[test]
    fn no_path_leads_out_of_the_folder_or_to_what_makes_it_trusted() {
        for path in [
            "",
            "/",
            "../format",
            "memory/log/../../x",
            "memory/log//x",
            "memory/log/.",
            "project-id",
            "service.sock",
            "lock",
            "memory/state/db",
            "token",
            "memory/log/a\nb",
            "pairing/..",
            "browser/x",
            "events/log/1.log.new",
            "pairing/lock",
            "Format",
            "format/x",
        ] {
            assert!(!is_part(path), "{path:?}");
            assert!(
                Writer::new(Vec::new(), Timestamp::EPOCH, "")
                    .expect("it is written")
                    .file(path, 0, &mut &b""[..])
                    .is_err()
            );
        }
        for path in [
            "format",
            "tokens.json",
            "events/first",
            "memory/log/00000000000000000001.log",
            "flows/output/a.1/0",
        ] {
            assert!(is_part(path), "{path:?}");
        }
    }
}

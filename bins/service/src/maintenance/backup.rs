//! `backup`, `restore`.

mod draft;
mod stores;

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, IsTerminal, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use indicatif::{HumanBytes, ProgressBar};
use rustix::fs::{CWD, RenameFlags};
use rustix::io::Errno;
use serde_json::json;
use waypost_api::backup::{self, FILES, FOLDERS, Next, Reader, Summary, is_part, is_set_aside};
use waypost_api::client;
use waypost_auth::TokenStore;
use waypost_cli::exit;
use waypost_cli::failure::{Failure, Result, is_full, of_full_disk};
use waypost_cli::files;
use waypost_cli::maintenance::{BackupArgs, RestoreArgs};
use waypost_cli::output::{Output, Unit};
use waypost_cli::program::Program;
use waypost_cli::show;
use waypost_cli::span;
use waypost_log::{FolderLock, Log, Options, Snapshot, Witness};

use self::draft::Draft;
use super::failure::{REPAIR, of_events, of_flows, of_memory};

/// The file with the id of a data folder. A backup has none.
const PROJECT_ID: &str = "project-id";
/// The file that a [`FolderLock`] creates.
const LOCK: &str = "lock";
const FULL: &str =
    "the disk is full: free space, or use another disk; what was written was removed";

pub(super) fn backup(program: &Program, args: &BackupArgs, output: &mut Output) -> Result<()> {
    let bar = output.progress(Unit::Bytes);
    bar.set_message("backing up");
    if args.to.as_os_str() == "-" {
        return to_stdout(program, &bar, output);
    }
    let file = target(&args.to)?;
    let mut draft = Draft::beside(&file, args.to.is_dir())?;
    let mut out = Target { file: &mut draft.file, failed: None };
    let filled = fill(program, &mut out, &bar);
    filled.map_err(|failure| match out.failed {
        Some(error) if is_full(&error) => {
            let needed = of_full_disk(&file, bar.length().filter(|length| *length > 0));
            let hint =
                format!("{needed}: make room, or use another disk; what was written was removed");
            Failure::of(&error)
                .while_doing(format!("could not write {}", file.display()))
                .with_hint(hint)
        }
        Some(error) => cannot("write", &file, &error),
        None => failure,
    })?;
    draft.file.sync_all().map_err(|error| cannot("sync", &file, &error))?;
    bar.set_message("verifying");
    bar.set_position(0);
    draft.file.rewind().map_err(|error| cannot("read", &file, &error))?;
    let summary = read_back(&draft.file, &bar)?;
    bar.finish_and_clear();
    draft.publish(&file)?;
    if !program.names_address() {
        tell_set_aside(&program.settings()?.data_dir, output);
    }
    if output.is_json() {
        let name = file.to_string_lossy();
        let Summary { files, bytes, sha256 } = summary;
        output
            .document(&json!({ "file": name, "files": files, "bytes": bytes, "sha256": sha256 }))?;
    } else {
        output.line(&format!(
            "wrote {} in {} to {}, and verified it",
            HumanBytes(summary.bytes),
            show::count(summary.files, "file", "files"),
            file.display()
        ))?;
    }
    Ok(())
}

/// Says which files of the data folder no backup contains although they may have data.
fn tell_set_aside(data: &Path, output: &mut Output) {
    let own = ["", "memory", "events", "flows"];
    let entries = own.iter().chain(&FOLDERS).flat_map(|own| fs::read_dir(data.join(own)));
    let paths = entries.flat_map(|entry| entry.flatten()).map(|it| it.path());
    let is_aside =
        |path: &PathBuf| path.file_name().is_some_and(|name| is_set_aside(&name.to_string_lossy()));
    let mut found: Vec<_> = paths.filter(is_aside).collect();
    found.sort();
    if let Some(first) = found.first() {
        let first = first.strip_prefix(data).unwrap_or(first).display();
        let count = show::count(found.len() as u64, "entry", "entries");
        output.note(&format!(
            "the backup leaves out {count} that a repair has set aside (*.damaged), such as {first}"
        ));
    }
}

/// Writes the backup to standard output, without reading it back.
fn to_stdout(program: &Program, bar: &ProgressBar, output: &mut Output) -> Result<()> {
    if io::stdout().is_terminal() {
        return Err(Failure::usage("cannot write a backup to a terminal")
            .with_hint("pass a file or a folder, or redirect standard output"));
    }
    let written = fill(program, output.raw(), bar).and_then(|()| Ok(output.finish()?));
    // A reader that disconnects early has no backup.
    written.map_err(|error| {
        if error.code() == exit::DONE { error.with_code(exit::FAILED) } else { error }
    })?;
    bar.finish_and_clear();
    output
        .note("the backup was not verified; `ctl restore` verifies it before it changes anything");
    Ok(())
}

/// The path of the new file, which must not exist.
fn target(to: &Path) -> Result<PathBuf> {
    let file = if to.is_dir() {
        // Not every file system allows colons in file names.
        let time = span::now().to_string().replace(':', "");
        to.join(format!("waypost-{time}.backup"))
    } else {
        to.to_path_buf()
    };
    match fs::symlink_metadata(&file) {
        Ok(_) => Err(already_exists(&file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(file),
        Err(error) => Err(cannot("create", &file, &error)),
    }
}

fn already_exists(file: &Path) -> Failure {
    Failure::new(format!("{} already exists, and a backup never replaces a file", file.display()))
        .with_hint("pass the name of a new file, or a folder to create one in")
}

fn cannot(what: &str, file: &Path, error: &io::Error) -> Failure {
    let failure = Failure::of(error).while_doing(format!("could not {what} {}", file.display()));
    if is_full(error) { failure.with_hint(FULL) } else { failure }
}

/// The file of a backup, with the error of the write that failed.
struct Target<'a> {
    file: &'a mut File,
    failed: Option<io::Error>,
}

impl Write for Target<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes);
        written.inspect_err(|error| {
            self.failed = (error.kind() != io::ErrorKind::Interrupted).then(|| copied(error));
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn copied(error: &io::Error) -> io::Error {
    error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)
}

/// Requests a backup from the service; without a running service, reads the locked stores.
fn fill(program: &Program, out: &mut dyn Write, bar: &ProgressBar) -> Result<()> {
    let answer = program.client()?.backup(out, &mut |done, total| {
        bar.set_length(total.max(done));
        bar.set_position(done);
    });
    match answer {
        Ok(_) => Ok(()),
        Err(error @ client::Error::NotReachable { .. }) if program.names_address() => {
            Err(error.into())
        }
        Err(client::Error::NotReachable { .. }) => from_folder(program, out, bar),
        Err(error) => Err(error.into()),
    }
}

/// Writes a backup of the stores while no service runs.
pub(super) fn from_folder(program: &Program, out: &mut dyn Write, bar: &ProgressBar) -> Result<()> {
    let data = &program.settings()?.data_dir;
    let format = data.join("format");
    if !format.try_exists().map_err(|error| cannot("read", &format, &error))? {
        return Err(Failure::not_found(format!("nothing to back up in {}", data.display()))
            .with_hint("pass the project with --project, or start its service"));
    }
    crate::maintenance::check_data(program)?;
    super::doctor::private(program, data)?;
    waypost_project::check_shape(data)?;
    let _locks = lock(data)?;
    from_locked(data, out, bar)
}

/// Writes a backup of a locked data folder.
pub(super) fn from_locked(data: &Path, out: &mut dyn Write, bar: &ProgressBar) -> Result<()> {
    check(data)?;
    let mut taken = Snapshot::default();
    for folder in FOLDERS {
        let wanted = |name: &str| {
            let path = format!("{folder}/{name}");
            is_part(&path) && !is_set_aside(&path)
        };
        let files = Snapshot::default().and_folder(&data.join(folder), &wanted);
        taken = taken.and(files.map_err(|error| Failure::of(&error))?.under(folder));
    }
    for file in FILES {
        taken = taken.and_file(&data.join(file), file).map_err(|error| Failure::of(&error))?;
    }
    bar.set_length(taken.files().iter().map(waypost_log::SnapshotFile::bytes).sum());
    let time = span::now();
    let mut written = backup::Writer::new(BufWriter::new(out), time, env!("CARGO_PKG_VERSION"))
        .map_err(|error| failed(&error))?;
    for file in taken.files() {
        let mut content = bar.wrap_read(file.reader());
        written.file(file.name(), file.bytes(), &mut content).map_err(|error| failed(&error))?;
    }
    written.finish().map(drop).map_err(|error| failed(&error))
}

/// Rejects a locked data folder that cannot be backed up.
pub(super) fn check(data: &Path) -> Result<()> {
    let witness = Witness::read(data).map_err(|error| Failure::of(&error))?;
    let checked = check_stores(data, &witness);
    checked
        .map(drop)
        .map_err(|error| error.while_doing(format!("{} cannot be backed up", data.display())))
}

/// Locks the data folder, so that no service starts while the stores are read.
pub(super) fn lock(data: &Path) -> Result<Vec<FolderLock>> {
    let folders = [data.to_path_buf(), data.join("events")];
    let present = folders.iter().filter(|folder| folder.is_dir());
    let taken =
        present.map(|present| FolderLock::take(present)).collect::<std::result::Result<_, _>>();
    taken.map_err(|error| match &error {
        waypost_log::Error::Locked { .. } => Failure::of(&error)
            .with_hint("that process does not respond as this project's service: stop it, or pass its address with --url"),
        _ => Failure::of(&error),
    })
}

/// Rejects stores that are damaged, end before the records in `witness`, have an interrupted repair,
/// or were written by a newer release.
fn check_stores(data: &Path, witness: &Witness) -> Result<u64> {
    waypost_memory::check_log(data, witness.get("memory")).map_err(|error| of_memory(&error))?;
    let last_event = waypost_events::check_log(&data.join("events"), witness.get("events"));
    let last_event = last_event.map_err(|error| of_events(&error))?;
    waypost_flows::check_log(&data.join("flows"), witness.get("flows"))
        .map_err(|error| of_flows(&error))?;
    if let Some(damage) = waypost_recall::verify(&data.join("recall/log"), witness.get("recall"))
        .map_err(|error| Failure::of(&error))?
        .damage
        .first()
    {
        return Err(Failure::new(damage).with_hint(REPAIR));
    }
    // Vectors can be computed again, but not from a backup that is damaged.
    let vectors = data.join("memory/vectors");
    let report = Log::verify(&vectors, &Options::default()).map_err(|error| Failure::of(&error))?;
    match report.damage.first() {
        None => Ok(last_event),
        Some(damage) => Err(Failure::new(damage.describe("memory/vectors", "sequence"))),
    }
}

fn failed(error: &backup::Error) -> Failure {
    let hint = match error {
        backup::Error::Export => Some("`ctl import FILE` reads it"),
        backup::Error::Foreign => Some("pass a file that `ctl backup` wrote"),
        backup::Error::Newer { .. } => {
            Some("restore it with the release that wrote it, or a newer one")
        }
        backup::Error::Damaged { .. } => {
            Some("use another backup; nothing was restored from this one")
        }
        backup::Error::Write { source, .. } if is_full(source) => Some(FULL),
        _ => None,
    };
    let failure = Failure::of(error);
    hint.into_iter().fold(failure, Failure::with_hint)
}

/// Reads the written backup back and verifies it.
fn read_back(file: &File, bar: &ProgressBar) -> Result<Summary> {
    let input = bar.wrap_read(file);
    let mut reader =
        Reader::new(BufReader::with_capacity(1 << 20, input)).map_err(|error| failed(&error))?;
    loop {
        match reader.next_file(&mut |_, _| Ok(io::sink())).map_err(|error| failed(&error))? {
            Next::File(_) => {}
            Next::End(summary) => return Ok(summary),
        }
    }
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// An incomplete folder, or the former data folder, removed on drop.
struct Part(PathBuf);

impl Drop for Part {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// The files and folders that a restore creates around the restored files, and removes if nothing is
/// restored. The data folder is locked, so that no service starts in it meanwhile.
struct CreatedFiles<'a> {
    data: &'a Path,
    created: Vec<PathBuf>,
    locks: Vec<FolderLock>,
}

impl<'a> CreatedFiles<'a> {
    fn create(program: &Program, data: &'a Path) -> Result<Self> {
        let dir = program.project().dir();
        let mut created = vec![
            data.join(LOCK),
            data.join(PROJECT_ID),
            data.into(),
            dir.join(".gitignore"),
            dir,
            parent(data).to_path_buf(),
        ];
        created.retain(|created| fs::symlink_metadata(created).is_err());
        let mut it = Self { data, created, locks: Vec::new() };
        program.project().prepare()?;
        waypost_project::create_data_dir(data)?;
        super::doctor::private(program, data)?;
        it.lock(data)?;
        // A service may have run since the first check.
        refuse_existing(data)?;
        Ok(it)
    }

    fn lock(&mut self, folder: &Path) -> Result<()> {
        let lock = FolderLock::take(folder).map_err(|error| {
            Failure::of(&error).with_hint("stop that process, then run `ctl restore` again")
        })?;
        self.locks.push(lock);
        Ok(())
    }

    /// Puts a complete folder in the place of the data folder, with its project id. Afterwards `part` is
    /// the former data folder. Both stay locked.
    fn replace_data(&mut self, program: &Program, part: &Path) -> Result<()> {
        let data = self.data;
        self.lock(part)?;
        refuse_existing(data)?;
        // The user requested the restore, so the data belong to this project. First, because a kill
        // after the exchange must not leave data that are not registered.
        program.adopt_data()?;
        copy_id(data, part)?;
        exchange(part, data).map_err(|error| cannot("create", data, &error))?;
        if refuse_existing(part).is_err() {
            // A program that takes no lock has just written to the folder.
            exchange(part, data).map_err(|error| cannot("create", data, &error))?;
            return refuse_existing(data);
        }
        self.created.clear();
        sync_folder(parent(data)).map_err(|error| cannot("sync", data, &error))
    }
}

impl Drop for CreatedFiles<'_> {
    fn drop(&mut self) {
        for path in &self.created {
            // A folder that has other entries by now stays.
            drop(fs::remove_file(path).or_else(|_| fs::remove_dir(path)));
        }
    }
}

/// Copies the project id of a folder, if it has one.
fn copy_id(from: &Path, to: &Path) -> Result<()> {
    let (from, to) = (from.join(PROJECT_ID), to.join(PROJECT_ID));
    match fs::read(&from) {
        Ok(id) => Ok(waypost_project::write_private(&to, &id)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(cannot("read", &from, &error)),
    }
}

/// Exchanges two folders.
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    match rustix::fs::renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE) {
        // Not every file system can do that in one step.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => exchange_in_steps(one, other),
        exchanged => Ok(exchanged?),
    }
}

fn exchange_in_steps(one: &Path, other: &Path) -> io::Result<()> {
    let aside = one.with_extension("aside.restoring");
    fs::rename(other, &aside)?;
    if let Err(error) = fs::rename(one, other) {
        fs::rename(&aside, other)?;
        return Err(error);
    }
    fs::rename(&aside, one)
}

pub(super) fn restore(program: &Program, args: &RestoreArgs, output: &mut Output) -> Result<()> {
    crate::maintenance::refuse_tracked(program)?;
    let data = program.settings()?.data_dir.clone();
    refuse_existing(&data)?;
    let (input, length) = source(&args.file)?;
    let bar = output.progress(Unit::Bytes);
    bar.set_message("restoring");
    bar.set_length(length);
    let summary = restore_from(program, bar.wrap_read(input), &bar, &mut stop_sharing)?;
    if output.is_json() {
        output.document(&json!({
            "dataDir": data.to_string_lossy(), "files": summary.files, "bytes": summary.bytes,
        }))?;
    } else {
        output.line(&format!(
            "restored {} in {} to {}",
            HumanBytes(summary.bytes),
            show::count(summary.files, "file", "files"),
            data.display()
        ))?;
        output.note("start the service; it rebuilds the index");
    }
    Ok(())
}

/// Makes the tokens in a backup of a member of a cluster those of a store of its own.
fn stop_sharing(data: &Path) -> Result<()> {
    let tokens = TokenStore::open(&data.join("tokens.json"))?;
    if tokens.is_shared()? {
        drop(tokens.without_shared()?);
    }
    Ok(())
}

/// Writes the files of a backup into the project's data folder, which must be empty. `complete` can
/// add to them before they take the place of that folder.
pub(super) fn restore_from(
    program: &Program,
    input: impl Read,
    bar: &ProgressBar,
    complete: &mut dyn FnMut(&Path) -> Result<()>,
) -> Result<Summary> {
    let data = program.settings()?.data_dir.clone();
    refuse_existing(&data)?;
    let mut created = CreatedFiles::create(program, &data)?;
    waypost_project::remove_unfinished_restores(&data)?;
    let part = Part(draft::name_beside(&data, "restoring")?);
    let summary = unpack(BufReader::with_capacity(1 << 20, input), &part.0)?;
    bar.set_message("verifying");
    check_unpacked(&part.0)?;
    complete(&part.0)?;
    bar.finish_and_clear();
    created.replace_data(program, &part.0)?;
    Ok(summary)
}

/// Rejects data that the service could not open.
fn check_unpacked(part: &Path) -> Result<()> {
    const OTHER: &str = "use another backup; nothing was restored from this one";
    let last_event = check_stores(part, &Witness::default()).map_err(|error| {
        error.while_doing("the backup contains data that cannot be opened").with_hint(
            "use another backup or, if a newer release wrote it, that release; nothing was restored from this one",
        )
    })?;
    stores::check(part, last_event)
        .map_err(|error| error.while_doing("the backup is incomplete").with_hint(OTHER))?;
    TokenStore::open(&part.join("tokens.json")).map_err(|error| {
        Failure::from(error)
            .while_doing("the backup contains tokens that cannot be read")
            .with_hint(OTHER)
    })?;
    Ok(())
}

pub(super) fn refuse_existing(data: &Path) -> Result<()> {
    let kind = fs::symlink_metadata(data).map(|metadata| metadata.file_type());
    if let Ok(kind) = kind
        && !kind.is_dir()
    {
        let what = match kind {
            it if it.is_symlink() => "a symbolic link",
            it if it.is_file() => "a file",
            _ => "a special file",
        };
        let message = format!("{} is {what}, and the data folder belongs there", data.display());
        return Err(Failure::new(message).with_hint("move it away, and repeat the command"));
    }
    let entries = match fs::read_dir(data) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(cannot("read", data, &error)),
    };
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    // `ctl allow` gives a project its id before any other file exists.
    // So does `ctl mcp`, whose service may then not have started.
    names.retain(|name| name != PROJECT_ID && name != LOCK && name != waypost_cli::SERVICE_LOG);
    names.retain(|name| !waypost_project::is_unfinished_id(name.as_ref()));
    names.sort();
    if names.is_empty() {
        return Ok(());
    }
    let message = format!("{} is not empty: it contains {}", data.display(), names.join(", "));
    Err(Failure::new(message).with_hint(
        "the data folder must be empty: stop the service, move the folder away, and repeat the command; or pass another project with --project",
    ))
}

/// The backup to restore, with its length if known.
fn source(file: &Path) -> Result<(Box<dyn Read>, u64)> {
    if file.as_os_str() != "-" {
        let (file, length) = files::open(file)?;
        return Ok((Box::new(file), length));
    }
    if io::stdin().is_terminal() {
        return Err(Failure::usage("cannot read a backup from a terminal")
            .with_hint("pass the file that `ctl backup` wrote, or redirect it to standard input"));
    }
    Ok((Box::new(io::stdin().lock()), 0))
}

/// Writes the files of a backup into a new folder, and syncs them.
fn unpack(input: impl io::BufRead, to: &Path) -> Result<Summary> {
    let mut reader = Reader::new(input).map_err(|error| failed(&error))?;
    folder(to).map_err(|error| cannot("create", to, &error))?;
    let mut has_format = false;
    loop {
        let next = reader.next_file(&mut |path, _| {
            has_format |= path == "format";
            create(to, path)
        });
        match next.map_err(|error| failed(&error))? {
            Next::File(file) => {
                let synced = file.into_inner().map_err(io::IntoInnerError::into_error);
                synced
                    .and_then(|synced| synced.sync_all())
                    .map_err(|error| cannot("sync", to, &error))?;
            }
            Next::End(_) if !has_format => {
                return Err(Failure::new("the backup is damaged: the file `format` is missing"));
            }
            Next::End(summary) => {
                sync_tree(to).map_err(|error| cannot("sync", to, &error))?;
                return Ok(summary);
            }
        }
    }
}

fn create(to: &Path, path: &str) -> io::Result<BufWriter<File>> {
    let mut file = to.to_path_buf();
    let mut names = path.split('/').peekable();
    while let Some(name) = names.next() {
        file.push(name);
        if names.peek().is_some() && !file.is_dir() {
            folder(&file)?;
        }
    }
    let mut options = OpenOptions::new();
    let opened = options.write(true).create_new(true).mode(0o600).open(&file)?;
    opened.set_permissions(fs::Permissions::from_mode(0o600))?;
    Ok(BufWriter::with_capacity(1 << 18, opened))
}

fn folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().mode(0o700).create(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o700))
}

fn sync_tree(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_tree(&entry.path())?;
        }
    }
    sync_folder(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_folders_are_exchanged_also_in_steps() {
        let dir = tempfile::tempdir().unwrap();
        let (one, other) = (dir.path().join("data.7.restoring"), dir.path().join("data"));
        for (folder, file) in [(&one, "1"), (&other, "2")] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join(file), file).unwrap();
        }
        exchange(&one, &other).unwrap();
        assert!(one.join("2").exists() && other.join("1").exists());
        exchange_in_steps(&one, &other).unwrap();
        assert!(one.join("1").exists() && other.join("2").exists());
        fs::remove_dir_all(&one).unwrap();
        exchange_in_steps(&one, &other).unwrap_err();
        assert!(other.join("2").exists());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}

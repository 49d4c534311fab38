//! Creates authorities and the certificates of machines.

use std::fs;
use std::path::Path;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use waypost_time::Timestamp;

use super::{AUTHORITY, AUTHORITY_KEY, MACHINE, MACHINE_KEY, Pairing, Rights};
use crate::error::{Error, Result};
use crate::folder::{Folder, write_private};
use crate::paired::{Machine, Paired, check_address, check_machine, host_of};

impl Pairing {
    /// Creates an authority, and the certificate of this machine: `name`, which others reach at
    /// `address` (`HOST:PORT`). The certificates expire on the first day of the third year after
    /// `now`.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an invalid name or address, [`Error::Damaged`] if the folder already
    /// has a pairing, errors of the system.
    pub fn found(folder: &Path, name: &str, address: &str, now: Timestamp) -> Result<Self> {
        check_machine(name).map_err(Error::Invalid)?;
        check_address(address).map_err(Error::Invalid)?;
        Folder::open(folder)?;
        if Paired::read(folder)?.is_some() {
            let reason = "this machine is already paired; remove the folder to start over";
            return Err(Error::Damaged { path: folder.to_owned(), reason: reason.to_owned() });
        }
        let key = KeyPair::generate().map_err(|error| certify(&error))?;
        let mut params =
            CertificateParams::new(Vec::<String>::new()).map_err(|error| certify(&error))?;
        params.distinguished_name.push(DnType::CommonName, format!("{name} mesh authority"));
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        lasts(&mut params, now);
        let certificate = params.self_signed(&key).map_err(|error| certify(&error))?;
        write_private(&folder.join(AUTHORITY_KEY), key.serialize_pem().as_bytes())?;
        write_private(&folder.join(AUTHORITY), certificate.pem().as_bytes())?;
        let mut this = Self { folder: folder.to_owned(), paired: Paired::new(name) };
        this.certify(folder, name, Some(address), now)?;
        this.paired.listen = Some(address.to_owned());
        this.paired.write(folder)?;
        Ok(this)
    }

    /// Pairs a machine: creates its certificate and key, and everything else that it needs, in the
    /// new folder `bundle`, which becomes its pairing folder. Pairing a name again gives it a new
    /// certificate and these rights.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an invalid name, [`Error::Damaged`] if the bundle's folder
    /// already exists or this machine has no authority, errors of the system.
    pub fn pair(
        &mut self,
        name: &str,
        rights: Rights,
        bundle: &Path,
        now: Timestamp,
    ) -> Result<()> {
        check_machine(name).map_err(Error::Invalid)?;
        if name == self.paired.name {
            return Err(Error::Invalid(format!("{name} is this machine's own name")));
        }
        if self.paired.machines.iter().any(|machine| machine.name == name && machine.revoked) {
            // Its old certificate would be valid again: machines are identified by
            // the name in their certificate.
            let reason = format!("{name} was revoked; pair the machine under another name");
            return Err(Error::Invalid(reason));
        }
        if bundle.exists() {
            let reason = "it already exists; choose a new folder".to_owned();
            return Err(Error::Damaged { path: bundle.to_owned(), reason });
        }
        // Nothing is created before it is certain that it can be.
        self.read(AUTHORITY_KEY)?;
        Folder::open(bundle)?;
        self.certify(bundle, name, None, now)?;
        write_private(&bundle.join(AUTHORITY), self.read(AUTHORITY)?.as_bytes())?;
        let Rights { calls, events } = rights;
        let mut theirs = Paired::new(name);
        theirs.connect = self.paired.listen.iter().cloned().collect();
        theirs.machines.push(Machine::new(&self.paired.name, Vec::new(), events));
        theirs.write(bundle)?;
        self.paired.machines.retain(|machine| machine.name != name);
        self.paired.machines.push(Machine::new(name, calls, events));
        self.paired.write(&self.folder)
    }

    fn read(&self, file: &str) -> Result<String> {
        let path = self.folder.join(file);
        fs::read_to_string(&path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Error::Damaged {
                path: path.clone(),
                reason: "only the machine with the authority's key can pair others".to_owned(),
            },
            _ => Error::io("read", &path, error),
        })
    }

    /// Creates a key and its certificate in a folder, for a machine with an address if one is
    /// given.
    fn certify(
        &self,
        into: &Path,
        name: &str,
        address: Option<&str>,
        now: Timestamp,
    ) -> Result<()> {
        let hosts: Vec<String> =
            address.map(|address| host_of(address).to_owned()).into_iter().collect();
        let authority_key =
            KeyPair::from_pem(&self.read(AUTHORITY_KEY)?).map_err(|error| certify(&error))?;
        let mut authority =
            CertificateParams::new(Vec::<String>::new()).map_err(|error| certify(&error))?;
        authority
            .distinguished_name
            .push(DnType::CommonName, format!("{} mesh authority", self.paired.name));
        authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        let issuer = Issuer::new(authority, authority_key);
        let key = KeyPair::generate().map_err(|error| certify(&error))?;
        let mut params = CertificateParams::new(hosts).map_err(|error| certify(&error))?;
        params.distinguished_name.push(DnType::CommonName, name);
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        lasts(&mut params, now);
        let certificate = params.signed_by(&key, &issuer).map_err(|error| certify(&error))?;
        write_private(&into.join(MACHINE_KEY), key.serialize_pem().as_bytes())?;
        write_private(&into.join(MACHINE), certificate.pem().as_bytes())
    }
}

/// From a year ago, for clocks that are slow, to the first day of the third year from now.
fn lasts(params: &mut CertificateParams, now: Timestamp) {
    let days = now.saturating_duration_since(Timestamp::EPOCH).as_secs() / 86_400;
    let year = 1970 + i32::try_from(days * 400 / 146_097).unwrap_or(0);
    params.not_before = rcgen::date_time_ymd(year - 1, 1, 1);
    params.not_after = rcgen::date_time_ymd(year + 3, 1, 1);
}

fn certify(error: &rcgen::Error) -> Error {
    Error::Certificate(error.to_string())
}

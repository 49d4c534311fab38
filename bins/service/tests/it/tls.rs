//! TLS in the service itself.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tempfile::TempDir;
use waypost_api::client::{Client, Error};
use waypost_api::routes;
use waypost_service::{Options, TlsFiles, start};

use crate::service::Service;
use crate::wait::until;

/// Its own certificate authority, and a loopback certificate from it in these files.
fn certify(files: &TlsFiles) -> String {
    let mut params = CertificateParams::new(Vec::new()).expect("names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_key = KeyPair::generate().expect("a key");
    let authority = params.self_signed(&authority_key).expect("an authority").pem();
    let issuer = Issuer::new(params, authority_key);
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let params = CertificateParams::new(names).expect("names");
    let key = KeyPair::generate().expect("a key");
    let certificate = params.signed_by(&key, &issuer).expect("a certificate");
    write(&files.key, &key.serialize_pem());
    write(&files.cert, &certificate.pem());
    authority
}

/// As a whole, as programs that renew certificates do it.
fn write(path: &Path, text: &str) {
    let new = path.with_extension("new");
    fs::write(&new, text).expect("a file");
    fs::set_permissions(&new, Permissions::from_mode(0o600)).expect("a mode");
    fs::rename(new, path).expect("a file");
}

fn files(folder: &TempDir) -> TlsFiles {
    TlsFiles { cert: folder.path().join("cert.pem"), key: folder.path().join("key.pem") }
}

#[test]
fn the_service_speaks_tls_and_takes_a_new_certificate() {
    let folder = TempDir::new().expect("a folder");
    let files = files(&folder);
    let authority = certify(&files);
    let service = Service::start_with(|it| it.tls = Some(files.clone()));
    let url = format!("https://{}", service.address);
    let ask = |authority: Option<&str>| {
        let authority = authority.map(str::as_bytes);
        let client = Client::with_authorities(&url, Some(&service.token), authority);
        client.expect("an address").call(&routes::MEMORY_STATUS, ())
    };
    assert_eq!(ask(Some(&authority)).expect("a status").url, Some(url.clone()));
    assert!(matches!(ask(None), Err(Error::Certificate { .. })), "an unknown authority");
    // No response in the clear.
    let plain = Client::new(&format!("http://{}", service.address), Some(&service.token));
    let plain = plain.expect("an address").call(&routes::LIVE, ());
    assert!(matches!(plain, Err(Error::Scheme { .. })), "{plain:?}");

    // The other way round, and an authority's certificate as the service's own.
    let clear = Service::start();
    let tls = Client::new(&format!("https://{}", clear.address), None).expect("an address");
    let error = tls.call(&routes::LIVE, ()).expect_err("it does not speak TLS");
    assert!(matches!(error, Error::Scheme { .. }), "{error:?}");
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let own = params.self_signed(&key).expect("a certificate").pem();
    write(&files.key, &key.serialize_pem());
    write(&files.cert, &own);
    until(|| match ask(Some(&own)) {
        Err(Error::Certificate { source, .. })
            if source.to_string().contains("CaUsedAsEndEntity") =>
        {
            Ok(())
        }
        other => Err(format!("{other:?}")),
    });

    let next = certify(&files);
    until(|| ask(Some(&next)));
    assert!(ask(Some(&authority)).is_err());
}

#[test]
fn with_tls_other_machines_may_come_and_without_only_by_a_word() {
    let folder = TempDir::new().expect("a folder");
    let files = files(&folder);
    certify(&files);
    let project = TempDir::new().expect("a folder");
    let mut options = Options::for_project(project.path()).expect("a project");
    options.listen = "0.0.0.0:0".parse().expect("an address");
    let error = format!("{:#}", start(&options).expect_err("it is not encrypted"));
    assert!(error.contains("tls.cert") && error.contains("--allow-remote"), "{error}");
    options.tls = Some(files);
    start(&options).expect("it starts").shutdown().expect("it stops");
}

#[test]
fn what_is_wrong_with_the_files_is_told_by_name() {
    let folder = TempDir::new().expect("a folder");
    let files = files(&folder);
    certify(&files);
    let other = TempDir::new().expect("a folder");
    let others = self::files(&other);
    certify(&others);
    let project = TempDir::new().expect("a folder");
    let why = |tls: TlsFiles| {
        let mut options = Options::for_project(project.path()).expect("a project");
        options.tls = Some(tls);
        format!("{:#}", start(&options).expect_err("it does not start"))
    };
    let with = |key: &Path| TlsFiles { cert: files.cert.clone(), key: key.to_owned() };
    let missing = why(with(&folder.path().join("missing.pem")));
    assert!(missing.contains("tls.key") && missing.contains("missing.pem"), "{missing}");
    let none = why(with(&files.cert));
    assert!(none.contains("cert.pem") && none.contains("no private key"), "{none}");
    let wrong = why(with(&others.key));
    assert!(wrong.contains("does not go with the certificate"), "{wrong}");
    fs::set_permissions(&files.key, Permissions::from_mode(0o644)).expect("a mode");
    let open = why(files.clone());
    assert!(open.contains("key.pem") && open.contains("other users can read"), "{open}");
    assert!(!project.path().join(".waypost/data").exists(), "nothing was begun");
}

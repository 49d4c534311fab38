//! Files whose name indicates secrets.

use super::Language;

/// Folders from which nothing is read.
pub(super) const FOLDERS: &[&str] = &[".aws", ".ssh", ".gnupg"];

/// Whether a file is left out because of its name, which is in lower case. Tracked or not.
pub(super) fn is_secret(name: &str) -> bool {
    let extension = name.rsplit_once('.').map_or("", |(_, it)| it);
    if name.starts_with(".env") {
        let example = ["example", "sample", "template", "dist"].contains(&extension);
        return !example && (name == ".env" || name.starts_with(".env.") || name == ".envrc");
    }
    let kept = matches!(
        extension,
        "pem" | "key" | "p12" | "pfx" | "jks" | "keystore" | "kdbx" | "tfvars" | "ppk"
    );
    let key = ["id_rsa", "id_ed25519", "id_ecdsa", "id_dsa"]
        .iter()
        .any(|it| name.starts_with(it) && extension != "pub");
    let known = matches!(
        name,
        ".npmrc" | ".pypirc" | ".netrc" | "_netrc" | ".htpasswd" | ".pgpass" | ".git-credentials"
    );
    let json = extension == "json"
        && (name.contains("credentials") || name.starts_with("service-account"));
    // Code with that name is about secrets; secrets in it by mistake are replaced when it is read.
    let secrets = name.starts_with("secrets.") && !Language::of(name).is_some_and(is_code);
    kept || key
        || known
        || json
        || secrets
        || name.contains(".tfstate")
        || name.ends_with(".tfvars.json")
}

/// Whether a language is for programs, as opposed to settings.
fn is_code(language: Language) -> bool {
    !matches!(language, Language::Toml | Language::Yaml | Language::Json | Language::Terraform)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_known() {
        for name in [
            ".env",
            ".env.local",
            ".envrc",
            "server.pem",
            "tls.key",
            "a.p12",
            "a.pfx",
            "a.jks",
            "a.kdbx",
            "id_rsa",
            "id_ed25519.bak",
            ".npmrc",
            ".pypirc",
            ".netrc",
            "credentials.json",
            "gcp-credentials-prod.json",
            "service-account-1.json",
            "terraform.tfstate",
            "terraform.tfstate.backup",
            "prod.tfvars",
            "prod.auto.tfvars.json",
            "secrets.yaml",
            "secrets.toml",
            "secrets.txt",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in [
            ".env.example",
            ".env.sample",
            ".env.template",
            ".env.dist",
            "environment.md",
            "id_rsa.pub",
            "credentials.md",
            "secrets.rs",
            "secrets.py",
            "keys.md",
            "main.tf",
        ] {
            assert!(!is_secret(name), "{name}");
        }
    }
}

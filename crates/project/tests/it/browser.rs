use waypost_project::BrowserEngine;

use crate::Case;

#[test]
fn everything_about_the_browser_has_a_default() {
    let browser = Case::new("").resolve().unwrap().browser;
    assert_eq!(browser.listen.to_string(), "127.0.0.1:4748");
    assert_eq!(browser.engine, BrowserEngine::Auto);
    assert!(browser.allow.is_empty() && !browser.screenshots);
    browser.check_listen().unwrap();
}

#[test]
fn the_browser_is_set_in_the_file_and_by_variables() {
    let config = "browser:\n  engine: static\n  allow: [private, 'localhost:3000']\n";
    let case = Case::new(config).variable("WAYPOST_BROWSER_SCREENSHOTS", "on");
    let browser = case.resolve().unwrap().browser;
    assert_eq!(browser.engine, BrowserEngine::Static);
    assert_eq!(browser.allow, ["private", "localhost:3000"]);
    assert!(browser.screenshots);
}

#[test]
fn the_browser_is_kept_on_this_machine() {
    for address in ["0.0.0.0:4748", "[::]:4748", "192.168.1.7:4748"] {
        // The permission for the service does not apply to the browser, which has no tokens.
        let config = format!("allow_remote: true\nbrowser:\n  listen: '{address}'\n");
        let refused = Case::new(config).resolve().unwrap().browser.check_listen();
        let said = refused.unwrap_err().to_string();
        assert!(said.contains("requires no token"), "{said}");
    }
    let config = "browser:\n  listen: '[::1]:4748'\n";
    Case::new(config).resolve().unwrap().browser.check_listen().unwrap();
}

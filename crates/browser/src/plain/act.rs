//! Actions on a page without scripts.

use scraper::ElementRef;

use super::Plain;
use super::extract::option_named;
use super::fetch::Asked;
use super::page::{self, Filled, Page, name_of};
use crate::protocol::{Action, Done, Reference, TabId, Target, no_tab, stale, unsupported};
use crate::{Deadline, Problem, ProblemKind};

/// The consequence of an action.
enum Then {
    Fill(u64, Filled),
    Go(Asked),
    Nothing,
}

impl Plain {
    pub(crate) async fn act(
        &self,
        tab: TabId,
        target: Option<Target>,
        action: Action,
        by: Deadline,
    ) -> Result<Done, Problem> {
        let Some(target) = target else { return self.act_by_hand(tab, action, by).await };
        let (then, mut done) = self.with_page(tab, |page| self.decide(page, &target, &action))?;
        let before = self.arrival(tab)?.url;
        let mut navigated = false;
        match then {
            Then::Fill(number, filled) => {
                let mut state = self.state.lock();
                let known = state.tabs.get_mut(&tab).ok_or_else(|| no_tab(tab))?;
                let at = known.at;
                if let Some(page) = known.history.get_mut(at) {
                    page.filled.insert(number, filled);
                }
                known.look.fill();
                drop(state);
                self.news.notify_waiters();
            }
            Then::Go(asked) => {
                self.load(tab, asked, false, by).await?;
                navigated = true;
            }
            Then::Nothing => {}
        }
        if matches!(action, Action::Type { submit: true, .. }) {
            let asked = self.with_page(tab, |page| {
                let open = page.open();
                open.submission(locate(&open, &target)?.0, None)
            })?;
            self.load(tab, asked, false, by).await?;
            navigated = true;
        }
        let url = self.arrival(tab)?.url;
        done.navigated = Some(navigated || url != before);
        done.url = Some(url);
        Ok(done)
    }

    /// Determines the consequence of an action on this page.
    fn decide(
        &self,
        page: &Page,
        target: &Target,
        action: &Action,
    ) -> Result<(Then, Done), Problem> {
        let open = page.open();
        if matches!(action, Action::ScrollTo) {
            return Err(unsupported("this action"));
        }
        let (element, matches) = locate(&open, target)?;
        let number = open.number(element);
        let reference = Reference { document: page.document, element: number };
        let mut done = Done {
            reference: Some(reference.to_string()),
            matches: Some(matches),
            ..Done::default()
        };
        let kind = element.attr("type").unwrap_or_default().to_ascii_lowercase();
        if element.attr("disabled").is_some() {
            let detail = format!("<{}> {} is disabled", name_of(element), open.label(element));
            return Err(Problem::new(ProblemKind::Disabled, detail));
        }
        if !open.is_shown(element) {
            let detail = format!("<{}> {} is not visible", name_of(element), open.label(element));
            return Err(Problem::new(ProblemKind::Hidden, detail));
        }
        let then = match action {
            Action::Click(_) => self.click(&open, element, &kind)?,
            Action::Press(key) if key.name == "Enter" => match name_of(element) {
                "input" => Then::Go(open.submission(element, None)?),
                _ => self.click(&open, element, &kind)?,
            },
            Action::Type { text, append, .. } => {
                let is_text = name_of(element) == "textarea"
                    || (name_of(element) == "input"
                        && !matches!(
                            kind.as_str(),
                            "checkbox" | "radio" | "submit" | "button" | "file"
                        ));
                if !is_text || element.attr("readonly").is_some() {
                    return Err(Problem::invalid(format!(
                        "<{}> does not accept text",
                        name_of(element)
                    )));
                }
                let before = if *append { open.value(element) } else { String::new() };
                let mut whole = format!("{before}{text}");
                // Only text areas have lines.
                if name_of(element) == "input" {
                    whole = whole.replace("\r\n", " ").replace(['\r', '\n'], " ");
                }
                if open.is_secret(element) {
                    self.secrets.keep(&reference.to_string(), &whole);
                }
                Then::Fill(number, Filled::Text(whole))
            }
            Action::Select(values) => {
                if name_of(element) != "select" {
                    return Err(Problem::invalid(format!("<{}> is not a list", name_of(element))));
                }
                let chosen: Option<Vec<String>> =
                    values.iter().map(|value| option_named(element, value)).collect();
                let chosen = chosen.ok_or_else(|| {
                    let detail =
                        format!("value: the list does not have all of {}", values.join(", "));
                    Problem::new(ProblemKind::NotFound, detail)
                })?;
                done.chosen = Some(chosen.clone());
                Then::Fill(number, Filled::Chosen(chosen))
            }
            _ => return Err(unsupported("this key")),
        };
        Ok((then, done))
    }

    fn click(
        &self,
        open: &page::Open<'_>,
        element: ElementRef<'_>,
        kind: &str,
    ) -> Result<Then, Problem> {
        match (name_of(element), kind) {
            ("input", "checkbox") => {
                Ok(Then::Fill(open.number(element), Filled::Checked(!open.is_checked(element))))
            }
            ("input", "radio") => Ok(Then::Fill(open.number(element), Filled::Checked(true))),
            ("button", "" | "submit") | ("input", "submit" | "image") => {
                Ok(Then::Go(open.submission(element, Some(element))?))
            }
            ("input" | "textarea" | "select", _) => Ok(Then::Nothing),
            _ => {
                let above = element.ancestors().filter_map(ElementRef::wrap);
                let mut around = std::iter::once(element).chain(above);
                let link =
                    around.find(|around| name_of(*around) == "a" && around.attr("href").is_some());
                let link = link.ok_or_else(|| unsupported("a click on this element"))?;
                let href = link.attr("href").unwrap_or_default();
                let url = open
                    .page
                    .url
                    .join(href)
                    .map_err(|error| Problem::invalid(error.to_string()))?;
                let url = self.fetcher.check(&url)?;
                Ok(Then::Go(Asked { url, form: None }))
            }
        }
    }
}

pub(super) fn locate<'a>(
    open: &'a page::Open<'_>,
    target: &Target,
) -> Result<(ElementRef<'a>, u64), Problem> {
    match target {
        Target::Selector(selector) => open.find(selector),
        Target::Ref(reference) => {
            let found = open.by_number(reference.element);
            let found = found.filter(|_| reference.document == open.page.document);
            found.map(|found| (found, 1)).ok_or_else(|| stale(*reference))
        }
    }
}

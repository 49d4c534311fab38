//! Words of scripts that tell their language well enough to stem them, whatever language the rest
//! of a text has: a stem serves the query and the document alike, so even in a related language
//! (Ukrainian, Marathi, Persian) forms of a word come together and seldom two words.

mod hebrew;
mod hindi;

use std::fmt;

use bm25::{DefaultTokenizer, Language, Tokenizer};

use super::{WORD_CHARS_MAX, head};

/// A script, by its stemmer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Script {
    Cyrillic,
    Greek,
    Arabic,
    Hebrew,
    Devanagari,
}

impl Script {
    /// The script of a letter, or of a mark on one.
    pub(super) fn of(c: char) -> Option<Self> {
        let script = match c {
            '\u{370}'..='\u{3FF}' | '\u{1F00}'..='\u{1FFF}' => Self::Greek,
            '\u{400}'..='\u{52F}' => Self::Cyrillic,
            '\u{591}'..='\u{5F2}' => Self::Hebrew,
            '\u{610}'..='\u{6FF}' | '\u{750}'..='\u{77F}' => Self::Arabic,
            '\u{900}'..='\u{963}' | '\u{971}'..='\u{97F}' => Self::Devanagari,
            _ => return None,
        };
        // Marks of Arabic and Hebrew that are not letters, the Arabic stretch, and the two Indic
        // marks that are no vowels.
        let is_mark = matches!(c, '\u{591}'..='\u{5C7}' | '\u{610}'..='\u{61A}' | '\u{640}'
            | '\u{64B}'..='\u{65F}' | '\u{670}' | '\u{6D6}'..='\u{6ED}' | '\u{93C}' | '\u{94D}');
        (c.is_alphabetic() || is_mark).then_some(script)
    }
}

/// A stemmer for each script.
pub(super) struct Stems {
    russian: DefaultTokenizer,
    greek: DefaultTokenizer,
    arabic: DefaultTokenizer,
    plain: DefaultTokenizer,
}

impl fmt::Debug for Stems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stems").finish_non_exhaustive()
    }
}

impl Stems {
    pub(super) fn new() -> Self {
        let stemmer = |language| {
            let builder = DefaultTokenizer::builder().language_mode(language);
            builder.normalization(false).stopwords(false).build()
        };
        Self {
            russian: stemmer(Language::Russian),
            greek: stemmer(Language::Greek),
            arabic: stemmer(Language::Arabic),
            plain: DefaultTokenizer::builder().stemming(false).stopwords(false).build(),
        }
    }

    /// The terms of a run of letters of one script: its stem in the letters of ASCII, as other words
    /// are transliterated.
    pub(super) fn terms(&self, script: Script, run: &str) -> Vec<String> {
        let is_accent = |c: &char| matches!(c, '\u{300}'..='\u{36F}');
        let word: String = run.chars().filter(|c| !is_accent(c)).collect();
        let head = head(&word, WORD_CHARS_MAX);
        let stems = match script {
            Script::Cyrillic => self.russian.tokenize(&head.replace(['ё', 'Ё'], "е")),
            Script::Greek => self.greek.tokenize(head),
            Script::Arabic => self.arabic.tokenize(head),
            Script::Hebrew => vec![hebrew::stem(&word)],
            Script::Devanagari => vec![hindi::stem(&word)],
        };
        stems.iter().map(|stem| self.in_ascii(stem)).filter(|term| !term.is_empty()).collect()
    }

    fn in_ascii(&self, stem: &str) -> String {
        let ascii = self.plain.tokenize(stem).concat();
        if ascii.is_empty() { stem.to_owned() } else { ascii }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(script: Script, forms: &[&str]) {
        let stems = Stems::new();
        let terms: Vec<_> = forms.iter().map(|form| stems.terms(script, form)).collect();
        assert!(terms.iter().all(|it| it.len() == 1 && *it == terms[0]), "{forms:?}: {terms:?}");
    }

    #[test]
    fn forms_of_a_word_have_one_stem() {
        check(Script::Cyrillic, &["маяк", "маяка", "маяки", "маяков", "Маяке"]);
        check(Script::Cyrillic, &["тёплый", "теплые", "ТЁПЛОГО"]);
        check(Script::Greek, &["φάρος", "φάρου", "φάρων", "φάροι", "ΦΑΡΟΣ", "φα\u{301}ρος"]);
        check(Script::Arabic, &["مهندس", "المهندس", "المهندسون", "مُهَنْدِس"]);
        check(Script::Hebrew, &["מנוע", "המנוע", "מנועים", "והמנועים", "מָנוֹעַ"]);
        check(Script::Devanagari, &["घोड़ा", "घोड़े", "घोड़ों", "घोडा"]);
        check(Script::Devanagari, &["लड़की", "लड़कियाँ", "लड़कियों"]);
    }

    proptest! {
        #[test]
        fn no_run_of_letters_is_too_odd(
            run in "[\u{370}-\u{52F}\u{591}-\u{5F2}\u{610}-\u{6FF}\u{900}-\u{97F}]{0,12}",
        ) {
            let stems = Stems::new();
            for script in [
                Script::Cyrillic, Script::Greek, Script::Arabic, Script::Hebrew, Script::Devanagari,
            ] {
                for term in stems.terms(script, &run) {
                    prop_assert!(!term.is_empty());
                }
            }
        }
    }

    proptest! {
        #[test]
        fn a_run_that_is_cut_before_it_is_stemmed_has_the_same_term(
            cyrillic in "([а-щэ-я]{4,40}){1,8}(ость|ейшими|ующиеся|ами|ого)?",
            greek in "([α-ω]{4,40}){1,8}(ους|ματων|ιζοντας)?",
        ) {
            let stems = Stems::new();
            let whole = [stems.russian.tokenize(&cyrillic), stems.greek.tokenize(&greek)];
            let runs = [(Script::Cyrillic, &cyrillic), (Script::Greek, &greek)];
            for ((script, run), whole) in runs.into_iter().zip(whole) {
                let cut = |term: &String| head(term, 64).to_owned();
                let terms: Vec<String> = stems.terms(script, run).iter().map(cut).collect();
                let whole: Vec<String> = whole.iter().map(|stem| cut(&stems.in_ascii(stem))).collect();
                prop_assert_eq!(terms, whole);
            }
        }
    }
}

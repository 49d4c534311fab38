//! The relevant nodes of each grammar.

use tree_sitter::Node;

use super::headers::{self, Header};
use crate::{Kind, Language};

/// The role of a kind of node in the walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Ignored, with everything in it.
    Skip,
    /// A comment or an attribute: it belongs to the next definition.
    Lead,
    /// Its children are walked.
    Enter,
    /// The same, and what precedes it belongs to the first definition in it.
    Wrap,
    /// Its name is part of the names in it, but it is not a definition itself.
    Scope,
    /// A definition.
    Item(Kind),
    /// A definition that contains definitions.
    Holder(Kind),
    /// Possibly a definition; its header decides.
    Ask,
}

/// A grammar, and how to read its trees.
pub(super) struct Grammar {
    pub(super) language: tree_sitter::Language,
    pub(super) roles: Roles,
    pub(super) header: Read,
    /// Whether `/*!` documents the enclosing item.
    pub(super) inner_docs: bool,
}

/// Reads the header of a node, given the kind of its role and the number of enclosing scopes.
pub(super) type Read = fn(Node<'_>, &str, Option<Kind>, usize) -> Option<Header>;

/// The role of the kinds of nodes with these names.
type Roles = &'static [(&'static str, Role)];

/// The grammar of a language, if it is linked.
pub(super) fn grammar(language: Language) -> Option<Grammar> {
    let (language, roles, header): (tree_sitter::Language, Roles, Read) = match language {
        #[cfg(feature = "lang-bash")]
        Language::Bash => (tree_sitter_bash::LANGUAGE.into(), BASH, headers::bash),
        #[cfg(feature = "lang-c")]
        Language::C => (tree_sitter_c::LANGUAGE.into(), C, headers::c),
        #[cfg(feature = "lang-cpp")]
        Language::Cpp => (tree_sitter_cpp::LANGUAGE.into(), C, headers::c),
        #[cfg(feature = "lang-c-sharp")]
        Language::CSharp => (tree_sitter_c_sharp::LANGUAGE.into(), C_SHARP, headers::c_sharp),
        #[cfg(feature = "lang-go")]
        Language::Go => (tree_sitter_go::LANGUAGE.into(), GO, headers::go),
        #[cfg(feature = "lang-java")]
        Language::Java => (tree_sitter_java::LANGUAGE.into(), JAVA, headers::java),
        #[cfg(feature = "lang-javascript")]
        Language::JavaScript => (tree_sitter_javascript::LANGUAGE.into(), SCRIPT, headers::script),
        #[cfg(feature = "lang-php")]
        Language::Php => (tree_sitter_php::LANGUAGE_PHP.into(), PHP, headers::php),
        #[cfg(feature = "lang-python")]
        Language::Python => (tree_sitter_python::LANGUAGE.into(), PYTHON, headers::python),
        #[cfg(feature = "lang-ruby")]
        Language::Ruby => (tree_sitter_ruby::LANGUAGE.into(), RUBY, headers::ruby),
        #[cfg(feature = "lang-rust")]
        Language::Rust => (tree_sitter_rust::LANGUAGE.into(), RUST, headers::rust),
        #[cfg(feature = "lang-typescript")]
        Language::TypeScript => {
            (tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(), SCRIPT, headers::script)
        }
        #[cfg(feature = "lang-typescript")]
        Language::Tsx => (tree_sitter_typescript::LANGUAGE_TSX.into(), SCRIPT, headers::script),
        _ => return None,
    };
    let inner_docs = std::ptr::eq(roles, RUST);
    Some(Grammar { language, roles, header, inner_docs })
}

/// Whether a header is C++: it uses something that C lacks.
pub(super) fn is_cpp(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim_start();
        ["namespace ", "class ", "template <", "template<", "public:", "using namespace "]
            .iter()
            .any(|it| line.starts_with(it))
    })
}

use Kind::{Function, Macro, Type, Value};
use Role::{Ask, Enter, Holder, Item, Lead, Scope, Wrap};

const RUST: Roles = &[
    ("line_comment block_comment attribute_item", Lead),
    ("declaration_list foreign_mod_item", Enter),
    ("impl_item mod_item", Scope),
    ("struct_item enum_item union_item type_item", Item(Type)),
    ("trait_item", Holder(Type)),
    ("function_item function_signature_item", Item(Function)),
    ("const_item static_item", Item(Value)),
    ("macro_definition", Item(Macro)),
];

const PYTHON: Roles = &[
    ("comment", Lead),
    (
        "block if_statement else_clause elif_clause try_statement except_clause with_statement",
        Enter,
    ),
    ("decorated_definition", Wrap),
    ("class_definition", Holder(Type)),
    ("function_definition", Item(Function)),
    ("type_alias_statement", Item(Type)),
    ("expression_statement", Ask),
];

const SCRIPT: Roles = &[
    ("comment decorator", Lead),
    ("statement_block class_body expression_statement", Enter),
    ("export_statement ambient_declaration", Wrap),
    ("internal_module module", Scope),
    ("class_declaration abstract_class_declaration", Holder(Type)),
    ("interface_declaration type_alias_declaration enum_declaration", Item(Type)),
    (
        "function_declaration generator_function_declaration function_signature method_definition \
         abstract_method_signature",
        Item(Function),
    ),
    (
        "lexical_declaration variable_declaration public_field_definition field_definition \
         assignment_expression",
        Ask,
    ),
];

const GO: Roles = &[
    ("comment", Lead),
    ("var_spec_list", Enter),
    ("type_declaration const_declaration var_declaration", Wrap),
    ("type_spec type_alias", Item(Type)),
    ("function_declaration method_declaration", Item(Function)),
    ("const_spec var_spec", Item(Value)),
];

const JAVA: Roles = &[
    ("line_comment block_comment", Lead),
    ("class_body interface_body enum_body enum_body_declarations annotation_type_body", Enter),
    (
        "class_declaration interface_declaration enum_declaration record_declaration \
         annotation_type_declaration",
        Holder(Type),
    ),
    ("method_declaration constructor_declaration compact_constructor_declaration", Item(Function)),
    ("field_declaration constant_declaration", Ask),
];

/// C and C++.
const C: Roles = &[
    ("comment", Lead),
    (
        "preproc_ifdef preproc_if preproc_else preproc_elif preproc_elifdef linkage_specification \
         declaration_list field_declaration_list",
        Enter,
    ),
    ("template_declaration", Wrap),
    ("namespace_definition", Scope),
    ("class_specifier struct_specifier union_specifier", Holder(Type)),
    ("enum_specifier alias_declaration concept_definition type_definition", Item(Type)),
    ("function_definition", Item(Function)),
    ("declaration field_declaration", Ask),
    ("preproc_def preproc_function_def", Item(Macro)),
];

const C_SHARP: Roles = &[
    ("comment", Lead),
    ("declaration_list preproc_if preproc_else preproc_elif", Enter),
    ("namespace_declaration", Scope),
    ("class_declaration interface_declaration struct_declaration record_declaration", Holder(Type)),
    ("enum_declaration delegate_declaration", Item(Type)),
    ("method_declaration constructor_declaration", Item(Function)),
    ("property_declaration", Item(Value)),
    ("field_declaration", Ask),
];

const PHP: Roles = &[
    ("comment", Lead),
    ("declaration_list compound_statement namespace_definition enum_declaration_list", Enter),
    ("class_declaration interface_declaration trait_declaration enum_declaration", Holder(Type)),
    ("function_definition method_declaration", Item(Function)),
    ("const_declaration", Item(Value)),
];

const RUBY: Roles = &[
    ("comment", Lead),
    ("body_statement singleton_class", Enter),
    ("class module", Holder(Type)),
    ("method singleton_method", Item(Function)),
    ("assignment", Ask),
];

const BASH: Roles = &[
    ("comment", Lead),
    ("declaration_command", Wrap),
    ("function_definition", Item(Function)),
    ("variable_assignment", Ask),
];

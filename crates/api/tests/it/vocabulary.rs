use serde::Serialize;
use serde::de::DeserializeOwned;
use utoipa::PartialSchema;
use waypost_api::{
    ContextSource, ContextTask, ImportIds, LinkKind, RecallFate, RecallMoment, RecallPart,
    RecallReason, RecallRefusal, RecallRole, RecallSilence, RunState, Scope, SearchMode,
    SuggestionKind, Vocabulary,
};

/// serde and the OpenAPI document have the names of a vocabulary, and no others.
fn check<
    T: Vocabulary + Serialize + DeserializeOwned + PartialEq + std::fmt::Debug + PartialSchema,
>() {
    let names: Vec<&str> = T::ALL.iter().map(|it| it.as_str()).collect();
    for (value, name) in T::ALL.iter().zip(&names) {
        assert_eq!(serde_json::to_value(value).expect("JSON"), *name);
        assert_eq!(serde_json::from_value::<T>((*name).into()).expect("a value"), *value);
        assert_eq!(T::from_name(name), Some(*value));
    }
    let schema = serde_json::to_value(T::schema()).expect("JSON");
    assert_eq!(schema["enum"], serde_json::json!(names));
}

#[test]
fn a_vocabulary_has_the_names_of_the_wire() {
    check::<ContextSource>();
    check::<ContextTask>();
    check::<ImportIds>();
    check::<LinkKind>();
    check::<RecallFate>();
    check::<RecallMoment>();
    check::<RecallPart>();
    check::<RecallReason>();
    check::<RecallRefusal>();
    check::<RecallRole>();
    check::<RecallSilence>();
    check::<RunState>();
    check::<Scope>();
    check::<SearchMode>();
    check::<SuggestionKind>();
}

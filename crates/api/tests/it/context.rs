use waypost_api::{
    CONTEXT_TYPES, ContextRequest, ContextSource, ContextTask, Problem, parse_optional_body,
};

fn read(body: &str) -> Result<ContextRequest, Problem> {
    parse_optional_body(body.as_bytes())
}

/// The pointer and the message of the only invalid field.
#[track_caller]
fn refused(body: &str) -> (String, String) {
    let problem = read(body).expect_err("the body is wrong");
    assert_eq!((problem.status, problem.errors.len()), (422, 1), "{problem:?}");
    let error = &problem.errors[0];
    (error.pointer.clone(), error.message.clone())
}

#[test]
fn a_full_request_for_context_is_read_and_all_of_it_may_be_left_out() {
    let body = r#"{"query":"größe","maxItems":200,"taskType":"strategy","maxTokens":1000000,
        "sources":["journal","knowledge","code","memory"],"types":["decision","my_own"],"paths":["src/**/*.{rs,md}"]}"#;
    let full = read(body).unwrap();
    assert_eq!((full.max_items, full.task_type), (Some(200), Some(ContextTask::Strategy)));
    assert_eq!(full.sources.last(), Some(&ContextSource::Memory));
    assert_eq!(read(&serde_json::to_string(&full).unwrap()).unwrap(), full);
    for nothing in ["", "{}", r#"{"query":null,"sources":null,"types":null,"paths":null}"#] {
        assert_eq!(read(nothing).unwrap(), ContextRequest::default(), "{nothing:?}");
    }
    let every = CONTEXT_TYPES.map(|kind| format!("\"{kind}\"")).join(",");
    assert_eq!(read(&format!("{{\"types\":[{every}]}}")).unwrap().types.len(), 17);
}

#[test]
fn types_are_the_projects_unless_memories_are_asked() {
    let (pointer, said) = refused(r#"{"types":["note","my_own"]}"#);
    assert_eq!(pointer, "/types/1");
    assert!(said.starts_with("`my_own` is not one of daily, worklog"), "{said}");
    let (pointer, said) = refused(r#"{"sources":["memory"],"types":["My own"]}"#);
    assert_eq!((pointer.as_str(), said.contains("a-z")), ("/types/0", true));
    let (_, said) = refused(r#"{"types":["decison"]}"#);
    assert_eq!(said, "unknown value `decison`; did you mean `decision`?");
}

#[test]
fn globs_that_leave_the_project_are_refused() {
    for glob in [
        "/etc/*",
        "../x",
        "a/../b",
        "a/..",
        "{..,a}/x",
        "\\\\\\\\host\\\\x",
        "..\\\\x",
        "C:/x",
        "~/x",
        " ",
    ] {
        let (pointer, _) = refused(&format!("{{\"paths\":[\"ok/**\",\"{glob}\"]}}"));
        assert_eq!(pointer, "/paths/1", "{glob}");
    }
    for glob in ["**", "..a/b", "a..b/*.rs", "src/[a-z]*/**", "...", "ä/ö.md", "a b/c"] {
        assert!(read(&format!("{{\"paths\":[\"{glob}\"]}}")).is_ok(), "{glob}");
    }
    let many = vec!["\"a\""; 65].join(",");
    assert_eq!(refused(&format!("{{\"paths\":[{many}]}}")).0, "/paths");
    assert_eq!(refused(&format!("{{\"paths\":[\"{}\"]}}", "a".repeat(513))).0, "/paths/0");
}

//! The wire contract of Waypost: requests, answers, problems, OpenAPI, a blocking client.

"""A small test set with human scores, as rows of a JSONL file."""

ROWS = [
    {
        "doc": "one",
        "seg": 1,
        "refs": ["the cat sat on the mat .", "a cat was sitting on the mat ."],
        "sys": {
            "b": {"hyp": "the cat sat on a mat .", "scores": {"fluency": 4, "adequacy": 5}},
            "a": {"hyp": "cat mat", "scores": {"fluency": 1}},
            "c": {"hyp": "a cat sat on the mat .", "scores": {"fluency": 4.5}},
        },
    },
    {
        "doc": "one",
        "seg": 2,
        "refs": ["it rained all day long ."],
        "sys": {
            "b": {"hyp": "it rained all the day .", "scores": {"fluency": 3}},
            "a": {"hyp": "", "scores": {"fluency": 0}},
            "c": {"hyp": "it rained all day .", "scores": {}},
        },
    },
    {
        "doc": "two",
        "seg": 3,
        "refs": [
            "nobody knew the answer .",
            "no one knew the answer .",
            "who knew ?",
        ],
        "sys": {
            "b": {"hyp": "nobody had the answer .", "scores": {"fluency": 2}},
            "c": {"hyp": "no one knew the answer .", "scores": {"fluency": 5}},
        },
    },
]

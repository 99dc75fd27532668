"""Hostile command lines: files and options that a careless or malicious user might give.

`case(rng, folder)` writes files and gives a `Case`: the arguments, and where it is known what must
come out (`good`: hypotheses and references of a proper input, to be scored by others; `bad`: an
input that no right result exists for). `verdict` looks at what the command made of it. Nothing of
the package is imported here.
"""

import contextlib
import csv
import gzip
import io
import json
import re
import signal
import traceback
from dataclasses import dataclass, field

WORDS = [
    *"the a dog cat ran home . , ! ? ( ) -LRB- & &amp; <b> 1,000 2.5 don't".split(),
    *(
        "é",
        "漢字",
        "\u200b",
        "\ufeff",
        "\u2028",
        "\x1b[31m",
        "\x00",
        "\x7f",
        "İ",
        "\U0001f600",
        "~^\\_",
    ),
]
LABELS = "S NP VP NN VBD DT TOP -NONE- NP-SBJ-1 X|Y , .".split()
FORMS = ["text", "json", "tsv", "latex"]
NGRAM = [
    "bleu",
    "nist",
    "bm",
    "bma",
    "nm",
    "chrf:word_order=2",
    "bleu:smooth=floor",
    "nm:weighting=zipf,max_order=2",
    "ter",
    "wer",
    "rouge:variant=l",
]
TREE = ["stm", "tkm", "hwcm", "dstm", "dtkm", "stm:balance=f1", "hwcm:rules=yamada"]
NUMBERS = ["0", "-1", "1", "2", "3.5", "nan", "inf", "1e400", "9" * 20, "9" * 5000, "x", "", "True"]
UNITS = [
    *""". ... ! 。 - a- a. a... ' '' " “ l' a@ @ # www. http:// 1. 1, & &amp; <""".split(),
    *"<skipped> ( ) * ` _ a_ x Σ İ".split(),
    *(". ", "... ", "U.S. ", "(x. Y) ", ". ) ", " ", "\t", "\u0301", "-\n", "\r"),
]
KEYS = "hypothesis references reference doc refs sys hyp scores seg ref1 x".split()


@dataclass
class Case:
    """A command line, and what is known of its result."""

    arguments: list[str]
    good: tuple[list[str], list[list[str]]] | None = None  # hypotheses, streams of references
    bad: bool = False
    seen: list[str] = field(default_factory=list)  # what was tried, for the tally


def number(rng, proper="3"):
    """A number as it is typed: mostly one that can be used."""
    return proper if rng.random() < 0.7 else rng.choice(NUMBERS)


def line(rng, least=0):
    return " ".join(rng.choice(WORDS) for _ in range(rng.randint(least, 8)))


def value(rng, depth=0):
    """Any JSON value, in part no JSON at all."""
    kind = rng.randrange(12 if depth < 3 else 8)
    if kind == 8:
        return [value(rng, depth + 1) for _ in range(rng.randrange(4))]
    if kind >= 9:
        return {rng.choice(KEYS): value(rng, depth + 1) for _ in range(rng.randrange(4))}
    return rng.choice(
        [None, True, 0, -1.5, 10**400, float("nan"), float("inf"), "", "\ud800", "a\udfff b", "a b"]
        + [line(rng)] * 5
    )


def damaged(rng, data):
    """Bytes with a few of them changed, cut or repeated."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(data) + 1)
        kind = rng.randrange(4)
        if kind == 0:
            data[place:place] = bytes([rng.randrange(256)])
        elif kind == 1:
            del data[place : place + rng.randint(1, 20)]
        elif kind == 2:
            data[place : place + 1] = rng.choice([b"\xff", b"\x00", b"\n", b'"', b"{", b"(", b"<"])
        else:
            data[place:place] = data[place : place + 30]
    return bytes(data)


def put(rng, folder, name, text, break_it=False):
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    if break_it:
        data = damaged(rng, data)
    path = folder / name
    if rng.random() < 0.1:
        path = folder / f"{name}.gz"
        data = gzip.compress(data)
        if break_it and rng.random() < 0.5:
            data = damaged(rng, data)
    path.write_bytes(data)
    return str(path)


def texts(rng, size, streams):
    """Lines of hypotheses and references; every segment has a reference of words."""
    hyps = [line(rng) for _ in range(size)]
    refs = [[line(rng) for _ in range(size)] for _ in range(streams)]
    for row in range(size):
        refs[0][row] = "the " + line(rng)
    return hyps, refs


def plain(rng, folder, case):
    size = rng.choice([0, 1, 2, 3, 7, 30])
    hyps, refs = texts(rng, size, rng.choice([1, 1, 2, 3]))
    end = rng.choice(["\n", "\n", "\r\n"])
    broken = rng.random() < 0.25
    paths = []
    for k, lines in enumerate([hyps, *refs]):
        text = "".join(x + end for x in lines)
        paths.append(put(rng, folder, f"t{k}.txt", text, broken and rng.random() < 0.5))
    case.seen.append("damaged text" if broken else "text")
    if size == 0 and not broken:
        case.bad = True
    if not broken and size:
        for lines in (hyps, *refs):
            lines[0] = lines[0].removeprefix("\ufeff")  # of a file it is a byte order mark
        case.good = hyps, refs
    return ["-i", paths[0]], paths[1:]


def repeated(rng, folder, case):
    """A long line of one pattern: what takes time or memory out of proportion."""
    unit = rng.choice(UNITS)
    lines = [rng.choice(["", "a "]) + unit * (rng.choice([100, 20_000]) // len(unit)) + " a"]
    paths = [put(rng, folder, f"t{k}.txt", f"{lines[0]}\n") for k in range(2)]
    case.seen.append("repeated pattern")
    if not set("\n\r") & set(lines[0]):
        case.good = lines, [list(lines)]
    return ["-i", paths[0]], paths[1:]


def table(rng, folder, case):
    """CSV as Python writes it, columns of any name, named or misspelt."""
    size, broken = rng.randint(1, 5), rng.random() < 0.25
    hyps, refs = texts(rng, size, rng.choice([1, 2]))
    names = [f"reference{rng.choice(['', '_', '-'])}{k}" for k in range(1, len(refs) + 1)]
    head, named = ["hypothesis", *names], []
    if rng.random() < 0.5:
        head = rng.sample(["mt", "a,b", 'q"', "x y", "é", "reference", "references", ""], len(head))
        named = ["--hyp", head[0], "--refs", *head[1:]]
    known = "" not in head
    if rng.random() < 0.2:
        named += ["--refs", rng.choice(["glod", "", head[0]])]
        known = False
    out = io.StringIO()
    quoting = rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    writer = csv.writer(out, lineterminator=rng.choice(["\n", "\r\n"]), quoting=quoting)
    writer.writerows([head, *zip(hyps, *refs, strict=True)])
    case.arguments += named
    case.seen.append("damaged CSV" if broken else "CSV" if known else "CSV, other columns")
    path = put(rng, folder, "rows.csv", out.getvalue(), broken)
    odd = any(set("\r\n\ufeff") & set(text) for lines in (hyps, *refs) for text in lines)
    if known and not broken and not odd:
        case.good = hyps, refs
    return ["-i", path], []


def rows(rng, folder, case):
    size, broken = rng.randint(0, 5), rng.random() < 0.25
    hyps, refs = texts(rng, size, rng.choice([1, 2]))
    if rng.random() < 0.6:
        found = [
            {"hypothesis": h, "references": list(r), "doc": rng.choice(["x", 7, 1.5])}
            for h, r in zip(hyps, zip(*refs, strict=True), strict=True)
        ]
        odd = rng.random() < 0.5
        if odd and found:
            row = rng.choice(found)
            for _ in range(rng.randint(1, 3)):
                row[rng.choice(KEYS)] = value(rng)
        text = "".join(json.dumps(x, ensure_ascii=rng.random() < 0.5) + "\n" for x in found)
        if rng.random() < 0.05:
            text += '{"hypothesis": "a", "hypothesis": "b", "reference": "c"}\n'
            odd = True
        if rng.random() < 0.05:
            text += rng.choice(["[" * 100_000, '{"a":' * 50_000, "{}", "[]", "null"]) + "\n"
            odd = True
        case.seen.append("odd JSONL" if odd or broken else "JSONL")
        name = "rows.jsonl"
    else:
        odd = True  # tabs and line ends of the words are not escaped
        head = ["hypothesis", *(f"reference{k}" for k in range(1, len(refs) + 1))]
        head += rng.choice([[], ["doc"], ["reference_url"], ["reference"]])
        cells = [
            [h, *r, *["y"] * (len(head) - 1 - len(r))] for h, *r in zip(hyps, *refs, strict=True)
        ]
        text = "\n".join("\t".join(c) for c in [head, *cells]) + "\n"
        case.seen.append("TSV")
        name = "rows.tsv"
    path = put(rng, folder, name, text, broken)
    if not odd and not broken and size:
        case.good = hyps, refs
    return ["-i", path], []


def markup(rng, folder, case):
    pieces = [
        *('<refset setid="t">', "</refset>", "<tstset sysid=s>", "</tstset>", "<hyp system=h>"),
        *('<doc docid="d" sysid="a/b">', "<doc docid=e>", "</doc>", "<ref>", "</hyp>", "<src>"),
        *('<seg id="1">a b</seg>', "<seg id=2>c</seg>", "<seg>d</seg>", "<seg>", "</seg>"),
        *("<![CDATA[x < y]]>", "<![foo", "<!DOCTYPE", "<!--", "-->", "<?xml", "&#xffffffff;", "&"),
        *("<title>", "<script>", "<plaintext>", "\x00", "<", ">", '"', "\n"),
    ]
    whole = (
        '<tstset sysid="s"><doc docid="d"><seg id="1">a b c d</seg><seg id="2">c</seg></doc>'
        '</tstset><refset><doc docid="d"><seg id="1">a b c e</seg><seg id="2">c</seg></doc>'
    )
    if rng.random() < 0.4:
        text = whole
    else:
        text = "".join(rng.choice(pieces) for _ in range(rng.randint(0, 25)))
    case.seen.append("markup")
    name = f"m{rng.randrange(10**9)}.{rng.choice(['sgm', 'xml', 'sgml'])}"
    path = put(rng, folder, name, text, rng.random() < 0.3)
    return ["-i", path], [path] if rng.random() < 0.4 else []


def tree(rng, depth=0):
    if depth > 4 or rng.random() < 0.3:
        return f"({rng.choice(LABELS)} {rng.choice(['dog', 'a', '*', '-LRB-', 'é'])})"
    children = " ".join(tree(rng, depth + 1) for _ in range(rng.randint(1, 3)))
    return f"({rng.choice(LABELS)} {children})"


def trees(rng, folder, case):
    size = rng.choice([1, 2, 5])
    kind = rng.choice(["ptb", "ptb", "mrg", "conllu", "deep"])
    paths = []
    for k in range(rng.choice([2, 2, 3])):
        if kind == "conllu":
            text = "".join(
                f"# s\n1\tthe\t_\t_\t_\t_\t{rng.choice([2, 2, 0, 9])}\t_\t_\t_\n"
                "2\tdog\t_\t_\t_\t_\t0\t_\t_\t_\n\n"
                for _ in range(size)
            )
        elif kind == "deep":
            deep = rng.choice([10, 1000, 20_000])
            text = ("(A " * deep + "(B b)" + ")" * deep + "\n") * size
        else:
            text = "\n".join(tree(rng) for _ in range(size)) + "\n"
            if kind == "mrg":
                text = re.sub(r" \(", lambda _: "\n  (" if rng.random() < 0.5 else " (", text)
        name = f"t{k}.{'ptb' if kind == 'deep' else kind}"
        paths.append(put(rng, folder, name, text, rng.random() < 0.2))
    case.seen.append(f"trees {kind}")
    case.arguments.append("--trees")
    return ["-i", paths[0]], paths[1:]


def spec(rng, known):
    name = rng.choice(known)
    if rng.random() < 0.85:
        return name
    options = "max_order max_depth max_length smooth smooth_value lowercase tokenize decay rules x"
    option = rng.choice(options.split())
    given = rng.choice(
        [*NUMBERS, "yes", "no", "maybe", "exp", "floor", "13a", "char", "collins", "{[]}"]
    )
    return f"{name.partition(':')[0]}:{option}={given}"


def flags(rng, case, command, folder):
    found = []
    if rng.random() < 0.15:
        found += ["--chunk", number(rng)]
    if command == "score" and rng.random() < 0.4:
        names = ["s.jsonl", "s.tsv", "s.parquet", "s.txt", "t0.txt", "rows.jsonl", "no/s.tsv", ""]
        out = rng.choice(names)
        found += ["--segments", str(folder / out)]
        if rng.random() < 0.3 and out:
            state = rng.choice(['{"done": 1}', "[", "{}", json.dumps(value(rng)), "[" * 10**5])
            (folder / f"{out}.state").parent.mkdir(exist_ok=True)
            (folder / f"{out}.state").write_text(state)
            (folder / f"{out}.part").write_text("x\n")
            found.append("--resume")
        elif rng.random() < 0.2 and out:
            planted = (
                folder / f"{out}{rng.choice(['', '.part', '.state', '.state.new', '.part.new'])}"
            )
            planted.parent.mkdir(exist_ok=True)
            if not planted.exists():
                planted.symlink_to(folder / "victim")
        case.good = None if out in ("t0.txt", "rows.jsonl", "s.txt", "") else case.good
    if command in ("score", "compare") and rng.random() < 0.1:
        found += ["--docs", put(rng, folder, "docs", "x\n" * rng.randrange(4))]
    if command == "score" and rng.random() < 0.2:
        found.append("--documents")
    if command == "score" and "--resume" not in found and rng.random() < 0.2:
        found.append("--confidence")
    if command == "compare":
        found += rng.choice([["--paired-bs"], ["--paired-ar"], []])
        found += ["--samples", number(rng, "10")]
        found += rng.choice([["--seed", number(rng)], [], []])
        found += rng.choice([["--all-pairs"], []])
    return found


def judged(rng, folder, case):
    """Test sets with human scores."""
    broken, found = rng.random() < 0.25, []
    for k in range(rng.randint(1, 6)):
        row = {
            "doc": rng.choice(["a", "b", None]),
            "seg": k,
            "refs": [line(rng, 1) for _ in range(rng.randint(1, 4))],
            "sys": {
                name: {"hyp": line(rng), "scores": {"fluency": rng.random(), "n_x": 3}}
                for name in ("A", "B", "C")[: rng.randint(1, 3)]
            },
        }
        if rng.random() < 0.2:
            place = rng.choice([row, row["sys"], *row["sys"].values()])
            place[rng.choice([*place, *KEYS])] = value(rng)
        found.append(json.dumps(row, ensure_ascii=rng.random() < 0.5))
    case.seen.append("judged, damaged" if broken else "judged")
    return [put(rng, folder, "judged.jsonl", "\n".join(found) + "\n", broken)]


def case(rng, folder, *, parse=False):
    """A command line with its files; `parse`: commands that load the parser too."""
    commands = ["score"] * 6 + ["compare"] * 3 + ["metaeval"] * 2 + ["qarla"] * 2 + ["list"]
    commands += ["rerank", "diversity"]
    command = rng.choice([*commands, *(["parse", "train-parser"] * 2 if parse else [])])
    made = Case([command], seen=[command])
    add = made.arguments.extend
    if command in ("score", "compare"):
        source = rng.choice([plain, plain, rows, rows, table, repeated, markup, trees])
        given, refs = source(rng, folder, made)
        if command == "compare" and rng.random() < 0.7:
            other = put(rng, folder, "other.txt", "the dog\n" * rng.randint(1, 5))
            given = [*given, other if source is plain else given[1]]
        add([*refs, *given])
        known = TREE + NGRAM[:2] if source is trees else NGRAM
        names = [spec(rng, known) for _ in range(rng.randint(1, 2))]
        if made.good and command == "score" and rng.random() < 0.5:
            add(["-m", *dict.fromkeys([*names, "bleu"]), "-f", "json"])
        else:
            add(["-m", *names, "-f", rng.choice(FORMS)])
        add(flags(rng, made, command, folder))
        if source is trees or "-m" not in made.arguments or len(refs) > 3:
            made.good = None
    elif command in ("metaeval", "qarla"):
        add(judged(rng, folder, made))
        own = ["rouge1", "vector", "vector-3", "vector-0", "rouge1-x"] if command == "qarla" else []
        add(["-m", *(spec(rng, NGRAM + own) for _ in range(rng.randint(1, 2)))])
        if rng.random() < 0.3:
            add([rng.choice(["--min-references", "--max-references"]), number(rng, "1")])
        if rng.random() < 0.2:
            add(["--human", rng.choice(["fluency", "none", "n_x"])])
        if command == "metaeval" and rng.random() < 0.3:
            add(
                [
                    rng.choice(["--bootstrap", "--seed", "--orders", "--confidence"]),
                    number(rng),
                ]
            )
        if command == "qarla" and rng.random() < 0.3:
            add(["--subset", rng.choice(["x=A,B", "x=", "=A", "x=Z", "A"])])
        add(["-f", rng.choice(["text", "json"])])
    elif command in ("rerank", "diversity"):
        add(candidates(rng, folder, made))
        add(["-m", spec(rng, NGRAM)])
        if rng.random() < 0.3:
            add(["--lines", number(rng, "2")])
        if command == "rerank" and rng.random() < 0.4:
            add([rng.choice(["--weights", "--log-probs"]), rng.choice(["score", "lp", "none"])])
        if command == "rerank":
            own = rng.choice(["c.out", "c.txt", "no/c", "."])
            add(rng.choice([["-f", "jsonl"], ["-o", str(folder / own)]]))
            add(rng.choice([[], ["--nbest", number(rng, "2")]]))
    elif command == "parse":
        text = "\n".join(line(rng) for _ in range(rng.randrange(4)))
        add([put(rng, folder, "p.txt", text, rng.random() < 0.3)])
        add(rng.choice([[], ["--tokenized"], ["--whole"], ["--max-length", number(rng)]]))
        add(rng.choice([[], ["-o", str(folder / rng.choice(["p.ptb", "p.txt", "no/p", "."]))]]))
        if rng.random() < 0.5:
            add(["--parser", parser_folder(rng, folder)])
    elif command == "train-parser":
        bank = "\n".join(tree(rng) for _ in range(rng.randrange(4)))
        add(["--train", put(rng, folder, "train.ptb", bank, rng.random() < 0.4)])
        add(["--dev", put(rng, folder, "dev.ptb", bank, rng.random() < 0.4)])
        add(["-o", str(folder / rng.choice(["out", "train.ptb", "no/such"])), "--epochs", "1"])
        small = "--hidden 4 --layers 1 --span 4 --label 4 --embedding 4 --characters 4"
        add(small.split())
        option = (
            "epochs tokens rate warmup average clip dropout hidden layers embedding seed min-count"
        )
        add([f"--{rng.choice(option.split())}", rng.choice(NUMBERS)])
        if rng.random() < 0.3:
            add(["--embed", put(rng, folder, "vectors", "the 1 2 3 4\ndog 1 2 x 4\n")])
        add(rng.choice([[], ["--resume"]]))
    made.arguments = [x for x in made.arguments if "\x00" not in x]
    return made


def candidates(rng, folder, case):
    """A file of several texts for each segment, in one of its forms, perhaps damaged."""
    form, broken, lines = rng.choice(["rows", "blocks", "fields"]), rng.random() < 0.4, []
    for k in range(rng.randrange(1, 4)):
        texts = [line(rng).replace("\n", " ") for _ in range(rng.randint(1, 4))]
        if form == "rows":
            row = {"candidates": texts, "lp": [-rng.random() for _ in texts]}
            if broken:
                row[rng.choice(["candidates", "lp", "x"])] = value(rng)
            lines.append(json.dumps(row))
        elif form == "blocks":
            lines += [*texts, ""]
        else:
            lines += [f"{k} ||| {text} ||| {rng.choice(['-1', 'x', 'nan', ''])}" for text in texts]
    case.seen.append(f"candidates, {form}")
    name = "c.jsonl" if form == "rows" else "c.txt"
    return [put(rng, folder, name, "\n".join(lines) + "\n", broken)]


def parser_folder(rng, folder):
    """A folder that is not quite a parser, or a file that is no checkpoint."""
    if rng.random() < 0.3:
        return put(
            rng, folder, "model.pt", rng.choice([b"", b"PK\x03\x04", b"\x80\x04.", b"x" * 99])
        )
    place = folder / "parser"
    place.mkdir(exist_ok=True)
    settings = rng.choice([{"format": 1}, {"format": 1, "args": {}, "narrow": 5}, value(rng)])
    (place / "settings.json").write_text(json.dumps(settings))
    if rng.random() < 0.8:
        (place / "model.safetensors").write_bytes(
            rng.choice([b"", b"\xff" * 20, b"\x02\0\0\0\0\0\0\0{}", bytes(8) + b"x"])
        )
    return str(place)


def run(main, arguments):
    """Status, standard output and standard error of a command in this process."""
    previous = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as stop:
            status = stop.code if isinstance(stop.code, int) else 1
        except Exception:
            status = 1
            traceback.print_exc()
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)
        out.flush()
        err.flush()
    return status, out.buffer.getvalue().decode(), err.buffer.getvalue().decode()


def verdict(case, status, out, err, score):
    """What is wrong with a result, "" for nothing; `score(hyps, refs)`: BLEU by others."""
    if status not in (0, 2):
        return f"status {status}"
    lines = [x for x in err.split("\n") if x]
    if status == 2 and (len(lines) != 1 or not lines[0].startswith("tensormt: ") or out):
        return f"status 2 with {len(lines)} lines of complaint and {len(out)} letters of result"
    if re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", err + (out if case.seen[0] != "parse" else "")):
        return "a control character reached the terminal"
    if status == 0 and case.bad:
        return "no right result exists"
    form = case.arguments[case.arguments.index("-f") + 1] if "-f" in case.arguments else ""
    if status == 0 and form == "json":
        constants = []
        report = json.loads(out, parse_constant=constants.append)
        if constants:
            return f"{constants[0]} in JSON"
        if case.good and case.seen[0] == "score" and "bleu" in case.arguments:
            (found,) = report["systems"].values()
            expected = score(*case.good)
            if abs(found["bleu"]["score"] - expected) > 1e-9:
                return f"BLEU {found['bleu']['score']}, expected {expected}"
    return ""

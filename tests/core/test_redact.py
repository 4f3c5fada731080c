"""What is a secret in a text, what is not, and how long it takes to tell."""

from __future__ import annotations

import logging
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ffai.core.redact import UNREADABLE, redact, redact_strings, redactor_of
from ffai.errors import ArgumentTypeError, InvalidArgumentError

RANDOM = "a8Kd93jfLw02mPq7Xz5R"  # keys are put together here, so that nobody takes this file for a leak
HEX = "0123456789abcdef"
BODY = "MIIEowIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7MaGBir/JXpfaFd9V"
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}\n{BODY}\nab3/xQ==\n-----END RSA PRIVATE KEY-----"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N"

KEYS = [
    "sk-" + RANDOM,
    "sk-" + "abcdefghijklmnopqrstuvwx",
    "sk-proj-" + RANDOM + "_" + RANDOM + "-" + RANDOM,
    "sk-ant-api03-" + RANDOM + "-" + RANDOM,
    "sk-test-1234567890abcdef",
    "AKIA" + "IOSFODNN7EXAMPLE",
    "ASIA" + "IOSFODNN7EXAMPLE",
    "ghp_" + RANDOM + RANDOM[:16],
    "gho_" + RANDOM + RANDOM[:16],
    "github_pat_" + RANDOM + "_" + RANDOM,
    "glpat-" + RANDOM,
    "xoxb-123456789012-" + RANDOM,
    "xoxp-123456789012-" + RANDOM,
    "AIza" + "SyA" + RANDOM + RANDOM[:12],
    "sk_live_" + RANDOM,
    "rk_live_" + RANDOM,
    "hf_" + "aBcDeFgHiJ" * 3,
    "npm_" + RANDOM + RANDOM[:16],
    "pypi-" + "AgEIcHlwaS5vcmc" + RANDOM,
    "gsk_" + RANDOM,
]


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key[:8])
@pytest.mark.parametrize(
    "around",
    ["{}", "My key is {}.", "key='{}'", "({})", "line\n{}\nline", "a\\n{}\\tb", '{{"k": "{}"}}', "`{}`", "x={}&y"],
)
def test_a_providers_key_is_found_wherever_it_stands(key: str, around: str) -> None:
    assert redact(around.format(key)) == around.format("[redacted: api key]")


@pytest.mark.parametrize(
    ("text", "right"),
    [
        (f"aws_secret_access_key = {RANDOM}/{RANDOM}", "aws_secret_access_key = [redacted: api key]"),
        ("password=hunter2", "password=[redacted: password]"),
        ("the password=hunter2, and the rest", "the password=[redacted: password], and the rest"),
        ('password: "hunter2"', 'password: "[redacted: password]"'),
        ("passphrase='correct horse battery staple'", "passphrase='[redacted: password]'"),
        ("pwd: S3cr3t!x", "pwd: [redacted: password]"),
        ("DB_PASSWORD=correct-horse", "DB_PASSWORD=[redacted: password]"),
        ("PGPASS: 1", "PGPASS: 1"),
        ("db_pass=hunter2", "db_pass=[redacted: password]"),
        ("my password: swordfish\nthanks", "my password: [redacted: password]\nthanks"),
        ('{"password": "hunter2", "user": "ann"}', '{"password": "[redacted: password]", "user": "ann"}'),
        ('{\\"password\\": \\"hunter2\\"}', '{\\"password\\": \\"[redacted: password]\\"}'),
        ('config["password"] = "hunter2"', 'config["password"] = "[redacted: password]"'),
        ('password: str = "hunter2"', 'password: str = "[redacted: password]"'),
        ("connect(user='ann', password='hunter2')", "connect(user='ann', password='[redacted: password]')"),
        ("connect(password=hunter2, port=1)", "connect(password=[redacted: password], port=1)"),
        ("<password>hunter2</password>", "<password>[redacted: password]</password>"),
        ("token = password = hunter2", "token = password = [redacted: password]"),
        ("api_key=abcd1234efgh", "api_key=[redacted: api key]"),
        ("X-Api-Key: abcd1234efgh", "X-Api-Key: [redacted: api key]"),
        ("?token=abcd1234efgh&page=2", "?token=[redacted: token]&page=2"),
        ("client_secret: 'abcDEF123xyz'", "client_secret: '[redacted: secret]'"),
        ("api_key=3f2504e0-4f89-11d3-9a0c-0305e82c3301", "api_key=[redacted: api key]"),
        ("İ PASSWORD=hunter2", "İ PASSWORD=[redacted: password]"),
        (f"Authorization: Bearer {RANDOM}", "Authorization: Bearer [redacted: token]"),
        ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic [redacted: password]"),
        (f"It sent {JWT}.", "It sent [redacted: token]."),
        ("postgres://ann:hunter2@db/main", "postgres://ann:[redacted: password]@db/main"),
        ("redis://:p@ss@cache/0", "redis://:[redacted: password]@cache/0"),
    ],
)
def test_a_named_secret_is_replaced_and_its_name_stays(text: str, right: str) -> None:
    assert redact(text) == right


@pytest.mark.parametrize("kind", ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "])
def test_a_private_key_goes_as_a_whole(kind: str) -> None:
    block = PEM.replace("RSA ", kind)
    assert redact(f"Here:\n{block}\nand more") == "Here:\n[redacted: private key]\nand more"


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\\n", "\\\\n", "\n> ", " "])
def test_a_private_key_goes_whatever_became_of_its_lines(line_end: str) -> None:
    assert redact(PEM.replace("\n", line_end)) == "[redacted: private key]"


@pytest.mark.parametrize("line_end", ["\n", "\\n"])
def test_of_a_private_key_that_is_cut_off_the_lines_go_that_are_there(line_end: str) -> None:
    cut = PEM[: PEM.index("\n-----END")].replace("\n", line_end)
    assert redact(cut) == "[redacted: private key]"
    assert (
        redact(f"{cut}{line_end}and this is what I asked.")
        == f"[redacted: private key]{line_end}and this is what I asked."
    )
    assert BODY[:30] not in redact(cut[:-100])


def test_a_second_private_key_is_not_taken_for_the_end_of_the_first() -> None:
    cut = PEM[: PEM.index("\n-----END")]
    assert redact(f"{cut}\nHello\n{PEM}") == "[redacted: private key]\nHello\n[redacted: private key]"


@pytest.mark.parametrize(
    "text",
    [
        "There is no API key in the build.",
        "no API key in the build",
        "the password is required",
        "token: str",
        "password = None",
        "def login(user: str, password: str | None = None, token: Optional[str] = None) -> Token:",
        "password = getpass.getpass()",
        "password=os.environ['DB_PASSWORD']",
        "login(password=password, token=self.token, api_key=settings.api_key)",
        "password: ${DB_PASSWORD}, token: <your token>, secret: {{ secret }}, api_key=$API_KEY",
        "password: ********",
        '{"password": "This field is required."}',
        "Password: required",
        "The password: anything longer than 8 characters.",
        "max_tokens=4096, input_cost_per_token: 0.0000025",
        "PWD=/home/ann",
        "Bearer tokens and Basic authentication in JavaScript",
        "A bearer of news, basic understanding",
        "scikit-learn: sk-learn-contrib-extended, task-1234567890abcdef, risk-management-framework",
        "commit da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
        "data:image/png;base64," + BODY + BODY + "==",
        "-----BEGIN CERTIFICATE-----\n" + BODY + "\n-----END CERTIFICATE-----",
        "http://localhost:8080/a@b and ann@example.com and ssh://git@github.com/a/b.git",
        "Donaudampfschifffahrtsgesellschaftskapitän",
        "bypass: absolutely, the passport: blue1234, keyboard=abcd1234efgh",
        "[redacted: password] and [redacted: api key]",
        "",
    ],
)
def test_harmless_text_stays_as_it_is(text: str) -> None:
    assert redact(text) is text


words = st.sampled_from(
    """
    the a password token secret key keys API api is was required build bearer basic authorization private passphrase
    user pwd task-force risk-averse sk-learn url begin end RSA commit été Straße 2024 42nd v1.2 e.g. don't
    """.split()  # noqa: SIM905 - words
) | st.text(st.sampled_from("abcdefghijklmnopqrstuvwxyzäéß"), min_size=1, max_size=30)


@given(st.lists(words, max_size=30), st.sampled_from([" ", "\n", ", ", ". ", " - "]))
def test_ordinary_words_stay_as_they_are(text: list[str], between: str) -> None:
    joined = between.join(text)
    assert redact(joined) == joined


SIGNS = [*"=:\"'`\\\n ,;&<>[](){}$.-_@9İ", ": ", " = ", " is ", "\\n", '\\"', "://", "[redacted: "]
NAMES = ["password", "pwd", "token", "secret", "api key", "Authorization", "Bearer ", "Basic ", "user:", "str"]
VALUES = [*KEYS, PEM, PEM[:70], PEM[-60:], JWT, JWT[:30], BODY, "hunter2", "word", "[redacted: password]", "dXNlcjpw"]
pieces = st.sampled_from(SIGNS) | st.sampled_from(NAMES) | st.sampled_from(VALUES)
tangled = st.lists(pieces | st.text(max_size=5), max_size=14).map("".join)


@settings(max_examples=100)
@given(tangled)
def test_redacting_again_changes_nothing(text: str) -> None:
    assert redact(redact(text)) == redact(text)


@settings(max_examples=100)
@given(tangled, st.sampled_from(KEYS), tangled)
def test_no_key_survives_whatever_stands_around_it(before: str, key: str, after: str) -> None:
    assert key not in redact(f"{before.replace(key, '')} {key} {after.replace(key, '')}")


@settings(max_examples=100)
@given(tangled, tangled)
def test_no_private_key_survives_whatever_stands_around_it(before: str, after: str) -> None:
    assert BODY not in redact(f"{before.replace(BODY, '')}{PEM}{after.replace(BODY, '')}")


REPEATED = [
    "a", "-", '"', "\\", "İ", "key", "password", "password ", "password=", 'password="', "password='", 'password=\\"',
    "password=[", "password=,", "password=a,b", "password=\\", "password=x password='", "token: $", "token=(",
    "api_key:   ", "<password>", "eyJ", "-eyJ", "eyJ.", "sk-", "-sk-", "gl", "xox", "glpat-aaaaaaaaaaaaaaaaaaa.",
    "SG.aaaaaaaaaaaaaaaa", "AKIA", "Bearer ", "Basic a", "://", "://a:", "://a:a@", "-----BEGIN RSA PRIVATE KEY-----",
    "-----BEGIN RSA PRIVATE KEY-----\n", "-----END RSA PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\nProc-Type:",
    BODY + "\n", "[redacted: ",
]  # fmt: skip
LINEAR, QUADRATIC = 4.0, 16.0


def growth(piece: str) -> float:
    """Time for 1 MB over time for a quarter of it."""
    taken = []
    for size in (250_000, 1_000_000):
        text = piece * (size // len(piece))
        start = time.process_time()
        redact(text)
        taken.append(time.process_time() - start)
    return taken[1] / max(taken[0], 0.01)


@pytest.mark.parametrize("piece", REPEATED, ids=repr)
def test_the_time_grows_as_the_text_does(piece: str) -> None:
    tries = (growth(piece) for _ in range(3))  # again where another process disturbed it
    assert any(ratio < 2 * LINEAR < QUADRATIC for ratio in tries)


def test_strings_in_a_value_are_redacted_and_keys_and_numbers_are_not() -> None:
    key = KEYS[0]
    value = {key: [1, None, True, {"deep": f"see {key}"}], "password": "hunter2", "api_key": ["abcd1234efgh"], "n": 1.5}
    right = {
        key: [1, None, True, {"deep": "see [redacted: api key]"}],
        "password": "[redacted: password]",
        "api_key": ["[redacted: api key]"],
        "n": 1.5,
    }
    assert redact_strings(value, redact) == right
    assert value["password"] == "hunter2"


def test_a_value_that_is_nested_without_end_is_an_error() -> None:
    value: list[object] = []
    value.append(value)
    with pytest.raises(InvalidArgumentError, match="nested too deeply"):
        redact_strings(value, redact)


def test_a_redactor_is_true_false_or_a_callable() -> None:
    assert redactor_of(False) is None
    assert redactor_of(True) is redact
    for wrong in (None, 1, "yes"):
        with pytest.raises(ArgumentTypeError, match="redact must be True, False or a callable"):
            redactor_of(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("outcome", [None, 5, ValueError("hunter2")])
def test_a_redactor_that_fails_lets_nothing_through(outcome: object, caplog: pytest.LogCaptureFixture) -> None:
    def redactor(text: str) -> str:
        if isinstance(outcome, Exception):
            raise outcome
        return outcome  # type: ignore[return-value]

    careful = redactor_of(redactor)
    assert careful is not None
    with caplog.at_level(logging.DEBUG):
        assert careful("hunter2") == UNREADABLE
    assert "hunter2" not in caplog.text
    assert "left out" in caplog.text

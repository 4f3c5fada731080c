"""Recall on conversations in LoCoMo's form: reading, cutting, measuring; and on the real ones where they are there."""

import json
import os
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from benchmarks.recall import contestants
from benchmarks.recall.__main__ import main
from benchmarks.recall.contest import contest
from benchmarks.recall.contestants import CannotError, Contestant, ours
from benchmarks.recall.exchanges import exchanges
from benchmarks.recall.locomo import FILE, NotLocomoError, cited, find, read
from benchmarks.recall.metrics import hit, hits_recall, messages_recall
from benchmarks.recall.nameless import without_names_and_dates
from benchmarks.recall.stage import Stage
from benchmarks.recall.table import ANSWERED, tables
from ffai import Embeddings
from ffai.testing import FakeEmbedder

ROOT = Path(__file__).parents[2]


def said(number, speaker, text, **more):
    return {"speaker": speaker, "dia_id": number, "text": text, **more}


def sample():
    return {
        "sample_id": "made-1",
        "conversation": {
            "speaker_a": "Rosa",
            "speaker_b": "Emil",
            "session_1_date_time": "9:05 am on 3 March, 2024",
            "session_1": [
                said("D1:1", "Rosa", "I planted tulips."),
                said("D1:2", "Rosa", "Red ones!", blip_caption="a row of tulips"),
                said("D1:3", "Emil", "Lovely. I repaired my boat."),
                said("D1:4", "Rosa", "Which boat?"),
                said("D1:5", "Emil", "The blue canoe."),
            ],
            "session_2_date_time": "12:30 pm on 1 April, 2024",
            "session_2": [
                said("D2:1", "Emil", "Rosa, the canoe floats."),
                said("D2:2", "Rosa", "Emil's canoe! Good."),
                said("D2:3", "Emil", "See you."),
            ],
            "session_3_date_time": "1:00 pm on 2 April, 2024",
        },
        "qa": [
            {"question": "What did Rosa plant?", "category": 4, "evidence": ["D1:1; D1:02"], "answer": "tulips"},
            {"question": "Is Emil's canoe blue?", "category": 1, "evidence": ["D1:5", "D2:1"], "answer": "yes"},
            {"question": "What did Rosa repair?", "category": 5, "evidence": ["D1:3"]},
            {"question": "Who is Ada?", "category": 3, "evidence": ["D9:9"]},
            {"question": "How are they?", "category": 3},
        ],
    }


@pytest.fixture
def file(tmp_path):
    def write(content):
        (tmp_path / FILE).write_text(json.dumps(content), "utf-8")
        return tmp_path / FILE

    return write


@pytest.fixture
def conversation(file):
    return read(file([sample()]))[0]


def test_the_file_is_found_by_its_own_path_or_a_folder(file, tmp_path):
    path = file([sample()])
    (tmp_path / "data").mkdir()
    (tmp_path / "data/locomo").symlink_to(tmp_path)
    assert find(path) == find(tmp_path) == path
    assert find(tmp_path / "data").samefile(path)


def test_a_missing_file_is_an_error_that_tells_where_it_was_looked_for(tmp_path):
    with pytest.raises(FileNotFoundError, match=FILE):
        find(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"other\.json"):
        find(tmp_path / "other.json")


def test_messages_have_their_session_its_time_and_what_was_shared(conversation):
    first, second = conversation.messages[:2]
    assert conversation.speakers == ("Rosa", "Emil")
    assert (first.id, first.speaker, first.session, first.said_at) == ("D1:1", 0, 1, 1709456700.0)
    assert second.text == "Red ones! [shares a row of tulips]"
    assert [message.session for message in conversation.messages] == [1] * 5 + [2] * 3


def test_questions_that_no_message_answers_are_left_out(conversation):
    assert [(question.kind, question.expected) for question in conversation.questions] == [
        ("single-hop", {"D1:1", "D1:2"}),
        ("multi-hop", {"D1:5", "D2:1"}),
        ("adversarial", {"D1:3"}),
    ]


def test_references_are_read_however_they_are_written():
    assert cited(["D8:6; D9:17", "D:11:26", "D30:05", "D1:3.", "D12:3-D12:5", "none"]) == [
        "D8:6", "D9:17", "D11:26", "D30:5", "D1:3", "D12:3", "D12:4", "D12:5",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda it: it.pop("conversation"), "0.conversation"),
        (lambda it: it["conversation"].pop("speaker_a"), "speaker_a"),
        (lambda it: it["conversation"].pop("session_1_date_time"), "session_1_date_time is None"),
        (lambda it: it["conversation"]["session_1"][0].pop("text"), "text"),
        (lambda it: it["conversation"]["session_1"][0].update(speaker="Ada"), "'Ada'"),
        (lambda it: it["qa"][1].update(category=7), "category is 7"),
        (lambda it: it.update(conversation={"speaker_a": "Rosa", "speaker_b": "Emil"}), "session_1"),
    ],
)
def test_another_form_is_an_error_that_tells_where(file, change, told):
    changed = sample()
    change(changed)
    with pytest.raises(NotLocomoError, match=told):
        read(file([changed]))


def test_a_file_that_is_no_json_is_of_another_form(tmp_path):
    (tmp_path / FILE).write_text("question,answer\n")
    with pytest.raises(NotLocomoError, match="JSON"):
        read(tmp_path / FILE)


def test_who_opens_a_session_asks_and_a_run_of_messages_stays_together(conversation):
    cut = exchanges(conversation)
    assert [exchange.ids for exchange in cut] == [
        ("D1:1", "D1:2", "D1:3"),
        ("D1:4", "D1:5"),
        ("D2:1", "D2:2"),
        ("D2:3",),
    ]
    assert [exchange.asker for exchange in cut] == [0, 0, 1, 1]
    assert cut[0].prompt == "I planted tulips.\nRed ones! [shares a row of tulips]"
    assert cut[0].response == "Lovely. I repaired my boat."
    assert cut[3].text == "See you."


def test_without_names_and_dates_nothing_tells_who_spoke_or_when(conversation):
    bare = without_names_and_dates(conversation)
    assert bare.speakers is None
    assert {message.said_at for message in bare.messages} == {946684800.0}
    assert [message.text for message in bare.messages[5:7]] == [", the canoe floats.", "canoe! Good."]
    assert [question.text for question in bare.questions[:2]] == ["What did plant?", "Is canoe blue?"]
    assert [exchange.ids for exchange in exchanges(bare)] == [exchange.ids for exchange in exchanges(conversation)]


def test_hits_count_whole_and_messages_one_by_one():
    hits = [("a", "b", "c"), ("d",), ("e", "f")]
    assert hits_recall(hits, {"c", "d", "x", "f"}, 2) == 0.5
    assert messages_recall(hits, {"c", "d", "x", "f"}, 2) == 0.0
    assert messages_recall(hits, {"c", "d", "x", "f"}, 3) == 0.25
    assert (hit(hits, {"d"}, 3), hit(hits, {"d"}, 4)) == (0.0, 1.0)


def test_a_message_that_comes_twice_counts_once():
    assert messages_recall([("a", "b"), ("a", "b"), ("c",)], {"c"}, 3) == 1.0


def test_each_contestant_is_asked_through_a_memory_that_has_all_exchanges(conversation):
    with Stage(conversation, FakeEmbedder()) as stage:
        answers = ours("vector", stage)
        stored = stage.ffai.memory.list().turns
    assert answers[0][0] == ("D1:1", "D1:2", "D1:3")
    assert {turn.scope.actor_name for turn in stored} == {"Rosa", "Emil"}
    assert {turn.metadata["assistant_name"] for turn in stored} == {"Rosa", "Emil"}


def test_who_cannot_take_part_is_left_out_with_the_reason(conversation):
    def cannot(stage):
        raise CannotError("it is asleep")

    able = Contestant("able", partial(ours, "vector"))
    outcome = contest([conversation, conversation], [able, Contestant("asleep", cannot)], FakeEmbedder())
    text = tables(outcome)
    assert outcome.questions(ANSWERED) == 4
    assert "- asleep: it is asleep." in text
    assert "| able | 100.0 |" in text
    assert "| | single-hop (2) | multi-hop (2) | temporal (0) | open-domain (0) | adversarial (2) |" in text


def test_the_headline_leaves_out_what_has_no_answer(conversation):
    only = replace(conversation, questions=conversation.questions[2:])
    outcome = contest([only], [Contestant("able", partial(ours, "vector"))], FakeEmbedder())
    assert outcome.mean("able", "U@10", ANSWERED) is None
    assert outcome.mean("able", "U@10", ["adversarial"]) == 1.0


def test_the_command_ends_with_what_is_wrong_with_the_data(tmp_path):
    with pytest.raises(SystemExit, match=FILE):
        main([str(tmp_path)])


def test_every_store_that_is_compared_is_pinned():
    names = {name for name, contestant in contestants.CONTESTANTS.items() if not contestant.is_ours}
    assert names == {"ffai-0.1.8", "chroma", "lancedb", "lancedb-words", "lancedb-both"}
    assert all(any(sign.isdigit() for sign in contestants.CONTESTANTS[name].name) for name in names)


@pytest.mark.live
def test_hybrid_finds_far_more_of_a_real_conversation_than_vectors_alone(minilm_folder):
    try:
        file = find(Path(os.environ.get("FFAI_RECALL_DATA", ROOT.parent / "shared/data")))
    except FileNotFoundError:
        pytest.skip("LoCoMo is not here; the variable FFAI_RECALL_DATA names its folder")
    conversation = read(file)[0]
    answered = [question for question in conversation.questions if question.kind in ANSWERED]
    conversation = replace(conversation, questions=tuple(answered[::2][:60]))
    each = [contestants.CONTESTANTS[name] for name in ("vector", "hybrid")]
    outcome = contest([conversation], each, Embeddings(f"local/{minilm_folder}", cache_size=10_000))
    vector, hybrid = (outcome.mean(contestant.name, "U@10", ANSWERED) for contestant in each)
    assert hybrid > vector + 0.15

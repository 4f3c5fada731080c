"""The ``ffai`` command: what it prints, and how it ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import ffai
from ffai.cli import main

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in os.environ:
        if "__" in name or name == "FFAI_CONFIG":
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def command(*arguments: str, **keywords: object) -> subprocess.CompletedProcess[str]:
    """Run ``python -m ffai`` in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", "ffai", *arguments],
        capture_output=True,
        text=True,
        env=environment,
        timeout=60,
        check=False,
    )


def test_the_version_is_said():
    done = command("--version")
    assert done.returncode == 0
    assert done.stdout.strip() == f"ffai {ffai.__version__}"


def test_without_a_command_the_help_is_shown(capsys):
    assert main([]) == 0
    assert "demo" in (shown := capsys.readouterr().out)
    assert "config" in shown


def test_an_unknown_command_is_refused():
    done = command("memorise")
    assert done.returncode == 2
    assert "invalid choice: 'memorise'" in done.stderr


def test_config_shows_each_setting_with_its_value_and_origin(monkeypatch, capsys):
    Path("config").mkdir()
    Path("config/main.yaml").write_text("memory: {persist_dir: here}")
    monkeypatch.setenv("MEMORY__PERSIST", "true")
    assert main(["config"]) == 0
    lines = {line.split()[0]: line.split(maxsplit=2)[1:] for line in capsys.readouterr().out.splitlines()}
    assert lines["memory.persist"] == ["true", "environment MEMORY__PERSIST"]
    assert lines["memory.persist_dir"] == ["here", str(Path("config/main.yaml"))]
    assert lines["memory.embedding_model"] == ["null", "default"]
    assert "logging.level" in lines


def test_config_shows_what_another_file_would_give(capsys):
    Path("other.yaml").write_text("history: {max_turns: 7}")
    assert main(["config", "other.yaml", "--only", "history"]) == 0
    assert capsys.readouterr().out.split() == ["history.max_turns", "7", "other.yaml"]


def test_config_hides_secrets(monkeypatch, capsys):
    store = (
        '{"url": "postgres://me:hunter2@db/x", "password": "hunter2", "nested": [{"api_key": "hunter2"}], "size": 3}'
    )
    monkeypatch.setenv("MEMORY__STORE_CONFIG", store)
    assert main(["config"]) == 0
    shown = capsys.readouterr().out
    assert "hunter2" not in shown
    assert "postgres://me:***@db/x" in shown
    assert '"size": 3' in shown


def test_a_wrong_setting_is_an_error_without_a_traceback(monkeypatch, capsys):
    monkeypatch.setenv("MEMORY__ENABELD", "1")
    assert main(["config"]) == 1
    assert capsys.readouterr().err == (
        "ffai: environment MEMORY__ENABELD: memory.enabeld: is not a setting. Did you mean 'enabled'?\n"
    )


def test_a_reader_that_goes_away_is_no_traceback():
    code = "import sys; from ffai.cli import main; sys.exit(main(['config']))"
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
        assert process.wait(60) == 1

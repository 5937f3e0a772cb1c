from __future__ import annotations

import subprocess
import sys

import pytest
import typer.main

from evalkit.cli import _ROOMS, application


def test_every_command_is_found_in_the_room_that_is_said_to_hold_it() -> None:
    code = (
        "import sys, typer.main\n"
        "from importlib import import_module\n"
        "from evalkit.cli.app import app\n"
        "import_module(f'evalkit.cli.{sys.argv[1]}')\n"
        "print(*typer.main.get_command(app).commands)"
    )
    for room, commands in _ROOMS.items():
        done = subprocess.run([sys.executable, "-c", code, room], capture_output=True, text=True, check=True)
        assert set(commands) <= set(done.stdout.split()), room


@pytest.mark.parametrize("asked", [None, "--help", "gat"])
def test_all_rooms_are_open_where_none_is_named(asked: str | None) -> None:
    commands = typer.main.get_command(application(asked)).commands  # type: ignore[attr-defined]
    assert set(commands) == {command for room in _ROOMS.values() for command in room}


def test_a_command_loads_its_own_room_only() -> None:
    code = (
        "import sys; sys.argv[1:] = ['gate', '--help']\n"
        "from evalkit.cli import main\n"
        "try:\n    main()\n"
        "finally:\n    print('loaded', *(name for name in sys.modules if name.startswith('evalkit.cli.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.rpartition("loaded")[2].split())
    assert {f"evalkit.cli.{room}" for room in _ROOMS} & loaded == {"evalkit.cli.decide"}

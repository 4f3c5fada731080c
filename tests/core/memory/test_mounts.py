"""A collection is kept on a disk of this machine."""

from __future__ import annotations

from pathlib import PurePosixPath, PureWindowsPath

import pytest

from ffai.core.memory.mounts import network_file_system

MOUNTS = [("/", "ext4"), ("/home", "nfs4"), ("/home/ann/disk", "xfs"), ("/mnt/office", "CIFS"), ("/tmp", "tmpfs")]


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/data", None),
        ("/home/bob/memory", "nfs4"),
        ("/home/ann/disk/memory", None),
        ("/home/ann/disks", "nfs4"),
        ("/homes/ann", None),
        ("/mnt/office", "cifs"),
        ("/tmp/memory", None),
    ],
)
def test_the_innermost_mount_decides(folder: str, kind: str | None) -> None:
    assert network_file_system(PurePosixPath(folder), MOUNTS) == kind


def test_a_windows_share_is_on_another_machine() -> None:
    assert network_file_system(PureWindowsPath(r"\\server\share\memory"), []) == "a Windows share"
    assert network_file_system(PureWindowsPath(r"C:\memory"), [("C:\\", "NTFS")]) is None

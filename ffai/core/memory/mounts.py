"""Folders that are on another machine: a journal can't be shared there."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePath

from ffai.errors import StoreError

_NETWORK = frozenset(
    {
        "nfs",
        "nfs3",
        "nfs4",
        "cifs",
        "smb",
        "smb2",
        "smb3",
        "smbfs",
        "afs",
        "afpfs",
        "ncpfs",
        "webdav",
        "davfs",
        "davfs2",
    }
    | {"ceph", "glusterfs", "lustre", "beegfs", "gpfs", "ocfs2", "gfs2", "fuse.sshfs", "fuse.glusterfs", "fuse.ceph"}
    | {"fuse.rclone", "fuse.s3fs", "fuse.gcsfuse", "fuse.davfs2", "fuse.smbnetfs", "fuse.juicefs"}
)
"""File systems that keep their files on other machines, as operating systems call them."""


def check_local(folder: Path) -> None:
    """Refuse a folder on a network file system.

    Raises:
        StoreError: it is on one; names it. SQLite's write-ahead log needs memory that its users share, and machines
            share none: with it, turns would be lost.
    """
    import psutil

    mounts = [(mount.mountpoint, mount.fstype) for mount in psutil.disk_partitions(all=True)]
    if (kind := network_file_system(folder, mounts)) is not None:
        raise StoreError(
            f"The folder {str(folder)!r} is on a network file system ({kind}), where the journal can't be kept safely. "
            "Choose a folder on a disk of this machine."
        )


def network_file_system(folder: PurePath, mounts: Iterable[tuple[str, str]]) -> str | None:
    """Return what kind of network file system a folder is on; ``None`` if it is on none.

    Args:
        folder: an absolute path.
        mounts: where file systems are mounted, and what they are.

    Examples:
        >>> network_file_system(Path("/data/memory"), [("/", "ext4"), ("/data", "nfs4")])
        'nfs4'
    """
    if folder.drive.startswith("\\\\"):
        return "a Windows share"
    above = [(len(PurePath(mount).parts), kind) for mount, kind in mounts if folder.is_relative_to(mount)]
    kind = max(above, default=(0, ""))[1].lower()
    return kind if kind in _NETWORK else None

"""A Linux desktop as a world: Debian's packages, unpacked into a folder and run in a sandbox."""

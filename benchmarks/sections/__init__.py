"""The sections of ``docs/validation.md``: each module makes one kind of them of its results."""

"""Mark one notebook: run its cells in a sandbox, ask the judge's questions, and list attempts to tamper."""

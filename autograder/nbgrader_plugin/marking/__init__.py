"""Mark one notebook: run its cells in a cage, ask the judge's questions, note attempts to tamper."""

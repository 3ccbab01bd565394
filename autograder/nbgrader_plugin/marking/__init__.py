"""Mark one notebook: run its cells in a cage, ask the judge's questions, and list attempts to tamper."""

"""Mark one notebook: run its cells in a sandbox, have the judge run its checks, and list signs of tampering."""

"""Write feedback pages: one HTML file a notebook, offline, without scripts."""

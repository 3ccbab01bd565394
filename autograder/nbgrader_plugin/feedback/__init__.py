"""Write feedback pages: one HTML file per notebook, which opens offline and holds no scripts."""

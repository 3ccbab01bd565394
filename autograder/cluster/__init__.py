"""A whole class: marked on all cores or on a cluster, written by one process, resumable at any moment."""

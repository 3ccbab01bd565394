"""Read students' submissions: unpack, repair, limit and clean them."""

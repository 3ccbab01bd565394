"""Read what students hand in: unpack, repair, limit and clean it."""

"""Report on a class: marks, misconceptions, similar answers; in the terminal and on one page."""

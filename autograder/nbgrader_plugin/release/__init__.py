"""Make the students' version of a notebook."""

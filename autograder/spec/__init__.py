"""What an exercise is made of: checks and their inputs, comparisons, mistakes and what anybody can get wrong."""

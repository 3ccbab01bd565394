"""Notebook 12: small models that train although they are broken, and a program that finds what is wrong with them."""

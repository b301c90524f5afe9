"""The experiments of the founding documents: what they found, how to ask it again, what is found.

Declarations and rules; pure. What runs them is the command line.
"""

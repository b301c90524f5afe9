"""What measured series of a pool say: growth of its workers, its size by their number, their life.

Pure. What is found has records of its own (`finding.py`), so that who shows them needs no arrays.
"""

"""Intervals, confidence sequences, knees; pure."""

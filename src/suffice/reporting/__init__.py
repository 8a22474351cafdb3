"""A report of a fitted model on rows: one self-contained page of HTML, and its numbers."""

from .build import report
from .page import Report

__all__ = ["Report", "report"]

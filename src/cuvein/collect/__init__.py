"""Collecting: start a program under the monitor, and find out whether that can work here."""
